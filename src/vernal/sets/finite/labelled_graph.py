"""Finite graphs in arrays: the transitions between their positions, and what is true at each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.numbers.rounding import Mask
from vernal.model.expr import Expr
from vernal.model.lazy import cached_property
from vernal.sets.finite.table import Numbers


def none() -> Numbers:
    """No position."""
    return np.zeros(0, np.int64)


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


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledGraph:
    """Positions, those that follow each of them, and at which of them atoms are true."""

    successors: Links
    sure: Mapping[Expr, Mask]  # the positions at which an atom is true
    maybe: Mapping[Expr, Mask]  # the same, and those at which it is undefined, or not known
    initial: Numbers  # the initial positions
    complete: bool  # whether the successors of every position are known
    together: Numbers = field(default_factory=none)  # first positions of runs that quantifiers choose among, if any

    @property
    def size(self) -> int:
        """The number of positions."""
        return len(self.successors.counts)

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
