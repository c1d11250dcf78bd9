"""All ways to decide: every option of a choice that exists, every winner of an argmax, wherever it is really taken.

A decision in a branch that is not taken does not exist. So each decision comes with the condition under which its value
is asked for, as one more expression of the graph, and decisions are taken in an order in which the earlier ones say
whether the later ones are reached. Where a condition cannot be had in time it is dropped: then a decision is taken
whose value nobody asks for, which leads to the same states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vernal.engines.explicit.columns import NotFinite, slices
from vernal.engines.explicit.points import UNDECIDED, Points, RowBatch
from vernal.engines.explicit.table import Numbers
from vernal.interpret.numbers.rounding import Mask
from vernal.model import build
from vernal.model.build import FALSE, TRUE
from vernal.model.ending import elsewhere
from vernal.model.expr import Argmax, Between, Choose, Expr, If, Switch
from vernal.model.graph import decisions, order

MAX_ROWS = 1 << 16  # rows of a batch while decisions multiply it

Finitely = Choose | Argmax


@dataclass(frozen=True, slots=True)
class Reached:
    """A decision, and the condition under which it is taken."""

    node: Finitely
    condition: Expr


def refuse_intervals(roots: Sequence[Expr]) -> None:
    """A draw from an interval has infinitely many values."""
    for node in decisions(roots):
        if isinstance(node, Between):
            raise NotFinite(f"{node.occurrence.name!r} is drawn from an interval of reals: infinitely many successors")


def plan(roots: Sequence[Expr]) -> list[Reached]:
    """The decisions that the roots need, in an order in which they can be taken."""
    conditions = _conditions(roots)
    waiting = {node: _deciding([conditions[node], *_asked(node)]) - {node} for node in decisions(roots)}
    made: list[Reached] = []
    while waiting:
        ready = [node for node, others in waiting.items() if not others & waiting.keys()]
        if not ready:  # two decisions, each of which may be reached by way of the other
            conditions.update(dict.fromkeys(waiting, TRUE))
            waiting = {node: _deciding(_asked(node)) for node in waiting}
            continue
        for node in ready:
            assert isinstance(node, Choose | Argmax)
            made.append(Reached(node, conditions[node]))
            del waiting[node]
    return made


def _deciding(roots: Sequence[Expr]) -> set[Expr]:
    return set(decisions(roots))


def _asked(node: Expr) -> tuple[Expr, ...]:
    """What has to be known to say which options there are."""
    return node.guards if isinstance(node, Choose) else node.args


def _conditions(roots: Sequence[Expr]) -> dict[Expr, Expr]:
    """For every node above a decision the condition under which its value is asked for."""
    nodes, above = _above(roots)
    asked: dict[Expr, Expr] = dict.fromkeys(above, FALSE)
    asked.update({root: TRUE for root in roots if root in above})
    for node in reversed(nodes):
        if node not in above:
            continue
        for arg, condition in zip(node.args, _by_argument(node), strict=True):
            if arg in above and asked[arg] is not TRUE:
                asked[arg] = build.disj(asked[arg], build.conj(asked[node], condition))
    return asked


def _above(roots: Sequence[Expr]) -> tuple[list[Expr], set[Expr]]:
    """All nodes, arguments first, and those that are decisions or depend on one."""
    nodes = order(roots)
    above: set[Expr] = set()
    for node in nodes:
        if isinstance(node, Choose | Argmax) or any(arg in above for arg in node.args):
            above.add(node)
    return nodes, above


def _by_argument(node: Expr) -> list[Expr]:
    """The condition under which each argument of a node is asked for, once the node is."""
    if isinstance(node, If | Switch):
        return [TRUE, *(build.negate(other) for other in elsewhere(node))]
    return [TRUE] * len(node.args)


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
        nodes, above = _above(self.roots)
        asked = {node: np.full(len(batch), node in self.roots) for node in above}
        for node in reversed(nodes):
            if node in above:
                for place, (arg, condition) in enumerate(zip(node.args, _by_argument(node), strict=True)):
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
