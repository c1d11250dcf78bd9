"""What every verdict has to carry, in continuous time as in steps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import vernal as vn
from tests.cases import read
from tests.flow_cases import DECAY, FLOW_CLAIMS, OSCILLATOR, FlowClaim
from vernal.engines.check import ask, check, parse_formula
from vernal.evidence.reach import ForAllTime, UntilTime
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Assurance, Result
from vernal.logic.claim import always
from vernal.logic.formula import Always
from vernal.logic.times import is_endless, is_plain
from vernal.run.budget import Budget
from vernal.sets.sampled.returns import recurrence_problem

LONG, SHORT = 60, 0.2  # seconds for an engine that has to decide, and for one that only must not be wrong
SLACK = 1e-9
DECIDED = [one for one in FLOW_CLAIMS if one.margin is not None and "flowpipe" in one.decided_by]
VIOLATIONS = [one for one in FLOW_CLAIMS if one.expected is VIOLATED and "falsify" in one.decided_by]
STEPS = """
[state]
x = "real [-2, 2]"
[init]
x = "[0.5, 1]"
[environment.next]
x = "0.9*x"
"""


@cache
def answer(claim: FlowClaim, engine: str, timeout: float) -> Result:
    return ask(claim.task, parse_formula(claim.task, claim.formula), None, engine, Budget(timeout=timeout))


def broken_promises(claim: FlowClaim, result: Result) -> Iterator[str]:
    """Everything a result does not say, or says wrongly."""
    if result.verdict not in {claim.expected, UNKNOWN}:
        yield f"{result.verdict} instead of {claim.expected}"
    if result.verdict is UNKNOWN:
        if not result.reason or result.evidence is not None or result.assurance is not None or result.reach is not None:
            yield "unknown, without a reason, or with what only a verdict has"
        return
    if result.reason is not None or result.assurance is not Assurance.RIGOROUS:
        yield f"reason {result.reason}, assurance {result.assurance}"
    if result.vacuous != claim.vacuous or claim.vacuous != any(note.startswith("vacuous") for note in result.notes):
        yield f"vacuous: {result.vacuous}"
    yield from _of_holds(claim, result) if result.verdict is HOLDS else _of_violated(result)


def _of_holds(claim: FlowClaim, result: Result) -> Iterator[str]:
    assert result.task is not None
    asked = parse_formula(result.task, claim.formula)
    if is_endless(asked):
        yield from _of_all_time(claim, result, always(asked))
    elif not isinstance(result.reach, UntilTime):
        yield f"reach {result.reach}"
    elif claim.inside is not None and (result.reach.inside is None or result.reach.inside > claim.inside):
        yield f"inside until {result.reach.inside}, but a trajectory has left at {claim.inside}"
    if result.margin is not None and claim.margin is not None and not 0 <= result.margin <= claim.margin + SLACK:
        yield f"margin {result.margin}, and it is {claim.margin}"


def _of_all_time(claim: FlowClaim, result: Result, kept: Always | None) -> Iterator[str]:
    """Recurrent sets, and their replay accepts them; or what says that nothing is to be shown."""
    if not isinstance(result.reach, ForAllTime):
        yield f"reach {result.reach}"
    if claim.vacuous or any(note.startswith("no path leaves these ends") for note in result.notes):
        return
    if not isinstance(result.evidence, RecurrentSet) or kept is None:
        yield f"evidence {result.evidence}"
    elif recurrence_problem(claim.task.model, kept, result.evidence) is not None:
        yield "recurrent sets that are none"


def _of_violated(result: Result) -> Iterator[str]:
    if result.trace is None or result.trace.times is None or result.time != float(result.trace.times[-1]):
        yield "no trajectory, or another time"
    if result.margin is not None and result.margin > 0:
        yield f"margin {result.margin}"


@pytest.mark.parametrize(("claim", "engine"), [(claim, one) for claim in FLOW_CLAIMS for one in claim.engines], ids=str)
def test_no_engine_is_wrong_about_a_flow(claim: FlowClaim, engine: str) -> None:
    result = answer(claim, engine, LONG if engine in claim.decided_by else SHORT)
    assert not list(broken_promises(claim, result)), claim.why
    if engine in claim.decided_by:
        assert result.verdict is claim.expected, result.reason


def test_at_least_twenty_flows_are_known() -> None:
    assert len(FLOW_CLAIMS) >= 20


def test_a_field_of_polynomials_is_not_said_to_have_no_derivative() -> None:
    """Whether it is decided in that time depends on the machine."""
    result = check(read(OSCILLATOR), "G[0,300] (x^2 + y^2 <= 1.21)", engine="flowpipe", timeout=1)
    assert "no bounded derivative" not in (result.reason or "")


# What flows have as systems do ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", DECIDED, ids=str)
def test_a_claim_about_a_flow_holds_by_a_margin(claim: FlowClaim) -> None:
    measured = is_plain(parse_formula(claim.task, claim.formula))
    assert (answer(claim, "flowpipe", LONG).margin is not None) is measured


@pytest.mark.parametrize("claim", VIOLATIONS, ids=str)
def test_a_claim_about_a_flow_is_violated_by_a_margin(claim: FlowClaim) -> None:
    measured = is_plain(parse_formula(claim.task, claim.formula))  # not of U, nor of windows within windows
    assert (answer(claim, "falsify", LONG).margin is not None) is measured


def test_what_is_proven_of_an_open_claim_is_said() -> None:
    result = check(read(OSCILLATOR), "G[0,7] (x <= 1)", engine="flowpipe", timeout=3)  # it comes back to 1
    assert result.verdict is UNKNOWN
    assert any("proven" in note for note in result.notes)


def test_reasons_speak_of_the_claim_and_not_of_shares() -> None:
    result = check(read(OSCILLATOR), "G[0,300] (x^2 + y^2 <= 1.21)", timeout=1)
    assert result.reason is not None
    assert "its share of" not in result.reason


def test_statistics_have_the_same_names() -> None:
    of_flow = check(read(DECAY), "G[0,2] (x <= 1.5)").statistics
    of_steps = check(read(STEPS), "G[0,1] (sin(x)^2 + cos(x)^2 <= 1)", timeout=0.5).statistics  # stays open
    seconds = [{name for name in keys if name.split()[-1] == "seconds"} for keys in (of_flow, of_steps)]
    assert seconds[0] & seconds[1]


def test_a_flowpipe_is_written_and_replayed(tmp_path: Path) -> None:
    flow = read(DECAY)
    vn.write_evidence(flow, check(flow, "G[0,2] (x <= 1.5)", engine="flowpipe"), tmp_path / "pipe.json")
    assert vn.replay(tmp_path / "pipe.json", flow).judgement == "accepted"


def test_a_flow_keeps_a_journal(tmp_path: Path) -> None:
    first, again = (check(read(DECAY), "G[0,2] (x <= 1.5)", journal=tmp_path / "journal") for _ in range(2))
    assert (first.verdict, again.verdict) == (HOLDS, HOLDS)
    assert again.statistics["from_journal"] == again.statistics["parts"] == 4
    assert again.margin == first.margin
    assert again.reach == first.reach


def test_parts_of_a_flow_are_for_several_workers() -> None:
    result = check(read(DECAY), "G[0,2] (x <= 1.5)", engine="flowpipe", workers=2)
    assert result.verdict is HOLDS
    assert result.statistics["parts"] == 4
    assert not list(broken_promises(FLOW_CLAIMS[0], result))


def test_the_region_of_a_flow_is_a_property() -> None:
    made = check(
        vn.Task(read(DECAY).flow, {"late": parse_formula(read(DECAY), "G[0,2] (x <= 1.5)")}), property="in_range"
    )
    assert made["in_range"].verdict is HOLDS


LEAVING = """vernal = 1
name = "leaving"
[state]
x = "real [-2, 2]"
[init]
x = "[0.5, 1]"
[flow]
x = "x"
[properties]
late = "G[0,2] (x >= 0)"
"""


def test_that_a_trajectory_leaves_the_region_is_shown(tmp_path: Path) -> None:
    file, trace = tmp_path / "leaving.toml", tmp_path / "leaving.trace.json"
    file.write_text(LEAVING, encoding="utf-8")
    task = vn.load(file)
    result = check(task, property="in_range")["in_range"]
    assert result.verdict is VIOLATED
    assert result.margin is not None
    assert result.margin < 0
    vn.write_evidence(task, result, trace)
    assert vn.replay(trace).judgement == "accepted"
