"""Affine hybrid automata made by hand: fields that are interpolated along one variable, slab by slab."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from vernal.model.hybrid import Crossing, Facets, HybridAutomaton, Location

Vector = NDArray[np.float64]


def box_facets(lower: Vector, upper: Vector) -> Facets:
    """A box as facets."""
    eye = np.eye(len(lower))
    return Facets(np.concatenate([eye, -eye]), np.concatenate([upper, -lower]))


def slab_automaton(
    lower: Sequence[float],
    upper: Sequence[float],
    knots: Sequence[float],
    axis: int,
    linear: Sequence[Sequence[float]],
    curve: Callable[[Vector], Vector],
    radius: Sequence[float],
) -> HybridAutomaton:
    """x' = linear x + (the interpolation of curve(x[axis]) between knots), a location for every two knots."""
    low, high, n = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64), len(lower)
    values = np.stack([curve(np.float64(knot)) for knot in knots])
    locations = []
    for k in range(len(knots) - 1):
        slope = (values[k + 1] - values[k]) / (knots[k + 1] - knots[k])
        matrix = np.array(linear, dtype=np.float64)
        matrix[:, axis] += slope
        first, last = low.copy(), high.copy()
        first[axis], last[axis] = knots[k], knots[k + 1]
        locations.append(Location(f"slab{k}", box_facets(first, last), matrix, values[k] - slope * knots[k]))
    crossings = []
    for k in range(1, len(knots) - 1):
        first, last = low.copy(), high.copy()
        first[axis] = last[axis] = knots[k]
        guard = box_facets(first, last)
        crossings += [Crossing(k - 1, k, guard), Crossing(k, k - 1, guard)]
    names = tuple("xyzuvw"[:n])
    return HybridAutomaton(
        "slabs", names, low, high, np.array(radius, dtype=np.float64), tuple(locations), tuple(crossings)
    )
