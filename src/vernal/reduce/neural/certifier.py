"""The certified error of a network that stands in for a vector field: branch and bound of f - N over a region.

Every box has linear bounds of f (`interpret.linear`) and ranges of what the ReLUs are applied to; with both, f - N and
N - f have upper bounds (`relaxed_difference`). A row of a box, one variable and one side, is done when its bound is
hardly above the largest error that was found at a point; boxes with rows left are cut where f - N bends most. All
bounds are rounded outward, so that the largest bound of a row that is done is an error that holds everywhere.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

import numpy as np

from vernal.errors import BeyondFloats
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers.rounding import Array, Floats, Mask, float_above
from vernal.model import build
from vernal.model.system import Model
from vernal.model.tick import Tick, idle
from vernal.reduce.neural import bound_parameters
from vernal.reduce.neural.cuts import cut, grid
from vernal.reduce.neural.difference import ErrorField
from vernal.reduce.neural.error_targets import WantedBounds, wanted_of_parts
from vernal.reduce.neural.relaxed_difference import ErrorRows, LinearParts, NetworkRows, ReluLines, relu_lines, taken
from vernal.reduce.neural.samples import WorstPoints, certain_errors
from vernal.reduce.neural.separation import SeparatedError, separated, undivided

NEGLIGIBLE_ERROR = 1e-30  # an error so small needs no better bound
BOXES_PER_BATCH = 2048  # boxes that are bounded together
ROUNDS_BEFORE_DOUBT = 3  # rounds before rounding is suspected to keep bounds from their goals
MAX_DEPTH = 8  # ReLUs that are fixed in a phase: none in the first rounds, where cutting boxes does more
INFINITE_BOUND = Fraction(2) ** 2000  # more than any float: a bound that is infinite
TOO_LARGE = "the weights of the network are too large to compute with"
MIN_WIDTH_SHARE = 2.0**-40  # of the region, along one coordinate: boxes that are not cut any further


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """For each variable: |f_i - N_i| is at most `error` on the whole region, and at least `worst` at one of its points.

    `positions` has where each disturbance is between its ends at that point. `boxes` counts all that were bounded. A
    search that was ended by a point has looser bounds, infinite ones where nothing was bounded.
    """

    error: Floats  # (variables,)
    worst: Floats  # (variables,)
    points: Floats  # (variables, variables): a point for each
    positions: Floats  # (variables, disturbances)
    boxes: int
    rounds: int
    seconds: float


def certify(
    flow: Model,
    weights: Sequence[Floats],
    biases: Sequence[Floats],
    lower: Floats,
    upper: Floats,
    tick: Tick = idle,
    tightness: float = 1.01,
    slack: float = 1e-5,
    enough: Floats | None = None,
) -> Certificate:
    """Bounds of |f - N| over lower <= x <= upper and all disturbances.

    Each is within the factor `tightness` of the largest error that was found, or within `slack` times the largest rate.
    With `enough` (variables,) it stops as soon as every error is certified to be so small, or one is found not to be.
    Raises `InputError` where f is undefined in the region.
    """
    started = time.perf_counter()
    whole = ErrorField.of(flow, weights, biases)
    ends = whole.region(lower, upper)
    found = separated(whole, *ends) if enough is None else undivided(whole)
    searches = []
    for part, wanted in zip(found.parts, wanted_of_parts(whole, found, *ends, tightness, slack, enough), strict=True):
        at = list(part.coordinates)
        searches.append(Certification(part.difference, ends[0][at], ends[1][at], wanted))
        searches[-1].run(tick)
    return joined(whole, found, searches, ends, time.perf_counter() - started)


class Certification:
    """The boxes that are still to be bounded, and what is known of the error so far."""

    def __init__(
        self,
        difference: ErrorField,
        lower: Floats,
        upper: Floats,
        wanted: WantedBounds,
    ) -> None:
        """The box is one of all coordinates."""
        self.difference, self.wanted = difference, wanted
        self.lower, self.upper = lower, upper
        self.outputs = difference.outputs
        states = np.maximum(abs(lower), abs(upper))[: difference.size]
        self.network = NetworkRows(difference.weights, difference.biases, states)
        if not np.isfinite(self.network.reach).all():
            raise BeyondFloats(TOO_LARGE)
        self.samples = WorstPoints(difference, self.lower, self.upper)
        self.error = np.full(2 * self.outputs, -np.inf)  # the largest bounds of rows that are done
        self.boxes = grid(self.lower, self.upper, difference.size)
        self.rows: Mask = np.ones((len(self.boxes[0]), 2 * self.outputs), bool)  # not done: f - N, then N - f
        self.bounds: Floats = np.full(self.rows.shape, np.inf)
        self.noise = np.zeros(self.outputs)  # what rounding alone keeps bounds apart, once that was measured
        self.count = self.rounds = 0

    def run(self, tick: Tick) -> None:
        """Bound and cut boxes until every row is done, or an error larger than enough is found."""
        self.samples.search(tick)
        while len(self.rows) and not self.refuted():
            tick()
            self.round(tick)
            if self.rounds == ROUNDS_BEFORE_DOUBT:
                self.noise = self._noise(tick)

    def refuted(self) -> bool:
        """Whether an error is certainly larger than enough."""
        enough = self.wanted.enough
        return enough is not None and bool((self.samples.certain(enough) > enough).any())

    def allowance(self) -> Floats:
        """How far bounds of rows may be above the largest values that were found; more than rounding costs anyway."""
        least = 8.0 * self.network.rounding() + 4.0 * self.noise + NEGLIGIBLE_ERROR
        return np.maximum(self.wanted.allowance(self.samples), np.tile(least, 2))

    def goal(self) -> Floats:
        """What the bounds of rows have to come down to."""
        return self.samples.sides + self.allowance()

    def excess(self, bounds: Floats) -> Floats:
        """How far bounds are from their goals, relative to what is allowed."""
        return (bounds - self.goal()) / self.allowance()

    def round(self, tick: Tick) -> None:
        """Bound a batch of boxes, those with the largest bounds, and cut the ones that are not done."""
        batch = self._batch()
        (lower, upper), rows = (end[batch] for end in self.boxes), self.rows[batch]
        bounds, corners = self._bound(lower, upper, rows, tick)
        bounds = np.minimum(bounds, self.bounds[batch])
        self.count += len(batch)
        self.rounds += 1
        self.samples.look(0.5 * lower + 0.5 * upper)
        self.samples.look(corners)
        done = self._is_done(bounds, rows, lower, upper)
        self._note(bounds, rows & done)
        rows = rows & ~done
        left = np.flatnonzero(rows.any(1))
        children, parents = cut(self.samples, lower[left], upper[left], rows[left], self.excess(bounds[left]))
        parents = left[parents]
        self._replace(batch, children, rows[parents], bounds[parents])

    def _batch(self) -> Array:
        if len(self.rows) <= BOXES_PER_BATCH:
            return np.arange(len(self.rows))
        excess = np.where(self.rows, self.excess(self.bounds), -np.inf).max(1)
        return np.argpartition(-excess, BOXES_PER_BATCH)[:BOXES_PER_BATCH]

    def _is_done(self, bounds: Floats, rows: Mask, lower: Floats, upper: Floats) -> Mask:
        """Rows whose bounds are good enough, or that no cut would make better."""
        region = self.upper - self.lower
        narrow: Mask = np.any((upper - lower <= MIN_WIDTH_SHARE * region) & (region > 0), axis=1) | ~np.any(region > 0)
        for box, column in np.argwhere(narrow[:, None] & rows & np.isinf(bounds))[:1]:
            name = self.difference.names[column % self.outputs]
            raise BeyondFloats(self.difference.no_bound(name, lower[box]))
        return (bounds <= self.goal()) | narrow[:, None]

    def _note(self, bounds: Floats, done: Mask) -> None:
        self.error = np.maximum(self.error, np.where(done, bounds, -np.inf).max(0, initial=-np.inf))

    def _replace(self, batch: Array, children: tuple[Floats, Floats], rows: Mask, bounds: Floats) -> None:
        rest = np.ones(len(self.rows), bool)
        rest[batch] = False
        first, last = (np.concatenate([end[rest], new]) for end, new in zip(self.boxes, children, strict=True))
        self.boxes = first, last
        self.rows = np.concatenate([self.rows[rest], rows])
        self.bounds = np.concatenate([self.bounds[rest], bounds])

    # Bounds -----------------------------------------------------------------------------------------------------------

    def _bound(self, lower: Floats, upper: Floats, wanted: Mask, tick: Tick) -> tuple[Floats, Floats]:
        """Bounds (boxes, 2 variables) of the rows that are wanted, infinite elsewhere, and points to look at."""
        linear = Linear(dict(self.difference.inputs(lower, upper)), tick=tick)
        layers = self._lines(linear)
        box, column = np.nonzero(wanted)
        output, down = column % self.outputs, column >= self.outputs
        coefficients, constants = self._forms(linear, wanted)
        centre = 0.5 * lower + 0.5 * upper
        radius = np.maximum(upper - centre, centre - lower)
        parts = LinearParts(
            coefficients[box, column],
            constants[box, column],
            output,
            np.where(down, -1.0, 1.0),
            centre[box],
            radius[box],
        )
        goal = self.goal()[column]
        rows = ErrorRows(parts, tuple(taken(x, box) for x in layers))
        found, corner = bound_parameters.bound(self.network, rows, goal, min(self.rounds // 2, MAX_DEPTH))
        bounds = np.full(wanted.shape, np.inf)
        bounds[box, column] = found
        return bounds, np.clip(corner, lower[box], upper[box])[found > goal]

    def _noise(self, tick: Tick) -> Floats:
        """How far the bounds of both sides are apart at points, where nothing but rounding keeps them apart."""
        points = self.samples.some()
        bounds, _ = self._bound(points, points, np.ones((len(points), 2 * self.outputs), bool), tick)
        apart = bounds[:, : self.outputs] + bounds[:, self.outputs :]
        return np.asarray(np.where(np.isfinite(apart), apart, 0.0).max(0))

    def _lines(self, linear: Linear) -> list[ReluLines]:
        found = []
        for node, limit in zip(self.difference.hidden, self.network.limits, strict=True):
            x = linear.range(node)
            found.append(relu_lines(np.maximum(x.lower, -limit), np.minimum(x.upper, limit)))
        return found

    def _forms(self, linear: Linear, wanted: Mask) -> tuple[Floats, Floats]:
        """Linear functions above f and above -f: (boxes, 2 variables[, coordinates]); of what is not wanted zeros."""
        n, shape = self.outputs, (*wanted.shape, len(self.difference.coordinates))
        coefficients, constants = np.zeros(shape), np.zeros(wanted.shape)
        some = [i for i in range(n) if wanted[:, [i, i + n]].any()]
        form = linear.form(build.concat(*(self.difference.rates[i] for i in some)))
        columns = [self.difference.coordinates.index(node) for node, _ in form.inputs]
        for start, part, constant in (
            (0, form.upper_coefficients, form.upper_constants),
            (n, -form.lower_coefficients, -form.lower_constants),
        ):
            at = [start + i for i in some]
            coefficients[np.ix_(range(len(wanted)), at, columns)] = part
            constants[:, at] = constant
        return coefficients, constants

    @property
    def sides(self) -> Floats:
        """Upper bounds of f - N, then of N - f; those of rows that are not done count as well."""
        left = np.where(self.rows, self.bounds, -np.inf).max(0, initial=-np.inf)
        return np.asarray(np.maximum(self.error, left))


# What is known of the whole -------------------------------------------------------------------------------------------


def joined(
    whole: ErrorField,
    found: SeparatedError,
    searches: Sequence[Certification],
    region: tuple[Floats, Floats],
    seconds: float,
) -> Certificate:
    """The sums of what is known of the parts, and of the affine rest."""
    affine = found.affine_ends(*region)
    points, sums, count = affine.points, affine.values, whole.outputs
    for part, search in zip(found.parts, searches, strict=True):
        for k, i in enumerate(part.outputs):
            for side, row in ((0, k), (1, k + search.outputs)):
                points[side, i, list(part.coordinates)] = search.samples.places[row]
                bound = float(search.sides[row])
                sums[side * count + i] += Fraction(bound) if isfinite(bound) else INFINITE_BOUND
    error = np.array([float_above(max(pair)) for pair in zip(sums[:count], sums[count:], strict=True)])
    if not np.isfinite(error).all() and all(search.wanted.enough is None for search in searches):
        raise BeyondFloats(TOO_LARGE)
    sides = np.stack([certain_errors(whole, points[side]) for side in (0, 1)])
    at = points[sides.argmax(0), np.arange(whole.outputs)]
    counts = [search.count for search in searches], [search.rounds for search in searches]
    return Certificate(
        error,
        sides.max(0),
        at[:, : whole.size],
        at[:, whole.size :],
        sum(counts[0]),
        max(counts[1], default=0),
        seconds,
    )
