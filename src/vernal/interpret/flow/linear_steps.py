"""Steps of fields that are linear up to a bounded rest: across kinks, through networks in rates, where flows are stiff.

Let B be a box, and A, m, r such that |f(x, d) - A x - m| <= r for all x in B and all disturbances d. A solution from x
is, as long as it stays in B,

    x(t) = x + F(t) (A x + m) + the integral of E(t - s) w(s) over [0, t], with |w| <= r,

where E(t) = exp(A t) and F(t) is the integral of E over [0, t]. The last term is within S(t) r, S the integral of |E|.
If all these values, for x in a set X and t in [0, h], lie in the interior of B, then no solution from X leaves B
before h: it would be at the border of B first. Then X becomes E(h) X + F(h) m, up to S(h) r.

All of E, F and S come from a short time by doubling, E(2t) = E(t) E(t), F(2t) = F(t) + E(t) F(t) and S(2t) = S(t) +
|E(t)| S(t), so that h may be long compared with what decays fast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vernal.interpret.flow.affine_images import affine_images
from vernal.interpret.flow.balls import SLACK, BallArrays, around, over, points, times
from vernal.interpret.flow.zonotope_batches import Zonotopes, reach, weighted
from vernal.interpret.linear.bounds import InputBox, Linear
from vernal.interpret.numbers.rounding import TINY, Floats, Mask, all_along
from vernal.model.system import Model
from vernal.model.tick import Tick, idle

TERMS = 10  # of the series of the exponential,
MAX_NORM = 0.25  # where its argument has this norm at most
MAX_DOUBLINGS = 40
GUESSES = 8  # of a box in which solutions stay
WIDER, RELATIVE, ABSOLUTE = 0.1, 2.0**-40, 2.0**-60  # by which a guess is wider than what was found in the last one


@dataclass(frozen=True, slots=True, eq=False)
class Propagators:
    """Of linear fields during times: E, F and S, and a box around all F(t) v for given v."""

    flow: BallArrays  # (batch, n, n)
    integral: BallArrays
    size: Floats
    path: BallArrays  # (batch, n)


def propagators(matrix: Floats, rates: BallArrays, h: Floats) -> Propagators:
    """Of matrices (batch, n, n), rates v (batch, n) and times (batch,)."""
    batch, n, _ = matrix.shape
    norm = float(np.max(np.abs(matrix).sum(2).max(1) * h, initial=0.0)) * SLACK
    doublings = min(max(0, math.ceil(math.log2(norm / MAX_NORM))), MAX_DOUBLINGS) if 0 < norm < math.inf else 0
    first = np.ldexp(h, -doublings)
    q = norm * 2.0**-doublings
    rest = 2 * q ** (TERMS + 1) / math.factorial(TERMS + 1) * SLACK + TINY if q <= 1 else math.nan
    step, turn = first[:, None, None], times(points(matrix), first[:, None, None])
    flow = integral = term = points(np.broadcast_to(np.eye(n), (batch, n, n)))
    bend = np.zeros((batch, n, n))
    for j in range(1, TERMS + 1):
        term = over(term @ turn, float(j))
        flow, integral, bend = flow + term, integral + over(term, j + 1.0), (bend + term.size / (j + 1)) * SLACK
    flow, integral = (BallArrays(one.mid, (one.rad + rest) * SLACK) for one in (flow, integral))
    integral, bend = times(integral, step), (bend + rest) * SLACK
    size = (np.eye(n) + bend) * step * SLACK * SLACK
    path = _begun(rates, bend, first)
    for _ in range(doublings):
        path = _hull(path, applied(integral, rates) + applied(flow, path))
        integral, size = integral + flow @ integral, _products(flow, size)
        flow = flow @ flow
    return Propagators(flow, integral, size, path)


def _begun(rates: BallArrays, bend: Floats, h: Floats) -> BallArrays:
    """A box around F(t) v up to a short time: F(t) is t, up to t times a bend."""
    off = weighted(bend, rates.size)
    ends = BallArrays(rates.mid, (rates.rad + off) * SLACK).ends
    low, high = (end * h[:, None] for end in ends)
    return around(np.fmin(low * (1 + 2.0**-50), 0), np.fmax(high * (1 + 2.0**-50), 0))


def applied(matrix: BallArrays, vector: BallArrays) -> BallArrays:
    """Matrices (batch, m, n) times vectors (..., batch, n)."""
    return (matrix @ BallArrays(vector.mid[..., None], vector.rad[..., None]))[..., 0]


def _hull(a: BallArrays, b: BallArrays) -> BallArrays:
    (low, high), (below, above) = a.ends, b.ends
    return around(np.minimum(low, below), np.maximum(high, above))


def _products(flow: BallArrays, size: Floats) -> Floats:
    """S + |E| S"""
    return np.asarray((size + (points(flow.size) @ points(size)).size) * SLACK)


@dataclass(frozen=True, slots=True, eq=False)
class LinearMoves:
    """What linear steps found: of which sets solutions stay in a box, and where these go."""

    found: Mask  # (batch,)
    lower: Floats  # (batch, n): the box
    upper: Floats
    bend: BallArrays  # (batch, n): half of the second derivative of solutions without the rest
    doubt: Floats  # (batch, n): S(h) r
    shift: BallArrays  # (batch, n): F(h) m
    flow: BallArrays  # (batch, n, n): E(h)
    spread: BallArrays  # (batch, n): around all that is added to a state up to h

    def images(self, start: BallArrays) -> BallArrays:
        """Of polynomials (monomials, batch, n), without the rest."""
        made = applied(self.flow, start)
        first = made[0] + self.shift
        made.mid[0], made.rad[0] = first.mid, first.rad
        return made


class LinearStepper:
    """Carries sets along a flow whose rates are relaxed to linear ones in every step."""

    def __init__(self, flow: Model, tick: Tick = idle) -> None:
        self.flow, self.tick = flow, tick

    def step(self, sets: Zonotopes, h: Floats) -> LinearMoves:
        """One step of each set, of this length, or none where no box is found in which solutions stay."""
        with np.errstate(all="ignore"):
            box = _wider(sets.lower, sets.upper)
            made = self._attempt(sets, *box, h)
            for _ in range(GUESSES):
                if made.found.all() or not np.isfinite(made.lower).all():
                    break
                keep, wide = made.found[:, None], _wider(made.lower, made.upper)
                box = np.where(keep, box[0], wide[0]), np.where(keep, box[1], wide[1])
                made = self._attempt(sets, *box, h)
            return made

    def _attempt(self, sets: Zonotopes, lower: Floats, upper: Floats, h: Floats) -> LinearMoves:
        """Relaxed over a box: whether solutions stay in it, and what they are."""
        matrix, constant = self._relaxed(lower, upper)
        middle = points(constant.mid)
        made = propagators(matrix, applied(points(matrix), points(sets.centre)) + middle, h)
        varied = reach(points(matrix), sets.spread, sets.spans)
        doubt = weighted(made.size, constant.rad)
        spread = BallArrays(made.path.mid, (made.path.rad + weighted(made.size, varied) + doubt) * SLACK)
        low, high = (
            np.nextafter(end + part, side)
            for end, part, side in zip((sets.lower, sets.upper), spread.ends, (-np.inf, np.inf), strict=True)
        )
        good = all_along((low > lower) & (high < upper) & np.isfinite(doubt))
        rates = applied(points(matrix), around(low, high)) + middle
        bend, shift = times(applied(points(matrix), rates), 0.5), applied(made.integral, middle)
        return LinearMoves(good, low, high, bend, doubt, shift, made.flow, spread)

    def _relaxed(self, lower: Floats, upper: Floats) -> tuple[Floats, BallArrays]:
        """A (batch, n, n) and m with r as its radius (batch, n), over boxes."""
        box: InputBox = {var: (lower[:, i], upper[:, i]) for i, var in enumerate(self.flow.vars)}
        batch, n = lower.shape
        found = affine_images(Linear(box, tick=self.tick, batch=batch), self.flow.vector_field, n, batch)
        return found.coefficients, found.rest


def _wider(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    margin = WIDER * (upper - lower) + RELATIVE * np.maximum(np.abs(lower), np.abs(upper)) + ABSOLUTE
    return lower - margin, upper + margin
