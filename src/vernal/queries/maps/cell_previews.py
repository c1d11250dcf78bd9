"""What a few runs from each cell suggest, in floats: whether the border runs through it, and along which axis.

An engine that is asked of one cell by itself may take seconds, also where the answer is that a path fails. Runs from
some points of a cell that keep the claim, beside others that do not, say as much at once. They decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vernal.errors import Stopped, VernalError
from vernal.evidence.trace import Trace
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.logic.normal import horizon
from vernal.logic.prefix import refutable
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.tick import Tick
from vernal.queries.maps.axes import MapAxis
from vernal.queries.maps.cell_tree import CellBox
from vernal.run.budget import Budget
from vernal.simulate.enclosed_runs import enclosed
from vernal.simulate.runs import Plan, StepSimulator, random_plan
from vernal.simulate.targets import Target
from vernal.simulate.timed_targets import TARGETS, TrajectoryTarget
from vernal.simulate.trajectories import TrajectorySimulator, simulator_of

CORNERS, SCATTERED = 4, 4  # points of a cell, besides its middle
POINTS_PER_CELL = 1 + CORNERS + SCATTERED
DRAWS = 3  # runs from each point, where they differ
MAX_PREVIEWED_STEPS = 500


@dataclass(frozen=True)
class CellPreview:
    """Runs from the points of some cells."""

    plan: Plan
    margins: Floats  # (cells, points, runs of each)
    places: Floats  # (cells, points, axes): where the points are in their cells, from 0 to 1

    @property
    def mixed(self) -> Mask:
        """The cells of which some points seem to keep the claim and others to fail it."""
        kept: Mask = np.isfinite(self.margins) & (self.margins > 0)
        some: Mask = kept.min(axis=2).max(axis=1)
        return self.fails & some

    @property
    def fails(self) -> Mask:
        """The cells from which a run seems to fail."""
        return np.asarray(self.margins.min(axis=(1, 2)) < 0, bool)

    @property
    def slopes(self) -> Floats:
        """(cells, axes): by how much the margin seems to change from one end of each axis to the other."""
        return margin_slopes(self.margins.min(axis=2), self.places)

    def worst(self) -> Plan | None:
        """The run that fails by most; None where none does."""
        row = int(self.margins.reshape(-1).argmin())
        return self.plan.rows(np.array([row])) if self.margins.reshape(-1)[row] < 0 else None


def margin_slopes(margins: Floats, places: Floats) -> Floats:
    """(cells, axes): slopes of margins (cells, points) over places (cells, points, axes), axis by axis."""
    known = np.isfinite(margins)
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    values = np.where(known, margins, 0.0)
    above = np.where(known, values - values.sum(axis=1, keepdims=True) / count, 0.0)
    counted = np.where(known[..., None], places, 0.0)
    beside = np.where(known[..., None], counted - counted.sum(axis=1, keepdims=True) / count[..., None], 0.0)
    together = np.abs((above[..., None] * beside).sum(axis=1))
    slopes: Floats = together / np.maximum((beside**2).sum(axis=1), 1e-12)
    return slopes


def previewed(
    question: Question, axes: Sequence[MapAxis], boxes: Sequence[CellBox], rng: np.random.Generator, check: Tick
) -> CellPreview | None:
    """Runs from cells of one question; None where none can be made."""
    try:
        found = simulation(question)
        if found is None or not boxes or question.claim.mentions_some:
            return None
        simulator, target = found
        with np.errstate(all="ignore"):
            plan, places = _plan(simulator, question, axes, boxes, rng, check)
            margins = target.margins(simulator.run(plan, check))
    except Stopped:
        raise
    except VernalError:  # no start is found, or no run can be made in floats: then nobody knows
        return None
    return CellPreview(plan, margins.reshape(len(boxes), POINTS_PER_CELL, -1), places)


def failing_trajectory(
    question: Question, axes: Sequence[MapAxis], box: CellBox, rng: np.random.Generator, budget: Budget
) -> Trace | None:
    """A trajectory from a cell on which the claim is false, enclosed, where runs in floats suggest one."""
    seen = previewed(question, axes, [box], rng, budget.check)
    plan = None if seen is None else seen.worst()
    if plan is None:
        return None
    simulator, target = _seconds(question)
    return enclosed(question, target, simulator, plan, budget, short=False)


def simulation(question: Question) -> tuple[StepSimulator | TrajectorySimulator, Target | TrajectoryTarget] | None:
    """What makes runs of a question's model, and what measures them; None where they would be too long."""
    return _steps(question) if question.time is Time.STEPS else _seconds(question)


def _seconds(question: Question) -> tuple[TrajectorySimulator, TrajectoryTarget]:
    target = TARGETS[question.time](question)
    return simulator_of(question.model, max(target.instants, default=0), target.instants), target


def _steps(question: Question) -> tuple[StepSimulator, Target] | None:
    """Of a claim without an end, as far as a first look goes."""
    path = question.claim.path
    window = refutable(path)
    steps = horizon(window)
    if steps is None or steps > MAX_PREVIEWED_STEPS:
        return None
    return StepSimulator(question.model, steps), Target(question.model, path, window)


def _plan(
    simulator: StepSimulator | TrajectorySimulator,
    question: Question,
    axes: Sequence[MapAxis],
    boxes: Sequence[CellBox],
    rng: np.random.Generator,
    check: Tick,
) -> tuple[Plan, Floats]:
    mapped = {axis.name for axis in axes}
    others = (start for name, start in question.model.init.starts.items() if name not in mapped)
    draws = DRAWS if simulator.model.step.names or any(not start.is_point for start in others) else 1
    plan = random_plan(simulator.model, len(boxes) * POINTS_PER_CELL * draws, simulator.columns, rng, tick=check)
    first, places = dict(plan.first), _places(len(boxes), len(axes), rng)
    for number, axis in enumerate(axes):
        ends, part = np.array([[float(end) for end in box[number]] for box in boxes]), places[..., number]
        points = (1 - part) * ends[:, :1] + part * ends[:, 1:]
        whole = np.round(points) if axis.whole else points
        first[simulator.model.variable(axis.name).var] = np.repeat(whole, draws, axis=1).reshape(-1)
    return Plan(first, plan.decisions), places


def _places(cells: int, axes: int, rng: np.random.Generator) -> Floats:
    """(cells, points, axes): the middle, some corners, some points anywhere."""
    found = rng.random((cells, POINTS_PER_CELL, axes))
    found[:, 0] = 0.5
    found[:, 1 : 1 + CORNERS] = np.round(found[:, 1 : 1 + CORNERS])
    return found
