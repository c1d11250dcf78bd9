"""Claims of some path for all time, decided by claims of all paths; evidence that checks again."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest

import vernal as vn
from tests.brute import TooLarge, ValueUndefined
from tests.cases import read
from tests.endless import DOWN, HALVING, loop
from tests.engines.test_truth import check_evidence
from tests.explicit_oracle import FiniteOracle
from tests.graph_loops import SMALL, endless_formula, graph_loop
from tests.portion import seeds
from tests.work import processor
from vernal.engines.check import asked_of, find_engine, parse_formula
from vernal.evidence.defined_values import is_defined
from vernal.evidence.invariant import Invariant, StateSet
from vernal.evidence.kinds import Tree
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.logic.claim import Claim
from vernal.logic.formula import Quantifier
from vernal.logic.normal import quantifiers, universal
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Role
from vernal.model.graph import variables
from vernal.model.sorts import REAL
from vernal.reduce.restriction import may_restrict, restrictions
from vernal.report.document import document, schema

NEWTON = loop("[1, 2]", "(x + 2/x)/2")
STAY_OR_LEAVE = loop("[0, 1]", "x + choose(1, 0)")
PUSHED = loop("[0, 1]", "x + between(-1, 1)")


def asked(model: str, text: str, engine: str, timeout: float = 20) -> Result:
    return vn.check(read(model), text, engine=engine, timeout=timeout)


@pytest.mark.parametrize(
    ("model", "text", "engine", "expected"),
    [
        (HALVING, "EF (x >= 5)", "invariants", VIOLATED),
        (HALVING, "EF (x >= 5)", "induction", VIOLATED),
        (HALVING, "EF (x >= 0.7)", "invariants", VIOLATED),  # from 0, though not from all
        (HALVING, "!EF (x >= 5)", "invariants", HOLDS),
        (HALVING, "E[x <= 1 U x >= 2]", "invariants", VIOLATED),
        (HALVING, "EX (x >= 0.6)", "invariants", VIOLATED),
        (HALVING, "EG (x <= 1)", "invariants", HOLDS),
        (HALVING, "EG (x <= 1)", "induction", HOLDS),
        (HALVING, "EF (abs(x) <= 0.1)", "deepening", HOLDS),
        (HALVING, "E[abs(x) <= 1 U abs(x) <= 0.1]", "liveness", HOLDS),
        (HALVING, "AG EF (abs(x) <= 0.1)", "liveness", HOLDS),
        (HALVING, "EF EG (abs(x) < 0.01)", "liveness", HOLDS),
        (HALVING, "EG (x <= -0.5)", "liveness", VIOLATED),
        (NEWTON, "EG (x <= 2)", "invariants", HOLDS),
        (STAY_OR_LEAVE, "EG (x <= 1)", "invariants", HOLDS),
        (STAY_OR_LEAVE, "EG (x <= 1)", "induction", HOLDS),
        (PUSHED, "EG (x <= 1 & x >= 0)", "invariants", HOLDS),
        (DOWN, "EG (n >= 0)", "invariants", HOLDS),  # paths end
        (DOWN, "EX[7] (n <= 5)", "invariants", VIOLATED),  # though AX[7] is true: every path has ended by then
        (HALVING, "EF (x >= 5)", "auto", VIOLATED),
        (HALVING, "EG (x <= 1)", "auto", HOLDS),
    ],
)
def test_decided(model: str, text: str, engine: str, expected: object) -> None:
    result = asked(model, text, engine)
    assert result.verdict is expected, result.reason
    assert str(result.scope) == "for all time" if expected is HOLDS else result.scope is None


@pytest.mark.parametrize(
    ("model", "text", "engine"),
    [
        (loop("[0, 1]", "x + choose(1, 2)"), "EG (x <= 1)", "invariants"),
        (HALVING, "AG EF (x >= 0.5)", "liveness"),
        (loop("[0, 1]", "if(x > 2, x/(x - x), x)"), "EG (x <= 1)", "induction"),  # there may be no next value
    ],
)
def test_left_open(model: str, text: str, engine: str) -> None:
    result = asked(model, text, engine, 5)
    assert result.verdict is UNKNOWN
    assert result.reason


def test_every_action_has_to_keep_it() -> None:
    """A claim about an action that noise leaves open is one for each action, so noise must not be decided for it."""
    copy = vn.rnn([([[1]], [[0]], [0])], [([[1]], [0])])
    system = vn.System(
        state={"x": vn.real()},
        init={"x": vn.one_of(0, 1)},
        agents={"pilot": vn.agent(copy, lambda s: [s.x + vn.between(-1, 1)], "raw")},
        step=lambda s: {"x": s.x},
    )
    assert vn.check(system, "EG (x <= 1)", engine="induction", timeout=20).verdict is HOLDS
    assert vn.check(system, "EG (pilot <= 1)", engine="induction", timeout=5).verdict is not HOLDS


def test_the_reason_names_what_would_decide_it() -> None:
    result = asked(loop("[0, 1]", "x + choose(1, 2)"), "EG (x <= 100)", "invariants", 2)
    assert result.verdict is UNKNOWN
    assert result.reason is not None
    assert "that all paths keep G (x <= 100) would prove it" in result.reason
    result = vn.check(read(HALVING), "EG (x <= 1)", engine="deepening", timeout=10, options={"depth": 10})
    assert result.reason is not None
    assert result.reason.startswith("within 10 steps no path was seen to keep the claim for certain")


# Evidence -------------------------------------------------------------------------------------------------------------


def test_an_invariant_refutes_and_is_checked_again(tmp_path: Path) -> None:
    task, file = read(HALVING), tmp_path / "never.json"
    result = vn.check(task, "EF (x >= 0.7)", engine="invariants", timeout=20)
    assert isinstance(result.evidence, Tree)
    assert result.invariant is not None
    assert result.trace is not None
    assert [step.state["x"] for step in result.trace.steps] == [0]
    vn.write_evidence(task, result, file)
    content = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema("trace")).validate(content)
    jsonschema.Draft202012Validator(schema("result")).validate(document(task, [result]))
    checked = vn.replay(file, task)
    assert checked.judgement == "accepted"
    assert "keeps G !(x >= 0.7)" in checked.reason
    for one in content["invariant"]["sets"]:  # a set that the path from 0 never leaves, but where the claim is true
        one["bounds"] = [1 for _ in one["bounds"]]
    file.write_text(json.dumps(content), encoding="utf-8")
    assert vn.replay(file, task).judgement == "rejected"


def test_an_invariant_proves_a_claim_of_some_path_and_is_checked_again(tmp_path: Path) -> None:
    task, file = read(NEWTON), tmp_path / "stays.json"
    result = vn.check(task, "EG (x <= 2)", engine="invariants", timeout=20)
    vn.write_evidence(task, result, file)
    checked = vn.replay(file, task)
    assert checked.judgement == "accepted", checked.reason


def test_where_a_value_may_be_undefined_a_path_is_not_sure() -> None:
    system = read(NEWTON).system
    row = (Fraction(1),), (Fraction(-1),)
    between = Invariant(("x",), (StateSet(row, (Fraction(2), Fraction(-1))),))
    above = Invariant(("x",), (StateSet(row[1:], (Fraction(-1),)),))
    assert is_defined(system, between)
    assert not is_defined(system, above)
    assert not is_defined(system, None)
    assert is_defined(read(HALVING).system, None)


# Against a naive checker ----------------------------------------------------------------------------------------------


def test_what_is_true_of_all_paths_is_true_of_some() -> None:
    """`universal` implies the formula, and `sufficient` does, on random finite systems that may end."""
    implied = 0
    for seed in range(90):
        rng = random.Random(seed)
        system = graph_loop(rng, SMALL)
        formula = endless_formula(rng, system, (Quantifier.ALL, Quantifier.SOME))
        if Quantifier.SOME not in quantifiers(formula):
            continue
        try:
            truth = FiniteOracle(system, formula).holds()
            stronger = [universal(formula), Claim(formula).sufficient]
            shown = [one is not None and FiniteOracle(system, one).holds() for one in stronger]
        except (TooLarge, ValueUndefined):
            continue
        implied += any(shown)
        assert truth or not any(shown), f"seed {seed}: {formula}"
    assert implied > 10


@pytest.mark.parametrize("engine", ["invariants", "induction"])
def test_random_finite_systems_agree_with_a_naive_checker(engine: str) -> None:
    """Agents, ties and ends of paths included; claims of some path alone, and of both."""
    verdicts: set[object] = set()
    for seed in seeds(50, 30):
        rng = random.Random(seed)
        system = graph_loop(rng, SMALL)
        formula = endless_formula(rng, system, rng.choice([(Quantifier.SOME,), tuple(Quantifier)]), depth=1)
        if Quantifier.SOME not in quantifiers(formula):
            continue
        result = asked_of(find_engine(engine), Question(system, formula), processor(0.3))
        try:
            truth = None if result.verdict is UNKNOWN else FiniteOracle(system, formula).holds()
        except (TooLarge, ValueUndefined):
            continue
        if truth is not None:
            assert (result.verdict is HOLDS) == truth, f"seed {seed}: {formula}"
            check_evidence(system, formula, result)
            verdicts.add(result.verdict)
    assert verdicts == {HOLDS, VIOLATED}


def test_restricted_systems_have_paths_of_the_system() -> None:
    """What some path of a restriction keeps, some path of the system keeps."""
    shown = 0
    for seed in range(80):
        rng = random.Random(seed)
        system = graph_loop(rng, SMALL)
        formula = endless_formula(rng, system, (Quantifier.SOME,))
        if quantifiers(formula) != {Quantifier.SOME} or not may_restrict(Question(system, formula)):
            continue
        try:
            truth = FiniteOracle(system, formula).holds()
            for one in restrictions(system, 4):
                if FiniteOracle(one.system, formula).holds():
                    shown += 1
                    assert truth, f"seed {seed}: {formula} where {one.decided}"
        except (TooLarge, ValueUndefined):
            continue
    assert shown > 5


def test_a_restriction_ends_where_the_system_does() -> None:
    """With no option left the path ends, whatever was decided."""
    text = '[state]\nx = "int"\n[init]\nx = 0\n[environment.next]\nx = "x + choose(1 when x < 2, 2 when x < 1)"\n'
    task = read(text)
    restricted = list(restrictions(task.system, 4))
    assert len(restricted) == 2
    for one in restricted:
        assert FiniteOracle(one.system, parse_formula(task, "AF (x >= 2)")).holds()
        assert not FiniteOracle(one.system, parse_formula(task, "EF (x >= 4)")).holds()


def test_a_draw_that_is_decided_may_be_a_whole_number() -> None:
    """Its let was written as a real, and is known as one wherever it is mentioned."""
    text = '[state]\nx = "real"\n[init]\nx = "[0, 1]"\n[environment.let]\nw = "between(-1, 1)"\nd = "choose(0, 0.5)"\n'
    task = read(f'{text}[environment.next]\nx = "x / 2 + w + d"\n')
    for one in restrictions(task.system, 6):
        assert variables(one.system.step.roots) == [task.system.variable("x").var]
        assert variables([one.system.step.resolve(build.var("w", REAL, (), Role.LET))]) == []
    assert vn.check(task, "E[true U x >= 0]", timeout=20).verdict is HOLDS
