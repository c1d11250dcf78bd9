"""Evaluation on demand: a node is computed after what it needs, and what no taken branch needs is never computed.

The walk keeps its own stack, so the depth of a graph does not matter. Modules that say what nodes mean register their
functions in `MEANINGS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any, TypeVar

from flint import arb, fmpq

from vernal.interpret.numbers import reals
from vernal.interpret.numbers.reals import ExactNumber, ExactScalar, Undefined
from vernal.model import expr as e
from vernal.model.build import TRUE
from vernal.model.expr import Choose, Expr
from vernal.model.numbers import written
from vernal.model.sorts import BOOL, Sort
from vernal.model.tick import Tick, idle

WalkValue = ExactScalar | list[ExactScalar]
Given = Fraction | int | bool | arb | Sequence[Fraction | arb]
DemandNode = TypeVar("DemandNode", bound=Expr)


@dataclass(slots=True)
class Walk:
    """One evaluation: what is given, and what is known so far."""

    inputs: Mapping[Expr, Given]
    decisions: Mapping[Expr, Given]
    lenient: bool
    tick: Tick = idle  # called at every node and row of a layer; may stop the walk
    values: dict[Expr, WalkValue] = field(default_factory=dict)

    def visit(self, root: Expr) -> None:
        """Compute a node after what it needs, and nothing else."""
        stack = [root]
        while stack:
            node = stack[-1]
            wanted = [] if node in self.values else self.wanted(node)
            if wanted:
                stack.extend(wanted)
                continue
            stack.pop()
            if node not in self.values:
                self.tick()
                self.values[node] = MEANINGS[type(node)](node, self)

    def wanted(self, node: Expr) -> list[Expr]:
        """The arguments a node still needs, given the values so far."""
        need: Sequence[Expr] = node.args
        if isinstance(node, e.If | e.Switch):
            subject = node.args[0]
            need = (subject, *taken(node, self.values[subject])) if subject in self.values else (subject,)
        elif isinstance(node, Choose):
            index = option(node, self)
            need = (*node.guards[index : index + 1], node.options[index])
        return [arg for arg in need if arg not in self.values]

    def given(self, node: Expr, where: Mapping[Expr, Given]) -> WalkValue:
        if node not in where:
            raise LookupError(f"no value is given for {node!r}")
        return _enter(where[node], node.sort)


def _enter(value: Given, sort: Sort) -> WalkValue:
    if isinstance(value, Sequence):
        return [enter_scalar(item, sort) for item in value]
    return enter_scalar(value, sort)


def enter_scalar(value: Fraction | int | bool | arb, sort: Sort) -> ExactScalar:
    if isinstance(value, arb):
        return value
    return bool(value) if sort == BOOL else reals.rational(Fraction(value))


def taken(node: e.If | e.Switch, subject: WalkValue) -> tuple[Expr, ...]:
    """The branches that matter: one, none where the subject has no value, more where a vector mixes them."""
    if isinstance(node, e.If):
        items = subject if isinstance(subject, list) else [subject]
        return tuple(branch for branch, wanted in zip(node.args[1:], (True, False), strict=True) if wanted in items)
    assert not isinstance(subject, list)
    number = fmpq(subject) if isinstance(subject, bool) else subject
    if number is None or isinstance(number, Undefined):
        return ()
    for case, branch in zip(node.cases, node.args[1:], strict=True):
        match case is None or reals.equal(number, reals.rational(case)):
            case True:
                return (branch,)
            case None:
                return ()
    return ()


def option(node: Choose, walk: Walk) -> int:
    if node not in walk.decisions:
        raise LookupError(f"no option is given for {node!r}")
    index = walk.decisions[node]
    assert isinstance(index, Fraction | int)
    if not 0 <= index < len(node.options) or index != int(index):
        raise LookupError(
            f"{node.occurrence.name} has options 0 to {len(node.options) - 1}, not {written(Fraction(index))}"
        )
    return int(index)


def existing(node: Choose, walk: Walk) -> int:
    """The option that is really taken: the one decided on, or the first that exists where that one does not.

    Guards are computed from the first on until one is true; where none before the last is, the last option is taken.
    """
    index = option(node, walk)
    if not node.guarded or walk.values[node.guards[index]] is not False:
        return index
    *before, last = range(len(node.options))
    return next((i for i in before if node.guards[i] is TRUE or walk.values.get(node.guards[i]) is True), last)


# Meanings -------------------------------------------------------------------------------------------------------------

WalkMeaning = Callable[[Any, Walk], WalkValue]
MEANINGS: dict[type[Expr], WalkMeaning] = {}


def meaning(kind: type[DemandNode]) -> Callable[[Callable[[DemandNode, Walk], WalkValue]], WalkMeaning]:
    """Register what a kind of node means."""

    def register(function: Callable[[DemandNode, Walk], WalkValue]) -> WalkMeaning:
        MEANINGS[kind] = function
        return function

    return register


def elementwise(kind: type[Expr]) -> Callable[[Callable[..., ExactScalar]], Callable[..., ExactScalar]]:
    """Register a function of scalars, in which a scalar goes with every component of a vector."""

    def register(function: Callable[..., ExactScalar]) -> Callable[..., ExactScalar]:
        def apply(node: Expr, walk: Walk) -> WalkValue:
            args = [walk.values[arg] for arg in node.args]
            if not node.shape:
                return function(node, *args)
            rows = [arg if isinstance(arg, list) else [arg] * node.size for arg in args]
            return [function(node, *row) for row in zip(*rows, strict=True)]

        MEANINGS[kind] = apply
        return function

    return register


def strict(function: Callable[..., ExactScalar]) -> Callable[..., ExactScalar]:
    """A function of numbers, where what is undefined or undecided spreads."""

    def apply(node: Expr, *args: ExactScalar) -> ExactScalar:
        for arg in args:
            if isinstance(arg, Undefined):
                return arg
        return None if any(arg is None for arg in args) else function(node, *args)

    return apply


def fold(operation: Callable[[ExactNumber, ExactNumber], ExactScalar]) -> Callable[..., ExactScalar]:
    """An operation of two numbers, over one or more."""

    def step(x: ExactScalar, y: ExactScalar) -> ExactScalar:
        return operation(x, y) if isinstance(x, fmpq | arb) and isinstance(y, fmpq | arb) else None

    return strict(lambda node, *xs: reduce(step, xs))
