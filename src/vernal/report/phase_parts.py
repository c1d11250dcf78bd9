"""What phase portraits share: the data that is drawn, colours, and the legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.evidence.flowpipe import Flowpipe
from vernal.interpret.numbers.rounding import Floats
from vernal.model.hybrid import HybridAutomaton
from vernal.model.system import Model
from vernal.report.figures import GOAL, INK, LIMIT, RUN, drawable
from vernal.report.phase_sets import NOTHING_ASKED, AskedSets, PlaneWindow
from vernal.report.values import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EDGE = "#b9c3cb"  # of regions
STREAM = "#8a97a1"
FINE, FINEST, COARSE = 100, 200, 25  # cells across a set, across what a claim asks, and points across the flow
REGION_SHADE, SET_SHADE = 0.45, 0.22  # how dense colours are
MAX_TRAJECTORIES = 100
ROOM_AROUND = 0.15  # of the extent of what is drawn of a loop, around it
MIN_VISIBLE = 0.02  # of the width of a plane: a smaller initial set gets a mark


@dataclass(frozen=True, eq=False, slots=True)
class DrawnTrajectory:
    """States (k, n) at times (k,), in order."""

    times: Floats
    states: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Portrait:
    """What is drawn of a flow."""

    flow: Model
    automaton: HybridAutomaton | None = None
    pipe: Flowpipe | None = None
    trajectories: Sequence[DrawnTrajectory] = ()
    asked: AskedSets = NOTHING_ASKED
    violating: DrawnTrajectory | None = None
    seen: PlaneWindow | None = None  # what is drawn of the plane, where that is chosen

    @property
    def until(self) -> float:
        """The last time of what is drawn; 1 where nothing has a time."""
        drawn = [*self.trajectories, *([] if self.violating is None else [self.violating])]
        ends = [float(one.times[-1]) for one in drawn if len(one.times)]
        return max([*ends, *([] if self.pipe is None else [self.pipe.until])], default=1.0)


def drawn_range(portrait: Portrait, place: int) -> tuple[float, float] | None:
    """Between which values of a variable there is something to see, with some room; None where there is nothing."""
    ends = [one.states[:, place] for one in (*portrait.trajectories, portrait.violating) if one is not None]
    if portrait.pipe is not None:
        ends += [portrait.pipe.lower[:, place], portrait.pipe.upper[:, place]]
    seen = drawable(np.concatenate(ends)) if ends else np.empty(0)
    seen = seen[np.isfinite(seen)]
    room = ROOM_AROUND * float(np.ptp(seen)) if seen.size else 0.0
    return (float(seen.min()) - room, float(seen.max()) + room) if room else None


def draw_violating(axes: Axes, xs: Floats, ys: Floats) -> None:
    """The trajectory that violates the claim: from an open dot to where that shows."""
    axes.plot(xs, ys, color="black", linewidth=1.4, zorder=6)
    for x, y, filled in ((xs[0], ys[0], "white"), (xs[-1], ys[-1], "black")):
        axes.plot([x], [y], "o", color="black", markerfacecolor=filled, markersize=4, zorder=7)


def legend(figure: Figure, portrait: Portrait) -> None:
    """What colours and lines mean, above the panels; the regions are counted."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    asked, count = portrait.asked, len(portrait.trajectories)
    handles: list[Any] = [Patch(fill=False, edgecolor="black", linewidth=1.1, label="initial set")]
    if asked.bad:
        handles.append(Patch(facecolor=(*_rgb(LIMIT), 0.3), edgecolor=LIMIT, label=f"bad set{_when(portrait)}"))
    if asked.goal:
        handles.append(Patch(facecolor=(*_rgb(GOAL), 0.3), edgecolor=GOAL, label="goal"))
    if portrait.pipe is not None:
        handles.append(Patch(facecolor="#7fb2da", edgecolor=INK, linewidth=0.4, label="flowpipe"))
    if count:
        shown = f"{min(count, MAX_TRAJECTORIES)} of {count:,}" if count > MAX_TRAJECTORIES else str(count)
        handles.append(Line2D([], [], color=RUN, linewidth=1, label=f"{shown} simulated"))
    if portrait.violating is not None:
        handles.append(Line2D([], [], color="black", linewidth=1.4, marker="o", markersize=3.5, label="violates"))
    if portrait.automaton is not None and len(portrait.flow.state) <= 2:
        handles.append(Patch(facecolor="#eef2f5", edgecolor=EDGE, label=f"{len(portrait.automaton.locations)} regions"))
    look: Any = {"frameon": False, "fontsize": 7, "handlelength": 1.4, "columnspacing": 1.2}
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), **look)


def _when(portrait: Portrait) -> str:
    """At which times a bad set is one, where that is not always."""
    told = [
        f"{number(lower)} to {number(portrait.until if upper is None else upper)}"
        for lower, upper in sorted(portrait.asked.times, key=lambda time: (time[0], time[1] or 0))
    ]
    always = all(not lower and (upper is None or upper >= portrait.until) for lower, upper in portrait.asked.times)
    return "" if always else f" (time {', '.join(told)})"


def _rgb(tone: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(tone)
