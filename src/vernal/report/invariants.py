"""Invariants for people: their sets in words, and drawn over two components."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vernal.errors import InputError
from vernal.evidence.invariant import Invariant, StateSet
from vernal.evidence.invariant_file import component_names
from vernal.interpret.geometry.clipping import clipped
from vernal.model.expr import Component, Expr
from vernal.model.sorts import REAL, Sort
from vernal.model.system import System
from vernal.report.figures import INK, LARGEST_DRAWN, LIMIT, WIDTH, draw_figure, draw_svg, drawable, new_figure
from vernal.report.values import number, scalar

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_SHOWN = 2  # sets in the text below a verdict
MAX_LIMITS = 8  # ends of a set in that text
DRAWN_RUNS, DRAWN_STEPS = 30, 60  # simulated, to be drawn beside the sets
DIRECTIONS = 32  # in which the shadow of a set is measured, where it has more than two components

Corner = tuple[float, float]
Side = tuple[float, float, float]  # a, b and c of a x + b y <= c


# Words ----------------------------------------------------------------------------------------------------------------


def invariant_words(invariant: Invariant) -> str:
    """`2 sets of x, v: -1 <= x <= 1, v <= 3; ...`"""
    count = len(invariant.sets)
    title = counted_sets(count)
    shown = "; ".join(set_words(invariant, one, MAX_LIMITS) for one in invariant.sets[:MAX_SHOWN])
    rest = f"; ... {count - MAX_SHOWN:,} more" if count > MAX_SHOWN else ""
    return f"{title}: {shown}{rest}" if shown else f"{title}, since the claim is about no state"


def counted_sets(count: int) -> str:
    """`1 set`, `2,000 sets`"""
    return "1 set" if count == 1 else f"{count:,} sets"


def set_words(invariant: Invariant, one: StateSet, most: int | None = None) -> str:
    """A set by its ends: `-1 <= x <= 1, x - y <= 0.5, mode = ON`."""
    sorts = _sorts(invariant)
    said = [_limit(row, low, high, invariant.components, sorts) for row, low, high in one.limits()]
    more = "" if most is None or len(said) <= most else f", ... {len(said) - most} more"
    return (", ".join(said[:most]) or "every state") + more


def _sorts(invariant: Invariant) -> list[Sort]:
    known = {} if invariant.system is None else {variable.name: variable.sort for variable in invariant.system.state}
    return [known.get(name, REAL) for name in invariant.components]


def _limit(
    row: Sequence[Fraction], low: Fraction | None, high: Fraction | None, names: Sequence[str], sorts: Sequence[Sort]
) -> str:
    places = [place for place, a in enumerate(row) if a]
    if len(places) == 1 and low == high and low is not None:
        return f"{names[places[0]]} = {scalar(low / row[places[0]], sorts[places[0]])}"
    middle = " ".join(_term(row[place], names[place], first=place == places[0]) for place in places) or "0"
    return (
        (f"{number(low)} <= " if low is not None else "") + middle + (f" <= {number(high)}" if high is not None else "")
    )


def _term(factor: Fraction, name: str, *, first: bool) -> str:
    sign = ("-" if factor < 0 else "") if first else ("- " if factor < 0 else "+ ")
    return f"{sign}{name}" if abs(factor) == 1 else f"{sign}{number(abs(factor))}*{name}"


# Pictures -------------------------------------------------------------------------------------------------------------


def is_drawable(invariant: Invariant) -> bool:
    """Whether two components vary, between finite ends."""
    return len(_varying(invariant)) >= 2


def plot_invariant(invariant: Invariant, file: str | Path | None = None, of: tuple[str, str] | None = None) -> Any:
    """Draw the shadows of the sets on two components; to a file by its suffix (pdf, svg, png) if one is named."""
    return draw_figure(lambda: _draw(invariant, of), file)


def invariant_svg(invariant: Invariant) -> str:
    """The same as an SVG element to embed in a page."""
    return draw_svg(lambda: _draw(invariant, None))


def _varying(invariant: Invariant) -> list[str]:
    """The numbers that have more than one value in the union, and ends in every set."""
    found, sorts = [], _sorts(invariant)
    for place, name in enumerate(invariant.components):
        if not sorts[place].is_number:
            continue
        ends = [_ends(one, place) for one in invariant.sets]
        known = [(low, high) for low, high in ends if low is not None and high is not None]
        if known and len(known) == len(ends) and min(known)[0] < max(high for _, high in known):
            found.append(name)
    return found


def _ends(one: StateSet, place: int) -> tuple[Fraction | None, Fraction | None]:
    for row, low, high in one.limits():
        if row[place] and sum(map(bool, row)) == 1:
            return _drawable(low, row[place]), _drawable(high, row[place])
    return None, None


def _drawable(end: Fraction | None, factor: Fraction) -> Fraction | None:
    """The end of a component, where there is one that a picture can show."""
    return None if end is None or abs(end / factor) > LARGEST_DRAWN else end / factor


def _draw(invariant: Invariant, of: tuple[str, str] | None) -> Figure:
    known = _varying(invariant)
    names = tuple(known[:2]) if of is None else of
    if len(names) < 2 or any(name not in known for name in names):
        raise InputError(f"an invariant is drawn over two components that vary; here these are {', '.join(known)}")
    figure = new_figure((WIDTH, 0.75 * WIDTH))
    axes = figure.subplots()
    _fill(axes, invariant, [invariant.components.index(name) for name in names])
    if isinstance(invariant.system, System):
        _show_runs(axes, invariant.system, names)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=7, markerscale=3)
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1], rotation=0, ha="right", va="center")
    axes.margins(0.06)
    axes.autoscale_view()
    return figure


def _show_runs(axes: Axes, system: System, names: Sequence[str]) -> None:
    """The hull of the initial states, and where some simulated runs are: what the invariant is around."""
    from matplotlib.patches import Rectangle

    from vernal.simulate.starts import NoInitialState

    known = component_names(system)
    places = [known[name] for name in names]
    (left, right), (bottom, top) = (map(float, system.initial.hull.ends[var][i]) for var, i in places)
    look: Any = {"edgecolor": LIMIT, "linewidth": 1, "linestyle": (0, (5, 3)), "zorder": 4}
    hull = Rectangle((left, bottom), right - left, top - bottom, fill=False, label="hull of the initial states", **look)
    axes.add_patch(hull)
    try:
        xs, ys = _positions(system, places)
    except NoInitialState:
        return
    look = {"color": "black", "markersize": 2, "alpha": 0.5, "rasterized": True}  # thousands of dots are a large SVG
    axes.plot(xs, ys, ".", label=f"{DRAWN_RUNS} simulated runs", **look)


def _positions(system: System, places: Sequence[Component]) -> list[Any]:
    """The values of components along simulated runs, all positions of all runs in a row."""
    import numpy as np

    from vernal.simulate.runs import simulate

    with np.errstate(all="ignore"):
        made = simulate(system, DRAWN_RUNS, DRAWN_STEPS, np.random.default_rng(0), corners=True)
    values: dict[Expr, Any] = {var: made.state[var.name] for var in system.step.state}
    values.update(made.memory.items())
    return [drawable(values[var].reshape(DRAWN_RUNS * (DRAWN_STEPS + 1), -1)[:, i]) for var, i in places]


def _fill(axes: Axes, invariant: Invariant, places: Sequence[int]) -> None:
    """The shadow of every set; what paths pass before the claim begins is drawn in grey."""
    from matplotlib.patches import Polygon

    before = [one for sets in invariant.prefix for one in sets]
    kinds = [
        (before, "#9aa5ae", "before the claim begins"),
        (invariant.sets, INK, f"invariant: no step leaves it ({counted_sets(len(invariant.sets))})"),
    ]
    for sets, tone, words in kinds:
        shadows = [corners for one in sets if (corners := shadow(one, places[0], places[1]))]
        for number_before, corners in enumerate(shadows):
            label = None if number_before else words  # one entry of the legend for all
            axes.add_patch(Polygon(corners, closed=True, facecolor=tone, alpha=0.3, linewidth=0, label=label))
            axes.add_patch(Polygon(corners, closed=True, fill=False, edgecolor=tone, linewidth=0.8))


def shadow(one: StateSet, x: int, y: int) -> list[Corner]:
    """The corners of a polygon around the shadow of a set on two components, in order; none where it is empty.

    Exact up to rounding where no row ties the two to other components; else measured in several directions.
    """
    tied = any((row[x] or row[y]) and any(a for i, a in enumerate(row) if i not in (x, y)) for row in one.rows)
    sides = _measured(one, x, y) if tied else []
    own = [(row, bound) for row, bound in zip(one.rows, one.bounds, strict=True) if row[x] or row[y]]
    sides += [(float(row[x]), float(row[y]), float(bound)) for row, bound in own if not _other(row, x, y)]
    (left, right), (bottom, top) = ([_float(end) for end in _ends(one, place)] for place in (x, y))
    corners: list[Corner] = [(left, bottom), (right, bottom), (right, top), (left, top)]
    for side in sides:
        corners = clipped(corners, *side)
    return corners


def _other(row: Sequence[Fraction], x: int, y: int) -> bool:
    return any(a for place, a in enumerate(row) if place not in (x, y))


def _float(end: Fraction | None) -> float:
    assert end is not None  # only components between finite ends are drawn
    return float(end)


def _measured(one: StateSet, x: int, y: int) -> list[Side]:
    """Half-planes around the shadow, by a linear program for each of several directions."""
    import numpy as np

    from vernal.interpret.geometry.float_program import minimise

    A = np.array([[float(a) for a in row] for row in one.rows])
    b = np.array([float(bound) for bound in one.bounds])
    sides: list[Side] = []
    for angle in np.linspace(0, 2 * np.pi, DIRECTIONS, endpoint=False).tolist():
        c = np.zeros(A.shape[1])
        c[x], c[y] = np.cos(angle), np.sin(angle)
        found = minimise(-c, A, b, [(None, None)] * A.shape[1])
        if found is not None:
            sides.append((float(c[x]), float(c[y]), float(c @ found.point)))
    return sides
