"""Where plain bounds leave a box open: tuned bounds, neurons to cut, and linear programs, as far as they pay.

With few inputs cutting across them is cheaper than anything else, except for constraints on initial states (plain
bounds know nothing of them) and, late in a long search, for boxes in which few neurons are left that are not linear:
those are settled for good by cutting them. With many inputs neurons are cut from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.engines.core.clauses import Clauses, Readings, RowNumbers
from vernal.engines.core.domains import DomainFrame, Domains
from vernal.engines.core.leaves import Leaves
from vernal.engines.core.tuning import Tuner
from vernal.engines.paths.batches import Indices
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.model.tick import Tick

MAX_INPUTS_TO_CUT = 10  # with more of them, neurons are cut
LONG_SEARCH = 200  # boxes of a question, from which on those with few neurons ...
FEW_NEURONS = 8  # ... that are not linear are cut at these
TUNING_STEPS = 4
INPUTS_LAST = 1e-18  # weight of cuts across inputs where neurons are cut: for boxes without any such neuron
IDLE = 1e-12  # weight of neurons that no open row depends on, by the width of their range


@dataclass(frozen=True, eq=False)
class Improvement:
    """What became of a batch by tuning and by programs for leaves."""

    known: Readings
    domains: Domains
    points: Floats  # (points, columns): where bounds are attained
    owners: Indices  # (points,): the box each is in
    scores: Floats  # (boxes, inner components): what cutting a neuron promises


class Improver:
    """Decides which boxes are cut at neurons, and improves what is known of boxes."""

    def __init__(self, clauses: Clauses, frame: DomainFrame, tick: Tick) -> None:
        self.clauses, self.frame, self.tick = clauses, frame, tick
        self.tuner = Tuner(clauses, frame)
        self.leaves = Leaves(clauses, frame, self.tuner, tick)
        self.cuttable = self.tuner.cuttable
        self._many_inputs = len(frame.columns) > MAX_INPUTS_TO_CUT and bool(self.cuttable.any())
        self._constraints = not self.tuner.asked.all()

    def at_neurons(self, batch: Domains, boxes_so_far: Indices) -> Mask:
        """The boxes that are cut at neurons; of the question of each, how many boxes have been bounded."""
        if self._many_inputs:
            return np.ones(len(batch), dtype=bool)
        late = boxes_so_far > LONG_SEARCH
        return late & (self._unstable(batch).sum(axis=1) <= FEW_NEURONS) if late.any() else late

    def _unstable(self, batch: Domains) -> Mask:
        return (batch.least < 0) & (batch.most > 0) & self.cuttable

    def improve(
        self,
        linear: Linear,
        numbers: RowNumbers,
        batch: Domains,
        known: Readings,
        empty: Mask,
        at_neurons: Mask,
    ) -> Improvement:
        """Tuned bounds of what is open where that pays, and programs for leaves where neurons are cut."""
        nothing = np.zeros((0, batch.lower.shape[1])), np.zeros(0, np.intp)
        scores = IDLE * np.where(self._unstable(batch) & at_neurons[:, None], batch.most - batch.least, 0.0)
        boxes = self._open(known, empty)
        boxes = boxes if self._constraints else boxes[at_neurons[boxes]]
        if not len(boxes):
            return Improvement(known, batch, *nothing, scores)
        linear = self._on_host(linear, batch)
        tuned = self.tuner.improve(linear, numbers, batch, known, boxes, TUNING_STEPS)
        cost = np.zeros(scores.shape)
        cost[tuned.boxes] = tuned.scores * at_neurons[tuned.boxes, None]
        still_open = self._open(tuned.readings, empty)
        still_open = still_open[at_neurons[still_open]]
        leaves = self.leaves.settle(numbers, tuned.domains, tuned.readings, still_open, cost)
        points, owners = np.concatenate([tuned.points, leaves.points]), np.concatenate([tuned.boxes, leaves.owners])
        return Improvement(leaves.readings, tuned.domains, points, owners, scores + cost)

    def _on_host(self, linear: Linear, batch: Domains) -> Linear:
        """Bounds whose arrays are numpy's: for a batch from a card, by the ranges found there."""
        if linear.backend.native:
            return linear
        made = Linear(
            self.frame.abstract(batch),
            mode="interval",
            tick=self.tick,
            batch=len(batch),
            known=self.frame.ranges(batch),
        )
        for node in self.clauses.nodes:
            made.need(node)
        return made

    def _open(self, known: Readings, empty: Mask) -> Indices:
        return np.flatnonzero(~self.clauses.impossible(known)[:, self.clauses.root] & ~empty)
