"""Batches of pieces: sets of executions that made the same discrete decisions, thousands at a time.

A piece is an affine image of a box of parameters: state = A p + c, up to `error`, for p between lower and upper. The
parameters are the uncertain components of the initial state, then one for each disturbance drawn on the way. Numbers
are floats whose rounding is in `error`; so a batch of pieces contains every execution it stands for (OVER).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.rounding import gamma

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Pairs = tuple[Indices, Indices]  # trails kept, and trails given up for them

GRID = 1e-9  # pieces whose constants agree to this become one: different orders of the same choices


@dataclass(frozen=True, slots=True)
class Pieces:
    """A batch of pieces with the same discrete state and the same residual formula."""

    lower: Floats  # (batch, parameters)
    upper: Floats
    A: Floats  # (batch, components, parameters)
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
        lower, upper, A, c, error, trail = (part[index] for part in self.parts())
        return Pieces(lower, upper, A, c, error, trail)

    def parts(self) -> tuple[NDArray[Any], ...]:
        return self.lower, self.upper, self.A, self.c, self.error, self.trail

    def boxed(self, lower: Floats, upper: Floats) -> Pieces:
        """The same images of other boxes."""
        return Pieces(lower, upper, self.A, self.c, self.error, self.trail)

    def ranges(self) -> tuple[Floats, Floats]:
        """The least box around each image, rounded outward."""
        centre = 0.5 * self.lower + 0.5 * self.upper
        radius = np.nextafter(np.maximum(self.upper - centre, centre - self.lower), np.inf)
        middle = self.c + np.einsum("bnm,bm->bn", self.A, centre)
        steep = np.abs(self.A)
        size = np.abs(self.c) + np.einsum("bnm,bm->bn", steep, np.abs(centre) + radius)
        reach = np.einsum("bnm,bm->bn", steep, radius)
        slack = (self.error + reach) * (1 + 1e-14) + gamma(self.parameters + 8) * size * 2
        return np.nextafter(middle - slack, -np.inf), np.nextafter(middle + slack, np.inf)


def join(batches: Sequence[Pieces]) -> Pieces:
    """Batches with the same number of components and parameters, one after the other."""
    if len(batches) == 1:
        return batches[0]
    together = zip(*(batch.parts() for batch in batches), strict=True)
    lower, upper, A, c, error, trail = (np.concatenate(parts) for parts in together)
    return Pieces(lower, upper, A, c, error, trail)


def merge(pieces: Pieces) -> tuple[Pieces, Pairs | None]:
    """Pieces with the same box and the same A, and constants that agree but for rounding, become their hull.

    Also says which trails were given up for which: a merged piece stands for all of them.
    """
    order, starts = _groups(pieces)
    if len(starts) == len(pieces):
        return pieces, None
    low = np.minimum.reduceat((pieces.c - pieces.error)[order], starts)
    high = np.maximum.reduceat((pieces.c + pieces.error)[order], starts)
    middle = 0.5 * low + 0.5 * high
    error = np.nextafter(np.maximum(high - middle, middle - low), np.inf) + 4e-16 * np.abs(middle)
    first = order[starts]
    kept = np.repeat(pieces.trail[first], np.diff(np.r_[starts, len(pieces)]))
    given_up = pieces.trail[order]
    merged = pieces.rows(first)
    different = kept != given_up
    united = Pieces(merged.lower, merged.upper, merged.A, middle, error, merged.trail)
    return united, (kept[different], given_up[different])


def _groups(pieces: Pieces) -> tuple[Indices, Indices]:
    """An order in which equal pieces follow each other, and where each group begins."""
    columns = _key_columns(pieces)
    if not columns:
        return np.arange(len(pieces)), np.zeros(min(len(pieces), 1), dtype=np.intp)
    order = np.argsort(_hashes(columns), kind="stable")
    new = np.zeros(len(pieces), dtype=bool)
    new[0] = True
    for column in columns:  # a collision only keeps equal pieces apart
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    return order, np.flatnonzero(new)


def _key_columns(pieces: Pieces) -> list[Floats]:
    """What equal pieces agree in, column by column; columns that are the same for all are left out."""
    scale = np.maximum(1.0, np.abs(pieces.c).max(axis=0, initial=0.0))
    rounded = np.round(pieces.c / (GRID * scale))
    parts = [pieces.lower, pieces.upper, pieces.A.reshape(len(pieces), -1), rounded]
    columns = [np.ascontiguousarray(part[:, index]) + 0.0 for part in parts for index in range(part.shape[1])]
    return [column for column in columns if len(column) and (column != column[0]).any()]


def _hashes(columns: Sequence[Floats]) -> NDArray[np.uint64]:
    """A number for each piece, equal for equal ones and most likely different for others."""
    result = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        result = (result ^ column.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        result ^= result >> np.uint64(29)
    return result
