"""How large one piece of work may be where memory is limited.

A limit of memory is looked at between pieces of work, so a piece passes it by as much as it takes. Who asks a question
says the limit (`limited`), and who makes large arrays divides them by what is left (`numbers_at_once`), or stops before
one that cannot be divided (`refuse_beyond`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from vernal.errors import Stopped

GIB = 2**30
BYTES = 8  # of a number
ARRAYS = 4  # of one size that work has at one time: what it makes, what it makes it from, and on the way
MIN_NUMBERS = 1 << 16  # numbers, however little is left: they are divided no further
BEYOND, EXHAUSTED = "memory beyond", "out of memory"  # how reasons begin where a limit is reached, or all there is

_limit: ContextVar[float | None] = ContextVar("memory", default=None)  # GiB of this process


@contextmanager
def limited(memory: float | None) -> Iterator[None]:
    """Within it, pieces of work are as large as so many GiB of this process allow."""
    token = _limit.set(memory)
    try:
        yield
    finally:
        _limit.reset(token)


def numbers_at_once(most: int) -> int:
    """How many numbers an array may have: so many, unless a limit of memory leaves fewer."""
    left = _left()
    return most if left is None else min(most, max(MIN_NUMBERS, int(left) // (ARRAYS * BYTES)))


def refuse_beyond(numbers: int) -> None:
    """Stop before an array of so many numbers is made for which a limit of memory leaves no room."""
    left = _left()
    if left is not None and numbers > MIN_NUMBERS and numbers * BYTES > left:
        raise Stopped(beyond(_limit.get()))


def beyond(memory: float | None) -> str:
    """The reason where a limit of memory is reached."""
    return f"{BEYOND} {memory:g} GiB"


def _left() -> float | None:
    """The bytes that the limit leaves, if there is one."""
    limit = _limit.get()
    return None if limit is None else (limit - resident_gib()) * GIB


def resident_gib() -> float:
    """The resident memory of this process, or the most it ever was; 0 where the system does not say (Windows)."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return _most_gib()
    return pages * 4096 / GIB


def _most_gib() -> float:
    try:
        import resource
    except ImportError:
        return 0.0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (GIB if sys.platform == "darwin" else 2**20)  # bytes there, KiB elsewhere
