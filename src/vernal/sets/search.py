"""One search over sets of states: what a formula still asks is carried from position to position until it is settled.

A set of states (affine pieces, regions, exact polyhedra) is divided by conditions and moved by steps; a *space* has the
initial sets and merges those that arrive at one stage; a *handler* is called with what became of them. The search does
not depend on numbers or networks. All three together decide what is proven: if the sets contain every state that can be
reached (OVER) and no set fails, every path keeps the formula.

A position may carry a *tube*: what happens from it until the next one (a flow between two samples, a span of a
flowpipe). Then `moves` takes states to the end of their tube and through the jump there, and an atom may ask something
of the tube instead of the position (`logic.tube_atoms`, which writes a formula in seconds that way). As for any atom,
`decide` gives a part for each truth value that some path of the set may have: both where a tube leaves it open. Paths
that end inside their tube are those that `enabled` says no step leaves.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from vernal.logic.direction import Direction
from vernal.logic.formula import Atom, Formula, Next
from vernal.logic.progress import FALSE, TRUE, Obligation, Obligations
from vernal.model import build
from vernal.model.expr import Expr, Role
from vernal.model.sorts import BOOL
from vernal.model.tick import Tick


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a set of states is: its step, its key (what its states have in common), and its obligation."""

    t: int
    key: Hashable
    owed: Obligation


class States(Protocol):
    """States at one position that made the same decisions so far."""

    def decide(self, atom: Expr, *, only_truth: bool) -> Iterable[tuple[bool, Self]]:
        """The set divided by the truth of an atom; `only_truth` if nothing of these states is asked afterwards."""

    def enabled(self) -> Iterable[tuple[bool, Self]]:
        """The set divided by whether a step leaves its states."""

    def moves(self) -> Iterable[tuple[Hashable, object]]:
        """Where a step takes the states: sets that arrive, each with what its states have in common."""


S = TypeVar("S", bound=States)
S_contra = TypeVar("S_contra", bound=States, contravariant=True)
S_co = TypeVar("S_co", bound=States, covariant=True)


class Space(Protocol[S_co]):
    """A kind of sets of states: the initial ones, and how sets that arrive at one stage are merged."""

    @property
    def direction(self) -> Direction:
        """How paths through the sets relate to those of the system."""

    def enter(self) -> Iterable[tuple[Hashable, object]]:
        """The initial sets, each with what its states have in common."""

    def gather(self, stage: Stage, arrived: Sequence[object]) -> S_co | None:
        """The states to look at, merged from all that arrived at a stage; None where nothing is left to look at."""


class Handler(Protocol[S_contra]):
    """Called with the states that a search reaches, keeps and finds failing; may end it."""

    @property
    def done(self) -> bool:
        """Whether the search may end here."""

    def reached(self, stage: Stage, states: S_contra) -> None:
        """States that are looked at."""

    def kept(self, stage: Stage, states: S_contra) -> None:
        """States of which nothing more is asked."""

    def failed(self, stage: Stage, states: S_contra) -> None:
        """States that do not meet their obligation, as far as the set can tell."""

    def passed(self, t: int) -> None:
        """All states of a step were looked at."""


class HeedsNothing:
    """The handler of a search that only follows: what its space records is what it is for."""

    done = False

    def reached(self, stage: Stage, states: States) -> None:
        """Nothing to do."""

    def kept(self, stage: Stage, states: States) -> None:
        """Nothing to do."""

    def failed(self, stage: Stage, states: States) -> None:
        """Nothing to do."""

    def passed(self, t: int) -> None:
        """Nothing to do."""


BEYOND = build.var("beyond the last step", BOOL, role=Role.INPUT)  # the atom of a formula that asks nothing before


def nothing_before(steps: int) -> Formula:
    """A formula that asks nothing before so many steps, so that every path is followed that far."""
    return Next(Atom(BEYOND), steps)


class Search(Generic[S]):
    """A formula that every path has to keep, asked of all sets of a space."""

    def __init__(
        self,
        path: Formula,
        space: Space[S],
        handler: Handler[S],
        *,
        total: bool,
        tick: Tick,
        obligations: Obligations | None = None,
    ) -> None:
        """`total`: no path ends. `tick` is called between pieces of work and may stop the search by raising.

        `obligations` is the table that stages refer to, where somebody else reads it, too.
        """
        self.space, self.handler, self.tick = space, handler, tick
        self.obligations = obligations or Obligations()
        self.start = self.obligations.of(path, total=total)

    def levels(self, horizon: int) -> bool:
        """Step by step: all sets of a step are merged and looked at before those of the next.

        True if every set has come to an end within so many steps; a formula without a bound may leave some going on.
        """
        level: dict[tuple[Hashable, Obligation], list[object]] = {}
        for key, arrived in self.space.enter():
            level.setdefault((key, self.start), []).append(arrived)
        for t in range(horizon + 1):
            after: dict[tuple[Hashable, Obligation], list[object]] = {}
            for (key, owed), arrived_here in level.items():
                self.tick()
                for moved, arrived, rest in self._onward(Stage(t, key, owed), arrived_here):
                    after.setdefault((moved, rest), []).append(arrived)
                if self.handler.done:
                    return False
            self.handler.passed(t)
            level = after
            if not level:
                break
        return not level

    def dive(self, key: Hashable, start: object) -> None:
        """Path by path, the deepest set first, from one initial set."""
        stack = [self._onward(Stage(0, key, self.start), [start])]
        while stack and not self.handler.done:
            found = next(stack[-1], None)
            if found is None:
                stack.pop()
                continue
            moved, arrived, rest = found
            stack.append(self._onward(Stage(len(stack), moved, rest), [arrived]))

    def _onward(self, stage: Stage, arrived: Sequence[object]) -> Iterator[tuple[Hashable, object, Obligation]]:
        """What goes on to the next step from a stage, and what is asked of it there."""
        states = self.space.gather(stage, arrived)
        if states is None:
            return
        self.handler.reached(stage, states)
        for mover, owed in self._settled(stage, states):
            rest = self.obligations.step(owed)
            for key, moved in mover.moves():
                yield key, moved, rest
                if self.handler.done:
                    return

    def _settled(self, stage: Stage, states: S) -> Iterator[tuple[S, Obligation]]:
        """States that take a step, once all that is asked of this position is decided."""
        stack = [(states, stage.owed)]
        while stack and not self.handler.done:
            self.tick()
            here, owed = stack.pop()
            atom = None if owed in (TRUE, FALSE) else self.obligations.atom_now(owed)
            if owed == TRUE:
                self.handler.kept(stage, here)
            elif owed == FALSE:
                self.handler.failed(stage, here)
            elif atom is not None:
                stack += reversed(list(self._divided(here, owed, atom)))
            else:
                yield from self._enabled(stage, here, owed)

    def _divided(self, states: S, owed: Obligation, atom: Expr) -> Iterator[tuple[S, Obligation]]:
        after = {truth: self.obligations.assume(owed, atom, truth) for truth in (True, False)}
        only_truth = all(rest in (TRUE, FALSE) for rest in after.values())
        for truth, part in states.decide(atom, only_truth=only_truth):
            yield part, after[truth]

    def _enabled(self, stage: Stage, states: S, owed: Obligation) -> Iterator[tuple[S, Obligation]]:
        """States that a step leaves; the paths of the others end here."""
        for enabled, part in states.enabled():
            if enabled:
                yield part, owed
            elif self.obligations.end(owed):
                self.handler.kept(stage, part)
            else:
                self.handler.failed(stage, part)
