"""Is any engine ever wrong about a flow? `python -m benchmarks.never_wrong_flows [--instances N] [--engines NAME ...]`.

Random fields in one to three variables, polynomial, disturbed, or with roots and kinks (tests/wild_flows.py), or with
`--family hostile` all that makes fields difficult (tests/hostile_flows.py), and claims that are true or false by a
little. Of a claim that holds, thousands of simulated trajectories under extreme
disturbances have to be true, and they have to stay in the flowpipe; a trajectory that violates a claim is followed
again (tests/flow_judge.py). Engines may not contradict each other. Prints a table, and ends with 1 if anything was
wrong; an engine that fails is as wrong as one that lies.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import vernal as vn
from benchmarks.measure import table
from tests.flow_judge import FlowJudge
from tests.hostile_flows import hostile_case
from tests.wild_flows import FlowCase, flow_case
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.logic.task import Task

ENGINES = ("auto", "falsify", "flowpipe", "abstraction")
FAMILIES = {"wild": flow_case, "hostile": hostile_case}


@dataclass
class Column:
    """What one engine said."""

    verdicts: Counter[str] = field(default_factory=Counter)
    wrong: int = 0
    seconds: float = 0.0
    missed: int = 0  # claims that simulation knows to be false, left open


@dataclass
class Run:
    """All questions to some engines."""

    engines: Sequence[str]
    timeout: float
    runs: int = 2000  # that judge an answer
    columns: dict[str, Column] = field(default_factory=dict)

    def ask(self, case: FlowCase) -> None:
        """One question to all; what is wrong is printed."""
        answers = {name: self._answer(name, case) for name in self.engines}
        results = {name: result for name, result in answers.items() if result is not None}
        judge = FlowJudge(case, runs=self.runs)
        for name, why in judge.problems(results):
            self.columns[name].wrong += 1
            print(f"WRONG {name}: {case}\n      {why}", flush=True)
        for name, result in results.items():
            self.columns[name].missed += result.verdict is UNKNOWN and judge.is_unsafe

    def _answer(self, name: str, case: FlowCase) -> Result | None:
        column, began = self.columns.setdefault(name, Column()), time.process_time()
        try:
            task = Task(case.flow, {"claim": case.formula})
            (result,) = vn.check(task, property="claim", engine=name, timeout=self.timeout).values()
        except Exception:
            column.wrong += 1
            print(f"FAILED {name}: {case}\n{traceback.format_exc()}", flush=True)
            return None
        column.seconds += time.process_time() - began
        column.verdicts[result.verdict.value] += 1
        return result

    @property
    def wrong(self) -> int:
        return sum(column.wrong for column in self.columns.values())

    def table(self) -> str:
        verdicts = [verdict.value for verdict in (HOLDS, VIOLATED, UNKNOWN)]
        header = ("engine", *verdicts, "of these false", "wrong", "CPU seconds")
        return table(header, [[name, *self._row(column, verdicts)] for name, column in self.columns.items()])

    def _row(self, column: Column, verdicts: Sequence[str]) -> list[str]:
        counts = [str(column.verdicts[verdict]) for verdict in verdicts]
        return [*counts, str(column.missed), str(column.wrong), f"{column.seconds:.1f}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, judge, and print; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.never_wrong_flows", description="Random flows, judged")
    parser.add_argument("--instances", type=int, default=300, metavar="N", help="how many (default 300)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the first; the others follow")
    parser.add_argument("--timeout", type=float, default=10, metavar="S", help="for each question to each engine")
    parser.add_argument("--seconds", type=float, default=math.inf, metavar="S", help="after which no more are asked")
    parser.add_argument("--runs", type=int, default=2000, metavar="N", help="simulated to judge answers (default 2000)")
    parser.add_argument("--family", choices=list(FAMILIES), default="wild", help="of flows (default wild)")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), metavar="NAME", help=", ".join(ENGINES))
    given = parser.parse_args(arguments)
    run = Run(given.engines, given.timeout, given.runs)
    last, asked = time.monotonic() + given.seconds, 0
    while asked < given.instances and time.monotonic() < last:
        run.ask(FAMILIES[given.family](given.seed + asked))
        asked += 1
    print(f"{asked} {given.family} flows, from seed {given.seed} on\n\n{run.table()}")
    return 1 if run.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
