"""Questions that grow step by step, by every method side by side, until a method meets the cap.

A *ladder* is one property of one task file for larger and larger values of one parameter; its first method is ours, the
others are what it is compared with, on the same solver and the same machine in the same run. A baseline that times out
is not asked the larger questions of that ladder; ours is, since larger ones may well be easier to refute. Every
counterexample is doubted (`witnesses`), and two methods that contradict each other are an error.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

from benchmarks.measure import AUTO, MARKS, Measured, Method, measure_task, setting, table, times_ours
from benchmarks.witnesses import Witnessed, summary, witness
from vernal.engines.options import Unroll
from vernal.formats.task.blueprint import load
from vernal.solvers.base import MilpProblem, Solved, SolveStatus
from vernal.solvers.highs import Highs

FULL = 600.0
LEGEND = (
    "T holds, F violated, ? unknown, with seconds; (of these, in the solver); * by bounds alone, no program was "
    "solved; - not tried after a timeout or for want of time"
)


class AskedOnce(Highs):
    """HiGHS as the papers use their solver: what it calls infeasible is believed at once.

    Vernal asks a second time, with room in every row and nothing to optimise. That is no part of these methods, and
    may take longer than the first time; so here the second question has the first one's answer.
    """

    believed = False

    def solve(self, problem: MilpProblem, *limits: Any, **named: Any) -> Solved:
        if self.believed and not problem.objective.any():
            self.believed = False
            return Solved(SolveStatus.INFEASIBLE, said="asked once")
        outcome = super().solve(problem, *limits, **named)
        self.believed = outcome.status is SolveStatus.INFEASIBLE
        return outcome


def milp(unroll: Unroll, tighten: bool = True) -> Method:
    """A baseline: one mixed-integer program, written from this unrolling, with our bounds or with intervals only."""
    name = f"milp {unroll}" + ("" if tighten else ", loose")
    return Method(name, "milp", {"unroll": unroll, "tighten": tighten, "solver": AskedOnce()})


OURS = AUTO
RECURSIVE = milp(Unroll.RECURSIVE)
UNROLLINGS = (Unroll.RECURSIVE, Unroll.IOD, Unroll.IOS)
ALL = (OURS, *map(milp, UNROLLINGS), *(milp(unroll, tighten=False) for unroll in UNROLLINGS))


@dataclass(frozen=True)
class Limits:
    """Seconds for a cell, and when baselines are no longer begun (ours always is)."""

    cap: float
    until: float = float("inf")
    to: int | None = None  # the highest rung
    clock: Callable[[], float] = time.monotonic  # or that of the processor, for a machine with other work

    @property
    def seconds(self) -> str:
        return "CPU seconds" if self.clock is time.process_time else "s"

    def allow(self, method: Method) -> bool:
        return method == OURS or time.monotonic() < self.until


@dataclass(frozen=True)
class Ladder:
    """One property of one task file, for larger and larger values of one parameter."""

    label: tuple[str, ...]  # what the first columns of its rows say
    file: Path
    name: str  # of the property
    rung: str  # the parameter that grows
    rungs: Sequence[int]
    methods: tuple[Method, ...]
    fixed: Mapping[str, float] = field(default_factory=dict)

    def climb(self, limits: Limits) -> Iterator[Row]:
        """Rung after rung, by ours and by all baselines that have not timed out yet."""
        alive = list(self.methods)
        for rung in self.rungs:
            if limits.to is not None and rung > limits.to:
                break
            cells = {
                method.name: self.cell(method, rung, limits.cap, limits.clock)
                for method in alive
                if limits.allow(method)
            }
            alive = [one for one in alive if one == OURS or (one.name in cells and not cells[one.name].timed_out)]
            if sys.stderr.isatty():
                print(*self.label, rung, *(f"{name}: {cell}" for name, cell in cells.items()), file=sys.stderr)
            yield Row(self, rung, cells)

    def cell(self, method: Method, rung: int, cap: float, clock: Callable[[], float] = time.monotonic) -> Cell:
        """One question by one method, read anew, so that nobody profits from what another has made of the task."""
        task = load(self.file, **self.fixed, **{self.rung: rung})
        done = measure_task(task, self.name, method, cap, clock)
        if done.verdict != "violated":
            return Cell(done)
        return Cell(done, witness(task.system, task.properties[self.name], done.trace))


@dataclass(frozen=True)
class Cell:
    """What a method says, what it took, and what became of its counterexample."""

    measured: Measured
    witnessed: Witnessed | None = None

    @property
    def timed_out(self) -> bool:
        return self.measured.timed_out

    def __str__(self) -> str:
        text = f"{MARKS[self.measured.verdict]} {self.measured.seconds:.2f}"
        programs = self.measured.statistics.get("programs")
        if programs is None:
            return text
        return text + (f" ({self.measured.statistics['solver_seconds']:.2f})" if programs else "*")


@dataclass(frozen=True)
class Row:
    """One rung of a ladder."""

    ladder: Ladder
    rung: int
    cells: Mapping[str, Cell]

    def decides(self, method: str) -> bool:
        return method in self.cells and self.cells[method].measured.verdict != "unknown"

    @property
    def contradicts(self) -> bool:
        return {"holds", "violated"} <= {cell.measured.verdict for cell in self.cells.values()}


def climb(ladders: Sequence[Ladder], limits: Limits) -> list[Row]:
    """All ladders, low rungs first, so that want of time is felt at the top; the rows in the order of the ladders."""
    levels = zip_longest(*(ladder.climb(limits) for ladder in ladders))
    return [row for rows in zip(*levels, strict=True) for row in rows if row is not None]


# Tables ---------------------------------------------------------------------------------------------------------------


def names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(method.name for row in rows for method in row.ladder.methods))


def cells_table(header: Sequence[str], rows: Sequence[Row]) -> str:
    """Every cell, a row for each rung."""
    methods = names(rows)
    return table(
        (*header, *methods),
        [
            (
                *row.ladder.label,
                str(row.rung),
                *(str(row.cells[name]) if name in row.cells else "-" for name in methods),
            )
            for row in rows
        ],
    )


def totals_table(rows: Sequence[Row]) -> str:
    """How many cells each method decides, and what these take."""
    lines = []
    for name in names(rows):
        asked = sum(name in {method.name for method in row.ladder.methods} for row in rows)
        done = [row.cells[name].measured for row in rows if name in row.cells]
        decided = [one for one in done if one.verdict != "unknown"]
        solver = sum(float(one.statistics.get("solver_seconds", 0)) for one in decided)
        costs = (sum(one.seconds for one in decided), sum(one.processor for one in decided), solver)
        slowest = max((one.seconds for one in decided), default=0.0)
        beside = [(row.cells[name].measured, row.cells[OURS.name].measured) for row in rows if _beside(row, name)]
        amounts = (f"{cost:.2f}" for cost in (*costs, slowest))
        lines.append([name, f"{len(decided)} of {asked}", *amounts, times_ours(beside)])
    columns = ("method", "decided", "seconds for these", "CPU seconds", "in the solver", "slowest", "times ours")
    return table(columns, lines)


def _beside(row: Row, name: str) -> bool:
    return name in row.cells and OURS.name in row.cells


def ratios_table(header: Sequence[str], rows: Sequence[Row]) -> str:
    """Ours beside each baseline, at the largest rung of each ladder that the baseline decides."""
    lines = []
    for label, own in groupby(rows, key=lambda row: row.ladder.label):
        climbed = list(own)
        for name in names(climbed)[1:]:
            decided = [row for row in climbed if row.decides(name)]
            if decided:
                lines.append([*label, name, str(decided[-1].rung), *_ratios(decided[-1], name)])
    columns = ("baseline", header[-1], "its cell", "ours", "times faster", "in CPU seconds")
    return table((*header[:-1], *columns), lines)


def _ratios(row: Row, name: str) -> list[str]:
    theirs, ours = row.cells[name], row.cells.get(OURS.name)
    if ours is None or not row.decides(OURS.name):
        return [str(theirs), "-" if ours is None else str(ours), "ours is undecided", ""]
    clock = theirs.measured.seconds / ours.measured.seconds
    processor = theirs.measured.processor / ours.measured.processor
    return [str(theirs), str(ours), f"{clock:.1f}", f"{processor:.1f}"]


# The command ----------------------------------------------------------------------------------------------------------


def options(name: str, about: str, arguments: Sequence[str] | None, minutes: float) -> Limits:
    """What every benchmark of ladders may be told."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=about)
    parser.add_argument("--cap", type=float, default=60, metavar="S", help="seconds for a cell (default 60)")
    parser.add_argument("--full", action="store_true", help=f"{FULL:g} s for a cell, and as long as it takes")
    parser.add_argument("--to", type=int, metavar="N", help="the highest bound asked (default: all)")
    parser.add_argument(
        "--total", type=float, default=minutes, metavar="MIN",
        help=f"minutes after which no baseline is begun any more (default {minutes:g}); ours is asked all the same",
    )  # fmt: skip
    given = parser.parse_args(arguments)
    if given.full:
        return Limits(FULL, to=given.to)
    return Limits(given.cap, time.monotonic() + 60 * given.total, given.to)


def run(header: Sequence[str], ladders: Sequence[Ladder], limits: Limits, say: Callable[[str], None] = print) -> int:
    """Climb all ladders and print what came out; 1 if anything is wrong."""
    for method in {method.name: method for ladder in ladders for method in ladder.methods}.values():
        ladders[0].cell(method, ladders[0].rungs[0], min(limits.cap, 5))  # what is imported once is nobody's time
    rows = climb(ladders, limits)
    say(f"{setting()}, at most {limits.cap:g} {limits.seconds} a cell\n\n{LEGEND}\n\n{cells_table(header, rows)}\n")
    say(f"{totals_table(rows)}\n\nat the largest bound that a baseline decides:\n\n{ratios_table(header, rows)}\n")
    found = [cell.witnessed for row in rows for cell in row.cells.values() if cell.witnessed is not None]
    say(summary(found))
    wrong = [f"{row.ladder.label} {row.rung}" for row in rows if row.contradicts]
    say("\n".join(f"CONTRADICTION: {place}" for place in wrong) or "no two methods contradict each other")
    return 1 if wrong or not all(one.agrees for one in found) else 0
