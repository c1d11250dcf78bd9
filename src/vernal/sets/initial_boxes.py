"""The initial set as boxes: one for each combination of discrete starts, a hull where there are too many."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice

from vernal.interpret.discrete.initial_states import start_boxes
from vernal.model.initial import Box
from vernal.model.system import Model

MAX_BOXES = 256
EFFORT = 50_000  # boxes looked at in search of those that constraints leave


@dataclass(frozen=True)
class Boxes:
    """Boxes that cover the initial set; constraints by `where` are not in them."""

    boxes: tuple[Box, ...]
    are_starts: bool  # whether all their states are initial ones
    are_hulls: bool = False  # of more starts than there may be boxes: they have states that no constraint excludes


def initial_boxes(system: Model, limit: int = MAX_BOXES) -> Boxes:
    """Cover the initial set by at most `limit` boxes; what `where` says of reals, or of many states, is left aside."""
    initial = system.initial
    if not initial.where and initial.is_convex:
        return Boxes((initial.hull,), are_starts=True)
    solved = start_boxes(initial, most=limit, effort=EFFORT)
    if solved is not None and len(solved):
        parts = list(islice(chain.from_iterable(p.alternatives() for p in solved.alternatives(initial)), limit + 1))
        if len(parts) <= limit:
            return Boxes(tuple(part.hull for part in parts), are_starts=False, are_hulls=not initial.where)
    few = 0 < initial.count <= limit
    alternatives = initial.alternatives() if few and not initial.is_convex else [initial]
    exact = few and not initial.where
    return Boxes(tuple(part.hull for part in alternatives), exact, are_hulls=not exact and not initial.where)
