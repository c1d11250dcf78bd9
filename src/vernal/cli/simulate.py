"""`vernal simulate`: let the closed loop run, many times at once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vernal.cli import exits
from vernal.cli.options import AllowOutside, InPlane, OfExpressions, Seed, Settings, TaskFile, Timeout, option
from vernal.cli.planning import Planning, ShownProperties, narrowed, planned
from vernal.cli.stream import show
from vernal.cli.time_limit import finished, time_for, unfinished

if TYPE_CHECKING:
    from vernal.engines.falsify.simulation import Simulation
    from vernal.logic.task import Task
    from vernal.report.drawing import Drawing

EXAMPLES = """\b
Examples:
  vernal simulate vcas.toml
  vernal simulate vcas.toml --runs 10000 --steps 25 --csv runs.csv --plot runs.pdf
  vernal simulate pendulum.toml --plot plane.svg --of theta --of omega --plane
  vernal simulate jet.toml --runs 5000 --time 2 --csv jet.csv --plot jet.pdf

\b
Initial states, draws and ties are uniform at random, and numbers are floating point: runs are for looking at, they
prove nothing. Every property of the task is judged on every run, as far as a run of so many steps can; of those that
fail one is shown as an exact path.
Exit code: 0, 5 when --timeout was over before everything was judged and written, 2 on bad input.
"""


@planned
def simulate(
    task: TaskFile,
    runs: Annotated[int, option("--runs N", "How many runs.")] = 1000,
    steps: Annotated[int | None, option("--steps N", "How many steps each.", show_default="20")] = None,
    time: Annotated[
        float | None, option("--time T", "Of a flow, for how long (without it, as long as properties look).")
    ] = None,
    seed: Seed = 0,
    set: Settings = None,
    property: ShownProperties = None,
    *,
    planning: Planning,
    csv: Annotated[Path | None, option("--csv FILE", "Write every position of every run as CSV.")] = None,
    plot: Annotated[Path | None, option("--plot FILE", "Draw the runs (.pdf, .svg or .png).")] = None,
    of: OfExpressions = None,
    plane: InPlane = False,
    timeout: Timeout = None,
    allow_outside: AllowOutside = False,
) -> None:
    """Simulate the system from random initial states under random draws, and summarise what happened."""
    from vernal.cli.stream import inputs_of, refuse_overwriting, refuse_without_plot, writable
    from vernal.engines.falsify.simulation import RunsAsked, simulated
    from vernal.report.drawing import Drawing

    budget = time_for(timeout)
    refuse_without_plot(plot, of, plane)
    writable(csv, plot)

    def opened() -> Task:
        made = planning.open(task, property, budget.check, allow_outside=allow_outside)
        return narrowed(made.task(planning.constants(set)), property)

    loaded = finished(opened, budget, "the task was read")
    refuse_overwriting(inputs_of(loaded), (csv, plot))
    with unfinished("the runs were finished"):
        made = simulated(loaded, RunsAsked(runs, steps, time, seed), budget)
    drawing = Drawing.after(budget)
    _tell(made, csv, drawing)
    if plot is not None:
        show(drawing.saved(plot, lambda _: made.plot(plot, of=of, plane=plane)))
    if drawing.interrupt is not None:
        raise drawing.interrupt
    is_cut_short = drawing.missing or any(share.reason is not None for share in made.shares.values())
    raise typer.Exit(exits.UNDECIDED if is_cut_short else exits.OK)


def _tell(made: Simulation, csv: Path | None, drawing: Drawing) -> None:
    """The tables, and the file of all runs."""
    from vernal.cli.check import page_width
    from vernal.report.run_table import summary_table
    from vernal.report.simulations import shares_table

    width = page_width(sys.stdout)
    show(summary_table(made.runs, width=width))
    if made.shares:
        show("\n" + shares_table(made.shares, width=width))
    if csv is not None:
        show(drawing.saved(csv, lambda _: made.save(csv), "runs"))
