"""Simulations for people: which runs break which property, and how quantities spread, as text, picture and page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vernal.engines.falsify.failure_rates import RunShare
from vernal.engines.falsify.simulation import Simulation
from vernal.logic.task import Task
from vernal.report.figures import AxisLimits
from vernal.report.frames import html_lines, html_table
from vernal.report.quantities import Of, all_limits, run_quantities
from vernal.report.run_plots import RunPicture, plot_runs, runs_svg
from vernal.report.run_table import summary_columns
from vernal.report.tables import WIDTH, trace_table

UNCONFIRMED = "none of them was confirmed in exact arithmetic in a few seconds: they are long, or fail by very little"


def plot_simulation(
    simulation: Simulation,
    file: str | Path | None = None,
    *,
    of: Of | None = None,
    plane: bool = False,
    limits: AxisLimits | None = None,
) -> Any:
    """Draw how quantities spread over the runs, with limits, or without them those of the task's properties."""
    return plot_runs(_picture(simulation, of, plane, limits), file)


def _picture(
    simulation: Simulation, of: Of | None = None, plane: bool = False, limits: AxisLimits | None = None
) -> RunPicture:
    task = simulation.task or Task(simulation.runs.system)
    with np.errstate(all="ignore"):
        shown = run_quantities(simulation.runs, task, of)
    drawn: AxisLimits = all_limits(task.properties.values()) if limits is None else limits
    return RunPicture(shown, drawn, limits is not None, plane, simulation.runs.times)


def share_text(share: RunShare) -> str:
    """`fails on 993 of 1000 runs (99.3 %), 7 are too short to tell`"""
    if share.reason is not None:
        return f"not judged: {share.reason}"
    if not share.counts:
        return "a claim of some path, or of states: single runs do not show whether it fails"
    open_runs = share.runs - len(share.failing) - share.keeping
    short = f", {open_runs} {'is' if open_runs == 1 else 'are'} too short to tell" if open_runs else ""
    if share.failing:
        return f"fails on {len(share.failing)} of {share.runs} runs ({100 * share.share:.3g} %){short}"
    if not share.keeping:
        return f"no run of {share.runs} fails, all are too short to tell more"
    return f"no run of {share.runs} fails{short}" if open_runs else f"holds on all {share.runs} runs"


def shares_table(shares: Mapping[str, RunShare], *, width: int = WIDTH) -> str:
    """What every property is on the runs, and one failing run of each that fails on some."""
    indent = max((len(name) for name in shares), default=0) + 2
    lines: list[str] = []
    for name, share in shares.items():
        lines.append(f"{name.ljust(indent)}{share_text(share)}")
        if share.trace is not None:
            lines += [f"{'':{indent}}one of them:", trace_table(share.trace, width=width, indent=" " * indent)]
        elif share.failing:
            lines.append(f"{'':{indent}}{UNCONFIRMED}")
    return "\n".join(lines)


def show_simulation(simulation: Simulation) -> str:
    """Table, properties and picture, for a notebook."""
    said = [f"{name}: {share_text(share)}" for name, share in simulation.shares.items()]
    return html_table(summary_columns(simulation.runs)) + html_lines(said) + runs_svg(_picture(simulation))
