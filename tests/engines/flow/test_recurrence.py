"""`G p` for all samples: loops that settle, loops that do not, and what is not taken."""

from __future__ import annotations

from pathlib import Path

import pytest

import vernal as vn
from tests.sampled_loops import LOOPS, linear_network
from vernal.engines.flow import recurrence

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


@pytest.mark.parametrize(("loop", "reason"), [("late", recurrence.DELAYS), ("leaky", recurrence.DISCRETE)])
def test_what_is_not_taken_is_said(loop: str, reason: str) -> None:
    result = vn.check(LOOPS[loop]().system, "G x < 3", time="samples", engine="flowpipe", timeout=5)
    assert result.verdict is UNKNOWN
    assert result.reason is not None
    assert reason in result.reason


def test_other_claims_without_an_end_are_left() -> None:
    result = vn.check(LOOPS["decay"]().system, "G F x < 0.1", time="samples", engine="flowpipe", timeout=1)
    assert result.verdict is UNKNOWN
    assert result.reason is not None
    assert recurrence.ENDLESS in result.reason
