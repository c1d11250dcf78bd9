"""Kinks followed side by side: of recurrent ReLU policies that have to remember, too."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.judge import Judge, instance
from tests.observer_loops import observer_loop
from tests.portion import ALL, seeds
from tests.work import processor
from vernal.engines.check import asked_of, find_engine
from vernal.engines.invariants.engine import SIDES
from vernal.evidence.invariant import Invariant
from vernal.evidence.judgement import Judgement
from vernal.evidence.recheck import recheck
from vernal.evidence.result import HOLDS
from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.claim import Claim
from vernal.logic.question import Question
from vernal.model import build as b
from vernal.model import expr as e
from vernal.model.expr import Expr, Matrix
from vernal.model.graph import order
from vernal.sets.cells.kinks import MAX_KINKS, taken_apart
from vernal.simulate.runs import simulate

x = b.var("x", shape=(3,))


def layers(*sizes: int) -> Expr:
    """A random ReLU network of layers of these sizes."""
    rng = np.random.default_rng(0)
    node: Expr = x
    for size in sizes:
        weight, bias = rng.uniform(-1, 1, (size, node.size)), rng.uniform(-1, 1, size)
        node = b.relu(b.affine(node, Matrix(weight), Matrix(bias)))
    return node


def values(node: Expr, points: Floats) -> Floats:
    """What it is at each of the points."""
    (found,) = concrete.evaluate([node], {x: points})
    return np.asarray(found, dtype=np.float64)


POINTS = np.random.default_rng(1).uniform(-2, 2, (300, 3))


@pytest.mark.parametrize("sizes", [(4,), (4, 4), (2, 3, 2)])
def test_layers_of_kinks_have_the_same_values(sizes: tuple[int, ...]) -> None:
    before = layers(*sizes)
    found = taken_apart([before])
    assert found is not None
    assert not any(isinstance(node, e.Relu) for node in order(found))
    assert np.allclose(values(found[0], POINTS), values(before, POINTS), rtol=0, atol=1e-12)


def test_of_many_kinks_those_that_runs_meet_are_taken_apart() -> None:
    """Of forty neurons most have one sign in the runs; without runs nobody knows which."""
    before = layers(20, 20)
    small = 0.2 * POINTS
    assert taken_apart([before]) is None
    found = taken_apart([before], lambda gaps: [values(gap, small) for gap in gaps])
    assert found is not None
    assert sum(isinstance(node, e.If) for node in order(found)) == MAX_KINKS
    assert np.allclose(values(found[0], POINTS), values(before, POINTS), rtol=0, atol=1e-12)


def test_an_agent_that_remembers_by_relus_is_proven() -> None:
    """Three filters of what was seen, in pairs of neurons and in neurons with a bias; other code accepts the set."""
    question = instance(14, "observers")
    result = asked_of(find_engine("invariants"), Question(question.system, question.formula), processor(20))
    assert result.verdict is HOLDS, result.reason
    assert str(result.statistics["method"]).endswith(SIDES)
    assert isinstance(result.evidence, Invariant)
    checked = recheck(question.system, Claim(question.formula), result.evidence)
    assert checked.judgement is Judgement.ACCEPTED, checked.reason


def test_observers_are_stable() -> None:
    """The loops that the judge draws come to rest."""
    for seed in range(5):
        runs = simulate(observer_loop(random.Random(seed)), 20, 200, np.random.default_rng(0), corners=True)
        assert np.abs(runs.state["x0"][:, -1]).max() < 1e-3


@pytest.mark.parametrize("seed", seeds(30 if ALL else 12, 4))
def test_random_observers(seed: int) -> None:
    question = instance(seed, "observers")
    result = asked_of(find_engine("invariants"), Question(question.system, question.formula), processor(1))
    assert not list(Judge(question).problems({"invariants": result}))
