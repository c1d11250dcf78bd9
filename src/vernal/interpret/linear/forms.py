"""Affine forms over the inputs of a graph, with a rounding radius; and the inputs themselves, batched over boxes.

A form says: value = A p + c, up to `error`, for the inputs p. It exists only for nodes that are affine in every box
of the batch (all phases decided); backward substitution may stop there without losing anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from vernal.errors import Stopped
from vernal.interpret.interval import concat, gather
from vernal.interpret.layers import Layer, layer
from vernal.interpret.linear.relaxations import Relaxation
from vernal.interpret.numbers.memory_room import refuse_beyond
from vernal.interpret.numbers.rounding import FLOOR, TINY, UNIT, Array, Backend, gamma
from vernal.interpret.value_sets import Range
from vernal.model import expr as e
from vernal.model.expr import Expr

MAX_INPUTS = 8192  # forms have a column for each
MAX_KEPT_NUMBERS = 4096  # numbers in an array that is kept for the next time


class Inputs:
    """The columns of linear forms: components of variables and of draws with constant ends, each with its range."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.columns: dict[Expr, slice] = {}
        self.names: list[tuple[Expr, int]] = []
        self._parts: list[Range] = []
        self._range: Range | None = None
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
        self._range = self._whole = None
        unit, zero = map(self.backend.array, unit_rows(tuple(range(start, self.count)), self.count))
        return Form(unit, zero, zero, self.backend.size(x.lower, x.upper))

    def joined(self, columns: Sequence[slice]) -> tuple[Range, Form]:
        """Several inputs one after the other: their range, and their form."""
        places = tuple(place for part in columns for place in range(part.start, part.stop))
        unit, zero = map(self.backend.array, unit_rows(places, self.count))
        lower, upper, size = self.range.lower, self.range.upper, self.ball[2]
        if places == tuple(range(self.count)):
            self.identity = Form(unit, zero, zero, size)
            return Range(lower, upper), self.identity
        lower, upper, size = (gather(self.backend, part, places) for part in (lower, upper, size))
        return Range(lower, upper), Form(unit, zero, zero, size)

    @property
    def ball(self) -> tuple[Array, Array, Array]:
        """Centre, radius (paying for the rounding of products with it) and largest absolute value of every input."""
        if self._whole is None:
            backend = self.backend
            whole = self.range
            lower, upper = whole.lower, whole.upper
            size = backend.size(lower, upper)
            centre = 0.5 * lower + 0.5 * upper
            radius = backend.xp.maximum(upper - centre, centre - lower)
            unbounded = size == np.inf
            if backend.some(unbounded):
                centre, radius = backend.where(unbounded, 0.0, centre), backend.where(unbounded, np.inf, radius)
            slack = gamma(self.count + 8)
            self._whole = centre, radius * (1.0 + 4.0 * slack) + (slack * abs(centre) + TINY), size
        return self._whole

    @property
    def range(self) -> Range:
        """The ranges of all inputs; of a graph without numbers, one box without components."""
        if self._range is None:
            parts = self._parts or [Range(self.backend.zeros((1, 0)), self.backend.zeros((1, 0)))]
            lower, upper = ([getattr(x, end) for x in parts] for end in ("lower", "upper"))
            self._range = Range(concat(self.backend, lower), concat(self.backend, upper))
        return self._range


def unit_rows(places: tuple[int, ...], count: int) -> tuple[Array, Array]:
    """(1, places, count): a row with a 1 in each of these places; and zeros (1, places). Read-only, since shared."""
    return _known_rows(places, count) if len(places) * count <= MAX_KEPT_NUMBERS else _unit_rows(places, count)


def _unit_rows(places: tuple[int, ...], count: int) -> tuple[Array, Array]:
    refuse_beyond(len(places) * count)
    unit, zero = np.zeros((1, len(places), count)), np.zeros((1, len(places)))
    unit[0, range(len(places)), places] = 1.0
    for array in (unit, zero):
        array.setflags(write=False)
    return unit, zero


_known_rows = lru_cache(maxsize=256)(_unit_rows)


class FormColumns(Protocol):
    """What the coefficients of forms go with."""

    @property
    def count(self) -> int: ...

    @property
    def identity(self) -> Form | None: ...

    @property
    def ball(self) -> tuple[Array, Array, Array]: ...


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


def concretise(backend: Backend, inputs: FormColumns, form: Form) -> Range:
    """The range of a form over the box."""
    if form.coefficients is None:
        return Range(*backend.fused(_widened, (), form.constant, form.constant, form.error))
    centre, radius, _ = inputs.ball
    count = form.coefficients.shape[-1]
    if count < inputs.count:
        centre, radius = centre[:, :count], radius[:, :count]
    known = (form.constant, form.error, form.size)
    return Range(*backend.rowwise(_spanned, [form.coefficients], known, [centre, radius]))


def _spanned(
    backend: Backend, A: Array, constant: Array, error: Array, size: Array, centre: Array, radius: Array
) -> tuple[Array, Array]:
    """The ends of A p + constant for inputs p around a centre, up to an error.

    The radius pays for the rounding of A centre. Every other number here is at most three times the size, and six are
    rounded on the way to an end, once each: 18 units, and fewer than half of 64 for what the size itself is rounded by.
    """
    middle, reach = constant + backend.dot(A, centre), backend.dot(abs(A), radius)
    if backend.some(backend.xp.isnan(reach)):  # 0 times an unbounded input is 0
        reach = backend.where(A == 0, 0.0, abs(A) * radius).sum(-1)
    reach = reach + (error + ((64.0 * UNIT) * size + TINY)) + (middle - middle)  # a nan where that overflowed
    return backend.known(middle - reach, middle + reach)


def _widened(backend: Backend, low: Array, high: Array, slack: Array) -> tuple[Array, Array]:
    return backend.known(backend.down(low - slack), backend.up(high + slack))


# How operators act on forms -------------------------------------------------------------------------------------------


def combine(
    backend: Backend,
    inputs: FormColumns,
    forms: Sequence[Form],
    slopes: Sequence[Array | None],
    offset: Array,
    gap: Array,
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


def affine_form(backend: Backend, form: Form, own: Layer, identity: bool = False) -> Form:
    """W x + b; of inputs as they are, the coefficients are those of W.

    With g = gamma(m + n + 8): the products with the coefficients and the constant are off by at most gamma(n + 1)
    (|W| size + |b|), less than g times the new size; FLOOR pays for underflow, and is in the layer's offset.
    """
    A = form.coefficients
    if identity:
        A = own.written_out()[None]
    elif A is not None:
        A = own.of(backend, A)
    size = own.most(backend, form.size)
    error = backend.product(form.error, own.magnitude) + own.slack * size
    return Form(A, backend.product(form.constant, own.transposed) + own.bias, error, size)


def exact_form(
    backend: Backend, inputs: FormColumns, node: Expr, forms: Sequence[Form], rule: Relaxation | None
) -> Form:
    """The form of an affine operator over forms of its arguments, or of an exact relaxation over those of its own."""
    zero = backend.number(0.0)
    match node:
        case e.Affine():
            return affine_form(backend, forms[0], layer(backend, node), forms[0] is inputs.identity)
        case e.Gather():
            return forms[0].map(backend, node.indices)
        case e.Concat():
            return _stack(backend, inputs, forms)
        case e.Neg():
            form = forms[0]
            A = None if form.coefficients is None else -form.coefficients
            return Form(A, -form.constant, form.error, form.size)
        case e.Add():
            return repeated(backend, combine(backend, inputs, forms, [None] * len(forms), zero, zero), node.size)
    assert rule is not None
    if rule.lower is rule.upper and rule.lower.offset is None and len(forms) == 1:
        return repeated(backend, kept(forms[0], rule.lower.slopes[0]), node.size)
    low, high = (zero if plane.offset is None else plane.offset for plane in (rule.lower, rule.upper))
    middle, gap = backend.fused(_gap, (), low, high)
    return repeated(backend, combine(backend, inputs, forms, rule.lower.slopes, middle, gap), node.size)


def _gap(backend: Backend, low: Array, high: Array) -> tuple[Array, Array]:
    """The middle of two offsets, and how far they are from it."""
    middle = 0.5 * low + 0.5 * high
    gap = backend.xp.maximum(high - middle, middle - low)
    return middle, backend.where(gap > 0, gap * (1.0 + 1e-12) + TINY, 0.0)


def kept(form: Form, active: Array) -> Form:
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


def _stack(backend: Backend, inputs: FormColumns, forms: Sequence[Form]) -> Form:
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
