"""Deliberately unsafe variants of the published models: a bad set on a trajectory is found."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from tests.portion import every
from vernal.engines.falsify.engine import Falsify
from vernal.evidence.knowledge import Counterexample
from vernal.evidence.trajectory import trajectory_truth
from vernal.logic.formula import Always, Atom, Bound, Not
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr
from vernal.run.budget import Budget
from vernal.simulate.trajectories import simulate_flow

FOLDER = Path(__file__).parents[3] / "benchmarks" / "neural-abstractions"
MODELS = ["jet", "steam", "exponential", "watertank", "nl1", "nl2"]
HALF = Fraction(1, 50)  # of the width of the bad set


@pytest.mark.parametrize("name", every(2, MODELS))
def test_a_bad_set_on_a_trajectory_is_found(name: str) -> None:
    task = vn.load(FOLDER / f"{name}.toml")
    flow = task.flow
    horizon = max(Question(flow, formula).claim.last_time for formula in task.properties.values())
    runs = simulate_flow(flow, 1, float(horizon), np.random.default_rng(1))
    there = int(0.6 * int(runs.lengths[0]))
    middle = {var: Fraction(str(round(float(runs.state[var.name][0, there]), 3))) for var in flow.vars}
    inside: list[Expr] = [part for var, x in middle.items() for part in (var >= x - HALF, var <= x + HALF)]
    formula = Always(Not(Atom(build.conj(*inside))), Bound(Fraction(0), horizon))
    known = Falsify().attempt(Question(flow, formula), Budget(60))
    assert isinstance(known, Counterexample)
    assert trajectory_truth(known.trace, formula, flow) is False
