"""Formulas over flowpipes: what the judge says is true of all points of the segments, or false of all."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.portion import seeds
from vernal.engines.flow.template import chosen, directions_of, octagon
from vernal.errors import InputError
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.pipe_judge import PipeJudge, judge
from vernal.evidence.segment_truth import StateConditions
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import trailed
from vernal.logic.elaboration import formula
from vernal.logic.formula import Always, And, Atom, Bound, Eventually, Formula
from vernal.logic.question import Question
from vernal.logic.scope import Scope
from vernal.model.flow import Flow
from vernal.model.initial import Init, Span
from vernal.model.sorts import REAL
from vernal.model.system import Variable

ONE = Fraction(1)
STATE = tuple(Variable(name, REAL, -ONE, ONE) for name in ("x", "y"))
FLOW = Flow("f", STATE, Init({v.name: Span(-ONE, ONE) for v in STATE}), {"x": STATE[1].var})


def read(text: str) -> Formula:
    return formula(text, Scope({v.name: v.var for v in STATE}), discrete="[" not in text)  # a condition alone


def question(text: str) -> Question:
    return Question(FLOW, read(text))


def pipe(*segments: tuple[float, float, list[float], list[float]], inside: float = 9.0, until: float = 9.0) -> Flowpipe:
    """Boxes over spans of time."""
    times = np.array([segment[:2] for segment in segments])
    lower, upper = (np.array([segment[k] for segment in segments]) for k in (2, 3))
    return Flowpipe(("x", "y"), trailed(Template(np.eye(2)), lower, upper), times, inside, until)


MOVING = pipe(*[(k / 4, k / 4 + 0.25, [k / 8, -0.125], [k / 8 + 0.1875, 0.125]) for k in range(8)], until=2.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("G[0,2] x <= 1.0625", True),
        ("G[0,2] x < 1.0625", None),  # the last segment ends there
        ("G[0,2] !(x >= 0.4 & x <= 0.5 & y >= 0.13)", True),
        ("G[0,2] !(x >= 0.4 & x <= 0.5 & y >= 0.05)", None),
        ("G[0,1.1] x <= 0.6875", True),
        ("G[0,2.5] x <= 9", None),  # nothing is known of what comes after 2
        ("G[0,2] x <= 0.8", False),  # after 1.75 every segment is beyond
        ("F[0,2] x >= 0.875", True),
        ("F[0,2] x >= 0.9", None),
        ("F[0,2] x >= 1.1", False),
        ("F[0,1] x >= 0.7", False),
        ("F[0,2] x >= 0.875 & G[0,2] y <= 0.125", True),
        ("F[0,2] x >= 1.1 | G[0,2] y <= 0.125", True),
        ("F[0,2] x >= 1.1 | G[0,2] y <= 0", None),
        ("!F[0,2] x >= 1.1", True),
        ("x <= 0.1875", True),
        ("x >= 0.2", False),
        ("G[0,2] x*x + y*y <= 1.15", True),
        ("G[0,2] (x^2 > 1.2 -> y > 5)", True),
    ],
)
def test_boxes_over_time(text: str, expected: bool | None) -> None:
    assert judge(question(text), MOVING) is expected


def test_one_condition_may_be_asked_about_several_spans_of_time() -> None:
    low = Atom(STATE[0].var <= Fraction(1, 2))  # the same object in both parts, as in Python and in `let` properties
    early, late = Bound(Fraction(0), Fraction(1, 2)), Bound(Fraction(0), Fraction(2))
    assert judge(Question(FLOW, Always(low, early)), MOVING) is True
    for parts in ((early, late), (late, early)):
        assert judge(Question(FLOW, And(tuple(Always(low, bound) for bound in parts))), MOVING) is False
    after = Bound(Fraction(3, 2), Fraction(2))
    assert judge(Question(FLOW, And((Always(low, early), Eventually(low, after)))), MOVING) is False


def test_outside_the_region_nothing_is_reached() -> None:
    left = pipe((0.0, 1.0, [0.0, 0.0], [0.5, 0.1]), (1.0, 2.0, [0.5, 0.0], [1.0, 0.1]), inside=0.5, until=2.0)
    assert judge(question("F[0,2] x >= 0.5"), left) is None  # a trajectory may have left before it is there
    assert judge(question("G[1,2] x < 0.5"), left) is None  # perhaps none is there any more
    assert judge(question("G[0,2] x < 0.2"), left) is None
    assert judge(question("F[0,2] x >= 2"), left) is False


def test_until_when_it_is_proven() -> None:
    assert PipeJudge(question("G[0,2] x <= 0.5")).proven_until(MOVING) == 0.75
    assert PipeJudge(question("G[0,2] x <= 1.1")).proven_until(MOVING) == 2.0
    assert PipeJudge(question("F[0,2] x <= 1")).proven_until(MOVING) is None


def test_directions_are_the_axes_and_those_of_the_formula_each_once() -> None:
    rows = directions_of(question("G[0,1] (x + y <= 1 & 2*x - y >= 0 & x <= 0.5 & 3*x + 3*y >= 0)"), octagon(2))
    assert rows.tolist() == [[1, 0], [0, 1], [-1, -1], [1, -0.5], [-1, 1]]


def test_directions_by_choice() -> None:
    asked = question("G[0,1] x <= 0.5")
    assert chosen(asked, "auto").tolist() == chosen(asked, "box").tolist() == [[1, 0], [0, 1]]
    assert len(chosen(asked, "octagon")) == len(chosen(asked, "auto", careful=True)) == 4
    assert chosen(asked, "x + 2*y; y").tolist() == [[1, 0], [0, 1], [0.5, 1]]
    for wrong, why in (("x*y", "linear"), ("z", "unknown name"), ("1", "linear"), ("", "--directions")):
        with pytest.raises(InputError, match=why):
            chosen(asked, wrong)


def test_a_sum_is_bounded_along_its_direction() -> None:
    directions = directions_of(question("G[0,1] x + y <= 0"))
    bounds = np.array([[-1.0, -1.0, 0.25]]), np.array([[1.0, 1.0, 0.5]])
    sets = Flowpipe(("x", "y"), trailed(Template(directions), *bounds), np.array([[0.0, 1.0]]), 1.0, 1.0)
    assert judge(question("G[0,1] x + y <= -0.25"), sets) is True
    assert judge(question("G[0,1] x + y <= -0.3"), sets) is None
    assert judge(question("G[0,1] x + y >= 0"), sets) is False


@pytest.mark.parametrize("seed", seeds(20))
def test_random_octagons_against_their_points(seed: int) -> None:
    generator = np.random.default_rng(seed)
    directions = np.vstack([np.eye(2), octagon(2)])
    points = generator.uniform(-1, 1, (6, 40, 2)) * generator.uniform(0.02, 0.6, (6, 1, 1))
    points = points + generator.uniform(-0.5, 0.5, (6, 1, 2))
    along = points @ directions.T
    times = np.stack([np.arange(6.0), np.arange(6.0) + 1], axis=1)
    bounds = along.min(axis=1), along.max(axis=1)
    sets = Flowpipe(("x", "y"), trailed(Template(directions), *bounds), times, 6.0, 6.0)
    a, b, c = (round(float(value), 2) for value in generator.uniform(-0.4, 0.4, 3))
    text = f"x + y <= {a} | !(x >= {b} & y < {c} & x - y > 0.1)"
    x, y = points[..., 0], points[..., 1]
    truth = (x + y <= a) | ~((x >= b) & (y < c) & (x - y > 0.1))
    decided = StateConditions(FLOW).over(read(text), sets)
    assert not (decided.true & decided.false).any()
    assert truth[decided.true].all()
    assert not truth[decided.false].any()
    assert decided.true.any() or decided.false.any() or seed


def test_a_corner_that_boxes_reach_and_octagons_do_not() -> None:
    directions = np.vstack([np.eye(2), octagon(2)])
    corner = "!(x >= 0.4 & y >= 0.4)"
    bounds = np.array([[0.0, 0.0, 0.0, -0.5]]), np.array([[0.5, 0.5, 0.7, 0.5]])
    sets = Flowpipe(("x", "y"), trailed(Template(directions), *bounds), np.array([[0.0, 1.0]]), 1.0, 1.0)
    assert judge(question(f"G[0,1] {corner}"), sets) is True
    boxes = pipe((0.0, 1.0, [0.0, 0.0], [0.5, 0.5]))
    assert judge(question(f"G[0,1] {corner}"), boxes) is None


def test_each_box_is_judged_as_if_it_were_alone() -> None:
    good = (0.0, 2.0, [0.0, 0.0], [0.4, 1.0])
    half = (0.0, 1.0, [0.0, 0.0], [0.4, 1.0])
    wide = (1.0, 2.0, [0.0, 0.0], [0.9, 1.0])
    bad = (0.5, 2.0, [0.6, 0.0], [0.9, 1.0])
    whole = pipe(good, half, wide, half, bad, half)
    whole = replace(whole, sets=replace(whole.sets, trail=np.array([0, 1, 1, 2, 2, 3])))
    found = PipeJudge(question("G[0,2] x <= 0.5")).by_box(whole, np.array([2.0, 2.0, 2.0, 1.0]))
    assert found is not None
    kept, fails = found
    assert kept.tolist() == [True, False, False, False]  # the last one is not followed to the end
    assert fails.tolist() == [False, False, True, False]
    assert PipeJudge(question("F[0,2] x <= 0.5")).by_box(whole, np.full(4, 2.0)) is None
