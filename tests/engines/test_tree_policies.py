"""Loops with random tree ensembles as policies: no engine contradicts brute force."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest

from tests.brute import Brute
from tests.formats.samples import save
from tests.systems import make
from tests.tree_samples import COMPARE, classifier, random_tree
from vernal.engines.check import asked_of, find_engine, parse_formula
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Verdict
from vernal.formats.networks import read_network
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.agent import make_agent
from vernal.model.expr import Role
from vernal.model.system import System
from vernal.run.budget import Budget

ACTIONS = 3
CLAIMS = ["G[0,3] (x <= 0.75)", "F[0,3] (x > 0.5)", "X[2] (x > y)", "(x <= 1) U[0,3] (y < 0)", "EF[0,3] (x > 0.75)"]
ENGINES = ("auto", "paths", "explicit", "bounds", "milp")


def loop(seed: int, folder: Path) -> System:
    """A plant that a forest pushes; many of its states are at thresholds."""
    rng = random.Random(seed)
    trees = [random_tree(rng, 3, 2, ACTIONS, modes=list(COMPARE) if seed % 2 else ["BRANCH_LEQ"]) for _ in range(3)]
    network = read_network(save(classifier(trees, 2, ACTIONS), folder))
    agent = make_agent("a", [network], [build.var("x"), build.var("y")])
    action = build.var("a", agent.action.sort, role=Role.ACTION)
    push = build.switch(action, [Fraction(0), Fraction(1), None], [Fraction(-1, 2), Fraction(0), Fraction(1, 2)])
    following = {"x": build.var("x") / 2 + push, "y": build.var("y") - build.choose(0, Fraction(1, 2))}
    return make({"x": {-1, 0, 1}, "y": {0, 1}}, following, agents=[agent])


@pytest.mark.parametrize("seed", range(5))
def test_no_engine_is_wrong_about_trees(seed: int, tmp_path: Path) -> None:
    system = loop(seed, tmp_path)
    formula = parse_formula(Task(system, {}), CLAIMS[seed])
    expected = HOLDS if Brute(system, formula).holds(formula) else VIOLATED
    found: dict[str, Verdict] = {}
    for name in ENGINES:
        result = asked_of(find_engine(name), Question(system, formula), Budget(60))
        found[name] = result.verdict
        assert result.verdict in {expected, UNKNOWN}, name
    assert found["paths"] is found["explicit"] is expected
