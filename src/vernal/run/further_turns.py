"""Who has a further turn, where time is left and some were cut short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

K = TypeVar("K")

MIN_TURN_RATIO = 1.25  # times the time it had: with less than that, what begins again will hardly come further


def further_turn(had: Mapping[K, float], left: float) -> tuple[K, float] | None:
    """Who is asked again, and for which share of the time left: of those cut short the one that had least.

    All of them begin anew, so that a turn is of use only if it is clearly longer than the one before; None where it
    would be so for nobody. An equal share is given where that is long enough, else everything.
    """
    hungry = sorted(
        (name for name, seconds in had.items() if MIN_TURN_RATIO * seconds <= left), key=lambda name: had[name]
    )
    if not hungry or left <= 0:
        return None
    first = hungry[0]
    return first, 1 / len(hungry) if MIN_TURN_RATIO * had[first] <= left / len(hungry) else 1.0
