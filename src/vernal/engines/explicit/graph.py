"""The reachable graph of a finite system: its states, the positions of each, and the transitions between them.

A position is a state together with those actions that the state leaves open and that the formula or the guard asks
about (docs/decisions/positions-and-open-actions.md). The positions of one state stand next to each other.
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
