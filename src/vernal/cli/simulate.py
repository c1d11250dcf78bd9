"""`vernal simulate`: let the closed loop run, many times at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vernal.cli.options import Seed, Settings, TaskFile, overrides
from vernal.errors import InputError

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


def simulate(
    task: TaskFile,
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="How many runs.")] = 1000,
    steps: Annotated[int, typer.Option("--steps", metavar="N", help="How many steps each.")] = 20,
    seed: Seed = 0,
    set: Settings = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write every position of every run as CSV.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the runs (.pdf, .svg or .png).")
    ] = None,
) -> None:
    """Simulate the system from random initial states under random draws, and summarise what happened."""
    import sys

    import numpy as np

    from vernal.cli.check import page_width
    from vernal.cli.stream import writable
    from vernal.formats.task.blueprint import load
    from vernal.report.runs import quantities, summary_table
    from vernal.run.threads import one_blas_thread
    from vernal.simulate.runs import simulate as run

    check_sizes(runs, steps, seed)
    writable(csv, plot)
    system = load(task, overrides(set)).system
    kept = len(system.state) + sum(slot.var.size for slot in system.slots) + len(system.step.names)
    if runs * (steps + 1) * kept > MAX_NUMBERS:
        raise InputError("so many runs and steps do not fit into memory; ask for fewer with --runs or --steps")
    with one_blas_thread():
        made = run(system, runs, steps, np.random.default_rng(seed))
    typer.echo(summary_table(made, width=page_width(sys.stdout)))
    if csv is not None:
        from vernal.report.runs import write_csv

        with csv.open("w", encoding="utf-8", newline="") as file:
            write_csv(made, file)
        typer.echo(f"runs written to {csv}")
    if plot is not None:
        from vernal.report.plots import plot_runs

        plot_runs(quantities(made), plot)
        typer.echo(f"plot written to {plot}")


def check_sizes(runs: int, steps: int, seed: int) -> None:
    """Refuse what makes no sense."""
    if runs < 1:
        raise InputError(f"--runs has to be at least 1, not {runs}")
    if steps < 0 or seed < 0:
        raise InputError("--steps and --seed have to be 0 or more")
