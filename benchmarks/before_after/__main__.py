"""Two checkouts, measured in turn: `python -m benchmarks.before_after --before PATH --after PATH [--only NAME ...]`.

The same questions to both (`questions.py`), question by question, each time the other one first, each side in a process
of its own that has the `src` of its checkout and uses only public names; `onestep` and `queries` by the programs of the
checkouts and by `vernal verify`. Seconds are those of the processor, children included, medians of three rounds.
Prints a line for each family, then every row that is more than a quarter slower, says something else or has a worse
margin (`--rows`: all of them). Ends with 1 if a verdict differs, a margin is worse, or a sum is more than 5 % slower.
`--quick` asks every few questions, in three rounds: about ten minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType

from benchmarks.before_after.compare import SUM, Answer, Row, remarkable, rows_table, sums_line, sums_table
from benchmarks.before_after.questions import FAMILIES, QUICK, Request
from benchmarks.measure import setting
from benchmarks.queries.questions import read_questions, write
from benchmarks.queries.race import run
from benchmarks.queries.tools import ONE_THREAD, vernal

ASKER = Path(__file__).with_name("asker.py")
ONESTEP, QUERIES = "onestep", "queries"
NAMES = (*FAMILIES, ONESTEP, QUERIES)
BOXES, FEW_BOXES = 1000, 200
EVERY_QUERY = 8  # of 88, in a quick run


def surroundings(checkout: Path) -> dict[str, str]:
    """The variables of a process of a checkout; its benchmarks are found from its folder."""
    return os.environ | ONE_THREAD | {"PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}"}


class Side:
    """One checkout: a process that answers questions."""

    def __init__(self, checkout: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(ASKER)],
            cwd=checkout,
            env=surroundings(checkout),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, asked: Request) -> Answer:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(asked.line(), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a process ended with {self.process.wait()} at {asked.label}")
        return Answer(**json.loads(line))

    def __enter__(self) -> Side:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.communicate()  # closes its input, at which it ends


Ask = Callable[[int], Answer]
Pair = tuple[str, Answer, Answer]


def in_turn(count: int, sides: Sequence[Ask], turn: int) -> list[tuple[Answer, Answer]]:
    """What both sides say to each question, the one or the other first."""
    found = []
    for number in range(count):
        answers: dict[int, Answer] = {}
        for place in (0, 1) if (number + turn) % 2 == 0 else (1, 0):
            answers[place] = sides[place](number)
        found.append((answers[0], answers[1]))
    return found


def checked(requests: Sequence[Request], checkouts: Sequence[Path], turn: int) -> list[tuple[Answer, Answer]]:
    """A round over tasks, in fresh processes; what is imported or made once is nobody's time."""
    with Side(checkouts[0]) as first, Side(checkouts[1]) as second:
        for side in (first, second):
            side(requests[0])
        return in_turn(len(requests), [lambda n: first(requests[n]), lambda n: second(requests[n])], turn)


def onestep(boxes: int, checkouts: Sequence[Path], turn: int) -> list[tuple[Answer, Answer]]:
    """A round of the program `onestep` of each checkout: its lines `one by one` and `together`."""

    def lines(number: int) -> list[Answer]:
        command = [sys.executable, "-m", "benchmarks.onestep", "--boxes", str(boxes)]
        where = checkouts[number]
        done = subprocess.run(
            command, cwd=where, env=surroundings(where), capture_output=True, text=True, check=True
        ).stdout
        return [_onestep_line(re.search(rf"^{name} +(.*)$", done, re.MULTILINE)) for name in ("one by one", "together")]

    order = (0, 1) if turn % 2 == 0 else (1, 0)
    said = {number: lines(number) for number in order}
    return list(zip(said[0], said[1], strict=True))


def _onestep_line(found: re.Match[str] | None) -> Answer:
    if found is None:
        return Answer("failed: no such line", 0.0)
    yes, no, unknown, *_, seconds = found[1].split()
    return Answer(f"{yes} yes, {no} no, {unknown} unknown", float(seconds))


def verified(every: int, checkouts: Sequence[Path], turn: int, scratch: Path, slack: float) -> Iterator[Pair]:
    """A round of our network queries by `vernal verify`, each in a process of its own."""
    questions = read_questions()
    instances = [
        one
        for suite in dict.fromkeys(one.suite for one in questions)
        for one in write([each for each in questions if each.suite == suite], scratch / suite)
    ][::every]
    tools = [vernal(name=str(place), source=checkout / "src") for place, checkout in enumerate(checkouts)]

    def ask(place: int, number: int) -> Answer:
        ran = run(tools[place], instances[number], slack)
        return Answer(ran.answer, ran.cpu)

    found = in_turn(len(instances), [lambda n: ask(0, n), lambda n: ask(1, n)], turn)
    yield from ((one.name, *pair) for one, pair in zip(instances, found, strict=True))


def one_round(name: str, given: argparse.Namespace, turn: int, scratch: Path) -> list[Pair]:
    """Every question of a family once."""
    checkouts = (given.before, given.after)
    if name == ONESTEP:
        pairs = onestep(FEW_BOXES if given.quick else BOXES, checkouts, turn)
        return [(label, *pair) for label, pair in zip(("one by one", "together"), pairs, strict=True)]
    if name == QUERIES:
        return list(verified(EVERY_QUERY if given.quick else 1, checkouts, turn, scratch, given.slack))
    requests = [
        replace(one, cap=given.slack * one.cap) for one in FAMILIES[name]()[:: QUICK.get(name, 1) if given.quick else 1]
    ]
    pairs = checked(requests, checkouts, turn)
    return [(request.label, *pair) for request, pair in zip(requests, pairs, strict=True)]


def family(name: str, given: argparse.Namespace, scratch: Path) -> list[Row]:
    """All rounds of a family."""
    rounds = [one_round(name, given, turn, scratch / str(turn)) for turn in range(given.rounds)]
    return [
        Row(name, labelled[0][0], [one[1] for one in labelled], [one[2] for one in labelled])
        for labelled in zip(*rounds, strict=True)
    ]


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before_after", description="Two checkouts, measured.")
    parser.add_argument("--before", type=Path, required=True, metavar="PATH", help="a checkout")
    parser.add_argument("--after", type=Path, required=True, metavar="PATH", help="another one")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="every few questions only")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="whose median counts (default 3)")
    parser.add_argument("--slack", type=float, default=1.0, help="times the limits, on a machine with other work")
    parser.add_argument("--rows", action="store_true", help="print every row")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every answer of every round")
    given = parser.parse_args(arguments)
    given.before, given.after = given.before.resolve(), given.after.resolve()
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    given = options(arguments)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in given.only:
            rows += family(name, given, Path(scratch) / name)
            print(sums_line(name, rows), file=sys.stderr, flush=True)  # what is known if the rest is not waited for
    print(f"{setting()}, CPU seconds, medians of {given.rounds}\n\n{sums_table(rows)}\n")
    shown = rows if given.rows else remarkable(rows)
    print(rows_table(shown) if shown else "no row is much slower, says something else or has a worse margin")
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")
    return int(any(row.worse_margin or row.verdicts[0] != row.verdicts[1] for row in rows) or _slower(rows))


def _slower(rows: Sequence[Row]) -> bool:
    """Whether the sum of some family is more than 5 % slower."""
    for name in {row.family for row in rows}:
        timed = [row.seconds for row in rows if row.family == name and not row.timed_out]
        if sum(after for _, after in timed) > SUM * sum(before for before, _ in timed):
            return True
    return False


if __name__ == "__main__":
    sys.exit(main())
