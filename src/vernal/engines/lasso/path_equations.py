"""Equations along a simulated run: its choices and branches are kept, its first state and disturbances are free.

In the tree of all decisions a loop that takes fifty steps to come about is out of reach. A run goes there at once.
Where it nearly comes back, its sequence of decisions is followed in exact sets, at each step in the one that holds the
run, and the equations that close the loop are solved for the first state and the disturbances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from flint import fmpq

from vernal.engines.lasso.recurrences import NearMiss
from vernal.engines.lasso.tree import LassoTree, Link
from vernal.evidence.replay import NodeDecisions
from vernal.evidence.trace import Trace
from vernal.interpret.geometry.affine_form import rational
from vernal.interpret.geometry.polyhedra import Polyhedron
from vernal.model.expr import Between, Choose, Component
from vernal.sets.exact.space import ExactStates
from vernal.simulate.lift import decisions_taken, first_values
from vernal.simulate.runs import Runs

MAX_OUTCOMES = 256  # of one step, among which the run's is looked for


@dataclass(frozen=True)
class GuidedSearch:
    """The tree of a system, walked along runs."""

    tree: LassoTree
    runs: Runs

    def closed(self, miss: NearMiss) -> Trace | None:
        """The lasso with the decisions of a run that nearly comes back, if there is one."""
        followed = self._followed(miss)
        return None if followed is None else self.tree.closing(*followed, [miss.first])

    def _followed(self, miss: NearMiss) -> tuple[ExactStates, Link] | None:
        """The exact sets that hold the run, up to its last position, and the states after it."""
        tree, system = self.tree, self.runs.system
        values = first_values(system, self.runs.plan.rows(np.array([miss.row])))
        point = {(var, i): rational(x) for var, entry in values.items() for i, x in enumerate(entry)}
        taken = decisions_taken(self.runs, miss.row, tick=tree.space.loop.tick)
        starts = [start for _, start in islice(tree.space.enter(), MAX_OUTCOMES)]
        states = next((start for start in starts if _holds(start.piece.polyhedron, point)), None)
        owed, last = tree.start, None
        for t in range(miss.last):
            links = () if states is None else tree.links(states, owed, last)
            link = next((one for one in links if _holds(one.states.piece.polyhedron, point)), None)
            if link is None:
                return None
            point |= _drawn(taken[t], t)
            outcomes = islice(tree.moved(link), MAX_OUTCOMES)
            found = next((one for one in outcomes if _is_run(one[0], taken[t], point)), None)
            if found is None:
                return None
            states, last = found
            owed = tree.obligations.step(last.owed)
        return None if states is None or last is None else (states, last)


def _is_run(arrived: ExactStates, taken: NodeDecisions, point: Mapping[Component, fmpq]) -> bool:
    """Whether these states hold the run and have taken its options."""
    assert arrived.before is not None
    options = {node: index for node, index in arrived.before.piece.taken.items() if isinstance(node, Choose)}
    return all(taken.get(node) == index for node, index in options.items()) and _holds(arrived.piece.polyhedron, point)


def _holds(polyhedron: Polyhedron, point: Mapping[Component, fmpq]) -> bool:
    """Whether a point lies in a polyhedron, or on an end of it; a disturbance that the run does not say is free."""
    known = {name: point.get(name, polyhedron.point[name]) for name in polyhedron.box}
    inside = all(low <= known[name] <= high for name, (low, high) in polyhedron.box.items())
    return inside and all(row.holds_at(known) for row in polyhedron.rows)


def _drawn(taken: NodeDecisions, t: int) -> dict[Component, fmpq]:
    """The disturbances of a step, under the names that exact sets give them."""
    found: dict[Component, fmpq] = {}
    for node, value in taken.items():
        if isinstance(node, Between):
            numbers = value if isinstance(value, tuple) else (value,)
            name = replace(node, occurrence=replace(node.occurrence, step=t))
            found |= {(name, i): rational(number) for i, number in enumerate(numbers)}
    return found
