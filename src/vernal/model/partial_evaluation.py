"""Partial evaluation: a graph in which some nodes are known, with everything that follows from them folded away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from vernal.errors import TypeClash
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.graph import order, with_args

if TYPE_CHECKING:
    from vernal.model.closed_graph import ClosedStep

MAX_KNOWN = 4096  # partial evaluations that are remembered

Rule = Callable[[Expr, tuple[Expr, ...]], Expr]

RULES: dict[type[Expr], Rule] = {
    e.Add: lambda node, args: build.add(*args),
    e.Neg: lambda node, args: build.neg(*args),
    e.Mul: lambda node, args: build.mul(*args),
    e.Div: lambda node, args: build.div(*args),
    e.Abs: lambda node, args: build.absolute(*args),
    e.Relu: lambda node, args: build.relu(*args),
    e.Sign: lambda node, args: build.sign(*args),
    e.Floor: lambda node, args: build.floor(*args),
    e.Max: lambda node, args: build.maximum(*args),
    e.Min: lambda node, args: build.minimum(*args),
    e.Not: lambda node, args: build.negate(*args),
    e.And: lambda node, args: build.conj(*args),
    e.Or: lambda node, args: build.disj(*args),
    e.If: lambda node, args: build.if_(*args),
    e.Concat: lambda node, args: build.concat(*args),
}


def specialise(roots: Sequence[Expr], known: Mapping[Expr, Expr]) -> list[Expr]:
    """The roots with known nodes replaced, and all that becomes constant or decided by it folded."""
    new: dict[Expr, Expr] = {}
    for node in order(roots, known):
        if node in known:
            new[node] = known[node]
            continue
        args = tuple(new[arg] for arg in node.args)
        new[node] = node if args == node.args else _fold(node, args)
    return [new[root] for root in roots]


class Specialiser:
    """Partial evaluation with a cache: explorations of a graph ask for the same specialisations many times."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[Expr, ...], tuple[tuple[Expr, Expr], ...]], tuple[Expr, ...]] = {}

    def __call__(self, roots: Sequence[Expr], known: Mapping[Expr, Expr]) -> tuple[Expr, ...]:
        key = tuple(roots), tuple(known.items())
        if key not in self._known:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[key] = tuple(specialise(roots, known))
        return self._known[key]


def specialiser(step: ClosedStep) -> Specialiser:
    """The one that all explorations of a step share, as `step.once(specialiser)`."""
    return Specialiser()


def _fold(node: Expr, args: tuple[Expr, ...]) -> Expr:
    """The operator over new arguments; one that is undefined there stays as it is, since it may not be needed."""
    try:
        match node:
            case e.Compare(op=op):
                made = build.compare(op, *args)
            case e.Switch(cases=cases):
                made = build.switch(args[0], cases, args[1:])
            case e.Gather(indices=indices):
                made = build.gather(args[0], indices) if node.shape else build.component(args[0], indices[0])
            case _:
                rule = RULES.get(type(node))
                made = with_args(node, args) if rule is None else rule(node, args)
    except TypeClash:
        return with_args(node, args)
    return (
        made if (made.sort, made.shape) == (node.sort, node.shape) or _narrower(made, node) else with_args(node, args)
    )


def _narrower(made: Expr, node: Expr) -> bool:
    """An int in the place of a real, or a scalar in that of a vector, means the same wherever it is used."""
    return made.sort.is_number and node.sort.is_number and made.shape == node.shape


def next_decision(roots: Sequence[Expr]) -> Expr | None:
    """The first decision needed whatever else is decided: a comparison of numbers, an argmax or a choice.

    Of a branching only the condition is looked at as long as it holds a decision, so nothing is asked on behalf of a
    branch that may not be taken; and of a choice only which of its options exist.
    """
    closed: set[Expr] = set()  # nodes without a decision below
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        if node in closed:
            stack.pop()
            continue
        waiting = [arg for arg in _needed(node, closed) if arg not in closed]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        if is_decision(node):
            return node
        closed.add(node)
    return None


def _needed(node: Expr, closed: set[Expr]) -> Sequence[Expr]:
    if isinstance(node, e.Choose):
        return node.guards
    if isinstance(node, e.If | e.Switch) and node.args[0] not in closed:
        return node.args[:1]
    return node.args


def is_decision(node: Expr) -> bool:
    """Whether a node has to be decided before what follows is affine: scalar comparisons, argmax, choices."""
    if isinstance(node, e.Compare):
        return not node.shape and node.args[0].sort.is_number
    return isinstance(node, e.Argmax | e.Choose)
