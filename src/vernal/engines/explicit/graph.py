"""The reachable graph: positions, what is true at them, and the transitions between them, in arrays.

A position is a state together with those actions that the state leaves open and that the formula or the guard asks
about (docs/decisions/positions-and-open-actions.md). The positions of one state stand next to each other. Where only
the guard asks, a claim is one about states: what a quantifier says of a state it says over all of its positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.numbers.rounding import Mask
from vernal.model.expr import Expr
from vernal.model.lazy import cached_property
from vernal.sets.finite.points import Points
from vernal.sets.finite.table import Codes, Numbers


@dataclass(frozen=True, eq=False)
class Links:
    """A relation between positions: those linked to position n stand from `first[n]` to `first[n + 1]`."""

    first: Numbers
    others: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.others)

    @cached_property
    def counts(self) -> Numbers:
        return np.diff(self.first)

    def of(self, positions: Numbers) -> tuple[Numbers, Numbers]:
        """All that is linked to these positions, and to which of them, by its place among them."""
        counts = self.counts[positions]
        ends = np.cumsum(counts)
        which = np.repeat(np.arange(len(positions)), counts)
        offsets = np.arange(len(which)) - np.repeat(ends - counts, counts)
        return self.others[self.first[positions][which] + offsets].astype(np.int64), which

    @cached_property
    def owners(self) -> NDArray[np.int32]:
        """The position each entry is linked to."""
        return np.repeat(np.arange(len(self.counts), dtype=np.int32), self.counts)

    def reversed(self) -> Links:
        """The relation the other way round."""
        order = np.argsort(self.others, kind="stable")
        counts = np.bincount(self.others, minlength=len(self.counts))
        return Links(np.concatenate([[0], np.cumsum(counts)]), self.owners[order])


def links(sources: Numbers, targets: Numbers, count: int) -> Links:
    """The relation of these pairs, which come in the order of their sources."""
    counts = np.bincount(sources, minlength=count)
    return Links(np.concatenate([[0], np.cumsum(counts)]), targets.astype(np.int32))


@dataclass(frozen=True, eq=False)
class Graph:
    """Everything reachable, as far as was asked."""

    rows: Codes  # the states
    state: Numbers  # of every position
    open: Mapping[Expr, Numbers]  # what is decided at every position, of what the formula asks about
    first: Numbers  # the first position of every state, and the number of positions at the end
    successors: Links
    sure: Mapping[Expr, Mask]  # the positions at which an atom is true
    maybe: Mapping[Expr, Mask]  # the same, and those at which it is undefined
    initial: Numbers  # the initial positions
    depth: Numbers  # of every state: the fewest transitions it takes from an initial state
    complete: bool  # whether the successors of every state are known
    goal: bool  # whether the enumeration stopped at a goal
    guarded: bool  # whether it is the guard alone that asks about open actions
    within: int | None  # the transitions within which all reachable states are here; None: all of them are

    direction = Points.direction

    @property
    def size(self) -> int:
        """The number of positions."""
        return len(self.state)

    @property
    def has_one_start(self) -> bool:
        """Whether there is a single initial state, or position where the formula asks about open actions."""
        return len(self.initial) == 1 or (self.guarded and int(self.first[1]) == len(self.initial))

    @cached_property
    def undefined(self) -> bool:
        """Whether an atom is undefined somewhere."""
        return any(not np.array_equal(self.sure[atom], self.maybe[atom]) for atom in self.sure)

    @cached_property
    def predecessors(self) -> Links:
        return self.successors.reversed()

    @cached_property
    def ends(self) -> Mask:
        """The positions at which a path ends."""
        ends: Mask = self.successors.counts == 0
        return ends
