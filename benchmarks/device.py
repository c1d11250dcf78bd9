"""Bounds on a card beside one core: `python -m benchmarks.device [--device cuda] [--boxes N] [--tasks] [--jobs N]`.

Two tables of speed: parts of the lander's initial box through ten steps of its closed loop, and boxes of the published
VerticalCAS network (where VERNAL_DATA is set), both with full backward bounds; every bound of the core is compared with
the card's, and a million points of every random network are looked for outside its bounds. With `--tasks` the verdict
of every property of every example and benchmark task, on the processor and with `--device`, and with `--queries` the
answers to our own sets of queries; `--smallest` says from how many boxes on a batch goes to the card.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import vernal as vn
from benchmarks.bounds import Case, Place, cases, processor, vcas_cases
from benchmarks.queries.instances import Instance
from benchmarks.queries.questions import read_questions, write
from benchmarks.through_time import angle, parts, put
from vernal.engines import placement
from vernal.errors import VernalError
from vernal.interpret import concrete
from vernal.interpret.linear.bounds import Linear, bounds
from vernal.interpret.numbers.device import find_device
from vernal.interpret.value_sets import Range
from vernal.queries.files import answer_files
from vernal.run.budget import Budget
from vernal.run.threads import one_blas_thread

ROOT = Path(__file__).parent.parent
SIZES = (1_000, 10_000, 100_000)
SLOW = 5.0  # seconds: queries that took longer are listed
ROUNDING = 1e-12  # of a value at a point, which is computed in plain floating point
ON_CORE = 1_000  # boxes that one core bounds, to measure and to compare
STEPS = 10
SPEED = f"{'what':<24} {'where':<10} {'boxes':>9} {'seconds':>9} {'boxes/s':>11} {'times':>7} {'apart':>8}"
VERDICTS = f"{'task':<44} {'property':<20} {'cpu':<9} {'s':>6}  {'device':<9} {'s':>6}"

Bounded = Callable[[Place, int], Any]  # bounds of so many boxes there: an object with `lower` and `upper`


def lander(count: int) -> Bounded:
    """The lander's angle after ten steps, from parts of its initial box."""
    node, box = angle(STEPS)
    boxes = parts(box, count)

    def run(place: Place, some: int) -> Range:
        return Linear(put(boxes, place, some)).range(node)

    return run


def network(case: Case) -> Bounded:
    """The outputs of a network over boxes."""

    def run(place: Place, some: int) -> Any:
        ends = Range(place.put(case.lower[:some]), place.put(case.upper[:some]))
        return bounds([case.output], {case.inputs: ends})[0]

    return run


def timed(run: Bounded, place: Place, count: int, repeats: int) -> tuple[float, Any, Any]:
    """The shortest of several runs, after one to warm up, and the bounds."""
    best = np.inf
    for attempt in range(repeats + 1):
        place.wait()
        start = time.perf_counter()
        found = run(place, count)
        lower, upper = place.get(found.lower), place.get(found.upper)
        best = min(best, time.perf_counter() - start) if attempt else best
    return best, lower, upper


def speeds(name: str, run: Bounded, there: Place, sizes: Sequence[int]) -> Iterator[str]:
    """One core, then the card with growing batches; `apart` is relative to 1 + |bound|."""
    core, lower, upper = timed(run, Place(None), ON_CORE, 2)
    yield row(name, "one core", ON_CORE, core, core, "")
    for count in sizes:
        seconds, low, high = timed(run, there, count, 3)
        pairs = ((low[:ON_CORE], lower), (high[:ON_CORE], upper))
        apart = max(float((abs(a - b) / (1 + abs(b))).max()) for a, b in pairs)
        yield row(name, there.device or "", count, seconds, core, f"{apart:.1e}")


def row(name: str, where: str, count: int, seconds: float, core: float, apart: str) -> str:
    times = (count / seconds) / (ON_CORE / core)
    return f"{name:<24} {where:<10} {count:>9,} {seconds:>9.4f} {count / seconds:>11,.0f} {times:>7.1f} {apart:>8}"


# Points ---------------------------------------------------------------------------------------------------------------


def contained(there: Place) -> Iterator[str]:
    """For each network, how many of a million points of a thousand boxes lie outside the card's bounds: none may."""
    for case in cases(ON_CORE, random_only=True):
        if len(case.lower) == 1:
            continue
        ends = Range(there.put(case.lower), there.put(case.upper))
        found = bounds([case.output], {case.inputs: ends})[0]
        lower, upper = there.get(found.lower), there.get(found.upper)
        rng, outside, nearest = np.random.default_rng(0), 0, np.inf
        for _ in range(ON_CORE):
            points = case.lower + (case.upper - case.lower) * rng.choice([0.0, 1.0, rng.random()], case.lower.shape)
            (value,) = concrete.evaluate([case.output], {case.inputs: points})
            slack = np.minimum(value - lower, upper - value) / (1 + abs(value))
            outside += int((slack < -ROUNDING).sum())
            nearest = min(nearest, float(slack.min()))
        yield f"{case.name:<24} {ON_CORE * ON_CORE:>9,} points, {outside} outside, the nearest at {nearest:.1e}"


# Verdicts -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ask:
    """A property of a task file, and where and how long it is asked."""

    file: Path
    name: str
    limit: float
    device: str
    smallest: int


def answer(question: Ask) -> tuple[str, float]:
    """The verdict, or why there is none, and how long it took."""
    if question.smallest:
        placement.MIN_WORK_ON_CARD, placement.MIN_BOXES_ON_CARD = 0, question.smallest  # type: ignore[misc]
    start = time.perf_counter()
    try:
        found = vn.check(vn.load(question.file), property=question.name, timeout=question.limit, device=question.device)
        said = str(found[question.name].verdict)
    except VernalError as error:
        said = type(error).__name__
    return said, time.perf_counter() - start


def properties() -> Iterator[tuple[Path, str]]:
    """Every property of every task that can be read here."""
    for file in sorted([*ROOT.glob("examples/*/*.toml"), *ROOT.glob("benchmarks/**/*.toml")]):
        try:
            task = vn.load(file)
        except VernalError as error:
            print(f"{file.relative_to(ROOT)}: left out, {error}".splitlines()[0])
            continue
        yield from ((file, name) for name in task.properties)


def verdicts(limit: float, device: str, smallest: int, jobs: int) -> int:
    """Print the verdicts here and there; how many are different, where neither is unknown."""
    asked = list(properties())
    here = [Ask(file, name, limit, "cpu", smallest) for file, name in asked]
    there = [Ask(file, name, limit, device, smallest) for file, name in asked]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        answers = list(pool.map(answer, [*here, *there]))
    print(VERDICTS)
    different = contrary = 0
    for (file, name), (a, s), (b, t) in zip(asked, answers[: len(asked)], answers[len(asked) :], strict=True):
        mark = "" if a == b else "  <- different"
        different += a != b
        contrary += {a, b} == {"holds", "violated"}
        print(f"{file.relative_to(ROOT)!s:<44} {name:<20} {a:<9} {s:>6.1f}  {b:<9} {t:>6.1f}{mark}")
    print(f"{len(asked)} properties, {different} different, {contrary} of them contrary")
    return contrary


# Queries --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AskQuery:
    """A query with a known answer, and where and how long it is asked."""

    instance: Instance
    limit: float
    device: str


def answer_query(question: AskQuery) -> tuple[str, float]:
    """sat, unsat, or why there is no answer; and how long it took."""
    start = time.perf_counter()
    network, query = question.instance.network, question.instance.query
    with one_blas_thread():
        found = answer_files(query, lambda read: network, Budget(question.limit, device=question.device))
    return found.answer.status.value, time.perf_counter() - start


def queries(limit: float, device: str, jobs: int) -> int:
    """Our own sets of queries on the processor and on the card: decided, wrong, and seconds; how many are wrong."""
    with TemporaryDirectory() as scratch, ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        asked = write(read_questions(), Path(scratch))
        found = {
            where: list(pool.map(answer_query, [AskQuery(one, limit, where) for one in asked]))
            for where in ("cpu", device)
        }
    print(f"{'queries':<12} {'asked':>6} {'decided':>8} {'wrong':>6} {'seconds':>8}")
    total = 0
    for where, answers in found.items():
        decided = [
            (said, one.answer) for (said, _), one in zip(answers, asked, strict=True) if said in ("sat", "unsat")
        ]
        wrong = sum(said != known for said, known in decided)
        total += wrong
        print(f"{where:<12} {len(asked):>6} {len(decided):>8} {wrong:>6} {sum(s for _, s in answers):>8.1f}")
    for one, (a, s), (b, t) in zip(asked, found["cpu"], found[device], strict=True):
        if a != b or max(s, t) > SLOW:
            print(f"  {one.name:<28} {one.answer or '':<6} cpu {a:<9} {s:>6.1f}   {device} {b:<9} {t:>6.1f}")
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description="Bounds on a card beside one core.")
    parser.add_argument("--device", default="cuda", help="cuda, or cuda:1")
    parser.add_argument("--boxes", type=int, default=SIZES[-1], help="boxes of the largest batch")
    parser.add_argument("--tasks", action="store_true", help="compare the verdicts of all tasks as well")
    parser.add_argument("--queries", action="store_true", help="answer our own queries on both as well")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each property or query")
    parser.add_argument(
        "--smallest", type=int, default=0, help="boxes of a batch that goes to the card; 0: as without it"
    )
    parser.add_argument("--jobs", type=int, default=1, help="properties asked at one time")
    options = parser.parse_args()
    find_device(options.device)
    there = Place(options.device)
    print(f"{datetime.now(UTC):%Y-%m-%d}  {there}, beside one core of {processor()}, numpy {np.__version__}\n\n{SPEED}")
    sizes = [size for size in SIZES if size < options.boxes] + [options.boxes]
    for line in speeds(f"lander, {STEPS} steps", lander(options.boxes), there, sizes):
        print(line, flush=True)
    folder = os.environ.get("VERNAL_DATA")
    if not folder:
        print("VERNAL_DATA is unset: the published network is left out")
    for case in vcas_cases(Path(folder), options.boxes) if folder else ():
        if len(case.lower) > 1:
            for line in speeds(f"{case.name}, network", network(case), there, sizes):
                print(line, flush=True)
    print()
    for line in contained(there):
        print(line, flush=True)
    wrong = queries(options.limit, options.device, options.jobs) if options.queries else 0
    if not options.tasks:
        return wrong
    which = f"batches of {options.smallest} boxes or more" if options.smallest else "batches that are worth it"
    print(f"\nVerdicts, {options.limit:g} s each; {which} on the card\n")
    return wrong + verdicts(options.limit, options.device, options.smallest, options.jobs)


if __name__ == "__main__":
    raise SystemExit(main())
