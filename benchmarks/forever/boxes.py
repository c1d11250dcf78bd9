"""Boxes of states and memories, and where a step takes them: by bound propagation, or by mixed-integer programs.

What the AAMAS 2025 paper needs of sets: their images (direction OVER: a box around the image of a box), whether a
condition is true all over one of them, and whether one is contained in a union of others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from vernal.engines.programs.program import program
from vernal.interpret.geometry.affine_form import AffineForm
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.milp.encode import Encoder
from vernal.interpret.milp.rows import ColumnForm, Unsuitable
from vernal.interpret.symbolic.affine import Forms
from vernal.interpret.symbolic.cases import SymbolicScalar
from vernal.interpret.value_sets import Finite, Range, Truth
from vernal.model.expr import Expr
from vernal.model.initial import Box, Ends, OneOf, Span, Start
from vernal.model.sorts import INT, Kind
from vernal.model.system import System
from vernal.model.tick import Tick
from vernal.run.budget import Budget
from vernal.sets.levels import abstract_box
from vernal.solvers.base import MilpProblem, MilpSolver, SolveStatus

GAP = 1e-4  # relative; within it HiGHS calls a point optimal
MARGIN = 1e-6  # what the solver's tolerances may hide
FloatEnds = tuple[float, float] | Ends  # rationals where the bounds are exact
MAX_PARTS = 256  # of a box that several others cover


class Bounds:
    """Bounds of a step over one box: linear ones, and exact forms where a value is affine in the box."""

    def __init__(self, box: Box, tick: Tick) -> None:
        self.linear = Linear(abstract_box([box]), tick=tick)
        self.forms = Forms(box.ends, self.linear, tick=tick)

    def ends(self, node: Expr) -> list[FloatEnds]:
        """Every component of a node between two numbers; labels and truth values are numbers from 0 on."""
        value = self.linear.range(node) if node.sort.is_number else self.linear.value(node)
        match value:
            case Range(lower, upper):
                rough = zip(np.ravel(lower[0]).tolist(), np.ravel(upper[0]).tolist(), strict=True)
                return [self._exactly(form, ends) for form, ends in zip(self.forms.values(node), rough, strict=True)]
            case Truth(must, may):
                return [(float(a), float(b)) for a, b in zip(np.ravel(must[0]), np.ravel(may[0]), strict=True)]
            case Finite(mask, values):
                possible = [float(one) for one, there in zip(values, np.ravel(mask[0]), strict=True) if there]
                return [(min(possible), max(possible))]

    def _exactly(self, form: SymbolicScalar, ends: FloatEnds) -> FloatEnds:
        return self.forms.range(form) if isinstance(form, AffineForm) else ends

    def implies(self, condition: Expr) -> bool:
        """Whether the condition is true of all states of the box."""
        return bool(self.linear.truth(condition).must[0]) or self.forms.truth(condition) is True


@dataclass(frozen=True)
class Propagation:
    """Bound propagation through time, a step at a time (Algorithm 1)."""

    system: System
    budget: Budget

    def after(self, box: Box) -> Box | None:
        """A box around all states that a step leads to; None where there is no bound."""
        bounds = Bounds(box, self.budget.check)
        return _box(self.system, [bounds.ends(node) for node in moves(self.system)])

    def keeps(self, box: Box, condition: Expr) -> bool:
        """Whether the condition is true of all states of the box."""
        return Bounds(box, self.budget.check).implies(condition)


@dataclass(frozen=True)
class Programs:
    """The same, by a mixed-integer program for each end (Algorithm 2, over one step): the hull of the image."""

    system: System
    budget: Budget
    solver: MilpSolver

    def after(self, box: Box) -> Box | None:
        """The hull of what a step leads to; where there is no program, what propagation says."""
        bounds = Bounds(box, self.budget.check)
        known = [bounds.ends(node) for node in moves(self.system)]
        encoder = Encoder(_starts(box), bounds.linear, bounds.forms, self.budget.check)
        try:
            forms = [encoder.need(node) if node.sort.is_number else () for node in moves(self.system)]
        except Unsuitable:
            return _box(self.system, known)
        problem = program(encoder.sheet)
        found = [
            [self._tighter(problem, form, ends) for form, ends in zip(own, entry, strict=True)] if own else entry
            for own, entry in zip(forms, known, strict=True)
        ]
        return _box(self.system, found)

    def _tighter(self, problem: MilpProblem, form: ColumnForm, ends: FloatEnds) -> FloatEnds:
        if isinstance(ends[0], Fraction):  # exact already
            return ends
        low, high = (self._most(problem, form, sign) for sign in (-1.0, 1.0))
        return max(ends[0], -low), min(ends[1], high)

    def _most(self, problem: MilpProblem, form: ColumnForm, sign: float) -> float:
        """The most a form can be (or, with the sign -1, its negative)."""
        objective = np.zeros(problem.columns)
        for column, value in form.terms.items():
            objective[column] = sign * value
        self.budget.check()
        solved = self.solver.solve(replace(problem, objective=objective), self.budget.left, tick=self.budget.check)
        if solved.status is not SolveStatus.OPTIMAL or solved.objective is None:
            return math.inf
        top = solved.objective
        slack = MARGIN * (1 + abs(top)) + (GAP * abs(top) if problem.integer.any() else 0.0)
        return sign * form.constant + top + form.error + slack

    def keeps(self, box: Box, condition: Expr) -> bool:
        bounds = Bounds(box, self.budget.check)
        if bounds.implies(condition):
            return True
        encoder = Encoder(_starts(box), bounds.linear, bounds.forms, self.budget.check)
        try:
            encoder.require(condition, False)
        except Unsuitable:
            return False
        if encoder.sheet.infeasible:
            return True
        outcome = self.solver.solve(program(encoder.sheet), self.budget.left, tick=self.budget.check)
        self.budget.check()
        return outcome.status is SolveStatus.INFEASIBLE


Images = Propagation | Programs


def moves(system: System) -> Sequence[Expr]:
    """What a step makes of state and memory."""
    return (*system.step.next_state, *system.step.next_memory)


def _box(system: System, entries: Sequence[Sequence[FloatEnds]]) -> Box | None:
    if not all(math.isfinite(end) for entry in entries for ends in entry for end in ends):
        return None
    made: dict[Expr, tuple[Ends, ...]] = {}
    for var, entry in zip(system.step.inputs, entries, strict=True):
        made[var] = tuple(_whole(var, Fraction(low), Fraction(high)) for low, high in entry)
    return Box(made)


def _whole(var: Expr, low: Fraction, high: Fraction) -> Ends:
    return (Fraction(math.ceil(low)), Fraction(math.floor(high))) if var.sort == INT else (low, high)


def _starts(box: Box) -> dict[Expr, tuple[Start, ...]]:
    return {var: tuple(_start(var, ends) for ends in entry) for var, entry in box.ends.items()}


def _start(var: Expr, ends: Ends) -> Start:
    if var.sort.kind in (Kind.BOOL, Kind.ENUM):
        return OneOf(tuple(map(Fraction, range(int(ends[0]), int(ends[1]) + 1))))
    return Span(*ends)


# Containment ----------------------------------------------------------------------------------------------------------


def contains(outer: Box, inner: Box) -> bool:
    return all(
        low <= own_low and own_high <= high
        for var, entry in inner.ends.items()
        for (own_low, own_high), (low, high) in zip(entry, outer.ends[var], strict=True)
    )


def covered(box: Box, boxes: Sequence[Box]) -> bool:
    """Whether a union of boxes contains a box: what one of them leaves over, the others have to contain."""
    waiting, parts = [(box, 0)], 0
    while waiting:
        one, tried = waiting.pop()
        if any(contains(other, one) for other in boxes):
            continue
        parts += 1
        if tried == len(boxes) or parts > MAX_PARTS:
            return False
        waiting += [(rest, tried + 1) for rest in _without(one, boxes[tried])]
    return True


def _without(box: Box, other: Box) -> list[Box]:
    """What is left of a box outside another, as closed boxes."""
    rest: list[Box] = []
    for var, entry in box.ends.items():
        for i, (low, high) in enumerate(entry):
            bottom, top = other.ends[var][i]
            if high < bottom or top < low:
                return [*rest, box]
            if low < bottom:
                rest.append(box.replaced(var, i, (low, bottom)))
            if top < high:
                rest.append(box.replaced(var, i, (top, high)))
            box = box.replaced(var, i, (max(low, bottom), min(high, top)))
    return rest


def hull(box: Box, other: Box) -> Box:
    return Box(
        {
            var: tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(entry, other.ends[var], strict=True))
            for var, entry in box.ends.items()
        }
    )
