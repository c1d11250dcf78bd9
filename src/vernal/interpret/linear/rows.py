"""Backward substitution: rows of coefficients travel from a node to the inputs, and stay lower bounds on the way.

The invariant, in exact arithmetic over the floats in the arrays: for each row, the wanted value is at least the sum of
(row . node's value) over the nodes under way, plus the row's constant. A step replaces a node by its arguments: through
an affine layer by a matrix product, whose rounding is at most gamma(n) |row| (|W| max|x| + |b|) and is subtracted from
the constant (by Cauchy-Schwarz, with norms); through a relaxation by the plane that the sign of each entry asks for.
References: CROWN (Zhang et al., 2018), DeepPoly (Singh et al., 2019).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from vernal.interpret.abstract import Range
from vernal.interpret.interval import concat
from vernal.interpret.linear.forms import Form, Inputs, widen
from vernal.interpret.linear.relax import Plane, Relaxation
from vernal.interpret.numbers.rounding import FLOOR, TINY, UNIT, Array, Backend, gamma
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.tick import Tick

RowIndex = Array | slice | None  # which box a group of rows belongs to; None is one group for each box


@dataclass
class LinearGraph:
    """What backward substitution knows about the nodes evaluated so far."""

    backend: Backend
    inputs: Inputs
    position: dict[Expr, int]
    forms: dict[Expr, Form]
    rules: dict[Expr, Relaxation]
    same: dict[Expr, Expr]  # nodes that stand for another
    sizes: Mapping[Expr, Array]  # the largest absolute value of each component
    norms: dict[Expr, tuple[Array, bool]]  # per affine layer and box: what rounding costs per unit of a row
    tick: Tick  # called at every node that rows pass through


@dataclass(frozen=True, slots=True)
class Selected:
    """Rows of a matrix, each with its negation, as groups of two; made block by block."""

    backend: Backend
    matrix: Array
    places: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.places.shape[0], 2, self.matrix.shape[-1])

    def __getitem__(self, part: slice) -> Array:
        rows = self.matrix[self.places[part]]
        return self.backend.xp.stack([rows, -rows], axis=1)


Seeds = Mapping[Expr, Array | Selected]  # the rows that start at each node


class Rows:
    """Rows under way, in groups of r for one box each: arrays (groups, r, components)."""

    def __init__(self, graph: LinearGraph, index: RowIndex, constant: Array) -> None:
        self.graph = graph
        self.backend = graph.backend
        self.index = index
        self.constant = constant
        self.coefficients: Array | None = None  # of the inputs
        self.under_way: dict[Expr, Array] = {}
        self.heap: list[tuple[int, Expr]] = []

    def take(self, array: Array) -> Array:
        """The part of a batched array that belongs to the groups; an array for every box alike stays as it is."""
        return array if self.index is None or array.shape[0] == 1 else array[self.index]

    def lose(self, amount: Array) -> None:
        """Lower the constants by something not negative."""
        self.constant = self.backend.down(self.constant - amount)

    def gain(self, amount: Array) -> None:
        """Add to the constants, rounding down; a sum that overflowed is no bound, whatever is lost later."""
        self.constant = self.backend.below(self.constant + amount)

    def push(self, node: Expr, L: Array) -> None:
        """Coefficients for a node; what two users ask of it is added up."""
        known = self.under_way.get(node)
        if known is None:
            self.under_way[node] = L
            heapq.heappush(self.heap, (-self.graph.position[node], node))
            return
        L = known + L
        self.under_way[node] = L
        self.lose(self.weigh(abs(L), UNIT * (1.0 + 1e-12) * self.take(self.graph.sizes[node])))

    def weigh(self, weights: Array, amounts: Array) -> Array:
        """weights . amounts for both not negative, rounded up; 0 times infinity is 0."""
        total = self.backend.dot(weights, amounts[:, None, :])
        if self.backend.some(self.backend.xp.isnan(total)):
            parts = self.backend.where(weights == 0, 0.0, weights * amounts[:, None, :])
            total = parts.sum(-1)
        return total * (1.0 + 2.0 * gamma(weights.shape[-1] + 2)) + TINY

    def run(self) -> None:
        """Substitute until only inputs are left."""
        graph = self.graph
        arrived: list[tuple[Array, Form]] = []
        while self.heap:
            graph.tick()
            _, node = heapq.heappop(self.heap)
            L = self.under_way.pop(node)
            form = graph.forms.get(node)
            if form is not None and not (isinstance(node, e.Affine) and node.args[0] in graph.forms):
                arrived.append((L, form))
            else:
                self.through(node, L)
        self.land(arrived)

    def land(self, arrived: Sequence[tuple[Array, Form]]) -> None:
        """Arrive at nodes that are affine in the inputs, all together: one product, and one account of its rounding."""
        if not arrived:
            return
        backend, take = self.backend, self.take
        L = backend.concat([rows for rows, _ in arrived], -1)
        n = L.shape[-1]
        constant, error, size = (
            concat(backend, [take(part) for part in parts])
            for parts in zip(*((form.constant, form.error, form.size) for _, form in arrived), strict=True)
        )
        self.gain(backend.dot(L, constant[:, None, :]))
        self.lose(self.weigh(abs(L), (error + gamma(n + 4) * size) * (1.0 + 1e-12)))
        alike = [(rows, form) for rows, form in arrived if form.shared]
        moving = [(rows, form) for rows, form in arrived if form.coefficients is not None and not form.shared]
        made = [self._product(some) for some in (alike, moving) if some]
        if made:
            self.coefficients = made[0] if len(made) == 1 else made[0] + made[1]

    def _product(self, arrived: Sequence[tuple[Array, Form]]) -> Array:
        """Rows times the coefficients of forms: one matrix for all boxes, or one for each."""
        L = self.backend.concat([rows for rows, _ in arrived], -1)
        count = self.graph.inputs.count
        known = [form.coefficients for _, form in arrived if form.coefficients is not None]  # those of all of them
        parts = [widen(self.backend, self.take(coefficients), count) for coefficients in known]
        A = concat(self.backend, parts)
        if A.shape[0] > 1:
            return L @ A
        return cast(Array, (L.reshape(-1, L.shape[-1]) @ A[0]).reshape((*L.shape[:2], count)))

    def through(self, node: Expr, L: Array) -> None:
        """Replace a node by its arguments."""
        if node in self.graph.same:
            self.push(self.graph.same[node], L)
            return
        match node:
            case e.Affine():
                self._affine(node, L)
            case e.Add():
                for arg in node.args:
                    self.spread(arg, L)
            case e.Neg():
                self.push(node.args[0], -L)
            case e.Concat():
                start = 0
                for arg in node.args:
                    self.push(arg, L[..., start : start + arg.size])
                    start += arg.size
            case e.Gather():
                self._scatter(node, L)
            case _:
                self._relaxation(self.graph.rules[node], L)

    def spread(self, arg: Expr, L: Array) -> None:
        """Coefficients for an argument that may be a scalar going with every component."""
        if arg.size == L.shape[-1]:
            self.push(arg, L)
            return
        size = self.take(self.graph.sizes[arg])
        self.lose(self.weigh(abs(L), gamma(L.shape[-1] + 2) * size + self.backend.xp.zeros_like(L[:1, 0, :])))
        self.push(arg, L.sum(-1)[..., None])

    def _affine(self, node: e.Affine, L: Array) -> None:
        W, b = self.backend.weights(node.weight.array), self.backend.weights(node.bias.array)
        m, n = W.shape
        rows = L.reshape(-1, m)
        self.gain((rows @ b).reshape(L.shape[:2]))
        cost, finite = layer_cost(self.graph, node)
        cost = self.take(cost)
        if finite:
            norm = self.backend.xp.sqrt(self.backend.dot(L, L) + 1e-290)
            self.lose(norm * ((1.0 + 1e-12) * cost))
        else:
            self.lose(self.backend.where((L != 0).any(-1) & ~self.backend.xp.isfinite(cost), np.inf, 0.0))
            norm = self.backend.xp.sqrt(self.backend.dot(L, L) + 1e-290)
            self.lose(norm * self.backend.where(self.backend.xp.isfinite(cost), (1.0 + 1e-12) * cost, 0.0))
        self.push(node.args[0], (rows @ W).reshape((*L.shape[:2], n)))

    def _scatter(self, node: e.Gather, L: Array) -> None:
        """Components return to their places, in turns where one was gathered several times."""
        left = list(enumerate(node.indices))
        while left:
            turn = {index: place for place, index in reversed(left)}
            spread = self.backend.array(np.zeros((*L.shape[:2], node.args[0].size)))
            places = self.backend.array(np.array(list(turn.values())))
            spread[..., self.backend.array(np.array(list(turn)))] = L[..., places]
            self.push(node.args[0], spread)
            left = [(place, index) for place, index in left if turn[index] != place]

    def _relaxation(self, rule: Relaxation, L: Array) -> None:
        if rule.lower is rule.upper and rule.lower.offset is None:
            for arg, slope in zip(rule.args, rule.lower.slopes, strict=True):
                self.spread(arg, L * self.take(slope)[:, None, :])
            return
        if rule.doubt is not None:
            self.lose(self.backend.dot(abs(L), self.take(rule.doubt)[:, None, :]))
            self.spread(rule.args[0], L * self.take(rule.lower.slopes[0])[:, None, :])
            return
        above = self.backend.positive(L)
        below = L - above
        self._offset(rule.lower, above, rule.finite)
        self._offset(rule.upper, below, rule.finite)
        last = len(rule.args) - 1
        for i, (arg, low, high) in enumerate(zip(rule.args, rule.lower.slopes, rule.upper.slopes, strict=True)):
            low, high = self.take(low)[:, None, :], self.take(high)[:, None, :]
            if i == last:  # the parts are not needed any more: in place, which is what makes long batches fast
                above *= low
                below *= high
                above += below
                self.spread(arg, above)
            else:
                self.spread(arg, above * low + below * high)

    def _offset(self, side: Plane, part: Array, finite: bool) -> None:
        if side.offset is None:
            return
        offset = self.take(side.offset)[:, None, :]
        if finite:
            self.gain(self.backend.dot(part, offset))
        else:
            self.gain(self.backend.where(part == 0, 0.0, part * offset).sum(-1))


def layer_cost(graph: LinearGraph, node: e.Affine) -> tuple[Array, bool]:
    """(batch, 1): the rounding of a row's way through W x + b costs at most its norm times this."""
    if node not in graph.norms:
        backend = graph.backend
        W, b = backend.weights(node.weight.array), backend.weights(node.bias.array)
        slack = gamma(sum(W.shape) + 4)
        amounts = slack * (graph.sizes[node.args[0]] @ abs(W).T + abs(b)) + TINY
        cost = backend.xp.sqrt(backend.dot(amounts, amounts) + 1e-290)[:, None] * (1.0 + 1e-12)
        cost = backend.where(backend.xp.isnan(cost), np.inf, cost)
        graph.norms[node] = cost, bool(backend.xp.isfinite(cost).all())
    return graph.norms[node]


def lower_bounds(rows: Rows) -> Array:
    """The least value of finished rows over the box: (groups, r)."""
    backend = rows.backend
    low = rows.constant
    if rows.coefficients is not None:
        centre, radius, _ = (rows.take(part) for part in rows.graph.inputs.ball)
        count = rows.coefficients.shape[-1]
        middle = backend.dot(rows.coefficients, centre[:, None, :count])
        reach = rows.weigh(abs(rows.coefficients), radius[:, :count])
        low = backend.down(backend.below(low + middle) - reach)
    low = backend.down(low - FLOOR)
    return backend.where(backend.xp.isnan(low), -np.inf, low)


def tighter(backend: Backend, x: Range, lower: Array, upper: Array) -> Range:
    """A range cut by further bounds."""
    return Range(backend.xp.maximum(x.lower, lower), backend.xp.minimum(x.upper, upper))
