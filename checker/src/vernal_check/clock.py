"""The time there is: `tick` is called wherever work may take long."""

from __future__ import annotations

import time

from vernal_check.errors import Unreadable

_deadline: list[float] = []


def limit(seconds: float | None) -> None:
    """Stop after so many seconds from now."""
    _deadline[:] = [] if seconds is None else [time.monotonic() + seconds]


def tick() -> None:
    if _deadline and time.monotonic() > _deadline[0]:
        raise Unreadable("the time is up")
