"""One way to ask for reachable sets, whatever the motion: how far, how finely, and who walks there."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from vernal.engines.base import infinite_bounds
from vernal.engines.reach.sets import ReachableSets
from vernal.errors import InputError, Stopped
from vernal.interpret.numbers.memory_room import limited
from vernal.run.alarm import in_time
from vernal.run.budget import Budget
from vernal.run.threads import one_blas_thread


@dataclass(frozen=True, slots=True)
class ReachAsked:
    """How far and how finely expressions are to be bounded; what is None has a default that depends on the motion.

    `steps` of a loop that samples are its samples; `sets` are sets of states, or parts of an initial set. `prefix` is
    how the names of these options begin where they are told of.
    """

    steps: int | None = None
    time: float | Fraction | None = None
    spans: int | None = None
    engine: str | None = None
    sets: int | None = None
    prefix: str = ""

    def refuse(self, *names: str, subject: str, instead: str) -> None:
        """An error for what a motion has no use for."""
        for name in names:
            if getattr(self, name) is not None:
                told = f"{subject}, for which there is no {self.prefix}{name}; say how far with {self.prefix}{instead}"
                raise InputError(told)


class ReachWalk(Protocol):
    """The way of all paths, or trajectories, through time; wherever it is stopped, what was done before is whole."""

    def go(self) -> None:
        """ReachWalk as far as is asked, or to a limit."""
        ...

    def found(self, reason: str | None) -> ReachableSets:
        """What was bounded; `reason` says why it was stopped, if it was."""
        ...


def walked(walk: ReachWalk, budget: Budget) -> ReachableSets:
    """What is known where a walk ends, within a budget."""
    started, reason = time.monotonic(), None
    try:
        with one_blas_thread(), infinite_bounds(), limited(budget.memory):
            in_time(walk.go, budget)
    except Stopped as stop:
        reason = stop.reason
    except MemoryError:
        reason = "out of memory; try --memory, fewer steps or a smaller initial set"
    except OverflowError:
        reason = "numbers beyond the range of floating point; try other units"
    return replace(walk.found(reason), seconds=time.monotonic() - started)
