"""Rational numbers as floats and as text."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

LONG_BITS = 1000  # bits of a numerator or a denominator: three hundred digits
DIGITS = 6  # significant digits of a number that is rounded


def nearest(value: Fraction) -> float:
    """The float nearest to a rational; infinite beyond all floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def show(value: Fraction) -> str:
    """A number for a message: as a decimal where that is exact, else as a fraction."""
    if value.denominator == 1 or abs(value) >= 10**15:
        return written(value)
    decimal = repr(float(value))
    return decimal if "e" not in decimal and Fraction(decimal) == value else written(value)


def written(value: Fraction) -> str:
    """A number for a message as it is, or rounded where nobody would read it: there are some that have no text."""
    is_long = max(value.numerator.bit_length(), value.denominator.bit_length()) > LONG_BITS
    return rounded(value) if is_long else str(value)


def rounded(value: Fraction, digits: int = DIGITS) -> str:
    """A number to some significant digits, however large or small it is."""
    near = nearest(value)
    if math.isfinite(near) and bool(near) == bool(value):
        return f"{near:.{digits}g}"
    size = math.log10(abs(value.numerator)) - math.log10(value.denominator)
    power = math.floor(size)
    shown = f"{10 ** (size - power):.{digits}g}"
    shown, power = ("1", power + 1) if shown == "10" else (shown, power)
    return f"{'-' if value < 0 else ''}{shown}e{power:+}"


def from_numpy(value: Any) -> Any:
    """A scalar of numpy, or an array without dimensions, as the number that it holds exactly; all else as it is."""
    import numpy as np  # messages need numbers where nothing else needs numpy

    if not isinstance(value, np.generic) and not (isinstance(value, np.ndarray) and value.ndim == 0):
        return value
    item = value.item()
    return Fraction(item) if isinstance(item, float) and math.isfinite(item) else item
