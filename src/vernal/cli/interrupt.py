"""Ctrl-C and SIGTERM: the work stops at once, what is known stays.

Both signals raise `KeyboardInterrupt` in the main thread. One that happens to fall into a destructor or a weak
reference's callback would be swallowed there, so it is sent again from the hook that reports such losses.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

from vernal.cli import exits

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

AGAIN_AFTER = 0.02  # seconds


class Terminated(KeyboardInterrupt):
    """SIGTERM was received."""


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """130 after Ctrl-C, 143 after SIGTERM."""
    return exits.TERMINATED if isinstance(interrupt, Terminated) else exits.INTERRUPTED


def _raise(number: int, frame: FrameType | None) -> None:
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


def _again(lost: UnraisableHookArgs) -> None:
    """Send an interrupt again that was lost in a callback, once this hook is left; report everything else as usual."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        number = signal.SIGTERM if isinstance(lost.exc_value, Terminated) else signal.SIGINT
        later = threading.Timer(AGAIN_AFTER, _send, (number,))
        later.daemon = True
        later.start()
    else:
        sys.__unraisablehook__(lost)


def _send(number: int) -> None:
    """Send a signal to this process; on Windows os.kill would end it at once."""
    if sys.platform == "win32":
        signal.raise_signal(number)
    else:
        os.kill(os.getpid(), number)


@contextmanager
def watching() -> Iterator[None]:
    """Within this block both signals raise; outside everything is as it was. Other threads cannot install handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _raise) for number in (signal.SIGINT, signal.SIGTERM)}
    hook, sys.unraisablehook = sys.unraisablehook, _again
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def leave(code: int) -> None:
    """End the process here and now if a solver that was asked to stop is still at work.

    It works in a thread, and a library that is taken down with its thread aborts the whole process: the answer would
    be there, and the exit code would say otherwise.
    """
    if not any(thread.daemon for thread in threading.enumerate()):
        return
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
