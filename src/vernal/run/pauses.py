"""Work that waits and goes on later with all that it has: it runs in a thread of its own, and waits at the clock.

Long passes look at the clock all the time (`Budget.check`). The clock of such work stands still while it waits, so that
it plans with the time that is its own. Either the work runs or who asked for it, never both at once; only the library
of a solver, which has its own thread and its own limit, may go on meanwhile.
"""

from __future__ import annotations

import contextvars
import ctypes
import sys
import threading
from collections.abc import Callable
from math import inf
from typing import Generic, TypeVar

from vernal.run.alarm import is_delicate
from vernal.run.budget import Budget

T = TypeVar("T")

LOOK_SECONDS = 0.1  # between two looks of who waits for the work: signals that do not end a wait are handled then


class _Abandoned(SystemExit):
    """Nobody waits for the work any more; no `Exception`, so that nothing takes it for a result."""


class PausableWork(Generic[T]):
    """A piece of work with a budget of its own, done in turns."""

    def __init__(self, work: Callable[[Budget], T], budget: Budget) -> None:
        """`budget` is what the work may use in all its turns together."""
        self.budget = budget.apart()
        self.budget.clock, self._clock = self._own_clock, budget.clock
        self._waited = 0.0  # seconds
        self._until = inf  # by the clock outside, when this turn is over
        self._is_abandoned = self.is_done = False
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._result: T | None = None
        self._error: BaseException | None = None
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=lambda: run(self._run, work), daemon=True)
        self._paused_at = self._clock()

    def go_on(self, seconds: float) -> T | None:
        """What the work returns, if it is done within so many seconds, or raises; None where it waits for more."""
        return self._turn(self._clock() + seconds)

    def finish(self) -> T | None:
        """The same of work whose time is over: its clock goes to the end of its time, where all work ends by itself."""
        end = self.budget.started + (self.budget.timeout or 0.0)
        self._waited = min(self._waited, self._paused_at - end)
        return self._turn(inf)

    def abandon(self) -> None:
        """End the work, wherever it is."""
        self._is_abandoned = True
        self._go.release()
        while self._thread.is_alive():
            self._thread.join(LOOK_SECONDS)
            frame = sys._current_frames().get(self._thread.ident or 0)
            if frame is not None and not is_delicate(frame):  # it has not looked at the clock
                _raise_in(self._thread, _Abandoned)

    def _turn(self, until: float) -> T | None:
        if self.is_done:
            return self._result
        self._until = until
        self._waited += self._clock() - self._paused_at
        if self._thread.ident is None:
            self._thread.start()
        else:
            self._go.release()
        try:
            while not self._back.acquire(timeout=LOOK_SECONDS):
                pass
        except BaseException:  # an interruption of the program, or the last alarm
            self.abandon()
            raise
        if self._error is not None:
            raise self._error
        return self._result

    # In the thread of the work ----------------------------------------------------------------------------------------

    def _run(self, work: Callable[[Budget], T]) -> None:
        try:
            self._result = work(self.budget)
        except _Abandoned:
            pass
        except BaseException as error:  # raised again for whoever waits
            self._error = error
        finally:
            self.is_done = True
            self._back.release()

    def _own_clock(self) -> float:
        """The time without the pauses. Where a turn is over, this is where the work waits for the next one."""
        now = self._clock()
        if now >= self._until and threading.current_thread() is self._thread and not self._is_abandoned:
            self._paused_at = now
            self._back.release()
            self._go.acquire()
            now = self._clock()
        if self._is_abandoned and threading.current_thread() is self._thread:
            raise _Abandoned
        return now - self._waited


def _raise_in(thread: threading.Thread, kind: type[BaseException]) -> None:
    """Raise an exception in another thread, between two of its statements."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(kind))
