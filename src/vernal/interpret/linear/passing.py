"""What becomes of rows and their constants on their way through one operator: functions that may be fused.

Each takes a backend, what is fixed, rows (groups, r, n), their constants (groups, r), the slack gamma(n) of the sums
it makes, and arrays of boxes with an axis for rows; it returns the new rows, and the new constants last. Every one
keeps the invariant of `rows`: constants are lowered by at least what rounding may have cost, in any order of
summation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from vernal.interpret.numbers.rounding import FLOOR, TINY, UNIT, Array, Backend

RowFunction = Callable[..., tuple[Array, ...]]


def _lost(backend: Backend, constant: Array, amount: Array) -> Array:
    """The constants, lowered by something not negative."""
    return backend.down(constant - amount)


def _gained(backend: Backend, constant: Array, amount: Array) -> Array:
    """A sum with the constants, rounded down; one that overflowed is no bound, whatever is lost later."""
    return backend.below(constant + amount)


def weigh(backend: Backend, weights: Array, amounts: Array, slack: Array | float) -> Array:
    """weights . amounts for both not negative, rounded up; 0 times infinity is 0. The slack is that of n + 2 terms."""
    total = backend.dot(weights, amounts)
    if backend.some(backend.xp.isnan(total)):
        total = backend.where(weights == 0, 0.0, weights * amounts).sum(-1)
    return total * (1.0 + 2.0 * slack) + TINY


def joined(backend: Backend, one: Array, other: Array, constant: Array, slack: Array, size: Array) -> tuple[Array, ...]:
    """The sum of two rows for one node, of values at most `size`."""
    L = one + other
    return L, _lost(backend, constant, weigh(backend, abs(L), UNIT * (1.0 + 1e-12) * size, slack))


def summed(backend: Backend, L: Array, constant: Array, slack: Array, size: Array) -> tuple[Array, ...]:
    """What it costs to add up the entries of a row: a scalar went with every component."""
    amounts = slack * (1.0 + 1e-12) * size + backend.xp.zeros_like(L)
    return (_lost(backend, constant, weigh(backend, abs(L), amounts, slack)),)


def landed(
    backend: Backend, L: Array, constant: Array, slack: Array, middle: Array, error: Array, size: Array
) -> tuple[Array, ...]:
    """Rows at nodes that are `middle` plus a multiple of the inputs, up to `error`."""
    constant = _gained(backend, constant, backend.dot(L, middle))
    return (_lost(backend, constant, weigh(backend, abs(L), (error + slack * size) * (1.0 + 1e-12), slack)),)


def layer(
    backend: Backend, finite: bool, L: Array, constant: Array, slack: Array, bias: Array, cost: Array
) -> tuple[Array, ...]:
    """What an affine layer adds to the constants, and what the rounding of rows on their way through it costs."""
    constant = _gained(backend, constant, backend.times(L, bias))
    norm = backend.xp.sqrt(backend.dot(L, L) + 1e-290)
    if not finite:
        known = backend.xp.isfinite(cost)
        some = backend.where(L != 0, 1.0, 0.0).sum(-1) > 0
        constant = _lost(backend, constant, backend.where(some & ~known, np.inf, 0.0))
        cost = backend.where(known, cost, 0.0)
    return (_lost(backend, constant, norm * ((1.0 + 1e-12) * cost)),)


def multiples(
    backend: Backend, count: int, L: Array, constant: Array, slack: Array, *slopes: Array
) -> tuple[Array, ...]:
    """Exact multiples of the arguments."""
    return *(L * slope for slope in slopes), constant


def doubtful(
    backend: Backend, L: Array, constant: Array, slack: Array, doubt: Array, slope: Array
) -> tuple[Array, ...]:
    """A multiple that is known up to some doubt."""
    return L * slope, _lost(backend, constant, backend.dot(abs(L), doubt))


def between_planes(
    backend: Backend,
    count: int,
    is_low: bool,
    is_high: bool,
    finite: bool,
    L: Array,
    constant: Array,
    slack: Array,
    *planes: Array,
) -> tuple[Array, ...]:
    """Entries above 0 go with the plane below, the others with the plane above."""
    lows, highs, offsets = planes[:count], planes[count : 2 * count], planes[2 * count :]
    above = backend.positive(L)
    below = L - above
    if is_low:
        constant = _gained(backend, constant, _against(backend, above, offsets[0], finite))
    if is_high:
        constant = _gained(backend, constant, _against(backend, below, offsets[-1], finite))
    made = [] if count < 2 else [above * low + below * high for low, high in zip(lows[:-1], highs[:-1], strict=True)]
    if count:  # the parts are not needed any more: in place, which is what makes long batches fast
        above *= lows[-1]
        below *= highs[-1]
        above += below
        made.append(above)
    return *made, constant


def _against(backend: Backend, part: Array, offset: Array, finite: bool) -> Array:
    if finite:
        return backend.dot(part, offset)
    parts = backend.where(part == 0, 0.0, part * offset)
    return cast(Array, parts.sum(-1))


def least(backend: Backend, A: Array, low: Array, slack: Array, centre: Array, radius: Array) -> tuple[Array, ...]:
    """The least value of rows over a box."""
    middle = backend.dot(A, centre)
    return (_lost(backend, backend.below(low + middle), weigh(backend, abs(A), radius, slack)),)


def floor(backend: Backend, low: Array) -> tuple[Array]:
    low = backend.down(low - FLOOR)
    return (backend.where(backend.xp.isnan(low), -np.inf, low),)
