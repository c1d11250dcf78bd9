"""The five rows of appendix E: `python -m benchmarks.ppa.appendix_e [NAME ...] [--policy P] [--share S] [--cap S]`.

The ICAPS 2022 paper asks, before transitions are tested, whether the policy selects a label anywhere in an abstract
state (IsSelect), and whether it does where an operator is applicable (isApp): not at all, relaxed to the reals, or
exactly. A row has the time, how many tests of each kind were asked, and what came of those of transitions: how many
were refuted (the policy does not go there), how many pairs of abstract states have a state that shows the transition
(`found`), and how many have none, since their test was given up (`kept`, spurious or not). NAME is a member of the
family, with a share of its predicates in percent, or a model with a PA property that names its policy, MODEL:FILE#N.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import setting, table
from benchmarks.ppa import generate
from benchmarks.ppa.family import MEMBERS
from benchmarks.ppa.table import Asked
from vernal.engines.check import ask
from vernal.engines.options import Precision
from vernal.evidence.result import Result
from vernal.formats.jani.planning_task import load_jani
from vernal.logic.task import Task
from vernal.run.budget import Budget

NONE, RELAXED, EXACT = Precision
HEADER = ("instance", "configuration", "R-tests 2 6 13", "exact 3 7 14", "seconds", "CPU")
COUNTS = ("selection", "applicability", "transitions", "refuted", "found", "kept", "states")


@dataclass(frozen=True)
class Row:
    """A configuration of Table 2 of the appendix; transitions are tested both ways in all of them."""

    name: str
    selection: Precision
    applicability: Precision

    @property
    def marks(self) -> tuple[str, str]:
        """Which lines of Algorithm 1 are taken, as the table has them: relaxed tests, then exact ones."""
        asked = (self.selection, self.applicability, EXACT)
        return _marks([each is not NONE for each in asked]), _marks([each is EXACT for each in asked])


def _marks(taken: Sequence[bool]) -> str:
    return " ".join("x" if each else "-" for each in taken)


ROWS = (
    Row("No-Sel-No-App", NONE, NONE),
    Row("No-Sel-Rel-App", NONE, RELAXED),
    Row("Rel-Sel-No-App", RELAXED, NONE),
    Row("Rel-Sel-Rel-App", RELAXED, RELAXED),
    Row("Ex-Sel-Ex-App", EXACT, EXACT),
)


def rows(name: str, task: Task, cap: float) -> Iterator[tuple[str, ...]]:
    """The five rows of one task, each as soon as it is known."""
    asked = next(iter(task.properties))
    for row in ROWS:
        options = {"refine": False, "selection": row.selection, "applicability": row.applicability}
        started = time.process_time()
        result = ask(task, task.properties[asked], asked, "predicates", Budget(cap), options)
        spent = (f"{result.seconds:.2f}", f"{time.process_time() - started:.2f}")
        yield (name, row.name, *row.marks, *spent, *_counts(result))


def _counts(result: Result) -> tuple[str, ...]:
    if "reachable" not in result.statistics:
        return ("", "", "", "", "", result.verdict.value, result.reason or "")
    found = {key: int(value) for key, value in result.statistics.items() if isinstance(value, int)}
    known = found["transitions"] - found["undecided_transitions"]
    tests = [found.get(f"tests_{kind}", 0) for kind in ("selection", "applicability", "transitions")]
    kept = found["undecided_transitions"]
    numbers = (*tests, tests[-1] - known - kept, known, kept, found["reachable"])
    return tuple(f"{number:,}" for number in numbers)


def tasks(names: Sequence[str], policy: str, share: int | None) -> Iterator[tuple[str, Task]]:
    """The tasks that are named."""
    for name in names:
        model, _, which = name.partition(":")
        if which:
            yield f"{Path(model).stem} #{which.partition('#')[2]}", load_jani(model, property=which)
            continue
        instance = MEMBERS[name].make()
        own = share if share in instance.percentages else instance.percentages[-1]
        with TemporaryDirectory() as folder:
            generate.write(instance, Path(folder))
            generate.copy_policies(name, Path(folder))
            yield f"{name} {own} %", Asked(name, policy, instance, Path(folder)).task(own)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Selection and applicability tests before those of transitions.")
    parser.add_argument("names", nargs="*", default=["blocksworld-6"], help=f"{', '.join(MEMBERS)}, or MODEL:FILE#N")
    parser.add_argument("--policy", default="ignoring_16")
    parser.add_argument("--share", type=int, help="of all predicates, in percent; all where it is none of the sets")
    parser.add_argument("--cap", type=float, default=60.0, help="seconds for a row")
    options = parser.parse_args(arguments)
    found = []
    for name, task in tasks(options.names, options.policy, options.share):
        for row in rows(name, task, options.cap):
            print("  ".join(row), file=sys.stderr, flush=True)
            found.append(row)
    print(setting(), table((*HEADER, *COUNTS), found), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
