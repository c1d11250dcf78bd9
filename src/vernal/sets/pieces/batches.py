"""Batches of pieces: sets of executions that made the same discrete decisions, thousands at a time.

A piece is an affine image of a box of parameters: state = A p + c, up to `error`, for p between lower and upper. The
parameters are the uncertain components of the initial state, then one for each disturbance drawn on the way. Numbers
are floats whose rounding is in `error`; so a batch of pieces contains every execution it stands for (OVER). A component
whose numbers overflowed may be anything: new numbers become pieces through `bounded`, which makes its error infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.numbers.rounding import TINY, Floats, bounding, gamma

Indices = NDArray[np.intp]
Pairs = tuple[Indices, Indices]  # trails kept, and trails given up for them

CURVE_BITS = 24  # of a sorting key that say where a piece lies; the others tell different pieces apart
CURVE_COLUMNS = 6
SMALL_MATRIX = 64  # entries of a matrix
GRID = 1e-9  # pieces whose constants agree to this become one: different orders of the same choices


@dataclass(frozen=True, slots=True)
class Pieces:
    """A batch of pieces with the same discrete state and the same residual formula."""

    lower: Floats  # (batch, parameters)
    upper: Floats
    A: Floats  # (batch, components, parameters); (1, ...) where all have the same
    c: Floats  # (batch, components)
    error: Floats  # (batch, components)
    trail: Indices  # (batch,): how each came about

    def __len__(self) -> int:
        return len(self.trail)

    @property
    def parameters(self) -> int:
        return int(self.lower.shape[1])

    def rows(self, index: Indices | NDArray[np.bool_]) -> Pieces:
        """Some of the pieces."""
        if index.dtype == np.bool_:
            if index.all():
                return self
            index = np.flatnonzero(index)
        lower, upper, c, error = (part.take(index, axis=0) for part in (self.lower, self.upper, self.c, self.error))
        A = self.A if len(self.A) == 1 else self.A[index]
        return Pieces(lower, upper, A, c, error, self.trail[index])

    def boxed(self, lower: Floats, upper: Floats) -> Pieces:
        """The same images of other boxes."""
        return Pieces(lower, upper, self.A, self.c, self.error, self.trail)

    def matrices(self) -> Floats:
        """The matrix of every piece, one for each also where they share it."""
        return np.broadcast_to(self.A, (len(self), *self.A.shape[1:]))

    def ranges(self) -> tuple[Floats, Floats]:
        """The least box around each image, rounded outward; infinite where a sum overflows."""
        centre = 0.5 * self.lower + 0.5 * self.upper
        radius = np.maximum(self.upper - centre, centre - self.lower)
        middle = self.c + image(self.A, centre)
        steep = np.abs(self.A)
        slack = self.error + image(steep, radius)
        slack *= 1 + 1e-14
        size = np.abs(self.c) + image(steep, np.abs(centre) + radius)
        slack += (2 * gamma(self.parameters + 8)) * size  # twice what the middle and the last sums lose
        slack += TINY
        return bounding(middle - slack, middle + slack)


def bounded(lower: Floats, upper: Floats, A: Floats, c: Floats, error: Floats, trail: Indices) -> Pieces:
    """Pieces from numbers that were just computed: a component that is not finite is 0, up to any error."""
    if not (np.isfinite(c).all() and np.isfinite(error).all() and np.isfinite(A).all()):
        finite = np.isfinite(c) & np.isfinite(error) & np.isfinite(A).all(axis=2)
        A, c, error = np.where(finite[..., None], A, 0.0), np.where(finite, c, 0.0), np.where(finite, error, np.inf)
    return Pieces(lower, upper, A, c, error, trail)


def image(A: Floats, points: Floats) -> Floats:
    """A p for each piece, A being one for all or one for each."""
    if len(A) == 1:
        return times(A[0], points)
    product: Floats = np.einsum("bnm,bm->bn", A, points)
    return product


def times(M: Floats, points: Floats) -> Floats:
    """M p for every point; a small matrix column by column, which for long batches is faster than a matrix product."""
    if M.size > SMALL_MATRIX:
        product: Floats = points @ M.T
        return product
    result = np.zeros((len(points), len(M)))
    for row, column in zip(*np.nonzero(M), strict=True):
        result[:, row] += M[row, column] * points[:, column]
    return result


def largest_of(rows: Floats) -> Floats:
    """The largest entry of each column."""
    return np.array([column.max() for column in rows.T])


def join(batches: Sequence[Pieces]) -> Pieces:
    """Batches with the same number of components and parameters, one after the other."""
    if len(batches) == 1:
        return batches[0]
    batches = [batch for batch in batches if len(batch)] or batches[:1]
    if len(batches) == 1:
        return batches[0]
    first = batches[0].A
    same = all(len(batch.A) == 1 and np.array_equal(batch.A, first) for batch in batches)
    A = first if same else np.concatenate([batch.matrices() for batch in batches])
    together = zip(*((p.lower, p.upper, p.c, p.error, p.trail) for p in batches), strict=True)
    lower, upper, c, error, trail = (np.concatenate(parts) for parts in together)
    return Pieces(lower, upper, A, c, error, trail)


# Merging --------------------------------------------------------------------------------------------------------------


def merge(pieces: Pieces, *, unite: bool = True) -> tuple[Pieces, Pairs | None]:
    """Equal pieces become one, with a constant that contains all of theirs; neighbours come to stand close together.

    With one parameter, equal images of intervals that touch or overlap become the image of their union, unless they
    are to stay apart, having been cut for a reason.

    The pairs say which trails were given up for which: a merged piece stands for all of them.
    """
    if len(pieces) < 2:
        return pieces, None
    order, starts = _groups(pieces, unite)
    if len(starts) == len(pieces):
        return pieces.rows(order), None
    low = np.minimum.reduceat((pieces.c - pieces.error).take(order, axis=0), starts)
    high = np.maximum.reduceat((pieces.c + pieces.error).take(order, axis=0), starts)
    middle = 0.5 * low + 0.5 * high
    error = np.nextafter(np.maximum(high - middle, middle - low), np.inf) + 4e-16 * np.abs(middle)
    merged = pieces.rows(order[starts])
    kept = np.repeat(merged.trail, np.diff(np.r_[starts, len(pieces)]))
    given_up = pieces.trail[order]
    different = np.flatnonzero(kept != given_up)
    upper = np.maximum.reduceat(pieces.upper.take(order, axis=0), starts)
    united = bounded(merged.lower, upper, merged.A, middle, error, merged.trail)
    return united, (kept[different], given_up[different])


def _groups(pieces: Pieces, unite: bool) -> tuple[Indices, Indices]:
    """An order in which equal pieces follow each other, the first of a group lowest, and where each group begins."""
    columns, boxes = _varying(_image_columns(pieces)), _varying([*pieces.lower.T, *pieces.upper.T])
    touching = unite and pieces.parameters == 1 and len(boxes) > 0
    if not touching:
        columns += boxes
    key = np.zeros(len(pieces), dtype=np.uint64)
    if columns:
        key = _curve(columns) | (_hashes(columns) >> np.uint64(CURVE_BITS))
    order = np.lexsort((pieces.lower[:, 0], key)) if touching else np.argsort(key)
    new = np.zeros(len(pieces), dtype=bool)
    new[0] = True
    for column in columns:  # a collision only keeps equal pieces apart
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    if touching:
        new |= _apart(pieces.lower[order, 0], pieces.upper[order, 0], np.cumsum(new))
    return order, np.flatnonzero(new)


def _apart(lower: Floats, upper: Floats, group: Indices) -> NDArray[np.bool_]:
    """Which intervals begin above all earlier ones of their group; they are ordered by group and lower end."""
    ends, rank = np.unique(upper, return_inverse=True)
    reach = np.maximum.accumulate(group * len(ends) + rank) % len(ends)
    above = np.zeros(len(lower), dtype=bool)
    above[1:] = lower[1:] > ends[reach[:-1]]
    return above


def _image_columns(pieces: Pieces) -> list[Floats]:
    """What equal images of boxes agree in: constants up to the grid, and matrices."""
    columns = [_rounded(column) for column in pieces.c.T]
    if len(pieces.A) > 1:
        columns += list(pieces.A.reshape(len(pieces), -1).T)
    return columns


def _varying(columns: Sequence[Floats]) -> list[Floats]:
    """Columns without those that are the same for all; zeros have one sign."""
    return [np.ascontiguousarray(column) + 0.0 for column in columns if (column != column[0]).any()]


def _rounded(column: Floats) -> Floats:
    """Numbers of a grid as fine as the largest of them allows."""
    scale = max(1.0, column.max(), -column.min())
    steps: Floats = column / (GRID * scale)
    return np.round(steps, out=steps) + 0.0


def _hashes(columns: Sequence[Floats]) -> NDArray[np.uint64]:
    """A number for each piece, equal for equal ones and most likely different for others."""
    result = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        result = (result ^ column.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        result ^= result >> np.uint64(29)
    return result


def _curve(columns: Sequence[Floats]) -> NDArray[np.uint64]:
    """The place of each piece on a curve that fills space, in the highest bits: neighbours there are neighbours."""
    columns = columns[:CURVE_COLUMNS]
    bits = min(CURVE_BITS // len(columns), 10)
    cells = np.arange(1 << bits, dtype=np.uint64)
    spread = np.zeros_like(cells)
    for bit in range(bits):
        spread |= (cells >> np.uint64(bit) & np.uint64(1)) << np.uint64(bit * len(columns))
    result = np.zeros(len(columns[0]), dtype=np.uint64)
    for place, column in enumerate(columns):
        half = 0.5 * column
        low, high = half.min(), half.max()
        with np.errstate(all="ignore"):  # an extreme column has no order that matters
            cell = np.nan_to_num((half - low) / (high - low) * cells[-1]).clip(0, cells[-1])
        result |= spread[cell.astype(np.intp)] << np.uint64(place)
    return result << np.uint64(64 - CURVE_BITS)
