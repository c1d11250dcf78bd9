"""What expressions can be over spans of time, from the segments of a flowpipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from vernal.engines.reach.measure import chosen_rows, hull, measured, weighted
from vernal.engines.reach.polygon import Slopes, directions
from vernal.engines.reach.sets import NumberBounds, ReachedStep
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.segment_truth import StateConditions, linear_range
from vernal.interpret.geometry.directions import with_axes
from vernal.interpret.interval import evaluate
from vernal.interpret.linear.bounds import InputBox, Linear
from vernal.interpret.numbers.rounding import Floats, Mask, float_above, float_below
from vernal.interpret.value_sets import Range, Value
from vernal.model.expr import Expr
from vernal.model.system import Model
from vernal.model.tick import Tick, idle


class SegmentValues:
    """Bounds of expressions over all segments of a flowpipe at once, each computed when it is first asked for.

    Linear expressions are bounded along the direction of the template that is nearest to theirs, others over the boxes
    around the segments.
    """

    def __init__(self, flow: Model, pipe: Flowpipe, tick: Tick = idle) -> None:
        self.flow, self.pipe = flow, pipe
        self.conditions = StateConditions(flow, tick)
        ends = zip(flow.vars, pipe.lower.T, pipe.upper.T, strict=False)  # the axes come first
        box: InputBox = {var: (lower, upper) for var, lower, upper in ends}
        self.linear = Linear(box, tick=tick, batch=len(pipe.times))
        self._known: dict[Expr, Value] = {}

    def steps(self, expressions: Sequence[Expr], edges: Floats) -> list[ReachedStep]:
        """What expressions can be between every two edges, with polygons of two numbers.

        Spans of time in which no trajectory is inside the region are left out.
        """
        slopes = slopes_of(self.flow, expressions)
        return [
            replace(measured(expressions, partial(self._over, there), slopes), span=span)
            for span, there in self._spans(edges)
        ]

    def bounds(self, expressions: Sequence[Expr], edges: Floats, within: float = 0.0) -> list[ReachedStep]:
        """The same without polygons; `within` leaves out that share of each span at either end, where values jump."""
        return [
            ReachedStep(tuple(hull(node.sort, self._over(there, node)) for node in expressions), span=span)
            for span, there in self._spans(edges, within)
        ]

    def _spans(self, edges: Floats, within: float = 0.0) -> Iterator[tuple[tuple[float, float], Mask]]:
        """The spans between edges, with the segments that have a time in common with each, if any has."""
        for start, end in pairwise(edges.tolist()):
            room = within * (end - start)
            there = (self.pipe.times[:, 0] <= end - room) & (self.pipe.times[:, 1] >= start + room)
            if there.any():
                yield (start, end), there

    def _over(self, there: Mask, expression: Expr) -> Iterator[Value]:
        yield chosen_rows(self.value(expression), there)

    def value(self, expression: Expr) -> Value:
        """What an expression can be, segment by segment."""
        if expression not in self._known:
            self._known[expression] = self._value(expression)
        return self._known[expression]

    def _value(self, expression: Expr) -> Value:
        node = self.flow.resolve(expression)
        if node in self.flow.vars:
            place = self.flow.vars.index(node)
            return Range(self.pipe.lower[:, place], self.pipe.upper[:, place])
        form = self.conditions.linear(node) if node.sort.is_number else None
        if form is not None:
            return Range(*linear_range(form, self.flow, self.pipe))
        return self.linear.range(node) if node.sort.is_number else self.linear.value(node)


# Before a flow is followed --------------------------------------------------------------------------------------------


def slopes_of(flow: Model, expressions: Sequence[Expr]) -> Slopes:
    """The sums of two numbers that are bounded, so that their polygons have about sixteen sides; none of others."""
    if len(expressions) != 2 or not all(node.sort.is_number for node in expressions):
        return ()
    region: dict[Expr, Value] = {
        var: Range(np.array([float_below(low)]), np.array([float_above(high)]))
        for var, (low, high) in zip(flow.vars, flow.region, strict=True)
    }
    x, y = (_ends(value) for value in evaluate([flow.resolve(node) for node in expressions], region))
    return directions(x, y)


def _ends(value: Value) -> NumberBounds:
    assert isinstance(value, Range)
    return NumberBounds(float(np.min(value.lower)), float(np.max(value.upper)))


def template_of(flow: Model, expressions: Sequence[Expr]) -> Floats:
    """The axes, and the directions of those expressions, and of the sums of two, that are linear."""
    conditions = StateConditions(flow)
    asked = [node for node in expressions if node.sort.is_number]
    asked += [weighted(expressions, slope) for slope in slopes_of(flow, expressions)]
    rows = [conditions.direction(node) for node in asked if conditions.linear(node) is not None]
    return with_axes(len(flow.state), rows)
