"""The engines for claims with a last step: simulations, bounds in a hurry, paths, bounds with patience, all states."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from vernal.engines.base import Engine
from vernal.engines.bounds.engine import NONLINEAR, SMOOTH, Bounds, Effort, effort
from vernal.engines.explicit.engine import Explicit
from vernal.engines.falsify.engine import Falsify
from vernal.engines.operator_ends import operator_ends
from vernal.engines.options import BoundsOptions
from vernal.engines.paths.engine import Paths
from vernal.engines.turns import BRIEF_SECONDS, Turn, graphs
from vernal.model.system import System
from vernal.sets.pieces.free_winners import has_winners

NONLINEAR_BOUNDS_SECONDS = 20.0  # for a proof by bounds, while every second round settles half of its boxes
BOXES_BEFORE_PATHS = 128  # boxes of a nonlinear loop, before all paths are tried
TURN_SECONDS = (4.0, 16.0, 64.0, inf)  # of all paths and of bounds, in turn
INTERVALS = Bounds(BoundsOptions(tighten=False), patience=1, most=1)  # one look at the whole


def stages(system: System, rest: Engine) -> list[Turn]:
    """Engines in their order, each with its share of the time that is left and the most it may have.

    Of a nonlinear loop neither boxes nor pieces are exact. Where a claim has room, plain intervals show it in no time;
    which of the others closes it first is not known beforehand: where a policy chooses among actions, all paths have a
    short turn; bounds go on as long as cutting helps, and after all paths have most of the time that is left. `rest` is
    asked of what the ends of operators leave of a claim.
    """
    limits = effort(system)
    early, late = graphs(system, Explicit())
    bounds = Bounds()
    glance = Turn(Falsify(generations=0), 0.5)  # it ends by itself, and soon
    settled = Turn(operator_ends(rest), 0.5)
    last = Turn(Falsify(), 1.0)
    if limits == Effort():
        return [
            glance,
            Turn(bounds, 0.4, BRIEF_SECONDS, waits=True),
            settled,
            *early,
            *in_turns(Paths(), 0.8, bounds),
            *late,
            last,
        ]
    hurried = Bounds(patience=2, most=BOXES_BEFORE_PATHS, share=0.5)
    paths = Paths()
    chosen = Turn(paths, 0.2, BRIEF_SECONDS, waits=True)
    return [
        Turn(INTERVALS, 0.2, once=True),
        glance,
        settled,
        *([chosen] if limits == NONLINEAR and system.step.once(has_winners) else []),
        Turn(bounds, 0.4, NONLINEAR_BOUNDS_SECONDS, waits=True)
        if limits == SMOOTH
        else Turn(hurried, 0.4, NONLINEAR_BOUNDS_SECONDS, once=True),
        *early,
        *in_turns(paths, 0.4, bounds),
        *late,
        last,
    ]


def in_turns(paths: Engine, share: float, bounds: Engine) -> Iterator[Turn]:
    """All paths and bounds, each going on where it was; in the end as long as each of them takes."""
    for seconds in TURN_SECONDS:
        yield Turn(paths, share, seconds, waits=True)
        yield Turn(bounds, 0.5, seconds, waits=True)
