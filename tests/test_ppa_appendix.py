"""The five rows of appendix E: the same abstraction whatever is asked before transitions are tested."""

from __future__ import annotations

import pytest

from benchmarks.ppa.appendix_e import COUNTS, HEADER, ROWS, main, rows, tasks


def test_the_rows_are_those_of_the_paper() -> None:
    assert [row.marks for row in ROWS] == [
        ("- - x", "- - x"),
        ("- x x", "- - x"),
        ("x - x", "- - x"),
        ("x x x", "- - x"),
        ("x x x", "x x x"),
    ]


def test_every_row_finds_the_same_abstraction() -> None:
    ((name, task),) = tasks(["racetrack-tiny"], "careful_16", None)
    found = [dict(zip((*HEADER, *COUNTS), row, strict=True)) for row in rows(name, task, 60.0)]
    assert name == "racetrack-tiny 100 %"
    for key in ("found", "kept", "states"):
        assert len({row[key] for row in found}) == 1
    assert [row["selection"] == "0" for row in found] == [True, True, False, False, False]
    assert [row["applicability"] == "0" for row in found] == [True, False, True, False, False]
    assert found[-1]["refuted"] == "0", "what is applicable under the policy leads somewhere"
    assert int(found[0]["transitions"]) > int(found[-1]["transitions"])


def test_it_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["racetrack-tiny", "--policy", "careful_16"]) == 0
    assert capsys.readouterr().out.count("racetrack-tiny 100 %") == len(ROWS)
