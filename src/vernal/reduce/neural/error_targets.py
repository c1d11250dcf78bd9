"""How good certified bounds have to be: only how long certifying takes depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vernal.interpret.numbers.rounding import Floats, float_above
from vernal.reduce.neural.difference import ErrorField
from vernal.reduce.neural.samples import WorstPoints
from vernal.reduce.neural.separation import SeparatedError

NEXT_TO = 1e-7  # of the largest rate: how close errors that are asked for may be to those that were found
RATE_PROBES = 1000  # points at which the size of the rates is looked at


@dataclass(frozen=True, slots=True, eq=False)
class WantedBounds:
    """How good bounds of a part have to be; only how long it takes depends on it.

    A row (f - N of one rate, or N - f) is allowed `tightness` - 1 times half the range of its rate's error, or the
    tolerance, beyond the largest value that was found. Where a rate has no other part, it is enough that
    row and rest are together at most `tightness` times its error.
    """

    tightness: float
    tolerance: Floats  # (rates,)
    rest: Floats  # (2 rates,): what is added to each row; infinite where there are other parts
    enough: Floats | None  # (rates,)

    def allowance(self, samples: WorstPoints) -> Floats:
        """How far a row may be above the largest value that was found."""
        count = len(self.tolerance)
        above, below = samples.sides[:count], samples.sides[count:]
        if self.enough is not None:
            worst = np.maximum(above, below)
            goal = np.maximum(self.enough, worst + NEXT_TO * samples.rates)
            return np.asarray(np.tile(goal, 2) - samples.sides)
        allowed = np.tile(np.maximum(0.5 * (self.tightness - 1.0) * (above + below), self.tolerance), 2)
        alone = np.isfinite(self.rest)
        total = samples.sides + np.where(alone, self.rest, 0.0)
        most = self.tightness * np.tile(np.maximum(total[:count], total[count:]), 2)
        return np.where(alone, np.maximum(allowed, most - total), allowed)


def wanted_of_parts(
    whole: ErrorField,
    found: SeparatedError,
    lower: Floats,
    upper: Floats,
    tightness: float,
    slack: float,
    enough: Floats | None,
) -> Iterator[WantedBounds]:
    """What is wanted of each part, such that their sums are as good as asked for."""
    counts = np.array([found.count(i) for i in range(whole.outputs)])
    tolerance = slack * largest_rates(whole, lower, upper) / np.maximum(1, counts)
    values = np.array([float_above(value) for value in found.affine_ends(lower, upper).values])
    rest = np.where(np.tile(counts, 2) > 1, np.inf, values)
    for part in found.parts:
        own = np.array(part.outputs)
        rows = np.concatenate([own, own + whole.outputs])
        yield WantedBounds(tightness, tolerance[own], rest[rows], None if enough is None else enough[own])


def largest_rates(whole: ErrorField, lower: Floats, upper: Floats) -> Floats:
    """The largest absolute values of f at random points."""
    points = np.random.default_rng(0).uniform(lower, upper, (RATE_PROBES, len(lower)))
    with np.errstate(all="ignore"):
        return np.asarray(np.nan_to_num(abs(whole.rates_at(points)), posinf=0.0).max(0))
