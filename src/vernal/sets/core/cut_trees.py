"""Trees of cuts: how the boxes that a search closed divide the whole, written down for `vernal-check`.

A search keeps no parents. Its boxes are cut in the middle of a side, or at the sign of an inner number, so that a tree
is found again from its leaves: a cut that no leaf is on both sides of comes first. Leaves bring what closed them,
slopes and multipliers; these are hints, and so are the cuts: whoever checks the tree bounds every leaf anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.model import expr as e
from vernal.model.graph import order
from vernal.model.tick import Tick, idle
from vernal.sets.core.clauses import Clauses
from vernal.sets.core.open_boxes import DomainFrame, Domains
from vernal.sets.pieces.batches import Indices

SHARE_DIGITS = "0123456789abcdef"  # of a slope, from that of the left piece to that of the right one
ANY_SHARE = "."
MULTIPLIER_DIGITS = 3  # of a multiplier: it is a hint

Item = int | list[Any] | None  # a cut at an input, or at the rectifier -1 - n; a leaf with hints, or without


@dataclass(frozen=True)
class ClosedBoxes:
    """What is kept of boxes that a search has closed, row by row."""

    lower: Floats
    upper: Floats
    origin: Indices
    phases: NDArray[np.int8]
    shares: NDArray[np.float32]
    multipliers: NDArray[np.float32]

    @classmethod
    def of(cls, boxes: Domains, rows: Mask) -> ClosedBoxes:
        names = ("lower", "upper", "origin", "phases", "shares", "multipliers")
        return cls(*(getattr(boxes, name)[rows] for name in names))

    def __len__(self) -> int:
        return len(self.lower)


class CutTrees:
    """The trees of all boxes that a search began with, from those that it closed."""

    def __init__(self, clauses: Clauses, frame: DomainFrame, closed: Sequence[ClosedBoxes], tick: Tick = idle) -> None:
        self.frame, self.tick, self.rectifiers = frame, tick, rectifiers(clauses, frame)
        count = len(self.rectifiers)
        self.lower, self.upper, self.origin = (
            np.concatenate([getattr(one, name) for one in closed]) for name in ("lower", "upper", "origin")
        )
        inner = (
            np.concatenate([getattr(one, name)[:, self.rectifiers] for one in closed])
            for name in ("phases", "shares", "multipliers")
        )
        self.phases, self.shares, self.multipliers = (one.reshape(len(self.lower), count) for one in inner)

    def tree(self, whole: int) -> list[Item]:
        """The cuts of one of the boxes of the whole, parents first, and then the lower part."""
        start = self.frame.enter().rows(np.array([whole]))
        return list(self._items(np.flatnonzero(self.origin == whole), start.lower[0], start.upper[0]))

    def _items(self, leaves: Indices, lower: Floats, upper: Floats) -> Iterator[Item]:
        stack: list[tuple[Indices, Floats, Floats, tuple[int, ...]]] = [(leaves, lower, upper, ())]
        while stack:
            self.tick()
            own, lower, upper, path = stack.pop()
            cut = self._cut(own, lower, upper, path) if len(own) > 1 else None
            if cut is None:
                yield self._leaf(own, path)
                continue
            place, side = cut
            if place >= 0:
                yield place
                middle = 0.5 * lower[place] + 0.5 * upper[place]
                below, above = upper.copy(), lower.copy()
                below[place] = above[place] = middle
                stack += [(own[side], above, upper, path), (own[~side], lower, below, path)]
            else:
                yield place
                stack += [(own[part], lower, upper, (*path, -1 - place)) for part in (side, ~side)]

    def _cut(self, own: Indices, lower: Floats, upper: Floats, path: tuple[int, ...]) -> tuple[int, Mask] | None:
        """A cut that no leaf is on both sides of, and which leaves are on its upper one; None where there is none."""
        middle = 0.5 * lower + 0.5 * upper
        above, below = self.lower[own] >= middle, self.upper[own] <= middle
        fits = (above | below).all(axis=0) & above.any(axis=0) & below.any(axis=0) & (lower < middle) & (middle < upper)
        if fits.any():
            place = int(fits.argmax())
            return place, above[:, place]
        signs = self.phases[own]
        fits = (signs != 0).all(axis=0) & (signs > 0).any(axis=0) & (signs < 0).any(axis=0)
        fits[list(path)] = False
        if fits.any():
            place = int(fits.argmax())
            return -1 - place, signs[:, place] > 0
        return None

    def _leaf(self, own: Indices, path: tuple[int, ...]) -> Item:
        """A leaf with its hints, if it has some."""
        if len(own) != 1:
            return None
        shares, multipliers = self.shares[own[0]], self.multipliers[own[0]]
        known = ~np.isnan(shares)
        if not known.any() and not path:
            return None
        text = "".join(
            SHARE_DIGITS[round(15 * min(max(float(share), 0.0), 1.0))] if told else ANY_SHARE
            for share, told in zip(shares, known, strict=True)
        )
        return [text.rstrip(ANY_SHARE), *(float(f"{abs(float(multipliers[at])):.{MULTIPLIER_DIGITS}g}") for at in path)]


def rectifiers(clauses: Clauses, frame: DomainFrame) -> Indices:
    """Where the argument of each rectifier of the network is among the inner components, layer by layer."""
    places = [
        np.arange(frame.places[node.args[0]].start, frame.places[node.args[0]].stop)
        for node in order(clauses.nodes)
        if isinstance(node, e.Relu | e.LeakyRelu) and node.args[0] in frame.places
    ]
    return np.concatenate(places) if places else np.zeros(0, np.intp)
