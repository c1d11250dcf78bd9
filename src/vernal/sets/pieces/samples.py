"""Points of pieces in floating point: where a failing piece most likely has a counterexample, for exact replay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.interpret.program import Program
from vernal.model.expr import Expr
from vernal.model.graph import draws
from vernal.sets.pieces.batches import Indices, Pieces
from vernal.sets.pieces.decisions import Layout

MAX_BITS = 4  # dimensions whose ends are combined to corners
INNER = 48  # points inside, besides the centre and the corners
PIECES_PER_BLOCK = 128  # pieces looked at together

Assumptions = tuple[tuple[Expr, int], ...]  # decisions of a position, and how they are assumed to come out


def likely(conditions: Assumptions, layout: Layout, pieces: Pieces, rows: Indices) -> Iterator[tuple[int, Floats]]:
    """Of each of the rows in turn the points (points, parameters) at which all conditions are as assumed.

    Conditions that depend on what is drawn are not looked at, and none for a piece that is a single point. This decides
    nothing: it says where to look.
    """
    kept = tuple((node, outcome) for node, outcome in conditions if not draws([node]) and pieces.parameters)
    unit = _unit_points(pieces.parameters)
    for start in range(0, len(rows), PIECES_PER_BLOCK):
        block = rows[start : start + PIECES_PER_BLOCK]
        lower, upper = pieces.lower[block, None], pieces.upper[block, None]
        points = np.where(unit == 1, upper, lower * (1 - unit) + upper * unit)
        as_assumed = _as_assumed(kept, layout, pieces.rows(block), points)
        for row, own, right in zip(block.tolist(), points, as_assumed, strict=True):
            yield row, own[right]


def _as_assumed(conditions: Assumptions, layout: Layout, pieces: Pieces, points: Floats) -> Mask:
    """(pieces, points): whether every condition comes out as assumed."""
    count, each, _ = points.shape
    if not conditions:
        return np.ones((count, each), dtype=bool)
    states = pieces.c[:, None] + points @ np.swapaxes(pieces.matrices(), 1, 2)
    flat = states.reshape(count * each, -1)
    inputs = {node: flat[:, at] if node.shape else flat[:, at.start] for node, at in layout.columns().items()}
    values = _program(tuple(node for node, _ in conditions))(inputs, count * each)
    with np.errstate(all="ignore"):
        same = [np.broadcast_to(v == o, (count * each,)) for v, (_, o) in zip(values, conditions, strict=True)]
    together: Mask = np.logical_and.reduce(same)
    return together.reshape(count, each)


@lru_cache(maxsize=64)
def _program(roots: Sequence[Expr]) -> Program:
    return concrete.compile(roots)


@lru_cache(maxsize=64)
def _unit_points(dimensions: int) -> Floats:
    """The centre, corners (few of them where there are many dimensions), and points inside, of the unit cube."""
    numbers = np.arange(1 << min(dimensions, MAX_BITS))
    corners = np.zeros((len(numbers), dimensions))
    corners[:, :MAX_BITS] = numbers[:, None] >> np.arange(min(dimensions, MAX_BITS)) & 1
    inner = np.random.default_rng(0).random((INNER, dimensions))
    found = [np.full((1, dimensions), 0.5), corners, np.ones((1, dimensions)), inner]
    return np.concatenate(found if dimensions else found[:1])
