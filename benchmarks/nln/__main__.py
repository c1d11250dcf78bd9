"""Nonlinear flows of ARCH-COMP's category NLN: `python -m benchmarks.nln [--only NAME ...] [--runs N] [--timeout S]`.

Verdict, CPU seconds, parts of the initial set, and the width of the last set of one variable beside the range of
simulated trajectories, which have to be inside the flowpipe at all times: the last column counts those that are not.
Ends with 1 if there is one, or if a claim is not decided as it should be.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.loop_tables import SMALL, asked
from benchmarks.loop_tables import Problem as Claim
from benchmarks.measure import setting, table
from benchmarks.pipe_judge import PipeJudge
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.result import HOLDS
from vernal.formats.task.blueprint import load
from vernal.logic.task import Task
from vernal.simulate.trajectories import simulate_flow

HERE = Path(__file__).parent
HEADER = ("problem", "verdict", "CPU s", "parts", "width of", "at the end", "simulated", "runs", "outside")


@dataclass(frozen=True)
class Problem:
    """A task file with parameters, and the variable whose last width is told."""

    name: str
    file: str
    of: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    same_start: bool = False  # one initial state, so that one trajectory is all there is

    @property
    def claim(self) -> Claim:
        """The only property of its file, by `flowpipe`."""
        file = HERE / f"{self.file}.toml"
        (asked,) = load(file, **self.parameters).properties
        return Claim(file, asked, parameters=self.parameters, engine="flowpipe")


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


def row(problem: Problem, runs: int, timeout: float) -> tuple[list[str], bool]:
    """One line of the table, and whether it is as it should be."""
    claim = problem.claim
    result, spent = asked(claim, timeout)
    told = [problem.name, str(result.verdict), f"{spent:.2f}", str(result.statistics.get("boxes", ""))]
    if not isinstance(result.evidence, Flowpipe):
        return [*told, "", "", "", "", result.reason or ""], False
    count = 1 if problem.same_start else runs
    wrong, widths = compared(claim.task(), result.evidence, problem.of, count)
    return [*told, problem.of, *widths, str(count), str(wrong)], not wrong and result.verdict is HOLDS


def compared(task: Task, pipe: Flowpipe, of: str, count: int) -> tuple[int, tuple[str, str]]:
    """How many simulated trajectories are outside a flowpipe, and the widths of a variable at its end.

    Where the simulator has no number (its steps are explicit, and the last of Robertson's problems is too stiff for
    them) nothing is compared; tests/interpret/flow/test_linear_steps.py does it with an implicit scheme.
    """
    last = float(pipe.until)
    made = simulate_flow(task.model, count, last, np.random.default_rng(0), corners=count > 1)
    low, high = pipe.sets.rows(pipe.times[:, 1] >= last).ranges()
    column = pipe.variables.index(of)
    width = float(high[:, column].max() - low[:, column].min())
    simulated = float(np.ptp(made.state[of][:, -1]))
    told = f"{width:.3g}", f"{simulated:.3g}" if np.isfinite(simulated) else ""
    return int(PipeJudge(pipe).outside(made).sum()), told


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nln", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""], metavar="NAME", help="problems whose names contain this")
    parser.add_argument("--runs", type=int, default=1000, help="simulated trajectories (default 1000)")
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="CPU seconds for each (default 60)")
    given = parser.parse_args()
    rows, fine = [], True
    asked(Claim(SMALL, "bounded"), given.timeout)
    for problem in PROBLEMS:
        if any(name in problem.name for name in given.only):
            line, good = row(problem, given.runs, given.timeout)
            print(", ".join(line), file=sys.stderr, flush=True)
            rows.append(line)
            fine &= good
    print(setting(), table(HEADER, rows), sep="\n\n")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
