"""What a phase portrait draws, in numbers: polygons of regions and segments, and values on grids of states."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from vernal.evidence.flowpipe import Flowpipe
from vernal.interpret import interval
from vernal.interpret.concrete import evaluate
from vernal.interpret.geometry.clipping import clipped
from vernal.interpret.numbers.rounding import Array, Floats, Mask
from vernal.interpret.value_sets import Range, Truth, Value
from vernal.logic.formula import Formula
from vernal.model.build import negate
from vernal.model.expr import Expr
from vernal.model.held_loop import loop_of
from vernal.model.hybrid import HybridAutomaton
from vernal.model.system import Model
from vernal.report.figures import LARGEST_DRAWN
from vernal.report.windows import windows_of

PolygonCorners = list[tuple[float, float]]
LAYERS = 9  # of every variable that is not drawn, on which a set is looked for
MAX_LAYERS = 1000  # in all; beyond, that many states at random
MAX_PLANES = 3  # of a loop that samples, of which there is a picture over time, too
ZOOM = 40  # cells across in which a set is looked for, before cells are put around it


@dataclass(frozen=True, slots=True)
class PhasePlane:
    """Two variables of a flow, by their indices."""

    across: int
    up: int

    @property
    def places(self) -> list[int]:
        return [self.across, self.up]


def moving(flow: Model) -> list[int]:
    """The variables that flow, by their indices: not what agents hold, nor what only jumps."""
    loop = loop_of(flow)
    names = {one.name for one in (loop or flow).state if not one.sort.is_discrete}
    return [place for place, one in enumerate(flow.state) if one.name in names]


def planes_of(flow: Model) -> list[PhasePlane]:
    """The planes that are drawn where none is chosen: all three of three variables, of more those of neighbours."""
    places = moving(flow)
    if len(places) == 3:
        return [PhasePlane(*pair) for pair in itertools.combinations(places, 2)]
    found = [PhasePlane(*pair) for pair in zip(places[::2], places[1::2], strict=False)]
    return found if loop_of(flow) is None else found[:MAX_PLANES]


def region_of(flow: Model) -> tuple[Floats, Floats]:
    """The ends of the region, as floats; where they are too large to be drawn, the window ends before them."""
    lower, upper = np.array([[_in_window(end) for end in ends] for ends in flow.region]).T
    return lower, upper


def _in_window(end: Fraction) -> float:
    return float(end) if abs(end) <= LARGEST_DRAWN else LARGEST_DRAWN if end > 0 else -LARGEST_DRAWN


# Polygons -------------------------------------------------------------------------------------------------------------


def cut_box(lower: Floats, upper: Floats, normals: Floats, offsets: Floats) -> PolygonCorners:
    """The corners, in order, of the part of a rectangle with normals x <= offsets; none where it is empty."""
    (left, bottom), (right, top) = lower.tolist(), upper.tolist()
    corners: PolygonCorners = [(left, bottom), (right, bottom), (right, top), (left, top)]
    for (a, b), c in zip(normals.tolist(), offsets.tolist(), strict=True):
        corners = clipped(corners, a, b, c) if corners else []
    return corners


def region_polygons(automaton: HybridAutomaton) -> list[PolygonCorners]:
    """The regions of an automaton of two variables."""
    facets = [location.invariant for location in automaton.locations]
    return [cut_box(automaton.lower, automaton.upper, one.normals, one.offsets) for one in facets]


def region_spans(automaton: HybridAutomaton) -> list[tuple[float, float]]:
    """The regions of an automaton of one variable."""
    (low,), (high,) = automaton.lower.tolist(), automaton.upper.tolist()
    return [_span(low, high, place.invariant.normals[:, 0], place.invariant.offsets) for place in automaton.locations]


def _span(low: float, high: float, slopes: Floats, offsets: Floats) -> tuple[float, float]:
    above = [c / a for a, c in zip(slopes.tolist(), offsets.tolist(), strict=True) if a > 0]
    below = [c / a for a, c in zip(slopes.tolist(), offsets.tolist(), strict=True) if a < 0]
    return max([low, *below]), min([high, *above])


def segment_polygons(pipe: Flowpipe, plane: PhasePlane) -> list[PolygonCorners]:
    """The shadow of every segment on a plane, or a polygon around it: sides over other variables say nothing here."""
    elsewhere = np.delete(pipe.directions, plane.places, axis=1)
    own = np.flatnonzero(~elsewhere.any(axis=1))
    normals = pipe.directions[own][:, plane.places]
    both = np.vstack([normals, -normals])
    offsets = np.hstack([pipe.upper[:, own], -pipe.lower[:, own]])
    boxes = zip(pipe.lower[:, plane.places], pipe.upper[:, plane.places], offsets, strict=True)
    return [cut_box(low, high, both, most) for low, high, most in boxes]


# Grids ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlaneGrid:
    """Points of a plane, and for each of them states above and below it: `states` is (layers, rows, columns, n)."""

    across: Floats
    up: Floats
    states: Floats

    @property
    def points(self) -> Floats:
        """All states, one below the other."""
        return self.states.reshape(-1, self.states.shape[-1])

    def shaped(self, values: Array) -> Array:
        """Values at all states, as (layers, rows, columns)."""
        return np.broadcast_to(values, len(self.points)).reshape(self.states.shape[:-1])


def full_grid(lower: Floats, upper: Floats, plane: PhasePlane, count: int) -> PlaneGrid:
    """A grid over a plane of a box, with layers through all of the box in the other variables."""
    others = [place for place in range(len(lower)) if place not in plane.places]
    return grid_at(lower, upper, plane, count, _layers(lower[others], upper[others]))


def grid_at(lower: Floats, upper: Floats, plane: PhasePlane, count: int, layers: Floats) -> PlaneGrid:
    """A grid over a plane of a box; each row of `layers` has values for the other variables, in order."""
    others = [place for place in range(len(lower)) if place not in plane.places]
    across, up = (np.linspace(lower[place], upper[place], count) for place in plane.places)
    states = np.empty((len(layers), count, count, len(lower)))
    states[..., plane.across], states[..., plane.up] = np.meshgrid(across, up)
    states[..., others] = layers[:, None, None, :]
    return PlaneGrid(across, up, states)


def _layers(lower: Floats, upper: Floats) -> Floats:
    """Values for the variables that are not drawn: evenly spread, or drawn at random where that is too many."""
    if LAYERS ** len(lower) > MAX_LAYERS:
        return np.random.default_rng(0).uniform(lower, upper, (MAX_LAYERS // LAYERS, len(lower)))
    ends = zip(lower, upper, strict=True)
    return np.array(list(itertools.product(*(np.linspace(low, high, LAYERS) for low, high in ends))))


def values_at(flow: Model, expressions: Sequence[Expr], points: Floats) -> list[Floats]:
    """Expressions at states (rows of `points`), each disturbance halfway between its ends."""
    inputs: dict[Expr, Array] = {var: points[:, place] for place, var in enumerate(flow.vars)}
    inputs.update({one: np.full(len(points), 0.5) for one in flow.disturbances})
    with np.errstate(all="ignore"):
        return [np.broadcast_to(value, len(points)) for value in evaluate(expressions, inputs)]


PlaneWindow = tuple[tuple[float, float], tuple[float, float]]  # across, up


@dataclass(frozen=True, slots=True)
class ShadowCells:
    """Cells across and up a plane, by their middles: 1 in `where` if a state above a cell may be in a set, else 0."""

    across: Floats
    up: Floats
    where: Floats


def shadow_cells(
    flow: Model, condition: Expr, plane: PhasePlane, count: int, window: PlaneWindow | None = None
) -> ShadowCells | None:
    """The shadow of the states with a condition, on cells around it alone; None where no state can have it.

    Exact up to a cell for boxes, and seen however thin it is. `window` is the part of the plane that is seen, where
    that is not all of the region.
    """
    edges = _edges(flow, [ZOOM if place in plane.places else _slabs(flow) for place in _all(flow)])
    for place, (low, high) in zip(plane.places, window or (), strict=False):
        edges[place] = np.linspace(low, high, ZOOM + 1)
    for divided in (ZOOM, count):
        closer = _around(flow, condition, edges, plane, divided)
        if closer is None:
            return None
        edges = closer
    seen = _possible(flow, condition, edges).any(axis=tuple(place for place in _all(flow) if place not in plane.places))
    across, up = ((edges[place][1:] + edges[place][:-1]) / 2 for place in plane.places)
    return ShadowCells(across, up, np.asarray(seen.T if plane.across < plane.up else seen, dtype=np.float64))


def _around(
    flow: Model, condition: Expr, edges: Sequence[Floats], plane: PhasePlane, count: int
) -> list[Floats] | None:
    """Finer cells of the plane in the hull of those cells that may have the condition; None where there are none."""
    possible = _possible(flow, condition, edges)
    if not possible.any():
        return None
    inside = [np.flatnonzero(possible.any(axis=tuple(q for q in _all(flow) if q != place))) for place in _all(flow)]
    kept = [one[where[0] : where[-1] + 2] for one, where in zip(edges, inside, strict=True)]
    return [np.linspace(kept[p][0], kept[p][-1], count + 1) if p in plane.places else kept[p] for p in _all(flow)]


def _all(flow: Model) -> range:
    return range(len(flow.state))


def stretches(flow: Model, condition: Expr, count: int) -> list[tuple[float, float]]:
    """The values of the one variable of a flow that may have a condition, as intervals of whole cells."""
    (edges,) = _edges(flow, [count])
    turns = np.flatnonzero(np.diff(np.pad(_possible(flow, condition, [edges]).astype(np.int8), 1)))
    return [(float(edges[first]), float(edges[last])) for first, last in turns.reshape(-1, 2)]


def _edges(flow: Model, sides: Sequence[int]) -> list[Floats]:
    lower, upper = region_of(flow)
    return [np.linspace(low, high, side + 1) for low, high, side in zip(lower, upper, sides, strict=True)]


def _possible(flow: Model, condition: Expr, edges: Sequence[Floats]) -> Mask:
    """Whether each of the boxes between edges may have a state with the condition."""
    below = np.meshgrid(*(one[:-1] for one in edges), indexing="ij")
    above = np.meshgrid(*(one[1:] for one in edges), indexing="ij")
    boxes: dict[Expr, Value] = {
        var: Range(low.ravel(), high.ravel()) for var, low, high in zip(flow.vars, below, above, strict=True)
    }
    (truth,) = interval.evaluate([condition], boxes)
    assert isinstance(truth, Truth)
    return np.broadcast_to(truth.may, below[0].size).reshape(below[0].shape)


def _slabs(flow: Model) -> int:
    """Into how many slabs every variable that is not drawn is cut."""
    return LAYERS if LAYERS ** (len(flow.state) - 2) <= MAX_LAYERS else 1


# What is asked --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskedSets:
    """What a formula asks of states: trajectories should never be in `bad`, and should be in `goal` some time."""

    bad: tuple[Expr, ...] = ()
    goal: tuple[Expr, ...] = ()
    times: frozenset[tuple[Fraction, Fraction | None]] = frozenset()  # of which `bad` is said


NOTHING_ASKED = AskedSets()


def asked_sets_of(flow: Model, formula: Formula) -> AskedSets:
    """The conditions of the formula's G, false, and of its F, true, those of its U alike; over the state variables."""
    windows = windows_of(formula)
    bad = tuple(flow.resolve(negate(one.condition)) for one in windows if not one.wanted)
    goal = tuple(flow.resolve(one.condition) for one in windows if one.wanted)
    return AskedSets(bad, goal, frozenset((w.bound.lower, w.bound.upper) for w in windows if not w.wanted))


def joined_asked(several: Sequence[AskedSets]) -> AskedSets:
    """What several formulas ask."""
    bad = tuple(part for one in several for part in one.bad)
    goal = tuple(part for one in several for part in one.goal)
    return AskedSets(bad, goal, frozenset(time for one in several for time in one.times))
