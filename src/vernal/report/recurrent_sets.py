"""Recurrent sets, drawn: their boxes over two variables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vernal.errors import InputError
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.report.figures import INK, TUBE, WIDTH, draw_figure, draw_svg, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_recurrence(found: RecurrentSet, file: str | Path | None = None, *, of: Sequence[str] | None = None) -> Any:
    """Draw the boxes over two variables; to a file by its suffix (pdf, svg, png) if one is named."""
    return draw_figure(lambda: _draw(found, of), file)


def recurrence_svg(found: RecurrentSet) -> str:
    """The same as an SVG element to embed in a page."""
    return draw_svg(lambda: _draw(found, None))


def _draw(found: RecurrentSet, of: Sequence[str] | None) -> Figure:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    names = found.variables[:2] if of is None else tuple(of)
    if len(names) != 2 or any(name not in found.variables for name in names):
        raise InputError(f"a recurrent set is drawn over two of its variables: {', '.join(found.variables)}")
    x, y = (found.variables.index(name) for name in names)
    sides = found.boxes[:, :, [x, y]]
    boxes = [Rectangle((low[0], low[1]), high[0] - low[0], high[1] - low[1]) for low, high in sides]
    figure = new_figure((WIDTH, 0.75 * WIDTH))
    axes = figure.subplots()
    axes.add_collection(PatchCollection(boxes, facecolor=TUBE, edgecolor=INK, linewidth=0.4))
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1], rotation=0, ha="right", va="center")
    axes.margins(0.06)
    axes.autoscale_view()
    return figure
