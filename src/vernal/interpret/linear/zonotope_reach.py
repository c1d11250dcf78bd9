"""Forms with errors: how far a wide node may reach, from the inputs upward, before rows go back from each component.

Rows back from every open neuron of a wide layer cost as many ways through the network as there are neurons; a form has
a column for each input only. So where there are many more neurons than inputs, forms come first: through an unstable
ReLU as a multiple of its argument and an error, with a column of its own where it is among the largest. What they leave
open is asked by rows. Reference: zonotopes (Singh et al., Fast and effective robustness certification, 2018).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from vernal.interpret.layers import layer
from vernal.interpret.linear.forms import Form, Inputs, affine_form, combine, concretise, constant_form, exact_form
from vernal.interpret.linear.relaxations import Relaxation
from vernal.interpret.linear.rows import LinearGraph
from vernal.interpret.numbers.memory_room import numbers_at_once
from vernal.interpret.numbers.rounding import TINY, UNIT, Array, Backend, gamma
from vernal.interpret.numbers.sparse import Sparse
from vernal.interpret.value_sets import Range
from vernal.model import expr as e
from vernal.model.expr import Expr

ROWS_FOR_A_COLUMN = 8  # rows of open components for each input, from which on forms are asked first
MIN_COMPONENTS = 256  # open components of all boxes: fewer cost less than the calls
MAX_NUMBERS = 1 << 22  # in the coefficients of one form
MIN_WORK = 1 << 22  # of the same: rows that cost less are cheap, and what they leave is bounded more closely
MAX_WORK = 1 << 31  # entries of layers times rows that go back from one node, for each box: about a second
DENSE_ENTRY = 0.1  # what an entry of a dense layer costs, where one of a sparse layer costs 1
SUMS = (e.Add, e.Neg, e.Gather, e.Concat)


class Symbols:
    """The columns of forms with errors: those of the inputs, then errors between -1 and 1."""

    identity: Form | None = None

    def __init__(self, inputs: Inputs) -> None:
        self.inputs, self.first, self.errors = inputs, inputs.count, 0
        self.forms: dict[Expr, Form] = {}

    @property
    def count(self) -> int:
        return self.first + self.errors

    @property
    def ball(self) -> tuple[Array, Array, Array]:
        """As of inputs: centre, radius and largest absolute value, which pay for the rounding of products."""
        slack = gamma(self.count + 8)
        centre, radius, size = self.inputs.ball
        one = np.ones((len(radius), self.errors))
        wide = np.concatenate([radius, one], axis=1) * (1.0 + 4.0 * slack)
        middle = np.concatenate([centre, 0.0 * one], axis=1)
        return middle, wide + slack * abs(middle) + TINY, np.concatenate([size, one], axis=1)


class Evaluated(Protocol):
    """What is known of a graph."""

    backend: Backend
    inputs: Inputs
    graph: LinearGraph
    forms: dict[Expr, Form]
    reaches: Symbols | None
    batch: int

    def tick(self) -> object: ...

    def number(self, node: Expr) -> Range: ...


def is_worth_a_form(linear: Evaluated, node: Expr, components: int) -> bool:
    """Whether a form with errors costs much less than rows from so many open components of all boxes.

    Components whose sign the form tells have no rows, and so wider ranges than they would have by these: that is worth
    it only where rows are dear.
    """
    count = linear.inputs.count
    return (
        linear.backend.native
        and components >= max(MIN_COMPONENTS, ROWS_FOR_A_COLUMN * count * linear.batch)
        and 0 < count * node.size * linear.batch <= numbers_at_once(MAX_NUMBERS)
        and 2.0 * _way(linear, node) * components >= MIN_WORK * linear.batch
    )


def reach(linear: Evaluated, node: Expr) -> Range:
    """The range of a node by its form with errors."""
    if linear.reaches is None or linear.reaches.first != linear.inputs.count:
        linear.reaches = Symbols(linear.inputs)
    form = _form(linear, linear.reaches, node)
    return concretise(linear.backend, linear.reaches, form)


def widest(linear: Evaluated, node: Expr, x: Range, open_components: Array) -> Array:
    """Of the open components of each box those that are open widest, as many as rows may go back from."""
    most = int(MAX_WORK // (2.0 * max(1.0, _way(linear, node))))
    counts = np.count_nonzero(np.broadcast_to(open_components, (linear.batch, node.size)), axis=1)
    if most >= counts.max():
        return open_components
    gap = np.where(open_components, -x.lower * x.upper / (x.upper - x.lower), -1.0)
    gap = np.where(np.isnan(gap), np.inf, gap)
    if most < 1:
        return np.zeros_like(open_components)
    least = np.partition(gap, node.size - most, axis=1)[:, node.size - most, None]
    return np.asarray(open_components & (gap >= least))


def _way(linear: Evaluated, root: Expr) -> float:
    """What a row costs on its way from a node to the inputs, in entries of sparse layers."""
    seen, stack, total = {root}, [root], 0.0
    while stack:
        node = stack.pop()
        if node in linear.forms:
            continue
        if linear.graph.layer_argument(node) is not None:
            weight = layer(linear.backend, node).weight
            total += weight.rows.nnz if isinstance(weight, Sparse) else DENSE_ENTRY * weight.size
        fresh = [arg for arg in _arguments(linear, node) if arg not in seen]
        seen.update(fresh)
        stack += fresh
    return total


def _form(linear: Evaluated, symbols: Symbols, root: Expr) -> Form:
    """The form of a node, after those of all below it that have none yet."""
    stack = [root]
    while stack:
        node = stack[-1]
        missing = [arg for arg in _arguments(linear, node) if _known(linear, symbols, arg) is None]
        if missing:
            stack += missing
            continue
        stack.pop()
        if _known(linear, symbols, node) is None:
            linear.tick()
            symbols.forms[node] = _made(linear, symbols, node)
    found = _known(linear, symbols, root)
    assert found is not None
    return found


def _known(linear: Evaluated, symbols: Symbols, node: Expr) -> Form | None:
    return linear.forms.get(node) or symbols.forms.get(node)


def _arguments(linear: Evaluated, node: Expr) -> tuple[Expr, ...]:
    """What the form of a node is made of; nothing, where it is known or a constant around its range."""
    if node in linear.forms:
        return ()
    argument, rule = linear.graph.layer_argument(node), linear.graph.rules.get(node)
    if argument is not None:
        return (argument,)
    if isinstance(node, e.Relu) and rule is not None and rule.finite:
        return rule.args
    return node.args if isinstance(node, SUMS) else ()


def _made(linear: Evaluated, symbols: Symbols, node: Expr) -> Form:
    backend, rule = linear.backend, linear.graph.rules.get(node)
    forms = [form for arg in _arguments(linear, node) if (form := _known(linear, symbols, arg)) is not None]
    if not forms:
        return constant_form(backend, linear.number(node))
    if linear.graph.layer_argument(node) is not None:
        return affine_form(backend, forms[0], layer(backend, node))
    if rule is None or rule.exact:
        return exact_form(backend, symbols, node, forms, rule)
    return _relu(linear, symbols, forms[0], rule)


def _relu(linear: Evaluated, symbols: Symbols, form: Form, rule: Relaxation) -> Form:
    """s x <= max(x, 0) <= s x + t, for the chord's slope s, which is between 0 and 1."""
    (slope,), offset = rule.upper.slopes, rule.upper.offset
    assert offset is not None
    half = 0.5 * offset + TINY
    shape = linear.batch, form.constant.shape[-1]
    own = _largest(np.broadcast_to(half, shape), MAX_NUMBERS // (shape[0] * shape[1]) - symbols.count)
    boxes = np.arange(shape[0])[:, None]
    columns = np.zeros((*shape, own.shape[1]))
    columns[boxes, own, np.arange(own.shape[1])] = np.broadcast_to(half, shape)[boxes, own]
    kept = np.array(np.broadcast_to(half, shape))
    kept[boxes, own] = 0.0
    made = combine(linear.backend, symbols, [form], [slope], half, kept)
    A = np.zeros((*shape, symbols.count)) if made.coefficients is None else made.coefficients
    A = np.concatenate([np.broadcast_to(A, (*shape, A.shape[-1])), columns], axis=2)
    symbols.errors += own.shape[1]
    return Form(A, made.constant, made.error, (made.size + half) * (1.0 + 4.0 * UNIT))


def _largest(half: Array, most: int) -> Array:
    """(boxes, errors): the components with the largest errors of each box, as many as may have a column."""
    count = min(int(np.count_nonzero(half > 2.0 * TINY, axis=1).max()), max(0, most))
    return np.argsort(-half, axis=1, kind="stable")[:, :count]
