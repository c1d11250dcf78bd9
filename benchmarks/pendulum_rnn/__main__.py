"""The pendulum of pushes, measured: `python -m benchmarks.pendulum_rnn [--cap S] [--full] [--to N] [--total MIN]`.

AAAI 2019, Tables 1 and 2: after n steps the pendulum is not more than pi/10, pi/30, pi/50, pi/70 to the left. `auto`
beside mixed-integer programs from the three unrollings, with our bounds and, for the ablation, with intervals only; and
how large these programs are. The policy keeps the pendulum up; the same one with a sensor that is off lets it fall.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from benchmarks.ladder import ALL, UNROLLINGS, Ladder, Limits, options, run
from benchmarks.measure import table
from vernal.engines.check import asked_of
from vernal.engines.options import MilpOptions, Unroll
from vernal.engines.programs.milp import Milp
from vernal.evidence.result import UNKNOWN
from vernal.formats.task.blueprint import load
from vernal.logic.question import Question
from vernal.run.budget import Budget
from vernal.solvers.base import Solved, SolveStatus
from vernal.solvers.fake import Fake

FILE = Path(__file__).parent / "bangbang.toml"
POLICIES = {"R16": FILE, "R16, falls": FILE.parent / "falls.toml"}
HEADER = ("policy", "eps", "n")
STEPS = range(1, 9)
ANGLES = (10, 30, 50, 70)
TIGHTEST = ANGLES[-1]
PROGRAMS = tuple(product((True, False), UNROLLINGS))


def ladders(angles: Sequence[int] = ANGLES) -> list[Ladder]:
    return [
        Ladder((policy, f"pi/{d}"), file, "upright", "n", STEPS, ALL, {"d": d})
        for policy, file in POLICIES.items()
        for d in angles
    ]


def sizes_table(limits: Limits) -> str:
    """Variables, rows and binaries of the program for the tightest angle; a program that bounds make needless is 0."""
    steps = [n for n in STEPS if limits.to is None or n <= limits.to]
    header = [f"{unroll}{'' if tighten else ', loose'}" for tighten, unroll in PROGRAMS]
    return table(
        ("n", *header),
        [(str(n), *(size(n, tighten, unroll, limits.cap) for tighten, unroll in PROGRAMS)) for n in steps],
    )


def size(n: int, tighten: bool, unroll: Unroll, cap: float) -> str:
    """The first program that is written; nobody solves it. `?` if that takes longer than the cap."""
    task = load(FILE, n=n, d=TIGHTEST)
    reader = Fake([Solved(SolveStatus.INFEASIBLE)])
    question = Question(task.system, task.properties["upright"])
    result = asked_of(Milp(MilpOptions(solver=reader, unroll=unroll, tighten=tighten)), question, Budget(timeout=cap))
    if reader.asked:
        return f"{reader.asked[0].columns} / {reader.asked[0].rows} / {reader.asked[0].binaries}"
    return "?" if result.verdict is UNKNOWN else "0"


def main(arguments: Sequence[str] | None = None) -> int:
    limits = options("pendulum_rnn", "The pendulum of pushes, measured", arguments, minutes=18)
    print("X[n] (theta > -eps)\n")
    failed = run(HEADER, ladders(), limits)
    print(f"\nvariables / rows / binaries of the program for eps = pi/{TIGHTEST}\n\n{sizes_table(limits)}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
