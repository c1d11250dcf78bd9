"""Backward substitution: rows of coefficients travel from a node to the inputs, and stay lower bounds on the way.

The invariant, in exact arithmetic over the floats in the arrays: for each row, the wanted value is at least the sum of
(row . node's value) over the nodes under way, plus the row's constant. A step replaces a node by its arguments: through
an affine layer by a matrix product, whose rounding is at most gamma(n) |row| (|W| max|x| + |b|) and is subtracted from
the constant (by Cauchy-Schwarz, with norms); through a relaxation by the plane that the sign of each entry asks for.
References: CROWN (Zhang et al., 2018), DeepPoly (Singh et al., 2019).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from vernal.interpret.interval import concat
from vernal.interpret.layers import layer as affine_layer
from vernal.interpret.linear.forms import Form, Inputs, widen
from vernal.interpret.linear.relaxations import Relaxation
from vernal.interpret.linear.row_kernels import (
    RowFunction,
    between_planes,
    doubtful,
    floor,
    joined,
    landed,
    layer,
    least,
    multiples,
    summed,
)
from vernal.interpret.numbers.rounding import Array, Backend, by_rows, gamma
from vernal.interpret.numbers.sparse import Sparse
from vernal.interpret.value_sets import Range, Value, as_range
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.tick import Tick

SIGNS = ((1.0, -1.0),)
MAX_JOINED = 1 << 20  # numbers in coefficients that are put together for one product

RowIndex = Array | slice | None  # which box a group of rows belongs to; None is one group for each box


class Sizes(dict[Expr, Array]):
    """The largest absolute value of each component of a node, from its range when first asked for."""

    def __init__(self, backend: Backend, values: Mapping[Expr, Value]) -> None:
        super().__init__()
        self.backend, self.values_known = backend, values

    def __missing__(self, node: Expr) -> Array:
        x = as_range(self.backend, self.values_known[node])
        size = self[node] = self.backend.size(x.lower, x.upper)
        return size


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
    blocks: dict[Expr, Expr] = field(default_factory=dict)  # layers in blocks, and what they are applied to

    def layer_argument(self, node: Expr) -> Expr | None:
        """What a layer is applied to; None where a node is none."""
        return node.args[0] if isinstance(node, e.Affine) else self.blocks.get(node)

    def form(self, node: Expr) -> Form | None:
        """The form of a node that is affine, with a column for every input there is now."""
        form = self.forms.get(node)
        if form is None or form.coefficients is None:
            return form
        count = self.inputs.count
        if form.coefficients.shape[-1] == count:
            return form
        wider = replace(form, coefficients=widen(self.backend, form.coefficients, count))
        self.forms[node] = wider
        return wider


def both_signs(backend: Backend) -> Array:
    """(1, 2): 1 and -1, for a row and its negation."""
    return backend.constant(SIGNS)


@dataclass(frozen=True, slots=True)
class Selected:
    """Rows of a matrix, each with its negation, as groups of two; made block by block."""

    backend: Backend
    matrix: Array | Sparse
    places: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.places.shape[0], 2, self.matrix.shape[-1])

    def __getitem__(self, part: slice) -> Array:
        return self.matrix[self.places[part]][:, None] * both_signs(self.backend)[..., None]


@dataclass(frozen=True, slots=True)
class Units:
    """Unit rows, each with its negation, as groups of two; made block by block: all of them would be a large matrix."""

    backend: Backend
    size: int
    places: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.places.shape[0], 2, self.size)

    def __getitem__(self, part: slice) -> Array:
        places = self.places[part]
        rows = self.backend.zeros((places.shape[0], 2, self.size))
        groups = self.backend.array(np.arange(places.shape[0]))
        rows[groups, 0, places], rows[groups, 1, places] = 1.0, -1.0
        return rows


Seeds = Mapping[Expr, Array | Selected | Units]  # the rows that start at each node


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
        self.own: set[Expr] = set()  # those under way whose array nobody else has, so that it may be changed

    def take(self, array: Array) -> Array:
        """The part of a batched array that belongs to the groups; an array for every box alike stays as it is."""
        return array if self.index is None or array.shape[0] == 1 else array[self.index]

    def over(
        self, function: RowFunction, static: tuple[Any, ...], rows: Sequence[Array], *boxes: Array, n: int = 0
    ) -> list[Array]:
        """New rows by a function of rows, their constants and what is known of boxes; the constants change with them.

        `function(backend, *static, *rows, constants, slack, *boxes)`, with slack = gamma(n), returns the new rows and
        then the new constants. Arrays of boxes come with an axis for the rows of a group.
        """
        *made, self.constant = self.applied(function, static, rows, boxes, n)
        return made

    def applied(
        self, function: RowFunction, static: tuple[Any, ...], rows: Sequence[Array], boxes: Sequence[Array], n: int
    ) -> tuple[Array, ...]:
        """The same, and the rows stay as they are."""
        backend, index = self.backend, self.index
        if backend.fuser is None:
            # one box for each group is the common case, and this is called for every node: no further calls
            taken = [array[:, None] for array in boxes] if index is None else [by_rows(self.take(a)) for a in boxes]
            return function(backend, *static, *rows, self.constant, gamma(n) if n else 0.0, *taken)
        numbers = (self.constant, backend.number(gamma(n)))
        if isinstance(index, slice):
            boxes, index = tuple(map(self.take, boxes)), None
        return backend.fuser.rows(function, static, rows, numbers, boxes, index)

    def push(self, node: Expr, L: Array) -> None:
        """Coefficients for a node; what two users ask of it is added up."""
        known = self.under_way.get(node)
        if known is None:
            self.under_way[node] = L
            heapq.heappush(self.heap, (-self.graph.position[node], node))
            return
        (self.under_way[node],) = self.over(joined, (), (known, L), self.graph.sizes[node], n=L.shape[-1] + 2)
        self.own.discard(node)

    def run(self) -> None:
        """Substitute until only inputs are left."""
        tick, heap, under_way = self.graph.tick, self.heap, self.under_way
        arrived: list[tuple[Array, Form]] = []
        while heap:
            tick()
            _, node = heapq.heappop(heap)
            L = self.visit(node, under_way.pop(node))
            form = self.landing(node)
            if form is not None:
                arrived.append((L, form))
            else:
                self.through(node, L)
        self.land(arrived)

    def visit(self, node: Expr, L: Array) -> Array:
        """All rows for a node, when its turn has come."""
        return L

    def landing(self, node: Expr) -> Form | None:
        """The form at which rows end their way, if the node has one."""
        return self.graph.form(node)

    def land(self, arrived: Sequence[tuple[Array, Form]]) -> None:
        """Arrive at nodes that are affine in the inputs, all together: one product, and one account of its rounding."""
        if len(arrived) < 2:
            for L, form in arrived:
                self.over(landed, (), (L,), form.constant, form.error, form.size, n=L.shape[-1] + 4)
                self.coefficients = None if form.coefficients is None else self._product(L, form.coefficients)
            return
        alike = [(rows, form) for rows, form in arrived if form.shared]
        moving = [(rows, form) for rows, form in arrived if form.coefficients is not None and not form.shared]
        fixed = [(rows, form) for rows, form in arrived if form.coefficients is None]
        every = [*alike, *moving, *fixed]
        L = self.backend.concat([rows for rows, _ in every], -1)
        known = zip(*((form.constant, form.error, form.size) for _, form in every), strict=True)
        self.over(landed, (), (L,), *(concat(self.backend, parts) for parts in known), n=L.shape[-1] + 4)
        first, made = 0, None
        for some in (alike, moving):
            for A in self._matrices([form.coefficients for _, form in some if form.coefficients is not None]):
                product = self._product(L[..., first : first + A.shape[1]], A)
                made = product if made is None else made + product
                first += A.shape[1]
        self.coefficients = made

    def _matrices(self, parts: Sequence[Array]) -> Iterator[Array]:
        """The coefficients of several forms put together, as far as the matrix does not get large.

        The products are added, which rounds no more than one product would: it is another order of the same sum.
        """
        for group in _grouped(parts):
            yield group[0] if len(group) == 1 else concat(self.backend, group)

    def _product(self, L: Array, A: Array) -> Array:
        """Rows times the coefficients of forms: one matrix for all boxes, or one for each."""
        return L @ self.take(A) if A.shape[0] > 1 else self._times(L, A[0])

    def _times(self, L: Array, matrix: Array | Sparse) -> Array:
        """Rows times one matrix for all boxes."""
        found = self.backend.product(L.reshape(-1, L.shape[-1]), matrix)
        return cast(Array, found.reshape((*L.shape[:2], matrix.shape[-1])))

    def through(self, node: Expr, L: Array) -> None:
        """Replace a node by its arguments."""
        rule = self.graph.rules.get(node)
        if rule is not None:  # most of them, so first
            self._relaxation(rule, L)
            return
        argument = self.graph.layer_argument(node)
        if argument is not None:
            self._affine(node, argument, L)
            return
        match node:
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
                self.push(self.graph.same[node], L)

    def spread(self, arg: Expr, L: Array) -> None:
        """Coefficients for an argument that may be a scalar going with every component."""
        if arg.size == L.shape[-1]:
            self.push(arg, L)
            return
        self.over(summed, (), (L,), self.graph.sizes[arg], n=L.shape[-1] + 2)
        self.push(arg, L.sum(-1)[..., None])

    def _affine(self, node: Expr, argument: Expr, L: Array) -> None:
        own = affine_layer(self.backend, node)
        cost, finite = layer_cost(self.graph, node, argument)
        self.over(layer, (finite,), (L,), own.bias, cost)
        self.push(argument, self._times(L, own.weight))

    def _scatter(self, node: e.Gather, L: Array) -> None:
        """Components return to their places, in turns where one was gathered several times."""
        for to, places in turns(self.backend, node):
            self._add_at(node.args[0], to, L if places is None else L[..., places])

    def _add_at(self, node: Expr, to: Array, L: Array) -> None:
        """Coefficients for some components of a node, added there: of a window of an image all else is zero."""
        known = self.under_way.get(node)
        if known is None:
            made = self.backend.zeros((*L.shape[:2], node.size))
            made[..., to] = L
            self.push(node, made)
            self.own.add(node)
            return
        if node not in self.own:
            known = self.under_way[node] = known + 0.0  # a copy: others may have the same array
            self.own.add(node)
        sizes = self.graph.sizes[node][..., to]
        (known[..., to],) = self.over(joined, (), (known[..., to], L), sizes, n=L.shape[-1] + 2)

    def _relaxation(self, rule: Relaxation, L: Array) -> None:
        lows, highs = rule.lower.slopes, rule.upper.slopes
        if rule.lower is rule.upper and rule.lower.offset is None:
            made = self.over(multiples, (len(lows),), (L,), *lows)
        elif rule.doubt is not None:
            made = self.over(doubtful, (), (L,), rule.doubt, lows[0])
        else:
            offsets = [plane.offset for plane in (rule.lower, rule.upper) if plane.offset is not None]
            static = (len(lows), rule.lower.offset is not None, rule.upper.offset is not None, rule.finite)
            made = self.over(between_planes, static, (L,), *lows, *highs, *offsets)
        for arg, rows in zip(rule.args, made, strict=True):
            if arg.size == rows.shape[-1]:
                self.push(arg, rows)
            else:
                self.spread(arg, rows)


Turns = list[tuple[Array, Array | None]]  # places of components, and which rows go there; None: all, in their order


def turns(backend: Backend, node: e.Gather) -> Turns:
    """Where what was gathered came from, in as many turns as something was gathered; found once for each node."""
    found = backend.turns.get(node)
    if found is None:
        found = backend.turns[node] = _turns(backend, node)
    return cast(Turns, found)


def _turns(backend: Backend, node: e.Gather) -> Turns:
    indices = np.array(node.indices, dtype=np.intp)
    if len(np.unique(indices)) == len(indices):
        return [(backend.array(indices), None)]
    order = np.argsort(indices, kind="stable")
    ordered = indices[order]
    first = np.searchsorted(ordered, ordered)
    turn = np.arange(len(order)) - first  # how often the same was gathered before
    places = [order[turn == number] for number in range(int(turn.max()) + 1)]
    return [(backend.array(indices[own]), backend.array(own)) for own in places]


def _grouped(parts: Sequence[Array]) -> Iterator[list[Array]]:
    """Neighbours, as many as have no more than MAX_JOINED numbers together."""
    group: list[Array] = []
    numbers = 0
    for part in parts:
        own = math.prod(part.shape)
        if group and numbers + own > MAX_JOINED:
            yield group
            group, numbers = [], 0
        group.append(part)
        numbers += own
    if group:
        yield group


def layer_cost(graph: LinearGraph, node: Expr, argument: Expr) -> tuple[Array, bool]:
    """(batch,): the rounding of a row's way through W x + b costs at most its norm times this, less 1e-12 of it."""
    if node not in graph.norms:
        backend = graph.backend
        own = affine_layer(backend, node)
        amounts = own.rounding(backend, graph.sizes[argument])
        cost = backend.xp.sqrt(backend.dot(amounts, amounts)) * (1.0 + 4e-12 + 2.0 * gamma(node.size))
        finite = not backend.some(~(cost < np.inf))
        graph.norms[node] = cost if finite else backend.where(cost < np.inf, cost, np.inf), finite  # a nan, too
    return graph.norms[node]


def lower_bounds(rows: Rows) -> Array:
    """The least value of finished rows over the box: (groups, r)."""
    backend, A = rows.backend, rows.coefficients
    if A is None:
        return backend.fused(floor, (), rows.constant)[0]
    centre, radius, _ = rows.graph.inputs.ball
    count = A.shape[-1]
    return rows.applied(least, (), (A,), (centre[:, :count], radius[:, :count]), count + 2)[0]


def tighter(backend: Backend, x: Range, lower: Array, upper: Array) -> Range:
    """A range cut by further bounds."""
    return Range(backend.xp.maximum(x.lower, lower), backend.xp.minimum(x.upper, upper))
