"""Upper bounds of linear functions over the part of a convex set inside a polyhedron, by weak duality.

For every y >= 0: max {g x : x in T, N x <= o} <= y o + max {(g - y N) x : x in T}. Any y gives a bound, so the choice
needs no care: y is chosen such that g - y N vanishes along some directions in which T is wide, for one or two rows of N
at a time; the values are rounded upward. This is what a linear program would answer, taken from its dual.
"""

from __future__ import annotations

from math import comb
from typing import Protocol

import numpy as np

from vernal.interpret.numbers.rounding import Floats, Mask, gamma
from vernal.model.hybrid import Facets

LEAST_PIVOT = 1e-9
MOST_SINGLES = 1024  # rows and columns, for all goals
MOST_PAIRS = 4096  # pairs of rows and of columns, for all goals


class SupportedSet(Protocol):
    """A convex set by its support function, rounded upward."""

    def support(self, directions: Floats, /) -> Floats: ...


class FramedSet(SupportedSet, Protocol):
    """A bounded one, with directions (columns) in which it is about as wide as a cube."""

    @property
    def size(self) -> Floats: ...

    @property
    def frame(self) -> Floats: ...


def greatest(goals: Floats, shape: FramedSet, facets: Facets) -> Floats | None:
    """Upper bounds of the goals (k, n) over the points of the shape within facets; None where there are none.

    A bound that has overflowed is infinite: what is not a number is never taken for a proof.
    """
    normals, offsets = facets.normals, facets.offsets
    if len(offsets) == 0:
        return _known(shape.support(goals))
    if bool(np.any(shape.support(-normals) < -offsets)):  # some row fails everywhere
        return None
    active = ~(shape.support(normals) <= offsets)
    if not active.any():
        return _known(shape.support(goals))
    with np.errstate(over="ignore", invalid="ignore"):  # of multipliers without end
        return _bounds(goals, shape, normals[active], offsets[active])


def _known(bounds: Floats) -> Floats:
    return np.where(np.isnan(bounds), np.inf, bounds)


def _bounds(goals: Floats, shape: FramedSet, normals: Floats, offsets: Floats) -> Floats:
    candidates = _candidates(goals @ shape.frame, normals @ shape.frame)  # (k, c, r)
    useful: Mask = np.asarray((candidates >= 0.0).all(axis=2) & (candidates > 0.0).any(axis=2))
    useful[:, 0] = True
    which = np.nonzero(useful)[0]
    multipliers, asked, r = candidates[useful], goals[which], len(offsets)
    left = asked - multipliers @ normals
    lost = (np.abs(asked) + multipliers @ np.abs(normals)) @ shape.size * gamma(r + 4)
    value = shape.support(left) + multipliers @ offsets
    value += lost + (multipliers @ np.abs(offsets) + np.abs(value)) * gamma(r + 4)
    found = np.full(len(goals), np.inf)
    np.fmin.at(found, which, value)
    return found


def _candidates(goals: Floats, normals: Floats) -> Floats:
    """Multipliers (k, c, r): none, one row at a time and, where these are not too many, two rows at a time.

    Only those that are not negative are of use.
    """
    k, (r, n) = len(goals), normals.shape
    found = [np.zeros((k, 1, r)), _singles(goals, normals)]
    if r > 1 and n > 1 and k * comb(r, 2) * comb(n, 2) <= MOST_PAIRS:
        found.append(_pairs(goals, normals))
    return np.concatenate(found, axis=1)


def _singles(goals: Floats, normals: Floats) -> Floats:
    """Multipliers of one row that cancel a goal in one column; of many, only for columns in which the row is large."""
    k, (r, n) = len(goals), normals.shape
    count = min(n, max(1, MOST_SINGLES // (k * r)))
    columns = np.argsort(-np.abs(normals), axis=1, kind="stable")[:, :count]  # (r, count)
    pivots = np.take_along_axis(normals, columns, axis=1)
    large = np.abs(pivots) > LEAST_PIVOT * np.abs(normals).max()
    chosen = np.zeros((k, r, count, r))
    quotients = np.where(large, goals[:, columns] / np.where(large, pivots, 1.0), 0.0)  # (k, r, count)
    chosen[:, np.arange(r), :, np.arange(r)] = quotients.transpose(1, 0, 2)
    return chosen.reshape(k, r * count, r)


def _pairs(goals: Floats, normals: Floats) -> Floats:
    """Multipliers of two rows that cancel a goal in two columns."""
    k, (r, n) = len(goals), normals.shape
    (i, j), (p, q) = np.triu_indices(r, 1), np.triu_indices(n, 1)
    a, b, c, d = normals[i][:, p], normals[i][:, q], normals[j][:, p], normals[j][:, q]  # (pairs of rows, of columns)
    determinant = a * d - b * c
    solvable = np.abs(determinant) > LEAST_PIVOT * (np.abs(a * d) + np.abs(b * c))
    inverse = np.where(solvable, 1.0 / np.where(solvable, determinant, 1.0), 0.0)
    g, h = goals[:, None, p], goals[:, None, q]
    chosen = np.zeros((k, len(i), len(p), r))
    chosen[:, np.arange(len(i)), :, i] = ((g * d - h * c) * inverse).transpose(1, 0, 2)
    chosen[:, np.arange(len(i)), :, j] = ((h * a - g * b) * inverse).transpose(1, 0, 2)
    return chosen.reshape(k, -1, r)
