"""Boxes of states followed around the trajectory of their centre: another computation than that of `steps`.

Let y be the solution of g, the field with every disturbance at its middle, from the centre of a box, enclosed in balls
of high precision (`point_solutions`), and B a box in which all disturbed solutions x from a set around y are during
[0, h]. By the mean value theorem the deviation d = x - y has d' = A(t) d + w(t), with A(t) in the enclosure of the
slopes of g over B, and |w(t)| bounded by the slopes by disturbances, times their radii. So d(h) = V(h, 0) d(0) +
integral of V(h, s) w(s), and the series of Peano and Baker encloses V(h, s): its k-th term is an integral of products
of k matrices of the enclosure, over a simplex of volume (h - s)^k / k!.

Only the deviation is of low order in h. Where slopes are not bounded, or the centre has no series, a first-order step
of the whole box is taken (`picard`), and the centre is chosen anew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from vernal.interpret import exact
from vernal.interpret.demand import Given
from vernal.interpret.derivative import Gradients, differentiate
from vernal.interpret.flow.balls import SLACK, BallArrays, over, points, times
from vernal.interpret.flow.picard import GRID, VectorField, enclose, region_of
from vernal.interpret.flow.point_solutions import Balls, Leg, SolutionPiece, Stepper
from vernal.interpret.flow.zonotope_batches import boxes, moved, weighted
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.rounding import TINY, Floats, float_below
from vernal.model import build
from vernal.model.expr import Expr, Var
from vernal.model.graph import substitute
from vernal.model.lazy import cached_property
from vernal.model.sorts import REAL
from vernal.model.system import Model
from vernal.model.tick import Tick, idle

PRECISION, FINE_PRECISION = 64, 96  # bits, of enclosures over boxes and of centres
TERMS = 4  # of the series of Peano and Baker
MAX_TURN = 0.25  # the norm of the slopes, times a step, at most
SHORTEST = 2.0**-22  # of the horizon: what needs shorter steps is not followed further
INFLATIONS = 8  # how often a box is widened before the step is halved,
HALVINGS = 12  # and how often that is done


class NoStep(Exception):
    """No step of this length is possible: a shorter one may be."""


class NoSlope(Exception):
    """The slopes are not known to be bounded here."""


@dataclass(frozen=True, slots=True)
class DeviationSegment:
    """Bounds along directions during a span of time, of all solutions that are followed."""

    start: Fraction
    end: Fraction
    lower: Floats  # (d,)
    upper: Floats


@dataclass(frozen=True, slots=True)
class FollowedBox:
    """What was found from one box: its segments, and until when they tell everything."""

    segments: Sequence[DeviationSegment]
    until: Fraction


class PerturbedField:
    """A flow's rates over balls of states and of all disturbances, and their slopes."""

    def __init__(self, flow: Model, tick: Tick = idle) -> None:
        self.flow, self.tick, self.vars = flow, tick, flow.vars
        nodes = flow.disturbances
        self.noise = tuple(build.var(f"disturbance {k}", REAL) for k in range(len(nodes)))
        self.rates = substitute(flow.vector_field, dict(zip(nodes, self.noise, strict=True)))
        self.ends = [end for node in nodes for end in node.args]
        middles: dict[Expr, Expr] = {node: build.div(build.add(*node.args), 2) for node in nodes}
        self.middle = substitute(flow.vector_field, middles)
        self.radii = [build.div(build.sub(node.args[1], node.args[0]), 2) for node in nodes]

    def over(self, box: Balls) -> Balls:
        """The rates on a box."""
        return self._values(self.rates, {**self._state(box), **self._noise(box)})

    def slopes(self, box: Balls) -> tuple[BallArrays, Floats]:
        """Slopes of the middle field over a box (n, n), and how much disturbances add to each rate, at most (n,)."""
        n, m = len(self.vars), len(self.noise)
        inner = self._gradients(self.middle, self._state(box), self.vars)
        if not m:
            return inner, np.zeros(n)
        outer = self._gradients(self.rates, {**self._state(box), **self._noise(box)}, self.noise)
        radii = rounded(self._values(self.radii, self._state(box)))
        return inner, weighted(outer.size, radii.size)

    def _state(self, box: Balls) -> dict[Expr, Given]:
        return dict(zip(self.vars, box, strict=True))

    def _noise(self, box: Balls) -> dict[Expr, Given]:
        ends = self._values(self.ends, self._state(box))
        return {var: low.union(high) for var, low, high in zip(self.noise, ends[::2], ends[1::2], strict=True)}

    def _values(self, roots: Sequence[Expr], inputs: dict[Expr, Given]) -> Balls:
        found = exact.evaluate(roots, inputs, {}, PRECISION, self.tick)
        balls = [arb(reals.rational(x)) if isinstance(x, Fraction) else x for x in found]
        if not all(isinstance(x, arb) and x.is_finite() for x in balls):
            raise NoSlope
        return tuple(x for x in balls if isinstance(x, arb))

    def _gradients(self, roots: Sequence[Expr], inputs: dict[Expr, Given], by: Sequence[Var]) -> BallArrays:
        units: dict[Expr, Gradients] = {var: [[arb(i == k) for k in range(len(by))]] for i, var in enumerate(by)}
        found = differentiate(roots, inputs, {}, units, len(by), PRECISION, self.tick).gradients
        rows = [row for (row,) in found if row is not None and all(x.is_finite() for x in row)]
        if len(rows) < len(roots):
            raise NoSlope
        flat = rounded([x for row in rows for x in row])
        return BallArrays(flat.mid.reshape(len(roots), -1), flat.rad.reshape(len(roots), -1))


def rounded(values: Sequence[arb]) -> BallArrays:
    """Balls as floats."""
    middles = [float(x.mid()) for x in values]
    radii = [math.nextafter(float(abs(x - m).upper()), math.inf) for x, m in zip(values, middles, strict=True)]
    return BallArrays(np.array(middles), np.where(np.isfinite(middles), radii, np.nan))


class DeviationFollower:
    """Follows boxes of one flow up to a horizon, in steps that are not longer than given; both are on the grid."""

    def __init__(
        self,
        flow: Model,
        directions: Floats,
        horizon: float,
        longest: float,
        turn: float = MAX_TURN,
        most: int = 20_000,
        tick: Tick = idle,
    ) -> None:
        """`turn`: of slopes in one step; `most`: steps of all boxes together."""
        self.flow, self.directions, self.turn, self.most, self.tick = flow, directions, turn, most, tick
        self.horizon, self.longest = Fraction(horizon), Fraction(longest)
        self.shortest = Fraction(max(GRID, horizon * SHORTEST))
        self.field = PerturbedField(flow, tick)
        self.region = region_of(flow)
        self.steps = 0  # so far, of all boxes

    @cached_property
    def boxed(self) -> VectorField:
        return VectorField(self.flow, tick=self.tick)

    def follow(self, lower: Floats, upper: Floats) -> FollowedBox:
        """From one box (n,)."""
        with ctx.workprec(PRECISION):
            return _Course(self, lower, upper).finish()


class _Course:
    """One box under way: its time, the piece of its centre's trajectory, and the deviations from that."""

    def __init__(self, follower: DeviationFollower, lower: Floats, upper: Floats) -> None:
        self.follower, self.field = follower, follower.field
        self.time, self.length = Fraction(0), follower.longest
        self.segments = [DeviationSegment(self.time, self.time, *self._along(lower, upper))]
        self._begin(lower, upper)

    def _begin(self, lower: Floats, upper: Floats) -> None:
        """Around the middle of a box."""
        around = boxes(lower[None], upper[None])
        self.centre: Balls = tuple(arb(x) for x in around.centre[0].tolist())
        zero = np.zeros_like(around.centre)
        radius = around.radius
        self.deviations = replace(around, centre=zero, lower=-radius, upper=radius)
        self.stepper = Stepper(self.field.middle, self.field.vars, FINE_PRECISION, self.follower.tick, None)
        self.stepper.length = self.follower.longest
        self.piece: SolutionPiece | None = None

    def finish(self) -> FollowedBox:
        """Step until the horizon, until nothing is left inside the region, or until no step is possible."""
        while self.time < self.follower.horizon and self._meets(*self.box):
            self.follower.tick()
            self.follower.steps += 1
            stuck = self._too_large() or self.follower.steps > self.follower.most
            if stuck or not (self._smooth_step() or self._rough_step()):
                return FollowedBox(self.segments, self.time)
        return FollowedBox(self.segments, self.follower.horizon)

    @property
    def box(self) -> tuple[Floats, Floats]:
        """Around all states, (n,) each."""
        centre = rounded(self.centre)
        reach = (centre.rad + self.deviations.radius[0]) * SLACK + TINY
        return BallArrays(centre.mid, reach).ends

    def _meets(self, lower: Floats, upper: Floats) -> bool:
        low, high = self.follower.region
        return bool(((lower <= high[0]) & (upper >= low[0])).all())

    def _too_large(self) -> bool:
        low, high = self.follower.region
        return not bool((self.deviations.radius <= high - low).all())

    # Smooth steps -----------------------------------------------------------------------------------------------------

    def _smooth_step(self) -> bool:
        """One step with slopes, halved some times; whether there was one."""
        for _ in range(HALVINGS):
            piece = self._centre_piece()
            if piece is None:
                return False
            length = min(self.length, piece.end - self.time, self.follower.horizon - self.time)
            try:
                self._move(piece, Fraction(float_below(length)))
            except NoStep:
                self.length = length / 2
            except NoSlope:
                break
            else:
                self.length = min(2 * self.length, self.follower.longest)
                return True
        self.length = self.follower.longest
        return False

    def _centre_piece(self) -> SolutionPiece | None:
        """The piece of the centre's trajectory from now on."""
        if self.piece is None or self.piece.end <= self.time:
            self._recentre()
            with ctx.workprec(FINE_PRECISION):
                self.piece = self.stepper.step(self.time, self.centre, Leg(self.follower.horizon, {}))
        return self.piece

    def _recentre(self) -> None:
        """Begin a trajectory from a point: what is not known of the centre is a deviation."""
        known = rounded(self.centre)
        self.centre = tuple(arb(x) for x in known.mid.tolist())
        if known.rad.max() > 0:
            zero, same = np.zeros_like(known.mid), points(np.eye(len(known.mid)))
            self.deviations = moved(self.deviations, points(zero[None, None]), same[None], known.rad[None])

    def _move(self, piece: SolutionPiece, length: Fraction) -> None:
        h, end = float(length), self.time + length
        box, rates = self._apriori(length)
        slopes, noise = self.field.slopes(box)
        if not float(slopes.size.sum(1).max()) * h <= self.follower.turn:
            raise NoStep
        turn, most = transition(slopes, h)
        doubt = weighted(most, noise) * h * SLACK + TINY
        after = moved(self.deviations, points(np.zeros((1, 1, len(box)))), turn[None], doubt[None])
        if not after.finite.all():
            raise NoSlope
        start, before = self.time, self._support()
        self.time, self.centre, self.deviations = end, piece.states(end, end), after
        bounds = _between(before, self._support(), self._speeds(rates), h)
        self.segments.append(DeviationSegment(start, end, *_cut(*bounds, rounded(box))))

    def _apriori(self, length: Fraction) -> tuple[Balls, Balls]:
        """A box in which all solutions are during a step, and the rates on it."""
        low, high = self.box
        start = [reals.ball(Fraction(a), Fraction(b)) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        during = reals.ball(Fraction(0), length)
        guess: Balls = tuple(start)
        for _ in range(INFLATIONS):
            rates = self.field.over(guess)
            reached = [x + during * rate for x, rate in zip(start, rates, strict=True)]
            if all(b.contains_interior(r) for b, r in zip(guess, reached, strict=True)):
                return tuple(reached), rates
            guess = tuple(_wider(r) for r in reached)
        raise NoStep

    def _support(self) -> BallArrays:
        """What each direction is over the set (d,)."""
        centre, directions = rounded(self.centre), points(self.follower.directions)
        middle = directions @ BallArrays(centre.mid[:, None], centre.rad[:, None])
        reach = self.deviations.support(self.follower.directions)[0]
        return BallArrays(middle.mid[:, 0], middle.rad[:, 0]) + reach

    def _speeds(self, rates: Balls) -> BallArrays:
        """How fast each direction changes (d,)."""
        speed = rounded(rates)
        along = points(self.follower.directions) @ BallArrays(speed.mid[:, None], speed.rad[:, None])
        return along[:, 0]

    # First-order steps ------------------------------------------------------------------------------------------------

    def _rough_step(self) -> bool:
        """One step of the box inside the region, whatever the slopes; whether there was one."""
        region, horizon = self.follower.region, self.follower.horizon
        low, high = (np.clip(end[None], *region) for end in self.box)
        length = float(min(self.follower.longest, horizon - self.time))
        found = enclose(self.follower.boxed, low, high, np.array([length]), region, float(self.follower.shortest))
        if not found.found.all():
            return False
        start, self.time = self.time, self.time + Fraction(float(found.steps[0]))
        self.segments.append(DeviationSegment(start, self.time, *self._along(found.lower[0], found.upper[0])))
        ends = found.end_lower[0], found.end_upper[0]
        self._begin(*(np.clip(end, *region)[0] for end in ends) if self._meets(*ends) else ends)
        return True

    def _along(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """What the directions are over a box; along the axes as they are, so that no rounding takes them outside."""
        n, (below, above) = len(lower), boxes(lower[None], upper[None]).support(self.follower.directions)[0].ends
        return np.concatenate([lower, below[n:]]), np.concatenate([upper, above[n:]])


def _wider(ball: arb) -> arb:
    extra = ball.rad() / 8 + (1 + abs(ball.mid())) * arb(2) ** (12 - PRECISION)
    return arb(ball.mid(), ball.rad() + extra.upper())


def transition(slopes: BallArrays, h: float) -> tuple[BallArrays, Floats]:
    """Enclosures of V(h, 0), and of the sizes of all V(h, s), for matrices within slopes (n, n) of a norm below 1 / h.

    What the terms after the last one add to an entry is below 2 q^k / k!, with q the norm times h.
    """
    n = len(slopes.mid)
    turn = term = points(np.eye(n))
    most = np.eye(n)
    for k in range(1, TERMS + 1):
        term = over(times(term @ slopes, h), float(k))
        turn, most = turn + term, most + term.size
    q = float(slopes.size.sum(1).max()) * h * SLACK
    rest = 2 * q ** (TERMS + 1) / math.factorial(TERMS + 1) * SLACK + TINY
    return BallArrays(turn.mid, (turn.rad + rest) * SLACK), np.asarray((most + rest) * SLACK * SLACK)


def _between(before: BallArrays, after: BallArrays, speeds: BallArrays, h: float) -> tuple[Floats, Floats]:
    """Bounds during a step: in its first half from its start on, in its second half backward from its end."""
    slow, fast = (times(points(end), 0.5 * h) for end in speeds.ends)
    fall, rise = np.minimum(slow.ends[0], 0), np.maximum(fast.ends[1], 0)
    low = np.minimum(before.ends[0] + fall, after.ends[0] - rise)
    high = np.maximum(before.ends[1] + rise, after.ends[1] - fall)
    return np.nextafter(low, -np.inf), np.nextafter(high, np.inf)


def _cut(lower: Floats, upper: Floats, box: BallArrays) -> tuple[Floats, Floats]:
    """Bounds whose first ones, along the axes, are cut by a box."""
    (low, high), n = box.ends, len(box.mid)
    return np.concatenate([np.maximum(lower[:n], low), lower[n:]]), np.concatenate(
        [np.minimum(upper[:n], high), upper[n:]]
    )
