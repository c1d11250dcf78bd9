"""Memories that explode, saturate, or mix numbers of very different size; and a hundred random loops of each kind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.never_wrong import Run
from tests.available import engines_of_steps
from tests.cases import FALSIFY, SMOOTH_BOUNDS, SMOOTH_FALSIFY, Case
from tests.engines.test_truth import check_evidence
from tests.judge import Judge, instance
from tests.portion import pairs, some
from tests.work import processor
from vernal.engines.check import ask, parse_formula
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED
from vernal.logic.formula import Quantifier
from vernal.logic.normal import quantifiers
from vernal.logic.task import Task
from vernal.run.budget import Budget

WILD = """
[state]
x = "real"
[init]
x = "[-1, 1]"
[agents.agent]
policy = "wild.onnx"
observe = ["x"]
act = "raw"
memory = "[0, 1]"
remember = "m"
[environment.next]
x = "0.5 * x + agent"
"""

STILL = WILD.replace("[-1, 1]", "[0, 0]").replace('memory = "[0, 1]"', "memory = 0")

APART = """
[state]
x = "real"
[init]
x = "[0, 1]"
[agents.agent]
policy = "apart.onnx"
observe = ["x"]
act = "raw"
remember = "m"
"""

HARD = """
[state]
x = "real"
[init]
x = "[0.5, 1]"
[agents.agent]
policy = "hard.onnx"
observe = ["x"]
act = "raw"
remember = "m"
[environment.next]
x = "0.5 * x + 0.5 * agent"
"""

HOLD = HARD.replace("hard.onnx", "held.onnx").replace("remember", 'memory = "[-0.5, 0.5]"\nremember')

PROOF = ("auto", "bounds", "paths")
CASES = [
    Case(WILD, "G[0,50] (abs(x) <= 10^40)", HOLDS, "large, but finite: less than 2.5^50 times 2", ("auto", "bounds")),
    Case(WILD, "G[0,50] (x <= 1000)", VIOLATED, "from 1 it grows by more than half in every step", FALSIFY),
    Case(WILD, "G[0,50] (m[0] >= 0 & m[1] >= 0)", HOLDS, "both are ReLUs", ("auto", "bounds")),
    Case(STILL, "G[0,50] (x == 0 & m[0] == 0)", HOLDS, "a single path, on which nothing moves", PROOF),
    Case(STILL, "F[0,50] (x != 0)", VIOLATED, "a single path, on which nothing moves", FALSIFY),
    Case(APART, "agent <= 1", HOLDS, "nothing is remembered yet; 1e6 and 1e-6 are floats, a little less than 1", PROOF),
    Case(APART, "X (agent <= 1.0000011)", HOLDS, "1 and a millionth", PROOF),
    Case(APART, "X (agent <= 1.0000009)", VIOLATED, "1 and a millionth: within the tolerance of solvers", FALSIFY),
    Case(APART, "X (m[0] <= 999999.9)", VIOLATED, "a million", FALSIFY),
    Case(HARD, "X (m[0] <= 1)", HOLDS, "a hyperbolic tangent", SMOOTH_BOUNDS),
    Case(HARD, "X (m[0] < 1)", HOLDS, "tanh(10000) is 1 in every float, but not over the reals"),
    Case(HARD, "X (m[0] >= 1)", VIOLATED, "the same"),
    Case(HARD, "G[0,50] (x > 0.49)", HOLDS, "half of x and nearly a half", SMOOTH_BOUNDS),
    Case(HARD, "X (x < 0.99)", VIOLATED, "from 1 nearly to 1", SMOOTH_FALSIFY),
    Case(HOLD, "G[0,3] (abs(m[0]) <= 0.50001)", HOLDS, "all but exp(-500) is kept", SMOOTH_BOUNDS),
    Case(HOLD, "G[0,3] (m[0] < 0.4999)", VIOLATED, "it starts there", SMOOTH_FALSIFY),
    Case(HOLD, "X[3] (m[0] < 0.4999)", VIOLATED, "and is there still", SMOOTH_FALSIFY),
]
NAMES = [entry.name for entry in engines_of_steps()]
DECIDING = [(case, name) for case in CASES for name in NAMES if name in case.decided_by]
CASES_AND_ENGINES = [*DECIDING, *(pair for pair in pairs(2, CASES, NAMES) if pair not in DECIDING)]


@pytest.mark.parametrize(("case", "engine"), CASES_AND_ENGINES, ids=str)
def test_no_engine_is_wrong_or_overflows(case: Case, engine: str) -> None:
    asked = parse_formula(case.task, case.formula)
    must = engine in case.decided_by
    result = ask(case.task, asked, None, engine, Budget(timeout=60) if must else processor(0.05))
    assert result.verdict in ({case.expected} if must else {case.expected, UNKNOWN}), (case.why, result.reason)
    check_evidence(case.task.system, asked, result)


@pytest.mark.parametrize("family", ["recurrent", "nonlinear"])
def test_no_answer_about_a_random_loop_is_refuted_by_samples(family: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(["bounds", "paths", "auto"], timeout=0.2)
    for seed in range(5000, 5000 + some(12, 6)):
        run.ask(instance(seed, family))
    assert not any(column.wrong for column in run.columns.values()), capsys.readouterr().out
    answers = run.columns["auto"].verdicts
    assert answers[HOLDS.value], "who proves nothing is tested for nothing"
    assert answers[VIOLATED.value], "who refutes nothing is tested for nothing"


def test_the_judge_notices_what_is_wrong() -> None:
    """Violations called proofs, and margins a little too large: samples find most of them."""
    caught = []
    for seed in range(20):
        question = instance(seed, "recurrent")
        told = ask(Task(question.system), question.formula, None, "auto", processor(0.3))
        judge = Judge(question)
        if told.verdict is VIOLATED and Quantifier.SOME not in quantifiers(question.formula):
            wrong = replace(told, verdict=HOLDS, evidence=None, margin=None)
            caught.append(any(judge.problems({"auto": wrong})))
            assert told.margin is None or any(judge.problems({"auto": replace(told, margin=1.01 * told.margin - 1e-3)}))
    assert caught
    assert sum(caught) >= 0.75 * len(caught)
