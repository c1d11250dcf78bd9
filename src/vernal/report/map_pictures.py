"""Maps as pictures: two of the axes, the others at a value, or the worst over all their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vernal.errors import InputError
from vernal.logic.printing import number
from vernal.logic.question import Question
from vernal.queries.maps.axes import MapAxis
from vernal.queries.maps.cell_steps import step_claim
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
COLOURINGS = ("kind", "margin", "steps")
FEW_STEPS, MANY_STEPS = (0.55, 0.12, 0.10), (0.98, 0.86, 0.62)  # of cells that are not safe
MAX_SHADES = 6  # of a legend
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
    if colour == "steps":
        step_claim(found.question)
        if not found.tree.steps and found.shares[CellKind.SAFE] + found.shares[CellKind.NO_START] < 1:
            raise InputError("the steps of this map were not counted; make it with steps=True (--colour steps)")
    return draw_figure(lambda: _figure(found, _drawn_axes(found.axes, axes), at or {}, colour), file)


def drawable(axes: Sequence[MapAxis], drawing: Mapping[str, Any]) -> None:
    """Refuse a picture that cannot be drawn, before the map is made."""
    if drawing["colour"] not in COLOURINGS:
        raise InputError(f"a map is coloured by {', '.join(COLOURINGS)}, not by {drawing['colour']!r}")
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
    shades = Shades.of(shown, colour, found.question)
    tones = [shades.tone(cell) for cell in shown]
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
    entries = [*((COLOURS[kind], f"{kind} {percent(share)}") for kind, share in parts if shades.keeps(kind))]
    entries += shades.legend()
    labels = [label for _, label in entries]
    patches = [Patch(facecolor=tone, edgecolor="#9aa3aa", linewidth=0.4) for tone, _ in entries]
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


@dataclass(frozen=True)
class Shades:
    """How cells are coloured: by kind, safe ones by their margin, or those that are not safe by their steps."""

    colour: str
    largest: float = 0.0  # margin
    counted: tuple[int, ...] = ()  # steps of cells that are not safe, each number once
    last: int = 0  # step of the claim

    @classmethod
    def of(cls, cells: Sequence[MapCell], colour: str, question: Question) -> Shades:
        """The shades of some cells."""
        margin = max((cell.margin for cell in cells if cell.margin is not None), default=0.0)
        steps = {cell.steps for cell in cells if cell.steps is not None and cell.kind is not CellKind.SAFE}
        return cls(colour, margin, tuple(sorted(steps)), question.claim.horizon or 0)

    def keeps(self, kind: CellKind) -> bool:
        """Whether all cells of a kind have its colour."""
        shaded = {"margin": [CellKind.SAFE], "steps": [CellKind.OPEN, CellKind.UNSAFE, CellKind.WHOLLY_UNSAFE]}
        return kind not in shaded.get(self.colour, [])

    def tone(self, cell: MapCell) -> Any:
        """The colour of a cell."""
        if self.colour == "margin" and cell.kind is CellKind.SAFE and cell.margin is not None and self.largest > 0:
            return self.of_margin(cell.margin)
        if self.colour == "steps" and cell.kind is not CellKind.SAFE and cell.steps is not None:
            return self.of_steps(cell.steps)
        return COLOURS[cell.kind]

    def of_margin(self, margin: float) -> tuple[float, ...]:
        depth = min(1.0, margin / self.largest)
        return (0.88 - 0.75 * depth, 0.95 - 0.45 * depth, 0.86 - 0.66 * depth)

    def of_steps(self, steps: int) -> tuple[float, ...]:
        part = min(1.0, (steps + 1) / max(self.last, 1))
        return tuple(few + part * (many - few) for few, many in zip(FEW_STEPS, MANY_STEPS, strict=True))

    def legend(self) -> list[tuple[Any, str]]:
        """Some shades, each with what it says."""
        if self.colour == "margin" and self.largest > 0:
            said = [self.largest * part for part in (0.0, 0.5, 1.0)]
            return [(self.of_margin(margin), f"safe by {margin:.3g}") for margin in said]
        if self.colour == "steps":
            every = -(-len(self.counted) // MAX_SHADES) or 1
            return [(self.of_steps(k), "not proven" if k < 0 else f"up to step {k}") for k in self.counted[::every]]
        return []


def percent(share: Fraction) -> str:
    """`12.5 %`; what is not nothing never reads as nothing."""
    value = 100 * float(share)
    return f"{value:.3g} %" if share == 0 or value >= 0.001 else "< 0.001 %"
