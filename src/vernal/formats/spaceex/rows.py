"""Rows of invariants and guards, exactly and as floats, the region that they bound, and rates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf

import numpy as np

from vernal.errors import FormatError
from vernal.formats.spaceex.linear import LinearComparison, LinearTerm
from vernal.interpret.geometry.polytopes import Polytope, box, integer_row
from vernal.interpret.numbers.rounding import float_above, float_below
from vernal.model.hybrid import Facets

MAX_EXACT = 6  # variables up to which invariants are compared with the region vertex by vertex
REGION_SLACK = Fraction(1, 2**20)  # of the region's width: rows that were rounded outward may leave it by a little

LinearRow = tuple[list[Fraction], Fraction]  # normal x <= offset


def region_of_rows(
    invariants: Sequence[Sequence[LinearRow]], variables: Sequence[str]
) -> tuple[list[float], list[float]]:
    """The least and the largest bound of each variable in any invariant: the sides of the region are among them."""
    lower, upper = [inf] * len(variables), [-inf] * len(variables)
    for normal, offset in (row for rows in invariants for row in rows):
        used = [j for j, a in enumerate(normal) if a]
        if len(used) == 1:
            (j,) = used
            end = offset / normal[j]
            if normal[j] > 0:
                upper[j] = max(upper[j], float_above(end))
            else:
                lower[j] = min(lower[j], float_below(end))
    for name, low, high in zip(variables, lower, upper, strict=True):
        if not -inf < low <= high < inf:
            raise FormatError(f"no invariant says between which numbers {name!r} is; the region has to be a box")
    return lower, upper


def check_inside(
    rows: Sequence[LinearRow], lower: Sequence[float], upper: Sequence[float], variables: Sequence[str]
) -> None:
    """Refuse an invariant that is not inside the region; with many variables it has to bound each of them itself."""
    if len(variables) > MAX_EXACT:
        outside = [j for j in range(len(variables)) if not _is_bounded(rows, j)]
    else:
        part = _enlarged(lower, upper, Fraction(1)).meet(integer_row([*normal, -offset]) for normal, offset in rows)
        sides = _enlarged(lower, upper, REGION_SLACK).rows
        outside = [r // 2 for r, side in enumerate(sides) if part is not None and not part.satisfies([side])]
    if outside:
        raise FormatError(f"{variables[outside[0]]!r} may be outside the box that the invariants name")


def _enlarged(lower: Sequence[float], upper: Sequence[float], share: Fraction) -> Polytope:
    """The box with this share of its width added on every side."""
    ends = [(Fraction(low), Fraction(high)) for low, high in zip(lower, upper, strict=True)]
    more = [share * (high - low or 1) for low, high in ends]
    return box(
        [low - extra for (low, _), extra in zip(ends, more, strict=True)],
        [high + extra for (_, high), extra in zip(ends, more, strict=True)],
    )


def _is_bounded(rows: Sequence[LinearRow], variable: int) -> bool:
    """Whether rows of one variable alone bound it on both sides."""
    alone = [normal[variable] for normal, _ in rows if [j for j, a in enumerate(normal) if a] == [variable]]
    return any(a > 0 for a in alone) and any(a < 0 for a in alone)


def least_upper(rows: Sequence[LinearComparison], name: str, side: int = 1) -> Fraction | None:
    """The least upper bound of a name alone (of its negation, for side -1); None if there is none."""
    bounds = []
    for row in rows:
        a = row.term.coefficients.get(name, Fraction(0)) * side
        if len(row.term.coefficients) == 1 and (a > 0 or (a and row.equation)):
            bounds.append(-row.term.constant / a)
    return min(bounds, default=None)


def facets_of_rows(rows: Sequence[LinearRow], dimension: int) -> Facets:
    """The rows in floats; where they are none, the facets contain what the rows do."""
    made = [_float_row(normal, offset) for normal, offset in rows]
    return Facets(
        np.array([normal for normal, _ in made]).reshape(-1, dimension), np.array([offset for _, offset in made])
    )


def _float_row(normal: list[Fraction], offset: Fraction) -> tuple[list[float], float]:
    """The row as it is if its normal is made of floats, else a multiple; an offset that is no float is rounded up."""
    if not all(_is_float(a) for a in normal):
        *normal, offset = map(Fraction, integer_row([*normal, offset]))
    if not all(_is_float(a) for a in normal):
        raise FormatError("a comparison with coefficients that no multiple makes floats")
    return [float_of(a) for a in normal], float_above(offset)


def _is_float(value: Fraction) -> bool:
    try:
        return Fraction(value.numerator / value.denominator) == value
    except OverflowError:
        return False


def float_of(value: Fraction) -> float:
    """The nearest float."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        raise FormatError("a number beyond all floats") from None


def rates_of(equations: Sequence[LinearComparison]) -> dict[str, LinearTerm]:
    """The right-hand side of each `x' == ...`."""
    found: dict[str, LinearTerm] = {}
    for one in equations:
        primed = [name for name in one.term.coefficients if name.endswith("'")]
        if len(primed) != 1 or not one.equation or one.term.coefficients[primed[0]] not in (1, -1):
            raise FormatError("a flow is a conjunction of rates x' == ..., each with one primed variable")
        name = primed[0][:-1]
        if name in found:
            raise FormatError(f"two rates of {name!r}")
        rate = one.term.times(-1 / one.term.coefficients[primed[0]])
        del rate.coefficients[primed[0]]
        found[name] = rate
    return found
