"""Linear bounds over boxes of which more is known: sums of inputs that stay between two ends.

Where `least <= b . x <= most` at every point that counts, any multiple of `b . x - most` may be added to a row, and
any multiple of `least - b . x`: neither is above zero. The best multiple over a box is found by sorting, since the
bound is concave in it and changes its slope where a coefficient changes its sign; several such sums are taken one after
the other. Whatever the multiples are, the bound holds: its rounding is paid for as everywhere in `rows`. Ranges of
neurons profit as well as the rows that are asked for (A. M. Geoffrion, Lagrangean relaxation, 1974).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.interpret.abstract import Range
from vernal.interpret.linear.bounds import InputBox, Linear
from vernal.interpret.linear.passing import least, weigh
from vernal.interpret.linear.rows import Rows, Seeds
from vernal.interpret.numbers.rounding import TINY, UNIT, Array, Floats, Mask, gamma
from vernal.model import expr as e
from vernal.model.tick import Tick, idle

TURNS = 2  # in which every sum has its best multiple found, the others being as they are


@dataclass(frozen=True, slots=True, eq=False)
class InputSums:
    """Sums of inputs that are known to stay between two ends, box by box; an infinite end says nothing."""

    factors: Floats  # (boxes, sums, inputs)
    least: Floats  # (boxes, sums)
    most: Floats


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
        group, place = np.nonzero(np.isfinite(low) & (low < 0))
        A = np.broadcast_to(rows.coefficients, (*low.shape, rows.coefficients.shape[-1]))[group, place]
        low = low.copy()
        low[group, place] = np.maximum(low[group, place], self._least(A, rows.constant[group, place], boxes[group]))
        return rows, low

    def _layer(self, node: e.Affine) -> bool:
        done, form, x = super()._layer(node), self.forms.get(node), self.values.get(node)
        if done and form is not None and form.coefficients is not None and isinstance(x, Range):
            lower, upper = (self._full(end, node.size) for end in (x.lower, x.upper))
            open_ones: Mask = (lower < 0) & (upper > 0)
            box, place = np.nonzero(open_ones)
            A = np.broadcast_to(form.coefficients, (self.batch, *form.coefficients.shape[1:]))[box, place]
            c, error = (self._every_box(end, node.size)[box, place] for end in (form.constant, form.error))
            lower[box, place] = np.maximum(lower[box, place], self._least(A, self.backend.below(c - error), box))
            upper[box, place] = np.minimum(upper[box, place], -self._least(-A, self.backend.below(-c - error), box))
            self.values[node] = Range(lower, upper)
            self.sizes.pop(node, None)
        return done

    def _least(self, A: Floats, constant: Floats, box: Array) -> Floats:
        """(rows,): the least of A x + constant over the points that count, for rows of these boxes."""
        whole = self.inputs.range
        lower, upper = (np.broadcast_to(end, (self.batch, end.shape[1]))[box] for end in (whole.lower, whole.upper))
        centre, radius, size = (np.broadcast_to(end, (self.batch, end.shape[1]))[box] for end in self.inputs.ball)
        slack = gamma(A.shape[1] + 2)
        for _ in range(TURNS if self.sums.factors.shape[1] > 1 else 1):
            for number in range(self.sums.factors.shape[1]):
                B, ends = self.sums.factors[box, number], (self.sums.least[box, number], self.sums.most[box, number])
                multiple = best_multiples(A, B, *ends, lower, upper)
                added = multiple[:, None] * B
                gain = multiple * np.where(multiple > 0, ends[1], np.where(multiple < 0, ends[0], 0.0))
                cost = weigh(self.backend, abs(A) + abs(added), size, slack, factor=4.0 * UNIT)
                constant = constant - gain - (cost + 4.0 * UNIT * (abs(constant) + abs(gain)) + TINY)
                A = A + added
        found: Floats = least(self.backend, A, constant, np.asarray(slack), centre, radius)[0]
        return found


def best_multiples(A: Floats, B: Floats, low: Floats, high: Floats, lower: Floats, upper: Floats) -> Floats:
    """(rows,): which multiple of B, where low <= B x <= high, raises the least of A x over a box most; in floats.

    The least of (A + t B) x is concave in t. Its slope is B x at the corner where it is attained, less the end that
    counts: that corner moves from where B x is largest to where it is least as t passes the ratios -A / B.
    """
    with np.errstate(all="ignore"):
        ratios = np.where(B != 0, -A / B, np.inf)
        order = np.argsort(ratios, axis=1)
        ratios = np.take_along_axis(ratios, order, axis=1)
        drops = np.take_along_axis(np.abs(B) * (upper - lower), order, axis=1)
        largest = np.maximum(B * lower, B * upper).sum(axis=1, keepdims=True)
        after = largest - np.cumsum(drops, axis=1)
        above = np.where(largest[:, 0] <= high, 0.0, _first(ratios, after <= high[:, None]))
        below = _first(ratios, after <= low[:, None])
        found = np.minimum(below, np.maximum(above, 0.0))
    return np.where(np.isfinite(found), found, 0.0)


def _first(ratios: Floats, where: Mask) -> Floats:
    """The first ratio in each row at which something is true; infinite where it is nowhere."""
    found = np.take_along_axis(ratios, where.argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.where(where.any(axis=1), found, np.inf)
