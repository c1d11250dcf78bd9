"""`G p` for all samples: loops that settle, loops that do not, and what is not taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from tests.sampled_loops import LOOPS, linear_network
from vernal.engines.check import parse_formula, question_of
from vernal.engines.flow import recurrence
from vernal.evidence.judgement import Judgement
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.formats.evidence import replay
from vernal.logic.claim import always
from vernal.logic.task import Task
from vernal.sets.sampled.returns import recurrence_problem
from vernal.sets.sampled.sections import Section

ROOT = Path(__file__).parents[3]
HOLDS, VIOLATED, UNKNOWN = vn.HOLDS, vn.VIOLATED, vn.UNKNOWN

KNOWN = [
    # x at sample k is 0.71451^k x(0), with x(0) in [1, 2]
    ("decay", "G x < 2.1", HOLDS),
    ("decay", "G x > -0.2", HOLDS),
    ("decay", "G x > 0.1", VIOLATED),
    ("decay", "G[4,] x < 0.6", HOLDS),  # 2 * 0.71451^4 = 0.521
    ("decay", "G[4,] x < 0.5", VIOLATED),
    ("decay", "AG x < 2.1", HOLDS),
    ("pair", "G (x < 1.4 & y > -1)", HOLDS),
    ("pair", "G x > 0.5", VIOLATED),
]


@pytest.mark.parametrize(("loop", "formula", "verdict"), KNOWN)
def test_claims_about_all_samples(loop: str, formula: str, verdict: vn.Verdict) -> None:
    result = vn.check(LOOPS[loop]().system, formula, time="samples", timeout=60)
    assert result.verdict is verdict, result
    if verdict is HOLDS:
        assert result.scope == "for all time"


def steady(gain: str) -> vn.System:
    """x' = u with u = g x held for a tenth of a second: x at sample k is (1 + g / 10)^k x(0)."""
    return vn.System(
        state={"x": vn.real(-8, 8)},
        init={"x": vn.interval(1, 2)},
        agents={"u": vn.agent(linear_network("gain", (float(gain),)), observe=lambda s: [s.x], act="raw", every="0.1")},
        rates=lambda s: {"x": s.u},
    )


@pytest.mark.parametrize(
    ("gain", "formula", "verdicts"),
    [
        ("-2", "G x < 2.5", {HOLDS}),
        ("0", "G x < 2.5", {UNKNOWN, HOLDS}),  # it stands still: true, and no box is entered from outside
        ("0.1", "G x < 2.5", {VIOLATED}),  # it grows by a hundredth
        ("-20", "G x < 2.5", {UNKNOWN, HOLDS}),  # it is -x at every sample, for ever
        ("-21", "G x < 2.5", {VIOLATED}),  # and here a tenth more
    ],
)
def test_where_nothing_settles_nothing_is_proven(gain: str, formula: str, verdicts: set[vn.Verdict]) -> None:
    limit = 60 if len(verdicts) == 1 else 2
    assert vn.check(steady(gain), formula, time="samples", timeout=limit).verdict in verdicts


def test_jumps_are_part_of_the_cycle() -> None:
    """x falls to half at every second sample and rises by 1 a second in between: it tends to less than 0.4."""
    pumped = vn.System(
        state={"x": vn.real(-1, 8)},
        init={"x": vn.interval(0, 1)},
        agents={"u": vn.agent(linear_network("idle", (0.0,)), observe=lambda s: [s.x], act="raw", every="0.1")},
        rates=lambda s: {"x": 1 + s.u},
        step=lambda s: {"x": s.x / 2},
        every="0.2",
    )
    assert vn.check(pumped, "G x < 1.25", time="samples", timeout=60).verdict is HOLDS  # 1.2 before the first jump
    assert vn.check(pumped, "G[10,] x > 0.35", time="samples", timeout=60).verdict is VIOLATED  # after a jump it is 0.2


def test_delays_are_part_of_the_box() -> None:
    """Until 0.04 the first action, 1, is in force; then x tends to 0 (by the simulation, from both ends)."""
    result = vn.check(LOOPS["late"]().system, "G (x < 2.1 & x > -1.5)", time="samples", timeout=60)
    assert result.verdict is HOLDS
    assert isinstance(result.evidence, RecurrentSet)
    assert result.evidence.variables == ("x", "u")


def test_what_leaves_its_range_is_proven_of_what_is_inside() -> None:
    """Its jumps are counted up to 9: there every path ends."""
    result = vn.check(LOOPS["leaky"]().system, "G x < 3", time="samples", engine="flowpipe", timeout=60)
    assert result.verdict is HOLDS
    assert result.scope == "for all time, of trajectories inside the region"


def test_other_claims_without_an_end_rest_on_recurrent_sets_too() -> None:
    result = vn.check(LOOPS["decay"]().system, "G F x < 0.1", time="samples", engine="flowpipe", timeout=60)
    assert result.verdict is HOLDS
    assert isinstance(result.evidence, RecurrentSet)


# In seconds -----------------------------------------------------------------------------------------------------------


def falling() -> vn.Flow:
    return vn.Flow(
        state={"x": vn.real(-4, 4), "y": vn.real(-4, 4)},
        init={"x": vn.interval("0.9", 1), "y": vn.interval(0, "0.5")},
        rates=lambda s: {"x": s.y - s.x, "y": -s.x - s.y - s.x**3 / 10},
    )


def thermostat() -> vn.System:
    """Cools towards 15 and heats towards 30, by 0.3 and 0.2 degrees in the tenth of a second between two looks."""
    return vn.System(
        state={"x": vn.real(0, 40), "on": vn.boolean()},
        init={"x": vn.interval("19.9", "20.1"), "on": False},
        rates=lambda s: {"x": (vn.if_(s.on, 30, 15) - s.x) / 5},
        step=lambda s: {"on": vn.if_(s.x <= 19, True, vn.if_(s.x >= 21, False, s.on))},
        every="0.1",
    )


SECONDS = [
    (falling, "G (x <= 1.2 & y >= -1)", HOLDS),
    (falling, "G x <= 0.95", VIOLATED),  # at the start
    (thermostat, "G (x >= 18.5 & x <= 21.5)", HOLDS),
    (thermostat, "G x >= 19", VIOLATED),  # it is seen to be cold up to a tenth of a second late
]


@pytest.mark.parametrize(("made", "formula", "verdict"), SECONDS)
def test_claims_for_all_time_in_seconds(
    made: Callable[[], vn.Flow | vn.System], formula: str, verdict: vn.Verdict, tmp_path: Path
) -> None:
    system = made()
    result = vn.check(system, formula, engine="flowpipe" if verdict is HOLDS else "falsify", timeout=60)
    assert result.verdict is verdict, result
    vn.write_evidence(system, result, tmp_path / "shown.json")
    assert replay(tmp_path / "shown.json", system).judgement is Judgement.ACCEPTED
    if verdict is HOLDS:
        assert result.scope == "for all time"


def test_boxes_that_are_none_are_not_accepted() -> None:
    system = falling()
    result = vn.check(system, "G (x <= 1.2 & y >= -1)", engine="flowpipe", timeout=60)
    question = question_of(Task(system), parse_formula(Task(system), result.formula))
    kept, found = always(question.claim.linear), result.evidence
    assert kept is not None
    assert isinstance(found, RecurrentSet)
    assert recurrence_problem(question.model, kept, found) is None
    middle = found.boxes.mean(axis=1, keepdims=True)
    forged = [
        replace(found, boxes=middle + (found.boxes - middle) / 64),  # too small to be met
        replace(found, boxes=found.boxes + 2.0),  # elsewhere
        replace(found, variables=("y", "x")),
        replace(found, boxes=found.boxes[:0]),
        replace(found, arrival=Fraction(0)),
        replace(found, period=Fraction(1, 3)),  # no float
    ]
    assert all(recurrence_problem(question.model, kept, one) is not None for one in forged)


def test_a_section_is_crossed_where_all_pass_from_one_side_to_the_other() -> None:
    """A segment each for above, across and below the value 0 of the second variable."""
    section = Section(1, np.array([[1.0, 0.0], [2.0, 0.0]]))
    times = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    lower, upper = np.array([[0, 1], [1.2, -1], [0, -2.0]]), np.array([[9, 2], [1.8, 1.0], [9, -1.0]])
    assert section.is_crossed(times, lower, upper)
    assert section.is_crossed(times, np.array([[3, 0]]) - upper, np.array([[3, 0]]) - lower)  # upward
    assert not section.is_crossed(times[:2], lower[:2], upper[:2])  # they may turn back
    assert not section.is_crossed(times[1:], lower[1:], upper[1:])  # or have begun there
    assert not section.is_crossed(times, lower, upper + np.array([[0, 0], [1, 0], [0, 0]]))  # beside the box
    assert not section.is_crossed(times + np.array([[0, 0], [0.5, 0], [0, 0]]), lower, upper)  # a gap


def test_a_clock_never_comes_back() -> None:
    system = vn.Flow(state={"x": vn.real(-4, 4)}, init={"x": 1}, rates=lambda s: {"x": vn.sin(s.t) / 10 - s.x})
    result = vn.check(system, "G x <= 2", engine="flowpipe", timeout=5)
    assert result.verdict is UNKNOWN
    assert result.reason is not None
    assert recurrence.CLOCK in result.reason


@pytest.mark.parametrize("formula", ["F x <= 1", "G[0,1] G x <= 2", "G x <= 2 | G[0,1] y <= 1", "F[0,1] G x <= 1"])
def test_other_claims_in_seconds_need_a_last_time(formula: str) -> None:
    with pytest.raises(vn.InputError, match="needs a last time"):
        vn.check(falling(), formula)
