"""Simulated trajectories inside flowpipes: `python -m benchmarks.inside [--only NAME ...] [--runs N] [--timeout S]`.

Every flow and every loop that samples of benchmarks/archcomp, benchmarks/plants and benchmarks/nln that is proven is
simulated a million times (by default), from corners and random starts, under random disturbances: at each of some 200
times a state, and what agents hold then, has to be in a set of the part of the initial set that it comes from. Prints
how many were looked at and how many were outside, and ends with 1 if one was.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

import numpy as np

from benchmarks.archcomp.__main__ import PROBLEMS as CONTROLLERS
from benchmarks.loop_tables import Problem, asked
from benchmarks.measure import setting, table
from benchmarks.nln.__main__ import PROBLEMS as FLOWS
from benchmarks.pipe_judge import PipeJudge
from benchmarks.plants.__main__ import PROBLEMS as PLANTS
from vernal.engines.check import question_of
from vernal.evidence.flowpipe import Flowpipe
from vernal.simulate.runs import Runs
from vernal.simulate.trajectories import simulate_flow

BATCH = 20_000
HEADER = ("problem", "property", "verdict", "runs", "states looked at", "outside", "CPU s")


def batches(problem: Problem, pipe: Flowpipe, runs: int) -> Iterator[Runs]:
    """Simulated trajectories of a problem, until its flowpipe ends; the first batch has corners."""
    task = problem.task()
    flow = question_of(task, task.properties[problem.claim], problem.claim).model
    last = Fraction(float(pipe.until)).limit_denominator(10**6)
    for number in range(-(-runs // BATCH)):
        rng = np.random.default_rng(number)
        yield simulate_flow(flow, min(BATCH, runs - number * BATCH), last, rng, corners=not number)


def looked_at(problem: Problem, runs: int, timeout: float, tell: Callable[[str], None]) -> tuple[list[str], bool]:
    """One line of the table, and whether nothing was outside."""
    result, _ = asked(problem, timeout)
    told, pipe = [str(problem), problem.claim, str(result.verdict)], result.evidence
    if not isinstance(pipe, Flowpipe):
        return [*told, "", "", "", result.reason or ""], True
    started, judge, count, states, wrong = time.process_time(), PipeJudge(pipe), 0, 0, 0
    for made in batches(problem, pipe, runs):
        wrong += int(judge.outside(made).sum())
        count, states = count + len(made.lengths), states + int(made.lengths.sum())
        tell(f"{problem} {problem.claim}: {count:,} runs, {wrong} outside")
    return [*told, f"{count:,}", f"{states:,}", str(wrong), f"{time.process_time() - started:.0f}"], not wrong


def problems() -> Mapping[str, list[Problem]]:
    """What is expected to hold in continuous time, by folders."""
    return {
        "archcomp": [one for one in CONTROLLERS if one.is_true and one.name != "vcas" and one.claim != "vacuous"],
        "plants": [one for one in PLANTS if one.is_true],
        "nln": [one.claim for one in FLOWS if not one.same_start],
    }


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inside", description="Trajectories in flowpipes.")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="folders, or names of files")
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--timeout", type=float, default=200.0, metavar="S", help="CPU seconds for each proof")
    given = parser.parse_args()
    rows, fine = [], True
    for folder, chosen in problems().items():
        for problem in chosen:
            if given.only is None or {folder, problem.name} & set(given.only):
                line, good = looked_at(
                    problem, given.runs, given.timeout, lambda said: print(said, file=sys.stderr, flush=True)
                )
                rows.append(line)
                fine &= good
    print(setting(), table(HEADER, rows), sep="\n\n")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
