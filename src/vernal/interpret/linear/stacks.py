"""Stacks of dense layers, tried at once: where no neuron changes its sign, a network is affine, whatever its depth.

For few boxes it is calls that cost, not arithmetic. So every neuron is taken to have the sign it has at the centre of
each box, layer after layer, up to the first one that does not look like that; then the ranges of all these layers are
computed as one, rigorously, and show how far it is true.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from weakref import WeakKeyDictionary

from vernal.interpret.interval import concat
from vernal.interpret.layers import layer
from vernal.interpret.linear.forms import Form, Inputs, affine_form, concretise, kept
from vernal.interpret.numbers.rounding import Array, Backend
from vernal.interpret.value_sets import Range
from vernal.model import expr as e
from vernal.model.expr import Expr


@dataclass(frozen=True, slots=True, eq=False)
class DenseStack:
    """What is below an affine layer: layer, ReLU, layer, ..., ReLU; and what the first one is applied to."""

    base: Expr
    inner: tuple[Expr, ...]


_stacks: WeakKeyDictionary[Expr, DenseStack | None] = WeakKeyDictionary()


def stack_below(node: e.Affine) -> DenseStack | None:
    """The stack that a layer ends, if there is more than the layer; made once."""
    if node not in _stacks:
        _stacks[node] = _make(node)
    return _stacks[node]


def _make(node: e.Affine) -> DenseStack | None:
    inner: list[Expr] = []
    (base,) = node.args
    while isinstance(base, e.Relu) and isinstance(base.args[0], e.Affine):
        inner += [base, base.args[0]]
        (base,) = base.args[0].args
    return DenseStack(base, tuple(reversed(inner))) if inner else None


Settled = list[tuple[e.Affine, Range, Form]]  # layers, with their ranges and forms


def settled(backend: Backend, inputs: Inputs, form: Form, layers: Sequence[e.Affine]) -> Settled:
    """The layers that are affine over every box, from the first one on, above something with this form."""
    forms = _guessed(backend, inputs, form, layers)
    ends = list(accumulate(node.size for node in layers[: len(forms)]))
    x = concretise(backend, inputs, _joined(backend, forms))
    if len(forms) > 1:
        inner = ends[-2]  # the last of them has no ReLU
        *_, changing = backend.nonzero((x.lower[:, :inner] < 0) & (x.upper[:, :inner] > 0))
        if len(changing):
            del forms[bisect_right(ends, int(changing.min())) + 1 :]
    made, start = [], 0
    for node, own, end in zip(layers, forms, ends, strict=False):
        made.append((node, Range(x.lower[:, start:end], x.upper[:, start:end]), own))
        start = end
    return made


def _guessed(backend: Backend, inputs: Inputs, form: Form, layers: Sequence[e.Affine]) -> list[Form]:
    """Forms of layers if every neuron keeps the sign it has at the centre: up to a layer where one seems not to."""
    centre, radius, _ = inputs.ball
    forms: list[Form] = []
    for node in layers:
        form = affine_form(backend, form, layer(backend, node), form is inputs.identity)
        forms.append(form)
        assert form.coefficients is not None
        count = form.coefficients.shape[-1]
        middle = form.constant + backend.dot(form.coefficients, centre[:, None, :count])
        if node is layers[-1] or backend.some(abs(middle) <= _reach(backend, form.coefficients, radius[:, :count])):
            break
        form = kept(form, backend.truth(middle > 0))
    return forms


def _reach(backend: Backend, A: Array, radius: Array) -> Array:
    return backend.dot(abs(A), radius[:, None])


def _joined(backend: Backend, forms: Sequence[Form]) -> Form:
    """Forms of the same boxes, one after the other."""
    if len(forms) == 1:
        return forms[0]
    parts = zip(*((form.coefficients, form.constant, form.error, form.size) for form in forms), strict=True)
    return Form(*(concat(backend, part) for part in parts))  # none of the coefficients is None
