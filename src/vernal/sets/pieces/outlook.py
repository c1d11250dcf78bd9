"""The outlook of pieces: what cannot fail whatever winners, choices and draws come next is closed where it is.

Most decisions of a policy do not matter for a claim, and pieces that branch at each of them are many. So before a piece
is asked for another decision, the core is asked whether any of its executions can fail what is still owed: the failure
over the steps to come, in which every argmax is free (OVER), becomes clauses over the numbers of the piece. First they
are bounded for all pieces at once; of those that stay open the decisions taken so far are used as well, as planes that
are at most zero (`trail_planes`). What is closed so is proven; nothing is refuted here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers.rounding import TINY, Floats, Mask, gamma
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.logic.formula import Quantifier
from vernal.logic.progress import FALSE, TRUE, Joined, Junction, Later, Literal, Obligation, Obligations, Recurring
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.graph import order
from vernal.sets.core.box_search import pace_clock
from vernal.sets.core.clauses import Clauses, Readings, compiled
from vernal.sets.core.planes import HalfSpaces, PlanesOfBoxes, largest, stacked, usable
from vernal.sets.core.tuning import Tunable, tunable
from vernal.sets.pieces.batches import Indices, Pieces
from vernal.sets.pieces.decisions import Layout
from vernal.sets.pieces.free_winners import FreeWinners, has_winners
from vernal.sets.pieces.positions import DiscreteState, Key, StepGraph
from vernal.sets.pieces.trail_planes import TrailPlanes
from vernal.sets.search import Stage

SHARE_IN_VAIN = 0.1  # of the time of an exploration, at most, for questions that close nothing ...
AT_FIRST = 0.05  # ... less so many seconds: what is decided at once is not asked about ...
MAX_EFFORT_RATIO = 4.0  # ... and so many times as long as those that close something: each closes all that would follow
MAX_PARTS = 2_000  # obligations at positions that are written out
MAX_NODES = 5_000  # of the graph of a failure
AT_ONCE = 2_048  # pieces


def failure(table: Obligations, owed: Obligation, unrolling: Unrolling) -> Expr | None:
    """The condition under which a path does not meet an obligation; None where that has no end, or is too long."""
    made: dict[tuple[Obligation, int], Expr] = {}
    stack = [(owed, 0)]
    while stack:
        number, t = stack[-1]
        entry = table.entries[number]
        if isinstance(entry, Recurring) or len(made) > MAX_PARTS:
            return None
        if isinstance(entry, Later) and entry.quantifier is Quantifier.SOME:
            return None
        waiting = [part for part in _asked(entry, t) if part not in made]
        stack += waiting
        if not waiting:
            stack.pop()
            made[number, t] = _failing(entry, t, [made[part] for part in _asked(entry, t)], unrolling)
    return made[owed, 0]


def _asked(entry: object, t: int) -> Iterator[tuple[Obligation, int]]:
    if isinstance(entry, Joined):
        yield from ((part, t) for part in sorted(entry.parts))
    elif isinstance(entry, Later):
        yield entry.what, t + 1


def _failing(entry: object, t: int, parts: list[Expr], unrolling: Unrolling) -> Expr:
    match entry:
        case Literal(atom, positive):
            now = unrolling.at(atom, t)
            return build.negate(now) if positive else now
        case Joined(junction=junction):
            return build.disj(*parts) if junction is Junction.ALL else build.conj(*parts)
        case Later(strong=strong):
            goes_on = unrolling.enabled(t)
            return build.disj(build.negate(goes_on), *parts) if strong else build.conj(goes_on, *parts)
    return build.FALSE if entry else build.TRUE


@dataclass(frozen=True, slots=True, eq=False)
class Foreseen:
    """What the outlook says of pieces."""

    closed: Mask  # (pieces,)
    low: Floats  # (pieces,): by how much those that are closed keep the claim, at least, where that has a measure
    points: dict[int, Floats]  # by trail, the parameters at which an open piece is most likely to fail


class AskingTime:
    """Seconds of questions that closed nothing, held against those of the others and of the whole exploration."""

    def __init__(self) -> None:
        self._clock = pace_clock()
        self._began, self._in_vain, self._of_use = self._clock(), 0.0, 0.0

    @property
    def is_left(self) -> bool:
        """Whether questions have closed enough for the time they took."""
        free = SHARE_IN_VAIN * (self._clock() - self._began) - AT_FIRST
        return self._in_vain < free + MAX_EFFORT_RATIO * self._of_use

    @contextmanager
    def spent(self) -> Iterator[Yield]:
        """Take the time of a question; what it yields is to be told how much of it was closed."""
        began, found = self._clock(), Yield()
        try:
            yield found
        finally:
            seconds = self._clock() - began
            self._in_vain += (1.0 - found.share) * seconds
            self._of_use += found.share * seconds


@dataclass
class Yield:
    """The share of what was asked that a question has closed."""

    share: float = 0.0


class Outlook:
    """Asks the core what pieces can still do; for all rounds of an exploration of a nonlinear loop.

    Where everything is piecewise linear there is little to gain for one question: open pieces are few, and settled
    exactly. For thousands of initial sets at once (`always`) there is much: most of them are far from failing.
    """

    def __init__(self, graph: StepGraph, *, always: bool = False) -> None:
        self.graph, self.obligations = graph, Obligations()
        self.closed = 0  # pieces
        self.useful = (always or graph.nonlinear is not None) and has_winners(graph.step)
        self._clauses: dict[tuple[Obligation, DiscreteState], Clauses | None] = {}
        self._time = AskingTime()

    @property
    def pays(self) -> bool:
        """Whether it is worth asking."""
        return self.useful and self._time.is_left

    def ask(self, stage: Stage, layout: Layout, pieces: Pieces, planes: TrailPlanes) -> Foreseen:
        """Which pieces certainly meet what is owed, as far as it is worth asking."""
        found = Foreseen(np.zeros(len(pieces), dtype=bool), np.full(len(pieces), -np.inf), {})
        for start in range(0, len(pieces), AT_ONCE):
            if stage.owed in (TRUE, FALSE) or not self.pays:
                break
            part = np.arange(start, min(start + AT_ONCE, len(pieces)))
            found.closed[part], found.low[part] = self._asked(stage, layout, pieces.rows(part), planes, found.points)
        self.closed += int(found.closed.sum())
        return found

    def _asked(
        self, stage: Stage, layout: Layout, pieces: Pieces, planes: TrailPlanes, points: dict[int, Floats]
    ) -> tuple[Mask, Floats]:
        """Which of a block of pieces are closed, and by how much; points of those that were asked singly are added."""
        with self._time.spent() as found:
            clauses = self._clauses_of(stage)
            if clauses is None:
                return np.zeros(len(pieces), dtype=bool), np.full(len(pieces), -np.inf)
            linear = layout.glance(pieces)
            known, slopes = clauses.bounded(linear)
            closed = clauses.impossible(known)[:, clauses.root]
            found.share = float(closed.mean())
        taken = [planes.of(trail) for trail in pieces.trail.tolist()]
        waiting = np.array([row for row in np.flatnonzero(~closed).tolist() if taken[row]], np.intp)
        if len(waiting) and self._time.is_left:
            with self._time.spent() as found:
                asking = PieceQuestions(clauses, linear, known, slopes)
                known, ends = asking.where([taken[row] for row in waiting.tolist()], waiting)
                closed = clauses.impossible(known)[:, clauses.root]
                found.share = float(closed[waiting].mean())
            points.update(zip(pieces.trail[waiting].tolist(), ends[:, : pieces.parameters], strict=True))
        low = clauses.values(known)[:, clauses.root]
        return closed, low if clauses.measured else np.where(closed, 0.0, -np.inf)

    def _clauses_of(self, stage: Stage) -> Clauses | None:
        assert isinstance(stage.key, Key)
        key = stage.owed, stage.key.discrete
        if key not in self._clauses:
            unrolling = self.graph.step.once(FreeWinners).step.once(Unrolling)
            written = failure(self.obligations, stage.owed, unrolling)
            self._clauses[key] = None if written is None else self._specialised(written, stage.key.discrete)
        return self._clauses[key]

    def _specialised(self, written: Expr, discrete: DiscreteState) -> Clauses | None:
        (condition,) = self.graph.specialise([written], self.graph.known(discrete))
        return compiled(condition, ()) if len(order([condition])) <= MAX_NODES else None


@dataclass(frozen=True, eq=False)
class PieceQuestions:
    """Clauses bounded over pieces, to be bounded again with what is known of the parameters of some of them."""

    clauses: Clauses
    linear: Linear
    known: Readings
    slopes: Floats  # (pieces, differences, inputs)

    def where(self, taken: Sequence[Sequence[HalfSpaces]], pieces: Indices) -> tuple[Readings, Floats]:
        """What is known of all pieces if of these ones some planes are at most zero; and a point of each of these.

        Every set of differences that may fail together, and keeps a piece open, is a question of its own.
        """
        groups, shape = tunable(self.clauses), (self.linear.batch, self.linear.inputs.count)
        lower, upper = (np.broadcast_to(end, shape) for end in (self.linear.box.lower, self.linear.box.upper))
        place, group = np.nonzero(self._waiting(groups)[pieces])
        owner = pieces[place]
        own = self._below(owner, groups.together[group], lower[owner], upper[owner])
        rest = stacked(taken, shape[1])
        slopes, constants = (np.concatenate([a, b[place]], axis=1) for a, b in zip(own, rest, strict=True))
        asked = np.broadcast_to(np.arange(constants.shape[1]) < own[1].shape[1], constants.shape)
        found = largest(PlanesOfBoxes(slopes, constants, asked, lower[owner], upper[owner]))
        points = 0.5 * lower[pieces] + 0.5 * upper[pieces]
        points[place] = found.point
        return self._learnt(owner, groups.members[group], found.low), points

    def _waiting(self, groups: Tunable) -> Mask:
        """(pieces, sets of companions): those that keep a piece open."""
        leaves = self.clauses.open_leaves(self.clauses.impossible(self.known))[:, None, : len(groups.asked)]
        return np.asarray((leaves & groups.members).any(axis=2))

    def _below(self, owner: Indices, wanted: Mask, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Planes below some differences of pieces: slopes, and constants with which they are as low as the bounds.

        The bounds were rounded down, so the constants are no larger than those of the rows they come from.
        """
        count = int(wanted.sum(axis=1).max(initial=0))
        places = np.argsort(~wanted, axis=1, kind="stable")[:, :count]
        there = np.take_along_axis(wanted, places, axis=1)
        A, low = self.slopes[owner[:, None], places], self.known.low[owner[:, None], places]
        with np.errstate(all="ignore"):
            least = np.where(A > 0, A * lower[:, None], A * upper[:, None]).sum(axis=2)
            size = (np.abs(A) * np.maximum(np.abs(lower), np.abs(upper))[:, None]).sum(axis=2) + np.abs(low)
            constants = low - least - 4.0 * gamma(A.shape[2] + 8) * size - TINY
        return usable(A, np.where(there, constants, -np.inf))

    def _learnt(self, owner: Indices, members: Mask, low: Floats) -> Readings:
        """Where the largest of some differences is above zero, they do not fail together."""
        known, sure = self.known.low.copy(), self.known.impossible.copy()
        for piece, own, value in zip(owner.tolist(), members, low.tolist(), strict=True):
            if value > 0:
                places = np.flatnonzero(own)
                known[piece, places] = np.maximum(known[piece, places], value)
                sure[piece, places] = True
        return Readings(known, sure)
