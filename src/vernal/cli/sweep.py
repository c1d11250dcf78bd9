"""`vernal sweep`: the same question over a grid of parameters, as the tables of papers are made."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from vernal.cli import exits
from vernal.cli.check import page_width
from vernal.cli.clock import started
from vernal.cli.completion import parameter_names
from vernal.cli.events import Events
from vernal.cli.interrupt import exit_code
from vernal.cli.invocation import command_line
from vernal.cli.options import (
    AllowOutside,
    CountedTime,
    Json,
    Limits,
    Properties,
    Quiet,
    Settings,
    Specs,
    TaskFile,
    counted,
    limited,
    option,
    questions,
)
from vernal.cli.planning import Planning, asked_names, planned
from vernal.cli.progress import Live
from vernal.cli.stream import inputs_of, put, refuse_overwriting, show, writable
from vernal.errors import InputError
from vernal.queries.grid import Grid, parse_over
from vernal.run.output import write_text

if TYPE_CHECKING:
    from vernal.formats.loading import Tasks
    from vernal.logic.question import Question
    from vernal.logic.task import Task
    from vernal.queries.sweep import SweepRun
    from vernal.run.budget import Budget, Progress

EXAMPLES = """\b
Examples:
  vernal sweep vcas.toml --over v0=-19.5,-22.5,-25.5 --over k=1..6
  vernal sweep thermostat.toml --over start=18..22..0.5 --csv table.csv --plot table.svg
  vernal sweep vcas.toml --over v0=-30..-10..0.01 --on dir:jobs      and on any machine: vernal work jobs

\b
A range a..b counts by one, a..b..step by the step. The last --over varies fastest; with two of them the table has
the last one as rows and the first as columns. A cell that holds shows its margin where one is known, otherwise the
time it took. --timeout is per cell.
Exit code: 2 on bad input, else 0 when every cell was decided, else 5.
"""


@planned
@limited
def sweep(
    task: TaskFile,
    over: Annotated[
        list[str],
        option("--over NAME=VALUES", "a,b,c or lo..hi or lo..hi..step; repeatable.", autocompletion=parameter_names),
    ],
    property: Properties = None,
    spec: Specs = None,
    time: CountedTime = None,
    set: Settings = None,
    *,
    planning: Planning,
    limits: Limits,
    json: Json = None,
    csv: Annotated[Path | None, option("--csv FILE", "Write the cells as CSV.")] = None,
    events: Annotated[
        str | None, option("--events FILE", "Write progress as lines of JSON; `-` puts them on stdout.")
    ] = None,
    plot: Annotated[Path | None, option("--plot FILE", "Draw verdicts and margins (.pdf, .svg or .png).")] = None,
    allow_outside: AllowOutside = False,
    quiet: Quiet = False,
) -> None:
    """Check every combination of parameter values and print the table."""
    writable(json, csv, plot, limits.journal, events)
    if json == events == "-":
        raise InputError("--json - and --events - are both for stdout; name a file for one of them")
    grid = Grid([parse_over(text) for text in over])
    fixed = planning.constants(set)
    both = [axis.name for axis in grid.axes if axis.name in fixed]
    if both:
        option = "--constant" if planning.constant else "--set"
        raise InputError(f"--over and {option} both give {', '.join(both)}; which is it?")
    reading = limits.reading(started())
    tasks = limits.read(lambda: planning.open(task, property, reading.check, allow_outside=allow_outside), reading)
    with Live("sweep", quiet=quiet) as display, Events(display, grid.size, events) as live:
        run = _prepared(_CellTasks(tasks, limits, reading), grid, fixed, _Asking(property, spec, time), limits, live)
        refuse_overwriting(inputs_of(run.base), (json, csv, plot, limits.journal, events))
        try:
            run.go()
            code = exits.OK if run.is_decided else exits.UNDECIDED
        except KeyboardInterrupt as interrupt:
            code = exit_code(interrupt)
    _tell(run, json, csv, plot, sys.stderr if "-" in (json, events) else sys.stdout)
    if run.failure is not None:
        raise run.failure
    raise typer.Exit(code)


@dataclass(frozen=True, slots=True)
class _Asking:
    """What is asked of every cell."""

    properties: list[str] | None
    specs: list[str] | None
    time: str | None

    def __call__(self, task: Task) -> list[Question]:
        from vernal.engines.check import question_of

        task = counted(task, self.specs, self.time)
        asked = questions(task, asked_names(task, self.properties), self.specs)
        return [question_of(task, one.formula, one.name) for one in asked]


@dataclass
class _CellTasks:
    """Tasks of cells, each made within the limit and with the predicates that are asked for."""

    tasks: Tasks
    limits: Limits
    reading: Budget  # of the task that is made; that of the first is the one of the file, too
    begun: bool = False

    def task(self, overrides: Mapping[str, str], /) -> Task:
        if self.begun:
            self.reading.started = time.monotonic()
        self.begun = True
        return self.limits.abstracted(self.limits.read(lambda: self.tasks.task(overrides), self.reading))


def _prepared(
    tasks: _CellTasks, grid: Grid, fixed: dict[str, str], asking: _Asking, limits: Limits, live: Progress
) -> SweepRun:
    from vernal.queries.sweep import SweepRun
    from vernal.run.budget import silent

    budget = partial(limits.budget, progress=silent)
    how = (limits.engine, limits.options, limits.journal, live, limits.place)
    return SweepRun(tasks, grid, fixed, asking, budget, *how)


def _going_on(run: SweepRun) -> str:
    """The command that asks only the cells that are missing, if a journal has the others."""
    if run.journal is None:
        return "; with --journal FILE they could be asked later, and only they"
    command = command_line()
    return f"; this goes on with them: {command}" if command else ""


def _tell(run: SweepRun, json: str | None, csv: Path | None, plot: Path | None, stream: TextIO) -> None:
    """The table, and the files asked for."""
    from vernal.report.document import dump, sweep_document
    from vernal.report.sweeps import csv_text, sweep_text

    if run.rows:
        show(sweep_text(run.rows, width=page_width(stream)), stream)
    if run.missing:
        print(f"{run.missing} of {run.grid.size} cells were not reached{_going_on(run)}", file=sys.stderr, flush=True)
    if json is not None:
        put(json, dump(sweep_document(run.base, run.rows)))
    if csv is not None:
        write_text(csv, csv_text(run.rows))
        show(f"table written to {csv}", stream)
    if plot is not None and run.rows:
        run.table.plot(plot)
        show(f"plot written to {plot}", stream)
