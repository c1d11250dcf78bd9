"""Where a step leads from cells: bounds of all directions after it, decision by decision, rounded outward.

Open comparisons, winners of argmax and options of choices divide a cell into cases. In each of them the decision is
taken as made, and the linear bounds of what was compared cut the cell; so an `if` at a threshold costs nothing. What
stays open after so many cases is bounded as a whole. All of this is OVER: a case may hold more states than there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import TemplateSets, labelled
from vernal.interpret.geometry.weak_duality import box_maximum
from vernal.interpret.linear.bounds import Linear, LinearBounds
from vernal.interpret.linear.device_bounds import bounds_over
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.value_sets import Truth, Value
from vernal.logic.direction import Direction
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.sets.cells.cases import Parts, halved, is_decision, joined_parts, outcome_value, shrunk, ways
from vernal.sets.cells.dynamics import WatchedLoop, combinations, possible_labels
from vernal.sets.cells.support import upper_bounds

MAX_CASES = 4096  # of one batch
CASES_OF_CELL = 64  # of one cell on average, before open decisions are bounded as a whole
MAX_DECISIONS = 24  # that divide cells, one after the other
MAX_PARTS = 2048  # into which the cells of a batch are cut

LinearForm = tuple[Floats, Floats]  # coefficients (parts, K, numbers) and constants (parts, K)


class Images:
    """The step of a loop on cells: the images contain every state that a step leads to."""

    direction = Direction.OVER

    def __init__(self, dynamics: WatchedLoop) -> None:
        self.dynamics = dynamics
        self.tick = dynamics.tick
        self.halvings = 0  # of every cell, before its image is bounded: an image is the union of those of the parts
        self._stacked: dict[bytes, Expr] = {}

    # What is asked ----------------------------------------------------------------------------------------------------

    def after(self, cells: TemplateSets) -> tuple[NDArray[np.intp], TemplateSets]:
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
        moved = labelled(cells.template, lower[index], upper[index], labels)
        full = np.flatnonzero((moved.lower <= moved.upper).all(axis=1))
        return parts.source[index][full], moved.rows(full)

    def keeps(self, cells: TemplateSets, condition: Expr) -> NDArray[np.bool_]:
        """In which cells a condition is certainly true."""
        found = np.ones(len(cells), bool)
        if len(cells):
            parts, linear = self.divided(cells, [condition])
            if not len(parts):
                return found
            must = np.broadcast_to(_truth(linear.value(condition)).must, (len(parts),))
            found[parts.source[~must]] = False
        return found

    def where(self, cells: TemplateSets, condition: Expr) -> TemplateSets:
        """Cells around the states in which a condition may be true."""
        if not len(cells):
            return cells
        parts, linear = self.divided(cells, [condition])
        if not len(parts):
            return cells.rows(np.zeros(0, np.intp))
        may = np.broadcast_to(_truth(linear.value(condition)).may, (len(parts),))
        parts = parts.chosen(np.flatnonzero(may))
        A = np.broadcast_to(cells.template.rows, (len(parts), *cells.template.rows.shape))
        upper = self._support(parts, A, np.zeros(A.shape[:2]))
        lower = -self._support(parts, -A, np.zeros(A.shape[:2]))
        return labelled(cells.template, lower, upper, parts.labels)

    # Cases ------------------------------------------------------------------------------------------------------------

    def divided(self, cells: TemplateSets, roots: Sequence[Expr]) -> tuple[Parts, Linear]:
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

    def _parts(self, cells: TemplateSets) -> Parts:
        """The cells, each cut in halves across its widest sides some times."""
        rows, ends = cells.half_spaces()
        low, high = shrunk(*cells.ranges(), rows, ends)
        parts = Parts(np.arange(len(cells)), low, high, cells.labels, rows, ends)
        unit = np.where(self.dynamics.whole, np.inf, 1.0) * np.maximum(high - low, 1e-300).max(axis=0, initial=1e-300)
        for _ in range(self.halvings):
            if 2 * len(parts) > MAX_PARTS or not parts.low.size:
                break
            parts = halved(parts, unit)
        return parts

    def _over(self, parts: Parts, roots: Iterable[Expr]) -> Linear:
        box = {**self.dynamics.inputs(parts.low, parts.high, parts.labels), **parts.made}
        linear = bounds_over(box, tick=self.tick, batch=len(parts))
        if len(parts):
            for root in roots:
                linear.need(root)
        return linear

    def _open(self, linear: Linear, parts: Parts) -> Expr | None:
        """The first decision that is open in some part, among those that matter."""
        for node in linear.values:
            if node in parts.made or not is_decision(node):
                continue
            if (ways(node, linear.value(node), len(parts)).sum(axis=1) > 1).any():
                return node
        return None

    def _decided(self, parts: Parts, linear: Linear, node: Expr) -> Parts:
        """The parts divided by the outcome of a decision."""
        value = linear.value(node)
        possible = ways(node, value, len(parts))
        found = []
        for outcome in range(possible.shape[1]):
            index = np.flatnonzero(possible[:, outcome])
            if len(index):
                part = parts.chosen(index)
                part.made[node] = outcome_value(node, value, outcome, len(index))
                found.append(self._cut(part, *self._conditions(linear, node, outcome, index)))
        return joined_parts(found)

    def _cut(self, part: Parts, rows: Floats, ends: Floats) -> Parts:
        """The parts in which more rows hold; those in which none of the states satisfies one of them are left out."""
        if not rows.shape[1]:
            return part
        least = -self._support(part, -rows, np.zeros(rows.shape[:2]))
        possible = np.flatnonzero((least <= ends).all(axis=1))
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
        limit = box_maximum(-others[:, None], end[:, None], low, high)[:, 0]
        good = np.isfinite(limit) & np.isfinite(own).all(axis=1)
        return np.where(good[:, None], own, 0.0), np.where(good, limit, np.inf)

    def _columns(self, linear: Linear, A: Floats, index: NDArray[np.intp]) -> tuple[Floats, Floats, Floats, Floats]:
        """Coefficients of the state and of all other inputs, and the ranges of the latter."""
        places = {name: column for column, name in enumerate(linear.inputs.names)}
        own = [places[component] for component in self.dynamics.numbers]
        rest = [column for name, column in places.items() if column not in set(own)]
        whole = linear.box
        shape = (linear.batch, linear.inputs.count)
        low, high = (np.broadcast_to(end, shape)[index][:, rest] for end in (whole.lower, whole.upper))
        return A[..., own], A[..., rest], low, high

    # Bounds -----------------------------------------------------------------------------------------------------------

    def _bounds(self, template: Template, parts: Parts, linear: Linear) -> tuple[Floats, Floats]:
        """Bounds of all directions after a step, part by part."""
        n, count = template.size, len(template.rows)
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

    def _of_forms(self, template: Template, parts: Parts, linear: Linear) -> tuple[Floats, Floats]:
        """Upper and lower bounds from the linear forms of all directions, over the rows of every part."""
        above, below = self.forms(parts, linear, self._stack(template.rows))
        return self._support(parts, *above), -self._support(parts, *below)

    def forms(self, parts: Parts, linear: Linear, node: Expr) -> tuple[LinearForm, LinearForm]:
        """Linear upper bounds over the state of a number and of its opposite: draws take the values that add most."""
        form, index = linear.form(node), np.arange(len(parts))
        made = []
        for A, c in (
            (form.upper_coefficients, form.upper_constants),
            (-form.lower_coefficients, -form.lower_constants),
        ):
            shape = (len(parts), *A.shape[1:])
            A, c = np.broadcast_to(A, shape), np.broadcast_to(c, shape[:2])
            own, others, low, high = self._columns(linear, A, index)
            made.append((own, box_maximum(others, c, low, high)))
        return made[0], made[1]

    def _stack(self, rows: Floats) -> Expr:
        """All directions of the next state as one node."""
        key = rows.tobytes()
        if key not in self._stacked:
            self._stacked[key] = self.dynamics.stacked(rows)
        return self._stacked[key]

    def _support(self, parts: Parts, A: Floats, c: Floats) -> Floats:
        return upper_bounds(A, c, parts.low, parts.high, parts.rows, parts.ends, self.tick)

    def _integral(self, template: Template, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Bounds of directions that only have integers as values, rounded inward."""
        integral = self.dynamics.integral(template.rows)
        return np.where(integral, np.ceil(lower), lower), np.where(integral, np.floor(upper), upper)


def _truth(value: Value) -> Truth:
    assert isinstance(value, Truth)
    return value
