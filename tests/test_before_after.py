"""Two checkouts beside each other: what a row says of its answers, and that a process answers by public names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.before_after.__main__ import Side, _onestep_line
from benchmarks.before_after.compare import Answer, Row, remarkable, sums_table
from benchmarks.before_after.questions import FAMILIES, Request

ROOT = Path(__file__).parents[1]
COUNTS = {"vcas": 48, "encounters": 5, "forever": 138, "abstractions": 6}


def row(before: list[Answer], after: list[Answer]) -> Row:
    return Row("family", "question", before, after)


def holds(*seconds: float, margin: float | None = None) -> list[Answer]:
    return [Answer("holds", one, margin) for one in seconds]


def test_a_median_counts_and_a_quarter_is_noticed() -> None:
    assert row(holds(1, 9, 1), holds(1.2, 1.2, 7)).seconds == (1, 1.2)
    assert not remarkable([row(holds(1, 9, 1), holds(1.2, 1.2, 7))])
    assert remarkable([row(holds(1), holds(1.3))])
    assert not remarkable([row(holds(0.01), holds(0.02))]), "a hundredth of a second is noise"


@pytest.mark.parametrize(("before", "after", "worse"), [(1, 1 - 1e-10, False), (1, 0.9, True), (1, 1.1, False)])
def test_margins_are_equal_or_better(before: float, after: float, worse: bool) -> None:
    assert row(holds(1, margin=before), holds(1, margin=after)).worse_margin is worse
    assert row(holds(1, margin=before), holds(1)).worse_margin, "it is gone"
    assert not row(holds(1), holds(1, margin=after)).worse_margin


def test_another_verdict_is_said_and_a_limit_is_no_time() -> None:
    other = row(holds(1, 1), [Answer("violated", 1), Answer("holds", 1)])
    assert remarkable([other])
    assert "1 DIFFER" in sums_table([other])
    late = row(holds(1), [Answer("unknown", 60, None, "timeout after 60 s")])
    assert late.timed_out
    assert not late.slower
    assert " SLOWER" in sums_table([row(holds(1), holds(1.06))])


@pytest.mark.parametrize("name", COUNTS)
def test_as_many_questions_as_are_known(name: str) -> None:
    asked = FAMILIES[name]()
    assert len(asked) == COUNTS[name]
    assert len({one.label for one in asked}) == len(asked)
    assert all(one.file.exists() for one in asked)


def test_a_process_answers_by_public_names() -> None:
    task = ROOT / "examples" / "thermostat" / "thermostat.toml"
    with Side(ROOT) as ask:
        said = ask(Request("warm", task))
        wrong = ask(Request("nothing", task, "no such property"))
    assert said.verdict in ("holds", "violated")
    assert said.seconds > 0
    assert wrong.verdict.startswith("failed: ")


def test_lines_of_onestep_are_read() -> None:
    found = re.search(r"^together +(.*)$", "together  12  30  1   0.5   0.6   7.0   12.5", re.MULTILINE)
    assert _onestep_line(found) == Answer("12 yes, 30 no, 1 unknown", 12.5)
    assert _onestep_line(None).verdict.startswith("failed")
