"""The family, measured: `python -m benchmarks.ppa [NAME ...] [--policy P] [--method M] [--cap S] [--sets K]`.

One table: runtime, abstract states, abstract starts and starts proved safe over the share of predicates, as Figure 1 of
the ICAPS 2022 paper; plain predicate abstraction, refinement from no predicates, explicit enumeration and bounded model
checking beside it. A policy is named like ignoring_16. Of a bounded check, `steps` is the length of the path found, or
what was checked at the limit.
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
from benchmarks.ppa.family import MEMBERS, POLICIES
from benchmarks.ppa.table import HEADER, METHODS, Asked, Limits, rows

USUAL = ("racetrack", "blocksworld-4", "blocksworld-6", "blocksworld-8", "blocksworld-10", "puzzle-8", "transport")


def policies(name: str) -> list[str]:
    """Flavour and width of the policies there are for an instance."""
    return [file.stem.removeprefix(f"{name}_") for file in sorted(POLICIES.glob(f"{name}_*.jani2nnet"))]


def spread(count: int, most: int | None) -> list[int]:
    """At most so many of the numbers below count, evenly spread, the last among them."""
    if most is None or most >= count:
        return list(range(count))
    return sorted({count - 1 - round(i * (count - 1) / max(most - 1, 1)) for i in range(most)})


@dataclass(frozen=True)
class Choice:
    """What is measured: which policies (all where none is named), by which methods, within which limits."""

    policies: Sequence[str]
    methods: Sequence[str]
    limits: Limits
    sets: int | None  # of predicates; None is all of them
    shares: Sequence[int]  # of all predicates, in percent; those of the sets where none is named


def measured(name: str, choice: Choice) -> Iterator[tuple[str, ...]]:
    """All rows of an instance, each as soon as it is known."""
    instance = MEMBERS[name].make()
    evenly = [instance.percentages[number] for number in spread(len(instance.stages), choice.sets)]
    shares = [share for share in instance.percentages if share in choice.shares] or evenly
    with TemporaryDirectory() as folder:
        generate.write(instance, Path(folder))
        generate.copy_policies(name, Path(folder))
        for policy in policies(name):
            if not choice.policies or policy in choice.policies:
                yield from rows(Asked(name, policy, instance, Path(folder)), choice.methods, shares, choice.limits)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Planning policies by predicate abstraction and by its competitors.")
    parser.add_argument("names", nargs="*", default=USUAL, help=", ".join(MEMBERS))
    parser.add_argument("--policy", action="append", default=[], help="such as ignoring_16; all where none is named")
    parser.add_argument("--method", action="append", choices=METHODS)
    parser.add_argument("--cap", type=float, default=60.0, help="seconds of the processor for a question")
    parser.add_argument("--memory", type=float, default=4.0, help="GiB")
    parser.add_argument("--sets", type=int, help="how many sets of predicates, the largest among them")
    parser.add_argument("--share", type=int, action="append", default=[], help="a set by its share in percent instead")
    options = parser.parse_args(arguments)
    choice = Choice(
        options.policy,
        options.method or list(METHODS),
        Limits(options.cap, options.memory),
        options.sets,
        options.share,
    )
    found = []
    for row in (row for name in options.names for row in measured(name, choice)):
        print("  ".join(row), file=sys.stderr, flush=True)
        found.append(row)
    print(setting(), table(HEADER, found), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
