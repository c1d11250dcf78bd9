"""Rational numbers as floats and as text."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np


def nearest(value: Fraction) -> float:
    """The float nearest to a rational; infinite beyond all floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def show(value: Fraction) -> str:
    """A number for a message: as a decimal where that is exact, else as a fraction."""
    if value.denominator == 1:
        return str(value.numerator)
    decimal = repr(float(value)) if abs(value) < 10**15 else ""
    return decimal if decimal and "e" not in decimal and Fraction(decimal) == value else str(value)


def from_numpy(value: Any) -> Any:
    """A scalar of numpy, or an array without dimensions, as the number that it holds exactly; all else as it is."""
    if not isinstance(value, np.generic) and not (isinstance(value, np.ndarray) and value.ndim == 0):
        return value
    item = value.item()
    return Fraction(item) if isinstance(item, float) and math.isfinite(item) else item
