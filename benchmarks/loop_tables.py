"""Tables of verdicts about flows and loops that sample: what benchmarks/archcomp and benchmarks/plants share.

For each problem the verdict, CPU seconds (reading, and loading the engines, apart), parts of the initial set, and how
wide the last sets are beside what simulated paths span then.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.measure import setting, table
from vernal.engines.check import ask, question_of
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.result import Result
from vernal.formats.task.blueprint import load
from vernal.logic.task import Task
from vernal.logic.times import Time
from vernal.run.budget import Budget
from vernal.simulate.trajectories import simulate_flow

HOLDS, FAILS = "holds", "violated"
SMALL = Path(__file__).parent / "nln" / "lotka_volterra.toml"  # asked first, so that what is loaded once is loaded
HEADER = ("problem", "property", "verdict", "CPU s", "parts", "last sets are wide", "simulated")


@dataclass(frozen=True)
class Problem:
    """A property of a file, with parameters, and what is true of it."""

    file: Path
    claim: str  # by its name
    truth: str = HOLDS
    parameters: Mapping[str, float] = field(default_factory=dict)
    engine: str = "auto"

    def __str__(self) -> str:
        told = ", ".join(f"{name} = {value:g}" for name, value in self.parameters.items())
        return f"{self.name}{f' ({told})' if told else ''}"

    @property
    def name(self) -> str:
        """Of its file."""
        return self.file.stem

    @property
    def is_true(self) -> bool:
        """Whether it holds."""
        return self.truth == HOLDS

    def task(self) -> Task:
        """The file, read."""
        return load(self.file, **self.parameters)


def asked(problem: Problem, timeout: float) -> tuple[Result, float]:
    """What comes of it within so many seconds of the processor, and how many it took."""
    task = problem.task()
    started = time.process_time()
    budget = Budget().of_work(timeout)
    result = ask(task, task.properties[problem.claim], problem.claim, problem.engine, budget)
    return result, time.process_time() - started


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
        cost = f"{self.seconds:.2f}", str(self.result.statistics.get("boxes", ""))
        return str(self.problem), self.problem.claim, said, *cost, self.widths, self.simulated


def decided(problem: Problem, timeout: float, runs: int) -> Outcome:
    """One problem, with widths where there is a flowpipe over time."""
    task, (result, seconds) = problem.task(), asked(problem, timeout)
    pipe = result.evidence
    if not isinstance(pipe, Flowpipe) or task.time_of(problem.claim) is not Time.SECONDS:
        return Outcome(problem, result, seconds)
    return Outcome(problem, result, seconds, _told(last_widths(task, pipe)), _told(spans(task, problem, pipe, runs)))


def last_widths(task: Task, pipe: Flowpipe) -> dict[str, float]:
    """How far the sets at the last time reach, together, along each state variable."""
    names = {variable.name for variable in task.model.state}
    last = pipe.times[:, 1] >= pipe.times[:, 1].max()
    lower, upper = pipe.sets.rows(last).ranges()
    ends = zip(pipe.variables, upper.max(axis=0) - lower.min(axis=0), strict=False)
    return {name: float(width) for name, width in ends if name in names}


def spans(task: Task, problem: Problem, pipe: Flowpipe, runs: int) -> dict[str, float]:
    """How far simulated paths spread at the last time."""
    flow = question_of(task, task.properties[problem.claim], problem.claim).model
    last = Fraction(float(pipe.times[:, 1].max())).limit_denominator(10**6)
    found = simulate_flow(flow, runs, last, np.random.default_rng(0), corners=True)
    return {variable.name: float(np.ptp(found.state[variable.name][:, -1])) for variable in task.model.state}


def _told(widths: dict[str, float]) -> str:
    return " ".join(f"{width:.2g}" for width in widths.values())


def print_table(problems: Sequence[Problem], description: str, timeout: float) -> int:
    """What a command prints; 1 if one of the verdicts is the opposite of what is true."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--only", action="append", choices=sorted({problem.name for problem in problems}))
    parser.add_argument("--timeout", type=float, default=timeout, metavar="S", help="CPU seconds for each problem")
    parser.add_argument("--runs", type=int, default=300, help="simulated paths whose spread is told")
    given = parser.parse_args()
    outcomes = []
    asked(Problem(SMALL, "bounded"), given.timeout)
    for problem in problems:
        if given.only is None or problem.name in given.only:
            outcomes.append(decided(problem, given.timeout, given.runs))
            print(*outcomes[-1].row(), sep="  ", file=sys.stderr, flush=True)
            if outcomes[-1].result.reason:
                print("   ", outcomes[-1].result.reason, file=sys.stderr, flush=True)
    print(setting(), table(HEADER, [outcome.row() for outcome in outcomes]), sep="\n\n")
    return 1 if any(outcome.wrong for outcome in outcomes) else 0
