"""Sets of states that keep their dependencies: zonotopes and their images under polynomials, in batches.

A set is { c + G s + Q m(s) : |s| <= weights }. The first generators, one for each component, are what the linearised
flow makes of the box in which the set began; m(s) are the products of those symbols, up to a degree (`polynomials`;
none of them in a zonotope). What cannot be said so is a box, whose axes become generators and move with the flow from
then on. So no step wraps anything. Where generators become too many, the least of them are put into a box (A. Girard,
Reachability of uncertain linear systems using zonotopes, 2005), but never the first ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from vernal.interpret.flow.balls import SLACK, BallArrays, around, points
from vernal.interpret.flow.polynomials import CONSTANT, Monomials, monomials
from vernal.interpret.numbers.rounding import TINY, UNIT, Array, Floats, Mask, all_along, gamma

MAX_ORDER = 32  # generators for each component, before they are fewer
KEPT_ORDER = 20  # of them that are left
COARSE_SHARE = 2.0**-7  # of a set's radius, to which the generators may come that a coarser one has in a box
STEP, RESET = 0, 1  # causes of losses
MAX_DEGREE = 8  # of polynomials,
MAX_MONOMIALS = 130  # unless they have more monomials


@dataclass(frozen=True, slots=True, eq=False)
class Zonotopes:
    """A batch of sets, each of them cut by a box; every float is meant exactly."""

    centre: Floats  # (batch, n)
    generators: Floats  # (batch, n, m)
    weights: Floats  # (batch, m)
    lower: Floats  # (batch, n): the box
    upper: Floats
    bends: Floats  # (batch, n, q): the coefficients of the monomials that are not linear, of symbols between -1 and 1
    losses: Floats  # (batch, 2, n): what steps and resets could not say, by components of the box in which a set began
    ring: Monomials  # what the monomials are, the same for all

    def __getitem__(self, index: Array) -> Zonotopes:
        return Zonotopes(**{name: getattr(self, name)[index] for name in ARRAYS}, ring=self.ring)

    @property
    def radius(self) -> Floats:
        """Of a box around the centre that contains each set, whatever cuts it."""
        return weighted(np.abs(self.spread), self.spans)

    @property
    def spread(self) -> Floats:
        """What generators and monomials move, (batch, n, m + q), when ..."""
        return np.concatenate([self.generators, self.bends], 2) if self.bends.shape[2] else self.generators

    @property
    def spans(self) -> Floats:
        """... they are as far from 0 as this, at most: (batch, m + q)."""
        count = self.bends.shape[2]
        return np.concatenate([self.weights, np.ones((len(self.weights), count))], 1) if count else self.weights

    @property
    def influence(self) -> Floats:
        """How much each component of the box in which a set began has to do with what was lost: (batch, n).

        Where nothing was lost it is how much it moves the set. A cut is chosen by it, and nothing is claimed.
        """
        n, lost = self.centre.shape[1], self.losses.sum(1)
        moves: Floats = np.linalg.norm(self.generators[:, :, :n], axis=1) * self.weights[:, :n]
        return np.where(lost.sum(1, keepdims=True) > 0, lost, moves)

    @property
    def bent(self) -> Floats:
        """Which share of what was lost steps lost: (batch,)."""
        by_cause = self.losses.sum(2)
        return np.asarray(by_cause[:, STEP] / (by_cause.sum(1) + TINY))

    @property
    def finite(self) -> Mask:
        parts = (self.centre, self.spread.reshape(len(self.centre), -1), self.weights)
        return all_along(np.isfinite(np.concatenate(parts, 1)))

    @property
    def polynomials(self) -> BallArrays:
        """The centre and what the symbols of the ring move: (monomials, batch, n)."""
        symbols = list(self.ring.symbols)
        linear = self.generators[:, :, symbols] * self.weights[:, None, symbols]
        mid = np.concatenate([self.centre[:, :, None], linear, self.bends], 2)
        rad = np.zeros_like(mid)
        rad[:, :, 1 : len(symbols) + 1] = UNIT * np.abs(linear) + TINY
        return BallArrays(np.moveaxis(mid, 2, 0), np.moveaxis(rad, 2, 0))

    @property
    def others(self) -> tuple[Floats, Floats]:
        """The generators of no symbol of the ring, and their weights."""
        if not self.ring.symbols:
            return self.generators, self.weights
        mine = np.delete(np.arange(self.weights.shape[1]), list(self.ring.symbols))
        return self.generators[:, :, mine], self.weights[:, mine]

    def losing(
        self, cause: int, rest: Floats, rows: Floats, weights: Floats, sources: Floats | None = None
    ) -> Zonotopes:
        """The sets with a note that rows (batch, d, m) of generators were known up to a rest only.

        What is lost of a row is due to components as `sources` (batch, d, n) say, or by how much they move it.
        """
        n, parts = self.centre.shape[1], np.abs(rows) * weights[:, None]
        whole = parts.sum(2) + rest + TINY
        due = (rest / whole)[..., None] * parts[:, :, :n] if sources is None else sources
        losses = self.losses.copy()
        losses[:, cause] += np.nan_to_num(due / whole[..., None]).sum(1)
        return replace(self, losses=losses)

    def support(self, directions: Floats) -> BallArrays:
        """What each direction (d, n) is over each set: (batch, d)."""
        rows = points(directions)
        along = self.polynomials[..., None, :] @ points(directions.T.copy())
        known = self.ring.range_of(along[..., 0, :])
        return BallArrays(known.mid, (known.rad + reach(rows, *self.others)) * SLACK + TINY)


ARRAYS = tuple(name for name in Zonotopes.__slots__ if name != "ring")


def boxes(lower: Floats, upper: Floats, ring: Monomials = CONSTANT) -> Zonotopes:
    """Boxes (batch, n) as sets."""
    ball = around(lower, upper)
    batch, n = lower.shape
    axes, bends = np.broadcast_to(np.eye(n), (batch, n, n)), np.zeros((batch, n, ring.width))
    return Zonotopes(ball.mid, axes, ball.rad, lower, upper, bends, np.zeros((batch, 2, n)), ring)


def ring_of(lower: Floats, upper: Floats) -> Monomials:
    """The monomials of the components in which boxes have a width, up to a degree for which they are not too many."""
    symbols = tuple(np.flatnonzero((lower < upper).any(0)).tolist())
    degrees = [k for k in range(1, MAX_DEGREE + 1) if math.comb(len(symbols) + k, k) <= MAX_MONOMIALS]
    return monomials(symbols, max(degrees, default=1))


def joined(parts: list[Zonotopes]) -> Zonotopes:
    """Batches as one, of as many generators as the one that has the most; all of one ring."""
    most = max(part.weights.shape[1] for part in parts)
    padded = [_padded(part, most) for part in parts]
    arrays: dict[str, Floats] = {name: np.concatenate([getattr(part, name) for part in padded]) for name in ARRAYS}
    return Zonotopes(**arrays, ring=parts[0].ring)


def _padded(sets: Zonotopes, most: int) -> Zonotopes:
    more = most - sets.weights.shape[1]
    if not more:
        return sets
    generators = np.pad(sets.generators, ((0, 0), (0, 0), (0, more)))
    return replace(sets, generators=generators, weights=np.pad(sets.weights, ((0, 0), (0, more))))


def weighted(matrix: Floats, vector: Floats) -> Floats:
    """Matrices (batch, m, n) times vectors (batch, n), none of them negative, rounded up."""
    return np.asarray((matrix @ vector[..., None])[..., 0] * (SLACK + gamma(2 * vector.shape[-1])) + TINY)


def spanned(rows: BallArrays, generators: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Floats near R G for rows R (..., d, n), and by how much (R - their floats) s is off at most: (..., d).

    A product of floats is off by at most gamma(n) |R| |G|, and by what underflows.
    """
    lost = (rows.rad + gamma(rows.mid.shape[-1] + 2) * np.abs(rows.mid)) * SLACK
    rest = weighted(lost, weighted(np.abs(generators), weights)) + TINY * weights.sum(-1)[:, None]
    return rows.mid @ generators, np.asarray(rest * SLACK)


def reach(rows: BallArrays, generators: Floats, weights: Floats) -> Floats:
    """How far generators move each row (..., d, n): (..., d)."""
    return reached(*spanned(rows, generators, weights), weights)


def reached(found: Floats, rest: Floats, weights: Floats) -> Floats:
    """The same of rows that are `spanned`."""
    return np.asarray((weighted(np.abs(found), weights) + rest) * SLACK)


def moved(sets: Zonotopes, middle: BallArrays, slopes: BallArrays, doubt: Floats) -> Zonotopes:
    """The sets { phi(p(s)) + J (x - p(s)) + w : x in a set, J in slopes, |w| <= doubt }, enclosed.

    p(s) are the polynomials of a set, and `middle` is phi(p(s)), (monomials, batch, n).
    """
    found, rest = spanned(slopes, *sets.others)
    curvature = rest + middle.rad.sum(0)
    rest = (rest + middle.rad.sum(0) + doubt) * (SLACK + gamma(2 * sets.ring.count)) + TINY
    symbols, count = list(sets.ring.symbols), 1 + len(sets.ring.symbols)
    rows = np.moveaxis(middle.mid, 0, 2)
    mine = np.delete(np.arange(sets.weights.shape[1]), symbols)
    generators, weights = np.empty_like(sets.generators), sets.weights.copy()
    generators[:, :, symbols], generators[:, :, mine], weights[:, symbols] = rows[:, :, 1:count], found, 1.0
    after = replace(sets, centre=rows[:, :, 0], generators=generators, weights=weights, bends=rows[:, :, count:])
    after = after.losing(STEP, curvature, generators, weights)
    return widened(after, np.arange(rows.shape[1]), rest)


def widened(sets: Zonotopes, places: Array, rest: Floats) -> Zonotopes:
    """Sets that are wider by some rest (batch, places) in some components, of not too many generators, not cut."""
    centre = sets.centre
    axes = np.broadcast_to(np.eye(centre.shape[1])[:, places], (*centre.shape, len(places)))
    generators, weights = np.concatenate([sets.generators, axes], 2), np.concatenate([sets.weights, rest], 1)
    if weights.shape[1] > MAX_ORDER * centre.shape[1]:
        generators, weights = _reduced(generators, weights)
    made = replace(sets, generators=generators, weights=weights)
    known = sets.ring.range_of(made.polynomials)
    others, spans = made.others
    around = BallArrays(known.mid, (known.rad + weighted(np.abs(others), spans)) * SLACK)
    lower, upper = around.ends
    return replace(made, lower=lower, upper=upper)


def coarser(sets: Zonotopes) -> Zonotopes:
    """Sets around these, with a box for their least generators where that is hardly wider: they have fewer."""
    n = sets.centre.shape[1]
    sizes = np.abs(sets.generators[:, :, n:]) * sets.weights[:, None, n:]
    shares = np.nan_to_num(sizes / (sets.radius[..., None] + TINY), nan=np.inf).max(1)
    order = n + np.argsort(-shares, axis=1, kind="stable")
    least = np.cumsum(np.sort(shares, axis=1), axis=1)
    count = int((least <= COARSE_SHARE).sum(1).min(initial=least.shape[1]))
    if count <= n:
        return sets
    generators, weights = _boxed(sets.generators, sets.weights, order, order.shape[1] - count)
    return replace(sets, generators=generators, weights=weights)


def _reduced(generators: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The first generators, those of which a box would be much larger, and a box around the others."""
    n = generators.shape[1]
    size = np.abs(generators[:, :, n:])
    order = n + np.argsort(-(size.sum(1) - size.max(1)) * weights[:, n:], axis=1, kind="stable")
    return _boxed(generators, weights, order, (KEPT_ORDER - 2) * n)


def _boxed(generators: Floats, weights: Floats, order: Array, count: int) -> tuple[Floats, Floats]:
    """The first generators, as many more as that in this order (batch, m - n), and a box around the others."""
    batch, n, _ = generators.shape
    kept, small = np.split(order, [count], axis=1)
    kept = np.concatenate([np.broadcast_to(np.arange(n), (batch, n)), kept], axis=1)
    (few, own), (others, theirs) = (
        (np.take_along_axis(generators, some[:, None], axis=2), np.take_along_axis(weights, some, axis=1))
        for some in (kept, small)
    )
    axes = np.broadcast_to(np.eye(n), (batch, n, n))
    return np.concatenate([few, axes], 2), np.concatenate([own, weighted(np.abs(others), theirs)], 1)
