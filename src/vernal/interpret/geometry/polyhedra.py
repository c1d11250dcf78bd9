"""Polyhedra over the rationals, with open and closed sides, each with one of its points.

A polyhedron is a box of inputs, some of its ends open, cut by rows. It is never empty: cutting gives a smaller one or
None, decided exactly. Most cuts are decided by the range of the row over the box or by the point that is carried
along; the rest goes to a simplex, and where that would be large, a linear program in floating point comes first, and
its answer (a point, or multipliers that add the rows up to a contradiction) is checked exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from flint import fmpq, fmpz

from vernal.interpret.geometry import simplex
from vernal.interpret.geometry.affine_form import (
    CLOSED,
    ONE,
    ZERO,
    AffineForm,
    ExactBox,
    Extent,
    OpenEnds,
    Relation,
    Row,
    above,
    at_least,
    extent,
    rational,
)
from vernal.interpret.geometry.float_lp import propose
from vernal.interpret.numbers.number_size import common_denominator, too_long
from vernal.model.expr import Component
from vernal.model.tick import Tick, idle

LARGE_TABLEAU = 400  # entries of a tableau from which on floating point is asked first

Point = Mapping[Component, fmpq]


@dataclass(frozen=True, slots=True, eq=False)
class Polyhedron:
    """Points of a box that satisfy rows over two or more inputs; `point` is one of them."""

    box: ExactBox
    rows: tuple[Row, ...] = ()
    opened: OpenEnds = CLOSED
    point: Point = field(default_factory=dict)
    tick: Tick = field(default=idle, repr=False)

    def measure(self, form: AffineForm) -> Extent:
        """The range of a form over the box, a superset of its range over the polyhedron."""
        return extent(form, self.box, self.opened)

    def meet(self, rows: Iterable[Row]) -> Polyhedron | None:
        """The part in which the rows hold, None if there is none."""
        self.tick()
        cut = _Cut(dict(self.box), self.opened, list(self.rows))
        if not all(cut.add(row) for row in rows):
            return None
        if len(cut.rows) == len(self.rows) and cut.opened == self.opened and cut.box == self.box:
            return self
        point = cut.find(self.point, self.tick)
        return None if point is None else Polyhedron(cut.box, tuple(cut.rows), cut.opened, point, self.tick)

    def extend(self, name: Component, low: AffineForm, high: AffineForm) -> Polyhedron:
        """One more input, from low to high (nowhere inverted on the polyhedron)."""
        least, most = self.measure(low).low, self.measure(high).high
        value = (low.at(self.point) + high.at(self.point)) / 2
        wide = Polyhedron(
            {**self.box, name: (least, most)}, self.rows, self.opened, {**self.point, name: value}, self.tick
        )
        form = AffineForm(ZERO, {name: ONE})
        ends = [at_least(form - low)] * bool(low.coefficients) + [at_least(high - form)] * bool(high.coefficients)
        whole = wide.meet(ends)
        assert whole is not None
        return whole

    def minus(self, other: Polyhedron) -> list[Polyhedron]:
        """What the other polyhedron leaves of this one, in disjoint parts."""
        if self.meet(other.all_rows()) is None:
            return [self]
        parts: list[Polyhedron] = []
        rest: Polyhedron | None = self
        for row in other.all_rows():
            if rest is None:
                break
            outside = [rest.meet([opposite]) for opposite in row.opposites]
            parts += [part for part in outside if part is not None]
            rest = rest.meet([row]) if any(part is not None for part in outside) else rest
        return parts

    def all_rows(self) -> list[Row]:
        """The sides of the box and the rows."""
        sides: list[Row] = []
        for name, (low, high) in self.box.items():
            x = AffineForm(ZERO, {name: ONE})
            if low == high:
                sides.append(Row(x - AffineForm(low), Relation.EQUAL))
                continue
            for side, form in enumerate((x - AffineForm(low), AffineForm(high) - x)):
                sides.append(above(form) if (name, side) in self.opened else at_least(form))
        return [*sides, *self.rows]

    def key(self, inputs: Iterable[Component] | None = None) -> tuple[object, ...]:
        """Equal for polyhedra that are described alike; given inputs, what the rest leaves to them.

        Inputs that no chain of rows connects with the given ones do not limit them, since no polyhedron is empty.
        """
        names = set(self.box) if inputs is None else self._connected(inputs)
        sides = frozenset((name, *self.box[name]) for name in names)
        opened = frozenset(end for end in self.opened if end[0] in names)
        return sides, opened, frozenset(row.key for row in self.rows if names.issuperset(row.form.coefficients))

    def _connected(self, inputs: Iterable[Component]) -> set[Component]:
        names = set(inputs)
        growing = True
        while growing:
            before = len(names)
            for row in self.rows:
                if not names.isdisjoint(row.form.coefficients):
                    names.update(row.form.coefficients)
            growing = len(names) > before
        return names


def from_box(box: Mapping[Component, tuple[Fraction, Fraction]], tick: Tick = idle) -> Polyhedron:
    """A closed box."""
    ends = {name: (rational(low), rational(high)) for name, (low, high) in box.items()}
    return Polyhedron(ends, point={name: (low + high) / 2 for name, (low, high) in ends.items()}, tick=tick)


# Cutting --------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Cut:
    """A polyhedron in the making; perhaps empty."""

    box: dict[Component, tuple[fmpq, fmpq]]
    opened: OpenEnds
    rows: list[Row]

    def add(self, row: Row) -> bool:
        """Cut by one more row; False if the box alone excludes it."""
        over = extent(row.form, self.box, self.opened)
        if row.is_refuted(over):
            return False
        if row.is_certain(over):
            return True
        if len(row.form.coefficients) > 1:
            self.rows.append(normal(row))
            return True
        ((name, a),) = row.form.coefficients.items()
        end = -row.form.constant / a
        if row.relation is Relation.EQUAL:
            self.box[name] = end, end
            self.opened -= {(name, 0), (name, 1)}
        else:
            self._tighten(name, 0 if a > ZERO else 1, end, row.relation is Relation.ABOVE)
        return True

    def _tighten(self, name: Component, side: int, end: fmpq, opens: bool) -> None:
        """Move one end inward; the range has told that something is left."""
        low, high = self.box[name]
        moved = end != (low, high)[side]
        self.box[name] = (end, high) if side == 0 else (low, end)
        self.opened = self.opened - {(name, side)} if moved else self.opened
        self.opened |= {(name, side)} if opens else CLOSED

    def find(self, start: Point, tick: Tick) -> Point | None:
        """A point of it, near the start if that lies inside."""
        point = {name: self._inside(name, value) for name, value in start.items()}
        if all(row.holds_at(point) for row in self.rows):
            return point
        if len(self.rows) * len(self.box) > LARGE_TABLEAU:
            answer = propose(self.box, self.opened, self.rows)
            if answer is not False:
                return answer
        return self._solve(point, tick)

    def _inside(self, name: Component, value: fmpq) -> fmpq:
        low, high = self.box[name]
        closed = low <= value <= high and not (
            (value == low and (name, 0) in self.opened) or (value == high and (name, 1) in self.opened)
        )
        return value if closed else (low + high) / 2

    def _solve(self, start: Point, tick: Tick) -> Point | None:
        names = [name for name in self.box if any(name in row.form.coefficients for row in self.rows)]
        matrix = [[row.form.coefficients.get(name, ZERO) for name in names] for row in self.rows]
        inputs = [self._input_bounds(name) for name in names]
        found = simplex.solve(matrix, inputs, [_row_bounds(row) for row in self.rows], [start[n] for n in names], tick)
        return None if found is None else {**start, **dict(zip(names, found, strict=True))}

    def _input_bounds(self, name: Component) -> simplex.VariableBounds:
        low, high = self.box[name]
        below, beyond = ((name, side) in self.opened for side in (0, 1))
        return simplex.VariableBounds((low, ONE if below else ZERO), (high, -ONE if beyond else ZERO))


def _row_bounds(row: Row) -> simplex.VariableBounds:
    end = -row.form.constant
    lower = (end, ONE if row.relation is Relation.ABOVE else ZERO)
    return simplex.VariableBounds(lower, lower if row.relation is Relation.EQUAL else None)


def normal(row: Row) -> Row:
    """The row with coprime integers for coefficients: equal half-spaces look alike."""
    below, common = common_denominator(row.form.coefficients.values()), fmpz(0)
    if below is None:
        raise too_long()
    for a in row.form.coefficients.values():
        common = common.gcd((a * below).p)
    factor = fmpq(below, common)
    return row if factor == ONE else Row(row.form.scale(factor).bounded(), row.relation)


# Projecting -----------------------------------------------------------------------------------------------------------

MAX_ROWS = 400  # of a projection on the way; eliminating inputs may square their number


class TooManyRows(Exception):
    """A projection would have more rows than the limit."""


def project(polyhedron: Polyhedron, keep: Sequence[Component]) -> Polyhedron:
    """The shadow on some of the inputs, by eliminating the others one by one (Fourier and Motzkin)."""
    dropped = [name for name in polyhedron.box if name not in set(keep)]
    if not dropped:
        return polyhedron
    rows = _reduced(polyhedron, dropped)
    point = {name: polyhedron.point[name] for name in keep}
    box = {name: polyhedron.box[name] for name in keep}
    opened = frozenset(end for end in polyhedron.opened if end[0] in box)
    shadow = Polyhedron(box, (), opened, point, polyhedron.tick).meet(rows)
    assert shadow is not None
    return shadow


def _reduced(polyhedron: Polyhedron, dropped: Sequence[Component]) -> list[Row]:
    """Rows over the inputs that stay."""
    tied = [name for name in dropped if any(name in row.form.coefficients for row in polyhedron.rows)]
    sides = Polyhedron({name: polyhedron.box[name] for name in tied}, (), polyhedron.opened).all_rows()
    rows = {row.key: row for row in [*polyhedron.rows, *(normal(side) for side in sides)]}
    waiting = set(tied)
    while waiting:
        polyhedron.tick()
        name = min(sorted(waiting, key=_order), key=lambda one: _cost(list(rows.values()), one))
        waiting.discard(name)
        made = _eliminate(list(rows.values()), name, polyhedron.tick)
        rows = {row.key: row for row in (normal(row) for row in made if row.form.coefficients)}
        if len(rows) > MAX_ROWS:
            raise TooManyRows
    return list(rows.values())


def _order(name: Component) -> tuple[str, int]:
    return repr(name[0]), name[1]


def _cost(rows: Sequence[Row], name: Component) -> int:
    signs = [row.form.coefficients[name] > ZERO for row in rows if name in row.form.coefficients]
    return signs.count(True) * signs.count(False)


def _eliminate(rows: Sequence[Row], name: Component, tick: Tick) -> list[Row]:
    """The rows without one input: each pair of bounds on it from either side, added up."""
    free = [row for row in rows if name not in row.form.coefficients]
    tied = [row for row in rows if name in row.form.coefficients]
    exact = next((row for row in tied if row.relation is Relation.EQUAL), None)
    if exact is not None:
        return [*free, *(_substituted(row, exact, name) for row in tied if row is not exact)]
    lows = [row for row in tied if row.form.coefficients[name] > ZERO]
    highs = [row for row in tied if row.form.coefficients[name] < ZERO]
    return [*free, *(_added(low, high, name, tick) for low in lows for high in highs)]


def _substituted(row: Row, exact: Row, name: Component) -> Row:
    factor = row.form.coefficients[name] / exact.form.coefficients[name]
    return Row((row.form - exact.form.scale(factor)).bounded(), row.relation)


def _added(low: Row, high: Row, name: Component, tick: Tick) -> Row:
    tick()
    a, b = low.form.coefficients[name], high.form.coefficients[name]
    form = (low.form.scale(ONE / a) - high.form.scale(ONE / b)).bounded()
    strict = Relation.ABOVE in (low.relation, high.relation)
    return Row(form, Relation.ABOVE if strict else Relation.AT_LEAST)
