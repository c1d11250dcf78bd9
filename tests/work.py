"""Work that is counted: no test asks how many seconds something took, which is another number on every machine."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from types import FrameType

from vernal.run.budget import Budget


class Looks:
    """A clock whose seconds are looks at it."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> float:
        self.count += 1
        return float(self.count)


def budget_of_looks(looks: int) -> tuple[Budget, Looks]:
    """A budget that is used up after so many looks at its clock, and the clock."""
    clock = Looks()
    return Budget(float(looks), started=0.0, clock=clock), clock


def processor(seconds: float) -> Budget:
    """A budget in seconds of the processor: on a busy machine as much is decided as on a quiet one."""
    return Budget(seconds, started=time.process_time(), clock=time.process_time)


def calls_of(work: Callable[[], object]) -> int:
    """How many functions, of Python and of C, the work calls."""
    counter = itertools.count()

    def counted(frame: FrameType, event: str, given: object) -> None:
        if event in ("call", "c_call"):
            next(counter)

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return next(counter)
