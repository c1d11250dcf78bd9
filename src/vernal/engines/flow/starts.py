"""The initial states of a flow as boxes of floats, rounded outward, which can be halved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.interpret import interval
from vernal.interpret.abstract import Range, Truth, Value
from vernal.interpret.numbers.rounding import Floats, float_above, float_below
from vernal.model.expr import Expr
from vernal.model.flow import Flow
from vernal.reduce.initial import initial_boxes


@dataclass(frozen=True, eq=False)
class FlowBox:
    """All states between two corners."""

    lower: Floats
    upper: Floats


class FlowStarts:
    """Boxes that cover the initial states of a flow."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.where = [flow.resolve(condition) for condition in flow.init.where]
        self.scale = np.array([float(upper - lower) or 1.0 for lower, upper in flow.region])

    def boxes(self) -> list[FlowBox]:
        """A box for each combination of values; those in which a constraint fails everywhere are left out."""
        found = []
        for box in initial_boxes(self.flow.rate_step).boxes:
            ends = [box.ends[var][0] for var in self.flow.vars]
            lower = np.array([float_below(low) for low, _ in ends])
            upper = np.array([float_above(high) for _, high in ends])
            found.append(FlowBox(lower, upper))
        return self._possible(found)

    def halved(self, boxes: list[FlowBox]) -> list[FlowBox]:
        """Both halves of each box, cut where it is widest compared with the region."""
        return self._possible([half for box in boxes for half in self._halves(box)])

    def _halves(self, box: FlowBox) -> list[FlowBox]:
        axis = int(np.argmax((box.upper - box.lower) / self.scale))
        middle = 0.5 * box.lower[axis] + 0.5 * box.upper[axis]
        if not box.lower[axis] < middle < box.upper[axis]:
            return [box]
        upper, lower = box.upper.copy(), box.lower.copy()
        upper[axis] = lower[axis] = middle
        return [FlowBox(box.lower, upper), FlowBox(lower, box.upper)]

    def _possible(self, boxes: list[FlowBox]) -> list[FlowBox]:
        if not boxes or not self.where:
            return boxes
        lower, upper = (np.array([getattr(box, side) for box in boxes]) for side in ("lower", "upper"))
        inputs: dict[Expr, Value] = {v: Range(lower[:, k], upper[:, k]) for k, v in enumerate(self.flow.vars)}
        may = np.ones(len(boxes), dtype=bool)
        for truth in interval.evaluate(self.where, inputs):
            assert isinstance(truth, Truth)
            may &= np.asarray(truth.may)
        return [box for box, possible in zip(boxes, may, strict=True) if possible]
