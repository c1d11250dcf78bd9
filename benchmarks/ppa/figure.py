"""Figure 1 of the ICAPS 2022 paper for our family: `python -m benchmarks.ppa.figure [NAME ...] [--cap S] [--sets K]`.

Runtime, abstract states, abstract starts and starts proved safe over the share of predicates, by the abstraction alone
(no concrete states, no refinement), and plain predicate abstraction beside it; then explicit enumeration and bounded
model checking (shortest unsafe length, time to it, greatest length checked). Prints the tables and draws the figure.
What is measured goes to a file (--data), and what is there already is not measured again; with --cap 0 it is drawn.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import setting, table
from benchmarks.ppa import generate
from benchmarks.ppa.__main__ import policies, spread
from benchmarks.ppa.cells import BOUNDED, PLAIN, MeasuredCell, bounded, by_engine, load, save
from benchmarks.ppa.draw import draw
from benchmarks.ppa.family import MEMBERS
from benchmarks.ppa.table import Asked
from vernal.run.threads import one_blas_thread

USUAL = ("racetrack", "blocksworld-6", "blocksworld-8", "puzzle-8", "transport")
HEADER = ("instance", "policy", "predicates", "CPU", "states", "unsafe", "starts", "starts safe")
RIVALS = ("instance", "policy", "explicit", "CPU", "states", "shortest unsafe", "CPU", "checked")
HERE = Path(__file__).parent
Key = tuple[str, str, str, int | None]


@dataclass(frozen=True)
class Plan:
    """What is measured: which policies, how many sets of predicates or which, and the limits of a cell.

    `bounded` is the limit of bounded model checking; all are in seconds of the processor.
    """

    policies: Sequence[str]
    sets: int | None
    shares: Sequence[int]
    seconds: float
    memory: float
    rivals: bool
    bounded: float


def chosen(name: str, plan: Plan) -> list[str]:
    """The policies that are named, else all but those trained to be unsafe."""
    return [one for one in policies(name) if (one in plan.policies if plan.policies else not one.startswith("hasty"))]


def shares(name: str, plan: Plan) -> list[int]:
    """The sets evenly spread; the one without nothing but costs is always among them."""
    instance = MEMBERS[name].make()
    if plan.shares:
        return [share for share in instance.percentages if share in plan.shares]
    evenly = {instance.percentages[number] for number in spread(len(instance.stages), plan.sets)}
    return sorted(evenly | ({_without_costs(name)} if instance.costs else set()))


def _without_costs(name: str) -> int:
    """The share of the first set that tells everything but costs apart."""
    instance = MEMBERS[name].make()
    costs = [
        any(str(one["left"]) in instance.costs for one in stage if isinstance(one, dict)) for stage in instance.stages
    ]
    return instance.percentages[costs.index(True) - 1]


def questions(name: str, plan: Plan) -> Iterator[Key]:
    """All cells of an instance; policies take turns, so that what a day does to the machine it does to all."""
    for share in shares(name, plan):
        yield name, PLAIN, "plain abstraction", share
        for policy in chosen(name, plan):
            yield name, policy, "policy abstraction", share
    for policy in chosen(name, plan) if plan.rivals else ():
        yield name, policy, "explicit", None
        yield name, policy, BOUNDED, None


def measured(name: str, plan: Plan, known: set[Key]) -> Iterator[MeasuredCell]:
    """The cells of an instance that are not known, each as soon as it is."""
    instance = MEMBERS[name].make()
    with TemporaryDirectory() as folder:
        generate.write(instance, Path(folder))
        generate.copy_policies(name, Path(folder))
        for key in questions(name, plan):
            if key not in known:
                _, policy, method, share = key
                asked = Asked(name, policies(name)[0] if policy == PLAIN else policy, instance, Path(folder))
                if method == BOUNDED:
                    yield bounded(asked, plan.bounded)
                else:
                    yield by_engine(asked, method, share, plan.seconds, plan.memory)


# Tables ---------------------------------------------------------------------------------------------------------------


def _digits(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def row(cell: MeasuredCell) -> tuple[str, ...]:
    time = f"{cell.seconds:.2f}" if cell.is_complete else f"> {cell.seconds:.0f}"
    numbers = (cell.states, cell.unsafe, cell.starts, cell.safe)
    return cell.instance, cell.policy, f"{cell.share} %", time, *map(_digits, numbers)


def rivals(cells: Sequence[MeasuredCell]) -> list[tuple[str, ...]]:
    """A row for each policy: explicit enumeration, and bounded model checking."""
    known = {cell.key: cell for cell in cells}
    found: list[tuple[str, ...]] = []
    for cell in cells:
        beside = known.get((cell.instance, cell.policy, BOUNDED, None))
        if cell.method == "explicit" and beside is not None:
            unsafe = beside.verdict == "violated"
            path = (_digits(beside.length), f"{beside.seconds:.1f}") if unsafe else ("", "")
            own = (cell.verdict, f"{cell.seconds:.1f}", _digits(cell.states))
            found.append((cell.instance, cell.policy, *own, *path, _digits(beside.length)))
    return found


def tables(cells: Sequence[MeasuredCell]) -> str:
    abstracted = [row(cell) for cell in cells if cell.share is not None]
    return "\n\n".join(table(header, rows) for header, rows in ((HEADER, abstracted), (RIVALS, rivals(cells))))


def order(cell: MeasuredCell) -> tuple[int, str, str, int, int]:
    """Instance by instance, policy by policy, narrow networks first."""
    flavour, _, width = cell.policy.partition("_")
    places = {name: place for place, name in enumerate(MEMBERS)}
    return places[cell.instance], cell.method, flavour, int(width or 0), cell.share or 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Figure 1 of the ICAPS 2022 paper for our own family.")
    parser.add_argument("names", nargs="*", default=USUAL, help=", ".join(MEMBERS))
    parser.add_argument("--policy", action="append", default=[], help="such as ignoring_16")
    parser.add_argument("--cap", type=float, default=10.0, help="seconds of the processor for a cell")
    parser.add_argument("--bounded-cap", type=float, default=10.0, help="seconds for bounded model checking")
    parser.add_argument("--memory", type=float, default=4.0, help="GiB")
    parser.add_argument("--sets", type=int, default=5, help="how many sets of predicates, the largest among them")
    parser.add_argument("--share", type=int, action="append", default=[], help="a set by its share in percent instead")
    parser.add_argument("--no-rivals", action="store_true", help="abstractions only")
    parser.add_argument("--data", type=Path, default=HERE / "figure.json", metavar="FILE")
    parser.add_argument("--out", type=Path, default=HERE / "figure.svg", metavar="FILE")
    options = parser.parse_args(arguments)
    limits = (options.cap, options.memory)
    plan = Plan(options.policy, options.sets, options.share, *limits, not options.no_rivals, options.bounded_cap)
    cells = load(options.data)
    with one_blas_thread():
        for name in options.names if options.cap else ():
            for cell in measured(name, plan, {known.key for known in cells}):
                cells = sorted([*cells, cell], key=order)
                save(options.data, cells)
                print(
                    "  ".join(map(str, (*cell.key, cell.verdict, round(cell.seconds, 2)))), file=sys.stderr, flush=True
                )
    print(setting(), tables(cells), sep="\n\n")
    draw(cells, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
