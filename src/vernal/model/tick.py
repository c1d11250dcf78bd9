"""The function that long work calls again and again."""

from __future__ import annotations

from collections.abc import Callable

Tick = Callable[[], None]  # called between pieces of work; may stop it by raising


def idle() -> None:
    """The default tick: does nothing."""
