"""Admissible sets: the claim's own rows, pulled back through the loop until a step adds none (Gilbert and Tan, 1991).

What a row says of the next state is a row about this one. The states in which the claim's rows hold now, after one
step, after two, ... are the largest set from which the claim is kept; in a stable loop finitely many rows make it up,
because all later ones follow from them. Where the step is not affine, a row is pulled back by its linear upper bound
over a region, which the set then stays in. Every step asks for a little more room than the one after it, so that
rounding does not matter. What is found is a proposal: multipliers and bounds are certified by others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import Labels, TemplateSets, labelled
from vernal.interpret.geometry.weak_duality import box_maximum
from vernal.interpret.numbers.rounding import Floats
from vernal.model import build
from vernal.sets.cells.claim_rows import margins
from vernal.sets.cells.dynamics import WatchedLoop
from vernal.sets.cells.images import Images
from vernal.sets.cells.region_forms import RegionCase, RegionForms
from vernal.sets.cells.relays import RelayLine
from vernal.sets.cells.templates import turning_planes
from vernal.solvers.growing_program import GrowingProgram

NAME = "inequalities of the claim followed backwards"
MAX_DEPTH = 300  # steps that a row is pulled back
MAX_CASES = 16  # of a step, through each of which a row is pulled back
MAX_ROWS = 800  # of one set
ROW_BITS = 30  # of a coefficient, in proportion to the largest of its row
REACH_STEPS = 300  # over which the most that a row comes to is looked for
OWN_ROOM = 2.0  # times what is reached, for rows that no claim asks for
CLAIM_ROOM = 1e-5  # of the room of a claim, that its rows are stricter: they have other last digits than the claim
ROUNDING = 1e-9  # offsets that vary by no more than this do so because of rounding
BOX_ROOM = 1e-3  # of a width, that the box around a set is wider


BoundedRow = tuple[Floats, float]  # a row, and the end that it does not exceed


class NoSuchSet(Exception):
    """There is no admissible set of the kind that was looked for, or it would have too many rows."""


class RowSet:
    """The states with rows x <= ends."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: list[Floats] = []
        self.ends: list[float] = []
        self._programs: dict[int | None, GrowingProgram] = {}

    def most(self, row: Floats) -> float:
        """The most of a function over the set, as far as a solver tells; infinite where it does not."""
        if None not in self._programs:
            self._programs[None] = self._program(np.full(self.size, -np.inf), np.full(self.size, np.inf))
        point = self._programs[None].minimise(-row) if self.rows else None
        return np.inf if point is None else float(row @ point)

    def most_in(self, row: Floats, number: int, case: RegionCase) -> float:
        """The same of the part of the set in a case; where the solver finds no point there is none."""
        if number not in self._programs:
            self._programs[number] = self._program(case.low, case.high)
            self._programs[number].add(case.rows, case.ends)
        point = self._programs[number].minimise(-row)
        return -np.inf if point is None else float(row @ point)

    def _program(self, low: Floats, high: Floats) -> GrowingProgram:
        made = GrowingProgram(np.zeros(self.size), low, high)
        made.add(np.array(self.rows).reshape(-1, self.size), np.array(self.ends))
        return made

    def add(self, row: Floats, end: float) -> None:
        self.rows.append(row)
        self.ends.append(end)
        for program in self._programs.values():
            program.add(row[None], np.array([end]))


class Admissible:
    """Admissible sets of one loop in a region; each step leaves a share of the room to the centre unused."""

    def __init__(
        self,
        images: Images,
        start: TemplateSets,
        region: TemplateSets,
        centre: Floats,
        share: float,
        kept: float = 1.0,
        line: RelayLine | None = None,
    ) -> None:
        self.dynamics: WatchedLoop = images.dynamics
        self.images, self.start, self.region, self.centre, self.share = images, start, region, centre, share
        self.kept, self.line = kept, line
        self.forms = RegionForms(images, region)
        if len(self.forms.cases) > MAX_CASES:
            raise NoSuchSet
        n = region.template.size
        central = [number for number, case in enumerate(self.forms.cases) if case.holds(centre)]
        self.central = central[0] if len(central) == 1 else None
        both = self.forms.after(np.vstack([np.eye(n), -np.eye(n)]))
        slopes, rest = (part[central or slice(None)].mean(axis=0) for part in both)
        self.slopes = 0.5 * (slopes[:n] - slopes[n:])  # the loop, as a line with an offset that varies
        self.offset, self.spread = 0.5 * (rest[:n] - rest[n:]), 0.5 * (rest[:n] + rest[n:])
        self.found = RowSet(n)
        self.band = RowSet(n)  # in which a line stands for the relays
        for row, end in [] if line is None else zip(line.rows, line.ends.tolist(), strict=True):
            self.band.add(row, end)

    def cells(self) -> TemplateSets:
        """The set around the initial states, once for each combination of labels of the region."""
        self._hold_constants()
        waiting = self._claimed()
        if not _has_ends(waiting, self.found.size):
            waiting = [*self._turned(), *waiting]
        self._close(waiting)
        self._close(self._open_sides())
        return _cells(self.found, self._box(), self.region.labels)

    def _hold_constants(self) -> None:
        """Components that no step changes stay where they began, and need no room."""
        low, high = self.start.ranges()
        unit = np.eye(self.found.size)
        for place, (var, _) in enumerate(self.dynamics.numbers):
            if self.dynamics.after[var] is var:
                self.found.add(unit[place], float(high[:, place].max()))
                self.found.add(-unit[place], float(-low[:, place].min()))

    # Rows to begin with -----------------------------------------------------------------------------------------------

    def _claimed(self) -> list[BoundedRow]:
        """The rows of the claim; of a step that is not affine the sides of the region, too."""
        gaps = margins(self.dynamics.keep)
        rows: list[BoundedRow] = []
        if gaps:
            slopes, ends = self.forms.now(build.concat(*gaps))
            rows = [
                (-slope, end - CLAIM_ROOM * (end + float(slope @ self.centre)))
                for slope, end in zip(slopes.reshape(-1, self.found.size), ends.ravel().tolist(), strict=True)
            ]
        if self.line is not None:
            return rows + self._sides() + list(zip(self.band.rows, self.band.ends, strict=True))
        return rows + (self._sides() + self._central_sides() if self.dynamics.bends else [])

    def _central_sides(self) -> list[BoundedRow]:
        """The sides of the case that the centre is in, further out by how little of it is to be stayed in."""
        if self.central is None:
            return []
        case = self.forms.cases[self.central]
        here = (case.rows @ self.centre).tolist()
        ends = zip(case.rows, here, case.ends.tolist(), strict=True)
        return [(row, at + (1 - CLAIM_ROOM) * (end - at) / self.kept) for row, at, end in ends]

    def _sides(self) -> list[BoundedRow]:
        low, high = self.region.ranges()
        unit = np.eye(self.found.size)
        ends = np.hstack([high.max(axis=0), -low.min(axis=0)]).tolist()
        return list(zip(np.vstack([unit, -unit]), ends, strict=True))

    def _turned(self) -> list[BoundedRow]:
        """Directions in which the loop only turns and shrinks, with ends far out, so that sets are not needlessly long.

        A loop that is a line shrinks them into themselves; of others what they were before has to be looked at.
        """
        made = []
        planes = [np.vstack([plane, -plane]) for plane in turning_planes(self.slopes)]
        rooms = iter(self._rooms(np.vstack(planes)).tolist() if planes else [])
        for rows in planes:
            far = max(room for _, room in zip(rows, rooms, strict=False))
            made += [_short(row, float(row @ self.centre) + OWN_ROOM * far) for row in rows]
        if self.dynamics.bends or self.spread.max(initial=0.0) > ROUNDING:
            return made
        for row, end in made:
            self.found.add(row, end)
        return []

    def _rooms(self, rows: Floats) -> Floats:
        """About the most that each row comes to, less what it is at the centre, if the loop were a line."""
        low, high = self.start.ranges()
        here, most, drift = rows @ self.centre, np.full(len(rows), -np.inf), np.zeros(len(rows))
        for _ in range(REACH_STEPS):
            ends = np.maximum(rows, 0.0) @ high.T + np.minimum(rows, 0.0) @ low.T  # a proposal, and not rounded
            most = np.maximum(most, drift + ends.max(axis=1, initial=-np.inf))
            drift = drift + rows @ self.offset + np.abs(rows) @ self.spread
            rows = rows @ self.slopes
        return most - here

    # Closing ----------------------------------------------------------------------------------------------------------

    def _close(self, waiting: Sequence[BoundedRow]) -> None:
        """Add rows and what they were before, step by step, until all that is left follows from those at hand."""
        fresh = [added for row, end in waiting if (added := self._added(row, end)) is not None]
        for _ in range(MAX_DEPTH):
            if not fresh:
                return
            fresh = self._before(fresh)
        raise NoSuchSet

    def _added(self, row: Floats, end: float, cuts: bool = False) -> BoundedRow | None:
        """The row, if it cuts the set (or is known to), and then added to it; every initial state has to keep it."""
        self.dynamics.tick()
        row, end = _short(row, end)
        if not np.isfinite(end) or not np.isfinite(row).all() or len(self.found.rows) >= MAX_ROWS:
            raise NoSuchSet
        if (not row.any() and end >= 0) or (not cuts and self.found.most(row) <= end):
            return None
        if self._slack(row, end) < 0:
            raise NoSuchSet
        self.found.add(row, end)
        return row, end

    def _slack(self, row: Floats, end: float) -> float:
        """How far the initial states are inside a row."""
        low, high = self.start.ranges()
        return end - float(box_maximum(row[None], np.zeros(1), low, high).max())

    def _before(self, rows: Sequence[BoundedRow]) -> list[BoundedRow]:
        """What the rows were one step before, as far as that is new; some of the room to the centre is taken away."""
        slopes, rest = self.forms.after(np.array([row for row, _ in rows]))
        found = []
        for number, (row, end) in enumerate(rows):
            room = end - float(row @ self.centre)
            if room <= 0:
                raise NoSuchSet
            most = end - self.share * room
            if self.line is not None:
                found.append(self._along(row @ self.line.slopes, slopes[:, number], rest[:, number], most))
                continue
            found += [self._in_case(place, slopes[:, number], rest[:, number], most) for place in range(len(rest))]
        return [added for added in found if added is not None]

    def _along(self, row: Floats, slopes: Floats, rest: Floats, end: float) -> BoundedRow | None:
        """What a row was before along the line, less the most that any case differs from that within the bands."""
        self.dynamics.tick()
        cases = zip(slopes, rest.tolist(), self.forms.cases, strict=True)
        off = [self.band.most_in(own - row, place, case) + c for place, (own, c, case) in enumerate(cases)]
        return self._added(row, end - max(off))

    def _in_case(self, place: int, slopes: Floats, rest: Floats, end: float) -> BoundedRow | None:
        """What a row was before in one case, if it does not follow there from what is known.

        Beside the case that the centre is in, a limit is met, and a limited feedback is at least a share `kept` of one
        without a limit, as far out as the set goes (T. Hu and Z. Lin, 2001). The row is pulled back through that.
        """
        row, most = slopes[place], end - float(rest[place])
        if not self.dynamics.bends or len(self.forms.cases) == 1:
            return self._added(row, most)
        self.dynamics.tick()
        if not np.isfinite(row).all() or (
            self.found.rows and self.found.most_in(row, place, self.forms.cases[place]) <= most
        ):
            return None
        if self.central is None or place == self.central:
            return self._added(row, most, cuts=True)
        mixed = self.kept * slopes[self.central] + (1 - self.kept) * row
        return self._added(mixed, end - float(rest[self.central]))

    def _open_sides(self) -> list[BoundedRow]:
        """Rows for the sides on which the set has no end."""
        unit = np.eye(self.found.size)
        sides = np.array([row for row in np.vstack([unit, -unit]) if np.isinf(self.found.most(row))])
        if not len(sides):
            return []
        ends = sides @ self.centre + OWN_ROOM * self._rooms(sides)
        return list(zip(sides, ends.tolist(), strict=True))

    def _box(self) -> Floats:
        """The box around the set, (2, numbers)."""
        unit = np.eye(self.found.size)
        high, low = (np.array([self.found.most(sign * row) for row in unit]) for sign in (1.0, -1.0))
        if not (np.isfinite(high).all() and np.isfinite(low).all()):
            raise NoSuchSet
        room = BOX_ROOM * (high + low)
        return np.array([-low - room, high + room])


def _has_ends(rows: Sequence[BoundedRow], size: int) -> bool:
    """Whether rows that are given on both sides limit every component."""
    short = [_short(row, end)[0] for row, end in rows]
    both = [row for row in short if any(np.array_equal(row, -other) for other in short)]
    return bool(both) and int(np.linalg.matrix_rank(np.array(both))) == size


def _short(row: Floats, end: float) -> BoundedRow:
    """A row with a largest coefficient of 1, in short numbers."""
    largest = float(np.abs(row).max(initial=0.0))
    if largest == 0:
        return row, end
    return np.round(row / largest * 2**ROW_BITS) / 2**ROW_BITS, end / largest


def _cells(found: RowSet, box: Floats, labels: Labels) -> TemplateSets:
    """Half-spaces and the box around them as cells, with one direction for a row and its opposite."""
    n = found.size
    ends: dict[bytes, tuple[Floats, list[float]]] = {
        row.tobytes(): (row, list(side)) for row, side in zip(np.eye(n), box.T.tolist(), strict=True)
    }
    for row, end in zip(found.rows, found.ends, strict=True):
        sign = 1.0 if row[np.flatnonzero(row)[0]] > 0 else -1.0
        along = sign * row + 0.0  # without negative zeros
        _, (low, high) = ends.get(along.tobytes(), (along, [-np.inf, np.inf]))
        side = [low, min(high, end)] if sign > 0 else [max(low, -end), high]
        ends[along.tobytes()] = along, side
    template = Template(np.array([row for row, _ in ends.values()]), NAME)
    lower, upper = np.array([side for _, side in ends.values()]).T
    shape = (len(labels), len(template.rows))
    return labelled(template, np.broadcast_to(lower, shape), np.broadcast_to(upper, shape), labels)
