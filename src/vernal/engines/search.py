"""One search over sets of states: what a formula still asks is carried from position to position until it is settled.

A set of states (affine pieces, regions, exact polyhedra) says how a condition divides it and where a step takes it; a
*space* says where sets begin and which of them are one; a *handler* is told what became of them. The search knows
neither numbers nor networks. All three together decide what is proven: if the sets contain every state that can be
reached (OVER) and no set fails, every path keeps the formula.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from vernal.logic.formula import Formula
from vernal.logic.progress import FALSE, TRUE, Obligation, Obligations
from vernal.model.expr import Expr
from vernal.model.tick import Tick


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a set of states stands: its step, what its states have in common, and what is still asked of them."""

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
    """A kind of sets: where they begin, and how sets that arrive at one place become one."""

    def enter(self) -> Iterable[tuple[Hashable, object]]:
        """The initial sets, each with what its states have in common."""

    def gather(self, place: Stage, arrived: Sequence[object]) -> S_co | None:
        """The states to look at, merged from all that arrived at a place; None where nothing is left to look at."""


class Handler(Protocol[S_contra]):
    """Is told what the search finds, and may end it."""

    @property
    def done(self) -> bool:
        """Whether the search may end here."""

    def reached(self, place: Stage, states: S_contra) -> None:
        """States that are looked at."""

    def kept(self, place: Stage, states: S_contra) -> None:
        """States of which nothing more is asked."""

    def failed(self, place: Stage, states: S_contra) -> None:
        """States that seem not to do what they owe."""

    def passed(self, t: int) -> None:
        """All states of a step were looked at."""


class Search(Generic[S]):
    """A formula that every path has to keep, asked of all sets of a space."""

    def __init__(self, path: Formula, space: Space[S], handler: Handler[S], *, total: bool, tick: Tick) -> None:
        """`total`: no path ends. `tick` is called between pieces of work and may stop the search by raising."""
        self.space, self.handler, self.tick = space, handler, tick
        self.obligations = Obligations()
        self.start = self.obligations.of(path, total=total)

    def levels(self, horizon: int) -> None:
        """Step by step: all sets of a step are merged and looked at before those of the next."""
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
                    return
            self.handler.passed(t)
            level = after

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

    def _onward(self, place: Stage, arrived: Sequence[object]) -> Iterator[tuple[Hashable, object, Obligation]]:
        """What goes on to the next step from a place, and what is asked of it there."""
        states = self.space.gather(place, arrived)
        if states is None:
            return
        self.handler.reached(place, states)
        for mover, owed in self._settled(place, states):
            rest = self.obligations.step(owed)
            for key, moved in mover.moves():
                yield key, moved, rest
                if self.handler.done:
                    return

    def _settled(self, place: Stage, states: S) -> Iterator[tuple[S, Obligation]]:
        """States that take a step, once all that is asked of this position is decided."""
        stack = [(states, place.owed)]
        while stack and not self.handler.done:
            self.tick()
            here, owed = stack.pop()
            atom = None if owed in (TRUE, FALSE) else self.obligations.atom_now(owed)
            if owed == TRUE:
                self.handler.kept(place, here)
            elif owed == FALSE:
                self.handler.failed(place, here)
            elif atom is not None:
                stack += reversed(list(self._divided(here, owed, atom)))
            else:
                yield from self._enabled(place, here, owed)

    def _divided(self, states: S, owed: Obligation, atom: Expr) -> Iterator[tuple[S, Obligation]]:
        after = {truth: self.obligations.assume(owed, atom, truth) for truth in (True, False)}
        only_truth = all(rest in (TRUE, FALSE) for rest in after.values())
        for truth, part in states.decide(atom, only_truth=only_truth):
            yield part, after[truth]

    def _enabled(self, place: Stage, states: S, owed: Obligation) -> Iterator[tuple[S, Obligation]]:
        """States that a step leaves; the paths of the others end here."""
        for enabled, part in states.enabled():
            if enabled:
                yield part, owed
            elif self.obligations.end(owed):
                self.handler.kept(place, part)
            else:
                self.handler.failed(place, part)
