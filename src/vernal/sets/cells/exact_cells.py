"""Candidates with rational bounds, and what exact ends say of them where rounding would hide a margin of zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vernal.evidence.invariant import StateSet
from vernal.interpret.ends import EndsProgram, PartialEnds
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import Labels, TemplateSets, labelled
from vernal.interpret.numbers.rounding import Floats, float_above, float_below
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Component, Expr
from vernal.model.graph import order
from vernal.sets.cells.dynamics import WatchedLoop

CellEnds = list[list[Fraction | None]]  # for each cell and direction; None where there is no end

ToFloat = Callable[[Fraction], float]


@dataclass(frozen=True)
class RationalCells:
    """Cells between rational bounds: what an invariant is reported as."""

    template: Template
    lower: CellEnds
    upper: CellEnds
    labels: Labels

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def outer(self) -> TemplateSets:
        """Cells between floats that contain them."""
        return labelled(self.template, self._lows(float_below), self._highs(float_above), self.labels)

    @property
    def inner(self) -> TemplateSets:
        """Cells between floats that are inside them."""
        return labelled(self.template, self._lows(float_above), self._highs(float_below), self.labels)

    def _lows(self, rounded: ToFloat) -> Floats:
        return self._floats([[-math.inf if end is None else rounded(end) for end in row] for row in self.lower])

    def _highs(self, rounded: ToFloat) -> Floats:
        return self._floats([[math.inf if end is None else rounded(end) for end in row] for row in self.upper])

    def _floats(self, rows: list[list[float]]) -> Floats:
        return np.array(rows, dtype=np.float64).reshape(len(self), len(self.template.rows))

    def sets(self, dynamics: WatchedLoop) -> list[StateSet]:
        """The same as evidence, over numbers and labels in the order of the system's inputs."""
        places = component_places(dynamics)
        return [self._set(member, places, len(places)) for member in range(len(self))]

    def _set(self, member: int, places: Sequence[int], size: int) -> StateSet:
        rows: list[tuple[Fraction, ...]] = []
        bounds: list[Fraction] = []
        n = self.template.size
        for direction, row in enumerate(self.template.rows.tolist()):
            wide = [Fraction(0)] * size
            for place, a in enumerate(row):
                wide[places[place]] = Fraction(a)
            for sign, end in ((1, self.upper[member][direction]), (-1, self.lower[member][direction])):
                if end is not None:
                    rows.append(tuple(sign * a for a in wide))
                    bounds.append(sign * end)
        for place, label in enumerate(self.labels[member].tolist()):
            unit = tuple(Fraction(int(other == places[n + place])) for other in range(size))
            rows += [unit, tuple(-a for a in unit)]
            bounds += [Fraction(label), Fraction(-label)]
        return StateSet(tuple(rows), tuple(bounds))


def component_places(dynamics: WatchedLoop) -> list[int]:
    """Where each number, then each label, stands among all components in the order of the system's inputs."""
    ordered: list[Component] = [(var, i) for var in dynamics.followed for i in range(var.size)]
    return [ordered.index(one) for one in (*dynamics.numbers, *dynamics.labels)]


# ToFloat -------------------------------------------------------------------------------------------------------------


def as_they_are(cells: TemplateSets) -> RationalCells:
    """The cells with their floats as rationals."""
    return RationalCells(cells.template, _limits(cells.lower), _limits(cells.upper), cells.labels)


def _limits(bounds: Floats) -> CellEnds:
    return [[Fraction(x) if math.isfinite(x) else None for x in row] for row in bounds.tolist()]


def shortened_outward(cells: TemplateSets, digits: int, share: float, fixed: NDArray[np.bool_]) -> RationalCells:
    """Bounds moved outward by a share of each width, to decimals with so many digits of it; some directions stay."""
    lower, upper = [], []
    for low_row, high_row in zip(cells.lower.tolist(), cells.upper.tolist(), strict=True):
        pairs = [
            (_rational(low), _rational(high)) if stays else _outward(low, high, digits, share)
            for low, high, stays in zip(low_row, high_row, fixed.tolist(), strict=True)
        ]
        lower.append([low for low, _ in pairs])
        upper.append([high for _, high in pairs])
    return RationalCells(cells.template, lower, upper, cells.labels)


def _rational(end: float) -> Fraction | None:
    return Fraction(end) if math.isfinite(end) else None


def _outward(low: float, high: float, digits: int, share: float) -> PartialEnds:
    sizes = [abs(end) for end in (low, high) if math.isfinite(end)]
    width = high - low if len(sizes) == 2 else max(sizes, default=0.0)
    if not sizes or not math.isfinite(width):
        return _rational(low), _rational(high)
    unit = Fraction(10) ** (math.floor(math.log10(width or max(sizes) or 1.0)) - digits)
    room = share * width
    first = None if math.isinf(low) else unit * math.floor(Fraction(low - room) / unit)
    last = None if math.isinf(high) else unit * math.ceil(Fraction(high + room) / unit)
    return first, last


def nearest_decimals(cells: TemplateSets) -> RationalCells:
    """Bounds as the decimals that the floats stand for: 0.6 where a constant 0.6 was rounded."""
    return RationalCells(cells.template, _decimals(cells.lower), _decimals(cells.upper), cells.labels)


def _decimals(bounds: Floats) -> CellEnds:
    return [[Fraction(f"{x:.12g}") if math.isfinite(x) else None for x in row] for row in bounds.tolist()]


# Exact ends -----------------------------------------------------------------------------------------------------------


class ExactEnds:
    """What the operators themselves say of next values and conditions, in rationals: `min(x, 0.6)` is at most 0.6."""

    def __init__(self, dynamics: WatchedLoop) -> None:
        self.dynamics = dynamics
        self._next = EndsProgram(dynamics.next_numbers)

    def after(self, cells: RationalCells, member: int) -> list[PartialEnds]:
        """Ends of each number after a step from a cell."""
        return self._next(self._inside(cells, member))

    def _inside(self, cells: RationalCells, member: int) -> dict[Expr, PartialEnds]:
        known = zip(self.dynamics.numbers, cells.lower[member], cells.upper[member], strict=False)
        return {var: (low, high) for (var, _), low, high in known if not var.shape}

    def keeps(self, cells: RationalCells, member: int, condition: Expr) -> bool:
        """Whether a condition on the state is certainly true in a cell."""
        inside = self._inside(cells, member)
        truth: dict[Expr, bool | None] = {}
        for node in order([condition]):
            args = [truth.get(arg) for arg in node.args]
            match node:
                case e.Const() if not node.sort.is_number:
                    truth[node] = bool(node.value)
                case e.And():
                    truth[node] = False if False in args else None if None in args else True
                case e.Or():
                    truth[node] = True if True in args else None if None in args else False
                case e.Not():
                    truth[node] = None if args[0] is None else not args[0]
                case e.Compare() if node.args[0].sort.is_number and not node.shape:
                    (gap,) = EndsProgram([build.sub(node.args[1], node.args[0])])(inside)
                    truth[node] = _compared(node.op, gap)
        return truth.get(condition) is True


def _compared(op: str, gap: PartialEnds) -> bool | None:
    """left op right, from the ends of right - left."""
    low, high = gap
    match op:
        case "<=":
            return True if low is not None and low >= 0 else False if high is not None and high < 0 else None
        case "<":
            return True if low is not None and low > 0 else False if high is not None and high <= 0 else None
    apart = (low is not None and low > 0) or (high is not None and high < 0)
    same = low == high == 0
    equal = True if same else False if apart else None
    return equal if op == "==" or equal is None else not equal
