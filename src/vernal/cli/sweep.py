"""`vernal sweep`: the same question over a grid of parameters, as the tables of papers are made."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vernal.cli import exits
from vernal.cli.check import page_width
from vernal.cli.clock import started
from vernal.cli.grid import Grid, parse_over
from vernal.cli.interrupt import exit_code
from vernal.cli.options import (
    AllowOutside,
    Json,
    Limits,
    Properties,
    Quiet,
    Settings,
    Specs,
    TaskFile,
    limited,
    questions,
)
from vernal.cli.planning import Planning, Tasks, asked_names, planned
from vernal.cli.progress import Live
from vernal.cli.stream import inputs_of, put, refuse_overwriting, show, writable
from vernal.errors import InputError, Stopped, VernalError
from vernal.run.output import write_text

if TYPE_CHECKING:
    from vernal.engines.journals import KnownCells
    from vernal.engines.together import Common, CommonWork
    from vernal.evidence.result import Result
    from vernal.logic.question import Question
    from vernal.logic.task import Task
    from vernal.report.document import SweepRow
    from vernal.report.tables import SweepCell
    from vernal.run.budget import Budget

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


@planned
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
    planning: Planning,
    limits: Limits,
    json: Json = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the cells as CSV.")] = None,
    allow_outside: AllowOutside = False,
    quiet: Quiet = False,
) -> None:
    """Check every combination of parameter values and print the table."""
    writable(json, csv, limits.journal)
    grid = Grid([parse_over(text) for text in over])
    fixed = planning.constants(set)
    both = [axis.name for axis in grid.axes if axis.name in fixed]
    if both:
        option = "--constant" if planning.constant else "--set"
        raise InputError(f"--over and {option} both give {', '.join(both)}; which is it?")
    reading = limits.reading(started())
    tasks = limits.read(lambda: planning.open(task, property, reading.check, allow_outside=allow_outside), reading)
    run = Sweep(tasks, reading, grid, fixed, property, spec, limits, quiet)
    run.base = run.without_axes(run.made(next(grid.points())))
    refuse_overwriting(inputs_of(run.base), (json, csv, limits.journal))
    code = run.go()
    run.tell(json, csv)
    if run.failure is not None:
        raise run.failure
    raise typer.Exit(code)


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of values, the task made with them, and what is asked of it."""

    point: dict[str, str]
    task: Task
    questions: list[Question]


@dataclass
class Sweep:
    """The cells of one invocation, kept as they come."""

    tasks: Tasks
    reading: Budget  # of the task that is made
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
        from vernal.engines.together import CommonWork

        assert self.base is not None
        kept = keeping_cells(self.limits.journal, self.base, self.limits.engine, self.limits.options)
        work = CommonWork(self.limits.engine, shared=not self.limits.options)
        points = self.grid.points()
        with Live("sweep", quiet=self.quiet) as live, kept as journal:
            try:
                while batch := self.taken(points, work.size):
                    self.batch(batch, work, journal, live)
            except KeyboardInterrupt as interrupt:
                return exit_code(interrupt)
        verdicts = {cell.result.verdict.value for cell in self.cells}
        return exits.UNDECIDED if "unknown" in verdicts else exits.OK

    def taken(self, points: Iterator[dict[str, str]], count: int) -> list[Cell]:
        """The next cells, up to the first that is bad input."""
        made: list[Cell] = []
        while self.failure is None and len(made) < count and (point := next(points, None)):
            try:
                made.append(self.cell(point))
            except InputError as error:
                self.failure = _bad(point, error)
            except Stopped as stop:
                self.failure = stop
        return made

    def made(self, point: dict[str, str]) -> Task:
        """The task with these values, made within the limit."""
        return self.limits.read(lambda: self.tasks.task(self.fixed | point), self.reading)

    def cell(self, point: dict[str, str]) -> Cell:
        """One combination: the task is made with these values."""
        from vernal.logic.question import Question

        self.reading.started = time.monotonic()
        task = self.limits.abstracted(self.made(point))
        asked = questions(task, asked_names(task, self.properties), self.specs)
        made = [Question(task.system, one.formula, one.name) for one in asked]
        for question in made:
            question.claim.logic  # noqa: B018 - a formula that is neither LTL nor CTL is refused before any work
        return Cell(point, task, made)

    def batch(self, cells: Sequence[Cell], work: CommonWork, journal: KnownCells, live: Live) -> None:
        """Some cells: first what they have in common, then each by itself; its clock starts with its turn."""
        from vernal.engines.several import FairShares
        from vernal.run.budget import silent

        done = len({tuple(cell.parameters.items()) for cell in self.cells}) / self.grid.size
        if len(cells) > 1:
            live(f"{len(cells)} cells together", done)
        waiting = [
            (cell, question) for cell in cells for question in cell.questions if not journal.has(cell.task, question)
        ]
        common = work.ask([question for _, question in waiting], self.limits.budget(time.monotonic(), silent))
        for number, cell in enumerate(cells):
            live(_where(cell.point), done + number / self.grid.size)
            asks = [partial(self.answer, cell.task, question, common, journal) for question in cell.questions]
            spent = sum(map(common.seconds, cell.questions))
            try:
                for result in FairShares(asks, self.limits.budget(time.monotonic() - spent, silent)):
                    self.keep(cell.task, cell.point, result)
            except InputError as error:
                self.failure = _bad(cell.point, error)
                return

    def answer(self, task: Task, question: Question, common: Common, journal: KnownCells, budget: Budget) -> Result:
        """What is in the journal, what common work has found, or what the engine says of this question alone."""
        from vernal.engines.check import ask, stated

        known = journal.get(task, question)
        if known is not None:
            return known
        limits, known = self.limits, common.result(question, budget)
        if known is None:
            known = ask(task, question.formula, question.name, limits.engine, budget, limits.options)
            known = replace(known, seconds=known.seconds + common.seconds(question))
        known = stated(task, known)
        journal.add(task, question, known)
        return known

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


def _bad(point: dict[str, str], error: InputError) -> InputError:
    return InputError(f"in the cell {_where(point)}: {error}")


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
