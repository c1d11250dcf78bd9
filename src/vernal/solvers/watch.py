"""Solves that end in time: the library works in a thread of its own, and is stopped if it exceeds its limit."""

from __future__ import annotations

import atexit
import math
import threading
from collections.abc import Callable

from vernal.model.thread_support import has_threads
from vernal.model.tick import idle

OVERTIME = 0.5  # seconds a library may run beyond its own time limit before it is stopped
TICK_INTERVAL = 0.1  # seconds between two calls of `tick`
STOPPING_TIME = 0.7  # seconds it then has to return
LAST_WAIT = 20.0  # seconds a program waits at its end: a library that is taken down with its thread aborts the process


def watched(
    work: Callable[[], object], stop: Callable[[], object], time_limit: float, tick: Callable[[], object] = idle
) -> bool:
    """Run the work; whether it came back. The library has to release the interpreter lock while it works.

    `tick` is called meanwhile. What it raises (a limit on memory, say) stops the library and is passed on, as is an
    interruption of the program (Ctrl-C). A library that does not return is left running in the
    background: its results are not used. Where there are no threads, the library's own limit has to do.
    """
    if not has_threads():
        work()
        return True
    failure: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # handed over to the thread that waits
            failure.append(error)

    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    try:
        _wait(thread, time_limit + OVERTIME, tick)
        if thread.is_alive():
            _told(thread, stop)
    except BaseException:
        _told(thread, stop)
        raise
    if failure:
        raise failure[0]
    return not thread.is_alive()


def _told(thread: threading.Thread, stop: Callable[[], object]) -> None:
    """Ask the library to stop, and wait a little; the rest of the wait is for the end of the program."""
    stop()
    thread.join(STOPPING_TIME)
    if thread.is_alive():
        atexit.register(thread.join, LAST_WAIT)


def _wait(thread: threading.Thread, seconds: float, tick: Callable[[], object]) -> None:
    """Join in short intervals, so that signals are handled and `tick` is called."""
    for _ in range(math.ceil(min(seconds, 1e9) / TICK_INTERVAL) if math.isfinite(seconds) else 2**60):
        thread.join(TICK_INTERVAL)
        if not thread.is_alive():
            return
        tick()
