"""Lines in the place of relays: loops that push to and fro are proven for all time, and other code accepts the sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.cartpole.__main__ import HERE as CARTPOLE
from tests.cases import RELAY, read
from tests.judge import Judge, instance
from tests.portion import ALL, seeds
from tests.work import processor
from vernal.engines.check import asked_of, find_engine, parse_formula
from vernal.evidence.invariant import Invariant
from vernal.evidence.judgement import Judgement
from vernal.evidence.recheck import recheck
from vernal.evidence.result import HOLDS, UNKNOWN, Result
from vernal.formats.onnx.writer import write_onnx
from vernal.formats.task.blueprint import load
from vernal.logic.claim import Claim
from vernal.logic.question import Question
from vernal.model import build as b
from vernal.model.expr import Matrix, Role
from vernal.model.network import Network
from vernal.sets.cells.relays import NAME

LATE = """
[state]
x = "real"
v = "real"
held = "real"
[init]
x = "[-0.5, 0.5]"
v = "[-0.2, 0.2]"
held = "[-1, 1]"
[environment.next]
x = "x + 0.1*v"
v = "v + 0.1*held"
held = "if(x + 1.5*v >= 0, -1, 1)"
"""
THREE = """
[state]
x = "real"
v = "real"
a = "real"
[init]
x = "[-0.2, 0.2]"
v = "[-0.1, 0.1]"
a = "[-0.1, 0.1]"
[environment.next]
x = "x + 0.1*v"
v = "v + 0.1*a"
a = "a + 0.1*if(x + 2*v + 1.5*a >= 0, -1, 1)"
"""
TWO_RELAYS = """
[state]
x = "real"
v = "real"
y = "real"
w = "real"
[init]
x = "[-0.1, 0.1]"
v = "[-0.1, 0.1]"
y = "[-0.1, 0.1]"
w = "[-0.1, 0.1]"
[environment.next]
x = "x + 0.1*v"
v = "v + 0.1*if(x + 1.5*v + 0.1*y >= 0, -1, 1)"
y = "y + 0.1*w"
w = "w + 0.05*if(y + 1.5*w > 0, -1, 1)"
"""
ONE_SIDED = """
[state]
x = "real"
v = "real"
[init]
x = "[1.8, 2.2]"
v = "[-0.1, 0.1]"
[environment.next]
x = "x + 0.1*v"
v = "0.98*v + 0.1*if(x + 2*v <= 2, 1, -0.5) + between(-0.005, 0.005)"
"""
CLAIMS = {
    "a double integrator": (RELAY, "G (abs(x) <= 0.9)"),
    "one that is pushed a step late": (LATE, "G (abs(x) <= 2 & abs(v) <= 1.5)"),
    "three integrators": (THREE, "G (abs(x) <= 2)"),
    "two relays": (TWO_RELAYS, "G (abs(x) <= 1 & abs(y) <= 1)"),
    "unequal pushes and a disturbance": (ONE_SIDED, "G (abs(x - 2) <= 1.5)"),
}


def asked(question: Question) -> Result:
    """What the engine says."""
    return asked_of(find_engine("invariants"), question, processor(20))


def accepted(question: Question, result: Result) -> bool:
    """Whether the claim is proven, and other code accepts the invariant."""
    assert result.verdict is HOLDS, result.reason
    assert isinstance(result.evidence, Invariant)
    return recheck(question.system, Claim(question.formula), result.evidence).judgement is Judgement.ACCEPTED


@pytest.mark.parametrize(("model", "claim"), CLAIMS.values(), ids=CLAIMS)
def test_loops_that_push_to_and_fro_are_proven(model: str, claim: str) -> None:
    task = read(model)
    question = Question(task.system, parse_formula(task, claim))
    result = asked(question)
    assert accepted(question, result)
    assert result.statistics["method"] == NAME


def test_the_pushed_cart_pole_is_proven() -> None:
    """Four components, and sines and products beside the pushes."""
    task = load(CARTPOLE / "pushed.toml")
    result = asked(Question(task.system, task.properties["upright"]))
    assert (result.verdict, result.statistics.get("method")) == (HOLDS, NAME), result.reason


def test_an_agent_that_pushes_is_proven(tmp_path: Path) -> None:
    """The sign is that of a difference of two outputs of a ReLU network."""
    seen = b.var("seen", shape=(2,), role=Role.INPUT)
    both = b.relu(b.affine(seen, Matrix(np.array([[1.0, 1.5], [-1.0, -1.5]])), Matrix(np.array([4.0, 4.0]))))
    write_onnx(Network("n", seen, b.affine(both, Matrix(np.eye(2)), Matrix(np.zeros(2)))), tmp_path / "n.onnx")
    model = RELAY.replace("if(x + 1.5*v >= 0, -1, 1)", "if(push == 0, -1, 1)")
    agent = '[agents.push]\npolicy = "n.onnx"\nobserve = ["x", "v"]\nact = "argmax"\n'
    (tmp_path / "task.toml").write_text(f'vernal = 1\nname = "pushing"\n{agent}{model}')
    task = load(tmp_path / "task.toml")
    question = Question(task.system, parse_formula(task, "G (abs(x) <= 0.9)"))
    assert accepted(question, asked(question))


def test_what_is_left_is_not_proven() -> None:
    """From 0.5 at 0.2 it goes on to more than 0.52."""
    task = read(RELAY)
    result = asked_of(
        find_engine("invariants"), Question(task.system, parse_formula(task, "G (x <= 0.52)")), processor(3)
    )
    assert result.verdict is UNKNOWN


@pytest.mark.parametrize("seed", seeds(30 if ALL else 9, 3))
def test_random_relays(seed: int) -> None:
    question = instance(seed, "relays")
    result = asked_of(find_engine("invariants"), Question(question.system, question.formula), processor(2))
    assert not list(Judge(question).problems({"invariants": result}))
