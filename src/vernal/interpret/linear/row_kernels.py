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


def _lowered(total: Array, amount: Array) -> Array:
    """At most total - amount, for an amount of at least TINY that is too large by a factor of 1 + 4 u or more.

    That factor pays for the rounding of the amount here, and 4 u |total| for that of the total, a sum of two just made,
    and of the difference. A total that has overflowed upward becomes a nan, and stays one: it is no bound.
    """
    return cast(Array, total - (amount + abs(total) * (4.0 * UNIT)))


def _gained(backend: Backend, constant: Array, amount: Array) -> Array:
    """A sum with the constants, rounded down; one that overflowed is no bound, whatever is lost later."""
    return backend.below(constant + amount)


def weigh(
    backend: Backend, weights: Array, amounts: Array, slack: Array | float, least: float = TINY, factor: float = 1.0
) -> Array:
    """factor * weights . amounts for all not negative, plus `least`, too large by 4 u; 0 times infinity is 0.

    The slack g = gamma(n + 2) is at least 3 u and more than what n terms are rounded by: 1 + 4 g pays for both.
    """
    total = backend.dot(weights, amounts)
    if backend.some(backend.xp.isnan(total)):
        total = backend.where(weights == 0, 0.0, weights * amounts).sum(-1)
    return total * (factor * (1.0 + 4.0 * slack)) + least


def joined(backend: Backend, one: Array, other: Array, constant: Array, slack: Array, size: Array) -> tuple[Array, ...]:
    """The sum of two rows for one node, of values at most `size`."""
    L = one + other
    return L, _lowered(constant, weigh(backend, abs(L), size, slack, factor=UNIT))


def summed(backend: Backend, L: Array, constant: Array, slack: Array, size: Array) -> tuple[Array, ...]:
    """What it costs to add up the entries of a row: a scalar went with every component."""
    amounts = slack * size + backend.xp.zeros_like(L)
    return (_lowered(constant, weigh(backend, abs(L), amounts, slack)),)


def landed(
    backend: Backend, L: Array, constant: Array, slack: Array, middle: Array, error: Array, size: Array
) -> tuple[Array, ...]:
    """Rows at nodes that are `middle` plus a multiple of the inputs, up to `error`."""
    total = constant + backend.dot(L, middle)
    return (_lowered(total, weigh(backend, abs(L), error + slack * size, slack)),)


def layer(
    backend: Backend, finite: bool, L: Array, constant: Array, slack: Array, bias: Array, cost: Array
) -> tuple[Array, ...]:
    """What an affine layer adds to the constants, and what the rounding of rows on their way through it costs."""
    total = constant + backend.times(L, bias)
    norm = backend.xp.sqrt(backend.dot(L, L) + 1e-290)
    if not finite:
        known = backend.xp.isfinite(cost)
        some = backend.where(L != 0, 1.0, 0.0).sum(-1) > 0
        total = total - backend.where(some & ~known, np.inf, 0.0)
        cost = backend.where(known, cost, 0.0)
    return (_lowered(total, norm * cost),)


def multiples(
    backend: Backend, count: int, L: Array, constant: Array, slack: Array, *slopes: Array
) -> tuple[Array, ...]:
    """Exact multiples of the arguments."""
    return *(L * slope for slope in slopes), constant


def doubtful(
    backend: Backend, L: Array, constant: Array, slack: Array, doubt: Array, slope: Array
) -> tuple[Array, ...]:
    """A multiple that is known up to some doubt."""
    return L * slope, backend.down(constant - backend.dot(abs(L), doubt))


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
    """The least value of rows over a box; FLOOR pays for the underflow of coefficients."""
    total = low + backend.dot(A, centre)
    return (backend.bound_below(_lowered(total, weigh(backend, abs(A), radius, slack, FLOOR))),)


def floor(backend: Backend, low: Array) -> tuple[Array]:
    """The least value of rows without coefficients."""
    return (backend.bound_below(backend.down(low - FLOOR)),)
