"""A step as a set of operators: for each way to decide, under which condition it exists and what it makes of the state.

The options of choices and the winners of an argmax are taken one after the other, and everything that follows is folded
away. What is left is what planning calls an operator: a guard and updates over the state alone, and beside them what
the policy has to say. The transitions of the step are exactly those of its operators (EXACT); their decisions bring a
transition back to the step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import prod

from vernal.model import build
from vernal.model import expr as e
from vernal.model.build import FALSE, TRUE
from vernal.model.closed_graph import ClosedStep
from vernal.model.decision_conditions import Finitely, Reached, plan
from vernal.model.expr import Argmax, Choose, Const, Expr
from vernal.model.graph import decisions, order
from vernal.model.partial_evaluation import specialise
from vernal.model.tick import Tick, idle

MAX_OPERATORS = 100_000


class NoOperators(Exception):
    """A step is no finite set of operators, for this reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class StepOperator:
    """One way a step can go: where `guard` is true and the policy says so, the variables take their updates.

    The policy says so where every winner is a largest component of its argmax and every comparison is true. A
    comparison may be a disjunction of one about networks with conditions on the state. Where a policy sees draws, an
    argmax is that of the step with these taken.
    """

    guard: Expr
    updates: Mapping[Expr, Expr] = field(hash=False)  # of the variables that may change
    winners: tuple[tuple[Argmax, int], ...] = ()
    comparisons: tuple[Expr, ...] = ()
    decisions: Mapping[Finitely, int] = field(default_factory=dict, hash=False)

    @property
    def says(self) -> tuple[object, ...]:
        """What the policy has to say; equal for operators it selects alike."""
        return self.winners, self.comparisons


@dataclass(frozen=True, slots=True)
class DecidedCase:
    """Some decisions taken, and what has to be true for it; `enabled` is what is left of the step's own condition."""

    known: Mapping[Expr, Expr]
    taken: Mapping[Finitely, int]
    guard: Expr
    enabled: Expr


def operators(step: ClosedStep, tick: Tick = idle) -> tuple[StepOperator, ...]:
    """The operators of a step without memory whose choices are finite; those with a false guard are left out.

    `tick` is called for each combination of choices, of which there may be many, and may stop this by raising.
    """
    if step.memory:
        raise NoOperators("a policy with memory has no operators over the state alone")
    return ways(step, tick)


def ways(step: ClosedStep, tick: Tick = idle) -> tuple[StepOperator, ...]:
    """The same of a step with memory: updates are of state and memory variables."""
    return tuple(
        _as_written(operator, seen)
        for seen in _sights((step.enabled, *step.next_state, *step.next_memory))
        for operator in _operators(seen.roots[0], dict(zip(step.inputs, seen.roots[1:], strict=True)), tick)
    )


def _operators(enabled: Expr, following: Mapping[Expr, Expr], tick: Tick) -> list[StepOperator]:
    cases = [DecidedCase({}, {}, TRUE, enabled)]
    for entry in plan((enabled, *following.values())):
        cases = list(_divided(cases, entry, tick))
    made = [_operator(following, case) for case in _ticking(cases, tick)]
    return _without_needless_winners([operator for operator in made if operator is not None])


def ways_to_fail(keep: Expr, tick: Tick = idle) -> tuple[StepOperator, ...]:
    """The ways in which a condition on the state and the actions at it is false, as operators that change nothing."""
    return tuple(
        _as_written(operator, seen)
        for seen in _sights([build.negate(keep)])
        for operator in _ways_to_be_true(seen.roots[0], tick)
    )


def _ways_to_be_true(condition: Expr, tick: Tick) -> list[StepOperator]:
    cases = [DecidedCase({}, {}, TRUE, TRUE)]
    for entry in plan([condition]):
        cases = list(_divided(cases, entry, tick))
    made = []
    for case in cases:
        (guard,) = specialise([build.conj(case.guard, condition)], case.known)
        if guard is not FALSE:
            made.append(_with_guard(guard, {}, case))
    return _without_needless_winners(made)


def _refuse_many(combinations: int) -> None:
    if combinations > MAX_OPERATORS:
        raise NoOperators(f"there are more than {MAX_OPERATORS:,} combinations of choices in one step")


# What a policy sees ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sight:
    """One way in which the draws fall that a policy sees: expressions in which they are taken, and which these are."""

    roots: Sequence[Expr]
    taken: Mapping[Finitely, int]
    written: Mapping[e.Occurrence, Finitely]  # every decision as it is without them


def _sights(roots: Sequence[Expr]) -> Iterator[Sight]:
    """Draws that a policy sees are taken before everything else: then its scores depend on the state alone."""
    found = decisions(roots)
    for node in found:
        if isinstance(node, e.Between):
            raise NoOperators(f"{node.occurrence.name!r} is drawn from an interval, which is no finite choice")
    written = {node.occurrence: node for node in found if isinstance(node, Finitely)}
    drawn = _drawn_below(found)
    _refuse_many(prod(len(node.options) for node in drawn))
    for numbers in product(*(range(len(node.options)) for node in drawn)):
        known: dict[Expr, Expr] = {}
        for node, number in zip(drawn, numbers, strict=True):  # those in the options of others come before them
            known[node] = specialise([node.options[number]], known)[0]
        yield Sight(specialise(roots, known) if known else roots, dict(zip(drawn, numbers, strict=True)), written)


def _drawn_below(found: Sequence[Expr]) -> list[Choose]:
    """The choices that scores depend on."""
    below = decisions([scores for node in found if isinstance(node, Argmax) for scores in node.args])
    for node in below:
        if isinstance(node, Argmax):
            raise NoOperators(f"what a policy sees depends on {node.occurrence.name!r}, which is an action itself")
    return [node for node in below if isinstance(node, Choose)]


def _as_written(operator: StepOperator, seen: Sight) -> StepOperator:
    """An operator with the decisions of the step itself."""
    own = {seen.written[node.occurrence]: number for node, number in operator.decisions.items()}
    return replace(operator, decisions={**seen.taken, **own})


# Deciding -------------------------------------------------------------------------------------------------------------


def _divided(cases: Sequence[DecidedCase], entry: Reached, tick: Tick) -> Iterator[DecidedCase]:
    """The cases with one more decision; it is looked at before there are too many of them."""
    found = (one for case in cases for one in _decided(entry.node, entry.condition, case))
    for number, one in enumerate(_ticking(found, tick)):
        _refuse_many(number + 1)
        yield one


def _ticking(cases: Iterable[DecidedCase], tick: Tick) -> Iterator[DecidedCase]:
    for case in cases:
        tick()
        yield case


def _decided(node: Finitely, condition: Expr, case: DecidedCase) -> Iterator[DecidedCase]:
    """The cases a decision divides one into: where it is not taken, and one for each option that may exist."""
    asked, *guards = specialise([condition, *(node.guards if isinstance(node, Choose) else ())], case.known)
    if asked is not TRUE:  # then the value does not matter: the first stands for it
        yield from _kept(case, node, 0, [build.negate(asked)], case.taken)
    if asked is FALSE:
        return
    for number in range(_count(node)):
        yield from _kept(case, node, number, [asked, *guards[number : number + 1]], {**case.taken, node: number})


def _kept(
    case: DecidedCase, node: Finitely, number: int, conditions: Sequence[Expr], taken: Mapping[Finitely, int]
) -> Iterator[DecidedCase]:
    """The case with one more decision, under further conditions, unless they are false."""
    guard = build.conj(case.guard, *conditions)
    if guard is FALSE:
        return
    value = specialise([_value(node, number)], case.known)[0]
    known = {other: specialise([old], {node: value})[0] for other, old in case.known.items()} | {node: value}
    enabled = specialise([case.enabled], known)[0] if node in decisions([case.enabled]) else case.enabled
    enabled = _without_implied(enabled, guard)
    if enabled is not FALSE:
        yield DecidedCase(known, taken, guard, enabled)


def _count(node: Finitely) -> int:
    return len(node.options) if isinstance(node, Choose) else node.args[0].size


def _value(node: Finitely, number: int) -> Expr:
    return node.written[number] if isinstance(node, Choose) else Const((), node.sort, (), (Fraction(number),))


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    """The parts of a conjunction, and of conjunctions in it."""
    return () if condition is TRUE else _parts(condition, e.And)


def disjuncts(condition: Expr) -> tuple[Expr, ...]:
    """The parts of a disjunction, and of disjunctions in it."""
    return _parts(condition, e.Or)


def _parts(condition: Expr, kind: type[Expr]) -> tuple[Expr, ...]:
    found: dict[Expr, None] = {}
    waiting = [condition]
    while waiting:
        node = waiting.pop()
        if isinstance(node, kind):
            waiting.extend(reversed(node.args))
        else:
            found[node] = None
    return tuple(found)


def _without_implied(condition: Expr, guard: Expr) -> Expr:
    """What a conjunction says beyond the guard: "some option exists" is no news where one is taken."""
    facts = set(conjuncts(guard))
    return build.conj(*(part for part in conjuncts(condition) if not _implied(part, facts)))


def _implied(part: Expr, facts: set[Expr]) -> bool:
    """Whether facts imply a condition: one of them does, or all parts of one of its alternatives are among them."""
    ways = disjuncts(part)
    return any(facts.issuperset(conjuncts(way)) for way in ways) or any(set(disjuncts(f)) <= set(ways) for f in facts)


# Operators ------------------------------------------------------------------------------------------------------------


def _operator(following: Mapping[Expr, Expr], case: DecidedCase) -> StepOperator | None:
    """The operator of a case in which everything is decided."""
    (guard,) = specialise([build.conj(case.guard, case.enabled)], case.known)
    if guard is FALSE:
        return None
    after = {var: _taken(expr, case.known) for var, expr in following.items()}
    updates = {var: expr for var, expr in after.items() if expr is not var}
    return _with_guard(guard, updates, case)


def _with_guard(guard: Expr, updates: Mapping[Expr, Expr], case: DecidedCase) -> StepOperator:
    winners = tuple((node, number) for node, number in case.taken.items() if isinstance(node, Argmax))
    said = [part for part in conjuncts(guard) if mentions_network(part)]
    own = build.conj(*(part for part in conjuncts(guard) if part not in said))
    return StepOperator(own, updates, winners, tuple(said), case.taken)


def mentions_network(expr: Expr) -> bool:
    """Whether a layer of a network is part of an expression."""
    return any(isinstance(node, e.Affine) for node in order([expr]))


def _taken(expr: Expr, known: Mapping[Expr, Expr]) -> Expr:
    """An expression with what is known folded away; of branches that are decided only the one taken is looked at."""
    while isinstance(expr, e.If | e.Switch):
        (subject,) = specialise([expr.args[0]], known)
        if not isinstance(subject, Const) or subject.shape:
            break
        expr = _branch(expr, subject.value)
    return specialise([expr], known)[0]


def _branch(node: e.If | e.Switch, value: Fraction) -> Expr:
    if isinstance(node, e.If):
        return node.args[1] if value else node.args[2]
    return node.args[1 + (node.cases.index(value) if value in node.cases else node.cases.index(None))]


def _without_needless_winners(made: Sequence[StepOperator]) -> list[StepOperator]:
    """One operator in the place of those that differ in the winner of an argmax alone, if any winner will do."""
    kept = list(made)
    for node in dict.fromkeys(node for operator in made for node, _ in operator.winners):
        alike: dict[object, list[StepOperator]] = defaultdict(list)
        for operator in kept:
            alike[_apart_from(operator, node)].append(operator)
        kept = [one for group in alike.values() for one in _merged(group, node)]
    return kept


def _apart_from(operator: StepOperator, node: Argmax) -> object:
    others = frozenset((choice, number) for choice, number in operator.decisions.items() if choice is not node)
    return operator.guard, frozenset(operator.updates.items()), operator.comparisons, others


def _merged(group: Sequence[StepOperator], node: Argmax) -> Sequence[StepOperator]:
    if len(group) < node.args[0].size:
        return group
    first = group[0]
    winners = tuple(entry for entry in first.winners if entry[0] is not node)
    rest = {choice: number for choice, number in first.decisions.items() if choice is not node}
    return [replace(first, winners=winners, decisions=rest)]
