"""Claims about states by programs: both encodings say what brute force says, with ties, dead ends and intervals."""

from __future__ import annotations

import random

import pytest

from tests.brute import Brute
from tests.loops import closed_loop
from tests.loops import formula as random_formula
from tests.systems import chooser, make
from vernal.engines.check import asked_of, parse_formula
from vernal.engines.options import Encoding, MilpOptions
from vernal.engines.programs.milp import Milp
from vernal.engines.programs.trees import asks_states
from vernal.evidence.kinds import Tree
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result, Verdict
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.system import System
from vernal.run.budget import Budget

SEEDS = [seed for seed in range(40) if seed % 3 != 2]


def asked(system: System, text: str, encoding: Encoding, *, tighten: bool = True) -> Result:
    question = Question(system, parse_formula(Task(system, {}), text))
    return asked_of(Milp(MilpOptions(encoding=encoding, tighten=tighten)), question, Budget())


@pytest.mark.parametrize("encoding", Encoding)
def test_random_claims_are_what_brute_force_says(encoding: Encoding) -> None:
    verdicts: list[Verdict] = []
    for seed in SEEDS:
        rng = random.Random(seed)
        system = closed_loop(rng)
        question = Question(system, random_formula(rng, system))
        if question.claim.horizon is None or not asks_states(question.claim):
            continue
        expected = HOLDS if Brute(system, question.formula).holds(question.formula) else VIOLATED
        result = asked_of(Milp(MilpOptions(encoding=encoding, tighten=seed % 2 == 0)), question, Budget(60))
        assert result.verdict in {expected, UNKNOWN}, f"seed {seed}: {question.formula}"
        verdicts.append(result.verdict)
    assert {HOLDS, VIOLATED} <= set(verdicts)
    assert verdicts.count(UNKNOWN) * 4 < len(verdicts)


@pytest.mark.parametrize("encoding", Encoding)
@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("AX EX (x <= 2.5)", HOLDS),  # it turns round at 0, wherever it is
        ("EX AX (x != 0)", VIOLATED),  # from -1 it comes to 0, or goes on from -1 to 0 at last
        ("AX (x < 0) | AX (x > 0)", VIOLATED),  # at 0 the scores tie: it may go either way
    ],
)
def test_ties_are_ways_to_go(claim: str, expected: Verdict, encoding: Encoding) -> None:
    result = asked(chooser(), claim, encoding)
    assert result.verdict is expected
    if expected is VIOLATED:
        assert isinstance(result.evidence, Tree)
        assert len(result.trace) == 1


@pytest.mark.parametrize("encoding", Encoding)
def test_intervals_of_starts(encoding: Encoding) -> None:
    """x moves by 0 or 1: after the best first move all second moves are at most 2 above."""
    x = build.var("x")
    system = make({"x": (0, 1)}, {"x": x + build.choose(0, 1)})
    assert asked(system, "EX AX (x <= 2)", encoding).verdict is HOLDS
    assert asked(system, "EX AX (x < 2)", encoding).verdict is VIOLATED  # from 1, exactly
    assert asked(system, "AX EX (x <= 2)", encoding, tighten=False).verdict is HOLDS


def test_what_has_no_finite_copies_is_refused() -> None:
    drift = make({"x": 0}, {"x": build.var("x") + build.between(-1, 1)})
    result = asked(drift, "AX EX (x == 0)", Encoding.MONOLITHIC)
    assert result.verdict is UNKNOWN
    assert result.reason is not None
    assert "drawn from an interval" in result.reason
    assert asked(drift, "AX (x <= 1.5) | AX (x < -2)", Encoding.MONOLITHIC).verdict is HOLDS
    many = make({"x": 0}, {"x": build.var("x") + build.choose(*range(9))})
    result = asked(many, "AX[9] (x == 0) | AX[9] (x > 0)", Encoding.MONOLITHIC)
    assert result.verdict is VIOLATED  # some successors of its own, no copies
    result = asked(many, "EX[9] (x == 0) & AX (x >= 0)", Encoding.MONOLITHIC)
    assert result.reason is not None
    assert "20,000 steps" in result.reason


def test_a_limit_ends_it() -> None:
    many = make({"x": 0}, {"x": build.var("x") + build.choose(*range(9))})
    question = Question(many, parse_formula(Task(many, {}), "EX[4] (x == 0) & AX (x >= 0)"))
    result = asked_of(Milp(), question, Budget(0.0001))
    assert result.verdict is UNKNOWN
    assert "timeout" in str(result.reason)
