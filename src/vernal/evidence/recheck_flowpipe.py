"""Flowpipes checked again, by another computation than those of the engines that make them.

The boxes of a recorded pipe have to cover the initial states, and its segments have to contain some trajectories that
are enclosed for that: from corners and centres of the boxes. Then the flow itself is followed again from each box
(`interpret.flow.deviations`), in ever shorter steps from ever smaller parts of it, until the formula is true on what
was found. So nothing rests on what a file says of its segments, nor on a network that an engine had put in the place of
the flow; what cannot be found in this way is said not to be checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import islice, product

import numpy as np
from flint import arb

from vernal.errors import Stopped
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.judgement import Judgement, Recheck
from vernal.evidence.pipe_judge import PipeJudge
from vernal.evidence.reach import rounded_down
from vernal.evidence.recheck_parts import CannotCheck
from vernal.evidence.trajectory import Trajectory, trajectory
from vernal.evidence.walk import NotAPath
from vernal.interpret import exact
from vernal.interpret.demand import Given
from vernal.interpret.flow.balls import BallArrays, points
from vernal.interpret.flow.deviations import MAX_TURN, DeviationFollower, FollowedBox, rounded
from vernal.interpret.flow.integration import horizon_on_grid
from vernal.interpret.flow.picard import on_grid, region_of
from vernal.interpret.geometry.box_cover import halves, uncovered
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import trailed
from vernal.interpret.interval import evaluate
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.rounding import Floats, float_above, float_below
from vernal.interpret.value_sets import Range, Truth, Value
from vernal.logic.question import Question
from vernal.model.expr import Expr, Var
from vernal.model.graph import order
from vernal.model.held_loop import loop_of
from vernal.model.system import Model
from vernal.model.tick import Tick, idle

LEVELS = (64, 256, 1024)  # steps up to the horizon, at least; from one to the next boxes are halved
MAX_STEPS = 20_000  # of all boxes together
MAX_TRAJECTORIES = 24  # that are looked for in recorded segments,
INSTANTS = 16  # each at so many times
MAX_ALTERNATIVES = 256  # combinations of initial values that are boxes of their own


NO_AUTOMATA = "flowpipes of hybrid automata are not followed again yet"
NO_LOOPS = "flowpipes of loops that sample are not followed again yet"


class NotAPipe(Exception):
    """The recorded flowpipe is none of this flow, and why."""


def recheck_flowpipe(question: Question, pipe: Flowpipe, tick: Tick = idle) -> Recheck:
    """Whether all trajectories keep the formula of a question, as a recorded flowpipe says."""
    if loop_of(question.model) is not None:
        return Recheck(Judgement.UNDECIDED, NO_LOOPS)
    if question.model.motion.automaton is not None:
        return Recheck(Judgement.UNDECIDED, NO_AUTOMATA)
    try:
        _refuse_uncovered(question.model, pipe, tick)
        compared = _refuse_missing(question, pipe, tick)
        found = PipeCheck(question, pipe, tick).run()
    except NotAPipe as why:
        return Recheck(Judgement.REJECTED, str(why))
    except CannotCheck as why:
        return Recheck(Judgement.UNDECIDED, str(why), pipe)
    return Recheck(Judgement.ACCEPTED, _said(pipe, compared, found), pipe)


def pipe_words(pipe: Flowpipe) -> str:
    """What a flowpipe is called."""
    parts = f"{len(pipe.starts):,} parts" if len(pipe.starts) != 1 else "one part"
    return f"a flowpipe of {len(pipe.times):,} segments from {parts} of the initial set"


def _said(pipe: Flowpipe, compared: int, found: CheckedPipe) -> str:
    told = [
        f"{pipe_words(pipe)}, which cover it",
        f"of {compared} trajectories from there none was found outside its segments",
        f"the flow was followed again in {found.segments:,} segments, on which the formula is true",
    ]
    if found.inside < pipe.inside_until:
        told.append(f"that all stay inside the region was found until t = {rounded_down(found.inside)} only")
    return "; ".join(told)


# The initial set ------------------------------------------------------------------------------------------------------


def _refuse_uncovered(flow: Model, pipe: Flowpipe, tick: Tick) -> None:
    """An error unless every initial state in the region is in one of the boxes that the pipe starts from."""
    for lower, upper in _initial_boxes(flow):
        try:
            left = uncovered(lower, upper, pipe.starts, partial(_may_start, flow), tick)
        except Stopped as stop:
            tick()  # its own limits are those of whoever asks
            raise CannotCheck(stop.reason) from None
        if left is not None:
            raise NotAPipe("initial states are in none of the boxes that the flowpipe starts from")


def _initial_boxes(flow: Model) -> Iterator[tuple[Floats, Floats]]:
    """Boxes around the initial states in the region, rounded outward."""
    parts = list(islice(flow.initial.alternatives(), MAX_ALTERNATIVES + 1))
    for part in parts if len(parts) <= MAX_ALTERNATIVES else [flow.initial]:
        ends = [part.starts[var][0].ends for var in flow.vars]
        lower = np.array([float_below(max(low, least)) for (low, _), (least, _) in zip(ends, flow.region, strict=True)])
        upper = np.array([float_above(min(high, most)) for (_, high), (_, most) in zip(ends, flow.region, strict=True)])
        if (lower <= upper).all():
            yield lower, upper


def _may_start(flow: Model, lower: Floats, upper: Floats) -> bool:
    """Whether the constraints on initial states may be true in a box."""
    inputs: dict[Expr, Value] = {var: Range(lower[i : i + 1], upper[i : i + 1]) for i, var in enumerate(flow.vars)}
    values = evaluate([flow.resolve(condition) for condition in flow.initial.where], inputs)
    return all(bool(np.all(value.may)) for value in values if isinstance(value, Truth))


# Some trajectories ----------------------------------------------------------------------------------------------------


def _refuse_missing(question: Question, pipe: Flowpipe, tick: Tick) -> int:
    """How many trajectories were found in the recorded segments; an error where one is certainly outside all."""
    flow, count = question.model, 0
    last = min(question.claim.last_time, Fraction(pipe.until))
    for first in _first_states(flow, pipe):
        path = _enclosed(flow, first, last, tick)
        if path is not None:
            _refuse_outside(path, pipe)
            count += 1
    return count


def _first_states(flow: Model, pipe: Flowpipe) -> Iterator[dict[str, Fraction]]:
    """Centres and corners of boxes that the pipe starts from, moved into the intervals of initial values."""
    corners = list(product((0, 1), repeat=min(len(flow.state), 4)))
    boxes = max(1, MAX_TRAJECTORIES // (1 + len(corners)))
    for low, high in pipe.starts[:: max(1, len(pipe.starts) // boxes)][:boxes]:
        yield _initial(flow, 0.5 * low + 0.5 * high)
        if (low < high).any():
            for chosen in corners:
                ends = [*chosen, *[0] * (len(low) - len(chosen))]
                yield _initial(flow, np.where(ends, high, low))


def _initial(flow: Model, point: Floats) -> dict[str, Fraction]:
    starts = (flow.initial.starts[var][0] for var in flow.vars)
    return {
        variable.name: start.nearest(Fraction(float(x)))
        for variable, start, x in zip(flow.state, starts, point, strict=True)
    }


def _enclosed(flow: Model, first: dict[str, Fraction], last: Fraction, tick: Tick) -> Trajectory | None:
    """The trajectory from a state under the middle of all disturbances; None where that is none, or not constant."""
    middles: dict[Expr, Given] = {}
    for node in flow.disturbances:
        if any(isinstance(inner, Var) for inner in order(node.args)):
            return None
        low, high = exact.evaluate(node.args, {})
        if not isinstance(low, Fraction) or not isinstance(high, Fraction):
            return None
        middles[node] = (low + high) / 2
    try:
        return trajectory(flow, first, [Fraction(0), last], [middles], tick=tick)
    except NotAPath:
        return None


def _refuse_outside(path: Trajectory, pipe: Flowpipe) -> None:
    """An error where the solutions are certainly in no segment, at one of some times until they leave the region."""
    for k in range(INSTANTS + 1):
        time = path.inside_until * k / INSTANTS
        low, high = _along(pipe.directions, path.states(time)[-1]).ends
        there = (pipe.times[:, 0] <= float_above(time)) & (pipe.times[:, 1] >= float_below(time))
        outside = (low > pipe.upper[there]).any(1) | (high < pipe.lower[there]).any(1)
        if outside.all():
            where = ", ".join(f"{name} = {x:.6g}" for name, x in zip(pipe.variables, low, strict=False))
            raise NotAPipe(f"at t = {float(time):.6g} a trajectory is at {where}, which is in none of the segments")


def _along(directions: Floats, states: Sequence[Fraction | arb]) -> BallArrays:
    """What the directions are at an enclosed state."""
    found = rounded([arb(reals.rational(x)) if isinstance(x, Fraction) else x for x in states])
    return (points(directions) @ BallArrays(found.mid[:, None], found.rad[:, None]))[:, 0]


# The whole flow -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CheckedPipe:
    """What was found by following the flow again: how many segments, and until when all is inside the region."""

    segments: int
    inside: float


class PipeCheck:
    """Follows the boxes of a recorded pipe until the formula is true of each."""

    def __init__(self, question: Question, pipe: Flowpipe, tick: Tick) -> None:
        self.question, self.flow, self.pipe, self.tick = question, question.model, pipe, tick
        self.horizon = horizon_on_grid(float_above(question.claim.last_time))
        self.judge = PipeJudge(question, tick)
        self.steps = self.segments = 0

    def run(self) -> CheckedPipe:
        """The formula is true of all boxes; `CannotCheck` where that is not found, `NotAPipe` where it is false."""
        waiting = list(self.pipe.starts)
        inside = self.horizon
        for count in LEVELS:
            follower = self._follower(count)
            still = []
            for low, high in waiting:
                found = self._followed(follower, low, high)
                truth = self.judge.of(self.question.claim.normal, found)
                if truth is False:
                    raise NotAPipe("the formula is false of all trajectories from a part of the initial set")
                if truth is None:
                    still.append((low, high))
                else:
                    inside = min(inside, found.inside_until)
                    self.segments += len(found.times)
            self.steps += follower.steps
            if not still:
                return CheckedPipe(self.segments, inside)
            waiting = [half for box in still for half in self._parts(*box)]
        raise CannotCheck(
            f"the flow was followed again, and the formula stays open on {len(still)} parts of the sets found"
        )

    def _follower(self, count: int) -> DeviationFollower:
        longest = float(on_grid(np.array(self.horizon / count)))
        turn, most = MAX_TURN * LEVELS[0] / count, MAX_STEPS - self.steps
        return DeviationFollower(self.flow, self.pipe.directions, self.horizon, longest, turn, most, self.tick)

    def _followed(self, follower: DeviationFollower, lower: Floats, upper: Floats) -> Flowpipe:
        """A pipe from one box, cut by the region."""
        if follower.steps > follower.most:
            raise CannotCheck(f"the flow cannot be followed again within {MAX_STEPS:,} steps")
        return cut_pipe(self.flow, self.pipe.directions, follower.follow(lower, upper))

    def _parts(self, lower: Floats, upper: Floats) -> list[tuple[Floats, Floats]]:
        """Halves of a box, cut where it is widest compared with the region; a point stays what it is."""
        region = region_of(self.flow)
        axis = int(np.argmax((upper - lower) / (region[1] - region[0])[0]))
        middle = float(0.5 * lower[axis] + 0.5 * upper[axis])
        return halves(lower, upper, axis, middle) if lower[axis] < upper[axis] else [(lower, upper)]


def cut_pipe(flow: Model, directions: Floats, found: FollowedBox) -> Flowpipe:
    """What was found from a box as a flowpipe: segments cut by the region, and until when all is inside."""
    names = tuple(variable.name for variable in flow.state)
    n, region = len(names), region_of(flow)
    inner = [(float_above(low), float_below(high)) for low, high in flow.region]
    times = np.array([[float_below(one.start), float_above(one.end)] for one in found.segments])
    lower, upper = (np.array([getattr(one, end) for one in found.segments]) for end in ("lower", "upper"))
    stays = ((lower[:, :n] >= [low for low, _ in inner]) & (upper[:, :n] <= [high for _, high in inner])).all(1)
    until = float_below(found.until)
    inside = min([until, *times[~stays, 0]])
    meets = ((lower[:, :n] <= region[1]) & (upper[:, :n] >= region[0])).all(1)
    low, high = (np.concatenate([np.clip(end[:, :n], *region), end[:, n:]], 1)[meets] for end in (lower, upper))
    return Flowpipe(names, trailed(Template(directions), low, high), times[meets], inside, until)
