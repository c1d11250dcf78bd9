"""Boxes of a section that simulated trajectories propose: where they cross a value of one variable again and again.

In floats; nothing rests on it but the time that it takes to find a proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from vernal.interpret.numbers.rounding import Floats
from vernal.model.system import Model
from vernal.simulate.runs import Runs
from vernal.simulate.trajectories import column

LOOKS = 512  # at simulated paths, for where they cross a section
LATE = 0.1  # of the time until paths are back, that is followed besides
LEVELS = 64  # values that a section may have, at least
CROSSING_ROOM, ORBIT_ROOM = 0.5, 1 / 64  # on each side: of the width of where paths cross, and of all that they cover


@dataclass(frozen=True, eq=False)
class ProposedSection:
    """A box of a section, when simulated paths from anywhere have passed it, and after what time they are back."""

    column: int  # of the variable that has one value
    box: Floats  # (1, 2, n)
    arrival: float
    period: float
    slant: float  # how far paths move along the section while they cross it, as shares of all that they cover


def looks(last: Fraction) -> list[Fraction]:
    """At which times simulated paths are looked at."""
    return [last * k / LOOKS for k in range(LOOKS + 1)]


def proposed_sections(model: Model, runs: Runs, settled: float) -> list[ProposedSection]:
    """Those of all variables, the ones first that paths cross most nearly at a right angle."""
    found = (_proposed(model, runs, place, settled) for place in range(len(model.vars)))
    return sorted((one for one in found if one is not None), key=lambda one: one.slant)


def _proposed(model: Model, runs: Runs, place: int, settled: float) -> ProposedSection | None:
    """Where simulated paths cross the middle of one variable downward, once they have settled."""
    assert runs.times is not None
    states = np.stack([column(runs, var.name) for var in model.vars], axis=2)  # (runs, times, n)
    late = states[:, runs.times >= settled, place]
    if np.isnan(states).any():
        return None
    unit = 2.0 ** np.floor(np.log2(max(float(np.ptp(late)), 1e-300) / LEVELS))
    level = float(np.round((0.5 * late.max() + 0.5 * late.min()) / unit) * unit) + 0.0
    side = states[:, :, place] - level
    rows, steps = np.nonzero((side[:, :-1] > 0) & (side[:, 1:] <= 0))
    share = side[rows, steps] / (side[rows, steps] - side[rows, steps + 1])
    when = runs.times[steps] + share * (runs.times[steps + 1] - runs.times[steps])
    where = states[rows, steps] + share[:, None] * (states[rows, steps + 1] - states[rows, steps])
    again = np.diff(when)[rows[1:] == rows[:-1]]
    counts = np.bincount(rows, minlength=len(states))
    if (counts < 2).any() or not len(again):
        return None
    seen = where[when >= settled] if (when >= settled).any() else where
    spread = np.ptp(states[:, runs.times >= settled], axis=(0, 1))
    low, high = seen.min(axis=0), seen.max(axis=0)
    more = CROSSING_ROOM * (high - low) + ORBIT_ROOM * spread
    box = np.stack([low - more, high + more])
    box[:, place] = level
    passed = ((where >= box[0]) & (where <= box[1]))[:, np.arange(len(low)) != place].all(axis=1)
    firsts = [float(when[passed & (rows == row)].min(initial=np.inf)) for row in range(len(states))]
    if not np.isfinite(firsts).all():
        return None
    moved = np.abs(states[rows, steps + 1] - states[rows, steps]).mean(axis=0) / np.maximum(spread, 1e-300)
    slant = float((moved.sum() - moved[place]) / moved[place])
    last, longest = max(firsts) + LATE * float(again.mean()), (1 + LATE) * float(again.max())
    return ProposedSection(place, box[None], last, longest, slant)
