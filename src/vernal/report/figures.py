"""What all our figures share: their look, panels below each other, legends, limits, and the files they go to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from vernal.errors import InputError
from vernal.interpret.numbers.rounding import Floats
from vernal.report.animation import gif, moves
from vernal.report.markup import as_name
from vernal.run.output import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1f4e79"
SOFT = "#5b6770"
LIMIT = "#b3372f"
GOAL = "#2f7d4f"
TUBE = "#cfe0ee"  # of certified bounds
RUN = "#d1701b"  # of simulated runs: a warm line on a cold tube
# Soft tones that differ in lightness too, so that they survive a grey print.
TONES = ("#cfe0ee", "#f6d7b0", "#cfe5c5", "#efc9c9", "#ddd2ea", "#f3ecb5", "#c8e4e2", "#e6d3c3", "#d9d9d9")
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.edgecolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "axes.labelcolor": "black",
    "text.parse_math": False,  # a dollar in a name is a dollar
    "text.usetex": False,
    "axes.formatter.use_mathtext": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "vernal",  # the same trace gives the same file
    "pdf.fonttype": 42,
}
AxisLimits = Mapping[str, float | Iterable[float]]
WIDTH = 5.2  # inches: the text width of a two-column paper's figure*
CURVE, LABEL_ROW = 1.0, 0.2  # heights in inches: of a panel with a curve, and of each label on an axis
PLANE = 0.8 * WIDTH  # height of a plane, in inches
MAX_PANELS = 16
LARGEST_DRAWN = 1e100  # number that is drawn: matplotlib multiplies ends of axes, and margins lie beyond them
RUN_BY_TEX = {"pgf"}  # a name would be a program there
FORWARD, BACKWARD = "////", "\\\\\\\\"  # how bad sets and goals are hatched
MAX_LIMIT_DISTANCE = 4  # times the extent of a curve: a limit further away would only flatten it


def plot_style() -> AbstractContextManager[None]:
    """Within it, figures look as ours do."""
    import matplotlib

    return matplotlib.rc_context(STYLE)


def draw_figure(draw: Callable[[], Figure], file: str | Path | None = None) -> Figure:
    """A figure that looks as ours do; in a file by its suffix (pdf, svg, png), too, if one is named."""
    with plot_style():
        figure = draw()
        if file is not None:
            save_figure(figure, file)
    return figure


def draw_svg(draw: Callable[[], Figure]) -> str:
    """The same as an SVG element to embed in a page."""
    text = StringIO()
    with plot_style():
        draw().savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def new_figure(size: tuple[float, float], layout: Literal["constrained"] | None = "constrained") -> Figure:
    """An empty figure, in inches. No pyplot: no window, no global state, no back end to choose."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from vernal.report.plain_figure import PlainFigure

    figure = PlainFigure(figsize=size, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def panels_below(heights: Sequence[float]) -> tuple[Figure, list[Axes]]:
    """Panels below each other with one time axis."""
    figure = new_figure((WIDTH, sum(heights) + 0.6))
    panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=list(heights))[:, 0]
    for panel in panels[:-1]:
        panel.tick_params(bottom=False)
    panels[-1].set_xlabel("step")
    panels[-1].xaxis.get_major_locator().set_params(integer=True)
    return figure, list(panels)


def measure_time(panel: Axes) -> None:
    """A panel over continuous time, not over steps."""
    panel.set_xlabel("time")
    locator: Any = panel.xaxis.get_major_locator()
    locator.set_params(integer=False)


def save_figure(figure: Figure, file: str | Path) -> None:
    """Write a figure to a file by its suffix."""
    kind = Path(file).suffix.lstrip(".").lower()
    if kind == "gif" and moves(figure):
        return write_bytes(file, gif(figure))
    known = figure.canvas.get_supported_filetypes().keys() - RUN_BY_TEX - ({"gif"} if not moves(figure) else set())
    if kind not in known:
        raise InputError(f"cannot draw {file}: name a file ending in {', '.join('.' + name for name in sorted(known))}")
    dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    drawn = BytesIO()
    figure.savefig(drawn, format=kind, bbox_inches="tight", dpi=200, metadata=dated)
    write_bytes(file, drawn.getvalue())


def name_panel(panel: Axes, title: str) -> None:
    """The name of a quantity, to the left of its panel."""
    panel.set_ylabel(title, rotation=0, ha="right", va="center", labelpad=6)


def tone_of(index: int) -> str:
    """The colour of a label: the same in every panel of the same sort."""
    return TONES[index % len(TONES)]


def label_legend(panel: Axes, tones: Mapping[str, str]) -> None:
    """To the right of a panel, what its colours mean."""
    from matplotlib.patches import Patch

    patches = [Patch(color=tone) for tone in tones.values()]
    look: Any = {
        "frameon": False,
        "fontsize": 7,
        "handlelength": 1.0,
        "handletextpad": 0.4,
        "borderaxespad": 0.2,
        "loc": "center left",
        "bbox_to_anchor": (1.0, 0.5),
        "labelspacing": 0.2,
        "ncols": -(-len(patches) // 3),
    }
    made = panel.legend(patches, ["?"] * len(patches), **look)
    for written, label in zip(made.get_texts(), tones, strict=True):  # a label that begins with _ would be left out
        written.set_text(label)


def label_rows(panel: Axes, names: Sequence[str]) -> None:
    """The names of rows, at the left."""
    panel.set_yticks(range(len(names)), [as_name(name) for name in names], fontsize=7)


def plane_axes(across: str, up: str) -> tuple[Figure, Axes]:
    """One panel for the plane of two quantities."""
    figure = new_figure((WIDTH, PLANE))
    axes = figure.subplots()
    axes.set_xlabel(across)
    axes.set_ylabel(up, rotation=0, ha="right", va="center")
    axes.margins(0.05)
    return figure, axes


def drawable(values: ArrayLike) -> Floats:
    """Numbers that a picture can show; those too large for that are left out, as infinite ones are."""
    given = np.asarray(values, np.float64)
    return np.where(np.abs(given) <= LARGEST_DRAWN, given, np.nan)


def _is_drawable(value: float) -> bool:
    return abs(value) <= LARGEST_DRAWN


def limit_values(values: float | Iterable[float]) -> list[float]:
    """One limit or several, as a list."""
    return [float(value) for value in (values if isinstance(values, Iterable) else (values,))]


def near_limits(limits: Iterable[float], low: float, high: float) -> list[float]:
    """The limits that lie at most a few times the extent of what is drawn away from it."""
    room = MAX_LIMIT_DISTANCE * max(high - low, 0.1 * max(abs(low), abs(high)))
    return [value for value in limits if low - room <= value <= high + room]


def draw_limits(line: Any, values: float | Iterable[float]) -> None:
    """Dashed lines at limits; `line` draws one, `axhline` or `axvline` of a panel."""
    for value in filter(_is_drawable, limit_values(values)):
        line(value, color=LIMIT, linewidth=1, linestyle=(0, (5, 3)), zorder=5)


def note_left_out(figure: Figure, count: int) -> None:
    """Say below a picture how many quantities found no room in it."""
    if count > 0:
        figure.supxlabel(f"and {count} more: choose what is drawn with --of, of=[...]", size=7, color=SOFT)
