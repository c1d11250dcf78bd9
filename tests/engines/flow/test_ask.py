"""Questions about flows: who is asked, and what becomes of what is known."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import vernal as vn
from tests.engines.flow.standin import Knows, pipe, proof, standing_in
from vernal.engines.check import check
from vernal.errors import InputError, Stopped
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.knowledge import Counterexample, Known, Open
from vernal.evidence.trace import Trace
from vernal.evidence.trajectory import trajectory
from vernal.formats.task.blueprint import load
from vernal.logic.direction import Direction
from vernal.logic.formula import Always, Atom, Bound
from vernal.logic.question import Question
from vernal.logic.task import AbstractionSettings, Task
from vernal.model import build
from vernal.model.expr import Role
from vernal.model.flow import Flow
from vernal.queries.public_sweep import sweep

JET = """
vernal = 1
name = "jet"
[parameters]
T = 1.5
[state]
x = "real [-1, 1]"
y = "real [-1, 1]"
[flow]
x = "-y - 1.5*x^2 - 0.5*x^3 - 0.1"
y = "3*x - y"
[init]
x = "[0.45, 0.5]"
y = "[-0.6, -0.55]"
[properties]
safe = "G[0, T] !(x >= 0.3 & x <= 0.35 & y >= 0.5 & y <= 0.6)"
[abstraction]
seed = 3
"""


@pytest.fixture
def jet(tmp_path: Path) -> Task:
    (tmp_path / "jet.toml").write_text(JET)
    return load(tmp_path / "jet.toml")


def decay(rate: str = "-1", **changes: object) -> Flow:
    """x' = rate * x from 1: exp(rate * t)."""
    given = {"state": {"x": vn.real(0, 2)}, "init": {"x": 1}, "rates": lambda s: {"x": Fraction(rate) * s.x}}
    return vn.Flow("decay", **{**given, **changes})  # type: ignore[call-overload, no-any-return]


# Who is asked ---------------------------------------------------------------------------------------------------------


def test_the_engine_is_asked_about_the_flow(jet: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    with standing_in(monkeypatch, proof(pipe(2.0, 2.0))) as asked:
        results = check(jet)
    assert results.keys() == {"safe"}
    assert results["safe"].verdict is vn.HOLDS
    assert [question.name for question in asked] == ["safe"]
    assert asked[0].claim.last_time == Fraction("1.5")
    assert asked[0].settings == AbstractionSettings(seed=3)


@pytest.mark.parametrize("engine", ["auto", "falsify", "flowpipe", "abstraction"])
def test_every_engine_of_flows_is_found(jet: Task, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with standing_in(monkeypatch):
        assert check(jet, engine=engine)["safe"].verdict is vn.UNKNOWN


def test_an_engine_of_the_other_kind_of_time_is_refused(jet: Task) -> None:
    with pytest.raises(InputError, match=r"'milp' is for systems.*auto, falsify, flowpipe, abstraction"):
        check(jet, engine="milp")
    still = vn.System(state={"x": vn.real(0, 1)}, init={"x": 0}, step=lambda s: {})
    with pytest.raises(InputError, match=r"'flowpipe' is for flows.*auto, falsify, bounds"):
        check(still, "G[0,1] (x <= 1)", engine="flowpipe")
    with pytest.raises(InputError, match="no engine 'abstractoin'; did you mean 'abstraction'"):
        check(jet, engine="abstractoin")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"options": {"depth": 3}}, "'auto' has no option 'depth' for flows"),
        ({"device": "cuda"}, "processor"),
    ],
)
def test_what_flows_have_not_is_refused(
    jet: Task, options: dict[str, object], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with standing_in(monkeypatch), pytest.raises(InputError, match=words):
        check(jet, **options)  # type: ignore[call-overload]


def test_more_variables_than_practical(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"v{n}" for n in range(9)]
    flow = vn.Flow(state=dict.fromkeys(names, vn.real(0, 1)), init=dict.fromkeys(names, 0), rates=lambda s: {})
    with standing_in(monkeypatch):
        with pytest.raises(InputError, match=r"at most 8 variables.*has 9"):
            check(flow, "G[0,1] (v0 < 1)", engine="abstraction")
        assert check(flow, "G[0,1] (v0 < 1)", engine="flowpipe").verdict is vn.UNKNOWN


@pytest.mark.parametrize(
    ("flow", "formula", "words"),
    [
        (decay(), "F (x > 0)", "last time"),
        (decay(), "x > 0", "horizon is zero"),
        (decay(), "G[0,1] (sqrt(x - 1) > 0)", "undefined in the region"),
        (decay(rates=lambda s: {"x": vn.sqrt(s.x - 1)}), "G[0,1] (x > 0)", "undefined in the region"),
        (decay(rates=lambda s: {"x": 1 / s.x}), "G[0,1] (x > 0)", "x is zero"),
    ],
)
def test_a_question_from_python_is_checked_like_one_in_a_file(flow: Flow, formula: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check(flow, formula)


# What is known --------------------------------------------------------------------------------------------------------


def result_of(knows: Knows, monkeypatch: pytest.MonkeyPatch, formula: str = "G[0,2] (x <= 1)") -> vn.Result:
    with standing_in(monkeypatch, knows):
        return check(decay(), formula)


@pytest.mark.parametrize(
    ("inside", "scope"),
    [
        (2.0, "until t = 2, inside the region"),
        (3.0, "until t = 2, inside the region"),
        (0.9799999999, "until t = 2; all trajectories stay inside the region until t = 0.979999"),
        (0.0, "until t = 2; all trajectories stay inside the region until t = 0"),
    ],
)
def test_the_scope_of_a_proof(inside: float, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = result_of(proof(pipe(inside, 4.0, ("x",))), monkeypatch)
    assert result.verdict is vn.HOLDS
    assert result.scope == scope
    assert isinstance(result.evidence, Flowpipe)
    assert result.flowpipe is not None
    assert result.trace is None
    assert result.invariant is None
    assert result.statistics == {"segments": 1}


def test_a_proof_without_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    result = result_of(proof(), monkeypatch)
    assert result.scope == "until t = 2, of trajectories inside the region"


@pytest.mark.parametrize("direction", [Direction.UNDER])
def test_a_proof_of_some_trajectories_proves_nothing(direction: Direction, monkeypatch: pytest.MonkeyPatch) -> None:
    result = result_of(proof(pipe(2.0, 2.0, ("x",)), direction), monkeypatch)
    assert result.verdict is vn.UNKNOWN
    assert "direction under" in str(result.reason)


def test_a_pipe_that_ends_too_early_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    result = result_of(proof(pipe(1.9, 1.9, ("x",))), monkeypatch)
    assert result.verdict is vn.UNKNOWN
    assert "ends at t = 1.9" in str(result.reason)


def test_what_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def knows(question: Question) -> Known:
        return Open(engine="stand-in", reason="the pipe grew too wide", proven_time=0.75)

    result = result_of(knows, monkeypatch)
    assert result.verdict is vn.UNKNOWN
    assert (result.reason, result.proven_time) == ("the pipe grew too wide", 0.75)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (Stopped("timeout after 1 s"), "timeout after 1 s"),
        (MemoryError(), "out of memory"),
        (OverflowError(), "floating point"),
    ],
)
def test_a_limit_leaves_the_question_open(failure: Exception, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def knows(question: Question) -> Known:
        raise failure

    result = result_of(knows, monkeypatch)
    assert result.verdict is vn.UNKNOWN
    assert reason in str(result.reason)


def test_no_time_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    with standing_in(monkeypatch):
        assert check(decay(), "G[0,2] (x <= 1)", timeout=1e-9).verdict is vn.UNKNOWN


def of_decay(question: Question, first: str, last: str) -> Trace:
    return trajectory(question.model, {"x": Fraction(first)}, (Fraction(0), Fraction(last)), [{}]).trace


@pytest.mark.parametrize(
    ("last", "formula", "verdict"),
    [
        ("1", "G[0,2] (x >= 0.5)", vn.VIOLATED),  # exp(-1) = 0.37
        ("1", "G[0,2] (x >= 0.3)", vn.UNKNOWN),
        ("1", "F[0,1] (x >= 2)", vn.VIOLATED),
    ],
)
def test_a_counterexample_is_enclosed_again(
    last: str, formula: str, verdict: vn.Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    def knows(question: Question) -> Known:
        return Counterexample(engine="stand-in", trace=of_decay(question, "1", last))

    result = result_of(knows, monkeypatch, formula)
    assert result.verdict is verdict
    if verdict is vn.VIOLATED:
        assert result.time == 1.0
        assert result.assurance is vn.Assurance.RIGOROUS
        assert result.trace is not None
        assert "at t = 1" in repr(result)
    else:
        assert "did not replay" in str(result.reason)


def test_a_counterexample_from_no_initial_state_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    def knows(question: Question) -> Known:
        elsewhere = replace(question, model=decay(init={"x": "0.25"}))
        return Counterexample(engine="stand-in", trace=of_decay(elsewhere, "0.25", "1"))

    assert result_of(knows, monkeypatch, "G[0,2] (x >= 0.5)").verdict is vn.UNKNOWN


# Vacuous questions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "vacuous"),
    [
        ("G[0,1] !(x >= 3)", True),
        ("G[0,1] (x^2 <= 4.1)", True),
        ("G[0,1] !(x >= 2)", False),  # the region is closed
        ("G[0,1] !(x > 2)", True),
        ("G[0,1] !(x > 1 & x < 0.5)", True),
        ("F[0,1] (x >= 0)", True),
        ("F[1,2] (x >= 0)", False),  # it may be left before
        ("G[0,1] (x <= 1) | G[0,1] (x <= 2)", True),
        ("G[0,1] (x <= 1) & G[0,1] (x <= 2)", False),
    ],
)
def test_a_bad_set_outside_the_region_is_vacuous(formula: str, vacuous: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with standing_in(monkeypatch) as asked:
        result = check(decay(), formula)
    assert (result.verdict is vn.HOLDS) == vacuous
    assert result.vacuous == vacuous
    assert len(asked) == (not vacuous)
    assert any(note.startswith("vacuous: no state of the region") for note in result.notes) == vacuous


def test_two_linear_conditions_that_exclude_each_other_in_the_region(monkeypatch: pytest.MonkeyPatch) -> None:
    state = {"x": vn.real(-1, 1), "y": vn.real(-1, 1)}
    flow = vn.Flow(state=state, init={"x": 0, "y": 0}, rates=lambda s: {})
    with standing_in(monkeypatch):
        assert check(flow, "G[0,1] !(x >= 0.5 & x + y <= -0.6)").vacuous
        assert not check(flow, "G[0,1] !(x >= 0.5 & x + y <= -0.5)").vacuous


def test_no_initial_state_is_vacuous(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = decay(init={"x": vn.interval(0, 1)}, where=lambda s: [s.x >= Fraction("1.5")])
    with standing_in(monkeypatch) as asked:
        result = check(flow, "G[0,1] (x <= 0.1)")
    assert (result.verdict, result.vacuous, asked) == (vn.HOLDS, True, [])
    assert "no initial state" in result.notes[0]


def test_a_disturbance_is_no_part_of_the_state() -> None:
    """Formulas that are read refuse draws; so do those that are built."""
    lets = {"d": lambda s: vn.between(-1, 1)}
    flow = vn.Flow(state={"x": vn.real(-2, 2)}, init={"x": 0}, lets=lets, rates=lambda s: {"x": s.d})
    d, span = build.var("d", role=Role.LET), Bound(Fraction(0), Fraction(1))
    for condition in (d <= Fraction(1, 2), flow.vars[0] + d <= 1):
        with pytest.raises(InputError, match="'d' is a disturbance"):
            vn.check(Task(flow, {"claim": Always(Atom(condition), span)}), property="claim")


# Sweeps ---------------------------------------------------------------------------------------------------------------


def test_a_sweep_over_flows(jet: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    with standing_in(monkeypatch, proof(pipe(2.0, 2.0))) as asked:
        table = sweep(jet, {"T": ["0.5", "1", "1.75"]})
    assert [question.claim.last_time for question in asked] == [Fraction("0.5"), 1, Fraction("1.75")]
    assert [row.result.scope for row in table] == [f"until t = {t}, inside the region" for t in ("0.5", "1", "1.75")]


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that a test writes by a plain name are its own."""
    monkeypatch.chdir(tmp_path)
