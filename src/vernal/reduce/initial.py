"""The initial set as boxes: one for each combination of discrete starts, a hull where there are too many."""

from __future__ import annotations

from dataclasses import dataclass

from vernal.model.initial import Box
from vernal.model.system import System
from vernal.reduce.base import Direction

MAX_BOXES = 256


@dataclass(frozen=True)
class Boxes:
    """Boxes that cover the initial set; EXACT if they are it (constraints by `where` are not in them)."""

    boxes: tuple[Box, ...]
    direction: Direction


def initial_boxes(system: System, limit: int = MAX_BOXES) -> Boxes:
    """Cover the initial set, `where` left aside, by at most `limit` boxes."""
    initial = system.initial
    few = 0 < initial.count <= limit
    alternatives = initial.alternatives() if few and not initial.is_convex else [initial]
    exact = few and not initial.where
    return Boxes(tuple(part.hull for part in alternatives), Direction.EXACT if exact else Direction.OVER)
