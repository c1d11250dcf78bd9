"""Questions for all time by several methods side by side, and what the table comes to.

Questions come in groups, such as wider and wider limits of one policy from one start. A method that times out is not
asked the rest of its group. Every path that refutes a question is walked again, and two methods that contradict each
other, or one that contradicts a known answer, are errors.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.forever.paper import Paper
from benchmarks.measure import AUTO, MARKS, Measured, Method, measure_engine, measure_task, setting, table
from vernal.engines.check import ENGINES
from vernal.evidence import confirm
from vernal.evidence.replay import verify
from vernal.evidence.result import Verdict
from vernal.formats.task.blueprint import load
from vernal.logic.normal import strip_quantifiers
from vernal.logic.task import Task

FULL = 600.0
UNBOUNDED = ("explicit", "invariants", "liveness", "deepening", "lasso", "induction")
LEGEND = "T holds, F violated, ? unknown, with seconds; - not tried after a timeout"


@dataclass(frozen=True)
class Asked:
    """One question: a property of a task file, and the right answer where it is known."""

    label: tuple[str, ...]
    file: Path
    name: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    right: Verdict | None = None

    def task(self) -> Task:
        """Read anew, so that no method profits from what another has made of it."""
        return load(self.file, **self.parameters)


@dataclass(frozen=True)
class Column:
    """A method: its name, and how it answers a property of a task within some seconds."""

    name: str
    ask: Callable[[Task, str, float], Measured]


def by_engine(name: str) -> Column:
    """A registered engine."""
    return Column(name, lambda task, asked, cap: measure_task(task, asked, Method(name, name), cap))


def by_paper(depth: int) -> Column:
    """The paper's algorithms up to a depth."""
    return Column(Paper.name, lambda task, asked, cap: measure_engine(task, asked, Paper(depth), cap))


def unbounded_engines() -> list[str]:
    """The registered engines for questions without a bound."""
    return [entry.name for entry in ENGINES if entry.name in UNBOUNDED]


@dataclass(frozen=True)
class Line:
    """One question with what every method said."""

    asked: Asked
    cells: Mapping[str, Measured]

    def decides(self, name: str) -> bool:
        return name in self.cells and self.cells[name].verdict != "unknown"

    @property
    def wrong(self) -> list[str]:
        """The methods that contradict the right answer or, where it is not known, each other."""
        said = {name: cell.verdict for name, cell in self.cells.items() if cell.verdict != "unknown"}
        if self.asked.right is None:
            return list(said) if len(set(said.values())) > 1 else []
        return [name for name, verdict in said.items() if verdict != self.asked.right.value]


def fill(groups: Iterable[Sequence[Asked]], columns: Sequence[Column], cap: float) -> list[Line]:
    """All questions, group after group."""
    return [line for group in groups for line in _group(group, columns, cap)]


def _group(group: Sequence[Asked], columns: Sequence[Column], cap: float) -> Iterable[Line]:
    alive = list(columns)
    for asked in group:
        cells = {column.name: _cell(asked, column, cap) for column in alive}
        alive = [column for column in alive if not cells[column.name].timed_out]
        if sys.stderr.isatty():
            print(*asked.label, *(f"{name}: {cell}" for name, cell in cells.items()), file=sys.stderr)
        yield Line(asked, cells)


def _cell(asked: Asked, column: Column, cap: float) -> Measured:
    task = asked.task()
    done = column.ask(task, asked.name, cap)
    if done.verdict == "violated" and not is_shown(task, asked.name, done):
        raise SystemExit(f"{column.name}: the counterexample of {' '.join(asked.label)} does not replay")
    return done


def is_shown(task: Task, name: str, done: Measured) -> bool:
    """Whether the path of a refutation is one of the system; a lasso or a prefix has to refute the property, too.

    A path of one position is the state at which a property fails though no single path shows it.
    """
    if done.trace is None or not verify(task.system, done.trace).accepted:
        return False
    return len(done.trace) == 1 or confirm.truth(done.trace, strip_quantifiers(task.properties[name])) is not True


# Tables ---------------------------------------------------------------------------------------------------------------


def names(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(name for line in lines for name in line.cells))


def cells_table(header: Sequence[str], lines: Sequence[Line], *, by: str | None = None) -> str:
    """Every cell; where `by` names a column, what decided it there is said."""
    methods = names(lines)
    rows = []
    for line in lines:
        cells = [str(line.cells[name]) if name in line.cells else "-" for name in methods]
        right = [MARKS[line.asked.right.value]] if line.asked.right is not None else []
        said = [how(line.cells[by])] if by is not None and by in line.cells else [""] * (by is not None)
        rows.append([*line.asked.label, *right, *cells, *said])
    known = ["right"] if lines[0].asked.right is not None else []
    return table((*header, *known, *methods, *(["decided by"] if by is not None else [])), rows)


def how(cell: Measured) -> str:
    """Which engine and method decided a cell, and at which depth, where it says so."""
    if cell.verdict == "unknown":
        return ""
    said = [cell.engine, *(str(cell.statistics[key]) for key in ("method", "depth") if key in cell.statistics)]
    return " ".join(dict.fromkeys(said))


def totals_table(lines: Sequence[Line]) -> str:
    """How many questions each method decides, and what these take."""
    rows = []
    for name in names(lines):
        every = [line.cells[name] for line in lines if name in line.cells]
        decided = [cell.seconds for cell in every if cell.verdict != "unknown"]
        spent = sum(cell.seconds for cell in every)
        middle, slowest = (median(decided), max(decided)) if decided else (0.0, 0.0)
        counts = f"{len(decided)} of {len(lines)}"
        rows.append([name, counts, *(f"{number:.2f}" for number in (sum(decided), middle, slowest, spent))])
    return table(("method", "decided", "seconds for these", "median", "slowest", "seconds in all"), rows)


def comparison(lines: Sequence[Line], ours: str = AUTO.name, theirs: str = Paper.name) -> str:
    """What the paper's algorithms decide and what auto does: both, and either alone."""
    both = [line for line in lines if line.decides(ours) and line.decides(theirs)]
    only_ours = sum(line.decides(ours) and not line.decides(theirs) for line in lines)
    only_theirs = [line for line in lines if line.decides(theirs) and not line.decides(ours)]
    ratios = [line.cells[theirs].seconds / line.cells[ours].seconds for line in both]
    faster = f"{ours} is {median(ratios):.1f} times faster in the median" if ratios else "no ratio"
    text = [
        f"of {len(lines)} cells: {theirs} decides {len(both) + len(only_theirs)}, {ours} {len(both) + only_ours}, "
        f"both {len(both)} ({faster}), {ours} alone {only_ours}, {theirs} alone {len(only_theirs)}"
    ]
    text += [f"ONLY {theirs.upper()} DECIDES: {' '.join(line.asked.label)}" for line in only_theirs]
    return "\n".join(text)


def mistakes(lines: Sequence[Line]) -> list[str]:
    """Every wrong or contradictory verdict."""
    return [
        f"WRONG: {' '.join(line.asked.label)}: {name} says {line.cells[name].verdict}"
        for line in lines
        for name in line.wrong
    ]


# The command ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wanted:
    """What the command was asked for."""

    cap: float
    engines: Sequence[str]

    def columns(self, depth: int) -> list[Column]:
        return [by_paper(depth) if name == Paper.name else by_engine(name) for name in self.engines]


def options(name: str, about: str, arguments: Sequence[str] | None, engines: Sequence[str], cap: float = 60) -> Wanted:
    """What every one of these benchmarks may be told."""
    known = [Paper.name, *(entry.name for entry in ENGINES)]
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=about)
    parser.add_argument("--cap", type=float, default=cap, metavar="S", help=f"seconds for a cell (default {cap:g})")
    parser.add_argument("--full", action="store_true", help=f"{FULL:g} s for a cell")
    parser.add_argument("--engines", nargs="+", default=list(engines), choices=known, metavar="NAME")
    given = parser.parse_args(arguments)
    return Wanted(FULL if given.full else given.cap, given.engines)


def run(
    header: Sequence[str],
    groups: Sequence[Sequence[Asked]],
    columns: Sequence[Column],
    cap: float,
    say: Callable[[str], None] = print,
) -> int:
    """Ask everything and print what came out; 1 if anything is wrong."""
    for column in columns:
        _cell(groups[0][0], column, min(cap, 5))  # what is imported once is nobody's time
    lines = fill(groups, columns, cap)
    first = columns[0].name
    say(f"{setting()}, at most {cap:g} s a cell\n\n{LEGEND}\n\n{cells_table(header, lines, by=first)}\n")
    say(f"{totals_table(lines)}\n")
    if {AUTO.name, Paper.name} <= {column.name for column in columns}:
        say(f"{comparison(lines)}\n")
    wrong = mistakes(lines)
    say("\n".join(wrong) or "no verdict is wrong, no two contradict each other")
    return 1 if wrong else 0
