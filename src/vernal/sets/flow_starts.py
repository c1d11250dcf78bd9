"""Initial sets of flows as boxes of floats: those that its constraints may leave, and their parts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np

from vernal.interpret.interval import evaluate
from vernal.interpret.numbers.rounding import Array, Floats, float_above, float_below
from vernal.interpret.sampled.plant import set_of
from vernal.interpret.value_sets import Truth, Value
from vernal.model.expr import Expr
from vernal.model.initial import InitialSet
from vernal.model.system import Model

MAX_ALTERNATIVES = 256  # combinations of values of initial states that are boxes of their own
CUT_COMPONENTS = 3  # of a box that are halved at once
MATTERS = 0.25  # of the largest influence of a component: others with less are not cut


@dataclass(frozen=True, eq=False)
class StartBoxes:
    """Boxes (batch, n) that cover what is left of the initial states."""

    lower: Floats
    upper: Floats

    def __getitem__(self, index: Array | slice) -> StartBoxes:
        return StartBoxes(self.lower[index], self.upper[index])

    def __len__(self) -> int:
        return len(self.lower)

    def joined(self, other: StartBoxes) -> StartBoxes:
        """These and others."""
        return StartBoxes(np.concatenate([self.lower, other.lower]), np.concatenate([self.upper, other.upper]))


def start_boxes(flow: Model) -> StartBoxes:
    """Boxes around the initial states, rounded outward; none that constraints certainly exclude."""
    parts = list(islice(flow.initial.alternatives(), MAX_ALTERNATIVES + 1))
    if len(parts) > MAX_ALTERNATIVES:
        parts = [flow.initial]
    lower, upper = (np.array([_row(flow, part, end) for part in parts]) for end in (0, 1))
    return _possible(flow, StartBoxes(lower, upper))


def _row(flow: Model, part: InitialSet, end: int) -> list[float]:
    rounded = (float_below, float_above)[end]
    return [rounded(part.starts[var][0].ends[end]) for var in flow.vars]


def _possible(flow: Model, boxes: StartBoxes) -> StartBoxes:
    """The boxes in which the constraints may be true."""
    may = np.ones(len(boxes), dtype=bool)
    if flow.initial.where and len(boxes):
        inputs: dict[Expr, Value] = {
            var: set_of(var.sort, boxes.lower[:, i], boxes.upper[:, i]) for i, var in enumerate(flow.vars)
        }
        for value in evaluate([flow.resolve(condition) for condition in flow.initial.where], inputs):
            assert isinstance(value, Truth)
            may &= value.may
    return boxes[may]


def cut(flow: Model, boxes: StartBoxes, influence: Floats) -> StartBoxes:
    """The boxes halved in the components that matter most, each by itself; a box that is a point stays whole."""
    for rank in range(min(CUT_COMPONENTS, boxes.lower.shape[1])):
        weights = np.where(boxes.lower < boxes.upper, influence, -1.0)
        chosen = np.argsort(-weights, axis=1)[:, rank]
        largest = weights.max(1)
        rows = np.arange(len(boxes))
        worth = (weights[rows, chosen] > MATTERS * largest) & (largest >= 0)
        boxes, influence = _halved(boxes, influence, chosen, worth)
    return _possible(flow, boxes)


def cut_widest(flow: Model, boxes: StartBoxes, influence: Floats, widths: Floats) -> StartBoxes:
    """Both halves of every box, cut where it is widest, compared with these widths, among components that matter."""
    weights = np.where(boxes.lower < boxes.upper, influence, -1.0)
    matter = weights >= MATTERS * np.maximum(weights.max(1, keepdims=True), 0.0)
    shares = np.where(matter, (boxes.upper - boxes.lower) / np.where(widths > 0, widths, 1.0), 0.0)
    return _possible(flow, _halved(boxes, influence, shares.argmax(1), shares.max(1) > 0)[0])


def halved(flow: Model, boxes: StartBoxes) -> StartBoxes:
    """Both halves of every box, cut where it is widest compared with the region; a point stays what it is."""
    widths = (boxes.upper - boxes.lower) / np.array([float(high - low) or 1.0 for low, high in flow.region])
    return _possible(flow, _halved(boxes, widths, widths.argmax(axis=1), widths.max(axis=1) > 0)[0])


def _halved(boxes: StartBoxes, influence: Floats, chosen: Array, worth: Array) -> tuple[StartBoxes, Floats]:
    rows = np.flatnonzero(worth)
    columns = chosen[rows]
    middle = 0.5 * boxes.lower[rows, columns] + 0.5 * boxes.upper[rows, columns]
    upper, lower = boxes.upper.copy(), boxes.lower[rows].copy()
    upper[rows, columns] = middle
    lower[np.arange(len(rows)), columns] = middle
    halves = StartBoxes(np.concatenate([boxes.lower, lower]), np.concatenate([upper, boxes.upper[rows]]))
    return halves, np.concatenate([influence, influence[rows]])
