"""Public neural controllers in the loop: `python -m benchmarks.archcomp [--only NAME] [--timeout S] [--runs N]`.

For each problem of the competition's category AINNCS whose files are public here, and for a variant that must fail:
the verdict, CPU seconds (reading apart), parts of the initial set, and how wide the last sets are beside what simulated
paths span then. Ends with 1 if a variant that must fail is said to hold, or a problem that holds is said to fail.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.measure import table
from vernal.engines.check import ask, question_of
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.result import Result
from vernal.formats.task.blueprint import load
from vernal.logic.task import Task
from vernal.logic.times import Time
from vernal.run.budget import Budget
from vernal.simulate.trajectories import simulate_flow

HERE = Path(__file__).parent
HOLDS, FAILS = "holds", "violated"
HEADER = ("problem", "property", "verdict", "CPU s", "parts", "last sets are wide", "simulated")


@dataclass(frozen=True)
class Problem:
    """A property of a file, with parameters, and what is true of it."""

    file: str
    property: str
    truth: str
    parameters: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        told = ", ".join(f"{name} = {value:g}" for name, value in self.parameters.items())
        return f"{self.file}{f' ({told})' if told else ''}"


def encounters() -> list[Problem]:
    """The four instances of VCAS, under every choice of pilots and under the middle one."""
    truths = {-19.5: (HOLDS, HOLDS), -22.5: (FAILS, HOLDS), -25.5: (FAILS, FAILS), -28.5: (FAILS, FAILS)}
    return [
        Problem("vcas", "apart", truth, {"v0": rate, "freedom": freedom})
        for rate, both in truths.items()
        for freedom, truth in zip((1, 0), both, strict=True)
    ]


PROBLEMS = [
    Problem("pendulum", "settles", HOLDS),
    Problem("pendulum", "bad", FAILS),
    Problem("pendulum", "vacuous", HOLDS),
    Problem("acc", "distance", HOLDS),
    Problem("acc", "bad", FAILS),
    Problem("acc_tanh", "distance", HOLDS),
    Problem("acc_tanh", "bad", FAILS),
    Problem("tora", "remain", HOLDS),
    Problem("tora", "bad", FAILS),
    Problem("docking", "slow", HOLDS),
    Problem("docking", "bad", FAILS),
    *encounters(),
]


@dataclass(frozen=True)
class Outcome:
    """What came out of one problem, and what it cost."""

    problem: Problem
    result: Result
    seconds: float
    widths: str = ""
    simulated: str = ""

    @property
    def wrong(self) -> bool:
        """Whether the verdict is the opposite of what is true."""
        return self.result.verdict.value not in (self.problem.truth, "unknown")

    def row(self) -> Sequence[str]:
        """A line of the table."""
        said = f"{self.result.verdict}{', vacuous' if self.result.vacuous else ''}{' WRONG' if self.wrong else ''}"
        parts = str(self.result.statistics.get("boxes", ""))
        return (
            str(self.problem),
            self.problem.property,
            said,
            f"{self.seconds:.2f}",
            parts,
            self.widths,
            self.simulated,
        )


def decided(problem: Problem, timeout: float, runs: int) -> Outcome:
    """One problem by `auto`."""
    task = load(HERE / f"{problem.file}.toml", **problem.parameters)
    started = time.process_time()
    result = ask(task, task.properties[problem.property], problem.property, "auto", Budget(timeout))
    seconds = time.process_time() - started
    pipe = result.evidence
    if not isinstance(pipe, Flowpipe) or task.time_of(problem.property) is not Time.SECONDS:
        return Outcome(problem, result, seconds)
    simulated = spans(task, problem.property, pipe, runs)
    return Outcome(problem, result, seconds, _told(last_widths(task, pipe)), _told(simulated))


def last_widths(task: Task, pipe: Flowpipe) -> dict[str, float]:
    """How far the sets at the last time reach, together, along each state variable."""
    names = {variable.name for variable in task.model.state}
    last = pipe.times[:, 1] >= pipe.times[:, 1].max()
    lower, upper = pipe.sets.rows(last).ranges()
    ends = zip(pipe.variables, upper.max(axis=0) - lower.min(axis=0), strict=False)
    return {name: float(width) for name, width in ends if name in names}


def spans(task: Task, name: str, pipe: Flowpipe, runs: int) -> dict[str, float]:
    """How far simulated paths spread at the last time."""
    flow = question_of(task, task.properties[name], name).model
    last = Fraction(float(pipe.times[:, 1].max())).limit_denominator(10**6)
    found = simulate_flow(flow, runs, last, np.random.default_rng(0), corners=True)
    return {variable.name: float(np.ptp(found.state[variable.name][:, -1])) for variable in task.model.state}


def _told(widths: dict[str, float]) -> str:
    return " ".join(f"{width:.2g}" for width in widths.values())


def main() -> int:
    parser = argparse.ArgumentParser(description="Public neural controllers in the loop: verdicts, seconds, widths.")
    parser.add_argument("--only", action="append", choices=sorted({problem.file for problem in PROBLEMS}))
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--runs", type=int, default=300)
    given = parser.parse_args()
    chosen = [problem for problem in PROBLEMS if given.only is None or problem.file in given.only]
    outcomes = []
    for problem in chosen:
        outcomes.append(decided(problem, given.timeout, given.runs))
        print(*outcomes[-1].row(), sep="  ", file=sys.stderr, flush=True)
        if outcomes[-1].result.reason:
            print("   ", outcomes[-1].result.reason, file=sys.stderr, flush=True)
    print(table(HEADER, [outcome.row() for outcome in outcomes]))
    return 1 if any(outcome.wrong for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
