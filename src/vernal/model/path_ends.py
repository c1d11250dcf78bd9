"""Where a path ends because a guarded choice has no option left.

Whether there is a step is known before its draws, so that it cannot depend on them which options of a choice exist, nor
whether one that may have none is reached. A choice with an option that always exists may be written anywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from itertools import chain
from typing import NamedTuple, NoReturn

from vernal.errors import NoOption
from vernal.model import build
from vernal.model.build import FALSE, TRUE
from vernal.model.expr import Choose, Const, Draw, Expr, If, Switch
from vernal.model.graph import draws, order

Conditions = tuple[Expr, ...]  # all of them, each once


def options_left(roots: Sequence[Expr], seen: Collection[Draw]) -> Expr:
    """That every choice the roots really draw has an option; `seen` are the draws that belong to the position.

    One pass over the graph says of every node which conditions that takes; under a branching they are asked only where
    the branch is taken, for a draw in another branch does not exist. Where a draw decides whether a condition is asked,
    it has to be asked in any case.
    """
    nodes = order(roots)
    if not any(may_end(node) for node in nodes):
        return TRUE
    needs: dict[Expr, Conditions] = {}
    drawn: list[Drawn] = []
    for node in nodes:
        args = [needs[arg] for arg in node.args]
        match node:
            case If() | Switch() if any(args[1:]):
                needs[node] = _of_branches(node, args, seen, drawn)
            case Choose():
                needs[node] = _of_choice(node, args, seen, drawn)
            case _:
                needs[node] = _all(args)
    whole = _all(needs[root] for root in roots)
    for case in drawn:
        if case.condition not in whole:
            _refuse(case.node, case.by)
    return build.conj(*whole)


class Drawn(NamedTuple):
    """A condition that a node asks or not, as what is drawn by this name has it."""

    condition: Expr
    node: Expr
    by: str


def may_end(node: Expr) -> bool:
    """Whether a node is a choice that may have no option: none that is always there, nor one for where no other is."""
    if not isinstance(node, Choose) or not node.guarded or build.disj(*node.guards) is TRUE:
        return False
    return node.guards[-1] is not build.negate(build.disj(*node.guards[:-1]))


def refuse_unseen(observed: Iterable[Expr]) -> None:
    """Agents act at every position, the last one of a path too: what they observe has to be there."""
    for node in order(observed):
        if isinstance(node, Choose) and may_end(node):
            name = node.occurrence.name
            what = f"an agent observes the choice in {name!r}, and it acts where the path ends, too"
            raise NoOption(f"{what}; give the choice an option without `when`", choice=name)


def _all(conditions: Iterable[Iterable[Expr]]) -> Conditions:
    return tuple(dict.fromkeys(chain.from_iterable(conditions)))


def _of_branches(
    node: If | Switch, args: Sequence[Conditions], seen: Collection[Draw], drawn: list[Drawn]
) -> Conditions:
    """What the subject needs, what all branches need, and what one needs where it is taken."""
    common = [condition for condition in args[1] if all(condition in branch for branch in args[2:])]
    made = [*args[0], *common]
    for other, branch in zip(elsewhere(node), args[1:], strict=True):
        own = [condition for condition in branch if condition not in common]
        late = _late(other, seen)
        if late:
            drawn.extend(Drawn(condition, node, late) for condition in own)
        elif own:
            made.append(build.disj(other, build.conj(*own)))
    return _all([made])


def elsewhere(node: If | Switch) -> list[Expr]:
    """For each branch the condition under which it is not computed."""
    subject = node.args[0]
    if isinstance(node, If):
        each = [build.component(subject, i) for i in range(subject.size)] if subject.shape else [subject]
        return [build.conj(*map(build.negate, each)), build.conj(*each)]
    equations = [FALSE if case is None else build.eq(subject, _of_sort(subject, case)) for case in node.cases]
    listed = build.disj(*equations)
    return [listed if case is None else build.negate(test) for case, test in zip(node.cases, equations, strict=True)]


def _of_sort(subject: Expr, case: Fraction) -> Expr:
    return build.const(case) if subject.sort.is_number else Const((), subject.sort, (), (case,))


def _of_choice(node: Choose, args: Sequence[Conditions], seen: Collection[Draw], drawn: list[Drawn]) -> Conditions:
    """An option of its own, and what all options need; what some of them need is asked where they are drawn."""
    options = args[: len(node.options)]
    common = [condition for condition in options[0] if all(condition in option for option in options)]
    own = [condition for condition in _all(options) if condition not in common]
    drawn.extend(Drawn(condition, node, node.occurrence.name) for condition in own)
    if not may_end(node):
        return tuple(common)
    left = build.disj(*node.guards)
    late = _late(left, seen)
    if late:
        _refuse(node, late)
    return _all([[left], common])


def _late(condition: Expr, seen: Collection[Draw]) -> str:
    """The names of what is drawn after it is known whether there is a step."""
    return ", ".join(dict.fromkeys(draw.occurrence.name for draw in draws([condition]) if draw not in seen))


def _refuse(node: Expr, drawn: str) -> NoReturn:
    """Name the first choice below whose end would depend on what is drawn."""
    choice = next(below.occurrence.name for below in order([node]) if isinstance(below, Choose) and may_end(below))
    what = f"whether the choice in {choice!r} has an option left cannot depend on what is drawn in the same step"
    raise NoOption(f"{what} ({drawn}); give it an option without `when`", choice=choice)
