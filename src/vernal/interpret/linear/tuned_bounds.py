"""Lower bounds with free choices: slopes of activations, and multipliers of what is known besides.

The lower line of an unstable activation may have any slope between those of its two pieces; of something that is known
to be at most zero any multiple may be added to a row, and of something known to be at least zero any multiple may be
taken away. Each choice gives a lower bound that holds, however it was found: numbers outside of what is allowed are
moved into it, and rounding is paid for as everywhere in `rows`. References: alpha-CROWN (Xu et al., 2021), beta-CROWN
(Wang et al., 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from vernal.interpret.layers import layer
from vernal.interpret.linear.forms import Form
from vernal.interpret.linear.relaxations import Relaxation
from vernal.interpret.linear.rows import LinearGraph, RowIndex, Rows
from vernal.interpret.numbers.rounding import TINY, UNIT, Array, Backend, float_above, gamma
from vernal.model import expr as e
from vernal.model.expr import Expr

TUNABLE = (e.Relu, e.LeakyRelu, e.Abs)


@dataclass(frozen=True, slots=True, eq=False)
class Tuning:
    """The choices of one row for each group.

    `shares`: by the argument of an activation, (groups, components), where between its two slopes the lower line has
    its own: 0 is the slope on the left, 1 that on the right. `multipliers`: by argument, of its phases. `weights`:
    (groups, conditions), the multiples of the conditions that make up the row.
    """

    shares: Mapping[Expr, Array]
    multipliers: Mapping[Expr, Array]
    weights: Array

    def admitted(self, backend: Backend) -> Tuning:
        """The nearest choices that are allowed; a nan becomes 0."""
        return Tuning(
            {node: _clipped(backend, share, 1.0) for node, share in self.shares.items()},
            {node: _clipped(backend, factor, LARGEST_MULTIPLIER) for node, factor in self.multipliers.items()},
            _clipped(backend, self.weights, LARGEST_MULTIPLIER),
        )


LARGEST_MULTIPLIER = 2.0**100  # so that products stay far from overflow


def _clipped(backend: Backend, x: Array, most: float) -> Array:
    x = backend.where(x > 0.0, x, 0.0)
    return backend.where(x < most, x, most)


@dataclass(frozen=True, slots=True, eq=False)
class LowerLine:
    """The lower plane of an activation as it was chosen: (groups, components)."""

    slope: Array
    offset: Array
    tuned: Array  # where the slope was free
    flat: Array  # the slope on the left, rounded up


class TunedRows(Rows):
    """One row for each group, under a tuning; it remembers its way for the pass back (`behind`)."""

    def __init__(
        self, graph: LinearGraph, index: RowIndex, constant: Array, tuning: Tuning, phases: Mapping[Expr, Array]
    ) -> None:
        """`phases`: by node, (boxes, components), 1 where it is known to be >= 0, -1 where <= 0, and 0 elsewhere."""
        super().__init__(graph, index, constant)
        self.tuning, self.phases = tuning, phases
        self.way: list[tuple[Expr, Array]] = []  # nodes in the order in which rows came by, with those rows
        self.lines: dict[Expr, LowerLine] = {}
        self._first_phase = min((graph.position[node] for node in phases), default=np.inf)

    def visit(self, node: Expr, L: Array) -> Array:
        """Take away multiples of what is known to be at least zero: the phase of a node times its value."""
        factor = self.tuning.multipliers.get(node)
        if factor is not None and node in self.phases:
            L = L - (factor * self.take(self.phases[node]))[:, None, :]
            self._pay(abs(L), UNIT * self.take(self.graph.sizes[node]))
        self.way.append((node, L))
        return L

    def landing(self, node: Expr) -> Form | None:
        """As ever, but not at nodes above those whose phases have multipliers."""
        form = super().landing(node)
        if form is None or form.coefficients is None or node in self.graph.inputs.columns:
            return form
        return form if self.graph.position[node] <= self._first_phase else None

    def through(self, node: Expr, L: Array) -> None:
        """Replace a node by its arguments, an activation with the slope that was chosen."""
        rule = self.graph.rules.get(node)
        if rule is None or not self._is_free(node, rule):
            super().through(node, L)
            return
        line = self.lines[node] = self._line(node, rule)
        above = self.backend.positive(L)
        below = L - above
        self._pay(above, -line.offset)
        assert rule.upper.offset is not None
        self._earn(self.backend.dot(below, self.take(rule.upper.offset)[:, None, :]))
        high = self.take(rule.upper.slopes[0])[:, None, :]
        self.push(rule.args[0], above * line.slope[:, None, :] + below * high)

    def _is_free(self, node: Expr, rule: Relaxation) -> bool:
        if not isinstance(node, TUNABLE) or rule.lower is rule.upper or not rule.finite:
            return False
        return node.args[0] in self.tuning.shares and rule.upper.offset is not None

    def _line(self, node: Expr, rule: Relaxation) -> LowerLine:
        """slope * x <= activation for any slope between those of the two pieces; its product with a row is rounded."""
        backend = self.backend
        flat = left_slope(backend, node)
        low, high = self.take(rule.lower.slopes[0]), self.take(rule.upper.slopes[0])
        tuned = (low != high) & (flat <= 1.0)
        share = self.tuning.shares[node.args[0]]
        slope = backend.xp.minimum(backend.xp.maximum(flat + share * (1.0 - flat), flat), backend.xp.ones_like(flat))
        slope = backend.where(tuned, slope, low)
        pad = 2.0 * UNIT * abs(slope) * self.take(self.graph.sizes[node.args[0]]) + TINY
        given = backend.xp.zeros_like(slope) if rule.lower.offset is None else self.take(rule.lower.offset)
        return LowerLine(slope, backend.where(tuned, -pad, given), tuned, flat)

    def _pay(self, weights: Array, amounts: Array) -> None:
        """Lower the constants by weights . amounts, for both not negative."""
        total = self.backend.dot(weights, amounts[:, None, :]) * (1.0 + 2.0 * gamma(weights.shape[-1] + 4)) + TINY
        self.constant = self.backend.down(self.constant - total)

    def _earn(self, amount: Array) -> None:
        self.constant = self.backend.below(self.constant + amount)


def left_slope(backend: Backend, node: Expr) -> Array:
    """The slope of an activation below zero, rounded up: (1, components or 1)."""
    match node:
        case e.LeakyRelu(slopes=slopes):
            return backend.array(np.array([[float_above(slope) for slope in slopes]]))
        case e.Abs():
            return backend.array(np.array([[-1.0]]))
    return backend.array(np.array([[0.0]]))


# The point behind a bound ---------------------------------------------------------------------------------------------


def behind(rows: TunedRows) -> tuple[Array, dict[Expr, Array]]:
    """Where the bound of each row is attained: the inputs, and a value for every node the row came by.

    The values are those of the relaxed graph: an activation takes its lower plane where its coefficient is not
    negative, else its upper one. Neither rounded nor a bound: they are what gradients are made of.
    """
    backend, values = rows.backend, dict[Expr, Array]()
    centre, radius, _ = (rows.take(part) for part in rows.graph.inputs.ball)
    A = rows.coefficients
    point = centre + backend.xp.zeros_like(rows.constant)
    if A is not None:
        count = A.shape[-1]
        point[:, :count] = centre[:, :count] - backend.xp.sign(A[:, 0, :]) * radius[:, :count]
    for node, L in reversed(rows.way):
        values[node] = _forward(rows, node, L[:, 0, :], point, values)
    return point, values


def _forward(rows: TunedRows, node: Expr, L: Array, point: Array, values: Mapping[Expr, Array]) -> Array:
    graph, backend = rows.graph, rows.backend
    form = rows.landing(node)
    if form is not None:
        return _of_form(rows, form, point) + backend.xp.zeros_like(L)
    if node in graph.same:
        return values[graph.same[node]]
    argument = graph.layer_argument(node)
    if argument is not None:
        own = layer(backend, node)
        return backend.product(values[argument], own.transposed) + own.bias
    args = [values[arg] for arg in node.args] if node not in graph.rules else []
    match node:
        case e.Add():
            return sum(args[1:], args[0]) + backend.xp.zeros_like(L)
        case e.Neg():
            return -args[0]
        case e.Concat():
            return backend.concat(args, -1)
        case e.Gather():
            return args[0][:, backend.array(np.array(node.indices))]
    rule = graph.rules[node]
    args = [values[arg] for arg in rule.args]
    line = rows.lines.get(node)
    low = _plane(rows, rule, args, upper=False) if line is None else line.slope * args[0] + line.offset
    return backend.where(L >= 0, low, _plane(rows, rule, args, upper=True)) + backend.xp.zeros_like(L)


def branch_losses(rows: TunedRows, values: Mapping[Expr, Array]) -> dict[Expr, Array]:
    """By branching on the way: what lies between its planes at the point behind the bound, times the coefficient."""
    found: dict[Expr, Array] = {}
    for node, L in rows.way:
        rule = rows.graph.rules.get(node)
        if isinstance(node, e.If | e.Switch) and rule is not None and not rule.exact and node in values:
            args = [values[arg] for arg in rule.args if arg in values]
            if len(args) == len(rule.args):
                gap = _plane(rows, rule, args, upper=True) - _plane(rows, rule, args, upper=False)
                found[node] = abs(L[:, 0, :]) * rows.backend.positive(gap)
    return found


def _plane(rows: TunedRows, rule: Relaxation, args: list[Array], *, upper: bool) -> Array:
    plane = rule.upper if upper else rule.lower
    total = rows.backend.array(np.zeros((1, 1))) if plane.offset is None else rows.take(plane.offset)
    for slope, arg in zip(plane.slopes, args, strict=True):
        total = total + rows.take(slope) * arg
    return total


def _of_form(rows: TunedRows, form: Form, point: Array) -> Array:
    constant = rows.take(form.constant)
    if form.coefficients is None:
        return constant
    count = form.coefficients.shape[-1]
    if form.shared:
        return cast(Array, point[:, :count] @ form.coefficients[0].T + constant)
    return rows.backend.dot(rows.take(form.coefficients), point[:, None, :count]) + constant
