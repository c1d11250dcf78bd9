"""Where plain bounds leave a box open: tuned bounds, neurons to cut, and linear programs, as far as they pay.

A search cuts inputs first, or neurons and cases first (`race`). Where it cuts inputs, that is cheaper than anything
else, except for constraints on initial states (plain bounds know nothing of them) and late in a long search. Then
slopes are tuned in the boxes that lack little, boxes in which few neurons are left that are not linear are cut at these
where that pays (`finishing`), and a branching is cut where one of its cases costs a good part of what the bound lacks:
however small a box is, its branches stay apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.model.tick import Tick
from vernal.sets.core.clauses import Clauses, Readings, RowNumbers
from vernal.sets.core.finishing import Finishing
from vernal.sets.core.leaves import Leaves
from vernal.sets.core.open_boxes import DomainFrame, Domains
from vernal.sets.core.tuning import Tuner
from vernal.sets.pieces.batches import Indices

LONG_SEARCH = 200  # boxes of a question, from which on slopes are tuned
TUNING_STEPS = 4
UNTUNED_SHARE = 0.3  # of the open boxes, those that lack most: tuning would not close them
INPUTS_LAST = 1e-18  # weight of cuts across inputs where neurons are cut: for boxes without any such neuron
BRANCHING = 32  # boxes of a question, from which on those that are open may be cut at the cases of branchings
SHARE_OF_CASE = 0.4  # of what a bound lacks: a case that costs as much is cut, since cutting inputs leaves it
IDLE = 1e-12  # weight of neurons that no open row depends on, by the width of their range


@dataclass(frozen=True, eq=False)
class Improvement:
    """What became of a batch by tuning and by programs for leaves."""

    known: Readings
    domains: Domains
    points: Floats  # (points, columns): where bounds are attained
    owners: Indices  # (points,): the box each is in
    scores: Floats  # (boxes, inner components): what cutting a neuron, or another case, promises
    inside: Mask  # (boxes,): those that are cut at inner components before inputs


class Improver:
    """Decides which boxes are cut at neurons, and improves what is known of boxes."""

    def __init__(self, clauses: Clauses, frame: DomainFrame, neurons_first: bool, tick: Tick) -> None:
        self.clauses, self.frame, self.tick = clauses, frame, tick
        self.finishing = Finishing(len(frame.columns))
        self.tuner = Tuner(clauses, frame)
        self.leaves = Leaves(clauses, frame, self.tuner, tick)
        self.cuttable = self.tuner.cuttable
        self._neurons_first = neurons_first
        self._branches = bool(frame.branch_columns.any())
        self._constraints = not self.tuner.asked.all()

    def at_neurons(self, batch: Domains, boxes_so_far: Indices) -> Mask:
        """The boxes that are cut at neurons; of the question of each, how many boxes have been bounded."""
        if self._neurons_first:
            return np.ones(len(batch), dtype=bool)
        late = boxes_so_far > LONG_SEARCH
        if not (self.finishing.most and late.any()):
            return np.zeros(len(batch), dtype=bool)
        left = self.open_neurons(batch)
        cut = batch.phases[:, self.tuner.neurons].any(axis=1)
        few: Mask = (left <= self.finishing.most) & ((left > 0) | cut)
        return late & few

    def open_neurons(self, batch: Domains) -> Indices:
        """(boxes,): how many neurons may have either sign there."""
        found: Indices = self._unstable(batch).sum(axis=1)
        return found

    def at_branches(self, boxes_so_far: Indices) -> Mask:
        """The boxes that may be cut at cases of branchings; of the question of each, how many have been bounded."""
        if not self._branches:
            return np.zeros(len(boxes_so_far), dtype=bool)
        return (boxes_so_far > BRANCHING) | self._neurons_first

    def _unstable(self, batch: Domains) -> Mask:
        known = np.isfinite(batch.most - batch.least)  # else the neuron is beyond a maximum that is decided
        return (batch.least < 0) & (batch.most > 0) & known & self.tuner.neurons

    def improve(
        self,
        linear: Linear,
        numbers: RowNumbers,
        batch: Domains,
        known: Readings,
        empty: Mask,
        at_neurons: Mask,
        at_branches: Mask,
        boxes_so_far: Indices,
    ) -> Improvement:
        """Tuned bounds of what is open where that pays, and programs for leaves where neurons are cut."""
        nothing = np.zeros((0, batch.lower.shape[1])), np.zeros(0, np.intp)
        scores = IDLE * np.where(self._unstable(batch) & at_neurons[:, None], batch.most - batch.least, 0.0)
        boxes = self._open(known, empty)
        nearly = self._nearly(known, boxes, boxes_so_far)
        boxes = boxes if self._constraints else boxes[(at_neurons | at_branches | nearly)[boxes]]
        if not len(boxes):
            return Improvement(known, batch, *nothing, scores, at_neurons)
        linear = self._on_host(linear, batch)
        tuned = self.tuner.improve(linear, numbers, batch, known, boxes, TUNING_STEPS)
        cost = np.zeros(scores.shape)
        cost[tuned.boxes] = tuned.scores
        inside = at_neurons | (at_branches & self._is_due(tuned.readings, cost))
        cost *= np.where(at_neurons[:, None], True, inside[:, None] & self.frame.branch_columns)
        settled = at_neurons | tuned.domains.phases[:, self.frame.branch_columns].any(axis=1)
        still_open = self._open(tuned.readings, empty)
        still_open = still_open[settled[still_open]]
        leaves = self.leaves.settle(numbers, tuned.domains, tuned.readings, still_open, cost)
        points, owners = np.concatenate([tuned.points, leaves.points]), np.concatenate([tuned.boxes, leaves.owners])
        return Improvement(leaves.readings, tuned.domains, points, owners, scores + cost, inside)

    def _nearly(self, known: Readings, boxes: Indices, boxes_so_far: Indices) -> Mask:
        """(boxes,): of those that are open late in a search the ones that lack little: slopes may close them."""
        chosen = np.zeros(len(boxes_so_far), dtype=bool)
        late = boxes[boxes_so_far[boxes] > LONG_SEARCH]
        if len(late) and self.tuner.neurons.any():
            value = self.clauses.values(known)[late, self.clauses.root]
            chosen[late[value >= np.quantile(value, UNTUNED_SHARE)]] = True
        return chosen

    def _is_due(self, known: Readings, cost: Floats) -> Mask:
        """(boxes,): those in which a case of a branching costs a good part of what the bound lacks."""
        lacking = -self.clauses.values(known)[:, self.clauses.root]
        most = cost[:, self.frame.branch_columns].max(axis=1, initial=0.0)
        due: Mask = (most > 0) & ~(most < SHARE_OF_CASE * lacking)
        return due

    def _on_host(self, linear: Linear, batch: Domains) -> Linear:
        """Bounds whose arrays are numpy's: for a batch from a card, by the ranges found there."""
        if linear.backend.native:
            return linear
        made = Linear(
            self.frame.abstract(batch),
            mode="interval",
            tick=self.tick,
            batch=len(batch),
            known=self.frame.known(batch),
        )
        self.clauses.evaluate(made)
        return made

    def _open(self, known: Readings, empty: Mask) -> Indices:
        return np.flatnonzero(~self.clauses.impossible(known)[:, self.clauses.root] & ~empty)
