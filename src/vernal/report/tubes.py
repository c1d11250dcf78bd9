"""Pictures of reachable sets: bounds over the steps or polygons in a plane, with simulated runs over them.

Of a flow, bounds are over time, and two of its variables are a phase portrait with the flowpipe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.engines.reach.segments import SegmentValues
from vernal.engines.reach.sets import NumberBounds, ReachableSets, ReachedStep, ReachedValue, TimedReach
from vernal.errors import InputError
from vernal.evidence.flowpipe import Flowpipe
from vernal.interpret.numbers.rounding import Floats
from vernal.model.expr import Var
from vernal.model.held_loop import loop_of
from vernal.model.system import Model
from vernal.report.figures import AxisLimits, draw_figure, draw_svg, drawable, near_limits
from vernal.report.flow_pictures import simulated_trajectories
from vernal.report.loop_tube import WITHIN, held_among, span_edges
from vernal.report.phase import phase_figure
from vernal.report.phase_parts import Portrait
from vernal.report.phase_sets import asked_sets_of, joined_asked
from vernal.report.tube_panels import SetPicture, plane_figure, tube_figure
from vernal.report.zones import zones_of_all
from vernal.simulate.runs import Runs, simulate
from vernal.simulate.starts import NoInitialState
from vernal.simulate.trajectories import simulate_flow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN_RUNS = 30
BANDS, POLYGONS = 200, 80  # spans of time in a picture of a flow, over time and in a plane
ROOM_AROUND = 0.25  # of the extent of a flowpipe, around it


def plot_sets(
    sets: ReachableSets,
    file: str | Path | None = None,
    *,
    runs: int = DRAWN_RUNS,
    limits: AxisLimits | None = None,
    plane: bool = True,
) -> Any:
    """Draw reachable sets; to a file by its suffix (pdf, svg, png) if one is named."""
    unknown = [name for name in limits or {} if name not in sets.of]
    if unknown:
        raise InputError(f"no expression is called {unknown[0]!r} here; limits go with {', '.join(sets.of)}")
    return draw_figure(lambda: _draw(sets, runs, dict(limits or {}), plane), file)


def sets_svg(sets: ReachableSets, limits: Mapping[str, Sequence[float]] | None = None, *, plane: bool = True) -> str:
    """Reachable sets as an SVG element to embed in a page; limits far from the sets are left out."""
    near = {name: _near(sets.values(name), values) for name, values in (limits or {}).items() if name in sets.of}
    return draw_svg(lambda: _draw(sets, DRAWN_RUNS, near, plane))


def _near(values: Sequence[ReachedValue], limits: Sequence[float]) -> list[float]:
    """The limits that lie at most a few times the extent of the sets away from them."""
    ends = [end for one in values if isinstance(one, NumberBounds) and one.is_finite for end in (one.lower, one.upper)]
    if not ends:
        return []
    return near_limits(limits, min(ends), max(ends))


def _draw(sets: ReachableSets, runs: int, limits: AxisLimits, plane: bool) -> Figure:
    if not sets.steps:
        raise InputError("there is nothing to draw: no step is bounded")
    plane = plane and (sets.timed is None or not _held(sets))  # what agents hold is drawn over time
    if plane and not limits and sets.timed is not None and sets.timed.pipe is not None and _are_variables(sets):
        return _phase(sets, sets.timed, sets.timed.pipe, runs)
    values, times = _simulated(sets, runs)
    if plane and any(polygon is not None for polygon in sets.polygons):
        shown = _finer(sets, POLYGONS, polygons=True)
        return plane_figure(SetPicture(sets.of, sets.sorts, shown, values, times), limits)
    picture = SetPicture(sets.of, sets.sorts, _finer(sets, BANDS, polygons=False), values, times)
    return tube_figure(picture if sets.timed is None else _with_claims(picture, sets), limits)


def _with_claims(picture: SetPicture, sets: ReachableSets) -> SetPicture:
    """With what the claims of a flow say of its quantities, and which of these are held."""
    model = sets.task.model
    zones = zones_of_all(model, sets.task.properties.values())
    return replace(picture, held=_held(sets), zones=zones)


def _simulated(sets: ReachableSets, runs: int) -> tuple[list[Floats], Floats | None]:
    """The expressions on some runs, and the times of their positions; none where there is nobody to run."""
    try:
        with np.errstate(all="ignore"):
            made = _runs(sets, runs) if runs > 0 else None
            if made is None:
                return [], None
            return [drawable(values) for values in made.values(sets.expressions)], made.times
    except NoInitialState:
        return [], None


def _runs(sets: ReachableSets, runs: int) -> Runs | None:
    rng = np.random.default_rng(0)
    if sets.timed is not None:
        simulated = sets.task.model.motion.automaton is None
        return simulate_flow(sets.task.model, runs, sets.timed.until, rng, corners=True) if simulated else None
    return None if sets.task is None else simulate(sets.task.system, runs, len(sets.steps) - 1, rng, corners=True)


# Flows ----------------------------------------------------------------------------------------------------------------


def _finer(sets: ReachableSets, spans: int, *, polygons: bool) -> Sequence[ReachedStep]:
    """The steps; of a flow more and shorter spans of time than a table has, with polygons where asked for."""
    if sets.timed is None or sets.timed.pipe is None:
        return sets.steps
    with np.errstate(all="ignore"):
        known = SegmentValues(sets.task.model, sets.timed.pipe)
        if polygons:
            return known.steps(sets.expressions, np.linspace(0.0, sets.spans[-1][1], spans + 1))
        return known.bounds(sets.expressions, span_edges(sets.task.model, sets.spans[-1][1], spans), WITHIN)


def _are_variables(sets: ReachableSets) -> bool:
    """Whether two different variables of a flow were asked for."""
    return len(sets.expressions) == len(set(sets.expressions)) == 2 and set(sets.expressions) <= set(
        sets.task.model.vars
    )


def _held(sets: ReachableSets) -> frozenset[str]:
    """The quantities that agents hold."""
    return held_among(sets.task.model, dict(zip(sets.of, sets.expressions, strict=True)))


def _phase(sets: ReachableSets, timed: TimedReach, pipe: Flowpipe, runs: int) -> Figure:
    """The phase portrait of a flow with its flowpipe, and what its properties ask of it."""
    flow, network = sets.task.model, timed.abstraction
    asked = [asked_sets_of(flow, formula) for formula in sets.task.properties.values()]
    places = [flow.vars.index(var) for var in sets.expressions if isinstance(var, Var)]
    across, up = (_window(pipe, flow, place) for place in places)
    portrait = Portrait(
        flow,
        flow.motion.automaton if network is None else network.automaton,
        pipe,
        simulated_trajectories(flow, timed.until, runs),
        joined_asked(asked),
        seen=(across, up) if loop_of(flow) is None else None,
    )
    return phase_figure(portrait, [var.name for var in sets.expressions if isinstance(var, Var)])


def _window(pipe: Flowpipe, flow: Model, place: int) -> tuple[float, float]:
    """The values of a variable that are seen: those of the flowpipe with some room, inside the region."""
    low, high = float(pipe.lower[:, place].min()), float(pipe.upper[:, place].max())
    room, (first, last) = ROOM_AROUND * (high - low), map(float, flow.region[place])
    return max(first, low - room), min(last, high + room)
