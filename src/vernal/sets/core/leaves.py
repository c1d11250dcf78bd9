"""Boxes in which no neuron is worth a cut: a linear program finds the best multipliers, or a point.

In such a box the graph is affine in the inputs, or bounded by planes at which no activation counts. A program in
floating point looks for the point at which what is asked, the constraints and the phases are satisfied with the largest
common slack. Where there is none its dual proposes weights and multipliers, and the bounds they give are computed
rigorously like every other, those of all boxes together (`interpret/linear/tuned_bounds`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.interpret.geometry.float_program import FloatOptimum, minimise
from vernal.interpret.linear.ascent import WeightedRows
from vernal.interpret.linear.bounds import Linear, LinearBounds
from vernal.interpret.linear.tuned_bounds import Tuning
from vernal.interpret.numbers.rounding import Floats, Mask, any_along
from vernal.model.expr import Expr
from vernal.model.lazy import cached_property
from vernal.model.tick import Tick
from vernal.sets.core.clauses import Clauses, Readings, RowNumbers, for_all
from vernal.sets.core.open_boxes import DomainFrame, Domains
from vernal.sets.core.tuning import Tuner
from vernal.sets.pieces.batches import Indices

AT_ONCE = 256  # boxes whose planes are computed together
NO_SLOPE = 1e-300  # what rows without any slope are divided by
NUMBERS_AT_ONCE = 1 << 20  # in the rows of programs, which are put together for many boxes at once


@dataclass(frozen=True, eq=False)
class ProgramRows:
    """The rows `slopes x <= ends` of the programs of some boxes: those of differences, then those of phases."""

    slopes: Floats  # (boxes, rows, inputs + 1), divided by their scale; the last column is that of the common slack
    ends: Floats  # (boxes, rows)
    scale: Floats  # (boxes, rows)
    phased: Mask  # (boxes, rows of phases): those that a box has


@dataclass(frozen=True, eq=False)
class Programs:
    """Some boxes with planes below the differences and beyond the sides of the phases, and a program for each."""

    linear: Linear
    boxes: Domains
    phases: dict[Expr, Floats]  # of nodes that were cut, (boxes, components)
    numbers: RowNumbers
    tick: Tick

    def settle(self, tuner: Tuner, place: Indices, which: Indices) -> tuple[Floats, Floats]:
        """For each pair of a box and a set of companions the rigorous bound by its dual, and the point proposed."""
        differences = self._planes[1].shape[1]
        duals = np.zeros((len(place), differences + sum(len(own) for own in self._cut.values())))
        points = 0.5 * self.boxes.lower[place] + 0.5 * self.boxes.upper[place]
        step = max(1, NUMBERS_AT_ONCE // (duals.shape[1] * (self.linear.inputs.count + 1)))
        for start in range(0, len(self.boxes), step):
            rows = self._rows(slice(start, start + step))
            for number in np.flatnonzero((place >= start) & (place < start + step)).tolist():
                self.tick()
                box = int(place[number])
                asked = np.concatenate([tuner.together[which[number]], rows.phased[box - start]])
                chosen = np.flatnonzero(asked)
                found = self._optimum(rows, box - start, chosen, box)
                if found is not None:
                    duals[number, chosen] = found.multipliers / rows.scale[box - start, chosen]
                    points[number] = tuner.frame.by_column(found.point[None, :-1], self.linear.inputs.names)[0]
        weights, multipliers = duals[:, :differences], self._by_node(duals[:, differences:])
        return self._certified(tuner, place, weights, multipliers), points

    def _optimum(self, rows: ProgramRows, row: int, chosen: Indices, box: int) -> FloatOptimum | None:
        """The largest common slack of some rows in a box, and where it is; None where the program says nothing."""
        limits = zip(*(end[box].tolist() for end in self._ends), strict=True)
        slack = np.zeros(rows.slopes.shape[2])
        slack[-1] = 1.0
        return minimise(slack, rows.slopes[row, chosen], rows.ends[row, chosen], [*limits, (None, None)])

    def _by_node(self, duals: Floats) -> dict[Expr, Floats]:
        """Multipliers of phases, spread over the components of their nodes; zero where no box has a phase."""
        made, at = {}, 0
        for node, own in self._cut.items():
            made[node] = np.zeros((len(duals), self.phases[node].shape[1]))
            made[node][:, own] = duals[:, at : at + len(own)]
            at += len(own)
        return made

    def _certified(self, tuner: Tuner, place: Indices, weights: Floats, multipliers: dict[Expr, Floats]) -> Floats:
        """Bounds of the largest difference that is asked about; infinite where the companions exclude all."""
        numbers = self.numbers.take(place)
        rows = WeightedRows(self.linear, numbers.matrices, numbers.constants, place, self.phases)
        low = np.asarray(rows.bound(Tuning({}, multipliers, weights)).low)
        total = weights[:, tuner.asked].sum(axis=1) * (1.0 + 1e-12)
        with np.errstate(all="ignore"):
            above = np.where(total > 0, np.nextafter(low / total, 0.0), np.inf)
            below = np.where(total >= 1, low, np.where(total > 0, np.nextafter(low / total, -np.inf), -np.inf))
        said = weights.any(axis=1)
        for factor in multipliers.values():
            said |= factor.any(axis=1)
        return np.where(said, np.where(low > 0, above, below), -np.inf)

    @cached_property
    def _planes(self) -> tuple[Floats, Floats]:
        """Slopes and constants of planes below the differences: (boxes, differences, inputs), (boxes, differences)."""
        seeds = {node: for_all(matrix, len(self.boxes)) for node, matrix in self.numbers.matrices.items()}
        slopes, low = self.linear.rows(seeds, for_all(self.numbers.constants, len(self.boxes)))
        lower, upper = (end[:, None] for end in self._ends)
        return slopes, low - np.where(slopes > 0, slopes * lower, slopes * upper).sum(axis=2)

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        """The ends of the inputs, (boxes, inputs)."""
        whole = self.linear.inputs.range
        return for_all(whole.lower, len(self.boxes)), for_all(whole.upper, len(self.boxes))

    @cached_property
    def _forms(self) -> dict[Expr, LinearBounds]:
        return {node: self.linear.form(node) for node in self.phases}

    @cached_property
    def _cut(self) -> dict[Expr, Indices]:
        """The components of each node that have a phase in any of the boxes."""
        return {node: np.flatnonzero(phase.any(axis=0)) for node, phase in self.phases.items()}

    def _rows(self, own: slice) -> ProgramRows:
        """The rows of some boxes: what is at most zero by the planes of differences, and by the phases."""
        A, c = (part[own] for part in self._planes)
        slopes, constants, phased = [A], [c], [np.zeros((len(A), 0), dtype=bool)]
        for node, components in self._cut.items():
            form, phase = self._forms[node], self.phases[node][own][:, components]
            above = phase > 0
            upper, lower = (part[own][:, components] for part in (form.upper_coefficients, form.lower_coefficients))
            slopes.append(np.where(above[:, :, None], -upper, lower))
            most, least = (part[own][:, components] for part in (form.upper_constants, form.lower_constants))
            constants.append(np.where(above, -most, least))
            phased.append(phase != 0)
        matrix, ends = np.concatenate(slopes, axis=1), np.concatenate(constants, axis=1)
        scale = np.maximum(np.abs(matrix).max(axis=2, initial=0.0), NO_SLOPE)
        with np.errstate(all="ignore"):  # a bound that overflowed: its program is none
            matrix = np.concatenate([matrix / scale[:, :, None], np.full((*scale.shape, 1), -1.0)], axis=2)
            return ProgramRows(matrix, -ends / scale, scale, np.concatenate(phased, axis=1))


@dataclass(frozen=True, eq=False)
class LeafFindings:
    """What programs have found for leaves."""

    readings: Readings  # of all boxes
    points: Floats  # (points, columns): proposed as counterexamples
    owners: Indices  # (points,): the box each is in


class Leaves:
    """Settles boxes in which every activation has its phase."""

    def __init__(self, clauses: Clauses, frame: DomainFrame, tuner: Tuner, tick: Tick) -> None:
        self.clauses, self.frame, self.tuner, self.tick = clauses, frame, tuner, tick

    def settle(
        self, numbers: RowNumbers, domains: Domains, known: Readings, boxes: Indices, scores: Floats
    ) -> LeafFindings:
        """Bounds of those among some boxes in which no neuron is worth a cut by its score.

        `numbers` and `scores` are those of every box.
        """
        low, sure, waiting = known.low.copy(), known.impossible.copy(), self.tuner.waiting(known)
        points, owners = [np.zeros((0, domains.lower.shape[1]))], [np.zeros(0, np.intp)]
        boxes = boxes[waiting[boxes].any(axis=1)]
        boxes = boxes[~any_along(scores[boxes] > 0)]
        for start in range(0, len(boxes), AT_ONCE):
            own = boxes[start : start + AT_ONCE]
            place, which = np.nonzero(waiting[own])
            found, proposed = self._programs(numbers, domains, own).settle(self.tuner, place, which)
            members: Mask = self.tuner.members[which]
            there = own[place]
            np.maximum.at(low[:, : members.shape[1]], there, np.where(members, found[:, None], -np.inf))
            np.logical_or.at(sure[:, : members.shape[1]], there, members & (found > 0)[:, None])
            points.append(np.clip(proposed, domains.lower[there], domains.upper[there]))
            owners.append(there)
        return LeafFindings(Readings(low, sure), np.concatenate(points), np.concatenate(owners))

    def _programs(self, numbers: RowNumbers, domains: Domains, boxes: Indices) -> Programs:
        own = domains.rows(boxes)
        box, known = self.frame.abstract(own), self.frame.known(own)
        linear = Linear(box, tick=self.tick, batch=len(own), known=known)
        self.clauses.evaluate(linear)
        cut = {node: at for node, at in self.tuner.places.items() if own.phases[:, at].any() and node in linear.values}
        phases = {node: own.phases[:, at].astype(float) for node, at in cut.items()}
        return Programs(linear, own, phases, numbers.take(boxes), self.tick)
