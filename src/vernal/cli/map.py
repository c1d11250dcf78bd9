"""`vernal map`: where in a region does a claim hold?"""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vernal.cli import exits
from vernal.cli.clock import started
from vernal.cli.interrupt import exit_code
from vernal.cli.options import (
    AllowOutside,
    CountedTime,
    Json,
    Limits,
    Quiet,
    Settings,
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

if TYPE_CHECKING:
    from vernal.logic.question import Question
    from vernal.logic.task import Task
    from vernal.queries.maps.map_run import Event
    from vernal.queries.maps.region_map import RegionMap

EXAMPLES = """\b
Examples:
  vernal map vcas.toml --property safe --over "h=[-400,400]" --over "v=[-30,30]" --plot map.png --html map.html
  vernal map thermostat.toml --property warm --until "open < 0.1%" --output warm.map.json

\b
--over NAME=[lower,upper] maps the start of a variable, in the place of its entry in [init], or a number parameter that
stays as it is along a path; --over NAME=a..b and NAME=a,b,c take values of a parameter one by one. Without --over,
every interval of the initial set is mapped.
A cell is safe (proven), unsafe (a path from it fails, and replays), wholly unsafe (from every point some path fails,
proven), open, or no start. The same command with --output goes on from that file, with more cells or time.
Exit code: 2 on bad input, else 0 when --until is met, else 5.
"""


@planned
@limited
def map(
    task: TaskFile,
    property: Annotated[list[str] | None, option("--property -p NAME", "The property of the task to map.")] = None,
    spec: Annotated[list[str] | None, option("--spec -s TEXT", "A formula over the task's names instead.")] = None,
    over: Annotated[
        list[str] | None, option("--over NAME=[a,b]", "A start to map over, or values of a parameter; repeatable.")
    ] = None,
    time: CountedTime = None,
    set: Settings = None,
    until: Annotated[str, option("--until RULE", "End when so little is open.")] = "open < 1%",
    cells: Annotated[int, option("--cells N", "Make at most so many cells.")] = 4096,
    cell_timeout: Annotated[float, option("--cell-timeout S", "For a cell that is asked by itself.")] = 2.0,
    *,
    planning: Planning,
    limits: Limits,
    output: Annotated[
        Path | None, option("--output FILE", "The map as a tree; the same command goes on with it.")
    ] = None,
    json: Json = None,
    csv: Annotated[Path | None, option("--csv FILE", "Write the cells as CSV.")] = None,
    plot: Annotated[Path | None, option("--plot FILE", "Draw two of the axes (.png, .svg or .pdf).")] = None,
    colour: Annotated[str, option("--colour NAME", "By kind, safe cells by margin, or others by steps.")] = "kind",
    axes: Annotated[str | None, option("--axes X,Y", "With --plot: the axes that are drawn; the first two.")] = None,
    at: Annotated[
        list[str] | None,
        option("--at NAME=VALUE", "With --plot: where the other axes are, or NAME=worst; in the middle."),
    ] = None,
    html: Annotated[Path | None, option("--html FILE", "Write a page to zoom, hover and click.")] = None,
    certificate: Annotated[
        Path | None, option("--certificate FILE", "Write a certificate of the safe cells, for `vernal-check`.")
    ] = None,
    events: Annotated[str | None, option("--events FILE", "Progress as JSON lines; `-` is stdout.")] = None,
    allow_outside: AllowOutside = False,
    quiet: Quiet = False,
) -> None:
    """Map where a claim holds: proven cells, replayed paths, what is open, with exact shares."""
    from vernal.formats.loading import free_parameters, freed
    from vernal.queries.maps.axes import map_axes, parse_intervals
    from vernal.queries.maps.map_run import parse_rule
    from vernal.queries.public_map import finished, make_sheets, mapped, prepared
    from vernal.report.map_pictures import drawable

    writable(json, csv, plot, html, output, certificate, None if events == "-" else events)
    if events == "-" and json == "-":
        raise InputError("--events and --json cannot both go to stdout; name a file for one of them")
    if limits.journal is not None:
        raise InputError("a map keeps its own file: --output in the place of --journal")
    if len([*(property or ()), *(spec or ())]) > 1:
        raise InputError("a map is of one claim; name one property, or give one formula")
    drawing = {"colour": colour, "axes": axes and [name.strip() for name in axes.split(",")], "at": _places(at or ())}
    rule, given, fixed = parse_rule(until), parse_intervals(over or ()), planning.constants(set)
    reading = limits.reading(started())
    tasks = limits.read(lambda: planning.open(task, property, reading.check, allow_outside=allow_outside), reading)
    tasks = free_parameters(tasks, given.intervals)
    ask = partial(_question, properties=property, specs=spec, time=time)
    make = lambda at: limits.abstracted(tasks.task(at))  # noqa: E731
    sheets = limits.read(lambda: make_sheets(make, given, fixed, ask, freed(tasks)), reading)
    refuse_overwriting(inputs_of(sheets.tasks[0]), (json, csv, plot, html, output, certificate, events))
    drawable(map_axes(sheets.tasks[0].model, given.intervals, sheets.tasks[0].parameters), drawing)
    with Live("map", quiet=quiet) as live, _told(events) as tell:
        budget = limits.budget(started(), live)
        counts = colour == "steps"
        run = prepared(sheets, budget, rule, cells, limits.engine, limits.options, cell_timeout, tell, counts)
        try:
            found = mapped(run, sheets, output, limits.place)
            code = exits.OK if run.is_met else exits.UNDECIDED
        except KeyboardInterrupt as interrupt:
            found, code = finished(run, sheets), exit_code(interrupt)
    _tell(
        found,
        json,
        events,
        {"csv": csv, "output": output, "plot": plot, "html": html, "certificate": certificate},
        drawing,
    )
    raise typer.Exit(code)


def _question(task: Task, properties: list[str] | None, specs: list[str] | None, time: str | None) -> Question:
    from vernal.engines.check import question_of

    task = counted(task, specs, time)
    asked = questions(task, asked_names(task, properties), specs)
    if len(asked) > 1:
        raise InputError(f"a map is of one claim; name it with --property: {', '.join(task.properties)}")
    return question_of(task, asked[0].formula, asked[0].name)


def _places(texts: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` of axes that are not drawn."""
    pairs = [text.partition("=") for text in texts]
    if any(not equals for _, equals, _ in pairs):
        raise InputError("--at wants NAME=VALUE, or NAME=worst")
    return {name.strip(): value.strip() for name, _, value in pairs}


@contextmanager
def _told(file: str | None) -> Iterator[Callable[[Event], None] | None]:
    """Events as lines of JSON, each written at once."""
    if file is None:
        yield None
    elif file == "-":
        yield lambda event: print(json_text.dumps(dict(event)), flush=True)
    else:
        with Path(file).open("w", encoding="utf-8") as stream:
            yield lambda event: print(json_text.dumps(dict(event)), file=stream, flush=True)


def _tell(
    found: RegionMap, json: str | None, events: str | None, files: dict[str, Path | None], drawing: Mapping[str, Any]
) -> None:
    """The shares, and the files asked for; the tree first."""
    from vernal.queries.maps.map_file import map_document
    from vernal.report.document import dump
    from vernal.report.map_page import map_text

    stream = sys.stderr if "-" in (json, events) else sys.stdout
    show(map_text(found), stream)
    if json is not None:
        put(json, dump(map_document(found)))
    for name, file in files.items():
        if file is not None:
            if name == "plot":
                found.plot(file, **drawing)
            elif name == "html":
                found.page(file)
            elif name == "certificate":
                found.certify(file)
            else:
                found.save(file)
            check = f"    check: vernal-check {file}" if name == "certificate" else ""
            show(f"{'map' if name == 'output' else name} written to {file}{check}", stream)
