"""Where boxes are cut: along the coordinates in which f - N bends most."""

from __future__ import annotations

import numpy as np

from vernal.interpret.numbers.rounding import TINY, Array, Floats, Mask
from vernal.reduce.neural.samples import WorstPoints

FIRST_BOXES = 512  # at most, and for each coordinate ...
FIRST_PARTS = 64
MAX_BOXES_OF_MANY_PARTS = 512  # boxes after a round of cuts, up to which a box is cut into more parts
WIDTH = 1e-3  # of the largest bend: what the width of a coordinate counts beside its bend
LARGEST_BEND = 1e300
MIN_BEND_SHARE = 0.35  # of the largest bend, from which on a coordinate is cut as well


def grid(lower: Floats, upper: Floats, size: int) -> tuple[Floats, Floats]:
    """A region as boxes of equal size, cut along the first `size` coordinates."""
    axes = np.flatnonzero(lower[:size] < upper[:size])
    parts = max(1, min(FIRST_PARTS, int(FIRST_BOXES ** (1.0 / max(len(axes), 1)) + 1e-9)))
    boxes = lower[None], upper[None]
    for axis in axes:
        boxes, _ = _cut_all(boxes, np.full(len(boxes[0]), axis), parts)
    return boxes


def cut(
    samples: WorstPoints, lower: Floats, upper: Floats, rows: Mask, bounds: Floats
) -> tuple[tuple[Floats, Floats], Array]:
    """Boxes in parts, and from which box each part is; `bounds` are relative to what is wanted."""
    parents = np.arange(len(lower))
    if not len(lower):
        return (lower, upper), parents
    worst = np.where(rows, bounds, -np.inf).argmax(1) % samples.difference.outputs
    bends = _bends(samples, lower, upper, worst)
    boxes, order = (lower, upper), np.argsort(-bends, axis=1)
    top = np.take_along_axis(bends, order, axis=1)
    for rank in range(lower.shape[1]):
        wanted = top[parents, rank] >= MIN_BEND_SHARE * top[parents, 0]
        some, rest = np.flatnonzero(wanted), np.flatnonzero(~wanted)
        if rank and len(parents) + len(some) > MAX_BOXES_OF_MANY_PARTS:
            break
        parts = 2 if len(parents) + 3 * len(some) > MAX_BOXES_OF_MANY_PARTS else 4
        made, source = _cut_all((boxes[0][some], boxes[1][some]), order[parents[some], rank], parts)
        boxes = np.concatenate([boxes[0][rest], made[0]]), np.concatenate([boxes[1][rest], made[1]])
        parents = np.concatenate([parents[rest], parents[some][source]])
    return boxes, parents


def _cut_all(boxes: tuple[Floats, Floats], axes: Array, parts: int) -> tuple[tuple[Floats, Floats], Array]:
    """Every box in so many parts along its axis; neighbours share an end, exactly."""
    lower, upper = boxes
    every = np.arange(len(lower))
    low, high = lower[every, axes], upper[every, axes]
    ends = [low, *(low + (high - low) * (k / parts) for k in range(1, parts)), high]
    first, last = np.repeat(lower[None], parts, axis=0), np.repeat(upper[None], parts, axis=0)
    for k in range(parts):
        first[k, every, axes], last[k, every, axes] = ends[k], ends[k + 1]
    size = lower.shape[1]
    return (first.reshape(-1, size), last.reshape(-1, size)), np.tile(every, parts)


def _bends(samples: WorstPoints, lower: Floats, upper: Floats, output: Array) -> Floats:
    """How far f_i - N_i is from linear along each coordinate, for one output of each box: (boxes, coordinates).

    Along the middle from end to end, and how the difference along a coordinate changes from the middle to a corner.
    """
    count, size = lower.shape
    centre = 0.5 * lower + 0.5 * upper
    ends = np.arange(count) % 2 == 0
    corner = np.where(ends[:, None], lower, upper)
    points = [centre, corner]
    for axis in range(size):
        at_low, at_high, inward = centre.copy(), centre.copy(), corner.copy()
        at_low[:, axis], at_high[:, axis], inward[:, axis] = lower[:, axis], upper[:, axis], centre[:, axis]
        points += [at_low, at_high, inward]
    found = samples.look(np.concatenate(points)).reshape(len(points), count, -1)
    own = np.take_along_axis(found, output[None, :, None], axis=2)[..., 0]
    middle, far, along = own[0], own[1], own[2:].reshape(size, 3, count)
    low, high, inward = along[:, 0], along[:, 1], along[:, 2]
    straight = abs(low - 2.0 * middle + high)
    mixed = abs((far - inward) - (np.where(ends, low, high) - middle))
    bends = np.nan_to_num(straight + mixed, nan=LARGEST_BEND, posinf=LARGEST_BEND).T
    widths = (upper - lower) / np.maximum((upper - lower).max(1, keepdims=True), TINY)
    known: Floats = np.minimum(bends, LARGEST_BEND) * (widths > 0)
    floor: Floats = (WIDTH * known.max(1, keepdims=True) + TINY) * widths
    return known + floor
