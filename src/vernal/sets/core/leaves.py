"""Boxes in which no neuron is worth a cut: a linear program finds the best multipliers, or a point.

In such a box the graph is affine in the inputs, or bounded by planes at which no activation counts. A program in
floating point looks for the point at which what is asked, the constraints and the phases are satisfied with the largest
common slack. Where there is none its dual proposes weights and multipliers, and the bound they give is computed
rigorously like every other (`interpret/linear/tuned_bounds`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.interpret.geometry.float_program import minimise
from vernal.interpret.linear.ascent import WeightedRows
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.tuned_bounds import Tuning
from vernal.interpret.numbers.rounding import Floats, any_along
from vernal.model.expr import Expr
from vernal.model.tick import Tick
from vernal.sets.core.clauses import Clauses, Readings, RowNumbers
from vernal.sets.core.open_boxes import DomainFrame, Domains
from vernal.sets.core.tuning import Tuner
from vernal.sets.pieces.batches import Indices


@dataclass(frozen=True, eq=False)
class LeafBound:
    """A lower bound of the largest difference of some companions over a leaf, and the point the program proposes."""

    low: float
    point: Floats  # (columns,)


@dataclass(frozen=True, eq=False)
class Leaf:
    """One box, with planes below the differences and beyond the sides of the phases."""

    linear: Linear
    box: Domains  # of one row
    phases: dict[Expr, Floats]  # of nodes that were cut, (1, components)
    numbers: RowNumbers

    def bound(self, tuner: Tuner, which: int) -> LeafBound:
        """The rigorous bound that the dual of the program gives."""
        A, c = self._conditions()
        rows = np.flatnonzero(tuner.together[which])
        B, d, owners = self._sides()
        matrix, ends = np.concatenate([A[rows], B]), np.concatenate([c[rows], d])
        scale = np.maximum(np.abs(matrix).max(axis=1, initial=0.0), 1e-300)
        whole = self.linear.inputs.range
        found = minimise(
            np.append(np.zeros(matrix.shape[1]), 1.0),
            np.hstack([matrix / scale[:, None], -np.ones((len(scale), 1))]),
            -ends / scale,
            [*zip(whole.lower[0].tolist(), whole.upper[0].tolist(), strict=True), (None, None)],
        )
        if found is None:
            return LeafBound(-np.inf, 0.5 * (self.box.lower[0] + self.box.upper[0]))
        dual = found.multipliers / scale
        weights = np.zeros((1, len(c)))
        weights[0, rows] = dual[: len(rows)]
        multipliers = {node: np.zeros_like(phase) for node, phase in self.phases.items()}
        for (node, component), factor in zip(owners, dual[len(rows) :], strict=True):
            multipliers[node][0, component] = factor
        return LeafBound(
            self._certified(tuner, weights, multipliers),
            tuner.frame.by_column(found.point[None, :-1], self.linear.inputs.names)[0],
        )

    def _certified(self, tuner: Tuner, weights: Floats, multipliers: dict[Expr, Floats]) -> float:
        rows = WeightedRows(
            self.linear, self.numbers.matrices, self.numbers.constants, np.zeros(1, np.intp), self.phases
        )
        low = float(rows.bound(Tuning({}, multipliers, weights)).low[0])
        total = float(weights[0, tuner.asked].sum()) * (1.0 + 1e-12)
        return low if low <= 0 else np.inf if total == 0 else float(np.nextafter(low / total, 0.0))

    def _conditions(self) -> tuple[Floats, Floats]:
        """Slopes and constants of planes below the differences."""
        slopes, low = self.linear.rows(self.numbers.matrices, self.numbers.constants)
        A, whole = slopes[0], self.linear.inputs.range
        return A, low[0] - np.where(A > 0, A * whole.lower[0], A * whole.upper[0]).sum(axis=1)

    def _sides(self) -> tuple[Floats, Floats, list[tuple[Expr, int]]]:
        """Slopes and constants of what is at most zero by the phases, and to which component each belongs."""
        slopes, constants, owners = [np.zeros((0, self.linear.inputs.count))], [np.zeros(0)], list[tuple[Expr, int]]()
        for node, phase in self.phases.items():
            own = np.flatnonzero(phase[0])
            form = self.linear.form(node)
            above = phase[0, own] > 0
            slopes.append(np.where(above[:, None], -form.upper_coefficients[0, own], form.lower_coefficients[0, own]))
            constants.append(np.where(above, -form.upper_constants[0, own], form.lower_constants[0, own]))
            owners += [(node, int(component)) for component in own]
        return np.concatenate(slopes), np.concatenate(constants), owners


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
        points, owners = [np.zeros((0, domains.lower.shape[1]))], []
        boxes = boxes[waiting[boxes].any(axis=1)]
        for box in boxes[~any_along(scores[boxes] > 0)]:
            leaf = self._leaf(numbers, domains, box)
            for which in np.flatnonzero(waiting[box]).tolist():
                found = leaf.bound(self.tuner, which)
                members = np.flatnonzero(self.tuner.members[which])
                low[box, members] = np.maximum(low[box, members], found.low)
                sure[box, members] |= found.low > 0
                points.append(np.clip(found.point, domains.lower[box], domains.upper[box])[None])
                owners.append(box)
        return LeafFindings(Readings(low, sure), np.concatenate(points), np.array(owners, np.intp))

    def _leaf(self, numbers: RowNumbers, domains: Domains, box: int) -> Leaf:
        one = np.array([box])
        own = domains.rows(one)
        linear = Linear(self.frame.abstract(own), tick=self.tick, known=self.frame.known(own))
        self.clauses.evaluate(linear)
        cut = {node: at for node, at in self.tuner.places.items() if own.phases[0, at].any() and node in linear.values}
        phases = {node: own.phases[:, at].astype(float) for node, at in cut.items()}
        return Leaf(linear, own, phases, numbers.take(one))
