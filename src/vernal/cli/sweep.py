"""`vernal sweep`: the same question over a grid of parameters, as the tables of papers are made."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vernal.cli import exits
from vernal.cli.check import page_width
from vernal.cli.interrupt import exit_code
from vernal.cli.options import (
    AllowOutside,
    Asked,
    Json,
    Limits,
    Properties,
    Quiet,
    Settings,
    Specs,
    TaskFile,
    limited,
    overrides,
    questions,
)
from vernal.cli.progress import Live
from vernal.cli.stream import inputs_of, put, refuse_overwriting, show, writable
from vernal.errors import InputError, VernalError
from vernal.run.output import write_text

if TYPE_CHECKING:
    from vernal.engines.journals import Recall
    from vernal.evidence.result import Result
    from vernal.formats.task.blueprint import Blueprint
    from vernal.logic.task import Task
    from vernal.report.document import SweepRow
    from vernal.report.tables import SweepCell
    from vernal.run.budget import Budget

MAX_CELLS = 1_000_000
EXAMPLES = """\b
Examples:
  vernal sweep vcas.toml --over v0=-19.5,-22.5,-25.5 --over k=1..6
  vernal sweep thermostat.toml --over start=18..22..0.5 --csv table.csv

\b
A range a..b counts by one, a..b..step by the step. The last --over varies fastest; with two of them the table has
the last one as rows and the first as columns. A cell that holds shows its margin where one is known, otherwise the
time it took. --timeout is per cell.
Exit code: 2 on bad input, else 0 when every cell was decided, else 5.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sweep", short_help="Check every combination of parameter values.", epilog=EXAMPLES)(sweep)


@limited
def sweep(
    task: TaskFile,
    over: Annotated[
        list[str], typer.Option("--over", metavar="NAME=VALUES", help="a,b,c or lo..hi or lo..hi..step; repeatable.")
    ],
    property: Properties = None,
    spec: Specs = None,
    set: Settings = None,
    *,
    limits: Limits,
    json: Json = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the cells as CSV.")] = None,
    allow_outside: AllowOutside = False,
    quiet: Quiet = False,
) -> None:
    """Check every combination of parameter values and print the table."""
    from vernal.formats.task.blueprint import open_task

    writable(json, csv, limits.journal)
    grid = Grid([parse_over(text) for text in over])
    fixed = overrides(set)
    both = [axis.name for axis in grid.axes if axis.name in fixed]
    if both:
        raise InputError(f"--over and --set both give {', '.join(both)}; which is it?")
    run = Sweep(open_task(task, allow_outside=allow_outside), grid, fixed, property, spec, limits, quiet)
    run.base = run.without_axes(run.tasks.task(fixed | next(grid.points())))
    refuse_overwriting(inputs_of(run.base), (json, csv, limits.journal))
    code = run.go()
    run.tell(json, csv)
    if run.failure is not None:
        raise run.failure
    raise typer.Exit(code)


@dataclass(frozen=True, slots=True)
class Axis:
    """A parameter and the values it takes, as written (for the table) and as expressions (for the task)."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """Every combination of the axes' values; the last varies fastest."""

    axes: Sequence[Axis]

    def __post_init__(self) -> None:
        names = [axis.name for axis in self.axes]
        if len(set(names)) < len(names):
            raise InputError(f"--over names a parameter twice: {', '.join(names)}")
        if self.size > MAX_CELLS:
            raise InputError(f"the sweep has {self.size} cells; at most {MAX_CELLS} are taken on")

    @property
    def size(self) -> int:
        size = 1
        for axis in self.axes:
            size *= len(axis.values)
        return size

    def points(self) -> Iterator[dict[str, str]]:
        names = [axis.name for axis in self.axes]
        for values in itertools.product(*(axis.values for axis in self.axes)):
            yield dict(zip(names, values, strict=True))


def parse_over(text: str) -> Axis:
    """`v0=-19.5,-22.5`, `k=1..6` or `x=0..1..0.1`; items of a list may be ranges too."""
    name, equals, values = text.partition("=")
    items = [item.strip() for item in values.split(",")]
    if not equals or not name.strip() or not all(items):
        raise InputError(f"--over wants NAME=a,b,c or NAME=lo..hi, not {text!r}")
    return Axis(name.strip(), tuple(value for item in items for value in _values(item, text)))


def _values(item: str, text: str) -> list[str]:
    from vernal.logic.printing import number

    if ".." not in item:
        return [item]
    ends = item.split("..")
    if len(ends) not in (2, 3):
        raise InputError(f"{item!r} in --over {text} is no range; write lo..hi or lo..hi..step")
    low, high, *rest = (_decimal(end, text) for end in ends)
    if not rest and (low.denominator != 1 or high.denominator != 1):
        raise InputError(f"the ends of {item!r} in --over {text} are not integers; add a step: {item}..0.5")
    step = rest[0] if rest else Fraction(1)
    if step == 0 or (high - low) / step < 0:
        raise InputError(f"the range {item!r} in --over {text} is empty; from {low} one does not get to {high}")
    count = int((high - low) / step) + 1
    if count > MAX_CELLS:
        raise InputError(f"the range {item!r} has {count} values; at most {MAX_CELLS} are taken on")
    return [number(low + index * step) for index in range(count)]


def _decimal(text: str, whole: str) -> Fraction:
    try:
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{text!r} in --over {whole} is not a number") from None


@dataclass
class Sweep:
    """The cells of one invocation, kept as they come."""

    tasks: Blueprint
    grid: Grid
    fixed: dict[str, str]
    properties: list[str] | None
    specs: list[str] | None
    limits: Limits
    quiet: bool
    base: Task | None = None
    cells: list[SweepCell] = field(default_factory=list)
    rows: list[SweepRow] = field(default_factory=list)
    failure: VernalError | None = None

    def without_axes(self, task: Task) -> Task:
        """The task for the head of the document: what is swept has no one value there."""
        swept = {axis.name for axis in self.grid.axes}
        return replace(task, parameters={n: v for n, v in task.parameters.items() if n not in swept})

    def go(self) -> int:
        """Every cell; an interruption or a bad cell ends the sweep, not what was found so far."""
        from vernal.engines.journals import keeping_cells

        assert self.base is not None
        kept = keeping_cells(self.limits.journal, self.base, self.limits.engine, self.limits.options)
        with Live("sweep", quiet=self.quiet) as live, kept as recall:
            try:
                for done, point in enumerate(self.grid.points()):
                    live(_where(point), done / self.grid.size)
                    self.cell(point, recall)
            except KeyboardInterrupt as interrupt:
                return exit_code(interrupt)
            except InputError as error:
                self.failure = InputError(f"in the cell {_where(point)}: {error}")
        verdicts = {cell.result.verdict.value for cell in self.cells}
        return exits.UNDECIDED if "unknown" in verdicts else exits.OK

    def cell(self, point: dict[str, str], recall: Recall) -> None:
        """One combination: the task is made with these values, and its clock starts now."""
        from vernal.engines.several import FairShares
        from vernal.run.budget import silent

        started = time.monotonic()
        task = self.tasks.task(self.fixed | point)
        asks = [partial(self.answer, task, asked, recall) for asked in questions(task, self.properties, self.specs)]
        for result in FairShares(asks, self.limits.budget(started, silent)):
            self.keep(task, point, result)

    def answer(self, task: Task, asked: Asked, recall: Recall, budget: Budget) -> Result:
        from vernal.engines.check import ask
        from vernal.logic.question import Question

        work = partial(ask, task, asked.formula, asked.name, self.limits.engine, budget, self.limits.options)
        return recall(task, Question(task.system, asked.formula, asked.name), work)

    def keep(self, task: Task, point: dict[str, str], result: Result) -> None:
        from vernal.report.document import SweepRow
        from vernal.report.tables import SweepCell

        self.cells.append(SweepCell(point, result))
        self.rows.append(SweepRow({name: task.parameters[name] for name in point}, result))

    def tell(self, json: str | None, csv: Path | None) -> None:
        """The table, and the files asked for."""
        from vernal.report.document import dump, sweep_document
        from vernal.report.tables import sweep_table

        stream = sys.stderr if json == "-" else sys.stdout
        if self.cells:
            show(sweep_table(self.cells, width=page_width(stream)), stream)
        missing = self.grid.size - len({tuple(cell.parameters.items()) for cell in self.cells})
        if missing:
            print(f"{missing} of {self.grid.size} cells were not reached", file=sys.stderr, flush=True)
        if json is not None and self.base is not None:
            put(json, dump(sweep_document(self.base, self.rows)))
        if csv is not None:
            write_text(csv, csv_text(self.rows))
            show(f"table written to {csv}", stream)


def _where(point: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())


def csv_text(rows: Sequence[SweepRow]) -> str:
    """One line per cell: parameters, property, verdict, scope, margin, engine, seconds."""
    from io import StringIO

    from vernal.report.cells import write_rows
    from vernal.report.document import exact_number

    names = list(rows[0].parameters) if rows else []
    table: list[list[object]] = [[*names, "property", "verdict", "scope", "margin", "engine", "seconds"]]
    for row in rows:
        result = row.result
        values = [exact_number(row.parameters[name]) for name in names]
        found = [result.property or result.formula, result.verdict.value, result.scope, result.margin, result.engine]
        table.append([*values, *found, round(result.seconds, 6)])
    text = StringIO()
    write_rows(text, table)
    return text.getvalue()
