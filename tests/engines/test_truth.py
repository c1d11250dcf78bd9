"""No engine is wrong: the table of ground truth, and random closed loops against brute force."""

from __future__ import annotations

import random

import pytest

from tests.available import is_here
from tests.brute import Brute
from tests.cases import CASES, Case
from tests.loops import closed_loop, disturbed_loop, formula
from vernal.engines.check import ENGINES, ask, asked_of, find_engine, parse_formula
from vernal.evidence import confirm
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.logic.formula import Formula, Not, Quantifier
from vernal.logic.normal import quantifiers
from vernal.logic.progress import on_paths
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.system import System
from vernal.run.budget import Budget

NAMES = [
    pytest.param(entry.name, marks=pytest.mark.skipif(not is_here(entry.name), reason="pip install 'vernal[smt]'"))
    for entry in ENGINES
]
LOOPS = 200


def check_evidence(system: System, asked: Formula, result: Result) -> None:
    """A trace replays, and shows what it is said to show."""
    if result.verdict is VIOLATED:
        assert result.trace is not None
    if result.trace is None:
        return
    assert verify(system, result.trace).accepted
    if on_paths(asked) is not None and result.verdict is VIOLATED:
        assert confirm.truth(result.trace, asked, system) is False
    if quantifiers(asked) == {Quantifier.SOME} and on_paths(Not(asked)) is not None and result.verdict is HOLDS:
        assert confirm.truth(result.trace, asked, system) is True


@pytest.mark.parametrize("engine", NAMES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_engine_is_wrong(case: Case, engine: str) -> None:
    asked = parse_formula(case.task, case.formula)
    result = ask(case.task, asked, None, engine, Budget(timeout=60))
    assert result.verdict in {case.expected, UNKNOWN}, case.why
    check_evidence(case.task.system, asked, result)
    if engine in case.decided_by:
        assert result.verdict is case.expected, result.reason
    if result.verdict is UNKNOWN:
        assert result.reason


@pytest.mark.parametrize("engine", NAMES)
def test_random_loops_agree_with_brute_force(engine: str) -> None:
    decided = 0
    for seed in range(LOOPS):
        rng = random.Random(seed)
        system = closed_loop(rng)
        asked = formula(rng, system)
        result = asked_of(find_engine(engine), Question(system, asked), Budget(timeout=60))
        if result.verdict is not UNKNOWN:
            decided += 1
            assert (result.verdict is HOLDS) == Brute(system).holds(asked), f"seed {seed}: {asked}"
            check_evidence(system, asked, result)
    assert decided > LOOPS / 10, "an engine that decides nothing is tested for nothing"


def test_proofs_and_counterexamples_never_meet() -> None:
    """On systems with intervals: what bounds prove no exact trace refutes, and the other way round."""
    decided = 0
    for seed in range(LOOPS):
        rng = random.Random(seed)
        system = disturbed_loop(rng)
        asked = formula(rng, system)
        answers = [asked_of(find_engine(e), Question(system, asked), Budget(timeout=2)) for e in ("bounds", "falsify")]
        verdicts = {answer.verdict for answer in answers} - {UNKNOWN}
        assert len(verdicts) < 2, f"seed {seed}: {asked}"
        decided += len(verdicts)
        for answer in answers:
            check_evidence(system, asked, answer)
    assert decided > LOOPS / 4


def test_a_system_can_be_asked_without_a_task() -> None:
    task = CASES[0].task
    result = ask(Task(task.system), parse_formula(task, "x >= 0"), None, "auto", Budget())
    assert result.verdict is HOLDS
