"""Who has a further turn, where time is left and some were cut short."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TypeVar

K = TypeVar("K")

MIN_TURN_RATIO = 1.25  # times the time it had: with less than that, what begins again will hardly come further
MIN_SECONDS = 1.0  # of a turn of what goes on where it was


def further_turn(had: Mapping[K, float], left: float, waiting: Container[K] = ()) -> tuple[K, float] | None:
    """Who is asked again, and for which share of the time left: of those cut short the one that had least.

    Those that wait go on where they were, for as long again as they had. All others begin anew, so that a turn is of
    use only if it is clearly longer than the one before; None where it would be so for nobody. An equal share is given
    where that is long enough, else everything.
    """
    hungry = sorted(
        (name for name, seconds in had.items() if name in waiting or MIN_TURN_RATIO * seconds <= left),
        key=lambda name: had[name],
    )
    if not hungry or left <= 0:
        return None
    first, equal = hungry[0], left / len(hungry)
    if first in waiting:
        return first, min(max(min(had[first], equal), MIN_SECONDS) / left, 1.0)
    return first, 1 / len(hungry) if MIN_TURN_RATIO * had[first] <= equal else 1.0
