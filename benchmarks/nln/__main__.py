"""Nonlinear flows of ARCH-COMP's category NLN: `python -m benchmarks.nln [--only NAME ...] [--runs N] [--timeout S]`.

Verdict, CPU seconds, parts of the initial set, and the width of the last set of one variable beside the range of
simulated trajectories, which have to be inside the flowpipe at all times: the last column counts those that are not.
Ends with 1 if there is one, or if a claim is not decided as it should be.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.measure import table
from vernal.engines.check import ask
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.result import HOLDS, Result
from vernal.formats.task.blueprint import load
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.task import Task
from vernal.run.budget import Budget
from vernal.simulate.trajectories import simulate_flow

HERE = Path(__file__).parent
ROUNDING = 1e-6  # of simulated trajectories
HEADER = ("problem", "verdict", "CPU s", "parts", "width of", "at the end", "simulated", "runs", "outside")


@dataclass(frozen=True)
class Problem:
    """A task file with parameters, and the variable whose last width is told."""

    name: str
    file: str
    of: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    same_start: bool = False  # one initial state, so that one trajectory is all there is


PROBLEMS = (
    Problem("Van der Pol, mu = 1", "van_der_pol", "y"),
    Problem("Van der Pol, mu = 2", "van_der_pol_2", "y"),
    Problem("coupled Van der Pol", "coupled_van_der_pol", "y1"),
    Problem("Laub-Loomis, W = 0.01", "laub_loomis", "x4"),
    Problem("Laub-Loomis, W = 0.05", "laub_loomis", "x4", {"w": 0.05}),
    Problem("Laub-Loomis, W = 0.1", "laub_loomis", "x4", {"w": 0.1, "most": 5}),
    Problem("Lotka-Volterra", "lotka_volterra", "x"),
    Problem("production-destruction, I", "production_destruction", "z"),
    Problem("production-destruction, P", "production_destruction", "z",
            {"least_x": 9.98, "most_x": 9.98, "least_a": 0.296, "most_a": 0.304}),
    Problem("production-destruction, I & P", "production_destruction", "z",
            {"least_x": 9.7, "least_a": 0.298, "most_a": 0.302}),
    Problem("Robertson, 1e2, 1e3", "robertson", "x", same_start=True),
    Problem("Robertson, 1e3, 1e5", "robertson", "x", {"beta": 1e3, "gamma": 1e5}, same_start=True),
    Problem("Robertson, 1e3, 1e7", "robertson", "x", {"beta": 1e3, "gamma": 1e7}, same_start=True),
    Problem("quadrotor", "quadrotor", "x3"),
)  # fmt: skip


def outside(pipe: Flowpipe, times: Floats, states: Floats) -> int:
    """How many trajectories (runs, times, n) are at some time in no set of a flowpipe.

    Where the simulator has no number (its steps are explicit, and the last of Robertson's problems is too stiff for
    them) nothing is compared; tests/interpret/flow/test_linear_steps.py does it with an implicit scheme.
    """
    low, high = pipe.sets.ranges()
    wrong = np.zeros(len(states), dtype=bool)
    for position, now in enumerate(times):
        rows = (pipe.times[:, 0] <= now) & (now <= pipe.times[:, 1])
        inside = ~np.isfinite(states[:, position]).all(axis=1)
        for below, above in zip(low[rows], high[rows], strict=True):
            here = states[:, position]
            inside |= ((below - ROUNDING <= here) & (here <= above + ROUNDING)).all(axis=1)
        wrong |= ~inside
    return int(wrong.sum())


def row(problem: Problem, runs: int, timeout: float) -> tuple[list[str], bool]:
    """One line of the table, and whether it is as it should be."""
    task = load(HERE / f"{problem.file}.toml", **problem.parameters)
    started = time.process_time()
    ((name, formula),) = task.properties.items()
    budget = Budget(timeout=timeout, started=started, clock=time.process_time)
    result = ask(task, formula, name, "flowpipe", budget)
    spent = time.process_time() - started
    told = [problem.name, str(result.verdict), f"{spent:.2f}", str(result.statistics.get("boxes", ""))]
    if not isinstance(result.evidence, Flowpipe):
        return [*told, "", "", "", "", result.reason or ""], False
    count = 1 if problem.same_start else runs
    wrong, widths = compared(task, result, result.evidence, problem, count)
    return [*told, problem.of, *widths, str(count), str(wrong)], not wrong and result.verdict is HOLDS


def compared(task: Task, result: Result, pipe: Flowpipe, problem: Problem, count: int) -> tuple[int, tuple[str, str]]:
    """How many simulated trajectories are outside a flowpipe, and the widths of a variable at its end."""
    last = float(pipe.until)
    made = simulate_flow(task.model, count, last, np.random.default_rng(0), corners=count > 1)
    states = np.stack([made.state[variable.name] for variable in task.model.state], axis=2)
    times = np.linspace(0.0, last, states.shape[1]) if made.times is None else np.asarray(made.times)
    column = [variable.name for variable in task.model.state].index(problem.of)
    low, high = pipe.sets.rows(pipe.times[:, 1] >= last).ranges()
    width = float(high[:, column].max() - low[:, column].min())
    simulated = float(np.ptp(states[:, -1, column]))
    return outside(pipe, times, states), (f"{width:.3g}", f"{simulated:.3g}" if np.isfinite(simulated) else "")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nln", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""], metavar="NAME", help="problems whose names contain this")
    parser.add_argument("--runs", type=int, default=1000, help="simulated trajectories (default 1000)")
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="CPU seconds for each (default 60)")
    given = parser.parse_args()
    rows, fine = [], True
    for problem in PROBLEMS:
        if any(name in problem.name for name in given.only):
            line, good = row(problem, given.runs, given.timeout)
            print(", ".join(line), file=sys.stderr, flush=True)
            rows.append(line)
            fine &= good
    print(table(HEADER, rows))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
