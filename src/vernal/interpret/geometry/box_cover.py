"""Whether a box is in the union of others: it is cut at their sides until each part is in one of them."""

from __future__ import annotations

from collections.abc import Callable

from vernal.errors import Stopped
from vernal.interpret.numbers.rounding import Floats
from vernal.model.tick import Tick, idle

MAX_PIECES = 20_000  # into which a box is cut
TOO_MANY = f"a box is cut into more than {MAX_PIECES:,} pieces by those that are to cover it"


def uncovered(
    lower: Floats,
    upper: Floats,
    boxes: Floats,
    counts: Callable[[Floats, Floats], bool] = lambda lower, upper: True,
    tick: Tick = idle,
) -> tuple[Floats, Floats] | None:
    """A part of a box (n,) that is in none of the boxes (k, 2, n); None where they cover all of it that `counts`."""
    waiting = [(lower, upper)]
    for _ in range(MAX_PIECES):
        if not waiting:
            return None
        tick()
        low, high = waiting.pop()
        inside = (boxes[:, 0] <= low).all(1) & (boxes[:, 1] >= high).all(1)
        if inside.any() or not counts(low, high):
            continue
        place = _cut_place(boxes, low, high)
        if place is None:
            return low, high
        waiting += halves(low, high, *place)
    raise Stopped(TOO_MANY)


def halves(lower: Floats, upper: Floats, axis: int, place: float) -> list[tuple[Floats, Floats]]:
    """A box cut across an axis."""
    below, above = upper.copy(), lower.copy()
    below[axis] = above[axis] = place
    return [(lower, below), (above, upper)]


def _cut_place(boxes: Floats, lower: Floats, upper: Floats) -> tuple[int, float] | None:
    """A side of a box that meets this one, strictly inside it: the axis, and where."""
    for low, high in boxes[((boxes[:, 0] <= upper) & (boxes[:, 1] >= lower)).all(1)]:
        for axis in range(len(lower)):
            for end in (low[axis], high[axis]):
                if lower[axis] < end < upper[axis]:
                    return axis, float(end)
    return None
