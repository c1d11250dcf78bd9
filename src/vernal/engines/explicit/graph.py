"""The reachable graph of a finite system: its states, the positions of each, and the transitions between them.

A position is a state together with those actions that the state leaves open and that the formula or the guard asks
about (docs/decisions/positions-and-open-actions.md). The positions of one state stand next to each other. Where only
the guard asks, a claim is one about states: what a quantifier says of a state it says over all of its positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vernal.model.expr import Expr
from vernal.sets.finite.labelled_graph import LabelledGraph
from vernal.sets.finite.points import Points
from vernal.sets.finite.table import Codes, Numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class Graph(LabelledGraph):
    """Everything reachable, as far as was asked."""

    rows: Codes  # the states
    state: Numbers  # of every position
    open: Mapping[Expr, Numbers]  # what is decided at every position, of what the formula asks about
    first: Numbers  # the first position of every state, and the number of positions at the end
    depth: Numbers  # of every state: the fewest transitions it takes from an initial state
    goal: bool  # whether the enumeration stopped at a goal
    within: int | None  # the transitions within which all reachable states are here; None: all of them are

    direction = Points.direction

    @property
    def has_one_start(self) -> bool:
        """Whether there is a single initial state, or position where the formula asks about open actions."""
        return len(self.initial) == 1 or (len(self.together) > 0 and int(self.first[1]) == len(self.initial))
