"""What `auto` takes where one engine alone decides: `python -m benchmarks.auto_ratio [--quick] [--cap S] [--only TEXT]`

Every engine that takes a question is asked alone, then `auto` with ten times the time of the fastest. Counted are the
questions for which the fastest takes at least a second: how many `auto` decides within three times and within ten times
as long. All times are of the processor, so that a busy machine changes nothing; reading is not counted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.forever.__main__ import groups
from benchmarks.forever.linear import stable_loop
from benchmarks.measure import table
from benchmarks.neural_abstractions.models import SIX
from vernal.engines.check import ask, engines, named_formula, question_of
from vernal.evidence.result import UNKNOWN
from vernal.formats.task.blueprint import load
from vernal.logic.task import Task
from vernal.run.budget import Budget

LEAST_SECONDS = 1.0  # of the fastest engine, from which on a question counts
NEAR, FAR = 3.0, 10.0  # times as long
LIMIT_GROWTH = 2.5  # of the limit of each engine alone

VAN_DER_POL = """
[state]
x = "real [-4, 4]"
y = "real [-5, 5]"
[flow]
x = "y"
y = "(1 - x^2)*y - x"
[init]
x = "[1.25, 1.55]"
y = "[2.25, 2.35]"
[properties]
safe = "G[0, 7] (y <= 2.75)"
"""

CART_POLE = """
[state]
x = "real"
v = "real"
th = "real"
om = "real"
[init]
x = "[-0.05, 0.05]"
v = "[-0.05, 0.05]"
th = "[-0.05, 0.05]"
om = "[-0.05, 0.05]"
[environment.let]
u = "0.93*x + 1.96*v + 29.5*th + 6.4*om"
a = "(9.8*th - u/1.1) / (0.5*(4/3 - 0.1/1.1))"
[environment.next]
x = "x + 0.02*v"
v = "v + 0.02*(u/1.1 - 0.05*a/1.1)"
th = "th + 0.02*om"
om = "om + 0.02*a"
[properties]
balanced = "G (th <= 0.5 & th >= -0.5 & x <= 1.5 & x >= -1.5)"
"""


@dataclass(frozen=True)
class Row:
    """A question: a property of a task, which is read anew for each engine."""

    label: str
    text: str = ""
    file: Path | None = None
    name: str | None = None

    def task(self) -> Task:
        if self.file is not None:
            return load(self.file)
        with TemporaryDirectory() as folder:
            file = Path(folder) / "task.toml"
            file.write_text(f'vernal = 1\nname = "asked"\n{self.text}')
            return load(file)


def linear_loop(dimensions: int, seed: int) -> Row:
    """A random stable loop, of which the first component stays within a little more than it reaches."""
    return Row(f"linear loop, {dimensions} dimensions, seed {seed}", stable_loop(dimensions, seed))


def questions(*, quick: bool) -> Iterator[Row]:
    yield Row("Van der Pol", VAN_DER_POL)
    yield Row("cart pole, linear", CART_POLE)
    for dimensions in (6, 10, 15, 20):
        yield from map(partial(linear_loop, dimensions), range(1 if quick else 5))
    if not quick:
        yield from (Row(f"forever, {' '.join(one.label)}", "", one.file, one.name) for (one,) in groups())
        yield from (Row(f"flow, {model.name}", "", model.file) for model in SIX)


def seconds(row: Row, engine: str, cap: float) -> float | None:
    """Seconds of the processor until the engine decides; None where it does not, or does not take such questions."""
    task = row.task()
    name = row.name or next(iter(task.properties))
    formula = named_formula(task, name)
    if next(one for one in engines() if one.name == engine).refusal(question_of(task, formula, name)) is not None:
        return None
    budget = Budget(cap, started=time.process_time(), clock=time.process_time)
    result = ask(task, formula, name, engine, budget)
    return None if result.verdict is UNKNOWN else budget.elapsed


def fastest(row: Row, cap: float) -> tuple[str, float] | None:
    """The engine that decides first when each is asked alone, and its seconds: limits grow until one decides."""
    limit = LEAST_SECONDS
    while limit <= cap:
        found: tuple[str, float] | None = None
        for name in (entry.name for entry in engines() if entry.name != "auto"):
            took = seconds(row, name, limit if found is None else found[1])
            found = found if took is None else (name, took)
        if found is not None:
            return found
        limit *= LIMIT_GROWTH
    return None


def measured(row: Row, cap: float) -> tuple[str, float, float | None] | None:
    """The fastest engine, its seconds and those of `auto`; None where the question does not count."""
    found = fastest(row, cap)
    return None if found is None or found[1] < LEAST_SECONDS else (*found, seconds(row, "auto", FAR * found[1]))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.auto_ratio", description="auto beside the fastest single engine")
    parser.add_argument("--quick", action="store_true", help="a few questions")
    parser.add_argument("--cap", type=float, default=16.0, help="seconds of each engine alone")
    parser.add_argument("--only", default="", metavar="TEXT", help="the questions that are called so, or in part")
    wanted = parser.parse_args(arguments)
    lines, ratios = [], []
    for entry in engines():
        entry.load()  # importing is not counted
    for row in (one for one in questions(quick=wanted.quick) if wanted.only in one.label):
        found = measured(row, wanted.cap)
        if found is None:
            continue
        engine, alone, auto = found
        ratios.append(float("inf") if auto is None else auto / alone)
        lines.append((row.label, engine, f"{alone:.1f}", "?" if auto is None else f"{auto:.1f}", f"{ratios[-1]:.1f}"))
        print(" | ".join(lines[-1]), file=sys.stderr, flush=True)
    print(table(("question", "fastest alone", "s", "auto, s", "ratio"), lines))
    for limit in (NEAR, FAR):
        print(f"within {limit:g} times as long: {sum(ratio <= limit for ratio in ratios)} of {len(ratios)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
