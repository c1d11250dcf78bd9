"""`vernal simulate`: let the closed loop run, many times at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vernal.cli.options import AllowOutside, InPlane, OfExpressions, Seed, Settings, TaskFile
from vernal.cli.planning import Planning, ShownProperties, narrowed, planned

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
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate", short_help="Run the system many times at random.", epilog=EXAMPLES)(simulate)


@planned
def simulate(
    task: TaskFile,
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="How many runs.")] = 1000,
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="N", help="How many steps each.", show_default="20")
    ] = None,
    time: Annotated[
        float | None,
        typer.Option("--time", metavar="T", help="Of a flow, for how long (without it, as long as properties look)."),
    ] = None,
    seed: Seed = 0,
    set: Settings = None,
    property: ShownProperties = None,
    *,
    planning: Planning,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write every position of every run as CSV.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the runs (.pdf, .svg or .png).")
    ] = None,
    of: OfExpressions = None,
    plane: InPlane = False,
    allow_outside: AllowOutside = False,
) -> None:
    """Simulate the system from random initial states under random draws, and summarise what happened."""
    import sys

    from vernal.cli.check import page_width
    from vernal.cli.stream import inputs_of, refuse_overwriting, refuse_without_plot, show, writable
    from vernal.engines.falsify.simulation import simulate as run
    from vernal.report.runs import summary_table
    from vernal.report.simulations import shares_table

    refuse_without_plot(plot, of, plane)
    writable(csv, plot)
    opened = planning.open(task, property, allow_outside=allow_outside).task(planning.constants(set))
    loaded = narrowed(opened, property)
    refuse_overwriting(inputs_of(loaded), (csv, plot))
    made = run(loaded, runs, steps, time=time, seed=seed)
    width = page_width(sys.stdout)
    show(summary_table(made.runs, width=width))
    if made.shares:
        show("\n" + shares_table(made.shares, width=width))
    if csv is not None:
        made.save(csv)
        show(f"runs written to {csv}")
    if plot is not None:
        made.plot(plot, of=of, plane=plane)
        show(f"plot written to {plot}")
