"""Boxes cut in two, in batches: what every loop that cuts until something is decided does between its rounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.numbers.rounding import Floats, Mask


def halves(lower: Floats, upper: Floats, side: NDArray[np.intp], whole: Mask | None = None) -> tuple[Floats, Floats]:
    """Both halves of every box (batch, n), across one side each: all the lower ones, then all the upper ones.

    They share their middle, exactly; `whole` are the sides that hold integers, whose halves share none.
    """
    rows = np.arange(len(lower))
    middle = 0.5 * lower[rows, side] + 0.5 * upper[rows, side]
    integral = np.zeros(len(rows), dtype=bool) if whole is None else whole[side]
    left, right = upper.copy(), lower.copy()
    left[rows, side] = np.where(integral, np.floor(middle), middle)
    right[rows, side] = np.where(integral, np.floor(middle) + 1, middle)
    return np.concatenate([lower, right]), np.concatenate([left, upper])
