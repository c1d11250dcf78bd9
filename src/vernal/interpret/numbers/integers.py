"""Products of float weights with integers, exactly: floats are whole numbers over one power of two.

A small matrix is turned into integers once. A large one would take many times the memory of its floats, so it is turned
block of rows by block of rows, each time it is multiplied: that takes less time than the multiplication.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import cast

import numpy as np
from flint import fmpz, fmpz_mat
from numpy.typing import NDArray

from vernal.model import expr as e
from vernal.model.tick import Tick, idle

SMALL_MATRIX = 100_000  # entries that are integers at one time
SMALL_PRODUCT = 100_000  # products of integers that are made in one call, however long these are
SPARSE = 0.1  # the share of entries that are not 0, up to which a matrix is multiplied entry by entry
DIGITS = 53  # of a float, in bits
WORD = 62  # bits of an integer that fits a machine word


def times(matrix: e.Matrix, right: fmpz_mat, tick: Tick = idle) -> tuple[Iterator[list[fmpz]], fmpz]:
    """The rows of a matrix times integers, each over the second number; a vector counts as a column."""
    array = _table(matrix)
    if array.size <= SMALL_MATRIX:
        whole, scale = integers(matrix)
        return _in_blocks(whole, right, tick), scale
    lowest = _lowest_place(matrix)
    made = _entry_by_entry if right.ncols() == 1 and is_sparse(matrix) else _by_rows
    return made(array, lowest, right, tick), fmpz(1 << -lowest)


@lru_cache(maxsize=4096)
def integers(matrix: e.Matrix) -> tuple[fmpz_mat, fmpz]:
    """Float weights as integers over one power of two."""
    array, lowest = _table(matrix), _lowest_place(matrix)
    return _as_integers(array, lowest), fmpz(1 << -lowest)


@lru_cache(maxsize=4096)
def is_sparse(matrix: e.Matrix) -> bool:
    """Whether a large matrix is almost all zeros, as that of a convolution is."""
    array = matrix.array
    return array.ndim == 2 and array.size > SMALL_PRODUCT and bool(np.count_nonzero(array) < SPARSE * array.size)


def _table(matrix: e.Matrix) -> NDArray[np.float64]:
    return matrix.array if matrix.array.ndim == 2 else matrix.array[:, None]


# Products -------------------------------------------------------------------------------------------------------------


def _in_blocks(left: fmpz_mat, right: fmpz_mat, tick: Tick) -> Iterator[list[fmpz]]:
    """left * right by rows; a large one in blocks of rows, so that no single call takes long."""
    inner = left.ncols()
    if left.nrows() * inner * right.ncols() <= SMALL_PRODUCT:
        yield from (left * right).tolist()
        return
    entries, block = left.entries(), _rows_at_once(inner, right)
    for start in range(0, left.nrows(), block):
        tick()
        part = entries[start * inner : (start + block) * inner]
        yield from (fmpz_mat(len(part) // inner, inner, part) * right).tolist()


def _rows_at_once(inner: int, right: fmpz_mat) -> int:
    words = 1 + max(map(fmpz.bit_length, right.entries())) // 64
    return max(1, SMALL_PRODUCT * 1000 // (inner * right.ncols() * words))


def _by_rows(array: NDArray[np.float64], lowest: int, right: fmpz_mat, tick: Tick) -> Iterator[list[fmpz]]:
    """The same of a large matrix, of which only the rows of a block are integers."""
    rows, inner = array.shape
    block = min(_rows_at_once(inner, right), max(1, SMALL_MATRIX // inner))
    for start in range(0, rows, block):
        tick()
        yield from (_as_integers(array[start : start + block], lowest) * right).tolist()


def _entry_by_entry(array: NDArray[np.float64], lowest: int, right: fmpz_mat, tick: Tick) -> Iterator[list[fmpz]]:
    """Of a sparse matrix only what is there is multiplied, with one column."""
    column = right.entries()
    for row in array:
        tick()
        places = np.flatnonzero(row)
        weights = _whole_numbers(row[places], lowest)
        yield [sum((w * column[place] for place, w in zip(places.tolist(), weights, strict=True)), fmpz(0))]


# Whole numbers --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _lowest_place(matrix: e.Matrix) -> int:
    """The exponent, not above 0, of a power of two that all entries are multiples of."""
    array = _table(matrix)
    block = max(1, SMALL_MATRIX // max(1, array.shape[1]))
    parts = (array[start : start + block] for start in range(0, len(array), block))
    return min((int(_digits(part.ravel())[1].min(initial=0)) for part in parts), default=0)


def _digits(array: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Floats as odd integers times powers of two; 0 is 0 times 1."""
    mantissas, exponents = np.frexp(array)
    whole = (mantissas * 2.0**DIGITS).astype(np.int64)
    zeros = np.frexp((whole & -whole).astype(np.float64))[1].astype(np.int64) - 1  # behind the last digit that is 1
    zeros[whole == 0] = 0
    return whole >> zeros, np.where(whole == 0, 0, exponents.astype(np.int64) - DIGITS + zeros)


def _as_integers(table: NDArray[np.float64], lowest: int) -> fmpz_mat:
    rows, columns = table.shape
    return fmpz_mat(rows, columns, _whole_numbers(table.ravel(), lowest))


def _whole_numbers(array: NDArray[np.float64], lowest: int) -> list[int]:
    """Floats times 2^-lowest, at which all of them are whole."""
    whole, exponents = _digits(array)
    shifts = np.where(whole == 0, 0, exponents - lowest)
    bits = np.frexp(np.abs(whole).astype(np.float64))[1] + shifts
    if bits.max(initial=0) <= WORD:
        return cast(list[int], (whole << shifts).tolist())
    return [m << shift for m, shift in zip(whole.tolist(), shifts.tolist(), strict=True)]
