"""Falsified flows: ground truth of what fails, evidence that is confirmed, and nothing refuted that may hold."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from time import process_time

import numpy as np
import pytest

import vernal as vn
from vernal.engines.falsify.engine import Falsify
from vernal.engines.falsify.trajectories import TRAJECTORY_PATIENCE, apart
from vernal.errors import Stopped
from vernal.evidence.knowledge import Counterexample, Open
from vernal.evidence.trace import Enclosure, TraceValue
from vernal.evidence.trajectory import trajectory_truth
from vernal.logic.formula import Always, And, Atom, Bound, Eventually, Formula, Implies, Not, Or
from vernal.logic.question import Question
from vernal.model import build, functions
from vernal.model.expr import Expr
from vernal.model.flow import Flow
from vernal.model.initial import Init, Span
from vernal.model.system import Variable
from vernal.run.budget import Budget
from vernal.simulate.runs import Plan

X, Y = build.var("x"), build.var("y")
D = build.between(build.const(-1), build.const(1), "d")
Ends = tuple[object, object]


def number(value: object) -> Fraction:
    return Fraction(str(value))


def flow_of(rates: Sequence[Expr], init: Sequence[Ends], region: Sequence[Ends], where: Sequence[Expr] = ()) -> Flow:
    names = ("x", "y")[: len(rates)]
    variables = tuple(Variable(n, X.sort, number(a), number(b)) for n, (a, b) in zip(names, region, strict=True))
    starts = {n: Span(number(a), number(b)) for n, (a, b) in zip(names, init, strict=True)}
    return Flow("flow", variables, Init(starts, tuple(where)), dict(zip(names, rates, strict=True)))


def always(lower: object, upper: object, condition: Expr) -> Formula:
    return Always(Atom(condition), Bound(number(lower), number(upper)))


def eventually(lower: object, upper: object, condition: Expr) -> Formula:
    return Eventually(Atom(condition), Bound(number(lower), number(upper)))


GROWTH = flow_of([X], [(0, 1)], [(-1, 10)])
DECAY = flow_of([-X], [(1, 2)], [(-1, 10)])
ONE = flow_of([build.const(1)], [(0, "0.5")], [(-1, 2)])
TURN = flow_of([Y, -X], [("0.9", 1), ("-0.1", "0.1")], [(-2, 2), (-2, 2)])
LOGISTIC = flow_of([X * (1 - X)], [("0.1", "0.2")], [(0, 1)])
JET = flow_of(
    [-Y - Fraction(3, 2) * X**2 - Fraction(1, 2) * X**3 - Fraction(1, 10), 3 * X - Y],
    [("0.45", "0.5"), ("-0.6", "-0.55")],
    [(-1, 1), (-1, 1)],
)
PUSHED = flow_of([D], [("-0.1", "0.1")], [(-5, 5)])
ROOT = flow_of([Y, functions.sqrt(X)], [(0, "0.01"), (0, 0)], [(0, 3), (-3, 3)])
AT_ROOT = flow_of([Y, functions.sqrt(X)], [(0, 0), (0, 0)], [(0, 3), (-3, 3)])
BAD_JET = build.conj(Fraction("0.46") >= X, Fraction("0.4") <= X, Fraction("-0.4") <= Y, Fraction("-0.3") >= Y)

FAIL: dict[str, tuple[Flow, Formula]] = {
    "growth": (GROWTH, always(0, 1, Fraction("2.7") > X)),
    "growth, a little": (GROWTH, always(0, 1, Fraction("2.7182") > X)),
    "decay never gets there": (DECAY, eventually(0, 1, Fraction("0.7") > X)),
    "decay, in a window": (DECAY, eventually(1, 2, Fraction("0.2") > X)),
    "threshold": (ONE, always(0, 1, Fraction("1.4") > X)),
    "leaves the region before": (ONE, eventually(0, 5, Fraction("2.001") < X)),
    "just inside": (ONE, always(0, 5, Fraction("1.99") > X)),
    "rotation": (TURN, always(0, 3, Fraction("-0.99") < Y)),
    "rotation, of two one fails": (TURN, And((always(0, 3, X < 2), always(0, 3, X > 0)))),
    "rotation, both fail": (TURN, Or((always(0, 3, X > 0), eventually(0, 3, Y > 1)))),
    "implied": (TURN, Implies(Atom(X > 0), eventually(1, 2, Fraction("0.9") < X))),
    "negated": (TURN, Not(always(0, 1, X < 2))),
    "logistic": (LOGISTIC, always(0, 5, Fraction("0.9") > X)),
    "jet": (JET, always(0, "1.5", build.negate(BAD_JET))),
    "pushed": (PUSHED, always(0, 1, X < 1)),
    "pushed away and back": (PUSHED, Or((always(0, 2, Fraction("0.8") > X), always(1, 2, Fraction("0.5") < X)))),
    "pushed, never there": (PUSHED, eventually(0, 1, X > 0)),
    "square root from above": (ROOT, always(0, 1, Fraction("0.05") >= X)),
    "at the beginning": (GROWTH, Atom(X < 1)),
}

HOLD: dict[str, tuple[Flow, Formula]] = {
    "growth by a hair": (GROWTH, always(0, 1, Fraction("2.718281828459046") > X)),
    "decay": (DECAY, eventually(0, 1, Fraction("0.735758882342885") > X)),
    "at the threshold": (ONE, always(0, 1, Fraction("1.5") >= X)),
    "beyond the region": (ONE, always(0, 5, Fraction("2.001") > X)),
    "rotation by nothing": (TURN, always(0, 3, Fraction("1.01") >= X * X + Y * Y)),
    "logistic": (LOGISTIC, always(0, 5, X < 1)),
    "jet": (JET, always(0, "1.5", build.negate(build.conj(Fraction("0.3") <= X, X <= 0.35, Y >= 0.5, Y <= 0.6)))),
    "pushed as far as it goes": (PUSHED, always(0, 1, Fraction("1.1") >= X)),
    "one of several solutions": (AT_ROOT, always(0, 1, Fraction("0.001") >= X)),
    "another of them": (
        AT_ROOT,
        eventually(0, 1, Fraction("0.001") < X),
    ),  # false of one, so that it may be called violated
}


def exactly(value: TraceValue) -> Fraction:
    assert isinstance(value, Fraction)
    return value


def lowest(value: TraceValue) -> Fraction:
    return value.lower if isinstance(value, Enclosure) else exactly(value)


def ask(flow: Flow, formula: Formula, generations: int = TRAJECTORY_PATIENCE.generations) -> Counterexample | Open:
    known = Falsify(generations).attempt(Question(flow, formula), Budget(60.0))
    assert isinstance(known, Counterexample | Open)
    return known


@pytest.mark.parametrize("name", FAIL)
def test_what_fails_is_refuted(name: str) -> None:
    flow, formula = FAIL[name]
    known = ask(flow, formula)
    assert isinstance(known, Counterexample), known.reason
    trace = known.trace
    assert trace.times is not None
    assert trace.times[0] == 0
    assert len(trace.times) == len(trace)
    assert trace.times[-1] <= Question(flow, formula).claim.last_time
    first = {name: exactly(value) for name, value in trace.steps[0].state.items()}
    assert flow.initial.contains({var: (first[var.name],) for var in flow.vars})
    assert trajectory_truth(trace, formula, flow) is False


@pytest.mark.parametrize("name", HOLD)
def test_what_may_hold_is_not(name: str) -> None:
    known = ask(*HOLD[name], generations=1)
    assert isinstance(known, Open)
    assert known.statistics["trajectories"]


def test_evidence_is_tight_and_short() -> None:
    known = ask(*FAIL["growth"])
    assert isinstance(known, Counterexample)
    start, end = known.trace.steps[0].state["x"], known.trace.steps[-1].state["x"]
    assert isinstance(start, Fraction)
    assert start.denominator <= 10**6
    assert isinstance(end, Enclosure)
    assert 0 < end.upper - end.lower < Fraction(1, 10**15)


def test_constraints_are_kept() -> None:
    flow = flow_of([X, Y], [(0, 1), (0, 1)], [(-9, 9), (-9, 9)], [X + Y <= 1])
    assert isinstance(ask(flow, always(0, 1, Fraction("2.72") > X + Y)), Open)
    found = ask(flow, always(0, 1, Fraction("2.71") > X + Y))
    assert isinstance(found, Counterexample)
    first = found.trace.steps[0].state
    assert exactly(first["x"]) + exactly(first["y"]) <= 1


def test_disturbances_are_recorded_within_their_interval() -> None:
    known = ask(*FAIL["pushed away and back"])
    assert isinstance(known, Counterexample)
    given = [exactly(step.disturbances["d"]) for step in known.trace.steps[:-1]]
    assert all(-1 <= value <= 1 for value in given)
    assert len(set(given)) > 1
    assert not known.trace.steps[-1].disturbances


def test_a_point_is_followed_once() -> None:
    flow = flow_of([X], [(1, 1)], [(0, 10)])
    known = ask(flow, always(0, 1, X < 2))
    assert isinstance(known, Counterexample)
    assert known.statistics["trajectories"] == 1


def test_time_is_kept() -> None:
    with pytest.raises(Stopped):
        Falsify().attempt(Question(*HOLD["jet"]), Budget(0.001))


def test_random_fields_agree_with_their_enclosures() -> None:
    """Cubic fields: whatever is refuted is seen to fail in floats, too."""
    rng = np.random.default_rng(3)
    refuted = 0
    for _ in range(4):
        terms = [X, Y, X * Y, X**2, Y**2, X**3, build.const(1)]
        rates = [
            build.add(*(Fraction(int(c), 4) * t for c, t in zip(row, terms, strict=True)))
            for row in rng.integers(-4, 5, (2, 7))
        ]
        flow = flow_of(rates, [("-0.5", "0.5")] * 2, [(-2, 2)] * 2)
        limit = Fraction(int(rng.integers(0, 8)), 4)
        known = ask(flow, always(0, 1, limit >= X + Y))
        if isinstance(known, Counterexample):
            refuted += 1
            assert sum(lowest(value) for value in known.trace.steps[-1].state.values()) > limit
    assert refuted


def test_trajectories_that_are_enclosed_begin_far_apart() -> None:
    plan = Plan({X: np.array([0.0, 0.1, 0.2, 1.0, 0.5]), Y: np.array([0.0, 0.0, 0.0, 10.0, 0.0])}, {})
    assert list(apart(plan, np.array([1, 0, 2, 4, 3]), 3)) == [1, 3, 4]
    assert list(apart(plan, np.array([2]), 3)) == [2]
    assert list(apart(plan, np.array([], dtype=np.intp), 3)) == []


@pytest.mark.parametrize("formula", ["G[0,3000] (x <= 0.9)", "G (x <= 0.9)", "G[0,3000] (x <= 2 & x >= -0.9)"])
def test_what_fails_near_the_start_is_looked_at_first(formula: str) -> None:
    """Of thousands of turns, the first decides."""
    turning = vn.Flow(
        state={"x": vn.real(-2, 2), "y": vn.real(-2, 2)},
        init={"x": vn.interval(1, "1.1"), "y": 0},
        rates=lambda s: {"x": s.y, "y": -s.x},
    )
    began = process_time()
    result = vn.check(turning, formula, engine="falsify", timeout=60)
    assert result.verdict is vn.VIOLATED
    assert result.time is not None
    assert result.time < 4
    assert process_time() - began < 10
