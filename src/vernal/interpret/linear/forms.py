"""Affine forms over the inputs of a graph, with a rounding radius; and the inputs themselves, batched over boxes.

A form says: value = A p + c, up to `error`, for the inputs p. It exists only for nodes that are affine in every box
of the batch (all phases decided); backward substitution may stop there without losing anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vernal.errors import Stopped
from vernal.interpret.abstract import Range
from vernal.interpret.interval import concat, gather
from vernal.interpret.linear.relax import Relaxation
from vernal.interpret.numbers.rounding import FLOOR, TINY, Array, Backend, gamma
from vernal.model import expr as e
from vernal.model.expr import Expr

MAX_INPUTS = 8192  # forms have a column for each


class Inputs:
    """The columns of linear forms: components of variables and of draws with constant ends, each with its range."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.columns: dict[Expr, slice] = {}
        self.names: list[tuple[Expr, int]] = []
        self._parts: list[Range] = []
        self._whole: tuple[Array, Array, Array] | None = None
        self.identity: Form | None = None  # of all inputs in their order, where somebody has asked for it

    @property
    def count(self) -> int:
        return len(self.names)

    def add(self, node: Expr, x: Range) -> Form:
        """A new input, as a form."""
        start = self.count
        if start + node.size > MAX_INPUTS:
            raise Stopped(f"more than {MAX_INPUTS:,} inputs are too many for linear bounds")
        self.columns[node] = slice(start, start + node.size)
        self.names += [(node, index) for index in range(node.size)]
        self._parts.append(x)
        self._whole = None
        xp = self.backend.xp
        unit = np.zeros((1, node.size, self.count))
        unit.reshape(-1)[start :: self.count + 1] = 1.0
        size = self.backend.size(x.lower, x.upper)
        zero = xp.zeros_like(size[:1])
        return Form(self.backend.array(unit), zero, zero, size)

    def joined(self, columns: Sequence[slice]) -> Form:
        """Several inputs one after the other, as a form."""
        places = np.concatenate([np.arange(part.start, part.stop) for part in columns])
        unit = np.zeros((1, len(places), self.count))
        unit[0, np.arange(len(places)), places] = 1.0
        zero = self.backend.array(np.zeros((1, len(places))))
        form = Form(self.backend.array(unit), zero, zero, self.ball[2][:, self.backend.array(places)])
        self.identity = form if np.array_equal(places, np.arange(self.count)) else self.identity
        return form

    @property
    def ball(self) -> tuple[Array, Array, Array]:
        """Centre, radius (paying for the rounding of products with it) and largest absolute value of every input."""
        if self._whole is None:
            backend = self.backend
            whole = self.range
            lower, upper = whole.lower, whole.upper
            size = backend.size(lower, upper)
            centre = backend.where(size < np.inf, 0.5 * lower + 0.5 * upper, 0.0)
            radius = backend.up(backend.xp.maximum(upper - centre, centre - lower))
            radius = backend.where(size < np.inf, radius, np.inf)
            slack = gamma(self.count + 8)
            self._whole = centre, (radius + slack * (abs(centre) + radius)) * (1 + 2 * slack) + TINY, size
        return self._whole

    @property
    def range(self) -> Range:
        """The ranges of all inputs; of a graph without numbers, one box without components."""
        if not self._parts:
            return Range(self.backend.zeros((1, 0)), self.backend.zeros((1, 0)))
        return Range(
            concat(self.backend, [x.lower for x in self._parts]), concat(self.backend, [x.upper for x in self._parts])
        )


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """value = coefficients p + constant, up to error; size bounds |coefficients| |p| + |constant| + error."""

    coefficients: Array | None  # (batch or 1, components, inputs known when it was made); None is all 0
    constant: Array  # (batch or 1, components), like the next two
    error: Array
    size: Array

    @property
    def shared(self) -> bool:
        """Whether all boxes have the same coefficients."""
        return self.coefficients is not None and self.coefficients.shape[0] == 1

    def map(self, backend: Backend, indices: Sequence[int]) -> Form:
        """Some components."""
        A = None if self.coefficients is None else gather(backend, self.coefficients, indices)
        return Form(A, *(gather(backend, part, indices) for part in (self.constant, self.error, self.size)))


def constant_form(backend: Backend, x: Range) -> Form:
    """A value known up to rounding."""
    return Form(None, *backend.fused(_centred, (), x.lower, x.upper))


def _centred(backend: Backend, lower: Array, upper: Array) -> tuple[Array, Array, Array]:
    middle = 0.5 * lower + 0.5 * upper
    middle = backend.where(backend.xp.isfinite(middle), middle, 0.0)
    error = backend.xp.maximum(upper - middle, middle - lower)
    error = backend.where(error > 0, backend.up(error), 0.0)
    return middle, error, backend.size(-abs(middle), backend.up(abs(middle) + error))


def widen(backend: Backend, A: Array, count: int) -> Array:
    """Coefficients with a column for every input there is now."""
    missing = count - A.shape[-1]
    if not missing:
        return A
    zeros = backend.zeros((*A.shape[:-1], missing))
    return backend.concat([A, zeros], -1)


def concretise(backend: Backend, inputs: Inputs, form: Form) -> Range:
    """The range of a form over the box."""
    if form.coefficients is None:
        return Range(*backend.fused(_widened, (), form.constant, form.constant, form.error))
    centre, radius, _ = inputs.ball
    count = form.coefficients.shape[-1]
    known = (form.constant, form.error)
    return Range(*backend.rowwise(_spanned, [form.coefficients], known, [centre[:, :count], radius[:, :count]]))


def _spanned(
    backend: Backend, A: Array, constant: Array, error: Array, centre: Array, radius: Array
) -> tuple[Array, Array]:
    """The ends of A p + constant for inputs p around a centre, up to an error."""
    middle, reach = backend.dot(A, centre), backend.dot(abs(A), radius)
    if backend.some(backend.xp.isnan(reach)):  # 0 times an unbounded input is 0
        reach = backend.where(A == 0, 0.0, abs(A) * radius).sum(-1)
    slack = backend.up(backend.up(error + reach) + TINY) + (middle - middle)  # a nan where that overflowed
    return _widened(backend, backend.down(constant + middle), backend.up(constant + middle), slack)


def _widened(backend: Backend, low: Array, high: Array, slack: Array) -> tuple[Array, Array]:
    return backend.known(backend.down(low - slack), backend.up(high + slack))


# How operators act on forms -------------------------------------------------------------------------------------------


def combine(
    backend: Backend, inputs: Inputs, forms: Sequence[Form], slopes: Sequence[Array | None], offset: Array, gap: Array
) -> Form:
    """sum of slope * form + offset, up to gap; a slope None is 1."""
    A: Array | None = None
    for form, a in zip(forms, slopes, strict=True):
        if form.coefficients is not None:
            part = widen(backend, form.coefficients, inputs.count)
            part = part if a is None else part * a[..., None]
            A = part if A is None else A + part
    static = tuple(a is not None for a in slopes)
    parts = [part for form in forms for part in (form.constant, form.error, form.size)]
    return Form(A, *backend.fused(_combined, (static,), offset, gap, *parts, *(a for a in slopes if a is not None)))


def _combined(
    backend: Backend, scaled: tuple[bool, ...], offset: Array, gap: Array, *arrays: Array
) -> tuple[Array, Array, Array]:
    """Constant, error and size of a sum of forms, some of them multiplied."""
    count = len(scaled)
    factors = iter(arrays[3 * count :])
    slack = gamma(count + 4)
    c, error, size = offset, gap, abs(offset) + gap
    for index, is_scaled in enumerate(scaled):
        middle, doubt, most = arrays[3 * index : 3 * index + 3]
        if is_scaled:
            a = next(factors)
            middle, doubt, most = a * middle, abs(a) * doubt, abs(a) * most
        c, error, size = c + middle, error + doubt, size + most
    size = size * (1.0 + 4.0 * slack)
    rounded = error * (1.0 + 4.0 * slack) + slack * size
    return c, rounded + FLOOR if any(scaled) else rounded, size


def affine_form(backend: Backend, form: Form, W: Array, b: Array, identity: bool = False) -> Form:
    """W x + b; of inputs as they are, the coefficients are those of W."""
    slack = gamma(W.shape[1] + 4)
    V = abs(W)
    size = (form.size @ V.T + abs(b)) * (1.0 + 4.0 * slack) + TINY
    error = (form.error @ V.T) * (1.0 + 4.0 * slack) + slack * size + FLOOR
    A = form.coefficients
    A = None if A is None else W[None] if identity else backend.xp.matmul(W, A)
    return Form(A, form.constant @ W.T + b, error, size)


def exact_form(backend: Backend, inputs: Inputs, node: Expr, forms: Sequence[Form], rule: Relaxation | None) -> Form:
    """The form of an affine operator over forms of its arguments, or of an exact relaxation over those of its own."""
    zero = backend.number(0.0)
    match node:
        case e.Affine():
            W, b = (backend.weights(m.array) for m in (node.weight, node.bias))
            return affine_form(backend, forms[0], W, b, forms[0] is inputs.identity)
        case e.Gather():
            return forms[0].map(backend, node.indices)
        case e.Concat():
            places = [inputs.columns.get(arg) for arg in node.args]
            columns = [place for place in places if place is not None]
            return _stack(backend, inputs, forms) if len(columns) < len(places) else inputs.joined(columns)
        case e.Neg():
            form = forms[0]
            A = None if form.coefficients is None else -form.coefficients
            return Form(A, -form.constant, form.error, form.size)
        case e.Add():
            return repeated(backend, combine(backend, inputs, forms, [None] * len(forms), zero, zero), node.size)
    assert rule is not None
    if rule.lower is rule.upper and rule.lower.offset is None and len(forms) == 1:
        return repeated(backend, _kept(forms[0], rule.lower.slopes[0]), node.size)
    low, high = (zero if plane.offset is None else plane.offset for plane in (rule.lower, rule.upper))
    middle, gap = backend.fused(_gap, (), low, high)
    return repeated(backend, combine(backend, inputs, forms, rule.lower.slopes, middle, gap), node.size)


def _gap(backend: Backend, low: Array, high: Array) -> tuple[Array, Array]:
    """The middle of two offsets, and how far they are from it."""
    middle = 0.5 * low + 0.5 * high
    gap = backend.xp.maximum(high - middle, middle - low)
    return middle, backend.where(gap > 0, gap * (1.0 + 1e-12) + TINY, 0.0)


def _kept(form: Form, active: Array) -> Form:
    """Components as they are where a slope is 1, and 0 where it is 0: nothing is rounded."""
    A = None if form.coefficients is None else form.coefficients * active[..., None]
    return Form(A, form.constant * active, form.error * active, form.size * active)


def repeated(backend: Backend, form: Form, size: int) -> Form:
    """A scalar's form in the place of a vector's."""
    A = form.coefficients
    if form.constant.shape[-1] == size and (A is None or A.shape[1] == size):
        return form

    def every(array: Array) -> Array:
        return backend.xp.broadcast_to(array, (array.shape[0], size, *array.shape[2:]))

    return Form(None if A is None else every(A), every(form.constant), every(form.error), every(form.size))


def _stack(backend: Backend, inputs: Inputs, forms: Sequence[Form]) -> Form:
    """Vectors one after the other."""
    rest = [concat(backend, parts) for parts in zip(*((f.constant, f.error, f.size) for f in forms), strict=True)]
    if all(form.coefficients is None for form in forms):
        return Form(None, *rest)
    parts = [
        backend.zeros((1, form.constant.shape[-1], inputs.count))
        if form.coefficients is None
        else widen(backend, form.coefficients, inputs.count)
        for form in forms
    ]
    return Form(concat(backend, parts), *rest)
