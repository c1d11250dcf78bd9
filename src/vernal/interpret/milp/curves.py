"""Rows for what is not piecewise linear: lines around curves, McCormick's planes around products, in segments.

An operator is enclosed over the range of its argument (OVER), or over each segment of it where cuts are set: a
binary for each segment says where the argument is, and the rows of that segment hold. The narrower the segments, the
closer the envelope; so cuts are set where a candidate has shown that an envelope is too wide.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Protocol

import numpy as np

from vernal.interpret import interval
from vernal.interpret.linear.curves import lines, value
from vernal.interpret.linear.surfaces import angle_planes
from vernal.interpret.milp.rows import ColumnForm, Sheet, Unsuitable
from vernal.interpret.numbers.enclosures import Elementary
from vernal.interpret.numbers.rounding import TINY, UNIT, Backend
from vernal.interpret.value_sets import Range
from vernal.model import expr as e
from vernal.model.expr import Expr

Site = tuple[Expr, int, int]  # an operator, its component, and the part of it that is cut
Cuts = Mapping[Site, Sequence[float]]
INVERSE = Fraction(-1)
HOST = Backend()


@dataclass(frozen=True)
class NonlinearNode:
    """An operator in a program: its argument or arguments, and its value, as forms; and the range that is cut."""

    site: Site
    args: tuple[ColumnForm, ...]
    result: ColumnForm
    lower: float
    upper: float
    meaning: Callable[..., float]  # of numbers, in plain floating point

    def gap(self, numbers: Sequence[float], found: float) -> float:
        """How far a value is from what the operator makes of the arguments; of the first only its range counts."""
        first, *others = numbers
        return abs(self.meaning(min(max(first, self.lower), self.upper), *others) - found)


class Encloses(Protocol):
    """What nonlinear operators use of the encoder."""

    sheet: Sheet
    cuts: Cuts
    nonlinear: list[NonlinearNode]

    def ends(self, node: Expr, component: int = 0) -> tuple[float, float]: ...

    def scaled(self, factor: ColumnForm, x: ColumnForm) -> ColumnForm: ...


def enclosed(encoder: Encloses, node: Expr, x: Sequence[ColumnForm], component: int) -> ColumnForm:
    """One component of a nonlinear operator, enclosed."""
    ends = [encoder.ends(arg, component) for arg in node.args]
    own = encoder.ends(node, component)
    match node:
        case e.Nonlinear(function=function):
            return curve(encoder, (node, component, 0), x[0], ends[0], own, function)
        case e.Pow(exponent=exponent):
            return curve(encoder, (node, component, 0), x[0], ends[0], own, exponent)
        case e.Mul() if node.args[0] is node.args[1]:
            return curve(encoder, (node, component, 0), x[0], ends[0], own, Fraction(2))
        case e.Mul():
            return product(encoder, (node, component, 0), (x[0], x[1]), (ends[0], ends[1]), own)
        case e.Atan2():
            return angle(encoder, (node, component, 0), (x[0], x[1]), (ends[0], ends[1]), own)
        case e.Div() if ends[1][0] > 0 or ends[1][1] < 0:
            inverse = _enclosed(ends[1], INVERSE)
            r = curve(encoder, (node, component, 1), x[1], ends[1], inverse, INVERSE)
            if x[0].is_constant:
                return encoder.scaled(x[0], r)
            return product(encoder, (node, component, 0), (x[0], r), (ends[0], inverse), own)
        case e.Div():
            raise Unsuitable("not supported by this engine: a quotient whose denominator may be 0")
    raise Unsuitable(f"not supported by this engine: the operator {type(node).__name__}")


def _enclosed(ends: tuple[float, float], name: Elementary) -> tuple[float, float]:
    with np.errstate(all="ignore"):
        found = value(HOST, name, _interval(ends))
    return float(found.lower[0, 0]), float(found.upper[0, 0])


def _interval(ends: tuple[float, float]) -> Range:
    return Range(*(np.array([[end]]) for end in ends))


def curve(
    encoder: Encloses, site: Site, x: ColumnForm, ends: tuple[float, float], own: tuple[float, float], name: Elementary
) -> ColumnForm:
    """f(x), between two lines over each segment."""
    sheet = encoder.sheet
    _check(ends)
    result = sheet.column(*own)
    for pick, segment in _picked(encoder, site, x, ends):
        part = _interval(segment)
        with np.errstate(all="ignore"):
            a, c, b, d = (float(entry[0, 0]) for entry in lines(HOST, name, part, value(HOST, name, part)))
        for slope, offset, side in ((a, c, 1.0), (b, d, -1.0)):  # a x + c <= y <= b x + d
            if math.isfinite(slope) and math.isfinite(offset):
                sheet.when(pick, sheet.combine([(side * slope, x), (-side, result)], side * offset))
    encoder.nonlinear.append(
        NonlinearNode(site, (x,), result, *ends, lambda number: _enclosed((number, number), name)[0])
    )
    return result


def product(
    encoder: Encloses,
    site: Site,
    x: tuple[ColumnForm, ColumnForm],
    ends: tuple[tuple[float, float], tuple[float, float]],
    own: tuple[float, float],
) -> ColumnForm:
    """x y, between McCormick's planes over each segment of x: (x - p)(y - r) has a known sign for ends p and r."""
    sheet = encoder.sheet
    _check(*ends)
    result = sheet.column(*own)
    low, high = ends[1]
    for pick, (p, q) in _picked(encoder, site, x[0], ends[0]):
        for u, v, side in ((p, low, 1.0), (q, high, 1.0), (q, low, -1.0), (p, high, -1.0)):
            corner = u * v
            slack = 2 * UNIT * abs(corner) + TINY
            plane = [(side * v, x[0]), (side * u, x[1]), (-side, result)]
            sheet.when(pick, sheet.combine(plane, -side * corner, slack))
    encoder.nonlinear.append(NonlinearNode(site, x, result, *ends[0], operator.mul))
    return result


def angle(
    encoder: Encloses,
    site: Site,
    x: tuple[ColumnForm, ColumnForm],
    ends: tuple[tuple[float, float], tuple[float, float]],
    own: tuple[float, float],
) -> ColumnForm:
    """atan2(y, x), between two planes over each segment of y."""
    sheet = encoder.sheet
    _check(*ends)
    result = sheet.column(*own)
    across = _interval(ends[1])
    for pick, segment in _picked(encoder, site, x[0], ends[0]):
        part = _interval(segment)
        with np.errstate(all="ignore"):
            planes = angle_planes(HOST, part, across, interval.angle(HOST, part, across))
        a, b, c, d = (float(entry[0, 0]) for entry in planes)
        for offset, side in ((c, 1.0), (d, -1.0)):  # a y + b x + c <= result <= a y + b x + d
            if math.isfinite(offset):
                sheet.when(pick, sheet.combine([(side * a, x[0]), (side * b, x[1]), (-side, result)], side * offset))
    encoder.nonlinear.append(NonlinearNode(site, x, result, *ends[0], math.atan2))
    return result


def _check(*ranges: tuple[float, float]) -> None:
    if not all(math.isfinite(end) for ends in ranges for end in ends):
        raise Unsuitable("numerics: the argument of a nonlinear operator is unbounded")


def _segments(ends: tuple[float, float], cuts: Sequence[float]) -> list[tuple[float, float]]:
    points = [ends[0], *(cut for cut in sorted(set(cuts)) if ends[0] < cut < ends[1]), ends[1]]
    return list(pairwise(points))


def _picked(
    encoder: Encloses, site: Site, x: ColumnForm, ends: tuple[float, float]
) -> Iterator[tuple[ColumnForm, tuple[float, float]]]:
    """The segments of an argument, each with what picks it: x is in the one that is; the only one needs no rows."""
    sheet, segments = encoder.sheet, _segments(ends, encoder.cuts.get(site, ()))
    for pick, (low, high) in zip(sheet.one_of(len(segments)), segments, strict=True):
        if len(segments) > 1:
            sheet.when(pick, sheet.combine([(1.0, x)], -high))
            sheet.when(pick, sheet.combine([(-1.0, x)], low))
        yield pick, (low, high)


# Refinement -----------------------------------------------------------------------------------------------------------


def next_cut(nodes: Sequence[NonlinearNode], point: Sequence[float], cuts: Cuts) -> tuple[Site, float] | None:
    """Where to cut after a candidate that is none: the operator whose envelope is widest there, at its argument."""

    def at(form: ColumnForm) -> float:
        return float(form.constant + sum(weight * point[column] for column, weight in form.terms.items()))

    best: tuple[float, NonlinearNode, float] | None = None
    for entry in nodes:
        numbers = [at(form) for form in entry.args]
        gap = entry.gap(numbers, at(entry.result))
        if math.isfinite(gap) and (best is None or gap > best[0]):
            best = gap, entry, numbers[0]
    if best is None or best[0] <= 0.0:
        return None
    _, entry, number = best
    segments = _segments((entry.lower, entry.upper), cuts.get(entry.site, ()))
    near = 1e-6 * (entry.upper - entry.lower)
    touched = [ends for ends in segments if ends[0] - near <= number <= ends[1] + near] or segments
    low, high = max(touched, key=lambda ends: ends[1] - ends[0])
    middle = 0.5 * low + 0.5 * high
    share = (number - low) / (high - low) if high > low else 0.0
    cut = number if 0.1 < share < 0.9 else middle
    return (entry.site, cut) if low < cut < high else None
