"""Pictures of many runs: how numbers spread over the steps, and how many of the runs are at which label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.errors import InputError
from vernal.interpret.numbers.rounding import Floats
from vernal.report.figures import (
    CURVE,
    INK,
    MAX_PANELS,
    AxisLimits,
    draw_figure,
    draw_limits,
    draw_svg,
    drawable,
    label_legend,
    limit_values,
    measure_time,
    name_panel,
    near_limits,
    note_left_out,
    panels_below,
    tone_of,
)
from vernal.report.planes import plane_of_runs
from vernal.report.run_table import Quantity, present

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHARE_INCHES = 0.6  # inches
QUANTILES = (0, 0.05, 0.5, 0.95, 1)
ALL, NINE_IN_TEN, SINGLE = 0.12, 0.34, 0.35  # how dense the colours are
SINGLE_RUNS = 8  # drawn one by one, to show how they move


@dataclass(frozen=True, slots=True)
class RunPicture:
    """What is drawn of runs: quantities, the limits of some, and whether two of them make a plane.

    Limits that are `given` have to be of what is drawn; others are left out where they would flatten it.
    """

    shown: Sequence[Quantity]
    limits: AxisLimits = field(default_factory=dict)
    given: bool = False
    plane: bool = False
    times: Floats | None = None  # of the positions, in continuous time

    @property
    def places(self) -> Sequence[float]:
        """Where the positions are on the axis: steps, or times."""
        return range(self.shown[0].values.shape[1]) if self.times is None else self.times.tolist()


def plot_runs(picture: RunPicture, file: str | Path | None = None) -> Any:
    """Draw how quantities spread over many runs: all, nine in ten, the median and a few runs; labels as shares."""
    return draw_figure(lambda: _figure(picture), file)


def runs_svg(picture: RunPicture) -> str:
    """The same as an SVG element to embed in a page."""
    return draw_svg(lambda: _figure(picture))


def _figure(picture: RunPicture) -> Figure:
    picture = replace(picture, shown=[replace(item, values=drawable(item.values)) for item in picture.shown])
    if not any(np.isfinite(item.values).any() for item in picture.shown):
        names = ", ".join(item.title for item in picture.shown)
        raise InputError(f"there is nothing to draw: no value of {names} is defined")
    numbers = [item.title for item in picture.shown if not item.is_text]
    unknown = [name for name in picture.limits if name not in numbers]
    if picture.given and unknown:
        raise InputError(f"no curve is called {unknown[0]!r} here; limits go with {', '.join(numbers)}")
    if picture.plane:
        first = "step 0" if picture.times is None else "t = 0"
        return plane_of_runs(picture.shown, picture.limits, strict=picture.given, first=first)
    return _panels(picture)


def _panels(picture: RunPicture) -> Figure:
    kept = list(picture.shown)[:MAX_PANELS]
    figure, panels = panels_below([SHARE_INCHES if item.is_text else CURVE for item in kept])
    for panel, item in zip(panels, kept, strict=True):
        if item.is_text:
            _shares(panel, item)
        else:
            _spread(panel, item, picture.places)
        name_panel(panel, item.title)
        if not item.is_text:
            draw_limits(panel.axhline, _limits(picture, item))
    curves = [panel for panel, item in zip(panels, kept, strict=True) if not item.is_text]
    if curves:
        _key(curves[0], kept[0].values.shape[0])
    if picture.times is not None:
        measure_time(panels[-1])
    panels[-1].set_xlim(0, picture.places[-1] or 1)
    figure.align_ylabels(panels)
    note_left_out(figure, len(picture.shown) - len(kept))
    return figure


def _limits(picture: RunPicture, item: Quantity) -> list[float]:
    values, seen = limit_values(picture.limits.get(item.title, ())), present(item.values)
    if picture.given or not seen.size:
        return values
    return near_limits(values, float(seen.min()), float(seen.max()))


def _spread(panel: Axes, item: Quantity, places: Sequence[float]) -> None:
    """The range of all runs, the middle nine tenths, the median, and a few runs; integers as steps."""
    values = drawable(item.values)
    steps = [step for step in range(values.shape[1]) if np.isfinite(values[:, step]).any()]
    if not steps:  # undefined everywhere
        return
    columns = [values[np.isfinite(values[:, step]), step] for step in steps]
    least, low, median, high, most = np.array([np.quantile(column, QUANTILES) for column in columns]).T
    held: Any = {"step": "post"} if item.sort.is_discrete else {}
    line: Any = {"drawstyle": "steps-post"} if item.sort.is_discrete else {}
    there = [places[step] for step in steps]
    panel.fill_between(there, least, most, color=INK, alpha=ALL, linewidth=0, **held)
    panel.fill_between(there, low, high, color=INK, alpha=NINE_IN_TEN - ALL, linewidth=0, **held)
    panel.plot(places, values[:SINGLE_RUNS].T, color=INK, alpha=SINGLE, linewidth=0.5, **line)
    panel.plot(there, median, color=INK, linewidth=1.5, **line)
    panel.margins(y=0.1)
    panel.locator_params(axis="y", nbins=4)
    panel.ticklabel_format(axis="y", useOffset=False)


def _key(panel: Axes, count: int) -> None:
    """What bands and lines mean."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(color=INK, alpha=ALL, linewidth=0, label=f"all {count} runs"),
        Patch(color=INK, alpha=NINE_IN_TEN, linewidth=0, label="nine in ten"),
        Line2D([], [], color=INK, linewidth=1.5, label="median"),
        Line2D([], [], color=INK, alpha=SINGLE, linewidth=0.5, label="single runs"),
    ]
    look: Any = {"frameon": False, "fontsize": 7, "ncols": 4, "borderaxespad": 0.2, "handlelength": 1.4}
    panel.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), **look)


def _shares(panel: Axes, item: Quantity) -> None:
    """How many of the runs are at which label, stacked."""
    found = np.unique(item.values[np.isfinite(item.values)])
    going = np.maximum(1, np.isfinite(item.values).sum(axis=0))
    shares = [(item.values == value).sum(axis=0) / going for value in found]
    tones = [tone_of(int(value)) for value in found]
    panel.stackplot(range(item.values.shape[1]), shares, colors=tones, linewidth=0, step="post")
    panel.set_ylim(0, 1)
    panel.set_yticks([0, 1], ["0", "1"])
    label_legend(panel, {item.label(float(value)): tone for value, tone in zip(found, tones, strict=True)})
