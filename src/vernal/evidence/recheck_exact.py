"""Invariants checked in rational arithmetic: sets as polyhedra, every decision of a step followed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from vernal.evidence.invariant import StateSet
from vernal.evidence.recheck_parts import CannotCheck, NotInvariant, Watched
from vernal.interpret.ends import PartialEnds
from vernal.interpret.geometry.affine_form import ONE, ZERO, AffineForm, Row, at_least, fraction, rational
from vernal.interpret.geometry.polyhedra import Polyhedron, from_box
from vernal.interpret.symbolic.cases import SymbolicScalar, SymbolicValue, as_form, constant
from vernal.interpret.symbolic.execute import NotPiecewiseLinear, Piece, execute
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.initial import Start
from vernal.model.numbers import rounded
from vernal.model.sorts import Kind

MAX_POINTS = 10_000  # combinations of discrete values of one set that are looked at one by one
MAX_PIECES = 20_000  # pieces of one set, and parts of one image


class ExactCheck:
    """The three questions, decided exactly for piecewise linear steps."""

    how = "exactly"

    def __init__(self, watched: Watched) -> None:
        self.watched = watched

    # The questions ----------------------------------------------------------------------------------------------------

    def initial(self, sets: Sequence[StateSet]) -> None:
        """Every initial state is in one of the sets."""
        places = self.watched.components
        for piece in self._starts():
            forms = [as_form(piece.known[var][i]) for var, i in places]
            outside = self._uncovered(piece.polyhedron, forms, sets)
            if outside is not None:
                raise NotInvariant(f"an initial state is in none of the sets: {self._point(forms, outside)}")

    def step(self, source: StateSet, sets: Sequence[StateSet]) -> None:
        """Every step from the source ends in one of the sets."""
        roots = list(dict.fromkeys(node for node, _ in self.watched.following))
        for start in self._pieces(source):
            for piece in self._executed(start, [self.watched.guard]):
                if piece.truth(self.watched.guard):
                    for moved in self._executed(piece, roots):
                        self._arrive(moved, sets)

    def _arrive(self, moved: Piece, sets: Sequence[StateSet]) -> None:
        forms = [as_form(moved.known[node][i if node.shape else 0]) for node, i in self.watched.following]
        outside = self._uncovered(moved.polyhedron, forms, sets)
        if outside is not None:
            before = [as_form(moved.known[var][i]) for var, i in self.watched.components]
            first, last = self._point(before, outside), self._point(forms, outside)
            self._refuse(f"a step leads out of the sets: from {first} to {last}")

    def kept(self, source: StateSet) -> None:
        """What is to be kept is true everywhere in the source."""
        for start in self._pieces(source):
            for piece in self._executed(start, [self.watched.keep]):
                if not piece.truth(self.watched.keep):
                    forms = [as_form(start.known[var][i]) for var, i in self.watched.components]
                    self._refuse(f"the claim is false in one of the sets: at {self._point(forms, piece.polyhedron)}")

    def _refuse(self, why: str) -> None:
        raise NotInvariant(why)

    def _executed(self, piece: Piece, roots: Sequence[Expr]) -> Iterator[Piece]:
        try:
            for count, made in enumerate(execute(piece, roots, tick=self.watched.tick)):
                if count > MAX_PIECES:
                    raise CannotCheck("a step from one of the sets has too many cases to follow")
                yield made
        except NotPiecewiseLinear as why:
            raise CannotCheck(f"the step is not piecewise linear ({why})") from None
        except LookupError:
            raise CannotCheck("a step depends on a component that the invariant does not name") from None

    # Sets as pieces ---------------------------------------------------------------------------------------------------

    def _starts(self) -> Iterator[Piece]:
        """The initial states: one piece for each combination of discrete values, cut by the constraints."""
        initial = self.watched.system.initial
        if initial.count > MAX_POINTS:
            raise CannotCheck("there are too many discrete initial states to look at")
        where = build.conj(*initial.where)
        for part in initial.alternatives():
            wide = {(var, i): start.ends for var, i, start in part.components() if not start.is_point}
            known = {
                var: tuple(_initial(var, i, start) for i, start in enumerate(entry))
                for var, entry in part.starts.items()
            }
            for piece in self._executed(Piece(from_box(wide, self.watched.tick), known), [where]):
                if piece.truth(where):
                    yield piece

    def _pieces(self, source: StateSet) -> Iterator[Piece]:
        """A set of states as pieces: one for each combination of values of its discrete components."""
        ends = self.ends_of(source)
        discrete = [place for place, (var, _) in enumerate(self.watched.components) if var.sort.kind is not Kind.REAL]
        values = [_integers(ends[place]) for place in discrete]
        if math.prod(len(own) for own in values) > MAX_POINTS:
            raise CannotCheck("one of the sets has too many discrete states to look at")
        for chosen in product(*values):
            fixed = dict(zip(discrete, map(Fraction, chosen), strict=True))
            polyhedron = self._cut(source, ends, fixed)
            if polyhedron is not None and self._is_of_sort(fixed):
                yield Piece(polyhedron, self._known(fixed))

    def _is_of_sort(self, fixed: dict[int, Fraction]) -> bool:
        return all(self.watched.components[place][0].sort.has(value) for place, value in fixed.items())

    def ends_of(self, source: StateSet) -> list[tuple[Fraction, Fraction]]:
        """The least and largest value of each component, from the rows about it alone."""
        ends: list[PartialEnds] = [self._sort_ends(var) for var, _ in self.watched.components]
        for row, low, high in source.limits():
            places = [place for place, a in enumerate(row) if a]
            if len(places) == 1:
                (place,), a = places, row[places[0]]
                least, most = ends[place]
                least = least if low is None else low / a if least is None else max(least, low / a)
                most = most if high is None else high / a if most is None else min(most, high / a)
                ends[place] = least, most
        known = [(low, high) for low, high in ends if low is not None and high is not None]
        if len(known) < len(ends):
            raise CannotCheck("one of the sets has no end in some direction")
        return known

    def _sort_ends(self, var: Expr) -> PartialEnds:
        match var.sort.kind:
            case Kind.BOOL:
                return Fraction(0), Fraction(1)
            case Kind.ENUM:
                return Fraction(0), Fraction(len(var.sort.labels) - 1)
        return None, None

    def _cut(
        self, source: StateSet, ends: Sequence[tuple[Fraction, Fraction]], fixed: dict[int, Fraction]
    ) -> Polyhedron | None:
        """The part of a set with these discrete values; None where there is none."""
        if any(low > high for low, high in ends):
            return None
        components = self.watched.components
        free = {c: ends[place] for place, c in enumerate(components) if place not in fixed}
        forms = [self._form(place, fixed) for place in range(len(components))]
        return from_box(free, self.watched.tick).meet(rows_of(source, forms))

    def _form(self, place: int, fixed: dict[int, Fraction]) -> AffineForm:
        if place in fixed:
            return AffineForm(rational(fixed[place]))
        return AffineForm(ZERO, {self.watched.components[place]: ONE})

    def _known(self, fixed: dict[int, Fraction]) -> dict[Expr, SymbolicValue]:
        """The values of all variables that the invariant names."""

        def scalar(var: Expr, place: int) -> SymbolicScalar:
            return constant(fixed[place], var) if place in fixed else self._form(place, fixed)

        return {var: tuple(scalar(var, place) for place in own) for var, own in self.watched.variables.items()}

    # Coverage ---------------------------------------------------------------------------------------------------------

    def _uncovered(
        self, polyhedron: Polyhedron, forms: Sequence[AffineForm], sets: Sequence[StateSet]
    ) -> Polyhedron | None:
        """A part of the polyhedron whose values are in none of the sets; None where there is none."""
        meeting: list[list[Row]] = []
        for one in sets:
            rows = rows_of(one, forms)
            over = [polyhedron.measure(row.form) for row in rows]
            if all(row.is_certain(own) for row, own in zip(rows, over, strict=True)):
                return None
            if not any(row.is_refuted(own) for row, own in zip(rows, over, strict=True)):
                meeting.append(rows)
        parts = [polyhedron]
        for rows in meeting:
            parts = [rest for part in parts for rest in minus(part, rows)]
            if len(parts) > MAX_PIECES:
                raise CannotCheck("what the sets leave of an image has too many parts")
            if not parts:
                return None
        return parts[0]

    def _point(self, forms: Sequence[AffineForm], polyhedron: Polyhedron) -> str:
        """One of the states, in words."""
        values = [fraction(form.at(polyhedron.point)) for form in forms]
        names = [getattr(var, "name", "memory") + (f"[{i}]" if var.shape else "") for var, i in self.watched.components]
        shown = ", ".join(f"{name} = {rounded(value)}" for name, value in zip(names, values, strict=True))
        return shown or "any"


def _initial(var: Expr, index: int, start: Start) -> SymbolicScalar:
    return constant(start.first, var) if start.is_point else AffineForm(ZERO, {(var, index): ONE})


def _integers(ends: tuple[Fraction, Fraction]) -> range:
    return range(math.ceil(ends[0]), math.floor(ends[1]) + 1)


def rows_of(one: StateSet, forms: Sequence[AffineForm]) -> list[Row]:
    """The rows of a set, of states that are affine in the inputs of a polyhedron."""
    made: list[Row] = []
    for row, bound in zip(one.rows, one.bounds, strict=True):
        gap = AffineForm(rational(bound))
        for a, form in zip(row, forms, strict=True):
            if a:
                gap = gap - form.scale(rational(a))
        made.append(at_least(gap.bounded()))
    return made


def minus(polyhedron: Polyhedron, rows: Sequence[Row]) -> Iterator[Polyhedron]:
    """What is left of a polyhedron outside the rows, in disjoint parts."""
    rest: Polyhedron | None = polyhedron
    for row in rows:
        if rest is None:
            return
        (opposite,) = row.opposites
        outside = rest.meet([opposite])
        if outside is not None:
            yield outside
            rest = rest.meet([row])
