"""Winners that are put off: what a box knows of them holds in its parts, and no verdict changes sides."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.systems import layer, make
from vernal.engines.bounds.engine import Bounds
from vernal.evidence.knowledge import Known, Proof
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.interval_bounds import Plain
from vernal.interpret.numbers.rounding import Mask
from vernal.interpret.value_sets import Range
from vernal.logic.formula import Atom, Formula, Next
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.agent import make_agent
from vernal.model.expr import Argmax, Function
from vernal.model.initial import Box
from vernal.model.network import Network, network_input
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.sets.halving import Halving
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import Levels
from vernal.sets.winners import Doubt, OpenWinners
from vernal.simulate.runs import simulate

X, Y = build.var("x"), build.var("y")
FIRST, SECOND, THIRD = (build.argmax(build.concat(X, Y), name=name) for name in "abc")


def drifting(seed: int) -> System:
    """Four numbers that turn and are pushed one of three ways by a small random policy."""
    rng = np.random.default_rng(seed)
    seen = network_input(4)
    hidden = build.relu(layer(seen, rng.normal(size=(6, 4)).round(2).tolist(), rng.normal(size=6).round(2).tolist()))
    scores = layer(hidden, rng.normal(size=(3, 6)).round(2).tolist(), rng.normal(size=3).round(2).tolist())
    names = ["a", "b", "c", "d"]
    variables = [build.var(name) for name in names]
    agent = make_agent("push", [Network("policy", seen, scores)], variables, "argmax")
    push = build.switch(agent.var, [Fraction(0), Fraction(1), None], [Fraction(-1, 5), 0, Fraction(1, 5)])
    a, b, c, d = variables
    tenth = Fraction(1, 10)
    moves = {
        "a": a + tenth * b + push,
        "b": b - tenth * build.apply(Function.SIN, a),
        "c": c - tenth * d,
        "d": d + tenth * push,
    }
    return make(dict.fromkeys(names, ("-0.4", "0.4")), moves, agents=[agent])


def below(limit: float, steps: int) -> Formula:
    return Next(Atom(build.compare("<", build.var("a"), build.const(Fraction(str(limit))))), steps)


# How much scores lack -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high", "expected"), [(-1, 3, 0.25), (-1, 1, 0.5), (-3, 1, 0.25), (1, 2, np.inf)])
def test_a_winner_lacks_a_part_of_the_range_of_the_difference(low: float, high: float, expected: float) -> None:
    """x against 0, for x in [low, high]."""
    node = build.argmax(build.concat(X, build.const(0)))
    linear = Linear({X: Range(np.array([0.5, low]), np.array([1.0, high]))})
    linear.need(node)
    assert isinstance(node, Argmax)
    assert linear.lack(node, np.array([1, 0])).tolist() == pytest.approx([expected, np.inf])


def test_of_three_scores_the_nearest_counts() -> None:
    """x - 0 is in [-1, 3] and x - y in [-2.5, 3.5]."""
    node = build.argmax(build.concat(X, build.const(0), Y))
    linear = Linear({X: Range(np.array([-1.0]), np.array([3.0])), Y: Range(np.array([-0.5]), np.array([1.5]))})
    linear.need(node)
    assert isinstance(node, Argmax)
    assert linear.lack(node, np.array([0])).tolist() == pytest.approx([0.25])


def test_intervals_know_of_no_lack() -> None:
    """So everything that is open is asked again."""
    node = build.argmax(build.concat(X, Y))
    linear = Plain({X: Range(np.array([0.0]), np.array([1.0])), Y: Range(np.array([0.0]), np.array([1.0]))})
    linear.need(node)
    assert isinstance(node, Argmax)
    assert linear.lack(node, np.array([0])).tolist() == [0.0]


def test_what_is_supposed_is_not_looked_at() -> None:
    """The winner is taken as known, and what depends on it is bounded accordingly; the scores are never computed."""
    scores = build.concat(X, Y)
    node = build.argmax(scores)
    moved = build.switch(node, [Fraction(0), None], [X, 10 + Y])
    linear = Linear({X: Range(np.zeros(2), np.ones(2)), Y: Range(np.zeros(2), np.ones(2))})
    assert isinstance(node, Argmax)
    linear.suppose(node, np.array([[True, False], [True, True]]))
    x = linear.range(moved)
    assert x.lower.tolist() == pytest.approx([0, 0])
    assert x.upper.tolist() == pytest.approx([1, 11])
    assert scores not in linear.values


# What is put off ------------------------------------------------------------------------------------------------------


def test_hopeless_winners_are_put_off_until_cuts_may_have_helped() -> None:
    both = np.ones((2, 2), dtype=bool)
    one = np.array([[True, False], [True, False]])
    winners = OpenWinners(6)
    found = {
        FIRST: Doubt(both, np.array([0.4, 0.4])),
        SECOND: Doubt(both, np.array([0.25, 0.45])),
        THIRD: Doubt(one, np.full(2, np.inf)),
    }
    assert all(isinstance(node, Argmax) for node in found)
    assert winners.put_off() == {}
    winners.follow(lambda: found, [0, 1], [0, 0, 1, 1])  # type: ignore[arg-type, return-value]
    assert set(winners.put_off()) == {SECOND, THIRD}  # the first open one is always asked
    winners.follow(dict, [0, 1], [0, 0, 1, 1])
    assert set(winners.put_off()) == {SECOND, THIRD}
    winners.follow(dict, [0, 1], [0, 0, 1, 1])
    assert set(winners.put_off()) == {THIRD}  # 0.25 of the range may be gone after three cuts; one winner stays one


def test_parts_know_what_the_box_they_come_from_knows() -> None:
    winners = OpenWinners(4)
    possible = np.array([[True, False], [False, True], [True, True]])
    found = {FIRST: Doubt(possible, np.array([np.inf, np.inf, 0.4]))}
    winners.follow(lambda: found, [0, 2], [0, 0, 1])  # type: ignore[arg-type, return-value]
    (doubt,) = winners.doubts.values()
    assert doubt.possible.tolist() == [[True, False], [True, False], [True, True]]


def test_nothing_is_put_off_after_cuts_that_may_have_settled_it() -> None:
    """One component in sixteen parts: the winners are not even looked at."""

    def never() -> dict[Argmax, Doubt]:
        raise AssertionError

    winners = OpenWinners(1)
    winners.follow(never, [0], [0] * 16)
    assert winners.put_off() == {}


def test_a_part_is_told_with_the_box_it_was_cut_from() -> None:
    """Also beside boxes that cannot be cut: a point, and one with a single component left."""
    zero, one = Fraction(0), Fraction(1)
    boxes = [
        Box({X: ((zero, zero),), Y: ((one, one),)}),
        Box({X: ((zero, one),), Y: ((zero, one),)}),
        Box({X: ((one, one),), Y: ((zero, one),)}),
    ]
    parts = Halving(boxes).parts_and_wholes(boxes, [{}, {}, {}], few=16)
    assert len(parts) > len(boxes)
    for part, whole in parts:
        for var, ((low, high),) in part.ends.items():
            ((least, most),) = boxes[whole].ends[var]
            assert least <= low <= high <= most


# Never wrong ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_winners_of_a_box_hold_in_its_parts(seed: int) -> None:
    """Everything put off in four parts: the actions of random runs are possible, their margins within the bounds."""
    system, steps = drifting(seed), 4
    boxes, formula = list(initial_boxes(system).boxes), below(0.5, steps)
    levels = Levels(system, boxes, Budget(), steps)
    levels.evaluate(formula, 0)
    found = levels.doubts([0])
    assert len(found) == steps
    parts = Halving(boxes).parts_and_wholes(boxes, levels.weights([0]), 4)
    winners = OpenWinners(4)
    winners.follow(lambda: found, [0], [whole for _, whole in parts])
    known = {node: doubt.possible for node, doubt in winners.doubts.items()}
    again = Levels(system, [box for box, _ in parts], Budget(), steps, winners=known)
    rng = np.random.default_rng(seed)
    for index, (box, _) in enumerate(parts):
        part = system.cut(box)
        assert part is not None
        runs = simulate(part, 500, steps, rng, corners=True)
        for t, possible in enumerate(known.values()):
            assert possible[index][runs.actions["push"][:, t].astype(int)].all()
        assert again.margin(formula, index) <= 0.5 - runs.state["a"][:, steps].max() + 1e-9
    assert again.doubts([0]) == {}


@pytest.mark.parametrize("seed", range(4))
def test_no_proof_is_wrong_where_winners_are_put_off(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits around what random runs reach: beyond it, nothing may be proven, and some room is enough for a proof."""
    system, steps, counts = drifting(seed), 5, list[int]()
    asked = OpenWinners.put_off

    def counted(self: OpenWinners) -> dict[Argmax, Mask]:
        counts.append(len(made := asked(self)))
        return made

    monkeypatch.setattr(OpenWinners, "put_off", counted)
    reached = float(simulate(system, 5000, steps, np.random.default_rng(seed), corners=True).state["a"][:, steps].max())

    def ask(limit: float) -> Known:
        return Bounds(most=32).attempt(Question(system, below(round(limit, 3), steps)), Budget(timeout=60))

    assert not isinstance(ask(reached - 0.02), Proof)
    assert isinstance(ask(reached + 0.5), Proof)
    assert max(counts) > 0
