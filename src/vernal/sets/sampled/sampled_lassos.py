"""Simulated paths over the samples of a loop as a graph: a guess whether a claim may be true, in any LTL or CTL.

Each path is followed for a while, and taken to go on as in its second half. What is false of such a path is hardly true
of all paths, and whoever proves claims need not try. A guess decides nothing.
"""

from __future__ import annotations

import numpy as np

from vernal.logic.question import Question
from vernal.model.numbers import nearest
from vernal.model.tick import Tick, idle
from vernal.sets.finite.labelled_graph import LabelledGraph, links
from vernal.simulate.runs import random_plan
from vernal.simulate.timed_targets import AtomMargins
from vernal.simulate.trajectories import simulator_of

SIMULATED_PATHS, SIMULATED_SAMPLES = 16, 192  # that are simulated, and how far
TOLERANCE = 1e-9  # of a margin: one so close to zero decides nothing


def simulated_lassos(question: Question, seed: int, tick: Tick = idle, *, between: bool = False) -> LabelledGraph:
    """Simulated paths of a loop, each a lasso whose second half comes again and again.

    Its positions are the samples, or, with those `between`, all times at which the simulation looked.
    """
    grid = question.model.grid
    assert grid is not None
    times = [grid * k for k in range(SIMULATED_SAMPLES)]
    simulator = simulator_of(question.model, times[-1], times)
    plan = random_plan(simulator.model, SIMULATED_PATHS, simulator.columns, np.random.default_rng(seed), corners=True)
    with np.errstate(all="ignore"):  # what overflows in floats is only a guess
        runs = simulator.run(plan, tick)
        margins = AtomMargins(question.model, question.formula).table(runs)
    assert runs.times is not None
    columns = np.arange(len(runs.times))
    if not between:
        columns = np.searchsorted(runs.times, [nearest(time) for time in times], side="right") - 1
    alive = columns < runs.lengths[:, None]
    number = np.cumsum(alive).reshape(alive.shape) - 1
    goes_on = alive[:, :-1] & alive[:, 1:]
    whole = number[alive[:, -1]]
    sources = np.concatenate([number[:, :-1][goes_on], whole[:, -1]])
    targets = np.concatenate([number[:, 1:][goes_on], whole[:, len(columns) // 2]])
    order = np.argsort(sources, kind="stable")
    found = {atom: np.nan_to_num(rows[:, columns][alive], nan=0.0) for atom, rows in margins.items()}
    return LabelledGraph(
        successors=links(sources[order], targets[order], int(alive.sum())),
        sure={atom: own > TOLERANCE for atom, own in found.items()},
        maybe={atom: own >= -TOLERANCE for atom, own in found.items()},
        initial=number[:, 0][alive[:, 0]],
        complete=True,
    )
