"""Pictures of sweeps: a map of verdicts over one or two parameters, the deeper in colour the larger the margin is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vernal.errors import InputError
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.interpret.numbers.rounding import Floats
from vernal.queries.sweep import SweepRow, SweepTable
from vernal.report.figures import INK, LIMIT, WIDTH, draw_figure, new_figure
from vernal.report.values import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {HOLDS: INK, VIOLATED: LIMIT, UNKNOWN: "#e0a92e"}  # also told apart by those who see no red
FAINTEST, STRONGEST = 0.25, 0.85  # how dense a colour is: without a margin, and with the largest
MAX_WRITTEN = 10  # columns of a map in which margins are written
ROW, HEAD = 0.32, 0.75  # heights in inches: of a row of cells, and of what else a panel has
MAX_MAPS, MAX_ROWS = 8, 24  # maps of one picture, and rows of a map that have their full height


def plot_sweep(table: SweepTable, file: str | Path | None = None) -> Figure:
    """A map for each property; to a file by its suffix if one is named."""
    return draw_figure(lambda: _draw(table.rows), file)


def _draw(rows: Sequence[SweepRow]) -> Figure:
    if not rows or len(rows[0].written) > 2:
        raise InputError("a sweep over one or two parameters is drawn; this one has none, or more")
    asked = list(dict.fromkeys(_title(row) for row in rows))[:MAX_MAPS]
    maps = [[row for row in rows if _title(row) == title] for title in asked]
    heights = [HEAD + ROW * min(len(_sides(own)[1]), MAX_ROWS) for own in maps]
    figure = new_figure((WIDTH, sum(heights) + 0.3))
    panels = figure.subplots(len(maps), 1, squeeze=False, height_ratios=heights)[:, 0]
    for panel, title, own in zip(panels, asked, maps, strict=True):
        _map(panel, own)
        panel.set_title(title, loc="left", fontsize=9)
    _legend(figure)
    return figure


def _title(row: SweepRow) -> str:
    return row.result.property or row.result.formula


def _sides(rows: Sequence[SweepRow]) -> tuple[list[str], list[str]]:
    """The values across, and those upwards; one row of cells where there is one parameter."""
    across, *up = rows[0].written
    return list(dict.fromkeys(row.written[across] for row in rows)), (
        list(dict.fromkeys(row.written[up[0]] for row in rows)) if up else [""]
    )


def _map(panel: Axes, rows: Sequence[SweepRow]) -> None:
    across, *up = rows[0].written
    columns, lines = _sides(rows)
    cells = np.ones((len(lines), len(columns), 3))
    largest = max((abs(row.result.margin) for row in rows if row.result.margin is not None), default=0.0)
    for row in rows:
        at = lines.index(row.written[up[0]]) if up else 0, columns.index(row.written[across])
        cells[at] = _colour(row.result, largest)
        if len(columns) <= MAX_WRITTEN and row.result.margin is not None:
            tone = "white" if cells[at].mean() < 0.6 else "black"
            panel.text(at[1], at[0], number(row.result.margin), ha="center", va="center", fontsize=7, color=tone)
    panel.imshow(cells, origin="lower", aspect="auto", interpolation="nearest")
    panel.set_xlabel(across)
    _ticks(panel, "x", columns)
    _ticks(panel, "y", lines if up else [])
    panel.set_ylabel(up[0] if up else "")


def _ticks(panel: Axes, which: str, values: Sequence[str]) -> None:
    """The values of a parameter, thinned out where there are many."""
    shown = range(0, len(values), 1 + len(values) // MAX_WRITTEN)
    set_ticks = panel.set_xticks if which == "x" else panel.set_yticks
    set_ticks(list(shown), [values[at] for at in shown])


def _colour(result: Result, largest: float) -> Floats:
    """The verdict's colour, over white."""
    from matplotlib.colors import to_rgb

    share = abs(result.margin) / largest if result.margin is not None and 0 < largest < np.inf else 0.0
    dense = FAINTEST + (STRONGEST - FAINTEST) * share
    return 1 - dense * (1 - np.array(to_rgb(COLOURS[result.verdict])))


def _legend(figure: Figure) -> None:
    from matplotlib.patches import Patch

    keys = [Patch(color=colour, alpha=STRONGEST, label=verdict.value) for verdict, colour in COLOURS.items()]
    what = "the deeper, the larger the margin"
    figure.legend(handles=keys, loc="outside lower center", ncols=3, frameon=False, title=what, title_fontsize=8)
