"""`vernal faults`: which decisions along a path that violates a claim were wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from vernal.cli import exits
from vernal.cli.check import page_width
from vernal.cli.clock import started
from vernal.cli.invocation import command_line
from vernal.cli.options import AllowOutside, EngineName, Json, Limits, MemoryLimit, Quiet, Seed, Timeout, option
from vernal.cli.progress import Live
from vernal.cli.stream import put, refuse_overwriting, show, writable
from vernal.run.output import write_text

if TYPE_CHECKING:
    from vernal.queries.fault_questions import BadPath
    from vernal.queries.faults import Faults
    from vernal.run.budget import Budget

EXAMPLES = """\b
Examples:
  vernal check vcas.toml --property wide --trace bad.trace.json
  vernal faults bad.trace.json
  vernal faults bad.trace.json --timeout 60 --json faults.json --report faults.html

\b
The trace is replayed first. Kept means: with this action once, and the policies as they are afterwards, the claim is
true whatever is drawn. A position is lost where no actions at all keep the claim, whatever is drawn.
\b
Exit code:
  0  every question was answered
  5  some are unknown
  2  bad input: unreadable, or replay does not accept it
"""


def faults(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="The trace file.", show_default=False)],
    engine: EngineName = "auto",
    timeout: Timeout = None,
    memory: MemoryLimit = None,
    seed: Seed = 0,
    json: Json = None,
    report: Annotated[
        Path | None, option("--report FILE.html", "Write a report: the trace, its plot, and the decisions.")
    ] = None,
    allow_outside: AllowOutside = False,
    quiet: Quiet = False,
) -> None:
    """Say of every decision along a trace whether another action would have kept the claim."""
    from vernal.queries.fault_questions import faults_of
    from vernal.queries.public_faults import read_path

    limits = Limits(engine=engine, timeout=timeout, memory=memory, seed=seed)
    limits.check()
    writable(json, report)
    refuse_overwriting([trace], [json, report])
    reading = limits.reading(started())
    path = limits.read(lambda: read_path(trace, allow_outside=allow_outside), reading)
    with Live("faults", quiet=quiet) as live:
        budget = limits.budget(started(), live)
        found = faults_of(path, budget, engine)
    stream = sys.stderr if json == "-" else sys.stdout
    _tell(found, json, stream)
    if report is not None:
        show(_written(path, found, report, budget), stream)
    raise typer.Exit(exits.OK if found.is_decided else exits.UNDECIDED)


def _tell(found: Faults, json: str | None, stream: TextIO) -> None:
    from vernal.report.document import dump
    from vernal.report.fault_table import faults_document, faults_text

    show(faults_text(found, width=page_width(stream)), stream)
    if json is not None:
        put(json, dump(faults_document(found)))


def _written(path: BadPath, found: Faults, file: Path, budget: Budget) -> str:
    """Write the report of the violated claim, with its decisions; what is to be said of it."""
    from vernal.queries.public_faults import replayed_result
    from vernal.report.drawing import Drawing
    from vernal.report.page import Answered, report_page

    drawing = Drawing.after(budget)
    answer = Answered(replayed_result(path, budget), path.formula, found)
    write_text(file, report_page(path.task, [answer], command_line(), drawing))
    return f"report written to {file}{drawing.remark}"
