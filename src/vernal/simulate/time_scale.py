"""How long things take in a model in continuous time: what simulations and proofs without a last time begin with.

A guess in floats, on which no truth depends.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, log2

import numpy as np

from vernal.model.system import Model
from vernal.model.timetable import repeat_period
from vernal.simulate.flows import FlowSimulator
from vernal.simulate.runs import random_plan
from vernal.simulate.starts import NoInitialState

SAMPLED_POINTS, DIFFERENCE_SHARE = (
    32,
    2.0**-20,
)  # initial states that are looked at, and of the region's width, for slopes
TIME_SHARE = 0.5  # of the time in which the fastest direction changes by a factor of e
SLOWEST, FASTEST = 2.0**16, 2.0**-60


def time_scale(model: Model) -> Fraction:
    """The common period of a loop; of a flow a part of the time in which neighbours change their distance by much."""
    period = repeat_period(model)
    return _of_flow(model) if period is None else period


def _of_flow(model: Model) -> Fraction:
    simulator = FlowSimulator(model, 1, 1)
    try:
        plan = random_plan(model, SAMPLED_POINTS, simulator.columns, np.random.default_rng(0), corners=True)
    except NoInitialState:
        return Fraction(1)
    points = np.stack([plan.first[var] for var in model.vars], axis=1)
    given = {node: array[:, 0] for node, array in plan.decisions.items()}
    widths = simulator.integrator.upper - simulator.integrator.lower
    rates = simulator.integrator.rates
    with np.errstate(all="ignore"):
        here = rates(points, given)
        moved = [rates(points + DIFFERENCE_SHARE * widths * axis, given) for axis in np.eye(len(widths))]
        slopes = [(one - here) / (DIFFERENCE_SHARE * widths) for one in moved]
        sizes = np.abs(np.stack(slopes, axis=2) / widths[:, None] * widths[None, :]).sum(axis=2).max(axis=1)
        fastest = max(float(np.nanmax(sizes, initial=0.0)), float(np.nanmax(np.abs(here) / widths, initial=0.0)) / 8)
    if not (np.isfinite(fastest) and fastest > 0):
        return Fraction(1)
    return Fraction(2) ** floor(log2(min(max(TIME_SHARE / fastest, FASTEST), SLOWEST)))
