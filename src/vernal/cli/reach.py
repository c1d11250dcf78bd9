"""`vernal reach`: certified bounds of expressions at every step."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vernal.cli import exits
from vernal.cli.clock import started
from vernal.cli.options import (
    OUTPUT,
    AllowOutside,
    DeviceName,
    Json,
    Limits,
    MemoryLimit,
    OfExpressions,
    Quiet,
    Settings,
    TaskFile,
    Timeout,
    option,
)
from vernal.cli.planning import Planning, ShownProperties, narrowed, planned
from vernal.cli.progress import Live
from vernal.cli.stream import inputs_of, put, refuse_overwriting, show, writable
from vernal.errors import InputError

if TYPE_CHECKING:
    from vernal.engines.reach.sets import ReachableSets
    from vernal.logic.task import Task
    from vernal.report.drawing import Drawing

EXAMPLES = """\b
Examples:
  vernal reach thermostat.toml                              every state variable
  vernal reach pendulum.toml --of theta --of omega --plot plane.svg
  vernal reach vcas.toml --of "abs(h)" --of advisor --steps 10 --plot tube.pdf --json sets.json
  vernal reach jet.toml --time 3 --plot phase.svg           a flow, in continuous time: its phase portrait
  vernal reach jet.toml --of "x - y" --spans 10 --plot band.svg
  vernal reach boat.toml --of psi --of helm --plot boat.gif  a loop that samples, as frames that move

\b
Every path from every initial state is inside the bounds at every step; that every value inside is taken is not said.
Of two numbers there are polygons in their plane, otherwise bounds, or the labels that are possible. Simulated runs
are drawn over them. The ends shown are rounded outward; --json has all of their digits.
Bounds of a flow hold at all times of a span, of trajectories while they are in the region; a note says until when all
of them are. They are those of a flowpipe: --engine flowpipe follows the flow itself, --engine abstraction a network in
its place, and auto asks the second one where the first gets stuck or is loose.
Exit code: 0 when every step is bounded as asked and drawn, 5 when a limit was reached before, 2 on bad input.
"""


@planned
def reach(
    task: TaskFile,
    of: OfExpressions = None,
    steps: Annotated[
        int | None, option("--steps N", "How many steps; without it, as far as the task's properties look, or 20.")
    ] = None,
    time: Annotated[
        float | None, option("--time T", "Of a flow, up to which time; without it, as far as properties look, or 1.")
    ] = None,
    spans: Annotated[
        int | None, option("--spans N", "Of a flow, in how many spans of time.", show_default="20")
    ] = None,
    engine: Annotated[
        str | None, option("--engine NAME", "Of a flow, who follows it: flowpipe, abstraction or auto (default).")
    ] = None,
    sets: Annotated[
        int | None,
        option(
            "--sets N",
            "Sets of states kept apart at a step (1000), or parts of the initial set of a flow (64): more are "
            "tighter, slower.",
        ),
    ] = None,
    set: Settings = None,
    property: ShownProperties = None,
    *,
    planning: Planning,
    timeout: Timeout = None,
    memory: MemoryLimit = None,
    device: DeviceName = "cpu",
    json: Json = None,
    plot: Annotated[
        Path | None, option("--plot FILE", "Draw the sets (.pdf, .svg, .png; .gif moves).", rich_help_panel=OUTPUT)
    ] = None,
    runs: Annotated[int, option("--runs N", "Simulated runs in the picture.", rich_help_panel=OUTPUT)] = 30,
    allow_outside: AllowOutside = False,
    quiet: Quiet = False,
) -> None:
    """Bound expressions at every step, over all paths: intervals, polygons of two numbers, and possible labels.

    Of a flow, in continuous time, over spans of time and over all trajectories in its region.
    """
    from vernal.engines.reach.ask import named, reached
    from vernal.engines.reach.reach_walk import ReachAsked
    from vernal.report.drawing import Drawing
    from vernal.run.budget import refuse_limits, silent

    refuse_limits({"sets": sets}, workers=1, seed=0, prefix="--")
    if (steps or 0) < 0 or runs < 0:
        raise InputError("--steps and --runs have to be 0 or more")
    limits = Limits(timeout=timeout, memory=memory, device=device)
    limits.check()
    writable(json, plot)
    reading, constants = limits.reading(started()), planning.constants(set)

    def made() -> Task:
        opened = planning.open(task, property, reading.check, allow_outside=allow_outside).task(constants)
        return narrowed(opened, property)

    opened = limits.read(made, reading)
    refuse_overwriting(inputs_of(opened), (json, plot))
    asked = named(opened, of or None)
    with Live("reach", quiet=quiet) as live:
        how = ReachAsked(steps, time, spans, engine, sets, prefix="--")
        found = reached(opened, asked, how, limits.budget(started(), live))
    drawing = Drawing.after(limits.budget(started(), silent))
    _tell(found, json, plot, runs, drawing)
    if drawing.interrupt is not None:
        raise drawing.interrupt
    raise typer.Exit(exits.OK if found.is_complete and not drawing.missing else exits.UNDECIDED)


def _tell(found: ReachableSets, json: str | None, plot: Path | None, runs: int, drawing: Drawing) -> None:
    """The files asked for, then the table and what is to be said about it: files are there though nobody reads on."""
    from vernal.cli.check import page_width
    from vernal.report.reach_table import reach_notes, reach_table

    stream = sys.stderr if json == "-" else sys.stdout
    written = _written(found, json, plot, runs, drawing)
    if found.steps:
        show(reach_table(found, width=page_width(stream)), stream)
    for line in [*(f"note: {note}" for note in reach_notes(found)), *written]:
        show(line, stream)


def _written(found: ReachableSets, json: str | None, plot: Path | None, runs: int, drawing: Drawing) -> list[str]:
    """Write the document and the picture, and say where."""
    from vernal.report.document import dump
    from vernal.report.reach_table import reach_document

    said = []
    if json is not None:
        put(json, dump(reach_document(found)))
        said += [] if json == "-" else [f"sets written to {json}"]
    if plot is not None and found.steps:
        said.append(drawing.saved(plot, lambda _: found.plot(plot, runs=runs)))
    return said
