"""Blocksworld by a rule: each block in turn goes onto the next smaller one, and what is in the way goes aside.

The cautious rule never puts all blocks on the table: where the smallest block is the only one that is not there, it
first puts another block on a larger one, the one that has cost least. The hasty rule does not know of that limit.
"""

from __future__ import annotations

import numpy as np

from benchmarks.learning import Floats
from benchmarks.ppa.simulate import Bools, Ints

TABLE = 0  # numbers of labels; a block's is its number plus one


class Blocks:
    """A batch of states, read: what each block is on, what is clear, what is held, and which block is next."""

    def __init__(self, states: Ints, n: int) -> None:
        self.n, self.rows = n, np.arange(len(states))
        at = states[:, 2 : 2 + n]
        numbers = np.arange(n)
        self.under = np.where(at == n, n, np.where(at > numbers, at, at - 1))  # -1 is the hand, n the table
        self.clear = states[:, 2 + n : 2 + 2 * n] == 1
        self.on_table, self.held = states[:, 1], np.where((at == 0).any(axis=1), (at == 0).argmax(axis=1), -1)
        wanted = np.where(numbers == 0, n, numbers - 1)
        self.next = np.cumprod(self.under == wanted, axis=1).sum(axis=1)
        costs = states[:, 2 + 2 * n : 2 + 3 * n]
        self.costs = costs if costs.shape[1] == n else np.zeros_like(at)

    def above(self, block: Ints) -> Ints:
        """The top of the tower that a block is in."""
        top = block
        for _ in range(self.n):
            on_it = self.under == top[:, None]
            top = np.where(on_it.any(axis=1), on_it.argmax(axis=1), top)
        return top

    def largest_clear(self, without: Ints) -> Ints:
        """The largest clear block but one; that one where there is no other."""
        usable = self.clear.copy()
        inside = (without >= 0) & (without < self.n)
        usable[self.rows[inside], without[inside]] = False
        last = self.n - 1 - usable[:, ::-1].argmax(axis=1)
        return np.where(usable.any(axis=1), last, np.maximum(without, 0))

    def cheapest_aside(self) -> Ints:
        """Of the clear blocks on the table, but for the largest, the one that has cost least; the first of those."""
        usable = self.clear & (self.under == self.n)
        usable[self.rows, self.largest_clear(np.full(len(self.rows), -1))] = False
        cheapest: Ints = np.where(usable, self.costs, 1000).argmin(axis=1)
        return cheapest


def rule(states: Ints, n: int, cautious: bool) -> Ints:
    """The number of the label that is chosen in each state."""
    blocks = Blocks(states, n)
    return np.where(blocks.held < 0, _take(blocks, cautious), _give(blocks, cautious))


def _take(blocks: Blocks, cautious: bool) -> Ints:
    """With an empty hand; at the goal the topmost block, which is then put back."""
    n, block = blocks.n, np.minimum(blocks.next, blocks.n - 1)
    below = np.where(block > 0, block - 1, block)
    free, room = (blocks.clear[blocks.rows, which] for which in (block, below))
    taken = np.where(~free, blocks.above(block), np.where(~room, blocks.above(below), block))
    if cautious:
        taken = np.where((block == 0) & free & (blocks.on_table == n - 1), blocks.cheapest_aside(), taken)
    return np.where(blocks.next == n, n, taken + 1)


def _give(blocks: Blocks, cautious: bool) -> Ints:
    n, below = blocks.n, blocks.next - 1
    is_next = blocks.held == blocks.next
    fits = is_next & (below >= 0) & blocks.clear[blocks.rows, np.maximum(below, 0)]
    most = np.where(is_next & (below < 0), n - 1, n - 2) if cautious else np.full(len(below), n)
    aside = blocks.largest_clear(below) + 1
    return np.where(fits, below + 1, np.where(blocks.on_table + 1 <= most, TABLE, aside))


def labels(states: Ints, n: int, cautious: bool) -> tuple[Bools, Floats]:
    """One good label; states in which a wrong one would be unsafe count more."""
    chosen = rule(states, n, cautious)
    good = np.zeros((len(states), n + 1), dtype=bool)
    good[np.arange(len(states)), chosen] = True
    tight = (states[:, 1] >= n - 2) & (states[:, 0] == 0) & cautious
    return good, np.where(tight, 3.0, 1.0)
