"""No engine is wrong: the table of ground truth, and random closed loops against brute force."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from tests.available import engines_of_steps, is_here
from tests.brute import Brute
from tests.cases import CASES, NOWHERE, OFFICE, RANGED, STAIRS, Case
from tests.contract import broken_promises
from tests.loops import closed_loop, disturbed_loop, formula
from tests.portion import some
from tests.work import processor
from vernal.engines.check import ask, asked_of, find_engine, parse_formula
from vernal.evidence import confirm
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.logic.claim import Claim
from vernal.logic.formula import Formula, Not, Quantifier
from vernal.logic.normal import quantifiers
from vernal.logic.progress import on_paths
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.system import System
from vernal.run.budget import Budget

NAMES = [
    pytest.param(entry.name, marks=pytest.mark.skipif(not is_here(entry.name), reason="pip install 'vernal[smt]'"))
    for entry in engines_of_steps()
]
ENDLESS_ONLY = ("lasso", "induction")  # engines that leave bounded formulas to others
INTEGERS_ONLY = ("backward", "predicates")  # engines that leave reals to others
KEPT_ONLY = ("bmc",)  # engines that are asked whether a condition is kept, and nothing else
BOUNDED_NAMES = [name for name in NAMES if name.values[0] not in (*ENDLESS_ONLY, *INTEGERS_ONLY, *KEPT_ONLY)]
MODEST = ("ends",)  # engines that decide little, and that at once
LOOPS, MANY_LOOPS = some(60), 60  # the second for engines that decide little
LONG, SHORT = 60, 0.05  # seconds for an engine that has to decide, and for one that only must not be wrong
PROMISING = (RANGED, NOWHERE, STAIRS, OFFICE)  # models whose verdicts carry all that a verdict may carry
OF_ALL_KINDS = [name for name in BOUNDED_NAMES if name.values != ("invariants",)]  # it only proves that p is kept


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
    """The verdict, and everything that a verdict carries."""
    asked = parse_formula(case.task, case.formula)
    result = ask(
        case.task, asked, None, engine, Budget(timeout=LONG) if engine in case.decided_by else processor(SHORT)
    )
    assert not list(broken_promises(case, Claim(asked), result)), case.why
    if engine in case.decided_by:
        assert result.verdict is case.expected, result.reason


PARTS: dict[str, Callable[[Result], Result]] = {
    "its range": lambda result: replace(result, notes=()),
    "vacuous": lambda result: replace(result, vacuous=False),
    "reach": lambda result: replace(result, reach=None),
    "assurance": lambda result: replace(result, assurance=None),
    "evidence": lambda result: replace(result, evidence=None),
}
MISSING = {  # some prove nothing, some refute nothing
    "ends": ("vacuous", "evidence"),
    "falsify": ("vacuous", "reach"),
    "liveness": ("evidence",),
}


@pytest.mark.parametrize("engine", BOUNDED_NAMES)
def test_a_verdict_without_one_of_its_parts_is_noticed(engine: str) -> None:
    """The contract above can fail: take a part away, and some case of the table shows it."""
    asked = [(case, parse_formula(case.task, case.formula)) for case in CASES if case.model in PROMISING]
    told = [(case, Claim(one), ask(case.task, one, None, engine, Budget(timeout=LONG))) for case, one in asked]
    assert any(result.verdict is not UNKNOWN for _, _, result in told)
    for part, without in PARTS.items():
        noticed = any(list(broken_promises(case, claim, without(result))) for case, claim, result in told)
        assert noticed == (part not in MISSING.get(engine, ())), part


@cache
def random_question(seed: int) -> tuple[System, Formula, bool]:
    """A closed loop and a claim, and whether it is true by brute force: the same for every engine."""
    rng = random.Random(seed)
    system = closed_loop(rng)
    asked = formula(rng, system)
    return system, asked, Brute(system).holds(asked)


@pytest.mark.parametrize("engine", OF_ALL_KINDS)
def test_random_loops_agree_with_brute_force(engine: str) -> None:
    decided, loops = 0, LOOPS // 4 if engine == "liveness" else MANY_LOOPS if engine in MODEST else LOOPS
    for seed in range(loops):
        system, asked, is_true = random_question(seed)
        result = asked_of(find_engine(engine), Question(system, asked), Budget(timeout=60))
        if result.verdict is not UNKNOWN:
            decided += 1
            assert (result.verdict is HOLDS) == is_true, f"seed {seed}: {asked}"
            check_evidence(system, asked, result)
    assert decided > (0 if engine in MODEST else loops / 10), "an engine that decides nothing is tested for nothing"


def test_proofs_and_counterexamples_never_meet() -> None:
    """On systems with intervals: what bounds prove no exact trace refutes, and the other way round."""
    decided = 0
    for seed in range(LOOPS):
        rng = random.Random(seed)
        system = disturbed_loop(rng)
        asked = formula(rng, system)
        answers = [asked_of(find_engine(e), Question(system, asked), processor(1)) for e in ("bounds", "falsify")]
        verdicts = {answer.verdict for answer in answers} - {UNKNOWN}
        assert len(verdicts) < 2, f"seed {seed}: {asked}"
        decided += len(verdicts)
        for answer in answers:
            check_evidence(system, asked, answer)
    assert decided > LOOPS / 4


def test_a_system_can_be_asked_without_a_task() -> None:
    task = next(case.task for case in CASES if [one.name for one in case.task.system.state] == ["x"])
    result = ask(Task(task.system), parse_formula(task, "x >= 0"), None, "auto", Budget())
    assert result.verdict is HOLDS
