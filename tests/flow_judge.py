"""Is an answer about a flow wrong? Thousands of trajectories, followed in floats, know.

A claim that holds is kept by every one of them, and they stay in the flowpipe; a trajectory that is said to violate a
claim starts in an initial state, moves as the flow does, and does violate it. What is closer than floats can tell, or
than the samples of a trajectory are to each other, accuses nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from tests.flow_runs import FlowRuns, Integrator, reliable
from tests.wild_flows import FlowCase
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.result import HOLDS, VIOLATED, Result
from vernal.evidence.trace import Enclosure, Trace, TraceValue
from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Array, Floats, Mask
from vernal.logic.claim import position_expression
from vernal.logic.formula import Always, And, Bound, Eventually, Formula, Or
from vernal.logic.margin import atom_margin
from vernal.logic.normal import nnf, order
from vernal.model.expr import Expr
from vernal.model.flow import Flow

TOLERANCE = 1e-6  # of floats
EDGE = 1e-5  # a trajectory this near to the edge of the region may have left it between two samples
LEG_STEPS = 200  # of the integration between two times of a trace
APART = 1e-3  # how far a trace may be from it: where solutions branch, their enclosures are wide


@dataclass(frozen=True)
class FlowJudge:
    """One question, and what simulation knows of it."""

    case: FlowCase
    runs: int = 2000
    steps: int = 600

    @property
    def until(self) -> Fraction:
        """The last time that is asked about."""
        bounds = [node.bound for node in order(self.case.formula) if isinstance(node, Always | Eventually)]
        return max((bound.upper for bound in bounds if bound.upper is not None), default=Fraction(0))

    @cached_property
    def simulated(self) -> FlowRuns:
        """Trajectories under extreme disturbances."""
        return reliable(self.case.flow, float(self.until), runs=self.runs, steps=self.steps, seed=self.case.seed)

    @cached_property
    def is_unsafe(self) -> bool:
        """Whether a simulated trajectory violates the claim, clearly."""
        _, high = robustness(self.case.flow, self.case.formula, self.simulated)
        return bool((high < -TOLERANCE).any())

    def problems(self, results: Mapping[str, Result]) -> Iterator[tuple[str, str]]:
        """Every engine that is wrong, and why."""
        said = {result.verdict for result in results.values()}
        for name, result in results.items():
            why = self.problem(result)
            if why is None and {HOLDS, VIOLATED} <= said and result.verdict in (HOLDS, VIOLATED):
                why = f"{result.verdict.value}, and another engine says the contrary"
            if why is not None:
                yield name, why

    def problem(self, result: Result) -> str | None:
        """What is wrong with an answer, if anything."""
        outside = None if result.flowpipe is None else self.outside(result.flowpipe)
        if outside is not None:
            return outside
        if result.verdict is HOLDS and self.is_unsafe:
            return "holds, but a simulated trajectory violates it"
        if result.verdict is VIOLATED:
            return self.unshown(result.trace)
        return None

    def outside(self, pipe: Flowpipe) -> str | None:
        """Whether a trajectory is outside the pipe, or has left the region too early."""
        surely = cut_near_edge(self.case.flow, self.simulated)
        for k, time in enumerate(surely.times.tolist()):
            if time > pipe.until:
                break
            if not inside(pipe, time, surely.states[surely.inside[:, k], k]).all():
                return f"a simulated trajectory is outside the flowpipe at time {time:g}"
        early = self.simulated.times < pipe.inside_until - TOLERANCE
        stays = bool(self.simulated.inside[:, early].all())
        return None if stays else f"a simulated trajectory leaves the region before {pipe.inside_until:g}"

    def unshown(self, trace: Trace | None) -> str | None:
        """Whether a trajectory fails to show that the claim is violated."""
        if trace is None or trace_times(trace) is None:
            return "violated, without a trajectory"
        first = {name: _exact(value) for name, value in trace.steps[0].state.items()}
        if not starts_in(self.case.flow, first):
            return f"violated from {first}, which is no initial state"
        followed, apart = walked(self.case.flow, trace, self.until)
        if apart > APART:
            return f"the trajectory is {apart:.2g} away from one that is followed in floats"
        low, _ = robustness(self.case.flow, self.case.formula, followed)
        return "the trajectory does not violate the claim" if (low > TOLERANCE).any() else None


# Trajectories ---------------------------------------------------------------------------------------------------------


def cut_near_edge(flow: Flow, made: FlowRuns) -> FlowRuns:
    """The same runs up to where they come close to the edge from within."""
    lower, upper = np.array([[float(end) for end in ends] for ends in flow.region]).T
    with np.errstate(invalid="ignore"):
        close = ((made.states < lower + EDGE) | (made.states > upper - EDGE)).any(axis=2)
    close &= np.cumsum(~close, axis=1) > 0  # one that starts at the edge is followed
    ended = np.cumsum(close, axis=1) > 0
    return FlowRuns(made.times, np.where(ended[:, :, None], np.nan, made.states))


def inside(pipe: Flowpipe, time: float, states: Floats) -> Mask:
    """Whether states are in a segment of this time, but for the rounding of a simulation."""
    there = (pipe.times[:, 0] <= time) & (time <= pipe.times[:, 1])
    values = states @ pipe.directions.T
    low, high = pipe.lower[there] - TOLERANCE, pipe.upper[there] + TOLERANCE
    within = (values[:, None] >= low) & (values[:, None] <= high)
    return np.asarray(np.any(np.all(within, axis=2), axis=1))


def trace_times(trace: Trace) -> tuple[Fraction, ...] | None:
    """The times of the steps of a trajectory; None of a path."""
    times: tuple[Fraction, ...] | None = getattr(trace, "times", None)
    return times


def starts_in(flow: Flow, first: Mapping[str, Fraction]) -> bool:
    """Whether a state is an initial one; conditions in floats."""
    if not all(flow.init.starts[one.name].contains(first[one.name]) for one in flow.state):
        return False
    point: dict[Expr, Array] = {one.var: np.array([float(first[one.name])]) for one in flow.state}
    return all(bool(value[0]) for value in concrete.evaluate([flow.resolve(one) for one in flow.init.where], point))


def walked(flow: Flow, trace: Trace, until: Fraction) -> tuple[FlowRuns, float]:
    """The trajectory of a trace followed in floats, and how far the trace is from it at most."""
    times = trace_times(trace)
    assert times is not None
    here = np.array([[float(_exact(trace.steps[0].state[one.name])) for one in flow.state]])
    states, stamps, apart = [here], [np.zeros(1)], 0.0
    for k, (begin, end) in enumerate(pairwise(times)):
        said = trace.steps[k].disturbances
        values = {node: float(_exact(said[node.occurrence.name])) for node in flow.disturbances}
        leg = Integrator(flow, float(end - begin), LEG_STEPS).run_under(here, values)
        states.append(leg.states[0, 1:])
        stamps.append(float(begin) + leg.times[1:])
        here = leg.states[:, -1]
        if np.isnan(here).any():
            break
        recorded = [_exact(trace.steps[k + 1].state[one.name]) for one in flow.state]
        apart = max(apart, float(np.abs(here[0] - np.array([float(value) for value in recorded])).max()))
    return FlowRuns(np.concatenate(stamps), np.concatenate(states)[None]), apart


def _exact(value: TraceValue) -> Fraction:
    assert not isinstance(value, tuple)
    return value.middle if isinstance(value, Enclosure) else value


# Robustness -----------------------------------------------------------------------------------------------------------


def robustness(flow: Flow, formula: Formula, runs: FlowRuns) -> tuple[Floats, Floats]:
    """How far each run is from changing the truth of a formula: between these two, since it is known at samples only.

    Positive where the formula is true, negative where it is false. Where a run is close to the edge of the region, it
    may have left it and come back between two samples; then it has ended.
    """
    return _robust(flow, nnf(formula, total=True), cut_near_edge(flow, runs), runs)


def _robust(flow: Flow, formula: Formula, surely: FlowRuns, perhaps: FlowRuns) -> tuple[Floats, Floats]:
    """Over runs up to where they surely are inside, and up to where they perhaps are."""
    match formula:
        case Always(arg, bound):
            values, change = _values(flow, arg, bound, perhaps)
            return _least(values) - change, _least(_values(flow, arg, bound, surely)[0])
        case Eventually(arg, bound):
            values, change = _values(flow, arg, bound, perhaps)
            return -_least(-_values(flow, arg, bound, surely)[0]), -_least(-values) + change
        case And(args) if _timed(formula):
            lows, highs = zip(*(_robust(flow, arg, surely, perhaps) for arg in args), strict=True)
            return np.min(lows, axis=0), np.min(highs, axis=0)
        case Or(args) if _timed(formula):
            lows, highs = zip(*(_robust(flow, arg, surely, perhaps) for arg in args), strict=True)
            return np.max(lows, axis=0), np.max(highs, axis=0)
    return _robust(flow, Always(formula, Bound(Fraction(0), Fraction(0))), surely, perhaps)


def _least(values: Floats) -> Floats:
    """The least of what is there, for each run; infinite where nothing is."""
    return np.asarray(np.min(np.where(np.isnan(values), np.inf, values), axis=1, initial=np.inf))


def _timed(formula: Formula) -> bool:
    return any(isinstance(node, Always | Eventually) for node in order(formula))


def _values(flow: Flow, condition: Formula, bound: Bound, runs: FlowRuns) -> tuple[Floats, Floats]:
    """The margin of a condition at the samples in a bound, and how much it changes from one to the next, at most."""
    assert bound.upper is not None
    during = (runs.times >= float(bound.lower) - 1e-12) & (runs.times <= float(bound.upper) + 1e-12)
    points = runs.states[:, during]
    flat = points.reshape(-1, len(flow.state))
    inputs: dict[Expr, Array] = {var: flat[:, place] for place, var in enumerate(flow.vars)}
    with np.errstate(all="ignore"):
        (margin,) = concrete.evaluate([atom_margin(flow.resolve(position_expression(condition)))], inputs)
        values = np.broadcast_to(margin, len(flat)).reshape(points.shape[:2])
        values = np.where(np.isnan(points[:, :, 0]), np.nan, values)
        steps = np.abs(np.diff(values, axis=1))
    change = np.max(np.where(np.isnan(steps), 0, steps), axis=1, initial=0.0)
    return values, change
