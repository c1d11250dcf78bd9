"""Claims for all time in seconds, of random flows and loops, and a judge that sees what is wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import vernal as vn
from benchmarks.never_wrong_endless import judged, problems
from tests.endless_flows import FAMILIES, endless_case, forged
from tests.portion import seeds
from vernal.evidence.recurrent_set import RecurrentSet

SWITCHING = 6  # a thermostat, of which a claim holds; proven in a second


@pytest.mark.parametrize("seed", seeds(9, 3))
def test_nobody_is_wrong_about_what_goes_on_for_ever(seed: int) -> None:
    assert not list(judged(2 * seed, 0.5, Counter()))


def test_every_family_has_claims_that_are_true_and_claims_that_are_false() -> None:
    cases = [endless_case(seed) for seed in range(len(FAMILIES))]
    assert {case.family.split()[0] for case in cases} == {"settling", "sampled", "cycling", "creeping", "switching"}
    case = cases[SWITCHING]
    assert (case.false().margins(case.paths(case.corners(case.seed), case.time, case.seed)) < 0).any()


def test_the_judge_sees_what_is_wrong() -> None:
    case = endless_case(SWITCHING)
    result = vn.check(case.system, case.formula, engine="flowpipe", timeout=60)
    assert result.verdict is vn.HOLDS
    assert not list(problems(case, result, 0.3, Counter()))
    assert case.false().problem(result) == "holds, but a simulated path breaks it"
    found = result.evidence
    assert isinstance(found, RecurrentSet)
    elsewhere = replace(found, boxes=found.boxes + np.array([0.5, 0.0]))
    assert "in none of the boxes" in str(case.set_problem(elsewhere))
    assert len(list(forged(found, np.random.default_rng(0)))) >= 6
