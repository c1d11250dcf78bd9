"""Affine hybrid automata made by hand: fields that are interpolated along one variable, slab by slab."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vernal.model.hybrid import Crossing, Facets, HybridAutomaton, Location

Vector = NDArray[np.float64]


def box_facets(lower: Vector, upper: Vector) -> Facets:
    """A box as facets."""
    eye = np.eye(len(lower))
    return Facets(np.concatenate([eye, -eye]), np.concatenate([upper, -lower]))


def alone(matrix: list[list[float]], drift: list[float], radius: list[float], side: float = 10.0) -> HybridAutomaton:
    """One location, everywhere in a cube."""
    n = len(drift)
    low, high = np.full(n, -side), np.full(n, side)
    location = Location("only", box_facets(low, high), np.array(matrix), np.array(drift))
    return HybridAutomaton("alone", tuple("xyzuvw"[:n]), low, high, np.array(radius), (location,), ())


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
    values = np.stack([curve(np.array(knot)) for knot in knots])
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


def together(first: HybridAutomaton, second: HybridAutomaton, coupling: Vector) -> HybridAutomaton:
    """Two automata at once: a location for every two of theirs; `coupling` is added to all matrices."""
    n, m, count = len(first.lower), len(second.lower), len(second.locations)
    locations = []
    for one in first.locations:
        for other in second.locations:
            matrix = coupling.copy()
            matrix[:n, :n] += one.matrix
            matrix[n:, n:] += other.matrix
            rows = [_padded(one.invariant, 0, n + m), _padded(other.invariant, n, n + m)]
            drift = np.concatenate([one.drift, other.drift])
            locations.append(Location(f"{one.name}.{other.name}", _joined(rows), matrix, drift))
    crossings = []
    for crossing in first.crossings:
        for j, other in enumerate(second.locations):
            guard = _joined([_padded(crossing.guard, 0, n + m), _padded(other.invariant, n, n + m)])
            crossings.append(Crossing(crossing.source * count + j, crossing.target * count + j, guard))
    for crossing in second.crossings:
        for i, one in enumerate(first.locations):
            guard = _joined([_padded(one.invariant, 0, n + m), _padded(crossing.guard, n, n + m)])
            crossings.append(Crossing(i * count + crossing.source, i * count + crossing.target, guard))
    low, high = np.concatenate([first.lower, second.lower]), np.concatenate([first.upper, second.upper])
    radius = np.concatenate([first.radius, second.radius])
    return HybridAutomaton("two", tuple("xyzuvw"[: n + m]), low, high, radius, tuple(locations), tuple(crossings))


def _padded(facets: Facets, before: int, n: int) -> Facets:
    rows = np.zeros((len(facets.offsets), n))
    rows[:, before : before + facets.normals.shape[1]] = facets.normals
    return Facets(rows, facets.offsets)


def _joined(parts: Sequence[Facets]) -> Facets:
    return Facets(np.concatenate([part.normals for part in parts]), np.concatenate([part.offsets for part in parts]))


@dataclass(frozen=True)
class SlabField:
    """A model that is nonlinear in one variable: its field is linear x + curve(x[axis])."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    axis: int
    linear: tuple[tuple[float, ...], ...]
    curve: Callable[[Vector], Vector]
    slabs: int
    radius: tuple[float, ...]
    first: Vector  # corners of the initial box
    last: Vector
    bad_lower: Vector
    bad_upper: Vector
    horizon: float

    def automaton(self, radius: Sequence[float] | None = None) -> HybridAutomaton:
        """Its interpolation between equidistant knots."""
        knots = np.linspace(self.lower[self.axis], self.upper[self.axis], self.slabs + 1).tolist()
        disturbance = self.radius if radius is None else radius
        return slab_automaton(self.lower, self.upper, knots, self.axis, self.linear, self.curve, disturbance)


def _curve(*parts: Callable[[Vector], Vector | float]) -> Callable[[Vector], Vector]:
    return lambda x: np.array([part(x) for part in parts], dtype=np.float64)


def _zero(x: Vector) -> float:
    return 0.0


# Five of the six models of the paper, with the errors of its abstractions where bad states can be avoided with these.
FIELDS = {
    "jet": SlabField(
        (-1, -1),
        (1, 1),
        0,
        ((0, -1), (3, -1)),
        _curve(lambda x: -1.5 * x**2 - 0.5 * x**3 - 0.1, _zero),
        12,
        (0.039, 0.015),
        np.array([0.45, -0.6]),
        np.array([0.5, -0.55]),
        np.array([0.3, 0.5]),
        np.array([0.35, 0.6]),
        1.5,
    ),
    "exponential": SlabField(
        (-1, -1),
        (1, 1),
        1,
        ((0, 0), (-1, 0)),
        _curve(lambda y: -np.sin(np.exp(y**3 + 1)) - y**2, _zero),
        40,
        (0.05, 0.005),
        np.array([0.45, 0.86]),
        np.array([0.5, 0.91]),
        np.array([0.3, 0.5]),
        np.array([0.4, 0.6]),
        1.0,
    ),
    "watertank": SlabField(
        (0,),
        (2,),
        0,
        ((0,),),
        _curve(lambda x: 1.5 - np.sqrt(x)),
        10,
        (0.097,),
        np.array([0.0]),
        np.array([0.01]),
        np.array([2.0]),
        np.array([3.0]),
        2.0,
    ),
    "nl1": SlabField(
        (0, -1),
        (1, 1),
        0,
        ((0, 1), (0, 0)),
        _curve(_zero, np.sqrt),
        10,
        (0.012, 0.093),
        np.array([0.0, 0.0]),
        np.array([0.05, 0.1]),
        np.array([0.35, 0.1]),
        np.array([0.45, 0.2]),
        1.4,
    ),
    "nl2": SlabField(
        (-1, -1),
        (1, 1),
        0,
        ((0, 1), (0, 0)),
        _curve(lambda x: x**2, lambda x: np.cbrt(x**2) - x),
        20,
        (0.036, 0.081),
        np.array([-0.025, -0.9]),
        np.array([0.025, -0.85]),
        np.array([-0.05, -0.8]),
        np.array([0.05, -0.7]),
        1.5,
    ),
}
