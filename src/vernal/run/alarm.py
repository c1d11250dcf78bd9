"""The last look at the clock: work that has not looked at it for too long is interrupted.

Passes look at the clock as they go (`Budget.check`). A pass that forgets to, or a single step of it that takes longer
than anybody expected, is interrupted by a signal shortly after the end of the time. That may be between any two
statements, so nothing that was under way is used afterwards: the interruption is no `Exception`, passes through all
that handles `Stopped` by keeping what is known so far, and becomes a `Stopped` only where the work was begun.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from math import inf
from types import FrameType
from typing import TypeVar

from vernal.errors import Stopped
from vernal.run.budget import TIMEOUT, Budget
from vernal.run.critical_sections import is_finishing

T = TypeVar("T")

SECONDS_OVER_LIMIT = 1.0  # seconds over the limit: until then passes end by themselves
MIN_SECONDS = 0.1  # seconds that work has even where the limit is long over: enough to find that out
AGAIN = 0.5  # seconds, after which the signal is sent again, if it came at a bad time
CALLBACKS = ("_forget", "__del__")  # functions that Python calls by itself: what they raise is lost, their work undone
IMPORTS = "<frozen importlib"  # the files of Python's own importing


class Interrupted(BaseException):
    """The time of some work is over; it is raised and handled in this module only."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class _State(threading.local):
    """Whether this thread has work under way that the signal interrupts, and with which reason."""

    working = False
    reason = ""


_state = _State()


def in_time(work: Callable[[], T], budget: Budget, grace: float = SECONDS_OVER_LIMIT) -> T:
    """What the work returns; `Stopped` once the time of the budget is over by `grace`, wherever the work is.

    Only the main thread can be interrupted so, not on every system, and no single call of a library. Work inside
    other work ends when that has to, and is then `Stopped`, too; the other may go on for a moment.
    """
    try:
        return _watched(work, budget, grace) if _is_possible(budget) else work()
    except Interrupted as interruption:
        raise Stopped(interruption.reason) from None


def _is_possible(budget: Budget) -> bool:
    """Whether there is a limit, and a signal for it that nobody uses."""
    if budget.left == inf or budget.clock is not time.monotonic or not hasattr(signal, "setitimer"):
        return False
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getitimer(signal.ITIMER_REAL)[0] == 0


def _watched(work: Callable[[], T], budget: Budget, grace: float) -> T:
    before = signal.signal(signal.SIGALRM, _interrupt)
    try:
        _state.working, _state.reason = True, f"{TIMEOUT} {budget.given}"
        signal.setitimer(signal.ITIMER_REAL, max(budget.left + grace, MIN_SECONDS), AGAIN)
        return work()
    finally:
        _state.working = False  # first: from here on the signal does nothing
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _state.working and not is_finishing() and not is_delicate(frame):
        raise Interrupted(_state.reason)


def is_delicate(frame: FrameType | None) -> bool:
    """Whether what is interrupted would be lost, or left half done for good: a callback of Python, or an import."""
    while frame is not None and frame.f_code is not _watched.__code__:
        if frame.f_code.co_name in CALLBACKS or frame.f_code.co_filename.startswith(IMPORTS):
            return True
        frame = frame.f_back
    return False
