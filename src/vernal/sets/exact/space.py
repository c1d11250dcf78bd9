"""Exact pieces as a space to search: polyhedra of initial values and draws, with the state affine in them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vernal.errors import VernalError
from vernal.evidence.candidates import path_of
from vernal.evidence.trace import Trace
from vernal.interpret.symbolic.execute import Piece, execute
from vernal.logic.direction import Direction
from vernal.logic.progress import Obligation
from vernal.model.expr import Expr
from vernal.sets.exact.loop import Loop, candidate
from vernal.sets.search import Stage


def never(obligation: Obligation) -> bool:
    """The default of `waits`: what a bounded formula asks for comes within a number of steps."""
    return False


class TooMany(VernalError):
    """A search that has grown beyond its limit; says what to try."""


@dataclass(frozen=True, eq=False)
class ExactStates:
    """A piece at position t of its paths, and the positions it came from."""

    space: ExactSpace
    piece: Piece
    t: int
    before: ExactStates | None = None

    def decide(self, atom: Expr, *, only_truth: bool) -> Iterator[tuple[bool, ExactStates]]:
        """The piece divided by the truth of an atom; how that comes about costs nothing more here."""
        return self._divided(self.space.closed[atom])

    def enabled(self) -> Iterator[tuple[bool, ExactStates]]:
        """The piece divided by whether a step leaves it."""
        if self.space.loop.is_total:
            yield True, self
        else:
            yield from self._divided(self.space.loop.system.step.enabled)

    def _divided(self, condition: Expr) -> Iterator[tuple[bool, ExactStates]]:
        for piece, truth in self.space.loop.truths(self.piece, condition, self.t):
            yield truth, replace(self, piece=piece)

    def moves(self) -> Iterator[tuple[Hashable, ExactStates]]:
        """The outcomes of a step, each with a key that is equal for equal sets of states."""
        loop = self.space.loop
        for moved in execute(self.piece, list(loop.following.values()), self.t, loop.tick):
            arrived = loop.arrive(moved)
            yield loop.key(arrived), ExactStates(self.space, arrived, self.t + 1, replace(self, piece=moved))

    def path(self) -> Trace | None:
        """The path one of its points takes, recomputed on the concrete system."""
        chain = [self]
        while chain[-1].before is not None:
            chain.append(chain[-1].before)
        chain.reverse()
        system = self.space.loop.system
        taken = [one.piece.taken for one in chain]
        found = candidate(system, chain[0].piece, taken, self.piece.polyhedron.point)
        return path_of(system, found, self.space.loop.tick)


@dataclass
class ExactSpace:
    """All pieces of a search from one initial piece after the other; equal ones are followed once.

    What follows does not depend on when. But where something has to come at last, a piece that comes back to itself
    would count as kept: with such an obligation only pieces of one step are the same.
    """

    loop: Loop
    closed: Mapping[Expr, Expr]  # an atom as written, to the same over state, memory and draws
    limit: int
    tell: Callable[[int], None]  # called with the number of pieces so far
    waits: Callable[[Obligation], bool] = never  # whether an obligation asks for something that has to come at last
    pieces: int = 0
    merged: int = 0
    seen: set[Stage] = field(default_factory=set)

    direction = Direction.EXACT

    def enter(self) -> Iterator[tuple[Hashable, ExactStates]]:
        """The initial pieces."""
        for piece in self.loop.starts():
            yield self.loop.key(piece), ExactStates(self, piece, 0)

    def gather(self, stage: Stage, arrived: Sequence[object]) -> ExactStates | None:
        """A piece that arrived, unless an equal one was followed before; that of the start is always followed."""
        states = arrived[0]  # all that arrive have the same states
        assert isinstance(states, ExactStates)
        self.merged += len(arrived) - 1
        known_as = stage if self.waits(stage.owed) else replace(stage, t=0)
        if stage.t and known_as in self.seen:
            self.merged += 1
            return None
        if stage.t:
            self.seen.add(known_as)
        self.count()
        return states

    def count(self) -> None:
        """One piece more."""
        self.pieces += 1
        if self.pieces % 256 == 0:
            self.tell(self.pieces)
        if self.pieces > self.limit:
            raise TooMany(f"more than {self.limit:,} pieces; try a shorter bound or a smaller initial set")


@dataclass
class FirstFailure:
    """Ends a search at the first states that fail."""

    found: ExactStates | None = None

    @property
    def done(self) -> bool:
        return self.found is not None

    def reached(self, stage: Stage, states: ExactStates) -> None:
        """Nothing to do: only failures matter."""

    def kept(self, stage: Stage, states: ExactStates) -> None:
        """Nothing to do: only failures matter."""

    def failed(self, stage: Stage, states: ExactStates) -> None:
        self.found = self.found or states

    def passed(self, t: int) -> None:
        """Nothing to do between steps."""
