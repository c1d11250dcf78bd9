"""`vernal simulate`: let the closed loop run, many times at once."""

from __future__ import annotations

from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from vernal.cli.options import AllowOutside, Seed, Settings, TaskFile
from vernal.cli.planning import Planning, PlanningProperty, planned
from vernal.errors import InputError
from vernal.run.output import write_file

if TYPE_CHECKING:
    from vernal.simulate.runs import Runs

MAX_NUMBERS = 10**8  # values kept in memory: about 800 MB
EXAMPLES = """\b
Examples:
  vernal simulate vcas.toml
  vernal simulate vcas.toml --runs 10000 --steps 25 --csv runs.csv --plot runs.pdf

\b
Initial states, draws and ties are uniform at random, and numbers are floating point: runs are for looking at, they
prove nothing.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate", short_help="Run the system many times at random.", epilog=EXAMPLES)(simulate)


@planned
def simulate(
    task: TaskFile,
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="How many runs.")] = 1000,
    steps: Annotated[int, typer.Option("--steps", metavar="N", help="How many steps each.")] = 20,
    seed: Seed = 0,
    set: Settings = None,
    property: PlanningProperty = None,
    *,
    planning: Planning,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write every position of every run as CSV.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the runs (.pdf, .svg or .png).")
    ] = None,
    allow_outside: AllowOutside = False,
) -> None:
    """Simulate the system from random initial states under random draws, and summarise what happened."""
    import sys

    import numpy as np

    from vernal.cli.check import page_width
    from vernal.cli.stream import inputs_of, refuse_overwriting, show, writable
    from vernal.report.runs import quantities, summary_table
    from vernal.run.threads import one_blas_thread
    from vernal.simulate.runs import simulate as run

    check_sizes(runs, steps, seed)
    writable(csv, plot)
    loaded = planning.open(task, property, allow_outside=allow_outside).task(planning.constants(set))
    refuse_overwriting(inputs_of(loaded), (csv, plot))
    system = loaded.system
    kept = len(system.state) + sum(slot.var.size for slot in system.slots) + len(system.step.names)
    if runs * (steps + 1) * kept > MAX_NUMBERS:
        raise InputError("so many runs and steps do not fit into memory; ask for fewer with --runs or --steps")
    with one_blas_thread():
        made = run(system, runs, steps, np.random.default_rng(seed))
    show(summary_table(made, width=page_width(sys.stdout)))
    if csv is not None:
        write_file(csv, partial(_write_csv, made))
        show(f"runs written to {csv}")
    if plot is not None:
        from vernal.report.plots import plot_runs

        plot_runs(quantities(made), plot)
        show(f"plot written to {plot}")


def _write_csv(runs: Runs, stream: BinaryIO) -> None:
    from vernal.report.runs import write_csv

    text = TextIOWrapper(stream, "utf-8", newline="")
    write_csv(runs, text)
    text.detach()  # flushed, and the stream stays open


def check_sizes(runs: int, steps: int, seed: int) -> None:
    """Refuse what makes no sense."""
    if runs < 1:
        raise InputError(f"--runs has to be at least 1, not {runs}")
    if steps < 0 or seed < 0:
        raise InputError("--steps and --seed have to be 0 or more")
