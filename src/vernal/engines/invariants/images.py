"""Where a step leads from cells: bounds of all directions after it, decision by decision, rounded outward.

Open comparisons, winners of argmax and options of choices divide a cell into cases. In each of them the decision is
taken as made, and the linear bounds of what was compared cut the cell; so an `if` at a threshold costs nothing. What
stays open after so many cases is bounded as a whole. All of this is OVER: a case may hold more states than there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from vernal.engines.invariants.cells import Cells, Chosen, Directions
from vernal.engines.invariants.dynamics import Dynamics, Labels, combinations, possible_labels
from vernal.engines.invariants.support import box_bounds, upper_bounds
from vernal.interpret.abstract import Finite, Range, Truth, Value
from vernal.interpret.linear.bounds import Linear, LinearBounds
from vernal.interpret.numbers.rounding import TINY, Floats, float_above, float_below, gamma
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Matrix

MAX_CASES = 4096  # of one batch
CASES_OF_CELL = 64  # of one cell on average, before open decisions are bounded as a whole
MAX_DECISIONS = 24  # that divide cells, one after the other
MAX_PARTS = 2048  # into which the cells of a batch are cut
MAX_OPTIONS = 8  # of an argmax or a choice that are followed one by one


@dataclass(frozen=True)
class Parts:
    """Parts of cells in which some decisions are made: a box around each, and rows x <= ends that cut it."""

    source: NDArray[np.intp]  # which cell
    low: Floats  # (parts, numbers)
    high: Floats
    labels: Labels
    rows: Floats  # (parts, q, numbers)
    ends: Floats  # (parts, q)
    made: dict[Expr, Value] = field(default_factory=dict)  # what decisions are, part by part

    def __len__(self) -> int:
        return len(self.source)

    def chosen(self, index: Chosen) -> Parts:
        """Some of the parts, perhaps several times."""
        arrays = (self.source, self.low, self.high, self.labels, self.rows, self.ends)
        return Parts(*(array[index] for array in arrays), {node: _rows(v, index) for node, v in self.made.items()})

    def cut(self, rows: Floats, ends: Floats) -> Parts:
        """The parts with more rows, (parts, q, numbers); boxes shrink, and what is found to be empty is left out."""
        made = replace(self, rows=np.concatenate([self.rows, rows], 1), ends=np.concatenate([self.ends, ends], 1))
        low, high = shrunk(made.low, made.high, made.rows, made.ends)
        return replace(made, low=low, high=high).chosen((low <= high).all(axis=1))


def _rows(value: Value, index: Chosen) -> Value:
    match value:
        case Range(lower, upper):
            return Range(lower[index], upper[index])
        case Truth(must, may):
            return Truth(must[index], may[index])
    return Finite(value.mask[index], value.values)


def shrunk(low: Floats, high: Floats, rows: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """Boxes as small as each row allows by itself, rounded outward."""
    low, high = low.copy(), high.copy()
    for q in range(rows.shape[1]):
        r = rows[:, q]
        with np.errstate(all="ignore"):
            least = np.where(r > 0, r * low, np.where(r < 0, r * high, 0.0))  # the least of every term
            size = np.abs(least).sum(axis=1, keepdims=True) + np.abs(ends[:, q : q + 1])
            room = ends[:, q : q + 1] - (least.sum(axis=1, keepdims=True) - least)  # what is left to each term
            limit = (room + gamma(rows.shape[2] + 8) * size + TINY) / r
            limit = limit + 4 * gamma(1) * np.abs(limit) * np.where(r > 0, 1, -1)
        good = np.isfinite(limit)
        high = np.where(good & (r > 0), np.minimum(high, limit), high)
        low = np.where(good & (r < 0), np.maximum(low, limit), low)
    return low, high


class Images:
    """The step of a loop on cells."""

    def __init__(self, dynamics: Dynamics) -> None:
        self.dynamics = dynamics
        self.tick = dynamics.tick
        self.halvings = 0  # of every cell, before its image is bounded: an image is the union of those of the parts
        self._stacked: dict[bytes, Expr] = {}

    # What is asked ----------------------------------------------------------------------------------------------------

    def after(self, cells: Cells) -> tuple[NDArray[np.intp], Cells]:
        """Where a step leads: cells, and from which of the given ones each of them comes."""
        if not len(cells):
            return np.zeros(0, np.intp), cells
        view = self.dynamics
        parts, linear = self.divided(cells, [view.guard, *view.next_numbers, *view.next_labels])
        if not len(parts):
            return parts.source, cells.rows(np.zeros(0, np.intp))
        possible = np.broadcast_to(_truth(linear.value(view.guard)).may, (len(parts),))
        lower, upper = self._bounds(cells.template, parts, linear)
        masks = [possible_labels(linear.value(node), len(parts)) for node in view.next_labels]
        index, labels = combinations([possible[:, None] & mask for mask in masks], len(parts))
        if not masks:
            index = np.flatnonzero(possible)
            labels = labels[index]
        moved = Cells(cells.template, lower[index], upper[index], labels)
        full = (moved.lower <= moved.upper).all(axis=1)
        return parts.source[index][full], moved.rows(full)

    def keeps(self, cells: Cells, condition: Expr) -> NDArray[np.bool_]:
        """In which cells a condition is certainly true."""
        found = np.ones(len(cells), bool)
        if len(cells):
            parts, linear = self.divided(cells, [condition])
            if not len(parts):
                return found
            must = np.broadcast_to(_truth(linear.value(condition)).must, (len(parts),))
            found[parts.source[~must]] = False
        return found

    def where(self, cells: Cells, condition: Expr) -> Cells:
        """Cells around the states in which a condition may be true."""
        if not len(cells):
            return cells
        parts, linear = self.divided(cells, [condition])
        if not len(parts):
            return cells.rows(np.zeros(0, np.intp))
        parts = parts.chosen(np.broadcast_to(_truth(linear.value(condition)).may, (len(parts),)))
        A = np.broadcast_to(cells.template.rows, (len(parts), *cells.template.rows.shape))
        upper = self._support(parts, A, np.zeros(A.shape[:2]))
        lower = -self._support(parts, -A, np.zeros(A.shape[:2]))
        return Cells(cells.template, lower, upper, parts.labels)

    # Cases ------------------------------------------------------------------------------------------------------------

    def divided(self, cells: Cells, roots: Sequence[Expr]) -> tuple[Parts, Linear]:
        """Cells divided by the decisions that the roots meet, with linear bounds over the parts."""
        parts = self._parts(cells)
        most = min(MAX_CASES, CASES_OF_CELL * len(parts) + 16)
        for _ in range(MAX_DECISIONS):
            linear = self._over(parts, roots)
            decision = self._open(linear, parts)
            if decision is None or len(parts) >= most or not len(parts):
                return parts, linear
            parts = self._decided(parts, linear, decision)
        return parts, self._over(parts, roots)

    def _parts(self, cells: Cells) -> Parts:
        """The cells, each cut in halves across its widest sides some times."""
        rows, ends = cells.half_spaces()
        low, high = shrunk(*cells.box, rows, ends)
        parts = Parts(np.arange(len(cells)), low, high, cells.labels, rows, ends)
        unit = np.where(self.dynamics.whole, np.inf, 1.0) * np.maximum(high - low, 1e-300).max(axis=0, initial=1e-300)
        for _ in range(self.halvings):
            if 2 * len(parts) > MAX_PARTS or not parts.low.size:
                break
            parts = _halved(parts, unit)
        return parts

    def _over(self, parts: Parts, roots: Iterable[Expr]) -> Linear:
        box = {**self.dynamics.inputs(parts.low, parts.high, parts.labels), **parts.made}
        linear = Linear(box, tick=self.tick, batch=len(parts))
        if len(parts):
            for root in roots:
                linear.need(root)
        return linear

    def _open(self, linear: Linear, parts: Parts) -> Expr | None:
        """The first decision that is open in some part, among those that matter."""
        for node in linear.values:
            if node in parts.made or not _is_decision(node):
                continue
            if (_ways(node, linear.value(node), len(parts)).sum(axis=1) > 1).any():
                return node
        return None

    def _decided(self, parts: Parts, linear: Linear, node: Expr) -> Parts:
        """The parts divided by the outcome of a decision."""
        value = linear.value(node)
        ways = _ways(node, value, len(parts))
        found = []
        for outcome in range(ways.shape[1]):
            index = np.flatnonzero(ways[:, outcome])
            if len(index):
                part = parts.chosen(index)
                part.made[node] = _outcome(node, value, outcome, len(index))
                found.append(self._cut(part, *self._conditions(linear, node, outcome, index)))
        arrays = [
            np.concatenate([getattr(part, name) for part in padded(found)])
            for name in ("source", "low", "high", "labels", "rows", "ends")
        ]
        made = {key: _stack([part.made[key] for part in found]) for key in found[0].made}
        return Parts(*arrays, made)

    def _cut(self, part: Parts, rows: Floats, ends: Floats) -> Parts:
        """The parts in which more rows hold; those in which none of the states satisfies one of them are left out."""
        if not rows.shape[1]:
            return part
        least = -self._support(part, -rows, np.zeros(rows.shape[:2]))
        possible = (least <= ends).all(axis=1)
        return part.chosen(possible).cut(rows[possible], ends[possible])

    def _conditions(self, linear: Linear, node: Expr, outcome: int, index: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Rows x <= ends that hold where a decision has this outcome."""
        forms: list[tuple[Floats, Floats]] = []
        if isinstance(node, e.Compare):
            gap = linear.form(build.sub(node.args[1], node.args[0]))
            forms = self._of_comparison(linear, gap, node.op, bool(outcome), index)
        elif isinstance(node, e.Argmax):
            scores = node.args[0]
            others = [i for i in range(scores.size) if i != outcome]
            gaps = [linear.form(build.sub(scores[outcome], scores[i])) for i in others]
            forms = [self._at_least_zero(linear, gap, index) for gap in gaps]
        n = len(self.dynamics.numbers)
        if not forms:
            return np.zeros((len(index), 0, n)), np.zeros((len(index), 0))
        return np.stack([rows for rows, _ in forms], 1), np.stack([ends for _, ends in forms], 1)

    def _of_comparison(
        self, linear: Linear, gap: LinearBounds, op: str, truth: bool, index: NDArray[np.intp]
    ) -> list[tuple[Floats, Floats]]:
        if op in ("==", "!="):
            equal = truth == (op == "==")
            sides = (self._at_least_zero, self._at_most_zero) if equal else ()
            return [side(linear, gap, index) for side in sides]
        side = self._at_least_zero if truth else self._at_most_zero
        return [side(linear, gap, index)]

    def _at_least_zero(self, linear: Linear, gap: LinearBounds, index: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Where a value may be at least 0: its upper form is."""
        return self._row(linear, -gap.upper_coefficients[:, 0], gap.upper_constants[:, 0], index)

    def _at_most_zero(self, linear: Linear, gap: LinearBounds, index: NDArray[np.intp]) -> tuple[Floats, Floats]:
        return self._row(linear, gap.lower_coefficients[:, 0], -gap.lower_constants[:, 0], index)

    def _row(self, linear: Linear, A: Floats, end: Floats, index: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """A row over the state from one over all inputs: draws take the values that allow most."""
        A, end = (np.broadcast_to(part, (linear.batch, *part.shape[1:]))[index] for part in (A, end))
        own, others, low, high = self._columns(linear, A, index)
        limit = box_bounds(-others[:, None], end[:, None], low, high)[:, 0]
        good = np.isfinite(limit) & np.isfinite(own).all(axis=1)
        return np.where(good[:, None], own, 0.0), np.where(good, limit, np.inf)

    def _columns(self, linear: Linear, A: Floats, index: NDArray[np.intp]) -> tuple[Floats, Floats, Floats, Floats]:
        """Coefficients of the state and of all other inputs, and the ranges of the latter."""
        places = {name: column for column, name in enumerate(linear.inputs.names)}
        own = [places[component] for component in self.dynamics.numbers]
        rest = [column for name, column in places.items() if column not in set(own)]
        whole = linear.inputs.range
        shape = (linear.batch, linear.inputs.count)
        low, high = (np.broadcast_to(end, shape)[index][:, rest] for end in (whole.lower, whole.upper))
        return A[..., own], A[..., rest], low, high

    # Bounds -----------------------------------------------------------------------------------------------------------

    def _bounds(self, template: Directions, parts: Parts, linear: Linear) -> tuple[Floats, Floats]:
        """Bounds of all directions after a step, part by part."""
        n, count = template.numbers, len(template.rows)
        lower, upper = np.full((len(parts), count), -np.inf), np.full((len(parts), count), np.inf)
        if not n or not len(parts):
            return lower, upper
        for place, node in enumerate(self.dynamics.next_numbers):
            own = linear.range(node)
            lower[:, place], upper[:, place] = own.lower, own.upper
        if count > n or parts.rows.any():
            most, least = self._of_forms(template, parts, linear)
            lower, upper = np.maximum(lower, least), np.minimum(upper, most)
        return self._integral(template, lower, upper)

    def _of_forms(self, template: Directions, parts: Parts, linear: Linear) -> tuple[Floats, Floats]:
        """Upper and lower bounds from the linear forms of all directions, over the rows of every part."""
        form = linear.form(self._stack(template))
        index = np.arange(len(parts))
        ends = []
        for A, c in ((form.upper_coefficients, form.upper_constants), (-form.lower_coefficients, -form.lower_constants)):
            shape = (len(parts), *A.shape[1:])
            A, c = np.broadcast_to(A, shape), np.broadcast_to(c, shape[:2])
            own, others, low, high = self._columns(linear, A, index)
            ends.append(self._support(parts, own, box_bounds(others, c, low, high)))
        return ends[0], -ends[1]

    def _stack(self, template: Directions) -> Expr:
        """All directions of the next state as one node."""
        key = template.rows.tobytes()
        if key not in self._stacked:
            zero = Matrix(np.zeros(len(template.rows)))
            values = build.concat(*self.dynamics.next_numbers)
            self._stacked[key] = build.affine(values, Matrix(template.rows), zero)
        return self._stacked[key]

    def _support(self, parts: Parts, A: Floats, c: Floats) -> Floats:
        return upper_bounds(A, c, parts.low, parts.high, parts.rows, parts.ends, self.tick)

    def _integral(self, template: Directions, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Bounds of directions that only have integers as values, rounded inward."""
        integral = self.dynamics.integral(template.rows)
        return np.where(integral, np.ceil(lower), lower), np.where(integral, np.floor(upper), upper)


def _halved(parts: Parts, unit: Floats) -> Parts:
    """Both halves of every part, across its widest side in these units; a part without width stays."""
    width = (parts.high - parts.low) / unit
    side, at = np.argmax(width, axis=1), np.arange(len(parts))
    low, high = parts.low[at, side], parts.high[at, side]
    middle = 0.5 * low + 0.5 * high
    cut = np.flatnonzero((low < middle) & (middle < high) & np.isfinite(middle) & np.isfinite(width[at, side]))
    both = parts.chosen(np.concatenate([at, cut]))
    both.high[cut, side[cut]] = middle[cut]
    both.low[len(parts) + np.arange(len(cut)), side[cut]] = middle[cut]
    return both


def padded(parts: Sequence[Parts]) -> list[Parts]:
    """The parts with equally many rows; a row of zeros says nothing."""
    most = max(part.rows.shape[1] for part in parts)
    made = []
    for part in parts:
        missing = most - part.rows.shape[1]
        rows = np.pad(part.rows, ((0, 0), (0, missing), (0, 0)))
        made.append(replace(part, rows=rows, ends=np.pad(part.ends, ((0, 0), (0, missing)), constant_values=np.inf)))
    return made


# Decisions ------------------------------------------------------------------------------------------------------------


def _is_decision(node: Expr) -> bool:
    match node:
        case e.Compare():
            return not node.shape and all(arg.sort.is_number for arg in node.args)
        case e.Argmax():
            return node.args[0].size <= MAX_OPTIONS
        case e.Choose():
            constant = all(isinstance(option, e.Const) and not option.shape for option in node.options)
            return constant and len(node.options) <= MAX_OPTIONS
    return False


def _ways(node: Expr, value: Value, batch: int) -> NDArray[np.bool_]:
    """Which outcomes are possible, (batch, outcomes); of a choice of numbers all are."""
    match value:
        case Range():
            assert isinstance(node, e.Choose)
            return np.ones((batch, len(node.options)), bool)
        case Truth(must, may):
            return np.stack([~np.broadcast_to(must, (batch,)), np.broadcast_to(may, (batch,))], axis=1)
        case Finite(mask, values):
            return np.broadcast_to(np.asarray(mask), (batch, len(values)))


def _outcome(node: Expr, value: Value, outcome: int, count: int) -> Value:
    """A decision that is made."""
    match value:
        case Truth():
            truth = np.full(count, bool(outcome))
            return Truth(truth, truth)
        case Finite(_, values):
            return Finite(np.broadcast_to(np.arange(len(values)) == outcome, (count, len(values))), values)
    assert isinstance(node, e.Choose)
    option = node.options[outcome]
    assert isinstance(option, e.Const)
    return Range(np.full(count, float_below(option.value)), np.full(count, float_above(option.value)))


def _stack(values: Sequence[Value]) -> Value:
    first = values[0]
    match first:
        case Truth():
            truths = [value for value in values if isinstance(value, Truth)]
            return Truth(np.concatenate([v.must for v in truths]), np.concatenate([v.may for v in truths]))
        case Finite():
            masks = [value.mask for value in values if isinstance(value, Finite)]
            return Finite(np.concatenate(masks), first.values)
    ranges = [value for value in values if isinstance(value, Range)]
    return Range(np.concatenate([v.lower for v in ranges]), np.concatenate([v.upper for v in ranges]))


def _truth(value: Value) -> Truth:
    assert isinstance(value, Truth)
    return value
