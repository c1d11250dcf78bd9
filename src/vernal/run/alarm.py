"""The last look at the clock: work that has not looked at it for too long is stopped from outside.

Passes look at the clock as they go (`Budget.check`). A pass that forgets to, or a single step of it that takes longer
than anybody expected, is interrupted by a signal shortly after the end of the time, with the same error.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from types import FrameType

from vernal.errors import Stopped
from vernal.run.budget import TIMEOUT, Budget

GRACE = 1.0  # seconds over the limit: until then passes end by themselves
AGAIN = 0.25  # seconds, after which a signal is sent again that somebody has swallowed
CALLBACKS = ("_forget", "__del__")  # functions that Python calls by itself: what they raise is lost, their work undone


@contextmanager
def alarm(budget: Budget) -> Iterator[None]:
    """Within this block `Stopped` is raised once the time of the budget is over, wherever the work is.

    Only the main thread can be interrupted so, and not on every system; elsewhere this does nothing. An alarm inside
    another is the other's business.
    """
    possible = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not possible or budget.left == inf or signal.getitimer(signal.ITIMER_REAL)[0] > 0:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if frame is None or frame.f_code.co_name not in CALLBACKS:
            raise Stopped(f"{TIMEOUT} {budget.given}")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(budget.left, 0.0) + GRACE, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
