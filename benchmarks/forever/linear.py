"""Stable linear loops by dimension: `python -m benchmarks.forever.linear [--dimensions N ...] [--loops N] [--cap S]`.

x' = A x from the unit box, with a random A of spectral radius 0.95. Claimed for all time is that the first component,
or that every component, stays within 1.2 times the most that it reaches, which is known: a sum over a row of each
power of A. So every claim holds. `auto` decides; seconds are of the processor, and every invariant is checked again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.measure import table
from vernal.engines.check import ask
from vernal.evidence.invariant import Invariant
from vernal.evidence.judgement import Judgement
from vernal.evidence.recheck import recheck
from vernal.evidence.result import HOLDS, UNKNOWN, Result
from vernal.formats.task.blueprint import load
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.claim import Claim
from vernal.logic.task import Task
from vernal.run.budget import Budget

RADIUS = 0.95  # the spectral radius
ROOM = 1.2  # times the most that is reached, which is claimed
STEPS = 2000  # over which the most is looked for
DIMENSIONS = (2, 3, 4, 6, 10, 20)
HEADER = ("claim", "dimension", "decided", "CPU s, median", "most", "accepted again", "CPU s, most")


def stable_loop(dimensions: int, seed: int, *, every: bool = False) -> str:
    """A task's text but for its head: the first component, or every one, stays within what it reaches and a little."""
    entries = np.random.default_rng(seed).standard_normal((dimensions, dimensions))
    matrix = np.round(entries * RADIUS / np.abs(np.linalg.eigvals(entries)).max(), 4)
    highest = ROOM * _highest(matrix)
    names = [f"x{place}" for place in range(dimensions)]
    rows = [" + ".join(f"({entry})*{name}" for entry, name in zip(row, names, strict=True)) for row in matrix]
    claims = [f"{name} <= {most:.4f} & {name} >= -{most:.4f}" for name, most in zip(names, highest, strict=True)]
    lines = ["[state]", *(f'{name} = "real"' for name in names)]
    lines += ["[init]", *(f'{name} = "[-1, 1]"' for name in names)]
    lines += ["[environment.next]", *(f'{name} = "{row}"' for name, row in zip(names, rows, strict=True))]
    lines += ["[properties]", f'bounded = "G ({" & ".join(claims if every else claims[:1])})"']
    return "\n".join(lines)


def _highest(matrix: Floats) -> Floats:
    """The most that every component reaches."""
    power, highest = np.eye(len(matrix)), np.zeros(len(matrix))
    for _ in range(STEPS):
        highest, power = np.maximum(highest, np.abs(power).sum(axis=1)), power @ matrix
    return highest


def task_of(text: str) -> Task:
    """The task with this text."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "task.toml"
        file.write_text(f'vernal = 1\nname = "linear"\n{text}')
        return load(file)


def measured(dimensions: int, seed: int, cap: float, *, every: bool) -> tuple[Result, float, bool, float]:
    """What `auto` says, its seconds, whether the invariant is accepted again, and the seconds of that."""
    task = task_of(stable_loop(dimensions, seed, every=every))
    formula, clock = task.properties["bounded"], time.process_time
    started = clock()
    result = ask(task, formula, "bounded", "auto", Budget(timeout=cap, started=started, clock=clock))
    done = clock()
    accepted = isinstance(result.evidence, Invariant) and (
        recheck(task.system, Claim(formula), result.evidence).judgement is Judgement.ACCEPTED
    )
    return result, done - started, accepted, clock() - done


def row_of(dimensions: int, loops: int, cap: float, *, every: bool) -> tuple[Sequence[str], int]:
    """A row of the table, and how many verdicts were wrong."""
    cells = [measured(dimensions, seed, cap, every=every) for seed in range(loops)]
    results, seconds, accepted, again = zip(*cells, strict=True)
    decided = [result.verdict for result in results].count(HOLDS)
    row = (
        "all" if every else "one",
        str(dimensions),
        f"{decided} of {loops}",
        f"{median(seconds):.2f}",
        f"{max(seconds):.2f}",
        f"{sum(accepted)} of {loops}",
        f"{max(again):.2f}",
    )
    return row, sum(result.verdict not in (HOLDS, UNKNOWN) for result in results)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a verdict is wrong."""
    parser = argparse.ArgumentParser(description="Stable linear loops by dimension.")
    parser.add_argument("--dimensions", type=int, nargs="+", default=DIMENSIONS)
    parser.add_argument("--loops", type=int, default=4, help="of every dimension")
    parser.add_argument("--cap", type=float, default=60.0, help="CPU seconds a question")
    options = parser.parse_args(arguments)
    made = [
        row_of(dimensions, options.loops, options.cap, every=every)
        for every in (False, True)
        for dimensions in options.dimensions
    ]
    print(table(HEADER, [row for row, _ in made]))
    return int(any(wrong for _, wrong in made))


if __name__ == "__main__":
    sys.exit(main())
