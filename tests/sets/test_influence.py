"""What is cut first, and what a round of halving knows about its boxes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tests.engines.test_nonlinear import pendulum
from tests.systems import make
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.interval_bounds import Plain
from vernal.interpret.value_sets import Range
from vernal.logic.formula import Atom, Formula, Next
from vernal.logic.progress import on_paths
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.initial import Box
from vernal.run.budget import Budget
from vernal.sets.halving import Halving
from vernal.sets.influence import open_shares, shares
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.pieces.batches import Pieces
from vernal.sets.pieces.exploration import Explorer
from vernal.sets.pieces.rounds import Round
from vernal.sets.pieces.trails import Trails
from vernal.simulate.runs import simulate

X, Y = build.var("x"), build.var("y")
WIDE = (Fraction(0), Fraction(1))


def two_boxes() -> dict[Expr, Range]:
    """x and y in [-1, 1], and then x in [2, 3]."""
    return {
        X: Range(np.array([-1.0, 2.0]), np.array([1.0, 3.0])),
        Y: Range(np.array([-1.0, -1.0]), np.array([1.0, 1.0])),
    }


def test_who_keeps_a_comparison_open() -> None:
    linear = Linear(two_boxes())
    found = shares(build.compare("<", build.const(0), 3 * X + Y), linear, np.arange(2), 2)
    assert np.allclose(found, [[0.75, 0.25], [0.0, 0.0]])
    assert np.allclose(open_shares(linear, np.array([1, 0])), found[::-1])


def test_who_keeps_a_choice_open() -> None:
    scores = build.concat(X, build.relu(X), 2 * Y)
    linear = Linear(two_boxes())
    found = shares(build.argmax(scores), linear, np.arange(2), 2)
    assert found[0, 1] > found[0, 0] > 0
    assert np.isclose(found[0].sum(), 1)


def test_intervals_know_no_influence() -> None:
    found = shares(build.compare("<", X, Y), Plain(two_boxes()), np.arange(2), 2)
    assert not found.any()


def test_the_heaviest_component_is_cut_and_weighs_half_afterwards() -> None:
    box = Box({X: (WIDE,), Y: (WIDE,)})
    halving = Halving([box])
    halves = halving.parts([box], [{(Y, 0): 1.0}])
    assert [half.ends[X] for half in halves] == [(WIDE,), (WIDE,)]
    quarters = halving.parts([box], [{(Y, 0): 1.0, (X, 0): 0.7}], few=4)
    assert len({(part.ends[X], part.ends[Y]) for part in quarters}) == 4
    assert all(part.ends[v][0][1] - part.ends[v][0][0] == Fraction(1, 2) for part in quarters for v in (X, Y))


def test_without_weights_the_widest_in_proportion_is_cut() -> None:
    box = Box({X: (WIDE,), Y: ((Fraction(0), Fraction(100)),)})
    halving = Halving([box])
    first = halving.parts([box], [{}])[0]
    second = halving.parts([first], [{}])[0]
    assert second.ends == {X: ((Fraction(0), Fraction(1, 2)),), Y: ((Fraction(0), Fraction(50)),)}
    assert halving.parts([Box({X: ((Fraction(0), Fraction(0)),), Y: ((Fraction(1), Fraction(1)),)})], [{}], few=16)


def round_of(count: int) -> tuple[Round, Pieces]:
    """A round of some boxes, with the one piece that each of them starts as."""
    system = make({"x": WIDE}, {"x": X})
    boxes = list(initial_boxes(system).boxes) * count
    trails = Trails(Question(system, Next(Atom(build.compare("<", X, build.const(2))), 1, None)), boxes)
    roots = np.array([trails.root(number, [(X, 0)]) for number in range(count)])
    zero, one = np.zeros((count, 1)), np.ones((count, 1))
    return Round(trails, count), Pieces(zero, one, np.ones((1, 1, 1)), zero, zero, trails.extend(roots, (), ()))


def test_the_margin_is_that_of_closed_boxes() -> None:
    learned, pieces = round_of(3)
    learned.keeps(pieces, np.array([0.5, -1.0, 0.25]))
    learned.leave_open(pieces.trail[1:2])
    assert learned.margin() == 0.25
    assert len(learned.open_boxes()) == len(learned.weights()) == 1


def test_a_box_is_open_with_the_trail_that_stands_for_it() -> None:
    learned, pieces = round_of(3)
    learned.merged((pieces.trail[:1], pieces.trail[1:2]))
    learned.merged((pieces.trail[1:2], pieces.trail[2:3]))
    learned.leave_open(pieces.trail[:1])
    assert learned.open.all()
    assert len(learned.pursued(pieces, 10)) == 0


def test_a_box_that_becomes_too_many_pieces_is_left_open() -> None:
    learned, pieces = round_of(2)
    many = pieces.rows(np.array([0, 0, 0, 1]))
    assert learned.pursued(many, 2).trail.tolist() == [pieces.trail[1]]
    assert learned.open.tolist() == [True, False]


def test_a_margin_after_refinement_is_certified() -> None:
    system = pendulum("argmax")
    formula: Formula = Next(Atom(build.compare("<", build.var("theta"), build.const(Fraction("0.08")))), 8, None)
    path = on_paths(formula)
    assert path is not None
    outcome = Explorer(Question(system, formula), path, initial_boxes(system).boxes, Budget(timeout=20)).run(8)
    assert not outcome.open
    assert int(outcome.statistics["refined"]) > 0
    runs = simulate(system, 4000, 8, np.random.default_rng(1), corners=True)
    assert 0 < outcome.margin <= 0.08 - float(runs.state["theta"][:, 8].max()) + 1e-12
