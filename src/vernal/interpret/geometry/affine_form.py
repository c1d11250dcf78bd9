"""Affine forms over the rationals, rows that compare them with zero, and their exact ranges over a box.

A box may be open at some of its ends, and a range says whether its ends are attained: `x < 1` on [0, 1) is certain,
`x < 1` on [0, 1] is not, and no float could tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import fmpq, fmpq_mat

from vernal.interpret.numbers import number_size
from vernal.interpret.numbers.integers import integers, times
from vernal.interpret.numbers.number_size import MAX_BITS, fit
from vernal.model import expr as e
from vernal.model.expr import Component, Expr
from vernal.model.tick import Tick, idle

ExactBox = Mapping[Component, tuple[fmpq, fmpq]]
OpenEnds = frozenset[tuple[Component, int]]  # ends that do not belong to the box: 0 for the lower, 1 for the upper

ZERO, ONE = fmpq(0), fmpq(1)
CLOSED: OpenEnds = frozenset()


def rational(value: Fraction | int) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


@dataclass(frozen=True, slots=True)
class AffineForm:
    """constant + sum of coefficient * input, exactly; inputs with coefficient 0 are left out."""

    constant: fmpq
    coefficients: Mapping[Component, fmpq] = field(default_factory=dict)

    def __neg__(self) -> AffineForm:
        return self.scale(fmpq(-1))

    def __add__(self, other: AffineForm) -> AffineForm:
        if not self.coefficients or not other.coefficients:
            return AffineForm(self.constant + other.constant, self.coefficients or other.coefficients)
        terms = dict(self.coefficients)
        for name, value in other.coefficients.items():
            terms[name] = terms.get(name, ZERO) + value
        return AffineForm(
            self.constant + other.constant, {name: value for name, value in terms.items() if value != ZERO}
        )

    def __sub__(self, other: AffineForm) -> AffineForm:
        return self + -other

    def scale(self, factor: fmpq) -> AffineForm:
        if factor == ZERO:
            return AffineForm(ZERO)
        return AffineForm(factor * self.constant, {name: factor * a for name, a in self.coefficients.items()})

    def at(self, point: Mapping[Component, fmpq]) -> fmpq:
        """The value at a point."""
        value = self.constant
        for name, a in self.coefficients.items():
            value = fit(value + a * point[name])
        return value

    def bounded(self) -> AffineForm:
        """The form, if all its numbers are within the cap on their bits."""
        if max(map(fmpq.height_bits, (self.constant, *self.coefficients.values()))) > MAX_BITS:
            raise number_size.too_long()
        return self

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for equal forms, and hashable."""
        return self.constant, frozenset(self.coefficients.items())


# Ranges ---------------------------------------------------------------------------------------------------------------


class Extent(NamedTuple):
    """All values of a form over a box: from low to high, which may be left out."""

    low: fmpq
    high: fmpq
    low_open: bool = False
    high_open: bool = False


def extent(form: AffineForm, box: ExactBox, opened: OpenEnds = CLOSED) -> Extent:
    """The exact range of a form over a box."""
    low = high = form.constant
    low_open = high_open = False
    for name, a in form.coefficients.items():
        least, most = box[name]
        side = 0 if a > ZERO else 1
        if side:
            least, most = most, least
        low, high = low + a * least, high + a * most
        if low.height_bits() > MAX_BITS or high.height_bits() > MAX_BITS:
            raise number_size.too_long()
        if opened:
            low_open |= (name, side) in opened
            high_open |= (name, 1 - side) in opened
    return Extent(low, high, low_open, high_open)


def exact_range(form: AffineForm, box: ExactBox) -> tuple[Fraction, Fraction]:
    """The least and the largest value of a form over the closed box."""
    found = extent(form, box)
    return fraction(found.low), fraction(found.high)


# Rows -----------------------------------------------------------------------------------------------------------------


class Relation(Enum):
    """How a form compares with zero."""

    AT_LEAST = ">="
    ABOVE = ">"
    EQUAL = "=="


class Row(NamedTuple):
    """`form relation 0`"""

    form: AffineForm
    relation: Relation

    def holds_at(self, point: Mapping[Component, fmpq]) -> bool:
        value = self.form.at(point)
        match self.relation:
            case Relation.AT_LEAST:
                return bool(value >= ZERO)
            case Relation.ABOVE:
                return bool(value > ZERO)
        return bool(value == ZERO)

    def is_certain(self, over: Extent, closed: bool = False) -> bool:
        """Whether the row holds everywhere; `closed` takes > for >=."""
        match self.relation:
            case Relation.EQUAL:
                return bool(over.low == ZERO == over.high)
            case Relation.ABOVE if not closed:
                return bool(over.low > ZERO) or (over.low_open and over.low == ZERO)
        return bool(over.low >= ZERO)

    def is_refuted(self, over: Extent) -> bool:
        """Whether the row holds nowhere."""
        above, below = over.high < ZERO, over.low > ZERO
        match self.relation:
            case Relation.ABOVE:
                return bool(over.high <= ZERO)
            case Relation.AT_LEAST:
                return bool(above) or (over.high_open and over.high == ZERO)
        touches = (over.high_open and over.high == ZERO) or (over.low_open and over.low == ZERO)
        return bool(above or below) or touches

    @property
    def opposites(self) -> tuple[Row, ...]:
        """Rows of which exactly one holds where this one does not."""
        match self.relation:
            case Relation.AT_LEAST:
                return (Row(-self.form, Relation.ABOVE),)
            case Relation.ABOVE:
                return (Row(-self.form, Relation.AT_LEAST),)
        return Row(self.form, Relation.ABOVE), Row(-self.form, Relation.ABOVE)

    @property
    def key(self) -> tuple[object, ...]:
        return self.relation, *self.form.key


def at_least(form: AffineForm) -> Row:
    return Row(form, Relation.AT_LEAST)


def above(form: AffineForm) -> Row:
    return Row(form, Relation.ABOVE)


def equal(form: AffineForm) -> Row:
    return Row(form, Relation.EQUAL)


# Operators that keep a form affine ------------------------------------------------------------------------------------


def affine_layer(node: e.Affine, x: Sequence[AffineForm | None], tick: Tick = idle) -> tuple[AffineForm | None, ...]:
    """W x + b as one product of integer matrices; a component that is not affine spoils only rows that look at it."""
    forms = [AffineForm(ZERO) if form is None else form for form in x]
    names = list(dict.fromkeys(name for form in forms for name in form.coefficients))
    entries = [a for form in forms for a in (form.constant, *(form.coefficients.get(name, ZERO) for name in names))]
    bias, bias_scale = integers(node.bias)
    if number_size.common_denominator(entries) is None:
        raise number_size.too_long()
    numerators, denominator = fmpq_mat(len(forms), 1 + len(names), entries).numer_denom()
    rows, scale = times(node.weight, numerators, tick)
    below = scale * denominator
    spoiled: list[bool] = np.any(node.weight.array[:, [form is None for form in x]], axis=1).tolist()
    made: list[AffineForm | None] = []
    for row, end, is_spoiled in zip(rows, bias.entries(), spoiled, strict=True):
        tick()
        coefficients = {name: fmpq(a, below) for name, a in zip(names, row[1:], strict=True) if a != 0}
        form = AffineForm(fmpq(row[0], below) + fmpq(end, bias_scale), coefficients)
        made.append(None if is_spoiled else form.bounded())
    return tuple(made)


def arithmetic(node: Expr, x: Sequence[AffineForm]) -> AffineForm | None:
    """Sums, and products and quotients with constants; None where the result is not affine or not defined."""
    form = _combined(node, x)
    return None if form is None else form.bounded()


def _sum(forms: Sequence[AffineForm]) -> AffineForm:
    total = forms[0]
    for form in forms[1:-1]:
        total = (total + form).bounded()  # each denominator may be a new one
    return total + forms[-1] if len(forms) > 1 else total


def _combined(node: Expr, x: Sequence[AffineForm]) -> AffineForm | None:
    match node:
        case e.Add():
            return _sum(x)
        case e.Neg():
            return -x[0]
        case e.Mul():
            if not x[0].coefficients:
                return x[1].scale(x[0].constant)
            return None if x[1].coefficients else x[0].scale(x[1].constant)
        case e.Div():
            return None if x[1].coefficients or x[1].constant == ZERO else x[0].scale(1 / x[1].constant)
        case e.Pow(exponent=p):
            fits = not x[0].coefficients and p.denominator == 1 and (x[0].constant != ZERO or p >= 0)
            return AffineForm(number_size.power(x[0].constant, int(p))) if fits else None
    return None
