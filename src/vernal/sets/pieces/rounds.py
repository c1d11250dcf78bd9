"""What a round of an exploration learns about each of the boxes it starts from.

A box that a round closes is proven, and by how much it keeps the claim stays true whatever later rounds find of others.
A box that stays open is cut, across the component that had most to do with the decisions its pieces left open.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vernal.interpret.numbers.rounding import Floats
from vernal.model.expr import Expr
from vernal.model.initial import Box
from vernal.sets.halving import ComponentWeights
from vernal.sets.influence import is_decision, shares
from vernal.sets.pieces.batches import Indices, Pairs, Pieces
from vernal.sets.pieces.decisions import Layout
from vernal.sets.pieces.trails import Trails


class Round:
    """Margins and doubts of every initial box of an exploration."""

    def __init__(self, trails: Trails, count: int) -> None:
        self.trails = trails
        self.margins = np.full(count, np.inf)
        self.open = np.zeros(count, dtype=bool)
        self._doubts: Floats = np.zeros((count, 0))
        self._merged: set[tuple[int, int]] = set()  # boxes of trails kept, and of those given up for them

    def keeps(self, pieces: Pieces, low: Floats | float) -> None:
        """The pieces keep the claim by at least this much."""
        np.minimum.at(self.margins, self.trails.origin(pieces.trail), low)

    def merged(self, pairs: Pairs) -> None:
        """Trails that were given up for others: what becomes of those is true of them too."""
        kept, given_up = (self.trails.origin(side) for side in pairs)
        different = kept != given_up
        self._merged |= set(zip(kept[different].tolist(), given_up[different].tolist(), strict=True))
        self._spread()

    def leave_open(self, trails: Indices) -> None:
        """The boxes that trails come from are not proven by this round."""
        self.open[self.trails.origin(trails)] = True
        self._spread()

    def _spread(self) -> None:
        """Where a trail stands for trails of other boxes, those are open with it."""
        while missing := [other for kept, other in self._merged if self.open[kept] and not self.open[other]]:
            self.open[missing] = True

    def pursued(self, pieces: Pieces, most: int) -> Pieces:
        """The pieces of boxes that this round may still prove; a box with more than so many is left open."""
        origin = self.trails.origin(pieces.trail)
        scattered = np.bincount(origin, minlength=len(self.open)) > most
        if scattered.any():
            self.open |= scattered
            self._spread()
        return pieces.rows(~self.open[origin])

    def open_boxes(self) -> list[Box]:
        """The boxes that are to be looked at again."""
        return [self.trails.boxes[number] for number in np.flatnonzero(self.open).tolist()]

    def margin(self) -> float:
        """By how much all boxes that are closed keep the claim, at least."""
        return float(self.margins[~self.open].min(initial=np.inf))

    def margin_of_each(self) -> Floats:
        """By how much every box keeps the claim, at least; a trail may stand for trails of other boxes."""
        margins = self.margins.copy()
        while lower := [(kept, other) for kept, other in self._merged if margins[kept] < margins[other]]:
            for kept, other in lower:
                margins[other] = min(margins[other], margins[kept])
        return margins

    def weigh(self, decision: Expr, layout: Layout, found: Sequence[tuple[int, Pieces]], count: int) -> None:
        """Note which parameters keep a decision open that was just asked of so many pieces."""
        if not is_decision(decision) or sum(len(pieces) for _, pieces in found) == count or not layout.memo:
            return
        pieces, linear = layout.memo[0]
        part = shares(decision, linear, np.arange(len(pieces)), pieces.parameters)
        several = part.any(axis=1)
        self._add(self.trails.origin(pieces.trail[several]), part[several])

    def _add(self, boxes: Indices, part: Floats) -> None:
        """Every decision counts once for a box, however many pieces it has."""
        missing = part.shape[1] - self._doubts.shape[1]
        if missing > 0:
            self._doubts = np.pad(self._doubts, ((0, 0), (0, missing)))
        often = np.bincount(boxes, minlength=len(self.margins))[boxes]
        np.add.at(self._doubts[:, : part.shape[1]], boxes, part / often[:, None])

    def weights(self) -> list[ComponentWeights]:
        """How much the components of every open box have to do with what its pieces left open."""
        boxes, places = np.flatnonzero(self.open).tolist(), self.trails.parameters()
        return [dict(zip(places.get(box, []), self._doubts[box].tolist(), strict=False)) for box in boxes]
