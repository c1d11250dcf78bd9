"""What `auto` takes where one engine alone decides: `python -m benchmarks.auto_ratio [--quick] [--cap S] [--only TEXT]`

What `auto` decides within a second cannot be a miss. Of all others every engine that takes them is asked alone, and
`auto` with ten times the time of the fastest. Counted are those for which the fastest takes at least a second: how
many `auto` decides within three times and within ten times as long. All times are of the processor, so that a busy
machine changes little; reading is not counted. `--jobs N` spreads the questions over processes; of engines alone
only those that `--engines` names are asked.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.forever.__main__ import groups
from benchmarks.forever.linear import stable_loop
from benchmarks.measure import table
from benchmarks.neural_abstractions.models import SIX
from benchmarks.ppa import generate
from benchmarks.ppa.family import MEMBERS, POLICIES
from benchmarks.ppa.table import Asked
from vernal.engines.check import ask, engines, named_formula, question_of
from vernal.errors import InputError
from vernal.evidence.result import UNKNOWN
from vernal.formats.jani.planning_task import NOT_STUCK
from vernal.formats.task.blueprint import load
from vernal.logic.task import Task
from vernal.run.budget import Budget

LEAST_SECONDS = 1.0  # of the fastest engine, from which on a question counts; `--least`
NEAR, FAR = 3.0, 10.0  # times as long
LIMIT_GROWTH = 2.5  # of the limit of each engine alone
ROOT = Path(__file__).parent.parent
FOLDERS = ("examples", "benchmarks/cartpole", "benchmarks/plants", "benchmarks/pendulum", "benchmarks/pendulum_rnn")
PLANS = ("blocksworld-4", "blocksworld-6", "blocksworld-8", "puzzle-8", "racetrack", "transport")

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
    make: Callable[[], Task]
    name: str | None = None


def written(text: str) -> Task:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "task.toml"
        file.write_text(f'vernal = 1\nname = "asked"\n{text}')
        return load(file)


def planned(instance: str, policy: str) -> Task:
    with TemporaryDirectory() as folder:
        generate.write(MEMBERS[instance].make(), Path(folder))
        generate.copy_policies(instance, Path(folder))
        return Asked(instance, policy, MEMBERS[instance].make(), Path(folder)).task(None)


def linear_loop(dimensions: int, seed: int) -> Row:
    """A random stable loop, of which the first component stays within a little more than it reaches."""
    text = stable_loop(dimensions, seed)
    return Row(f"linear loop, {dimensions} dimensions, seed {seed}", partial(written, text))


def questions(*, quick: bool) -> Iterator[Row]:
    yield Row("Van der Pol", partial(written, VAN_DER_POL))
    yield Row("cart pole, linear", partial(written, CART_POLE))
    for dimensions in (6, 10, 15, 20):
        yield from map(partial(linear_loop, dimensions), range(1 if quick else 5))
    if not quick:
        yield from (Row(f"forever, {' '.join(one.label)}", partial(load, one.file), one.name) for (one,) in groups())
        yield from (Row(f"flow, {model.name}", partial(load, model.file)) for model in SIX)
        yield from map(partial(linear_loop, 30), range(3))
        yield from of_files()
        yield from of_plans()


def of_files() -> Iterator[Row]:
    """The properties of our tasks; files that are no tasks of their own are left out."""
    for file in (file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.toml"))):
        try:
            names = list(load(file).properties)
        except InputError:
            continue
        yield from (Row(f"{file.parent.name}, {file.stem} {name}", partial(load, file), name) for name in names)


def of_plans() -> Iterator[Row]:
    """Planning policies from no predicates: is what is unsafe avoided, and are they ever stuck."""
    for instance in PLANS:
        for file in sorted(POLICIES.glob(f"{instance}_*_16.jani2nnet")):
            policy = file.stem.removeprefix(f"{instance}_")
            make = partial(planned, instance, policy)
            yield from (Row(f"{instance} {policy}, {name}", make, name) for name in ("safe", NOT_STUCK))


def seconds(row: Row, engine: str, cap: float) -> float | None:
    """Seconds of the processor until the engine decides; None where it does not, or does not take such questions."""
    task = row.make()
    name = row.name or next(iter(task.properties))
    formula = named_formula(task, name)
    if next(one for one in engines() if one.name == engine).refusal(question_of(task, formula, name)) is not None:
        return None
    budget = Budget().of_work(cap)
    result = ask(task, formula, name, engine, budget)
    return None if result.verdict is UNKNOWN else budget.elapsed


def fastest(row: Row, names: Sequence[str], cap: float, least: float) -> tuple[str, float] | None:
    """The engine that decides first when each is asked alone, and its seconds: limits grow until one decides."""
    limit = least
    while limit <= cap:
        found: tuple[str, float] | None = None
        for name in names:
            took = seconds(row, name, limit if found is None else found[1])
            found = found if took is None else (name, took)
        if found is not None:
            return found
        limit *= LIMIT_GROWTH
    return None


@dataclass(frozen=True)
class Ratio:
    """What was measured of a question; no engine where `auto` was soon done, or nobody decided."""

    label: str
    soon: bool = False  # decided by `auto` in less than what counts
    engine: str = ""  # the fastest alone
    alone: float = 0.0  # seconds
    auto: float | None = None

    @property
    def times(self) -> float:
        return float("inf") if self.auto is None else self.auto / self.alone

    @property
    def cells(self) -> tuple[str, ...]:
        return self.label, self.engine, f"{self.alone:.1f}", *_shown(self.auto), f"{self.times:.1f}"


def _shown(auto: float | None) -> tuple[str]:
    return ("?" if auto is None else f"{auto:.1f}",)


def measured(row: Row, names: Sequence[str], cap: float, least: float) -> Ratio:
    """The fastest engine, its seconds and those of `auto`, where the question counts."""
    for entry in engines():
        entry.load()  # importing is not counted
    if seconds(row, "auto", least) is not None:
        return Ratio(row.label, soon=True)
    found = fastest(row, names, cap, least)
    if found is None or found[1] < least:
        return Ratio(row.label)
    return Ratio(row.label, False, *found, seconds(row, "auto", FAR * found[1]))


def all_measured(rows: Sequence[Row], names: Sequence[str], cap: float, least: float, jobs: int) -> Iterator[Ratio]:
    """Every question, here or in several processes."""
    if jobs == 1:
        yield from (measured(row, names, cap, least) for row in rows)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(measured, row, names, cap, least) for row in rows]):
            yield done.result()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.auto_ratio", description="auto beside the fastest single engine")
    parser.add_argument("--quick", action="store_true", help="a few questions")
    parser.add_argument("--cap", type=float, default=16.0, help="seconds of each engine alone")
    parser.add_argument("--least", type=float, default=LEAST_SECONDS, help="of the fastest, from which on one counts")
    parser.add_argument("--only", default="", metavar="TEXT", help="the questions that are called so, or in part")
    parser.add_argument("--engines", nargs="+", metavar="NAME", help="those that are asked alone (all)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    wanted = parser.parse_args(arguments)
    names = wanted.engines or [entry.name for entry in engines() if entry.name != "auto"]
    rows = [one for one in questions(quick=wanted.quick) if wanted.only in one.label]
    found, soon = list[Ratio](), 0
    for one in all_measured(rows, names, wanted.cap, wanted.least, wanted.jobs):
        soon += one.soon
        if one.engine:
            found.append(one)
            print(" | ".join(one.cells), file=sys.stderr, flush=True)
    found.sort(key=lambda one: (-one.times, one.label))
    print(f"{len(rows)} questions, {soon} of them decided by auto within {wanted.least:g} s")
    print(table(("question", "fastest alone", "s", "auto, s", "ratio"), [one.cells for one in found]))
    for limit in (NEAR, FAR):
        print(f"within {limit:g} times as long: {sum(one.times <= limit for one in found)} of {len(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
