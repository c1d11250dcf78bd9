"""Short pieces of work that have to be done whole: no alarm interrupts them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Depth(threading.local):
    """How many such pieces this thread is in."""

    value = 0


_depth = _Depth()


@contextmanager
def finishing() -> Iterator[None]:
    """What is in this block is not interrupted by an alarm; a later signal interrupts what follows."""
    _depth.value += 1
    try:
        yield
    finally:
        _depth.value -= 1


def is_finishing() -> bool:
    """Whether this thread is in such a block."""
    return _depth.value > 0
