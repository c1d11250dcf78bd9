"""Trajectories in floats with a measure of how far they are off, and whether flowpipes contain them.

They are computed with two steps, of which one is half of the other: what these do not agree on accuses nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vernal.evidence.flowpipe import Flowpipe
from vernal.interpret.numbers.rounding import Floats, Mask

TOLERANCE = 1e-7  # of states, relative to the region
RELIABLE = 1e-4  # runs of which two steps say more different things are not looked at
CAUTION = 20.0  # times their difference is how far runs may be off

Rates = Callable[[Floats, Floats], Floats]  # of states (runs, n) under disturbances (runs, m)


class Contradicted(AssertionError):
    """What the package claims is not true."""


@dataclass(frozen=True, eq=False)
class CheckedRuns:
    """States (runs, samples, n) at times (samples,), how far they may be off, and which are surely in the region."""

    times: Floats
    states: Floats
    doubt: Floats  # (runs, samples)
    inside: Mask  # (runs, samples): not left, as far as samples tell, and not close to it since the first sample
    outside: Mask  # (runs, samples): beyond the region, clearly


def checked_runs(
    rates: Rates, starts: Floats, given: Floats, until: float, lower: Floats, upper: Floats
) -> CheckedRuns:
    """Runs under disturbances (samples, runs, m) that are constant between two samples."""
    stretches = len(given)
    size = np.maximum(np.abs(lower), np.abs(upper))
    fastest = float(np.nanmax(np.abs(rates(starts, given[0])) / size, initial=0.0))
    steps = int(np.clip(4 * until * fastest / stretches, 4, 100))
    with np.errstate(all="ignore"):
        coarse, states = (_runs(rates, starts, given, until / stretches, steps * k) for k in (1, 2))
        apart = np.nan_to_num(np.abs(coarse - states).max(axis=2), nan=np.inf)
        doubt = CAUTION * np.maximum.accumulate(apart, axis=1)
        moved = np.abs(np.diff(states, axis=1))
        move = np.maximum(np.concatenate([moved, moved[:, -1:]], 1), np.concatenate([moved[:, :1], moved], 1))
        close = ((states - move < lower) | (states + move > upper)).any(axis=2)
        edge = TOLERANCE * size + doubt[:, :, None]
        outside = ((states < lower - edge) | (states > upper + edge)).any(axis=2) & (doubt < RELIABLE)
    inside = np.cumsum(close, axis=1) == 0
    inside[:, 0] = True
    return CheckedRuns(np.linspace(0.0, until, stretches + 1), states, doubt, inside & (doubt < RELIABLE), outside)


def _runs(rates: Rates, x: Floats, given: Floats, time: float, steps: int) -> Floats:
    """Runge and Kutta's method with some steps between two samples."""
    found, h = [x], time / steps
    for d in given:
        for _ in range(steps):
            one = rates(x, d)
            two = rates(x + h / 2 * one, d)
            three = rates(x + h / 2 * two, d)
            x = x + h / 6 * (one + 2 * two + 2 * three + rates(x + h * three, d))
        found.append(x)
    return np.stack(found, axis=1)


def contained(found: Flowpipe, runs: CheckedRuns, size: Floats) -> None:
    """Whether a pipe has all runs at all samples, and whether they stay inside the region as long as it says."""
    scale = np.abs(found.directions) @ size
    for k, now in enumerate(runs.times.tolist()):
        sure = runs.inside[:, k] & (now <= found.until)
        there = (found.times[:, 0] <= now) & (now <= found.times[:, 1])
        values = runs.states[sure, k] @ found.directions.T
        beyond = np.maximum(found.lower[there] - values[:, None], values[:, None] - found.upper[there]) / scale
        missed = beyond.max(axis=2).min(axis=1, initial=np.inf) - runs.doubt[sure, k] / size.min()
        if (missed > TOLERANCE).any():
            raise Contradicted(f"a trajectory is {missed.max():.2g} outside the flowpipe at time {now:g}")
        if now < found.inside_until * (1 - 1e-9) and runs.outside[:, k].any():
            raise Contradicted(f"a trajectory leaves the region before {found.inside_until:g}")
