"""The public simulation: many random runs, and which of them break the task's properties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from vernal.engines.falsify.failure_rates import PathJudge, RunJudge, RunShare, share_of
from vernal.engines.falsify.trajectory_rates import TrajectoryJudge
from vernal.errors import InputError, Stopped
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.sampled.held_questions import about, flow_of
from vernal.logic.question import Question
from vernal.logic.task import GivenTask, Task, as_task
from vernal.logic.times import Time
from vernal.model.expr import Expr
from vernal.model.hooks import hook
from vernal.model.system import Model
from vernal.run.alarm import in_time
from vernal.run.budget import Budget
from vernal.run.threads import one_blas_thread
from vernal.simulate.runs import Plan, Runs, Simulator, StepSimulator, random_plan
from vernal.simulate.timed_targets import TARGETS
from vernal.simulate.trajectories import TrajectorySimulator, simulator_of

DEFAULT_RUN_STEPS = 20  # of a run, where nothing is said
MAX_NUMBERS = 10**8  # values kept in memory: about 800 MB
SECONDS_OVER_LIMIT = 0.5  # seconds over a limit, until work that did not look at it is interrupted


@dataclass(frozen=True)
class Simulation:
    """Random runs of a task, a row for each in every array and a column for each position, and what they break."""

    runs: Runs = field(repr=False)
    shares: Mapping[str, RunShare] = field(default_factory=dict)  # by the name of the property
    task: Task | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        broken = ", ".join(f"{name} fails on {share.share:.1%}" for name, share in self.shares.items() if share.failing)
        times = self.runs.times
        long = f"{self.runs.steps} steps" if times is None else f"until time {times[-1]:g}"
        return f"<Simulation of {len(self)} runs, {long}{': ' if broken else ''}{broken}>"

    def __len__(self) -> int:
        return len(self.runs.lengths)

    @property
    def state(self) -> Mapping[str, Floats]:
        """The state variables by name; nan after the end of a path that ends. Labels are indices."""
        return self.runs.state

    @property
    def actions(self) -> Mapping[str, Floats]:
        """The actions of the agents by name."""
        return self.runs.actions

    def plot(
        self,
        file: str | Path | None = None,
        *,
        of: str | Expr | Sequence[str | Expr] | None = None,
        plane: bool = False,
        limits: Mapping[str, float | Iterable[float]] | None = None,
    ) -> Any:
        """Draw how quantities spread over the runs; to a file by its suffix (pdf, svg, png) if one is named.

        `of` are the expressions to draw; `plane` draws two of them against each other; without `limits` those of the
        task's properties are drawn.
        """
        return hook("plot_simulation")(self, file, of=of, plane=plane, limits=limits)

    def save(self, file: str | Path) -> None:
        """Write every position of every run as CSV, as `vernal simulate --csv` does."""
        hook("write_runs")(self.runs, file)

    def to_dataframe(self) -> Any:
        """One row for every position of every run, as a data frame of pandas."""
        return hook("frame_runs")(self.runs)

    def _repr_html_(self) -> str:
        return str(hook("show_simulation")(self))


def simulate(
    subject: GivenTask,
    runs: int = 1000,
    steps: int | None = None,
    *,
    time: float | Fraction | None = None,
    seed: int = 0,
) -> Simulation:
    """Run a system many times: initial states, draws and ties are uniform at random, numbers are floating point.

    A system makes so many `steps`, 20 if nothing is said. A flow is followed for a `time`, without one as long as its
    properties look, under disturbances that are constant for a while. The properties of a task are judged on every run.
    Runs prove nothing; one that fails comes with an exact path, or with an enclosed trajectory.

    Example: `vn.simulate("room.toml", runs=1000, steps=30).plot("runs.svg")`
    """
    task = as_task(subject)
    return simulated(task, RunsAsked(runs, steps, time, seed), Budget())


@dataclass(frozen=True, slots=True)
class RunsAsked:
    """How many runs, for how long: a number of steps, or of a flow a time."""

    runs: int
    steps: int | None = None
    time: float | Fraction | None = None
    seed: int = 0

    def refuse(self, task: Task) -> None:
        """An error for what makes no sense of this task."""
        if self.runs < 1:
            raise InputError(f"runs has to be at least 1, not {self.runs}")
        if self.seed < 0 or (self.steps is not None and self.steps < 0):
            raise InputError("steps and seed have to be 0 or more")
        if task.model.motion.automaton is not None:
            raise InputError(f"{task.name} is a hybrid automaton, and these are not simulated yet; reach bounds it")
        if task.model.motion.time is Time.SECONDS:
            if self.steps is not None and task.model.grid is None:
                raise InputError(f"{task.name} is a flow, which makes no steps: say for how long with time")
            if self.steps is not None and self.time is not None:
                raise InputError("say for how long with time, or how many samples with steps, not both")
        elif self.time is not None:
            raise InputError(f"{task.name} is a system that moves in steps: say how many with steps, not with time")


def simulated(task: Task, wanted: RunsAsked, budget: Budget) -> Simulation:
    """The simulation within a budget: Stopped where the runs are not finished, and what is not judged says so."""
    wanted.refuse(task)
    model = flow_of(task.model)
    asked = {
        name: replace(about(model, formula, name), counts=task.times.get(name))
        for name, formula in task.properties.items()
    }
    with one_blas_thread(), np.errstate(all="ignore"):
        motion = MOTIONS[model.motion.time]
        simulator = motion.simulator(model, wanted, list(asked.values()))
        _refuse_many(simulator, wanted.runs)
        rng = np.random.default_rng(wanted.seed)

        def followed() -> tuple[Plan, Runs]:
            plan = random_plan(simulator.model, wanted.runs, simulator.columns, rng, tick=budget.check)
            return plan, simulator.run(plan, budget.check)

        plan, runs = in_time(followed, budget, SECONDS_OVER_LIMIT)
        shares = {
            name: _judged(motion.judge(question, simulator, plan), runs, budget) for name, question in asked.items()
        }
    return Simulation(runs, shares, task)


def _judged(judge: RunJudge, runs: Runs, budget: Budget) -> RunShare:
    """What a property is on the runs, or why that is not known."""
    try:
        budget.check()
        return in_time(partial(share_of, judge, runs, budget), budget, SECONDS_OVER_LIMIT)
    except Stopped as stop:
        question = judge.question
        return RunShare(question.name, question.claim.text, len(runs.lengths), counts=False, reason=stop.reason)


def _refuse_many(simulator: Simulator, runs: int) -> None:
    model = simulator.model
    kept = len(model.state) + sum(slot.var.size for slot in model.slots) + len(model.step.names)
    if runs * (simulator.steps + 1) * kept > MAX_NUMBERS:
        raise InputError("so many runs and steps do not fit into memory; ask for fewer")


# Motions --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SimulatedMotion:
    """How models of one kind of time are simulated, as far as was asked for, and their runs judged."""

    simulator: Callable[[Model, RunsAsked, Sequence[Question]], Simulator]
    judge: Callable[[Question, Any, Plan], RunJudge]  # with that simulator


def _in_steps(model: Model, wanted: RunsAsked, asked: Sequence[Question]) -> StepSimulator:
    if model.open_agents:
        raise InputError(f"there is no policy for {', '.join(map(repr, model.open_agents))}: nothing can be simulated")
    return StepSimulator(model, DEFAULT_RUN_STEPS if wanted.steps is None else wanted.steps)


def _in_seconds(model: Model, wanted: RunsAsked, asked: Sequence[Question]) -> TrajectorySimulator:
    """As long as wanted, or else as the properties look."""
    time = wanted.time
    if wanted.steps is not None and model.grid is not None:
        time = (wanted.steps or 1) * model.grid
    if time is not None and not 0 < time < float("inf"):
        raise InputError(f"time has to be a number above 0, not {time}")
    instants = [instant for question in asked for instant in TARGETS[question.time](question).instants]
    longest = max(instants, default=Fraction(0)) or Fraction(1)
    return simulator_of(model, longest if time is None else time, instants)


MOTIONS: Mapping[Time, SimulatedMotion] = {
    Time.STEPS: SimulatedMotion(_in_steps, lambda question, simulator, plan: PathJudge(question)),
    Time.SECONDS: SimulatedMotion(_in_seconds, TrajectoryJudge),
}
