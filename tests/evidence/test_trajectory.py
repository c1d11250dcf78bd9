"""Formulas along enclosed trajectories: false only where they are false of all solutions, inside the region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest

from vernal.evidence.trajectory import Trajectory, again, refuted, trajectory, trajectory_truth
from vernal.evidence.walk import NotAPath
from vernal.logic.formula import Always, And, Atom, Bound, Eventually, Formula, Iff, Implies, Not, Or
from vernal.model import build, functions
from vernal.model.expr import Expr, Role
from vernal.model.flow import Flow
from vernal.model.initial import Init, Span
from vernal.model.system import Variable

X, Y = build.var("x"), build.var("y")
D = build.between(build.const(-1), build.const(1), "d")


def flow_of(rates: Sequence[Expr], region: Sequence[tuple[object, object]], **lets: Expr) -> Flow:
    """From anywhere in the region."""
    ends = [(Fraction(str(low)), Fraction(str(high))) for low, high in region]
    names = ("x", "y")[: len(rates)]
    state = tuple(Variable(name, X.sort, low, high) for name, (low, high) in zip(names, ends, strict=True))
    starts = {name: Span(low, high) for name, (low, high) in zip(names, ends, strict=True)}
    return Flow("flow", state, Init(starts), dict(zip(names, rates, strict=True)), lets)


def always(lower: object, upper: object, condition: Expr) -> Formula:
    return Always(Atom(condition), Bound(Fraction(str(lower)), Fraction(str(upper))))


def eventually(lower: object, upper: object, condition: Expr) -> Formula:
    return Eventually(Atom(condition), Bound(Fraction(str(lower)), Fraction(str(upper))))


def path(
    flow: Flow, first: Mapping[str, object], until: object, *given: Mapping[Expr, Fraction], count: int = 8
) -> Trajectory:
    """Recorded at so many times; the disturbances change in even steps."""
    end = Fraction(str(until))
    times = [end * k / count for k in range(count + 1)]
    disturbances = [given[k * len(given) // count] if given else {} for k in range(count)]
    return trajectory(flow, {name: Fraction(str(x)) for name, x in first.items()}, times, disturbances)


GROWTH = flow_of([X], [(0, 10)])
ONE = flow_of([build.const(1)], [(-1, 2)])
TURN = flow_of([Y, -X], [(-2, 2), (-2, 2)])

CASES: list[tuple[Trajectory, Formula, bool | None]] = [
    (path(GROWTH, {"x": 1}, 1), always(0, 1, Fraction("2.718281") > X), False),
    (path(GROWTH, {"x": 1}, 1), always(0, 1, Fraction("2.718282") > X), True),
    (path(GROWTH, {"x": 1}, 1), eventually(0, 1, Fraction("2.718282") < X), False),
    (path(GROWTH, {"x": 1}, 1), eventually(0, 1, Fraction("2.718281") < X), True),
    (path(GROWTH, {"x": 1}, Fraction(1, 2)), always(0, 1, X < 2), None),  # not followed far enough
    (path(GROWTH, {"x": 1}, Fraction(1, 2)), always(0, 1, Fraction(3, 2) > X), False),
    (path(ONE, {"x": 0}, 1), always(0, 1, X < 1), False),  # at time 1 alone; this solution is exact
    (path(ONE, {"x": 0}, 1), always(0, 1, X <= 1), None),  # true by nothing
    (path(ONE, {"x": 0}, 1), always(0, 0, X <= 0), True),  # the first state is exact
    (path(ONE, {"x": 0}, 1), Atom(X < 0), False),
    # What lies beyond the region does not count.
    (path(ONE, {"x": 0}, 5, count=50), always(0, 5, X < 3), True),
    (path(ONE, {"x": 0}, 5, count=50), always(3, 5, X < -7), True),
    (path(ONE, {"x": 0}, 5, count=50), eventually(0, 5, X > 3), False),
    (path(ONE, {"x": 0}, 5, count=50), eventually(3, 5, X > 0), False),
    (path(ONE, {"x": 0}, 5, count=50), always(0, 5, Fraction(19, 10) > X), False),
    (path(ONE, {"x": 0}, 5, count=50), always(0, 5, X <= 2), None),  # when it leaves is not known exactly
    # Boolean combinations
    (path(TURN, {"x": 1, "y": 0}, 3), Or((always(0, 3, X > 0), always(0, 3, Y > -0.9))), False),
    (path(TURN, {"x": 1, "y": 0}, 3), always(0, 3, Y > -1), None),  # touched between the times,
    (path(TURN, {"x": 1, "y": 0}, 3), Or((always(0, 3, X > 0), eventually(0, 3, X < 0))), True),
    (path(TURN, {"x": 1, "y": 0}, 3), And((always(0, 3, X < 2), eventually(0, 3, X > 2))), False),
    (path(TURN, {"x": 1, "y": 0}, 3), Implies(Atom(X > 0), eventually(1, 2, X > 1)), False),
    (path(TURN, {"x": 1, "y": 0}, 3), Iff(always(0, 3, X < 2), Not(eventually(0, 3, X > 2))), True),
    (path(TURN, {"x": 1, "y": 0}, 3), always(0, 3, build.conj(X * X + Y * Y < 2, X < 1)), False),
    # Disturbances
    (path(flow_of([D], [(-2, 2)]), {"x": 0}, 1, {D: Fraction(1)}), always(0, 1, Fraction(9, 10) > X), False),
    (path(flow_of([D], [(-2, 2)]), {"x": 0}, 1, {D: Fraction(1)}, {D: Fraction(-1)}), always(0, 1, X < 0.4), False),
    (path(flow_of([D], [(-2, 2)]), {"x": 0}, 1, {D: Fraction(1)}, {D: Fraction(-1)}), always(0, 1, X < 0.6), True),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_ground_truth(number: int) -> None:
    made, formula, expected = CASES[number]
    assert made.truth(formula) is expected


def test_lets_are_filled_in() -> None:
    flow = flow_of([X], [(0, 10)], twice=2 * X)
    twice = build.var("twice", X.sort, (), role=Role.LET)
    assert path(flow, {"x": 1}, 1).truth(always(0, 1, twice < 5)) is False
    assert path(flow, {"x": 1}, 1).truth(always(0, 1, twice < 6)) is True


def test_where_there_are_several_solutions_nothing_is_refuted() -> None:
    """x' = y, y' = sqrt(x) from (0, 0): one solution rests, another one follows t^4/144."""
    flow = flow_of([Y, functions.sqrt(X)], [(0, 3), (-3, 3)])
    for formula in (always(0, 1, Fraction(1, 200) >= X), eventually(0, 1, Fraction(1, 200) <= X)):
        assert path(flow, {"x": 0, "y": 0}, 1).truth(formula) is None
    assert path(flow, {"x": Fraction(1, 1000), "y": 0}, 1).truth(always(0, 1, Fraction(1, 200) >= X)) is False


def test_until_when_it_is_inside() -> None:
    made = path(ONE, {"x": 0}, 5, count=50)
    assert Fraction(199, 100) < made.inside_until <= 2
    assert made.outside_from is not None
    assert made.outside_from > 2
    back = path(flow_of([-Y, X], [(-2, Fraction(1, 2)), (-2, 2)]), {"x": 0, "y": -1}, 6)  # sin t: out at pi/6
    assert Fraction(52, 100) < back.inside_until <= Fraction(524, 1000)
    assert back.truth(always(0, 6, Fraction(1, 2) > Y)) is True  # and what is beyond is never followed
    assert back.truth(eventually(2, 6, Y > 0)) is False


def test_evidence_ends_where_it_decides() -> None:
    made = refuted(path(GROWTH, {"x": 1}, 2), always(0, 2, X < 2))
    assert made is not None
    assert made.times[-1] == Fraction(3, 4)
    assert made.truth(always(0, 2, X < 2)) is False
    assert refuted(path(GROWTH, {"x": 1}, 2), always(0, 2, X < 9)) is None
    trace = made.trace
    assert trace.times == tuple(Fraction(k, 4) for k in range(4))
    assert len(trace) == 4
    assert trace.steps[0].state == {"x": 1}
    assert trajectory_truth(trace, always(0, 2, X < 2), GROWTH) is False
    assert trajectory_truth(trace, always(0, 2, X < 3), GROWTH) is None
    assert again(trace, GROWTH).trace == trace


def test_evidence_shows_that_it_has_left() -> None:
    """x' = x^2 from 1 leaves [0, 9] before time 1: what it would take to see that is recorded."""
    flow, claim = flow_of([X * X], [(0, 9)]), eventually(2, 3, X >= 1)
    made = refuted(path(flow, {"x": 1}, 3, count=6), claim)
    assert made is not None
    assert trajectory_truth(made.trace, claim, flow) is False
    assert again(made.trace, flow).trace == made.trace


def test_it_begins_in_an_initial_state() -> None:
    with pytest.raises(NotAPath, match="11 is not an initial value"):
        path(GROWTH, {"x": 11}, 1)


def test_it_begins_in_the_region() -> None:
    flow = flow_of([X], [(0, 1)]).starting(Init({"x": Span(Fraction(0), Fraction(2))}))
    with pytest.raises(NotAPath, match="outside the region"):
        path(flow, {"x": 2}, 1)
