"""A solve that comes back in time: the library works in a thread of its own, and is told to stop if it forgets to."""

from __future__ import annotations

import atexit
import math
import threading
from collections.abc import Callable

from vernal.solvers.base import idle

PATIENCE = 0.5  # seconds a library may run beyond its own time limit before it is told to stop
TURN = 0.1  # seconds between two looks at what the solve uses
FAREWELL = 0.7  # seconds it then has to come back
LAST_WAIT = 20.0  # seconds a program waits at its end: a library that is taken down with its thread aborts the process


def watched(
    work: Callable[[], object], stop: Callable[[], object], time_limit: float, tick: Callable[[], object] = idle
) -> bool:
    """Run the work; whether it came back. The library has to release the interpreter lock while it works.

    `tick` is called meanwhile. What it raises (a limit on memory, say) stops the library and is passed on, as is an
    interruption of the program (Ctrl-C). What does not come back is left to run out in the background: its results are
    not looked at.
    """
    failure: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # handed over to the thread that waits
            failure.append(error)

    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    try:
        _wait(thread, time_limit + PATIENCE, tick)
        if thread.is_alive():
            _told(thread, stop)
    except BaseException:
        _told(thread, stop)
        raise
    if failure:
        raise failure[0]
    return not thread.is_alive()


def _told(thread: threading.Thread, stop: Callable[[], object]) -> None:
    """Tell the library to stop, and wait a little; the rest of the wait is for the end of the program."""
    stop()
    thread.join(FAREWELL)
    if thread.is_alive():
        atexit.register(thread.join, LAST_WAIT)


def _wait(thread: threading.Thread, seconds: float, tick: Callable[[], object]) -> None:
    """Join in short turns, so that a signal is heard and a limit is seen."""
    for _ in range(math.ceil(min(seconds, 1e9) / TURN) if math.isfinite(seconds) else 2**60):
        thread.join(TURN)
        if not thread.is_alive():
            return
        tick()
