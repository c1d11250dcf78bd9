"""Flowpipes without a claim, from an initial set that is divided as far as it has to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from vernal.engines.pipe_maker import FoundPipe
from vernal.interpret.flow.integration import Segments, joined_segments
from vernal.interpret.numbers.rounding import Mask
from vernal.model.system import Model
from vernal.sets.flow_starts import StartBoxes, cut, start_boxes
from vernal.sets.sampled.box_rounds import BoxRounds

MAX_TIGHT_PARTS = 64  # of the initial set, where bounds alone are to become tighter


class DividedPipes:
    """Flowpipes without a claim: parts that are not followed to the end are cut until all are, then all parts are."""

    def __init__(self, flow: Model, rounds: BoxRounds, most: int, last_round: int) -> None:
        """`most`: parts of the initial set."""
        self.flow, self.rounds, self.most, self.last_round = flow, rounds, most, last_round
        self.kept: list[tuple[StartBoxes, Segments]] = []  # parts that were followed to the end

    def found(self) -> Iterator[FoundPipe]:
        """The first flowpipe however far it reaches, then only those that reach the end, or the last one."""
        boxes, told = start_boxes(self.flow), False
        while self.rounds.number < self.last_round:
            parts = list(self.rounds.follow(boxes))
            lost = np.concatenate([np.zeros(0, dtype=bool), *(part.until < self.rounds.horizon for part in parts)])
            pipe = self.rounds.pipe([*(part for _, part in self.kept), *parts])
            self.rounds.adapt(parts, stagnates=not lost.any())
            after = self._cut_lost(boxes, parts, lost) if lost.any() else self._cut_all(boxes, parts)
            last = after is None or self.rounds.number >= self.last_round
            if last or not told or not lost.any():
                yield FoundPipe(pipe)
            if after is None:
                return
            boxes, told = after, True

    def _cut_lost(self, boxes: StartBoxes, parts: Sequence[Segments], lost: Mask) -> StartBoxes | None:
        """Parts of those boxes that are not followed to the end; none if they would be too many."""
        influence = np.concatenate([part.influence for part in parts])
        after = cut(self.flow, boxes[lost], influence[lost])
        kept = [(boxes[~lost], _chosen(parts, ~lost))]
        count = sum(len(own) for own, _ in [*self.kept, *kept]) + len(after)
        if len(after) == lost.sum() or count > self.most:
            return None
        self.kept += kept
        return after

    def _cut_all(self, boxes: StartBoxes, parts: Sequence[Segments]) -> StartBoxes | None:
        """Parts of all boxes, for tighter bounds; none if they would be too many."""
        everything = [*self.kept, (boxes, None)]
        if not sum(len(own) for own, _ in everything):
            return None
        influence = np.concatenate([part.influence for part in [*(part for _, part in self.kept), *parts]])
        whole = reduce(StartBoxes.joined, [own for own, _ in everything])
        after = cut(self.flow, whole, influence)
        self.kept = []
        return after if len(whole) < len(after) <= min(self.most, MAX_TIGHT_PARTS) else None


def _chosen(parts: Sequence[Segments], which: Mask) -> Segments:
    """The segments of some boxes of several batches, as one."""
    ends = np.cumsum([0, *(len(part.until) for part in parts)])
    own = [part.of(np.flatnonzero(which[first:last])) for part, first, last in zip(parts, ends, ends[1:], strict=False)]
    return joined_segments(own)
