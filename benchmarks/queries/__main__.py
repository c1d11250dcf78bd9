"""Vernal beside other verifiers: `python -m benchmarks.queries [FOLDER ...] [--suite NAME ...]`.

A FOLDER has a list `instances.csv` (network, query, seconds[, answer[, how]]); without one, our own sets are made and
asked. Tools take turns at every instance, each in a process of its own. Prints what each decided, what is
wrong against known answers or disputed between tools, median and sum of CPU seconds (the whole process with its
children; an open instance costs its limit), and draws a cactus plot. Ends with 1 if anything is wrong or disputed.

    python -m benchmarks.queries --suite acas --marabou-python /somewhere/bin/python --plot acas.svg --journal acas.csv
    python -m benchmarks.queries --public --limit 8 --journal public.csv
    python -m benchmarks.queries --suite acas --engines auto paths --source before=/another/checkout/src
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from benchmarks.measure import setting
from benchmarks.queries.instances import BadList, Instance, read_list, read_public
from benchmarks.queries.plot import draw
from benchmarks.queries.questions import read_questions, write
from benchmarks.queries.race import Run, in_turn, run
from benchmarks.queries.table import complaints, disputed, ratios, summary, wrong
from benchmarks.queries.tools import PEERS, Tool, find_tools

SUITES = ("acas", "turn", "surface", "swarm", "formulas")


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.queries", description="Network queries, measured.")
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="FOLDER", help="with a list; a list itself will do, too"
    )
    parser.add_argument(
        "--suite", nargs="+", default=[], choices=SUITES, help="our own sets (default: all, without FOLDER)"
    )
    parser.add_argument(
        "--public",
        nargs="*",
        metavar="SET",
        help="the public queries of VERNAL_DATA/vnncomp, all of them or these sets; 20 s each if no --limit is given",
    )
    parser.add_argument("--write", type=Path, metavar="DIR", help="only write our own sets, a folder each")
    parser.add_argument("--engines", nargs="+", default=["auto"], metavar="NAME", help="of Vernal (default: auto)")
    parser.add_argument(
        "--source", nargs="+", default=[], metavar="NAME=SRC", help="other checkouts of Vernal beside ours"
    )
    parser.add_argument("--only", nargs="+", metavar="TOOL", help="these tools and no others")
    parser.add_argument("--limit", type=float, metavar="S", help="for every instance, in place of the list's")
    parser.add_argument(
        "--slack", type=float, default=1.0, help="times the limit in wall-clock time, on a busy machine"
    )
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="N", help="the first instance asked")
    parser.add_argument("--count", type=int, metavar="N", help="how many are asked")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="cactus plot (svg, png, pdf)")
    parser.add_argument("--journal", type=Path, metavar="FILE", help="every run, as CSV; an existing one is continued")
    for peer in PEERS:
        parser.add_argument(
            f"--{peer}-python", metavar="PATH", help=f"interpreter with {peer} (or {peer.upper()}_PYTHON)"
        )
    return parser.parse_args(arguments)


def asked_instances(given: argparse.Namespace, scratch: Path) -> list[Instance]:
    """The instances of all folders, and of our own sets where they are asked."""
    found = [one for folder in given.folders for one in read_list(folder)]
    if given.public is not None:
        found += [one for one in public_instances() if not given.public or one.set_name in given.public]
    for suite in given.suite or ([] if given.folders or given.public is not None else SUITES):
        found += write([one for one in read_questions() if one.suite == suite], scratch / suite)
    last = None if given.count is None else given.first + given.count
    chosen = found[given.first : last]
    return chosen if given.limit is None else [replace(one, limit=given.limit) for one in chosen]


def public_instances() -> list[Instance]:
    """Those of the public data, which are beside the checkout and never in it."""
    data = os.environ.get("VERNAL_DATA")
    if not data:
        raise BadList("--public: set VERNAL_DATA to the folder of the public data")
    return read_public(Path(data) / "vnncomp")


def chosen_tools(given: argparse.Namespace) -> list[Tool]:
    pythons = {peer: getattr(given, f"{peer}_python") for peer in PEERS}
    sources = {name: Path(path).resolve() for name, _, path in (one.partition("=") for one in given.source)}
    found = list(find_tools(pythons, given.engines, sources))
    for peer in PEERS:
        if peer not in {tool.name for tool in found}:
            print(f"{peer}: not installed")
    return [tool for tool in found if given.only is None or tool.name in given.only]


# The journal ----------------------------------------------------------------------------------------------------------


def recorded(path: Path | None, instances: Iterable[Instance]) -> list[Run]:
    """Runs of an earlier call, by the names of tools and instances."""
    if path is None or not path.exists():
        return []
    known = {one.name: one for one in instances}
    with path.open(newline="") as lines:
        rows = [row for row in csv.reader(lines) if row[1] in known]
    return [Run(tool, known[name], answer, float(cpu), float(wall)) for tool, name, answer, cpu, wall in rows]


def racing(instances: Sequence[Instance], tools: Sequence[Tool], given: argparse.Namespace) -> Iterator[Run]:
    """Runs of the journal first, then what it does not have, each written down at once."""
    before = recorded(given.journal, instances)
    names = {tool.name for tool in tools}
    yield from (one for one in before if one.tool in names)
    done = {(one.tool, one.instance.name) for one in before}
    for number, asked in enumerate(instances):
        for tool in in_turn(tools, number):
            if (tool.name, asked.name) in done:
                continue
            ran = run(tool, asked, given.slack)
            if given.journal is not None:
                with given.journal.open("a", newline="") as lines:
                    row = [ran.tool, asked.name, ran.answer, f"{ran.cpu:.3f}", f"{ran.wall:.3f}"]
                    csv.writer(lines, lineterminator="\n").writerow(row)
            if sys.stderr.isatty():
                print(f"{asked.name:<30} {ran.tool:<12} {ran.answer:<10} {ran.cpu:8.2f} s", file=sys.stderr)
            yield ran


def report(runs: Sequence[Run], ours: str) -> str:
    """Tables for each set and for all of them."""
    parts = []
    own = sorted(runs, key=lambda one: one.instance.set_name)
    groups = [(name, list(some)) for name, some in groupby(own, key=lambda one: one.instance.set_name)]
    for name, some in groups + ([("all", own)] if len(groups) > 1 else []):
        parts.append(f"{name}\n\n{summary(some)}")
        if len({one.tool for one in some}) > 1:
            parts.append(ratios(some, ours))
    return "\n\n".join([*parts, *complaints(runs)])


def main(arguments: Sequence[str] | None = None) -> int:
    given = options(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            instances = asked_instances(given, given.write or Path(scratch))
        except (BadList, OSError) as problem:
            print(problem, file=sys.stderr)
            return 2
        if given.write is not None:
            print(f"{len(instances)} instances in {given.write}")
            return 0
        tools = chosen_tools(given)
        runs = list(racing(instances, tools, given))
    print(f"{setting()}, {len(instances)} instances, CPU seconds\n\n{report(runs, tools[0].name)}")
    if given.plot is not None:
        draw(runs, given.plot)
    return int(bool(wrong(runs) or disputed(runs)))


if __name__ == "__main__":
    sys.exit(main())
