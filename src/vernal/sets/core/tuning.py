"""Tuned bounds of boxes: slopes of activations and multipliers of phases, constraints and companions, improved.

For every box and every set of companions that keeps it open one weighted sum of differences is bounded. Where that is
above zero, they are excluded; divided by the weights of what is asked, it is a lower bound of the largest of
them. Boxes begin with the slopes and multipliers of the box they were cut from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from vernal.interpret.linear.ascent import Ascent, TunedBound, WeightedRows
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.tuned_bounds import Tuning
from vernal.interpret.numbers.rounding import LEAST_FLOAT, Array, Floats, Mask
from vernal.interpret.value_sets import Range
from vernal.model.expr import Expr
from vernal.sets.core.cases import undecided
from vernal.sets.core.clauses import Clauses, Readings, RowNumbers
from vernal.sets.core.companions import asked_rows, companions
from vernal.sets.core.open_boxes import DomainFrame, Domains, slices
from vernal.sets.pieces.batches import Indices

FREE_SIDE = 0.1  # a relaxation costs less where a row takes its lower plane, whose slope is free
GROUPS = 1024  # weighted sums that are improved together: their arrays stay in the cache


@dataclass(frozen=True, eq=False)
class TunedBoxes:
    """What tuning has found for the boxes it was asked about."""

    readings: Readings  # of all boxes
    domains: Domains  # all boxes, with the slopes and multipliers to begin with
    boxes: Indices  # those that were tuned
    points: Floats  # (boxes tuned, columns of inputs): where the lowest bound of each is attained
    scores: Floats  # (boxes tuned, inner components): what is lost at each activation


@dataclass(frozen=True, eq=False)
class Tunable:
    """What of some clauses may be tuned: sums of companions, and activations."""

    asked: Mask  # (differences,): those that are part of what is asked
    members: Mask  # (sets of companions, differences)
    together: Mask
    places: Mapping[Expr, slice]  # of inner nodes among all inner components
    neurons: Mask  # (inner components,): those that activations depend on
    cuttable: Mask  # (inner components,): those, and the ones that decide branches


@lru_cache(maxsize=64)
def tunable(clauses: Clauses) -> Tunable:
    """What may be tuned, found once for clauses that are asked again."""
    groups, rows = companions(clauses), len(clauses.differences)
    members, together = (np.zeros((len(groups), rows), dtype=bool) for _ in range(2))
    for number, own in enumerate(groups):
        members[number, list(own.members)] = True
        together[number, list(own.together)] = True
    places = dict(slices(clauses.inner))
    neurons, branches = (np.zeros(sum(node.size for node in clauses.inner), dtype=bool) for _ in range(2))
    for user in clauses.cases.activations:
        neurons[places[user.args[0]]] = True
    for pivot in clauses.cases.branch_pivots:
        branches[places[pivot]] = True
    asked = np.array(asked_rows(clauses), dtype=bool)
    return Tunable(asked, members, together, places, neurons, neurons | branches)


class Tuner:
    """Improves bounds of boxes of one search."""

    def __init__(self, clauses: Clauses, frame: DomainFrame) -> None:
        self.clauses, self.frame = clauses, frame
        known = tunable(clauses)
        self.asked, self.members, self.together = known.asked, known.members, known.together
        self.places, self.neurons, self.cuttable = known.places, known.neurons, known.cuttable

    def improve(
        self, linear: Linear, numbers: RowNumbers, domains: Domains, known: Readings, boxes: Indices, steps: int
    ) -> TunedBoxes:
        """Tune what is open in some of the boxes; `numbers` are those of the rows of every box."""
        rows = len(self.asked)
        waiting = self.waiting(known)[boxes]
        boxes, waiting = boxes[waiting.any(axis=1)], waiting[waiting.any(axis=1)]
        if not len(boxes):
            none = np.zeros((0, domains.lower.shape[1])), np.zeros((0, len(self.cuttable)))
            return TunedBoxes(known, domains, boxes, *none)
        place, which = np.nonzero(waiting)
        parts = []
        for start in range(0, len(place), GROUPS):
            own = slice(start, start + GROUPS)
            ascent = self._ascent(linear, numbers, domains, known, boxes[place[own]], which[own])
            self._climb(ascent, steps)
            parts.append(self._found(linear, boxes[place[own]], ascent))
        least, points, shares, multipliers, scores = (np.concatenate(some) for some in zip(*parts, strict=True))
        low = known.low.copy()
        np.maximum.at(low[:, :rows], boxes[place], np.where(self.members[which], least[:, None], -np.inf))
        sure = known.impossible.copy()
        sure[:, :rows] |= low[:, :rows] > 0
        total = np.zeros((len(boxes), scores.shape[1]))
        np.add.at(total, place, scores * (least <= 0)[:, None])
        hardest = _lowest_of_each(place, least)
        start_shares, start_multipliers = domains.shares.copy(), domains.multipliers.copy()
        start_shares[boxes], start_multipliers[boxes] = shares[hardest], multipliers[hardest]
        tuned = replace(domains, shares=start_shares, multipliers=start_multipliers)
        inside = np.clip(points[hardest], domains.lower[boxes], domains.upper[boxes])
        return TunedBoxes(Readings(low, sure), tuned, boxes, inside, total)

    def waiting(self, known: Readings) -> Mask:
        """(boxes, sets of companions): those that keep a box open."""
        asked = self.clauses.open_leaves(self.clauses.impossible(known))[:, None, : len(self.asked)]
        return np.asarray((asked & self.members).any(axis=2))

    def _climb(self, ascent: Ascent, steps: int) -> None:
        for _ in range(steps):
            if bool((ascent.best.low > 0).all()):
                break
            ascent.step()

    def _found(self, linear: Linear, boxes: Indices, ascent: Ascent) -> tuple[Floats, ...]:
        """Bounds, points, slopes, multipliers and scores of some groups."""
        shares, multipliers = (np.full((len(boxes), len(self.cuttable)), empty) for empty in (np.nan, 0.0))
        for node, at in self.places.items():
            if node in ascent.best_tuning.shares:
                shares[:, at] = ascent.best_tuning.shares[node]
            if node in ascent.best_tuning.multipliers:
                multipliers[:, at] = ascent.best_tuning.multipliers[node]
        points = self.frame.by_column(ascent.best.point, linear.inputs.names)
        return self._normalised(ascent), points, shares, multipliers, self._scores(linear, boxes, ascent.best)

    def _ascent(
        self, linear: Linear, numbers: RowNumbers, domains: Domains, known: Readings, boxes: Indices, which: Indices
    ) -> Ascent:
        members = self.members[which]
        base = np.where(members, known.low[boxes, : members.shape[1]], -np.inf).argmax(axis=1)
        weights = np.zeros(members.shape)
        weights[np.arange(len(base)), base] = 1.0
        fixed = ~self.together[which] | (weights > 0)
        taken = numbers.take(boxes)
        places = {node: at for node, at in self.places.items() if isinstance(linear.values.get(node), Range)}
        phases = {node: domains.phases[:, at].astype(float) for node, at in places.items()}
        phases = {node: phase for node, phase in phases.items() if phase.any()}
        rows = WeightedRows(linear, taken.matrices, taken.constants, boxes, phases)
        shares = {
            node: self._first_shares(linear, node, domains.shares[boxes, at], boxes) for node, at in places.items()
        }
        multipliers = {node: domains.multipliers[boxes, self.places[node]].astype(float) for node in phases}
        return Ascent(rows, Tuning(shares, multipliers, weights), fixed)

    def _first_shares(self, linear: Linear, node: Expr, shares: Array, boxes: Indices) -> Floats:
        """Where nothing is known, the slope that cuts off less."""
        x = self._range(linear, node, boxes)
        return np.where(np.isnan(shares), np.where(x.upper > -x.lower, 1.0, 0.0), shares)

    def _range(self, linear: Linear, node: Expr, boxes: Indices) -> Range:
        x = linear.number(node)
        low, high = (end if end.shape[0] == 1 else end[boxes] for end in (x.lower, x.upper))
        return Range(low, high)

    def _normalised(self, ascent: Ascent) -> Floats:
        """Lower bounds of the largest of the differences that are asked, from bounds of weighted sums."""
        total = ascent.best_tuning.weights[:, self.asked].sum(axis=1) * (1.0 + 1e-12)
        low = np.where(ascent.best.low > 0, ascent.best.low / total, ascent.best.low)
        return np.where(ascent.best.low > 0, np.maximum(np.nextafter(low, -np.inf), LEAST_FLOAT), low)

    def _scores(self, linear: Linear, boxes: Indices, bound: TunedBound) -> Floats:
        """(groups, inner components): how much the relaxation of each activation may cost the bound."""
        made = np.zeros((len(boxes), len(self.cuttable)))
        with np.errstate(all="ignore"):
            for node, L in bound.coefficients.items():
                (arg,) = node.args
                x = self._range(linear, arg, boxes)
                gap = np.where((x.lower < 0) & (x.upper > 0), -x.lower * x.upper / (x.upper - x.lower), 0.0)
                cost = np.maximum(-L, 0.0) + FREE_SIDE * np.maximum(L, 0.0)
                made[:, self.places[arg]] += cost * gap
            self._add_branches(linear, boxes, bound, made)
        return np.nan_to_num(made, posinf=0.0, neginf=0.0)

    def _add_branches(self, linear: Linear, boxes: Indices, bound: TunedBound, scores: Floats) -> None:
        """What the relaxations of branchings may cost, on the account of all that they depend on and is open."""
        cases = self.clauses.cases
        for node, loss in bound.losses.items():
            for atom in cases.deciding.get(node, ()):
                opened = undecided(cases, linear, atom)
                if opened is not None:
                    own = cases.winners[atom].pivot if atom in cases.winners else cases.comparisons[atom]
                    shared = loss if loss.shape[1] == opened.shape[1] else loss.sum(axis=1, keepdims=True)
                    scores[:, self.places[own]] += np.where(opened[boxes], shared, 0.0)


def _lowest_of_each(place: Indices, value: Floats) -> Indices:
    """For every place, in order, the position of its lowest value."""
    order = np.lexsort((value, place))
    _, first = np.unique(place[order], return_index=True)
    return order[first]
