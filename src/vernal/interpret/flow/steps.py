"""Validated steps: sets of states carried along smooth solutions, disturbed or not.

Let g be the field with every disturbance at its middle, B an a-priori enclosure of all disturbed solutions from a set X
during [0, h], and x_k the Taylor coefficients of solutions of g as functions of their start. A point x of X is c + e,
where c is a point of X's polynomials (its centre, where it has none) and e is what other generators add. A solution y
of g that starts in x is at time s at x_0(c) + s x_1(c) + ... + s^p x_p(c), plus J e for some J in the gradients of
that sum over a box around X and c (mean value theorem), plus s^(p+1) x_(p+1)(b) for some b in B (Taylor's theorem).
As a function of the symbols of the polynomials the sum is a polynomial again, up to what is beyond their degree.

A solution z of the disturbed field from x has (z - y)' = f(z, d) - g(z) + g(z) - g(y). With W bounding the size of
the first difference over B, and M that of the slopes of g over B (the entry itself on the diagonal), the components of
|z - y| grow at most as fast as those of v' = M v + W from 0. If M is nowhere negative and h W + h M v <= v, then v
bounds them during [0, h] (the map u -> t W + integral of M u is monotone), and so do its iterates under that map.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vernal.interpret.flow.balls import SLACK, BallArrays, around, points, times
from vernal.interpret.flow.linear_steps import LinearStepper
from vernal.interpret.flow.picard import GRID, SolutionBoxes, VectorField, enclose, everywhere, on_grid
from vernal.interpret.flow.polynomials import Monomials
from vernal.interpret.flow.taylor import Taylor
from vernal.interpret.flow.zonotope_batches import MAX_ORDER, Zonotopes, moved, reach, weighted
from vernal.interpret.interval import evaluate
from vernal.interpret.numbers.rounding import TINY, Floats, Mask, gamma
from vernal.interpret.value_sets import Range, Value
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.graph import substitute
from vernal.model.lazy import cached_property
from vernal.model.system import Model
from vernal.model.tick import Tick, idle

TURN = 0.0625  # of a step times the norm of the slopes
MIN_DEGREE = 3  # of polynomials, where they leave out no more than these shares of
NEXT_TO_NOTHING, LITTLE_WIDER, LAST_DIGITS = 2.0**-10, 2.0**-20, 2.0**-44  # the tolerance, the radius, and the centre
ITERATES = 4  # of the bound on what disturbances can do
SAFETY = 1.001  # by which its first guess is widened,
LITTLE = 2.0**-900  # and at least: where nothing disturbs a variable, what rounding may add to 0 is less


@dataclass(frozen=True, slots=True, eq=False)
class SetMoves:
    """What steps found: the sets after them and bounds along directions during their parts; a step of 0 is none."""

    steps: Floats  # (batch,)
    sets: Zonotopes
    marks: Floats  # (parts + 1, batch): the ends of the parts, from 0 to the step
    lower: Floats  # (parts, batch, d): bounds along the directions between two marks
    upper: Floats
    smooth: Mask  # whether the field is smooth on the set itself, so that a shorter step may be possible,
    sloped: Mask  # and whether its slopes are bounded there

    @property
    def found(self) -> Mask:
        return self.steps > 0


class TaylorStepper:
    """Carries sets along a flow."""

    def __init__(self, flow: Model, directions: Floats, degree: int, parts: int, tick: Tick = idle) -> None:
        self.flow, self.directions, self.degree, self.parts = flow, directions, degree, parts
        self.enough = degree  # of the polynomials of the next step: less where the last one would have left out nothing
        self.field = VectorField(flow, tick=tick)
        self.anywhere = everywhere(self.field.dimension)
        self.disturbances = flow.disturbances
        self.nominal = Taylor(middle_field(flow), flow.vars, tick)
        inputs = [*flow.vars, *flow.disturbances]
        self.disturbed = Taylor(flow.vector_field, inputs, tick) if flow.disturbances else None

    def begin(self) -> None:
        """Forget the steps that were made: others follow from other sets."""
        self.enough = self.degree

    @property
    def memory(self) -> int:
        """Bytes that a step takes for each set, about: centre, set and what is passed are stepped together."""
        disturbed = 0 if self.disturbed is None else self.disturbed.memory(1)
        rows, generators = len(self.directions), MAX_ORDER * self.field.dimension
        sets = 8 * generators * (4 * self.field.dimension + 2 * self.parts * rows)
        return 3 * self.nominal.memory(self.degree + 2) + disturbed + sets

    def _none(self, sets: Zonotopes, sloped: Mask) -> SetMoves:
        """No step of any set: all of them are at a kink."""
        batch = len(sets.lower)
        bounds = np.zeros((self.parts, batch, len(self.directions)))
        return SetMoves(
            np.zeros(batch), sets, np.zeros((self.parts + 1, batch)), bounds, bounds, np.zeros(batch, bool), sloped
        )

    def linear_step(self, sets: Zonotopes, steps: Floats) -> tuple[SetMoves, Floats]:
        """One step of each set by rates that are linear up to a rest, and what is lost by that: (batch, n)."""
        with np.errstate(all="ignore"):
            made = self.linear.step(sets, steps)
            middle, marks = made.images(sets.polynomials), np.stack([np.zeros_like(steps), steps])
            after = moved(sets, middle, made.flow, made.doubt)
            lower, upper = self._between(sets, middle[:, None], made.flow[None], made.bend, marks, made.doubt[None])
            (low, high), (sinks, rises) = sets.support(self.directions).ends, self._along(made.spread).ends
            lower = np.maximum(lower, np.nextafter(low + sinks, -np.inf))
            upper = np.minimum(upper, np.nextafter(high + rises, np.inf))
            known = made.found & after.finite & np.isfinite(lower).all((0, 2)) & np.isfinite(upper).all((0, 2))
            apriori = SolutionBoxes(steps, made.lower, made.upper, made.lower, made.upper)
            moves = SetMoves(np.where(known, steps, 0.0), after, marks, lower, upper, made.found, made.found)
            return _cut(moves, apriori), made.doubt

    @cached_property
    def linear(self) -> LinearStepper:
        return LinearStepper(self.flow, self.field.tick)

    def _along(self, vectors: BallArrays) -> BallArrays:
        """Vectors (batch, n) along the directions: (batch, d)."""
        return (vectors[:, None] @ points(self.directions.T.copy()))[:, 0]

    def polynomial_memory(self, ring: Monomials) -> int:
        """What polynomials take besides, with the products of their coefficients."""
        rows = self.nominal.memory(self.degree + 2) // (1 + self.field.dimension)
        return rows * ring.count + 16 * self.degree * len(ring.left) * self.nominal.widest if ring.count > 1 else 0

    def step(self, sets: Zonotopes, steps: Floats, tolerance: float, least: float = GRID) -> SetMoves:
        """One step of each set, not longer than given, and so short that what is truncated is within a tolerance.

        Where no solutions are enclosed a shorter one is tried, down to the least, or to one in which the field hardly
        turns, whatever is shorter.
        """
        with np.errstate(all="ignore"):
            start = sets.polynomials
            hull = _hull(sets, start)
            kinked = self.nominal.kinked
            apriori = enclose(self.field, sets.lower, sets.upper, steps * (not kinked), self.anywhere, steps)
            if not apriori.found.all():
                tried = np.where(apriori.found | kinked, steps, on_grid(steps / 2))
                tried, sloped, shortest = self._possible(hull, tried, least)
                if not tried.any():
                    return self._none(sets, sloped)
                apriori = enclose(self.field, sets.lower, sets.upper, tried, self.anywhere, shortest)
            middle, whole, during = self._coefficients(start, hull, apriori, sets.ring)
            if not kinked:
                sloped = np.asarray(whole[1, 1:].finite.all((0, 2)))
            h = self._shortened(apriori.steps, during, tolerance)
            self.enough = self._degree_for(sets, during, h, tolerance)
            marks = on_grid(np.linspace(0.0, 1.0, self.parts + 1)[:, None] * h)
            marks[-1] = h
            moves = self._moved(sets, middle, whole, during, marks, self._disturbed_by(apriori, during, marks))
            return replace(_cut(moves, apriori), sloped=sloped)

    def _possible(self, hull: BallArrays, steps: Floats, least: float) -> tuple[Floats, Mask, Floats]:
        """Steps, 0 where the field is not smooth; whether its slopes are bounded; and the shortest to be tried."""
        slopes = self.nominal.values(hull)
        sloped: Mask = np.asarray(slopes.finite.all((0, 2)))
        steps = np.where(sloped, steps, 0.0)  # no slopes, no smooth step
        if self.nominal.kinked:
            known = self.nominal.coefficients(hull, 2, gradients=False).finite.all((0, 1, 3))
            steps = np.where(known, steps, 0.0)
        return steps, sloped, np.fmin(least, TURN / slopes.size[1:].sum(0).max(1))

    def _coefficients(
        self, start: BallArrays, hull: BallArrays, apriori: SolutionBoxes, ring: Monomials
    ) -> tuple[BallArrays, BallArrays, BallArrays]:
        """Of solutions from the polynomials of sets, and with gradients from around the sets and what is passed."""
        parts, batch = [hull, around(apriori.lower, apriori.upper)], len(hull.mid)
        if ring.count == 1:
            parts.append(start[0])  # as a point among boxes
        x = BallArrays(*(np.concatenate([getattr(part, end) for part in parts]) for end in ("mid", "rad")))
        degree = self.enough
        found = self.nominal.coefficients(x, degree + 1, gradients=True)
        whole, during, middle = (found[:, :, i * batch : (i + 1) * batch] for i in range(3))
        return middle[:, :1] if ring.count == 1 else self.nominal.solved(start, degree, ring), whole, during

    def _shortened(self, steps: Floats, during: BallArrays, tolerance: float) -> Floats:
        """Steps that keep the remainder within the tolerance; none where it is not known."""
        last = during[-1, 0].size.max(1)
        allowed = (tolerance / np.maximum(last, 1e-300)) ** (1.0 / (len(during.mid) - 1))
        known = np.isfinite(last) & during[2, 0].finite.all(1)
        return np.where(known, on_grid(np.minimum(steps, np.where(known, allowed, 0.0))), 0.0)

    def _degree_for(self, sets: Zonotopes, during: BallArrays, h: Floats, tolerance: float) -> int:
        """The least degree that would have left out next to nothing in steps h: enough for the next ones, probably."""
        sizes, step = during[:, 0].size, h[:, None]
        own = np.maximum(LITTLE_WIDER * sets.radius, LAST_DIGITS * np.abs(sets.centre))  # also of what is very small
        allowed = np.minimum(own, NEXT_TO_NOTHING * tolerance)
        for degree in range(MIN_DEGREE, len(sizes) - 1):
            if (sizes[degree + 1] * step ** (degree + 1) <= allowed).all():
                return degree
        return self.degree

    # What disturbances do ---------------------------------------------------------------------------------------------

    def _disturbed_by(self, apriori: SolutionBoxes, during: BallArrays, marks: Floats) -> Floats:
        """Bounds on how far disturbances take solutions from undisturbed ones, up to each mark: (parts, batch, n)."""
        if self.disturbed is None:
            return np.zeros((self.parts, *apriori.lower.shape))
        n = self.field.dimension
        noise = self._noise(apriori)
        x = around(apriori.lower, apriori.upper)
        inputs = BallArrays(np.concatenate([x.mid, noise.mid], 1), np.concatenate([x.rad, noise.rad], 1))
        slopes = np.moveaxis(self.disturbed.values(inputs).size[n + 1 :], 0, 2)  # (batch, n, disturbances)
        growth, source = _metzler(during[1, 1:]), weighted(slopes, noise.rad)
        return np.stack([_grown(growth, source, mark) for mark in marks[1:]])

    def _noise(self, apriori: SolutionBoxes) -> BallArrays:
        """The disturbances, whose middle is within the radius of every value."""
        inputs: dict[Expr, Value] = {
            v: Range(apriori.lower[:, i], apriori.upper[:, i]) for i, v in enumerate(self.flow.vars)
        }
        ranges = [value for value in evaluate(self.disturbances, inputs) if isinstance(value, Range)]
        shape = apriori.steps.shape
        lower = np.stack([np.broadcast_to(r.lower, shape) for r in ranges], 1)
        return around(lower, np.stack([np.broadcast_to(r.upper, shape) for r in ranges], 1))

    # Where sets go ----------------------------------------------------------------------------------------------------

    def _moved(
        self,
        sets: Zonotopes,
        centre: BallArrays,
        whole: BallArrays,
        during: BallArrays,
        marks: Floats,
        doubt: Floats,
    ) -> SetMoves:
        degree = len(during.mid) - 2
        remainder = _remainder(during[degree + 1, 0], marks[1:], degree + 1)
        rows = BallArrays(*(np.moveaxis(part[: degree + 1], 1, 2) for part in (centre.mid, centre.rad)))
        middle = _polynomial(rows, marks[1:])  # (marks, batch, monomials, n)
        first = middle[:, :, 0] + remainder
        middle.mid[:, :, 0], middle.rad[:, :, 0] = first.mid, first.rad
        middle = BallArrays(*(np.moveaxis(part, 2, 0) for part in (middle.mid, middle.rad)))
        gradients = BallArrays(*(np.moveaxis(part[: degree + 1, 1:], 1, 3) for part in (whole.mid, whole.rad)))
        slopes = _polynomial(gradients, marks[1:])
        after = moved(sets, middle[:, -1], slopes[-1], doubt[-1])
        lower, upper = self._between(sets, middle, slopes, during[2, 0], marks, doubt)
        known = after.finite & np.isfinite(lower).all((0, 2)) & np.isfinite(upper).all((0, 2))
        smooth: Mask = np.asarray(whole.finite.all((0, 1, 3)))
        return SetMoves(np.where(known & smooth, marks[-1], 0.0), after, marks, lower, upper, smooth, smooth)

    def _between(
        self, sets: Zonotopes, middle: BallArrays, slopes: BallArrays, bend: BallArrays, marks: Floats, doubt: Floats
    ) -> tuple[Floats, Floats]:
        """Bounds along the directions between marks: of both ends, of the bend of what lies between, and of doubt.

        Over d a function is above its chord by at most -d^2 / 8 times its least second derivative, and below it by at
        most d^2 / 8 times the largest; the coefficient is half of a derivative.
        """
        far = reach(points(self.directions) @ slopes, *sets.others)
        along = (middle[..., None, :] @ points(self.directions.T.copy()))[..., 0, :]
        ahead = sets.ring.range_of(along)
        ends = [sets.support(self.directions).ends, BallArrays(ahead.mid, (ahead.rad + far) * SLACK).ends]
        lower, upper = (np.concatenate([start[None], later]) for start, later in zip(*ends, strict=True))
        size, gaps = np.abs(self.directions), np.diff(marks, axis=0)[..., None]
        doubts = weighted(size, doubt) * SLACK + TINY
        sinks, rises = self._along(bend).ends
        above, below = (np.maximum(end, 0.0) * (gaps * gaps / 4) * SLACK + doubts for end in (-sinks, rises))
        low, high = np.minimum(lower[1:], lower[:-1]) - below, np.maximum(upper[1:], upper[:-1]) + above
        return np.nextafter(low, -np.inf), np.nextafter(high, np.inf)


def _cut(moves: SetMoves, apriori: SolutionBoxes) -> SetMoves:
    """Bounds along the axes, which the a-priori boxes cut: with no rounding where a solution does not move."""
    n = apriori.lower.shape[1]
    lower, upper = moves.lower.copy(), moves.upper.copy()
    lower[:, :, :n] = np.maximum(lower[:, :, :n], apriori.lower)
    upper[:, :, :n] = np.minimum(upper[:, :, :n], apriori.upper)
    return replace(moves, lower=lower, upper=upper)


def middle_field(flow: Model) -> list[Expr]:
    """The vector field with every disturbance in the middle of its interval."""
    middles: dict[Expr, Expr] = {node: build.div(build.add(*node.args), 2) for node in flow.disturbances}
    return substitute(flow.vector_field, middles)


def _hull(sets: Zonotopes, start: BallArrays) -> BallArrays:
    """A box around all states of a set and around its polynomials, which a cut may have left outside."""
    low, high = sets.ring.range_of(start).ends if sets.ring.count > 1 else (sets.centre, sets.centre)
    return around(np.fmin(sets.lower, low), np.fmax(sets.upper, high))


def _polynomial(coefficients: BallArrays, at: Floats) -> BallArrays:
    """Of coefficients (k, batch, ...) at exact numbers (m, batch): by Horner's rule, (m, batch, ...)."""
    x = at.reshape(at.shape + (1,) * (coefficients.mid.ndim - 2))
    total = coefficients[-1:]
    for k in range(len(coefficients.mid) - 2, -1, -1):
        total = times(total, x) + coefficients[k]
    return total


def _remainder(coefficient: BallArrays, at: Floats, power: int) -> BallArrays:
    """A coefficient (batch, n) times powers of exact numbers (m, batch)."""
    total = coefficient[None]
    for _ in range(power):
        total = times(total, at[..., None])
    return total


# Comparison -----------------------------------------------------------------------------------------------------------


def _metzler(slopes: BallArrays) -> Floats:
    """From slopes (by, batch, of) matrices (batch, of, by) that bound growth: sizes, and the entry on the diagonal."""
    size = np.moveaxis(slopes.size, 0, 2).copy()
    upper = np.moveaxis(slopes.ends[1], 0, 2)
    diagonal = np.arange(size.shape[-1])
    size[:, diagonal, diagonal] = upper[:, diagonal, diagonal]
    return size


def _grown(growth: Floats, source: Floats, h: Floats) -> Floats:
    """A bound at times up to h of the solution of v' = M v + W from 0; not a number where none is found.

    With a number k >= 0 for which N = M + k is nowhere negative, v is the integral of e^(-k s) e^(N s) W. Without the
    first factor it is the solution of v' = N v + W, which is bounded first.
    """
    n, step = source.shape[1], h[:, None]
    diagonal = np.diagonal(growth, axis1=1, axis2=2)
    decay = np.maximum(-diagonal.min(1, keepdims=True), 0.0)
    growth = (growth + decay[..., None] * np.eye(n)) * SLACK  # nowhere negative: rounding is monotone
    system = np.eye(n) - step[..., None] * growth
    singular = ~np.isfinite(system).all((1, 2)) | ~(np.abs(np.linalg.det(np.nan_to_num(system))) > 1e-6)
    system[singular] = np.eye(n)
    widened = source * SAFETY + (SAFETY - 1) * source.max(1, keepdims=True)  # where nothing is disturbed, too
    guess: Floats = np.asarray(np.linalg.solve(system, (step * widened)[..., None])[..., 0] + LITTLE)
    once = (step * (source + weighted(growth, guess))) * SLACK + TINY
    bound = np.where(((once <= guess) & np.isfinite(once)).all(1, keepdims=True), guess, np.nan)
    return _iterated(growth, source, step, bound, decay * step)


def _iterated(growth: Floats, source: Floats, step: Floats, bound: Floats, decay: Floats) -> Floats:
    """The bound after a few iterates: the terms of the series of the solution, and the rest of it from the bound.

    In the term with s^k the decay e^(-d s / h) is at most 1 - d s / h + (d s / h)^2 / 2, which is integrated with it.
    """
    term, total = source * step, np.zeros_like(source)
    rest = bound
    for k in range(1, ITERATES + 1):
        share = 1 - decay * k / (k + 1) + decay * decay * k / (2 * (k + 2))
        total = total + term * np.minimum(share, 1.0)
        term = weighted(growth, term) * step / (k + 1) * SLACK
        rest = weighted(growth, rest) * step / k * SLACK
    return np.asarray((total + rest) * (SLACK + gamma(16 * ITERATES)) + TINY)
