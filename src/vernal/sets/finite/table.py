"""Rows of integers, each kept once and numbered in the order of arrival, by hashing whole batches at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.numbers.rounding import Mask

Codes = NDArray[np.int64]  # (rows, columns)
Numbers = NDArray[np.int64]  # indices of rows, states, positions or edges

FIRST_ROWS = 1024  # rows there is room for at first
LOAD = 2  # slots of the hash table for every row there is room for, at least
MIX = np.uint64(0x9E3779B97F4A7C15)  # odd: multiplying by it loses nothing
FREE = -1


class RowTable:
    """A growing matrix of distinct rows with an open-addressing index."""

    def __init__(self, columns: int) -> None:
        self._rows: Codes = np.empty((FIRST_ROWS, columns), np.int64)
        self._slots: NDArray[np.int32] = np.full(FIRST_ROWS * LOAD, FREE, np.int32)
        self.count = 0

    def __len__(self) -> int:
        return self.count

    @property
    def rows(self) -> Codes:
        return self._rows[: self.count]

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes + self._slots.nbytes

    def enter(self, rows: Codes) -> Numbers:
        """The numbers of these rows; those not met before are added, in their order."""
        if not self._rows.shape[1]:  # a system without variables has one state
            self.count = max(self.count, min(len(rows), 1))
            return np.zeros(len(rows), np.int64)
        distinct, first, which = _distinct(rows)
        numbers = self._find(distinct)
        fresh = np.flatnonzero(numbers == FREE)
        fresh = fresh[np.argsort(first[fresh])]
        self._grow(len(fresh))
        numbers[fresh] = np.arange(self.count, self.count + len(fresh))
        self._rows[self.count : self.count + len(fresh)] = distinct[fresh]
        self._index(np.arange(self.count, self.count + len(fresh)))
        self.count += len(fresh)
        return numbers[which]

    def _find(self, rows: Codes) -> Numbers:
        """The numbers of rows that are in the table; FREE for the others."""
        mask = len(self._slots) - 1
        found: Numbers = np.full(len(rows), FREE, np.int64)
        asking = np.arange(len(rows))
        slots = (hashes(rows) & np.uint64(mask)).astype(np.int64)
        while len(asking):
            there = self._slots[slots].astype(np.int64)
            taken = there != FREE
            equal = np.zeros(len(asking), bool)
            equal[taken] = (self._rows[there[taken]] == rows[asking[taken]]).all(axis=1)
            found[asking[equal]] = there[equal]
            going = taken & ~equal
            asking, slots = asking[going], (slots[going] + 1) & mask
        return found

    def _index(self, numbers: Numbers) -> None:
        """Enter distinct rows of the matrix into the slots; of several that want one slot, one gets it."""
        mask = len(self._slots) - 1
        slots = (hashes(self._rows[numbers]) & np.uint64(mask)).astype(np.int64)
        while len(numbers):
            free = self._slots[slots] == FREE
            self._slots[slots[free]] = numbers[free]
            going = self._slots[slots] != numbers
            numbers, slots = numbers[going], (slots[going] + 1) & mask

    def _grow(self, more: int) -> None:
        """Room for more rows."""
        room = len(self._rows)
        while room < self.count + more:
            room *= 2
        if room == len(self._rows):
            return
        rows = np.empty((room, self._rows.shape[1]), np.int64)
        rows[: self.count] = self.rows
        self._rows = rows
        self._slots = np.full(room * LOAD, FREE, np.int32)
        self._index(np.arange(self.count))


def _distinct(rows: Codes) -> tuple[Codes, Numbers, Numbers]:
    """Each row once, where it occurs first, and which of them every row is."""
    if len(rows) < 2:
        alone = np.arange(len(rows))
        return rows, alone, alone
    own = hashes(rows)
    order = np.argsort(own, kind="stable")
    ordered = rows[order]
    same = (ordered[1:] == ordered[:-1]).all(axis=1)
    if not _is_sorted_by_content(own[order], same):
        _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        return rows[first], first, which.reshape(-1)
    group = np.concatenate([[0], np.cumsum(~same)]) if len(rows) else np.zeros(0, np.int64)
    which = np.empty(len(rows), np.int64)
    which[order] = group
    first = order[np.concatenate([[True], ~same])] if len(rows) else order
    return rows[first], first, which


def _is_sorted_by_content(ordered: NDArray[np.uint64], same: Mask) -> bool:
    """Whether neighbours with one hash are one row, so that equal rows stand together."""
    return bool(((ordered[1:] != ordered[:-1]) | same).all())


def hashes(rows: Codes) -> NDArray[np.uint64]:
    """A number for each row, equal where rows are."""
    mixed = np.zeros(len(rows), np.uint64)
    with np.errstate(over="ignore"):
        for column in rows.T:
            mixed = (mixed ^ column.astype(np.uint64)) * MIX
            mixed ^= mixed >> np.uint64(29)
        mixed *= MIX
    return mixed ^ (mixed >> np.uint64(32))
