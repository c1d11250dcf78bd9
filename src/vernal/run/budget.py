"""Budgets: limits on time and memory, checked between batches of work, and a callback for progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING

from vernal.errors import InputError, Stopped
from vernal.interpret.numbers.memory_room import beyond, resident_gib
from vernal.model.portable import STAYS
from vernal.run.joint_questions import JointQuestions

if TYPE_CHECKING:
    from vernal.run.journal import Entries

Progress = Callable[[str, float | None], None]  # what is going on, and how much of it is done (0 to 1) if known


def silent(message: str, fraction: float | None) -> None:
    """The default callback for progress: it does nothing."""


TIMEOUT = "timeout after"  # how the reason begins where the time is up, of everything or of a part
NO_SECONDS = 0.005  # a share of less is not said in seconds
SECONDS_PER_PROCESSOR_LOOK = 0.01  # seconds between two looks at the time of the processor
SECONDS_PER_LOOK = 0.02  # seconds between two looks at the memory in use, which cost as much as a hundred at the clock


class WorkClock:
    """Seconds in which the processor worked for this process, since it was made; never more than passed by a clock.

    What waits, and looks at a clock that stands still meanwhile, is not charged with the work of others. The processor
    is asked at a pace: that may cost as much as a small batch of work.
    """

    def __init__(self, clock: Callable[[], float], processor: Callable[[], float] = time.process_time) -> None:
        self._clock, self._processor = clock, processor
        self._seen, self._worked = (clock(), processor()), 0.0

    def __call__(self) -> float:
        now = self._clock()
        if now - self._seen[0] >= SECONDS_PER_PROCESSOR_LOOK:
            looked = now, self._processor()
            self._worked += max(min(looked[0] - self._seen[0], looked[1] - self._seen[1]), 0.0)
            self._seen = looked
        return self._worked


@dataclass
class Budget:
    """What a check may use. `check()` is cheap and raises Stopped beyond a limit; long passes call it at every node."""

    timeout: float | None = None  # seconds
    memory: float | None = None  # GiB of this process
    started: float = field(default_factory=time.monotonic)
    progress: Progress = field(default=silent, metadata=STAYS)
    clock: Callable[[], float] = field(default=time.monotonic, metadata=STAYS)
    seed: int = 0
    workers: int = 1
    journal: Entries | None = field(default=None, metadata=STAYS)  # of the question, where one is kept
    keeps_sets: bool = False  # whether a proof keeps the sets it rests on, for a certificate
    device: str = "cpu"  # where large batches are bounded; workers have the processor only
    share: float | None = None  # of a part of another budget: its seconds, which its end is called by
    whole: float | None = None  # of a part: the timeout of the budget that it is a part of in the end
    stops: list[str] = field(default_factory=list, compare=False, metadata=STAYS)  # times that ran out, parts included
    together: JointQuestions = field(default_factory=JointQuestions, compare=False, metadata=STAYS)
    _weighed: float = field(default=float("-inf"), init=False, repr=False, compare=False)  # when memory was looked at

    @property
    def elapsed(self) -> float:
        return self.clock() - self.started

    @property
    def left(self) -> float:
        """Seconds left; infinite without a timeout."""
        return float("inf") if self.timeout is None else self.timeout - self.elapsed

    @property
    def is_cut_short(self) -> bool:
        """Whether the time ran out, here or in a part: with more of it, more might have been found."""
        return bool(self.stops) or self.left <= 0

    def cut_since(self, before: int) -> str | None:
        """The reason of a time that ran out since there were so many: what follows was not tried to its end."""
        return next(iter(self.stops[before:]), None)

    def apart(self) -> Budget:
        """The same limits, with an account of its own of what is cut short."""
        return replace(self, stops=[])

    def part(self, share: float, most: float = float("inf")) -> Budget:
        """A budget that ends when this share of the time left, or so many seconds, is used; all else is the same."""
        elapsed, limit = self.elapsed, float("inf") if self.timeout is None else self.timeout
        seconds = min(share * (limit - elapsed), most)
        if seconds == float("inf"):
            return self
        whole = self.timeout if self.whole is None else self.whole
        return replace(self, timeout=min(elapsed + seconds, limit), share=seconds, whole=whole)

    def of_work(self, seconds: float) -> Budget:
        """A part that ends after so many seconds of work: on a busy machine that is later."""
        return replace(self, timeout=seconds, started=0.0, clock=WorkClock(self.clock), share=seconds)

    def extended(self, seconds: float) -> Budget:
        """The same with so many more seconds to finish in, from now if it is over.

        Parts of one budget have them together, not each, once that is over.
        """
        if self.timeout is None:
            return self
        end = max(self.timeout, self.whole or 0)
        return replace(self, timeout=max(self.timeout, min(self.elapsed, end) + seconds))

    def inside(self) -> Budget:
        """What a worker may use: the same, by the clock of the system, which is the same in every process."""
        return Budget(self.timeout, self.memory, time.monotonic() - self.elapsed, seed=self.seed, share=self.share)

    @property
    def given(self) -> str:
        """The time there was, in words."""
        if self.share is None:
            assert self.timeout is not None, "what is without a limit does not run out of time"
            return f"{rounded(self.timeout, 3)} s"
        return (
            "0 s: no time was left" if self.share < NO_SECONDS else f"{rounded(self.share, 2)} s, its share of the time"
        )

    def ran_out(self) -> str:
        """Account for a time that ran out, here or in what was asked with it; the reason to say."""
        self.stops.append(f"{TIMEOUT} {self.given}")
        return self.stops[-1]

    def check(self) -> None:
        """Raise Stopped if a limit is reached."""
        now = self.clock()
        if self.timeout is not None and now - self.started >= self.timeout:
            raise Stopped(self.ran_out())
        if self.memory is not None and now - self._weighed >= SECONDS_PER_LOOK:
            if resident_gib() > self.memory:  # and looked at again by the next check: the next engine may not pass
                raise Stopped(beyond(self.memory))
            self._weighed = now


def refuse_limits(limits: Mapping[str, float | None], workers: int, seed: int, prefix: str = "") -> None:
    """An error that names the first limit that is none: zero, negative, infinite or not a number."""
    for name, value in limits.items():
        if value is not None and not (_is_number(value) and 0 < value < float("inf")):
            raise InputError(f"{prefix}{name} has to be a number above 0, not {_shown(value)}")
    if not (_is_number(workers, Integral) and workers > 0):
        raise InputError(f"{prefix}workers has to be a whole number above 0, not {_shown(workers)}")
    if not (_is_number(seed, Integral) and seed >= 0):
        raise InputError(f"{prefix}seed has to be a whole number, 0 or more, not {_shown(seed)}")


def rounded(seconds: float, digits: int) -> str:
    """So many digits, all of a whole number: never 1e+02."""
    return f"{seconds:.0f}" if seconds >= 10 ** (digits - 1) else f"{seconds:.{digits}g}"


def _is_number(value: object, kind: type = Real) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value!r}"[:40]
