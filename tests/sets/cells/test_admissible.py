"""Rows of the claim pulled back: proofs of loops of many dimensions, each checked again by other code."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.forever.linear import stable_loop, task_of
from tests.cases import PLANES, read
from tests.portion import ALL
from tests.work import processor
from vernal.engines.check import asked_of, find_engine, parse_formula
from vernal.evidence.invariant import Invariant
from vernal.evidence.judgement import Judgement
from vernal.evidence.recheck import recheck
from vernal.evidence.result import HOLDS, UNKNOWN, Result
from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.claim import Claim
from vernal.logic.question import Question
from vernal.model import build as b
from vernal.model.expr import Expr
from vernal.sets.cells.admissible import NAME
from vernal.sets.cells.claim_rows import margins
from vernal.sets.cells.kinks import taken_apart

HEAD_OF_TURN = """
[state]
x = "real"
y = "real"
p = "real"
[init]
x = "[-1, 1]"
y = "[-1, 1]"
p = "[0.5, 1]"
[environment.next]
"""
KINDS = {  # two components that no box holds, and one beside them
    "an offset": 'x = "0.9*(0.6*x - 0.8*y) + 1"\ny = "0.9*(0.8*x + 0.6*y)"\np = "p / 2"',
    "a disturbance": 'x = "0.9*(0.6*x - 0.8*y) + between(-0.1, 0.1)"\ny = "0.9*(0.8*x + 0.6*y)"\np = "p / 2"',
    "a choice of numbers": 'x = "0.9*(0.6*x - 0.8*y) + choose(0, 0.1)"\ny = "0.9*(0.8*x + 0.6*y)"\np = "p / 2"',
    "a choice of two matrices": ('x = "choose(0.6, 0.8)*x - 0.3*y"\ny = "0.3*x + choose(0.5, 0.7)*y"\np = "p / 2"'),
    "a constant": 'x = "0.9*(0.6*x - 0.8*y) + p"\ny = "0.9*(0.8*x + 0.6*y)"\np = "p"',
    "a square": 'x = "0.9*(0.6*x - 0.8*y) + 0.02*x^2"\ny = "0.9*(0.8*x + 0.6*y)"\np = "p / 2"',
    "a limit that is not met": 'x = "clip(0.9*(0.6*x - 0.8*y), -3, 3)"\ny = "0.9*(0.8*x + 0.6*y)"\np = "p / 2"',
    "a limit that is met": 'x = "x + 0.1*y"\ny = "y + 0.1*clip(-1.5*x - 2*y, -1, 1)"\np = "p / 2"',
}


def proven(question: Question) -> Result:
    """What the engine proves, and other code accepts."""
    result = asked_of(find_engine("invariants"), question, processor(20))
    assert result.verdict is HOLDS, result.reason
    assert isinstance(result.evidence, Invariant)
    again = recheck(question.system, Claim(question.formula), result.evidence)
    assert again.judgement is Judgement.ACCEPTED, again.reason
    return result


@pytest.mark.parametrize("dimensions", [3, 6, 10])
@pytest.mark.parametrize("every", [False, True], ids=["a row", "every component"])
def test_stable_linear_loops_are_proven(dimensions: int, every: bool) -> None:
    task = task_of(stable_loop(dimensions, 7, every=every))
    result = proven(Question(task.system, task.properties["bounded"]))
    assert dimensions < 6 or result.statistics["method"] == NAME


SHORT = KINDS if ALL else {name: text for name, text in KINDS.items() if name != "a limit that is met"}  # takes 13 s


@pytest.mark.parametrize("following", SHORT.values(), ids=SHORT)
def test_loops_of_every_kind_are_proven(following: str) -> None:
    task = read(HEAD_OF_TURN + following)
    proven(Question(task.system, parse_formula(task, "G (x + y + p <= 20)")))


def test_a_claim_that_fails_late_is_not_proven() -> None:
    """The sum grows to 3.78 in one step, and 3.77 is claimed."""
    task = read(PLANES)
    result = asked_of(
        find_engine("invariants"), Question(task.system, parse_formula(task, "G (a + c + e <= 3.77)")), processor(3)
    )
    assert result.verdict is UNKNOWN


x, y = b.var("x"), b.var("y")


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        (b.compare("<=", x, 1), 1),
        (b.compare("<=", b.absolute(x), 1), 2),
        (b.compare("<", b.add(b.absolute(x), b.absolute(y)), 1), 4),
        (b.conj(b.compare("<=", b.maximum(x, y), 1), b.compare("<=", 0, b.minimum(x, y))), 4),
        (b.disj(b.compare("<=", x, 1), b.compare("<=", y, 1)), 0),
        (b.compare("<=", 1, b.absolute(x)), 1),  # not convex: stays as it is
    ],
)
def test_a_convex_condition_is_taken_apart(condition: Expr, count: int) -> None:
    assert len(margins(condition)) == count


@pytest.mark.parametrize("written", ["min(x, y, 1)", "max(x, y, -1)", "abs(x) - y", "relu(x - y)", "clip(x, -0.5, y)"])
def test_kinks_written_as_comparisons_have_the_same_values(written: str) -> None:
    task = read(HEAD_OF_TURN + f'x = "{written}"\ny = "y"\np = "p"')
    step = task.system.step
    before = [step.next_state[0]]
    after = taken_apart(before)
    assert after is not None
    points = np.random.default_rng(0).uniform(-2, 2, (3, 200))
    inputs: dict[Expr, Floats] = dict(zip(step.inputs, points, strict=True))
    (one,), (other,) = concrete.evaluate(before, inputs), concrete.evaluate(after, inputs)
    assert np.array_equal(one, other)
