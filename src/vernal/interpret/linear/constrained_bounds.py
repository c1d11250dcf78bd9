"""Linear bounds over the points of boxes at which sums of inputs are between two ends.

Multiples of the sums (`planes`) take part in the range of every neuron and in every row that is asked for.
"""

from __future__ import annotations

import numpy as np

from vernal.interpret.linear.bounds import InputBox, Linear
from vernal.interpret.linear.planes import InputSums, LowerPlanes, PlaneBoxes
from vernal.interpret.linear.rows import Rows, Seeds
from vernal.interpret.numbers.rounding import Array, Mask
from vernal.interpret.value_sets import Range
from vernal.model.expr import Expr
from vernal.model.tick import Tick, idle


class LinearUnderRows(Linear):
    """Bounds over the points of boxes at which some sums of inputs are between their ends; on the processor."""

    def __init__(self, box: InputBox, sums: InputSums, *, tick: Tick = idle) -> None:
        """The inputs of the sums are those of the box, in its order; every box has sums of its own."""
        self.sums = sums
        super().__init__(box, tick=tick, batch=len(sums.factors))

    def _block(self, seeds: Seeds, constants: Array, index: Array | None, part: slice) -> tuple[Rows, Array]:
        rows, low = super()._block(seeds, constants, index, part)
        if rows.coefficients is None or rows.coefficients.shape[-1] != self.sums.factors.shape[-1]:
            return rows, low
        boxes = np.arange(self.batch)[part] if index is None else index[part]
        place = np.nonzero(np.isfinite(low) & (low < 0))
        A = np.broadcast_to(rows.coefficients, (*low.shape, rows.coefficients.shape[-1])).copy()
        planes = self._raised(LowerPlanes(A[place], rows.constant[place]), boxes[place[0]])
        found = planes.least(self._around(boxes[place[0]]))
        better = found > low[place]
        place = tuple(axis[better] for axis in place)
        low, rows.coefficients, rows.constant = low.copy(), A, rows.constant.copy()
        low[place], A[place], rows.constant[place] = found[better], planes.slopes[better], planes.constants[better]
        return rows, low

    def _layer(self, node: Expr) -> bool:
        done, form, x = super()._layer(node), self.forms.get(node), self.values.get(node)
        if done and form is not None and form.coefficients is not None and isinstance(x, Range):
            lower, upper = (self._full(end, node.size) for end in (x.lower, x.upper))
            open_ones: Mask = (lower < 0) & (upper > 0)
            box, place = np.nonzero(open_ones)
            A = np.broadcast_to(form.coefficients, (self.batch, *form.coefficients.shape[1:]))[box, place]
            c, error = (self._every_box(end, node.size)[box, place] for end in (form.constant, form.error))
            low, high = (
                self._raised(LowerPlanes(sign * A, self.backend.below(sign * c - error)), box).least(self._around(box))
                for sign in (1.0, -1.0)
            )
            lower[box, place] = np.maximum(lower[box, place], low)
            upper[box, place] = np.minimum(upper[box, place], -high)
            self.values[node] = Range(lower, upper)
            self.sizes.pop(node, None)
        return done

    def _around(self, box: Array) -> PlaneBoxes:
        """The boxes that some rows belong to."""
        return PlaneBoxes.of(self.inputs, self.batch).take(box)

    def _raised(self, planes: LowerPlanes, box: Array) -> LowerPlanes:
        return planes.raised(self._around(box), self.sums.take(box))
