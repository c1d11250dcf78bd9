"""Affine pieces of which at most so many are kept: where there are more, neighbours become the box around them.

Pieces are those of the engine `paths` (`AffineSpace`), cut where decisions are taken and moved by its steps. A search
for a counterexample must keep them apart; bounds of expressions need not, and so a reachable set has a size that does
not grow with the steps: the more pieces there are, the fewer parts each is cut into, and too many become boxes around
neighbours. A box contains the pieces it is made of (OVER).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from vernal.interpret.numbers.rounding import Floats
from vernal.model.expr import Expr
from vernal.sets.pieces.batches import Indices, Pieces
from vernal.sets.pieces.decisions import MAX_PARTS, TOO_FEW_TO_GATHER, Layout, decide
from vernal.sets.pieces.positions import DiscreteState, Key, NotExplorable, Position
from vernal.sets.pieces.space import TOO_MANY_TO_GATHER, AffineSpace
from vernal.sets.search import Stage

MAX_CUT_COMPONENTS = 3  # components: with more, the surface of a decision is too long to be cut along
MIN_PIECES_PER_STAGE = 32  # pieces of one stage, however many stages there are at a step
CUTS = 8  # parts into which pieces of few components are cut at a decision, however many pieces there are


class BoundedSpace:
    """The pieces of an affine space, about `most` at one step."""

    direction = AffineSpace.direction

    def __init__(self, affine: AffineSpace, most: int) -> None:
        self.affine, self.most = affine, most
        self._step, self._stages, self._stages_before = 0, 0, 1  # how many stages there are at this step so far

    def enter(self) -> Iterator[tuple[Key, Pieces]]:
        """A piece for each initial box."""
        return self.affine.enter()

    def gather(self, stage: Stage, arrived: Sequence[object]) -> Position[Pieces] | None:
        """Equal pieces become one; too many become boxes around neighbours."""
        position = self.affine.gather(stage, arrived)
        if position is None:
            return None
        pieces, share = position.batch, self._share(stage.t)
        if len(pieces) > share:
            pieces = around_neighbours(pieces, max(1, share // 2))
            self.affine.remember_widths(pieces)
        return replace(position, batch=pieces, batches=self)

    def _share(self, step: int) -> int:
        """How many pieces a stage may have: about as many stages share them as there were at the step before."""
        if step != self._step:
            self._step, self._stages, self._stages_before = step, 0, max(1, self._stages)
        self._stages += 1
        return max(MIN_PIECES_PER_STAGE, self.most // self._stages_before)

    def divide(self, decision: Expr, layout: Layout, batch: Pieces) -> Sequence[tuple[int, Pieces]]:
        """Which pieces can come out how; those that can in several ways are cut as long as there are few."""
        few = TOO_FEW_TO_GATHER if self.affine.nonlinear is None else TOO_MANY_TO_GATHER
        parts = min(MAX_PARTS, max(self.most // max(1, len(batch)), CUTS if layout.size <= MAX_CUT_COMPONENTS else 0))
        widths, tick = self.affine.widths, self.affine.graph.tick
        return decide(decision, layout, batch, widths, parts if parts > 1 else 0, tick, few)

    def move(
        self, position: Position[Pieces], discrete: DiscreteState, numbers: Sequence[Expr]
    ) -> tuple[Key, Pieces] | None:
        """The next states of a batch."""
        return self.affine.move(position, discrete, numbers)


def around_neighbours(pieces: Pieces, count: int) -> Pieces:
    """About so many boxes around all pieces: each around pieces whose centres lie close together."""
    low, high = pieces.ranges()
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise NotExplorable("values without a bound, or undefined ones")
    groups = neighbours(0.5 * low + 0.5 * high, count)
    order = np.concatenate(groups)
    starts = np.cumsum([0, *(len(group) for group in groups[:-1])])
    lower, upper = np.minimum.reduceat(low[order], starts), np.maximum.reduceat(high[order], starts)
    size = low.shape[1]
    nothing = np.zeros((len(groups), size))
    return Pieces(lower, upper, np.eye(size)[None], nothing, nothing, pieces.trail[order[starts]])


def neighbours(centres: Floats, count: int) -> list[Indices]:
    """Points in at most so many groups: the widest, measured by the extent of all, is halved again and again."""
    extent = np.ptp(centres, axis=0)
    relative = centres / np.where(extent > 0, extent, 1.0)
    groups = [_group(relative, np.arange(len(centres)))]
    while len(groups) < count and groups[0][0] < 0:
        _, _, side, rows = heapq.heappop(groups)
        column = relative[rows, side]
        left = column <= 0.5 * column.min() + 0.5 * column.max()
        for part in (rows[left], rows[~left]):
            heapq.heappush(groups, _group(relative, part))
    return [rows for _, _, _, rows in groups]


def _group(points: Floats, rows: Indices) -> tuple[float, int, int, Indices]:
    """A group as it is ordered: the widest first; with the coordinate in which it is widest."""
    width = np.ptp(points[rows], axis=0)
    side = int(np.argmax(width)) if len(width) else 0
    middle = 0.5 * points[rows, side].min() + 0.5 * points[rows, side].max() if len(width) else 0.0
    divides = len(width) > 0 and bool((points[rows, side] > middle).any())
    return -float(width[side]) if divides else 0.0, int(rows[0]), side, rows
