"""Cells of a sweep that are asked together have the answers they have alone."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import vernal as vn
from vernal.cli.main import main
from vernal.engines import question_batches
from vernal.engines.question_batches import known_together

TASK = """
vernal = 1
name = "slide"
[parameters]
a = 0
b = 0
k = 3
[state]
x = "real"
y = "real"
[init]
x = "[a, a + 1/2]"
y = "[b, b + 1/2]"
[environment.let]
push = "if(x > 0, choose(-1/4, -1/8), 1/4)"
[environment.next]
x = "x + y / 4 + push"
y = "y / 2"
[properties]
below = "G[0,k] (x < 2)"
near = "x + y < 2"
"""
GRID = ["--over", "a=-2..2..0.5", "--over", "b=-1..2..0.5"]


@pytest.fixture
def slide(tmp_path: Path) -> Path:
    file = tmp_path / "slide.toml"
    file.write_text(TASK, encoding="utf-8")
    return file


def swept(file: Path, *more: str, code: int = 0) -> list[dict[str, Any]]:
    output = file.with_suffix(".json")
    assert main(["sweep", str(file), *GRID, *more, "--json", str(output), "--quiet"]) == code
    rows: list[dict[str, Any]] = json.loads(output.read_text())["rows"]
    return rows


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The parameters of the cells that an engine is asked about alone, as they come."""
    from vernal.engines import check

    ask, found = check.ask, []

    def counted(task: Any, *rest: Any) -> Any:
        found.append(str(task.parameters))
        return ask(task, *rest)

    monkeypatch.setattr("vernal.engines.check.ask", counted)
    return found


@pytest.mark.parametrize("name", ["below", "near"])
def test_every_cell_has_the_verdict_it_has_alone(name: str, slide: Path, asked: list[str]) -> None:
    rows = swept(slide, "--property", name)
    asked_alone = len(asked)
    alone = {
        (row["parameters"]["a"], row["parameters"]["b"]): vn.check(
            vn.load(slide, **{key: str(value) for key, value in row["parameters"].items()}), property=name
        )[name]
        for row in rows
    }
    assert len(alone) == len(rows) == 63
    found = [(alone[row["parameters"]["a"], row["parameters"]["b"]], row) for row in rows]
    assert [row["verdict"] for _, row in found] == [result.verdict.value for result, _ in found]
    assert {row["verdict"] for row in rows} == {"holds", "violated"}
    assert all(row["scope"] == result.scope and row["seconds"] > 0 for result, row in found)
    assert asked_alone < len(rows) // 2


@pytest.mark.parametrize("engine", ["paths", "bounds", "split", "falsify"])
def test_an_engine_by_name_says_what_it_says(engine: str, slide: Path) -> None:
    rows = swept(slide, "--property", "near", "--engine", engine, code=5 if engine in ("bounds", "falsify") else 0)
    assert {row["engine"] for row in rows} == {engine}
    for row in rows[::7]:
        values = {key: str(value) for key, value in row["parameters"].items()}
        alone = vn.check(vn.load(slide, **values), property="near", engine=engine)["near"]
        assert row["verdict"] == alone.verdict.value


def test_an_interrupted_sweep_keeps_what_is_done(slide: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def known(*arguments: Any) -> Any:
        calls.append(len(arguments[0]))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return known_together(*arguments)

    monkeypatch.setattr(question_batches, "known_together", known)
    rows = swept(slide, "--property", "below", code=130)
    assert len(rows) == sum(calls[:2])
    assert calls == [16, 32, 15]


def test_what_runs_out_of_time_together_is_asked_alone(slide: Path, asked: list[str]) -> None:
    """A limit that common work can only exceed: what it leaves is open, not wrong."""
    rows = swept(slide, "--property", "below", "--timeout", "20")
    few = swept(slide, "--property", "below", "--memory", "0.001", code=5)
    assert {row["verdict"] for row in few} == {"unknown"}
    assert {row["verdict"] for row in rows} == {"holds", "violated"}


def test_waiting_takes_nothing_from_common_work(slide: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine with other work the same is found together: its time is the processor's."""
    plain = swept(slide, "--property", "below")
    before = len(asked)
    monkeypatch.setattr(question_batches, "SECONDS_PER_QUESTION", 0.02)

    def waits(*arguments: Any) -> Any:
        time.sleep(0.6)
        return known_together(*arguments)

    monkeypatch.setattr(question_batches, "known_together", waits)
    assert alike(swept(slide, "--property", "below")) == alike(plain)
    assert len(asked) == 2 * before


def test_several_properties_of_a_cell_come_in_order(slide: Path) -> None:
    rows = swept(slide)
    assert [row["property"] for row in rows] == ["below", "near"] * 63


def test_two_workers_and_a_journal(slide: Path, tmp_path: Path, asked: list[str]) -> None:
    plain = swept(slide, "--property", "below")
    journal = str(tmp_path / "journal")
    rows = swept(slide, "--property", "below", "--workers", "2", "--journal", journal)
    assert len(asked) < 63  # two workers ask none of them here
    before = len(asked)
    again = swept(slide, "--property", "below", "--journal", journal)
    assert len(asked) == before
    assert [row["verdict"] for row in plain] == [row["verdict"] for row in rows]
    assert [dict(row, seconds=0) for row in rows] == [dict(row, seconds=0) for row in again]


SAME = ("parameters", "property", "formula", "verdict", "scope", "engine", "margin")


def alike(rows: list[dict[str, Any]]) -> list[list[Any]]:
    """What has to be the same wherever cells are asked."""
    return [[row.get(name) for name in SAME] for row in rows]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_rows_of_a_pool_are_those_of_one_process(
    method: str, slide: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERNAL_START_METHOD", method)
    plain = swept(slide)
    before = len(asked)
    assert alike(swept(slide, "--on", "workers", "--workers", "2")) == alike(plain)
    assert len(asked) <= before + 1  # one, so that the others begin with what it has loaded


def test_a_killed_worker_loses_no_cell(slide: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vernal.engines import check

    monkeypatch.setenv("VERNAL_START_METHOD", "fork")
    plain, ask, mark = swept(slide), check.ask, slide.with_suffix(".killed")

    def killed_once(task: Any, *rest: Any) -> Any:
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return ask(task, *rest)

    monkeypatch.setattr("vernal.engines.check.ask", killed_once)
    assert alike(swept(slide, "--workers", "2")) == alike(plain)
    assert mark.exists()


def test_a_bad_cell_ends_a_spread_sweep_as_it_ends_one_here(slide: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = slide.with_suffix(".json")
    for more in ([], ["--workers", "2"]):
        arguments = ["sweep", str(slide), "--over", "k=1,2,-1,3", "--property", "below", "--json", str(file), *more]
        assert main(arguments) == 2
        assert "error: in the cell k=-1: " in capsys.readouterr().err
        assert [row["parameters"]["k"] for row in json.loads(file.read_text())["rows"]] == [1, 2]


@pytest.mark.parametrize(
    ("place", "words"),
    [("there", "not 'there'"), ("dir:", "dir:FOLDER"), ("ray://", "not 'ray"), ("here", "one process")],
)
def test_places_that_are_none(place: str, words: str, slide: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(slide), *GRID, "--on", place, "--workers", "2"]) == 2
    assert words in capsys.readouterr().err


@contextmanager
def one_who_works(folder: Path) -> Iterator[None]:
    """`vernal work` in a thread; it waits for the folder, and ends with the run."""
    thread = threading.Thread(target=main, args=(["work", str(folder), "--quiet", "--idle", "20"],), daemon=True)
    thread.start()
    yield
    thread.join(20)
    assert not thread.is_alive()


def test_rows_of_a_folder_are_those_of_one_process(slide: Path, tmp_path: Path, capsys: Any) -> None:
    plain = swept(slide)
    with one_who_works(tmp_path / "jobs"):
        rows = swept(slide, "--on", f"dir:{tmp_path / 'jobs'}")
    assert alike(rows) == alike(plain)
    assert {row["verdict"] for row in rows} == {"holds", "violated"}
    other = slide.with_name("other.toml")
    other.write_text(TASK.replace("y / 2", "y / 3"), encoding="utf-8")
    assert main(["sweep", str(other), *GRID, "--on", f"dir:{tmp_path / 'jobs'}"]) == 2
    assert "belongs to another task" in capsys.readouterr().err


def test_properties_of_a_task_may_be_asked_in_a_folder(slide: Path, tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    with one_who_works(tmp_path / "jobs"):
        code = main(["check", str(slide), "--set", "a=2", "--on", f"dir:{tmp_path / 'jobs'}", "--json", str(file)])
    assert code == 10
    found = {one["property"]: one["verdict"] for one in json.loads(file.read_text())["results"]}
    assert found == {"below": "violated", "near": "violated"}
    assert main(["check", str(slide), "--on", f"dir:{tmp_path}", "--certificate", str(tmp_path / "c")]) == 2


def test_rows_of_ray_are_those_of_one_process(slide: Path) -> None:
    pytest.importorskip("ray", reason="needs the extra ray")
    assert alike(swept(slide, "--on", "ray", "--workers", "2")) == alike(swept(slide))
