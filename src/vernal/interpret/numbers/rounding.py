"""Rigorous floating point: every operation here bounds its rounding error.

With u = 2^-53 and gamma(n) = n u / (1 - n u), any order of summation satisfies |fl(w.x) - w.x| <= gamma(n) |w|.|x|
(Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1). Single operations are moved to the next
float outward, unless they are known to be exact: sums through the error-free transformation of Knuth, products
through the lengths of the factors. So counters, halves and integers stay points.

Arrays are numpy's or torch's (on any device), and are typed as numpy's: their operators are the same, `Namespace` lists
the functions of both, and a `Backend` hides the few names in which the two differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Protocol, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.numbers.sparse import Sparse
from vernal.model.lazy import cached_property

# Of float64, truth values, indices, or rationals as objects; a torch tensor may stand in for one, see `torch_tensor`.
Array = NDArray[Any]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

UNIT = 2.0**-53
LEAST_FLOAT = 2.0**-1074  # the smallest number above 0
TINY = 2.0**-1000  # far above what underflow can lose in any dot product, far below anything that matters
LARGEST = 2.0**900  # values beyond count as unbounded, so that ...
FLOOR = 2.0**-120  # ... the underflow of coefficients (2^-1075 each) times values stays far below this, however many
PI = (3.141592653589793, 3.1415926535897936)  # the two floats around the circle number


def gamma(n: int) -> float:
    """A bound on the relative rounding error of n operations in a row, itself rounded up."""
    return n * UNIT * (1.0 + 2.0 * n * UNIT + 1e-15)


def float_below(value: Fraction) -> float:
    """The largest float not above a rational."""
    return _nearest(value, downward=True)


def float_above(value: Fraction) -> float:
    """The smallest float not below a rational."""
    return _nearest(value, downward=False)


def _nearest(value: Fraction, *, downward: bool) -> float:
    try:
        near = value.numerator / value.denominator  # correctly rounded
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    above = near > 0  # of an infinite one
    if math.isfinite(near):
        numerator, denominator = near.as_integer_ratio()
        gap = numerator * value.denominator - value.numerator * denominator
        if gap == 0:
            return near
        above = gap > 0
    return math.nextafter(near, -math.inf if downward else math.inf) if above == downward else near


def namespace(*arrays: Array) -> Any:
    """The module whose functions take these arrays: through array-api-compat where installed, else numpy or torch."""
    try:
        from array_api_compat import array_namespace
    except ImportError:
        if all(isinstance(array, np.ndarray) for array in arrays):
            return np
        import torch

        return torch
    return array_namespace(*arrays) if arrays else np


def bounding(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Ends of numpy in which one that is not a number, or has overflowed to the wrong side, is no bound."""
    if np.isfinite(lower).all() and np.isfinite(upper).all():
        return lower, upper
    return np.where(lower < np.inf, lower, -np.inf), np.where(upper > -np.inf, upper, np.inf)


class Namespace(Protocol):
    """The functions of numpy that torch has as well, under the same name and with the same meaning."""

    int64: Any
    float64: Any

    def amax(self, x: Array, axis: int, /) -> Array: ...
    def amin(self, x: Array, axis: int, /) -> Array: ...
    def asarray(self, x: Array, /, *, device: Any) -> Array: ...
    def broadcast_to(self, x: Array, shape: Sequence[int], /) -> Array: ...
    def ceil(self, x: Array, /) -> Array: ...
    def concat(self, arrays: Sequence[Array], /, *, axis: int) -> Array: ...
    def cos(self, x: Array, /) -> Array: ...
    def exp(self, x: Array, /) -> Array: ...
    def floor(self, x: Array, /) -> Array: ...
    def isfinite(self, x: Array, /) -> Array: ...
    def isnan(self, x: Array, /) -> Array: ...
    def matmul(self, x: Array, y: Array, /) -> Array: ...
    def maximum(self, x: Array, y: Array, /) -> Array: ...
    def minimum(self, x: Array, y: Array, /) -> Array: ...
    def nextafter(self, x: Array, towards: Array, /) -> Array: ...
    def ones_like(self, x: Array, /) -> Array: ...
    def round(self, x: Array, /) -> Array: ...
    def sign(self, x: Array, /) -> Array: ...
    def sin(self, x: Array, /) -> Array: ...
    def sqrt(self, x: Array, /) -> Array: ...
    def stack(self, arrays: Sequence[Array], /, *, axis: int = 0) -> Array: ...
    def tan(self, x: Array, /) -> Array: ...
    def tanh(self, x: Array, /) -> Array: ...
    def zeros_like(self, x: Array, /) -> Array: ...


def torch_tensor(x: Array) -> Any:
    """An array that is a torch tensor, for what only torch has: nothing is checked there."""
    return x


def any_along(mask: Array) -> Array:
    """Whether any entry along the last axis is true."""
    return cast(Array, mask.any(-1))


def all_along(mask: Array) -> Array:
    """Whether all entries along the last axis are true."""
    return cast(Array, mask.all(-1))


def by_rows(array: Array) -> Array:
    """What is known of boxes, (boxes, n) or (boxes,), with an axis for the rows of each."""
    return array[:, None]


class Fuser(Protocol):
    """Computes a whole function of arrays at once; see `kernel_launch`."""

    def components(
        self, function: Callable[..., tuple[Array, ...]], static: tuple[Any, ...], arrays: Sequence[Any], /
    ) -> tuple[Array, ...]: ...

    def rows(
        self,
        function: Callable[..., tuple[Array, ...]],
        static: tuple[Any, ...],
        components: Sequence[Any],
        rows: Sequence[Any],
        boxes: Sequence[Any],
        index: Any,
        /,
    ) -> tuple[Array, ...]: ...


class Backend:
    """Where arrays live, and the operations the bounds are made of."""

    traces = False  # whether arrays have no values, see `kernel_trace`

    def __init__(self, like: Array | None = None, fuser: Fuser | None = None) -> None:
        """Arrays are such as `like`; `fuser` computes whole functions, where operation by operation would be slow."""
        self.native = like is None or isinstance(like, np.ndarray)
        functions: Any = np if like is None or self.native else namespace(like)
        self.xp: Namespace = functions
        self.device: Any = None if like is None or self.native else torch_tensor(like).device
        self.on_host = self.native or str(self.device) == "cpu"
        self.fuser = fuser
        self.kept: WeakKeyDictionary[Any, object] = WeakKeyDictionary()  # layers made once, as long as their nodes live
        self.turns: WeakKeyDictionary[Any, object] = WeakKeyDictionary()  # of gathers, see `rows`
        self._arrays: dict[int, tuple[object, Array]] = {}
        self._numbers: dict[tuple[tuple[float, ...], ...], Array] = {}
        self._scalars: dict[float, Array] = {}

    def array(self, values: Any) -> Array:
        """Numbers or truth values as an array of this backend."""
        if self.native:
            return np.asarray(values)
        return self.xp.asarray(np.array(values), device=self.device)

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """A new array of zeros."""
        if self.native:
            return np.zeros(shape)
        import torch

        return cast(Array, torch.zeros(shape, dtype=torch.float64, device=self.device))

    def weights(self, source: Any) -> Array:
        """A network's matrix on this device, moved there once."""
        if self.native:
            return cast(Array, source)
        if id(source) not in self._arrays:
            self._arrays[id(source)] = (source, self.array(source))
        return self._arrays[id(source)][1]

    def number(self, value: float) -> Array:
        """A plain number as an array (1, 1), made once."""
        return self.constant(((value,),))

    def constant(self, rows: tuple[tuple[float, ...], ...]) -> Array:
        """A few numbers as an array, made once."""
        if rows not in self._numbers:
            self._numbers[rows] = self.array(np.array(rows))
        return self._numbers[rows]

    def copy(self, x: Array) -> Array:
        """An array of its own, to be written to."""
        return x.copy() if self.native else cast(Array, torch_tensor(x).clone())

    def fused(
        self, function: Callable[..., tuple[Array, ...]], static: tuple[Any, ...], *arrays: Array
    ) -> tuple[Array, ...]:
        """function(backend, *static, *arrays), which works component by component: at once, where there is a fuser."""
        if self.fuser is None:
            return function(self, *static, *arrays)
        return self.fuser.components(function, static, arrays)

    def rowwise(
        self,
        function: Callable[..., tuple[Array, ...]],
        components: Sequence[Array],
        rows: Sequence[Array],
        boxes: Sequence[Array],
    ) -> tuple[Array, ...]:
        """function(backend, *components, *rows, *boxes) of arrays (boxes, r, n), (boxes, r) and (boxes, n); any of them
        may be the same for all boxes, and only the sums along the last axis join components.
        """
        if self.fuser is None:
            return function(self, *components, *rows, *map(by_rows, boxes))
        return self.fuser.rows(function, (), components, rows, boxes, None)

    @cached_property
    def infinity(self) -> Array:
        return self.array(np.float64(np.inf))

    @cached_property
    def negative_infinity(self) -> Array:
        return self.array(np.float64(-np.inf))

    @cached_property
    def least(self) -> Array:
        """The smallest number above 0."""
        return self.array(np.float64(LEAST_FLOAT))

    def up(self, x: Array) -> Array:
        """The next float above."""
        return self.xp.nextafter(x, self.infinity)

    def down(self, x: Array) -> Array:
        """The next float below."""
        return self.xp.nextafter(x, self.negative_infinity)

    def below(self, x: Array) -> Array:
        """A float below, two units at most; a sum that has overflowed upward becomes a nan, and stays one."""
        return cast(Array, x - (abs(x) * (2.0 * UNIT) + TINY))

    def some(self, mask: Array) -> bool:
        """Whether any entry is true: asked so often of small arrays that the way of asking matters."""
        return bool(np.count_nonzero(mask) if self.native else mask.any())

    def count(self, mask: Array) -> int:
        """How many entries are true."""
        return int(np.count_nonzero(mask) if self.native else mask.sum())

    def positive(self, x: Array) -> Array:
        """max(x, 0)"""
        return np.maximum(x, 0.0) if self.native else torch_tensor(x).clamp(min=0.0)

    def magnitude(self, lower: Array, upper: Array) -> Array:
        """The largest absolute value in a range."""
        return self.xp.maximum(abs(lower), abs(upper))

    def size(self, lower: Array, upper: Array) -> Array:
        """The largest absolute value in a range, infinite beyond what linear bounds compute with."""
        return _size(self, lower, upper)[0] if self.fuser is None else self.fused(_size, (), lower, upper)[0]

    def nonzero(self, mask: Array) -> tuple[Array, ...]:
        """The indices of true entries, one array for each axis."""
        found: tuple[Array, ...] = np.nonzero(mask) if self.native else torch_tensor(mask).nonzero(as_tuple=True)
        return found

    def where(self, mask: Array, x: Array | float, y: Array | float) -> Array:
        """x where the mask is true, else y; either may be a plain number."""
        if self.native:
            return np.where(mask, x, y)
        import torch

        return cast(Array, torch.where(mask, self._scalar(x), self._scalar(y)))

    def _scalar(self, value: Array | float) -> Array:
        """A plain number as an array without axes, made once: torch would make single precision of two of them."""
        if not isinstance(value, float):
            return value
        if value not in self._scalars:
            self._scalars[value] = self.array(np.float64(value))
        return self._scalars[value]

    def truth(self, mask: Array) -> Array:
        """1 where a mask is true, else 0."""
        return mask.astype(np.float64) if self.native else self.where(mask, 1.0, 0.0)

    def concat(self, parts: Sequence[Array], axis: int) -> Array:
        """Arrays one after the other along an axis."""
        return np.concatenate(parts, axis) if self.native else self.xp.concat(list(parts), axis=axis)

    def known(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bounds in which a nan (inf - inf, 0 * inf) is the whole line."""
        if self.native:
            return np.fmax(lower, self.negative_infinity), np.fmin(upper, self.infinity)  # these prefer anything to nan
        isnan = self.xp.isnan
        return self.where(isnan(lower), -np.inf, lower), self.where(isnan(upper), np.inf, upper)

    def bound_below(self, x: Array) -> Array:
        """Lower bounds in which a nan bounds nothing."""
        return np.fmax(x, self.negative_infinity) if self.native else self.where(self.xp.isnan(x), -np.inf, x)

    def dot(self, x: Array, y: Array) -> Array:
        """The scalar products along the last axis, with broadcasting."""
        return cast(Array, np.vecdot(x, y) if self.native else (x * y).sum(-1))

    def times(self, rows: Array, vector: Array) -> Array:
        """The scalar products of rows with one vector (1, 1, n)."""
        return cast(Array, rows @ vector[0, 0] if self.native else self.dot(rows, vector))

    def product(self, rows: Array, matrix: Array | Sparse) -> Array:
        """Rows (boxes, n) times a matrix (n, m); of small arrays numpy's `dot` takes a third of the time of `@`."""
        if isinstance(matrix, Sparse):
            return matrix.after(rows)
        return cast(Array, rows.dot(matrix) if self.native else rows @ matrix)

    # Sums and products rounded both ways ------------------------------------------------------------------------------

    def sums(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Floats below and above a + b, equal where the sum is a float."""
        s = a + b
        t = s - a
        error = (a - (s - t)) + (b - t)
        if self.native and not error.any():  # a nan counts as an error
            return s, s
        return self.where(error >= 0, s, self.down(s)), self.where(error <= 0, s, self.up(s))

    def products(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Floats below and above a * b, equal where both factors are short (24 bits) or one is 0."""
        p = a * b
        exact = self.short(a) & self.short(b)
        return self.where(exact, p, self.down(p)), self.where(exact, p, self.up(p))

    def quotients(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Floats below and above a / b, equal where the quotient is short."""
        q = a / b
        exact = self.short(q) & self.short(b) & (q * b == a)
        return self.where(exact, q, self.down(q)), self.where(exact, q, self.up(q))

    def short(self, x: Array) -> Array:
        """Whether a number has at most 24 significant bits, so that the product of two is exact."""
        if self.native:
            return cast(Array, x.astype(np.float32) == x)
        import torch

        return cast(Array, torch_tensor(x).to(torch.float32).to(torch.float64) == x)


def _size(backend: Backend, lower: Array, upper: Array) -> tuple[Array]:
    found = backend.xp.maximum(abs(lower), abs(upper))
    beyond = found > LARGEST
    return (backend.where(beyond, np.inf, found) if backend.some(beyond) else found,)
