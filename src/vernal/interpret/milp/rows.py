"""Columns and rows: the sheet on which a mixed-integer program is written, with its rounding accounted for.

A `ColumnForm` is a linear expression over columns in floating point. Coefficients are rounded from rationals; the form
carries a bound on how far it may be from the exact expression, and every row is widened by it. So a true execution
satisfies all rows: the program is an OVER-approximation, never more. A point of it is only a candidate.

Two columns are there from the beginning. The *margin* t, from -TOLERANCE to ROBUST: every decision (a comparison, a
guard, the winner of an argmax) holds by at least t times the size of its row. And the *equality slack*, up to
TOLERANCE. Strict and non-strict comparisons are one here, both closed. If there is no point even with t = -TOLERANCE,
a hundred times what solvers are asked for, then there is none with room to spare; a point with t well above zero lies
inside the cell of its decisions, and survives rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from vernal.errors import VernalError
from vernal.interpret.numbers.rounding import UNIT, gamma

TOLERANCE = 1e-7  # relative to a row's largest term
ROBUST = 1e-4
LARGEST_VALUE = 1e9  # values beyond have too few digits left behind the point for a solver's tolerance
SPAN = 1024.0  # rows are scaled down until no term exceeds this: its rounding is then far below the tolerance
SMALLEST = 1e-11  # coefficients below are replaced by their range


class Unsuitable(VernalError):
    """The question has no faithful mixed-integer program; says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, eq=False)
class ColumnForm:
    """constant + sum of coefficient * column, off by at most `error`; `size` bounds the sum of the terms' sizes."""

    terms: Mapping[int, float]
    constant: float
    error: float = 0.0
    size: float = 0.0

    @property
    def is_constant(self) -> bool:
        return not self.terms


def constant(value: Fraction | float, error: float = 0.0) -> ColumnForm:
    """A number, rounded once."""
    if not -LARGEST_VALUE <= value <= LARGEST_VALUE:
        raise Unsuitable(f"numerics: a number beyond {LARGEST_VALUE:g} is too large for a solver's tolerances")
    near = float(value)
    missed = 0.0 if isinstance(value, float) else abs(float(Fraction(near) - value))
    return ColumnForm({}, near, error + missed, abs(near))


ZERO, ONE = ColumnForm({}, 0.0), ColumnForm({}, 1.0, 0.0, 1.0)
ColumnForms = tuple[ColumnForm, ...]  # of a node: one for each component, or one for each label of an enum


def at(values: ColumnForms, index: int) -> ColumnForm:
    """A component; a scalar goes with every one."""
    return values[0] if len(values) == 1 else values[index]


@dataclass(slots=True)
class Sheet:
    """A program under construction."""

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    integer: list[bool] = field(default_factory=list)
    rows: list[tuple[dict[int, float], float]] = field(default_factory=list)  # terms <= bound
    infeasible: bool = False  # bounds alone exclude every point
    margin: int = 0
    equality: int = 1

    def __post_init__(self) -> None:
        self.column(-TOLERANCE, ROBUST)
        self.column(0.0, TOLERANCE)

    # Columns and forms ------------------------------------------------------------------------------------------------

    def column(self, lower: float, upper: float, *, integer: bool = False) -> ColumnForm:
        """A new unknown between its bounds."""
        size = max(abs(lower), abs(upper))
        if not size <= LARGEST_VALUE:
            what = (
                f"a value may be as large as {size:.3g}, too large" if math.isfinite(size) else "a value is unbounded"
            )
            raise Unsuitable(f"numerics: {what} for a mixed-integer program; try a smaller initial set or bound")
        self.lower.append(lower)
        self.upper.append(max(lower, upper))
        self.integer.append(integer)
        return ColumnForm({len(self.lower) - 1: 1.0}, 0.0, 0.0, size)

    def binary(self) -> ColumnForm:
        return self.column(0.0, 1.0, integer=True)

    def combine(self, parts: Sequence[tuple[float, ColumnForm]], offset: float = 0.0, slack: float = 0.0) -> ColumnForm:
        """offset + sum of factor * form; the factors themselves are off by at most 2 units in the last place."""
        terms: dict[int, float] = {}
        total, error, size = offset, slack, abs(offset)
        for factor, form in parts:
            total += factor * form.constant
            error += abs(factor) * form.error
            size += abs(factor) * form.size
            for column, value in form.terms.items():
                terms[column] = terms.get(column, 0.0) + factor * value
        terms = {column: value for column, value in terms.items() if value != 0.0}
        error = (error + gamma(len(parts) + 4) * size) * (1 + 8 * UNIT)
        return ColumnForm(terms, total, error, self.size(terms, total))

    def size(self, terms: Mapping[int, float], offset: float) -> float:
        """How large the terms can be together."""
        return abs(offset) + sum(abs(value) * self.magnitude(column) for column, value in terms.items())

    def magnitude(self, column: int) -> float:
        return max(abs(self.lower[column]), abs(self.upper[column]))

    def minus(self, x: ColumnForm, y: ColumnForm) -> ColumnForm:
        return self.combine([(1.0, x), (-1.0, y)])

    def negation(self, truth: ColumnForm) -> ColumnForm:
        """1 - p for a form that is 0 or 1; exact."""
        terms = {column: -value for column, value in truth.terms.items()}
        return ColumnForm(terms, 1.0 - truth.constant, truth.error, 1.0 + truth.size)

    def top(self, form: ColumnForm) -> float:
        """An upper bound of a form over the columns' bounds."""
        ends = (v * (self.upper[c] if v > 0 else self.lower[c]) for c, v in form.terms.items())
        return form.constant + sum(ends) + form.error + gamma(len(form.terms) + 4) * form.size

    def bottom(self, form: ColumnForm) -> float:
        return -self.top(ColumnForm({c: -v for c, v in form.terms.items()}, -form.constant, form.error, form.size))

    # Rows -------------------------------------------------------------------------------------------------------------

    def at_most(self, form: ColumnForm, bound: float = 0.0) -> None:
        """form <= bound."""
        limit = bound - form.constant + form.error + 4 * UNIT * (abs(bound) + form.size)
        terms: dict[int, float] = {}
        sizes = [abs(value) * self.magnitude(column) for column, value in form.terms.items()]
        if not math.isfinite(limit + sum(sizes) + sum(map(abs, form.terms.values()))):
            raise Unsuitable("numerics: a coefficient or a bound is beyond floating point")
        largest = max(sizes, default=0.0)
        scale = 1.0 if largest <= SPAN else 2.0 ** -math.ceil(math.log2(largest / SPAN))
        for column, value in form.terms.items():
            if abs(value * scale) < SMALLEST:
                limit -= min(value * self.lower[column], value * self.upper[column])
            else:
                terms[column] = value * scale
        if terms:
            self.rows.append((terms, limit * scale))
        elif limit < 0:
            self.infeasible = True

    def equal(self, x: ColumnForm, y: ColumnForm) -> None:
        self.at_most(self.minus(x, y))
        self.at_most(self.minus(y, x))

    def when(self, truth: ColumnForm, form: ColumnForm, top: float | None = None) -> None:
        """form <= 0 where the truth is 1; `top` is what the form can be at most elsewhere."""
        most = self.top(form) if top is None else min(top + form.error, self.top(form))
        if math.isnan(most):
            raise Unsuitable("numerics: a coefficient or a bound is beyond floating point")
        if truth.is_constant:
            if truth.constant == 1.0:
                self.at_most(form)
        elif most > 0:
            most *= 1 + 1e-12
            self.at_most(self.combine([(1.0, form), (most, truth)]), most)

    def decide(self, form: ColumnForm, truth: ColumnForm = ONE, top: float | None = None) -> None:
        """form <= 0 as a decision, i.e. by the margin, where the truth is 1."""
        scale = max(1.0, abs(form.constant), *(abs(v) * self.magnitude(c) for c, v in form.terms.items()), 0.0)
        margin = ColumnForm({self.margin: scale}, 0.0, 0.0, scale * ROBUST)
        self.when(truth, self.combine([(1.0, form), (1.0, margin)]), None if top is None else top + scale * ROBUST)

    def vanish(self, form: ColumnForm, truth: ColumnForm = ONE) -> None:
        """form == 0 up to the equality slack, where the truth is 1."""
        scale = max(1.0, abs(form.constant), *(abs(v) * self.magnitude(c) for c, v in form.terms.items()), 0.0)
        slack = ColumnForm({self.equality: -scale}, 0.0, 0.0, scale * TOLERANCE)
        for sign in (1.0, -1.0):
            self.when(truth, self.combine([(sign, form), (1.0, slack)]))

    # Structure --------------------------------------------------------------------------------------------------------

    def one_of(self, count: int) -> list[ColumnForm]:
        """Binaries of which exactly one is 1."""
        if count == 1:
            return [ONE]
        if count == 2:
            first = self.binary()
            return [first, self.negation(first)]
        picks = [self.binary() for _ in range(count)]
        self.equal(self.combine([(1.0, pick) for pick in picks]), ONE)
        return picks

    def select(
        self, picks: Sequence[ColumnForm], options: Sequence[ColumnForm], lower: float, upper: float
    ) -> ColumnForm:
        """The option whose pick is 1, a value between lower and upper; exactly one pick is."""
        live = [(p, x) for p, x in zip(picks, options, strict=True) if not (p.is_constant and p.constant == 0.0)]
        if not live:  # no branch is possible
            self.infeasible = True
            return ZERO
        if len(live) == 1 or all(_same(x, live[0][1]) for _, x in live):
            return live[0][1]
        if all(x.is_constant for _, x in live):
            slack = max(x.error for _, x in live)
            return self.combine([(x.constant, p) for p, x in live], slack=slack)
        chosen = self.column(lower, upper)
        for pick, x in live:
            self.when(pick, self.minus(chosen, x), upper - self.bottom(x))
            self.when(pick, self.minus(x, chosen), self.top(x) - lower)
        return chosen

    def both(self, truths: Sequence[ColumnForm]) -> ColumnForm:
        """The conjunction of 0/1 forms; integral since they are."""
        if any(p.is_constant and p.constant == 0.0 for p in truths):
            return ZERO
        live = [p for p in truths if not p.is_constant]
        if len(live) < 2:
            return live[0] if live else ONE
        result = self.column(0.0, 1.0)
        for p in live:
            self.at_most(self.minus(result, p))
        self.at_most(self.combine([*((1.0, p) for p in live), (-1.0, result)]), len(live) - 1.0)
        return result

    def either(self, truths: Sequence[ColumnForm]) -> ColumnForm:
        return self.negation(self.both([self.negation(p) for p in truths]))


def _same(x: ColumnForm, y: ColumnForm) -> bool:
    return x is y or (x.constant == y.constant and x.terms == y.terms)
