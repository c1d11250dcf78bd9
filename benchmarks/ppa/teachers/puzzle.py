"""The puzzle by breadth-first search from its goals around unsafe arrangements; costs decide between ways."""

from __future__ import annotations

from functools import cache
from math import factorial

import numpy as np

from benchmarks.learning import Floats
from benchmarks.ppa.puzzle import CELLS, MOVES, SIDE, UNSAFE
from benchmarks.ppa.simulate import Bools, Ints
from benchmarks.ppa.starts import arrangements

FAR = 10_000
WEIGHT = 0.25  # moves that a unit of cost is worth


def rank(cells: Ints) -> Ints:
    """The number of each arrangement (a permutation of the cells) in lexicographic order."""
    number = np.zeros(len(cells), np.int64)
    for i in range(CELLS):
        smaller = (cells[:, i + 1 :] < cells[:, i : i + 1]).sum(axis=1)
        number += smaller * factorial(CELLS - 1 - i)
    return number


def moved(cells: Ints, offset: int) -> tuple[Bools, Ints, Ints]:
    """Whether a tile can move by this offset into the empty cell, which one, and the arrangement then."""
    empty = cells[:, 0]
    source = empty - offset
    same_row = (empty // SIDE == source // SIDE) if abs(offset) == 1 else np.full(len(cells), True)
    possible = (source >= 0) & (source < CELLS) & same_row
    tile = (cells == np.where(possible, source, empty)[:, None]).argmax(axis=1)
    after = cells.copy()
    after[np.arange(len(cells)), tile] = empty
    after[:, 0] = np.where(possible, source, empty)
    return possible, tile, after


@cache
def distances(cautious: bool) -> Ints:
    """The number of moves to a goal of every arrangement by its rank, unsafe ones avoided."""
    cells = arrangements(CELLS)
    found = np.full(len(cells), FAR)
    goal = (cells[:, 1 : SIDE + 1] == np.arange(SIDE)).all(axis=1)
    avoided = (cells[:, UNSAFE[0]] == UNSAFE[1]) & cautious
    frontier, length = np.flatnonzero(goal & ~avoided), 0
    while len(frontier):
        found[frontier] = length
        reached = [rank(after[possible]) for possible, _, after in _all_moves(cells[frontier])]
        near = np.unique(np.concatenate(reached))
        frontier, length = near[(found[near] == FAR) & ~avoided[near]], length + 1
    return found


def _all_moves(cells: Ints) -> list[tuple[Bools, Ints, Ints]]:
    return [moved(cells, offset) for offset in MOVES.values()]


def labels(states: Ints, cautious: bool, aware: bool) -> tuple[Bools, Floats]:
    """The moves on best ways; at a goal those that stay nearest to it."""
    cells, rows = states[:, :CELLS], np.arange(len(states))
    worth = np.full((len(states), len(MOVES)), 2.0 * FAR)
    for number, (possible, tile, after) in enumerate(_all_moves(cells)):
        paid = WEIGHT * states[rows, CELLS - 1 + tile] if aware else 0.0
        worth[:, number] = np.where(possible, distances(cautious)[rank(after)] + paid, 2.0 * FAR)
    good = worth <= worth.min(axis=1, keepdims=True)
    risky = ((worth >= FAR) & (worth < 2 * FAR)).any(axis=1)
    return good, np.where(risky, 3.0, 1.0)
