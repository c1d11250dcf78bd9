"""Linear constraints solved in floating point first, and the answer checked in rationals.

A linear program in float64 maximises the common slack of the rows. Its solution is tried as a point; its dual as
multipliers under which the rows add up to something that cannot be. Either counts only if it is so exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from vernal.interpret.geometry.affine_form import ZERO, AffineForm, ExactBox, OpenEnds, Relation, Row, extent
from vernal.interpret.geometry.float_program import minimise
from vernal.model.expr import Component

DIGITS = 2**40  # a float is tried as a rational with a denominator of at most this, before as the float it is


def propose(box: ExactBox, opened: OpenEnds, rows: Sequence[Row]) -> dict[Component, fmpq] | Literal[False] | None:
    """A point that satisfies everything, None if certainly nothing does, False if floating point does not tell."""
    try:
        return _propose(box, opened, rows)
    except OverflowError:  # numbers beyond all floats
        return False


def _propose(box: ExactBox, opened: OpenEnds, rows: Sequence[Row]) -> dict[Component, fmpq] | Literal[False] | None:
    names = list(box)
    matrix, ends, equations = _arrays(rows, names)
    slack = np.where(equations, 0.0, 1.0)[:, None]
    unequal, equal = ~equations, equations
    bounds = [(float(low), float(high)) for low, high in (box[name] for name in names)]
    found = minimise(
        np.append(np.zeros(len(names)), -1.0),
        np.hstack([-matrix, slack])[unequal],
        ends[unequal],
        [*bounds, (None, 1.0)],
        np.hstack([matrix, 0 * slack])[equal] if equal.any() else None,
        -ends[equal] if equal.any() else None,
    )
    if found is None:
        return False
    point = {name: _inside(value, box[name]) for name, value in zip(names, found.point[:-1].tolist(), strict=True)}
    if _is_inside(point, opened, box) and all(row.holds_at(point) for row in rows):
        return point
    weights = np.zeros(len(rows))
    weights[unequal], weights[equal] = found.multipliers, found.of_equations
    return None if _contradicts([_rational(w) for w in weights.tolist()], box, opened, rows) else False


def _arrays(
    rows: Sequence[Row], names: Sequence[Component]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Coefficients, constants and which rows are equations, each row scaled to a largest coefficient of 1."""
    columns = {name: j for j, name in enumerate(names)}
    matrix = np.zeros((len(rows), len(names)))
    ends = np.zeros(len(rows))
    for i, row in enumerate(rows):
        scale = max(abs(a) for a in row.form.coefficients.values())
        for name, a in row.form.coefficients.items():
            matrix[i, columns[name]] = float(a / scale)
        ends[i] = float(row.form.constant / scale)
    return matrix, ends, np.array([row.relation is Relation.EQUAL for row in rows], dtype=bool)


def _rational(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio())


def _inside(value: float, ends: tuple[fmpq, fmpq]) -> fmpq:
    short = Fraction(value).limit_denominator(DIGITS)
    return min(max(fmpq(short.numerator, short.denominator), ends[0]), ends[1])


def _is_inside(point: dict[Component, fmpq], opened: OpenEnds, box: ExactBox) -> bool:
    return all(point[name] != box[name][side] for name, side in opened)


def _contradicts(weights: Sequence[fmpq], box: ExactBox, opened: OpenEnds, rows: Sequence[Row]) -> bool:
    """Whether the weighted sum of the rows, which has to be at least 0, is negative on the whole box.

    If a strict row takes part, the sum has to be positive, and not being so is enough.
    """
    total, strict = AffineForm(ZERO), False
    for weight, row in zip(weights, rows, strict=True):
        if weight != ZERO:
            scale = max(abs(a) for a in row.form.coefficients.values())
            total = (total + row.form.scale(weight / scale)).bounded()
            strict |= row.relation is Relation.ABOVE
    over = extent(total, box, opened)
    return bool(over.high < ZERO) or (bool(over.high == ZERO) and (strict or over.high_open))
