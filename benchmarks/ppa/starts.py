"""The start states of the family, made directly: there are too many states to search for those of a condition."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from benchmarks.ppa import puzzle
from benchmarks.ppa.simulate import Ints


def towers(n: int) -> Iterator[list[int]]:
    """What each block is on (n is the table), every way to have blocks on larger ones only, largest block first."""

    def place(block: int, below: list[int], free: list[int]) -> Iterator[list[int]]:
        if block < 0:
            yield below[::-1]
            return
        for under in [n, *free]:
            yield from place(block - 1, [*below, under], [b for b in free if b != under] + [block])

    return place(n - 1, [], [])


def blocks(n: int, columns: int) -> Ints:
    """All start states of Blocksworld as rows of so many columns; costs and location are 0."""
    found = np.array([below for below in towers(n) if below.count(n) < n])
    states = np.zeros((len(found), columns), np.int64)
    states[:, 0] = 1
    states[:, 1] = (found == n).sum(axis=1)
    states[:, 2 : 2 + n] = found  # a larger block's number is its code
    clear = [(found != block).all(axis=1) for block in range(n)]
    states[:, 2 + n : 2 + 2 * n] = np.array(clear).T
    return states


def arrangements(columns: int) -> Ints:
    """All arrangements of the puzzle as rows of so many columns; costs and location are 0."""
    states = np.zeros((362_880, columns), np.int64)
    states[:, : puzzle.CELLS] = np.array(list(permutations(range(puzzle.CELLS))))
    return states


def loads(rng: np.random.Generator, count: int, locations: int, packages: int, across: bool = False) -> Ints:
    """Random states of Transport before the bridge, or anywhere: packages are spread evenly over all ways to do so."""
    places = locations + 1 - (not across)  # the truck, and the locations before the bridge
    marks = np.sort(_distinct(rng, count, places - 1, packages + places - 1), axis=1)
    ends = np.hstack([np.full((count, 1), -1), marks, np.full((count, 1), packages + places - 1)])
    states = np.zeros((count, locations + 3), np.int64)
    states[:, 1 : 1 + places] = np.diff(ends, axis=1) - 1
    states[:, 0] = rng.integers(locations - (not across), size=count)
    return states


def _distinct(rng: np.random.Generator, count: int, size: int, most: int) -> Ints:
    """Rows of different numbers below most."""
    return np.argsort(rng.random((count, most)), axis=1)[:, :size]
