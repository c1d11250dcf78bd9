"""Maps as pictures: two of the axes, the others at a value, or the worst over all their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vernal.errors import InputError
from vernal.logic.printing import number
from vernal.queries.maps.axes import MapAxis
from vernal.queries.maps.cell_tree import CellKind
from vernal.queries.maps.region_map import MapCell, RegionMap
from vernal.report.figures import WIDTH, draw_figure, new_figure
from vernal.report.markup import as_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {
    CellKind.SAFE: "#a9d1a4",
    CellKind.UNSAFE: "#e8a598",
    CellKind.WHOLLY_UNSAFE: "#b3372f",
    CellKind.OPEN: "#dcdfe2",
    CellKind.NO_START: "#ffffff",
}
MIN_OUTLINED = Fraction(1, 80)  # of an axis: the outline of a narrower cell would hide it
COLOURINGS = ("kind", "margin")
WORST = "worst"
BETTER_FIRST = (CellKind.NO_START, CellKind.SAFE, CellKind.OPEN, CellKind.UNSAFE, CellKind.WHOLLY_UNSAFE)


def plot_map(
    found: RegionMap,
    file: str | Path | None = None,
    axes: Sequence[str] | None = None,
    at: Mapping[str, Any] | None = None,
    colour: str = "kind",
) -> Any:
    """Draw two of the axes (or one); to a file by its suffix if one is named."""
    drawable(found.axes, {"colour": colour, "axes": axes, "at": at})
    return draw_figure(lambda: _figure(found, _drawn_axes(found.axes, axes), at or {}, colour), file)


def drawable(axes: Sequence[MapAxis], drawing: Mapping[str, Any]) -> None:
    """Refuse a picture that cannot be drawn, before the map is made."""
    if drawing["colour"] not in COLOURINGS:
        raise InputError(f"a map is coloured by {' or '.join(COLOURINGS)}, not by {drawing['colour']!r}")
    slice_values(axes, _drawn_axes(axes, drawing["axes"]), drawing["at"] or {})


def _drawn_axes(axes: Sequence[MapAxis], names: Sequence[str] | None) -> list[str]:
    known = [axis.name for axis in axes]
    chosen = list(names or known[:2])
    if not 1 <= len(chosen) <= 2 or any(name not in known for name in chosen):
        raise InputError(f"one or two of {', '.join(known)} are drawn, not {', '.join(chosen)}")
    return chosen


def slice_values(axes: Sequence[MapAxis], drawn: Sequence[str], at: Mapping[str, Any]) -> dict[str, Fraction | None]:
    """The values of the axes that are not drawn: those given, else the middle; None for the worst over all of them."""
    others = [axis for axis in axes if axis.name not in drawn]
    for name in at:
        if name not in [axis.name for axis in others]:
            known = ", ".join(axis.name for axis in others) or "none"
            raise InputError(f"a picture is drawn at a value of axes that it does not show ({known}), not of {name!r}")
    return {axis.name: _value(axis, at.get(axis.name)) for axis in others}


def _value(axis: MapAxis, given: Any) -> Fraction | None:
    if given is None:
        return axis.halves(axis.ends)[0][1]
    if given == WORST:
        return None
    try:
        value = Fraction(given)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        raise InputError(f"{axis.name} is drawn at a number, or {WORST}, not at {given!r}") from None
    if not axis.lower <= value <= axis.upper:
        raise InputError(f"{axis.name} = {number(value)} is not on the map, which has {axis}")
    return value


def _figure(found: RegionMap, drawn: Sequence[str], at: Mapping[str, Any], colour: str) -> Figure:
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    others = slice_values(found.axes, drawn, at)
    sheet = found.sheets[0]
    shown = [
        cell
        for cell in found.cells
        if cell.parameters == sheet
        and all(x is None or cell.ends[name][0] <= x <= cell.ends[name][1] for name, x in others.items())
    ]
    shown.sort(key=lambda cell: BETTER_FIRST.index(cell.kind))  # what is worse is drawn over what is better
    figure = new_figure((WIDTH, 0.78 * WIDTH if len(drawn) == 2 else 1.6))
    panel = figure.subplots()
    boxes = [_corners(found, cell, drawn) for cell in shown]
    largest = max((cell.margin for cell in shown if cell.margin is not None), default=0.0)
    tones = [_tone(cell, colour, largest) for cell in shown]
    edges = [tone if _is_fine(found, cell, drawn) else "white" for cell, tone in zip(shown, tones, strict=True)]
    panel.add_collection(PolyCollection(boxes, facecolors=tones, edgecolors=edges, linewidths=0.25))
    across = [float(end) for end in _axis(found, drawn[0])]
    panel.set_xlim(*across)
    panel.set_xlabel(as_name(drawn[0]))
    if len(drawn) == 2:
        panel.set_ylim(*(float(end) for end in _axis(found, drawn[1])))
        panel.set_ylabel(as_name(drawn[1]), rotation=0, ha="right", va="center")
    else:
        panel.set_ylim(0, 1)
        panel.set_yticks([])
    fixed = {**others, **sheet}
    said = ", ".join(f"{name} = {number(value)}" for name, value in fixed.items() if value is not None)
    worst = ", ".join(name for name, value in fixed.items() if value is None)
    said += f"{', ' if said else ''}the worst over {worst}" if worst else ""
    name = found.question.name or str(found.question.formula)
    panel.set_title(as_name(f"{found.task.name}: {name}{',  ' + said if said else ''}"), loc="left", fontsize=9)
    parts = [(kind, share) for kind, share in found.shares.items() if share]
    labels = [f"{kind} {percent(share)}" for kind, share in parts]
    patches = [Patch(facecolor=COLOURS[kind], edgecolor="#9aa3aa", linewidth=0.4) for kind, _ in parts]
    figure.legend(patches, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure


def _is_at(cell: MapCell, others: Mapping[str, Fraction | None]) -> bool:
    """Whether a cell has these values of the axes that are not drawn."""
    return all(x is None or cell.ends[name][0] <= x <= cell.ends[name][1] for name, x in others.items())


def _axis(found: RegionMap, name: str) -> tuple[Fraction, Fraction]:
    axis = next(axis for axis in found.axes if axis.name == name)
    half = Fraction(1, 2) if axis.whole else Fraction(0)
    return axis.lower - half, axis.upper + half


def _corners(found: RegionMap, cell: MapCell, drawn: Sequence[str]) -> list[tuple[float, float]]:
    ends = []
    for name in drawn:
        axis = next(axis for axis in found.axes if axis.name == name)
        half = Fraction(1, 2) if axis.whole else Fraction(0)  # a whole number is drawn as wide as its place
        ends.append((float(cell.ends[name][0] - half), float(cell.ends[name][1] + half)))
    (x0, x1), (y0, y1) = ends[0], ends[1] if len(ends) == 2 else (0.0, 1.0)
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def _is_fine(found: RegionMap, cell: MapCell, drawn: Sequence[str]) -> bool:
    """Whether an outline would hide a cell."""
    parts = [axis.size(cell.ends[axis.name]) / axis.size(axis.ends) for axis in found.axes if axis.name in drawn]
    return min(parts) < MIN_OUTLINED


def _tone(cell: MapCell, colour: str, largest: float) -> Any:
    if colour != "margin" or cell.kind is not CellKind.SAFE or cell.margin is None or largest <= 0:
        return COLOURS[cell.kind]
    depth = min(1.0, cell.margin / largest)
    return (0.88 - 0.75 * depth, 0.95 - 0.45 * depth, 0.86 - 0.66 * depth)


def percent(share: Fraction) -> str:
    """`12.5 %`; what is not nothing never reads as nothing."""
    value = 100 * float(share)
    return f"{value:.3g} %" if share == 0 or value >= 0.001 else "< 0.001 %"
