"""Rational numbers: what a number from Python stands for, as floats and as text."""

from __future__ import annotations

import math
from decimal import Decimal
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


def as_written(value: Any) -> Any:
    """What a number given from Python stands for; all else, such as a truth value or a text, is handed back.

    A float is the shortest decimal that is read as this float again, which is the one that it prints as: 0.1 is one
    tenth, as a float of Python, as numpy's float64 or float32, or in an array or tensor without dimensions. Integers,
    fractions and decimals are what they say. Weights of networks do not come this way: they are binary numbers.
    """
    if hasattr(value, "dtype"):
        return _of_array(value)
    if isinstance(value, float):
        return Fraction(repr(value)) if math.isfinite(value) else value
    if isinstance(value, Decimal):
        return Fraction(value) if value.is_finite() else float(value)
    return value


def _of_array(value: Any) -> Any:
    """The number in a scalar of numpy, or in an array or a tensor without dimensions."""
    import numpy as np  # messages need numbers where nothing else needs numpy

    held: Any = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    if held.ndim:
        return value
    is_decimal = held.dtype.kind == "f" and bool(np.isfinite(held))
    return Fraction(np.format_float_scientific(held[()])) if is_decimal else held.item()
