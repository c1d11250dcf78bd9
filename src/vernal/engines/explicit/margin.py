"""By how much a claim about single positions is kept: the least margin of the positions it speaks of."""

from __future__ import annotations

import numpy as np

from vernal.engines.explicit.enumeration import STATES_PER_BATCH, Enumeration
from vernal.engines.explicit.graph import Graph
from vernal.interpret.numbers.rounding import Mask
from vernal.logic.claim import PositionClaim
from vernal.sets.finite.columns import slices
from vernal.sets.finite.points import RowBatch

MAX_MARGIN_STEPS = 1_000  # steps after which it is not asked any more which positions there are at a step


def least_margin(claim: PositionClaim | None, enumeration: Enumeration, graph: Graph) -> float | None:
    """A lower bound on the margin over all positions the claim speaks of; None where there is no such number."""
    if claim is None or (claim.first and claim.last > MAX_MARGIN_STEPS):
        return None
    margin = enumeration.step.resolve(claim.margin)
    positions = np.flatnonzero(_spoken_of(claim, graph, enumeration))
    least = np.inf
    for part in slices(len(positions), STATES_PER_BATCH):
        here = positions[part]
        batch = RowBatch(graph.rows[graph.state[here]], {node: numbers[here] for node, numbers in graph.open.items()})
        least = min(least, enumeration.points.least(margin, batch))
    return float(least)


def _spoken_of(claim: PositionClaim, graph: Graph, enumeration: Enumeration) -> Mask:
    """The positions at the steps from first to last; the graph ends with the last."""
    if claim.first == 0:
        return np.ones(graph.size, bool)
    found, here = np.zeros(graph.size, bool), np.zeros(graph.size, bool)
    here[graph.initial] = True
    for step in range(claim.last + 1):
        enumeration.budget.check()
        if step >= claim.first:
            found |= here
        after, _ = graph.successors.of(np.flatnonzero(here))
        here = np.zeros(graph.size, bool)
        here[after] = True
    return found
