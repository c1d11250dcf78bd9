"""Conditions on the state over the segments of a flowpipe: true on the whole of a segment, false on the whole, or open.

Comparisons are bounded over the boxes of all segments at once, and linear ones along the direction of the template that
is nearest to theirs. What stays open of a condition whose comparisons are all linear is decided segment by segment: a
case in which it would be false (or true) is excluded where a linear program, checked exactly, has no solution.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from vernal.errors import InputError
from vernal.evidence.flowpipe import Flowpipe
from vernal.interpret.geometry.affine_form import (
    CLOSED,
    ZERO,
    AffineForm,
    ExactBox,
    Relation,
    Row,
    above,
    at_least,
    equal,
)
from vernal.interpret.geometry.float_lp import propose
from vernal.interpret.geometry.weak_duality import dual_maximum
from vernal.interpret.linear.bounds import InputBox, Linear
from vernal.interpret.numbers.rounding import TINY, Floats, Mask, float_above, float_below
from vernal.interpret.sampled.plant import set_of
from vernal.interpret.symbolic.affine import Forms
from vernal.logic.compared_extremes import apart
from vernal.logic.formula import And, Atom, Formula, Not, Or
from vernal.logic.normal import atoms, fold, nnf, rebuild
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Component, Expr
from vernal.model.lazy import cached_property
from vernal.model.system import Model
from vernal.model.tick import Tick, idle

TRIED = 64  # points of a segment at which a condition is looked at
EXACT_INTEGERS = 2**53  # up to which the values of discrete variables are floats
MAX_CASES = 64  # conjunctions of comparisons that are asked one by one for a segment

RowCase = tuple[Row, ...]


@dataclass(frozen=True, eq=False)
class SegmentTruth:
    """For each segment, whether a condition is true on the whole of it, and whether it is false on the whole."""

    true: Mask
    false: Mask


class StateConditions:
    """Conditions of a flow's formulas, with their linear comparisons as exact rows."""

    def __init__(self, flow: Model, tick: Tick = idle) -> None:
        self.flow, self.tick = flow, tick
        self._forms = Forms({var: (ends,) for var, ends in zip(flow.vars, flow.region, strict=True)}, tick=tick)

    def form(self, atom: Expr) -> AffineForm | None:
        """What a comparison of numbers compares with zero (at least, above, equal or not), where that is linear."""
        if not isinstance(atom, e.Compare) or not atom.args[0].sort.is_number:
            return None
        left, right = (self.flow.resolve(arg) for arg in atom.args)
        (value,) = self._forms.values(build.sub(right, left))
        return value if isinstance(value, AffineForm) and value.coefficients else None

    def normals(self, formula: Formula) -> NDArray[np.float64]:
        """The directions along which the formula's linear comparisons look, each of length one; (d, n)."""
        compared = (one for atom in atoms(formula) for one in atoms(self._apart(Atom(atom))))
        found = [self._normal(form) for form in map(self.form, compared) if form is not None]
        return np.array(found).reshape(-1, len(self.flow.state))

    def linear(self, expression: Expr) -> AffineForm | None:
        """A number as a linear form over the variables, where it is one and no constant."""
        (value,) = self._forms.values(self.flow.resolve(expression))
        return value if isinstance(value, AffineForm) and value.coefficients else None

    def direction(self, expression: Expr) -> Floats:
        """The direction along which a linear expression grows."""
        form = self.linear(expression)
        if form is None:
            raise InputError("a direction is a linear expression over the variables, such as x + 2*y")
        return np.array(self._normal(form))

    def _normal(self, form: AffineForm) -> list[float]:
        largest = max(abs(a) for a in form.coefficients.values())
        return [_float(form.coefficients.get((var, 0), ZERO) / largest) for var in self.flow.vars]

    def over(self, condition: Formula, pipe: Flowpipe) -> SegmentTruth:
        """A condition, without temporal operators, over the segments of a pipe."""
        normal = nnf(self._apart(condition))
        known = fold(normal, _Bounds(self, pipe).rule)
        return SegmentTruth(
            known.true | self._excluded(nnf(Not(normal)), pipe, ~known.true & ~known.false), known.false
        )

    def margins(self, condition: Formula, pipe: Flowpipe) -> Floats:
        """For each segment a lower bound of the margin of a condition, whichever of its states is taken."""
        return np.asarray(fold(nnf(self._apart(condition)), _Bounds(self, pipe).margin)[0])

    def _apart(self, condition: Formula) -> Formula:
        """A condition with what it compares written out, and |x|, max and min apart."""
        named = fold(condition, lambda node, args: self._written_out(node) or rebuild(node, args))
        return apart(named)

    def _written_out(self, node: Formula) -> Formula | None:
        return Atom(self.flow.resolve(node.expr)) if isinstance(node, Atom) else None

    def _excluded(self, condition: Formula, pipe: Flowpipe, asked: Mask) -> Mask:
        """Segments among those asked for in which the condition is nowhere true.

        Where it is true at some point that floating point finds, no linear program is asked.
        """
        found = np.zeros(len(asked), dtype=bool)
        cases = self.cases(condition) if asked.any() else None
        if cases is None:
            return found
        for segment in np.flatnonzero(asked & ~self._met(cases, pipe, asked)):
            self.tick()
            box, rows = self._polyhedron(pipe, int(segment))
            found[segment] = all(propose(box, CLOSED, [*rows, *case]) is None for case in cases)
        return found

    def _met(self, cases: list[RowCase], pipe: Flowpipe, asked: Mask) -> Mask:
        """Segments among those asked for with a point at which a case seems to be true."""
        count = len(self.flow.state)
        shares = np.random.default_rng(0).uniform(size=(TRIED, count))
        lower, upper = pipe.lower[asked], pipe.upper[asked]
        points = lower[:, None, :count] + shares * (upper - lower)[:, None, :count]  # (segments, points, variables)
        along = points @ pipe.directions.T
        inside = ((along >= lower[:, None]) & (along <= upper[:, None])).all(axis=2)
        true = np.zeros(inside.shape, dtype=bool)
        for case in cases:
            true |= np.array([_holds(row, points, self.flow) for row in case]).all(axis=0)
        found = np.zeros(len(asked), dtype=bool)
        found[asked] = (inside & true).any(axis=1)
        return found

    def _polyhedron(self, pipe: Flowpipe, segment: int) -> tuple[ExactBox, list[Row]]:
        """A segment as an exact box and rows."""
        count = len(self.flow.state)
        names: list[Component] = [(var, 0) for var in self.flow.vars]
        lower, upper = ([_exact(end) for end in side[segment]] for side in (pipe.lower, pipe.upper))
        rows: list[Row] = []
        for index in range(count, len(pipe.directions)):
            terms = zip(names, map(_exact, pipe.directions[index]), strict=True)
            form = AffineForm(ZERO, {name: a for name, a in terms if a != ZERO})
            rows += [at_least(form - AffineForm(lower[index])), at_least(AffineForm(upper[index]) - form)]
        return dict(zip(names, zip(lower[:count], upper[:count], strict=True), strict=True)), rows

    def cases(self, condition: Formula) -> list[RowCase] | None:
        """A condition in negation normal form as alternatives of rows; None where it is not linear or has too many."""
        try:
            return fold(condition, self._cases)
        except _NoCases:
            return None

    def _cases(self, node: Formula, args: tuple[list[RowCase], ...]) -> list[RowCase]:
        match node:
            case Atom(expr) | Not(Atom(expr)):
                return self._rows(expr, negated=isinstance(node, Not))
            case Or():
                made = [case for arg in args for case in arg]
            case And():
                if np.prod([len(arg) for arg in args], dtype=float) > MAX_CASES:
                    raise _NoCases
                made = [sum(chosen, ()) for chosen in product(*args)]
            case _:
                raise _NoCases
        if len(made) > MAX_CASES:
            raise _NoCases
        return made

    def _rows(self, atom: Expr, *, negated: bool) -> list[RowCase]:
        form = self.form(atom)
        if form is None:
            raise _NoCases
        assert isinstance(atom, e.Compare)
        match (atom.op, negated):
            case ("<=", False):
                return [(at_least(form),)]
            case ("<=", True):
                return [(above(-form),)]
            case ("<", False):
                return [(above(form),)]
            case ("<", True):
                return [(at_least(-form),)]
            case ("==", False) | ("!=", True):
                return [(equal(form),)]
        return [(above(form),), (above(-form),)]


class _NoCases(Exception):
    """A condition that is not a moderate number of linear cases."""


class _Bounds:
    """StateConditions decided by bounds, for all segments at once."""

    def __init__(self, conditions: StateConditions, pipe: Flowpipe) -> None:
        self.conditions, self.pipe = conditions, pipe

    @cached_property
    def _linear(self) -> Linear:
        ends = zip(self.conditions.flow.vars, self.pipe.lower.T, self.pipe.upper.T, strict=False)  # axes come first
        box: InputBox = {var: set_of(var.sort, lower, upper) for var, lower, upper in ends}
        return Linear(box, tick=self.conditions.tick, batch=len(self.pipe.times))

    def rule(self, node: Formula, args: tuple[SegmentTruth, ...]) -> SegmentTruth:
        match node:
            case Atom(expr):
                return self._atom(expr)
            case Not():
                return SegmentTruth(args[0].false, args[0].true)
            case And():
                return SegmentTruth(_all(arg.true for arg in args), _any(arg.false for arg in args))
        assert isinstance(node, Or)
        return SegmentTruth(_any(arg.true for arg in args), _all(arg.false for arg in args))

    def margin(self, node: Formula, args: tuple[tuple[Floats, Floats], ...]) -> tuple[Floats, Floats]:
        """Bounds of the margin of a condition, over each segment."""
        match node:
            case Atom(expr):
                return self._atom_margin(expr)
            case Not():
                return -args[0][1], -args[0][0]
        assert isinstance(node, And | Or)
        join = np.minimum if isinstance(node, And) else np.maximum
        lower, upper = (np.asarray(join.reduce([arg[side] for arg in args])) for side in (0, 1))
        return lower, upper

    def _atom_margin(self, atom: Expr) -> tuple[Floats, Floats]:
        if not isinstance(atom, e.Compare) or not atom.args[0].sort.is_number:  # labels are equal or not, by no amount
            known = self._atom(atom)
            return np.where(known.true, np.inf, -np.inf), np.where(known.false, -np.inf, np.inf)
        form = self.conditions.form(atom)
        if form is None or atom.op in ("==", "!="):
            found = self._linear.margin(self.conditions.flow.resolve(atom))
            shape = (len(self.pipe.times),)
            return np.broadcast_to(found.lower, shape), np.broadcast_to(found.upper, shape)
        return linear_range(form, self.conditions.flow, self.pipe)

    def _atom(self, atom: Expr) -> SegmentTruth:
        form = self.conditions.form(atom)
        if form is None:
            truth = self._linear.truth(self.conditions.flow.resolve(atom))
            return SegmentTruth(np.asarray(truth.must), ~np.asarray(truth.may))
        assert isinstance(atom, e.Compare)
        lower, upper = linear_range(form, self.conditions.flow, self.pipe)
        found = SignMasks(lower >= 0, lower > 0, upper <= 0, upper < 0) | axis_signs(
            form, self.conditions.flow, self.pipe
        )
        zero, other = found.at_least & found.at_most, found.above | found.below
        match atom.op:
            case "<=":
                return SegmentTruth(found.at_least, found.below)
            case "<":
                return SegmentTruth(found.above, found.at_most)
            case "==":
                return SegmentTruth(zero, other)
        return SegmentTruth(other, zero)


@dataclass(frozen=True, eq=False)
class SignMasks:
    """On which segments a number is at least zero, above it, at most zero, below it."""

    at_least: Mask
    above: Mask
    at_most: Mask
    below: Mask

    def __or__(self, other: SignMasks) -> SignMasks:
        pairs = zip(astuple(self), astuple(other), strict=True)
        return SignMasks(*(first | second for first, second in pairs))


def axis_signs(form: AffineForm, flow: Model, pipe: Flowpipe) -> SignMasks:
    """The signs of a form in one variable: whether its ends on a segment are beyond a number, without any rounding."""
    never = np.zeros(len(pipe.times), dtype=bool)
    root = -form.constant / next(iter(form.coefficients.values()))
    zero = Fraction(int(root.p), int(root.q))
    if len(form.coefficients) != 1 or abs(zero) > EXACT_INTEGERS:
        return SignMasks(never, never, never, never)
    (((var, _), factor),) = form.coefficients.items()
    column = flow.vars.index(var)
    lower, upper = pipe.lower[:, column], pipe.upper[:, column]
    below, above = float_below(zero), float_above(zero)
    right = lower >= above, lower > below, upper <= below, upper < above
    return SignMasks(*right) if factor > 0 else SignMasks(right[2], right[3], right[0], right[1])


def linear_range(form: AffineForm, flow: Model, pipe: Flowpipe) -> tuple[Floats, Floats]:
    """Bounds of a linear form over each segment: along the nearest direction of the template, the rest over boxes."""
    wanted = np.array([_float(form.coefficients.get((var, 0), ZERO)) for var in flow.vars])
    index, scale = _nearest(wanted, pipe.directions)
    direction, count, constant = pipe.directions[index], len(flow.state), _float(form.constant)
    sides = np.array([[max(scale, 0.0), max(-scale, 0.0)], [max(-scale, 0.0), max(scale, 0.0)]])
    high, low = dual_maximum(
        np.array([wanted, -wanted]),
        np.array([constant, -constant]),
        pipe.lower[:, :count],
        pipe.upper[:, :count],
        np.array([direction, -direction]),
        np.column_stack([pipe.upper[:, index], -pipe.lower[:, index]]),
        sides,
    ).T
    return -low, high


def _holds(row: Row, points: Floats, flow: Model) -> Mask:
    """Whether a row seems to hold at points, with variables along the last axis."""
    values = points @ np.array([_float(row.form.coefficients.get((var, 0), ZERO)) for var in flow.vars])
    values = values + _float(row.form.constant)
    match row.relation:
        case Relation.AT_LEAST:
            return np.asarray(values >= 0)
        case Relation.ABOVE:
            return np.asarray(values > 0)
    return np.asarray(values == 0)


def _nearest(wanted: Floats, directions: Floats) -> tuple[int, float]:
    """The direction that leaves least of a vector, and how often it is taken."""
    lengths = np.maximum((directions**2).sum(axis=1), TINY)
    scales = directions @ wanted / lengths
    left = np.abs(wanted - scales[:, None] * directions).sum(axis=1)
    index = int(np.argmin(left))
    return index, _tidy(float(scales[index]), wanted, directions[index])


def _tidy(scale: float, wanted: Floats, direction: Floats) -> float:
    """The scale under which the largest components agree, so that nothing is left of parallel vectors but rounding."""
    largest = int(np.argmax(np.abs(direction)))
    return float(wanted[largest] / direction[largest]) if direction[largest] else scale


def _all(masks: Iterable[Mask]) -> Mask:
    return np.asarray(np.array(list(masks)).all(axis=0))


def _any(masks: Iterable[Mask]) -> Mask:
    return np.asarray(np.array(list(masks)).any(axis=0))


def _exact(number: float) -> fmpq:
    return fmpq(*float(number).as_integer_ratio())


def _float(number: fmpq) -> float:
    """The nearest float, or nearly: the rounding is part of what bounds allow for."""
    return int(number.p) / int(number.q)
