"""All ways to decide: every option of a choice that exists, every winner of an argmax, wherever it is really taken.

A decision in a branch that is not taken does not exist: `model.decision_conditions` has the condition under which each
is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from vernal.interpret.numbers.rounding import Mask
from vernal.model.build import TRUE
from vernal.model.decision_conditions import Finitely, Reached, above_decisions, by_argument, plan
from vernal.model.expr import Argmax, Between, Choose, Expr
from vernal.model.graph import decisions
from vernal.sets.finite.columns import NotFinite, slices
from vernal.sets.finite.points import UNDECIDED, Points, RowBatch
from vernal.sets.finite.table import Numbers

MAX_ROWS = 1 << 16  # rows of a batch while decisions multiply it


def refuse_intervals(roots: Sequence[Expr]) -> None:
    """A draw from an interval has infinitely many values."""
    for node in decisions(roots):
        if isinstance(node, Between):
            raise NotFinite(f"{node.occurrence.name!r} is drawn from an interval of reals: infinitely many successors")


class Decider:
    """Enumerates the ways to decide what some roots need."""

    def __init__(self, points: Points, roots: Sequence[Expr]) -> None:
        self.points = points
        self.roots = roots
        self.plan = plan(roots)
        self.nodes = [entry.node for entry in self.plan]

    def combinations(self, batch: RowBatch) -> Iterator[tuple[RowBatch, Numbers]]:
        """The rows with every way to decide, in batches, and of each row from which of the given ones it comes.

        Where a row has decided already it keeps its decision.
        """
        waiting = [(batch, np.arange(len(batch)), 0)]
        while waiting:
            batch, origin, stage = waiting.pop()
            self.points.tick()
            if len(batch) > MAX_ROWS:
                waiting.extend((batch.take(part), origin[part], stage) for part in slices(len(batch), MAX_ROWS))
            elif stage == len(self.plan):
                yield batch, origin
            else:
                rows, taken = np.nonzero(self._allowed(self.plan[stage], batch))
                decided = batch.take(rows).deciding(self.plan[stage].node, taken)
                waiting.append((decided, origin[rows], stage + 1))

    def _allowed(self, entry: Reached, batch: RowBatch) -> Mask:
        """Which options each row may take; where the decision is not taken, the first stands for it."""
        allowed = np.zeros((len(batch), options(entry.node)), bool)
        reached = self._reached(entry.condition, batch)
        if entry.node in batch.taken:
            before = batch.taken[entry.node]
            allowed[before != UNDECIDED, before[before != UNDECIDED]] = True
            reached = reached[before[reached] == UNDECIDED]
        some = batch if len(reached) == len(batch) else batch.take(reached)
        if len(some):
            allowed[reached] = self._options(entry.node, some)
        allowed[~allowed.any(axis=1), 0] = True
        return allowed

    def _reached(self, condition: Expr, batch: RowBatch) -> Numbers:
        if condition is TRUE:
            return np.arange(len(batch))
        return np.flatnonzero(self.points.truths([condition], batch)[0])

    def _options(self, node: Finitely, batch: RowBatch) -> Mask:
        if isinstance(node, Argmax):
            return self.points.winners(node, batch)
        if not node.guarded:
            return np.ones((len(batch), len(node.options)), bool)
        return np.stack(self.points.truths(node.guards, batch), axis=1)

    def really_taken(self, batch: RowBatch) -> dict[Expr, Mask]:
        """In which rows of a decided batch the value of each decision is asked for."""
        nodes, above = above_decisions(self.roots)
        asked = {node: np.full(len(batch), node in self.roots) for node in above}
        for node in reversed(nodes):
            if node in above:
                for place, (arg, condition) in enumerate(zip(node.args, by_argument(node), strict=True)):
                    if arg in above:
                        asked[arg] |= asked[node] & self._wants(node, place, condition, batch)
        return {node: asked[node] for node in self.nodes}

    def _wants(self, node: Expr, place: int, condition: Expr, batch: RowBatch) -> Mask:
        """In which rows a node, where it is asked for, asks for this argument."""
        if isinstance(node, Choose) and place < len(node.options):
            return np.equal(batch.taken[node], place)
        if condition is TRUE:
            return np.ones(len(batch), bool)
        return self.points.kleene([condition], batch)[0][1]


def options(node: Finitely) -> int:
    """How many options a decision has at most."""
    return len(node.options) if isinstance(node, Choose) else node.args[0].size
