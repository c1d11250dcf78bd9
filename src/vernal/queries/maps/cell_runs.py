"""Runs from many cells at once, in floats: which cells seem to have a path that fails.

The first runs of a cell begin in its middle and decide every choice alike, so that what they show may be shown of the
whole cell by a system with its draws decided; the others begin anywhere in it, half of them at its corners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vernal.evidence.belief import is_refuted
from vernal.evidence.trace import Trace
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.normal import horizon
from vernal.logic.prefix import refutable
from vernal.logic.question import Question
from vernal.model.expr import Choose
from vernal.model.tick import Tick
from vernal.queries.maps.axes import MapAxis
from vernal.queries.maps.cell_tree import CellBox
from vernal.simulate.lift import violation
from vernal.simulate.runs import Plan, Runs, StepSimulator, random_plan
from vernal.simulate.starts import NoInitialState
from vernal.simulate.targets import Target

MAX_WAYS = 3  # in which all draws are decided alike
SCATTERED_RUNS = 4  # of a cell, besides
MAX_SIMULATED_STEPS = 2000
MAX_WHOLE_STEPS = 16  # of a run that is replayed at once; of longer ones the first few, since numbers grow


@dataclass(frozen=True)
class CellRuns:
    """The runs of one batch, and which of them seem to fail."""

    question: Question
    runs: Runs
    margins: Floats  # (cells, runs of each)
    places: Floats  # (cells, runs, axes): where they start in their cells, from 0 to 1

    @property
    def worst(self) -> dict[int, int]:
        """By cell, the row of the run that fails by most."""
        rows, each = self.margins.argmin(axis=1), self.margins.shape[1]
        least = self.margins.min(axis=1)
        return {cell: cell * each + int(rows[cell]) for cell in np.flatnonzero(least < 0).tolist()}

    def fails_alike(self, cell: int, way: int) -> bool:
        """Whether the run from the middle in which every choice is decided in one way seems to fail."""
        return bool(self.margins[cell, min(way, self.margins.shape[1] - 1)] < 0)

    def start(self, cell: int, way: int) -> dict[str, float]:
        """Where the state variables of that run start."""
        row = cell * self.margins.shape[1] + min(way, self.margins.shape[1] - 1)
        return {var.name: float(self.runs.plan.first[var.var][row]) for var in self.question.model.state}

    def trace(self, question: Question, row: int, check: Tick) -> Trace | None:
        """A run as an exact path from the cell that fails, if it is one."""
        runs, goal = replace(self.runs, system=question.model), self.question.claim.path
        last = int(runs.lengths[row]) - 1
        steps = last if last <= MAX_WHOLE_STEPS else None
        found = violation(runs, row, goal, check, short=True, steps=steps)
        found = found or violation(runs, row, goal, check, steps=steps)
        return found if found is not None and is_refuted(question, found) else None


def simulated(
    question: Question, axes: Sequence[MapAxis], boxes: Sequence[CellBox], rng: np.random.Generator, check: Tick
) -> CellRuns | None:
    """A few runs from each cell; None for claims that no prefix of a run refutes, and where no start is found."""
    path = question.claim.path
    steps = horizon(refutable(path))
    if not boxes or steps is None or steps > MAX_SIMULATED_STEPS or question.claim.mentions_some:
        return None
    try:
        plan, places = _plan(question, axes, boxes, steps, rng, check)
    except NoInitialState:  # constraints that contradict each other, or that no random point satisfies
        return None
    with np.errstate(all="ignore"):
        runs = StepSimulator(question.model, steps).run(plan, check)
        margins = Target(question.model, path, refutable(path)).margins(runs)
    return CellRuns(question, runs, margins.reshape(len(boxes), -1), places)


def _plan(
    question: Question,
    axes: Sequence[MapAxis],
    boxes: Sequence[CellBox],
    steps: int,
    rng: np.random.Generator,
    check: Tick,
) -> tuple[Plan, Floats]:
    each = MAX_WAYS + SCATTERED_RUNS
    plan = random_plan(question.model, len(boxes) * each, steps, rng, tick=check)
    first, places = dict(plan.first), _places(len(boxes), len(axes), rng)
    for number, axis in enumerate(axes):
        ends, part = np.array([[float(end) for end in box[number]] for box in boxes]), places[..., number]
        values = (1 - part) * ends[:, :1] + part * ends[:, 1:]
        first[question.model.variable(axis.name).var] = (np.round(values) if axis.whole else values).reshape(-1)
    for node, values in plan.decisions.items():
        if isinstance(node, Choose):
            for way in range(MAX_WAYS):
                values[way::each] = min(way, len(node.options) - 1)
    return Plan(first, plan.decisions), places


def _places(cells: int, axes: int, rng: np.random.Generator) -> Floats:
    """(cells, runs, axes): the middle, some corners, some points."""
    found = rng.random((cells, MAX_WAYS + SCATTERED_RUNS, axes))
    found[:, :MAX_WAYS] = 0.5
    corners = slice(MAX_WAYS, MAX_WAYS + SCATTERED_RUNS // 2)
    found[:, corners] = np.round(found[:, corners])
    return found
