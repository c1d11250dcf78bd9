"""Figure 1 of the ICAPS 2022 paper, drawn: runtimes above, sizes and starts below, an instance in every column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import nan
from pathlib import Path
from typing import Any

from benchmarks.ppa.cells import PLAIN, MeasuredCell

COLOURS = {16: "#0072b2", 32: "#d55e00", 64: "#009e73"}  # by the width of the network
STYLES = {"aware": "-", "careful": "-", "drilled": "-", "ignoring": "--", "hasty": ":"}
GREY = "#777777"
SHORTEST = 0.03  # seconds
SIZES = (("states", "abstract states", "#444444", "o"), ("starts", "abstract starts", "#56b4e9", "s"))
SAFE = ("safe", "starts proved safe", "#009e73", "^")


def draw(cells: Sequence[MeasuredCell], file: Path) -> None:
    """All cells of abstractions; those that met their limit are crosses among the runtimes."""
    from matplotlib import pyplot

    instances = list(dict.fromkeys(cell.instance for cell in cells if cell.share is not None))
    if not instances:
        return
    with pyplot.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = pyplot.subplots(2, len(instances), figsize=(3.1 * len(instances), 5.6), squeeze=False)
        longest = max(cell.seconds for cell in cells if cell.share is not None)
        for column, name in enumerate(instances):
            own = [cell for cell in cells if cell.instance == name and cell.share is not None]
            runtimes(axes[0][column], own, longest)
            sizes(axes[1][column], own)
            axes[0][column].set_title(name, fontsize=10)
            axes[1][column].set_xlabel("predicates, %")
        axes[0][0].set_ylabel("CPU seconds")
        axes[1][0].set_ylabel("number")
        _legend(figure)
        figure.tight_layout(rect=(0, 0.06, 1, 1))
        figure.savefig(file, dpi=150)
        pyplot.close(figure)


def _legend(figure: Any) -> None:
    """One for all, below."""
    from matplotlib.lines import Line2D

    above = [Line2D([], [], color=colour, label=f"2x{width}") for width, colour in COLOURS.items()]
    above += [
        Line2D([], [], color="black", linestyle="--", label="policy ignores costs"),
        Line2D([], [], color=GREY, marker="o", markersize=3, label="no policy"),
        Line2D([], [], color="black", linestyle="none", marker="x", markersize=4, label="limit"),
    ]
    below = [
        Line2D([], [], color=colour, marker=marker, fillstyle="none", label=label)
        for _, label, colour, marker in (*SIZES, SAFE)
    ]
    figure.legend(handles=[*above, *below], loc="lower center", ncols=9, frameon=False, fontsize=8.5)


def runtimes(axes: Any, cells: Sequence[MeasuredCell], longest: float) -> None:
    """A line for each policy, and one without any; crosses where the limit came first."""
    for policy in dict.fromkeys(cell.policy for cell in cells):
        own = [cell for cell in cells if cell.policy == policy]
        done = [(cell.share, cell.seconds if cell.is_complete else nan) for cell in own]
        late = [(cell.share, cell.seconds) for cell in own if not cell.is_complete]
        look = _look(policy)
        axes.plot(*_columns(done), markersize=3.5, marker="o", linewidth=1.2, **look)
        axes.plot(*_columns(late), linestyle="none", marker="x", markersize=4, color=look["color"])
    _frame(axes)
    axes.set_ylim(SHORTEST, 2 * longest)


def sizes(axes: Any, cells: Sequence[MeasuredCell]) -> None:
    """Of the policy with most shares that were finished, the widest of those."""
    own = [cell for cell in cells if cell.policy != PLAIN]
    plain = [(cell.share, cell.states) for cell in cells if cell.policy == PLAIN]
    if plain:
        axes.plot(
            *_columns(plain), label="abstract states, no policy", color=GREY, marker="o", markersize=3, linewidth=1
        )
    if own:
        done = [cell.policy for cell in own if cell.is_complete]
        shown = max({cell.policy for cell in own}, key=lambda one: (done.count(one), _width(one)))
        for key, _, colour, marker in (*SIZES, SAFE):
            points = [(cell.share, getattr(cell, key)) for cell in own if cell.policy == shown]
            style = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.2}
            axes.plot(*_columns(points), fillstyle="none", **style)
        axes.set_title(_label(shown), fontsize=8.5, color=GREY)
    _frame(axes)
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(-0.3, 2 * axes.get_ylim()[1])


def _columns(points: Iterable[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    """By share; lines are broken where a value is missing."""
    ordered = sorted(points, key=lambda point: point[0])
    return [share for share, _ in ordered], [nan if value is None else value for _, value in ordered]


def _width(policy: str) -> int:
    return int(policy.partition("_")[2])


def _label(policy: str) -> str:
    return policy.replace("_", " 2x")


def _look(policy: str) -> dict[str, Any]:
    if policy == PLAIN:
        return {"color": GREY, "linestyle": "-"}
    return {"color": COLOURS[_width(policy)], "linestyle": STYLES[policy.partition("_")[0]]}


def _frame(axes: Any) -> None:
    axes.set_yscale("log")
    axes.set_xlim(0, 104)
    axes.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)
