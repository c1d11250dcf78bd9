"""Affine hybrid automata, as neural abstractions of flows give them, or files.

In every location the state moves by x' = A x + b + d with |d_i| <= radius_i, d measurable in time, inside the
location's invariant, a polyhedron; it may change to another location where a guard lets it (of an abstraction, in the
facet that they share), and the state stays what it is. The numbers are the floats, exactly: whoever makes an automaton
takes care that they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vernal.model.portable import ArrayData

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Facets(ArrayData):
    """The points x with normals x <= offsets: normals (m, n), offsets (m,)."""

    normals: Vector
    offsets: Vector


@dataclass(frozen=True, eq=False)
class Location(ArrayData):
    """A mode of an automaton: where it is, and how the state moves there."""

    name: str
    invariant: Facets  # the sides of the region among them; no row follows from the others
    matrix: Vector  # A, (n, n)
    drift: Vector  # b, (n,)


@dataclass(frozen=True, eq=False)
class Crossing(ArrayData):
    """A change from one location to another, by their indices, in the part of a hyperplane that they share."""

    source: int
    target: int
    guard: Facets  # a facet: one row of it and its opposite are the hyperplane


@dataclass(frozen=True, eq=False)
class HybridAutomaton(ArrayData):
    """Locations in the region lower <= x <= upper, which those of an abstraction cover, and their crossings."""

    name: str
    variables: tuple[str, ...]
    lower: Vector
    upper: Vector
    radius: Vector  # of the disturbance of each variable, the same everywhere
    locations: tuple[Location, ...]
    crossings: tuple[Crossing, ...]
