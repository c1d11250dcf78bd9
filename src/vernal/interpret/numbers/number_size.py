"""The cap on exact numbers: how many bits a numerator or a denominator may have.

Squaring doubles the bits of a number, so sixty steps of `n' = n*n` would fill any memory, and FLINT aborts the process
where memory ends. Operands within the cap make results of at most about twice as many bits, which cost milliseconds;
these are measured and refused if they are beyond it. Powers and common denominators can be much longer than that:
their bits are counted before they are made.
"""

from __future__ import annotations

from collections.abc import Iterable

from flint import fmpq, fmpz

from vernal.errors import TooLong

MAX_BITS = 1 << 16  # a product of two such numbers takes some 10 ms; fifty steps through a deep network stay below
REASON = f"exact numbers beyond {MAX_BITS:,} bits; try fewer steps, a smaller initial set or a claim with more room"


def too_long() -> TooLong:
    """What is raised where an exact number is beyond the cap."""
    return TooLong(REASON)


def fit(value: fmpq) -> fmpq:
    """The number, if it is within the cap."""
    if value.height_bits() > MAX_BITS:
        raise too_long()
    return value


def power(base: fmpq, exponent: int) -> fmpq:
    """base ^ exponent, if it is within the cap; a power of 0, 1 or -1 always is."""
    if (base.height_bits() - 1) * abs(exponent) > MAX_BITS:
        raise too_long()
    return fit(base**exponent)


def common_denominator(values: Iterable[fmpq]) -> fmpz | None:
    """The least one, or None where it is beyond the cap."""
    common = fmpz(1)
    for value in values:
        common = common.lcm(value.q)
        if common.bit_length() > MAX_BITS:
            return None
    return common
