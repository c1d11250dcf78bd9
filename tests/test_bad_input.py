"""Bad input gets exit code 2 and one message that says what, where and what next; never a traceback."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.bad_tasks import CASES, Case, write_task, wrong_agent
from vernal.cli.main import main
from vernal.errors import VernalError
from vernal.formats.task.blueprint import load


@dataclass(frozen=True, slots=True)
class Answer:
    """How a program ended, and what it said."""

    code: int
    message: str


def ask(path: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> Answer:
    """Check a task through the command line, in this process."""
    code = main(["check", str(path), *options])
    captured = capsys.readouterr()
    return Answer(code, captured.err + captured.out)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bad_input_is_refused_with_one_message(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VERNAL_DATA", raising=False)
    answer = ask(write_task(case, tmp_path), case.options, capsys)
    assert answer.code == 2, answer.message
    for word in case.words:
        assert word in answer.message
    assert answer.message.count("task.toml:") <= 1, "one mistake, one message"
    assert "Traceback" not in answer.message
    assert "internal error" not in answer.message
    if case.place is not None:
        assert f"task.toml:{case.place}: " in answer.message
        assert "^" in answer.message


def test_the_task_itself_is_good(tmp_path: Path) -> None:
    """Otherwise the table above would prove nothing."""
    assert load(write_task(wrong_agent("none"), tmp_path)).properties.keys() == {"safe"}


def test_there_are_enough_cases() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 45


def test_a_missing_file_and_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = ask(tmp_path / "missing.toml", (), capsys)
    assert missing.code == 2
    assert "missing.toml" in missing.message
    folder = ask(tmp_path, (), capsys)
    assert folder.code == 2
    assert "directory" in folder.message


def test_an_unknown_property_is_named_with_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = ask(write_task(wrong_agent("none"), tmp_path), ("--property", "saef"), capsys)
    assert answer.code == 2
    assert "'saef'" in answer.message
    assert "safe" in answer.message


@pytest.mark.parametrize("case", [case for case in CASES if "1 GiB" in case.name], ids=str)
def test_a_claim_in_a_header_allocates_nothing(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_task(case, tmp_path)
    tracemalloc.start()
    try:
        with pytest.raises(VernalError):
            load(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * 2**20


def test_all_problems_of_a_file_are_shown_at_once(tmp_path: Path) -> None:
    changes = {
        "k = 3": "k = nan",
        "2 * x": "2 * xx",
        "x + pace * push": "x + on",
        "n = 0": "n = 99",
        "x <= 8": "y <= 8",
    }
    with pytest.raises(VernalError) as caught:
        load(write_task(Case("several", (), changes), tmp_path))
    message = str(caught.value)
    for word in ["nan is not a number", "'xx'", "bool", "outside its range [0, 9]"]:
        assert word in message
    # The property uses the broken parameter k, so its own unknown name waits until k is repaired.
    assert "'y'" not in message


def test_one_mistake_is_one_message(tmp_path: Path) -> None:
    """A let that fails to type, used by another let and by two next values, is reported once."""
    changes = {
        "choose(-1, 1)": "choose(-1, on)",
        "2 * x": "2 * push",
        "min(n + 1, 9)": "if(push > speed, n, 0)",
    }
    with pytest.raises(VernalError) as caught:
        load(write_task(Case("one", (), changes), tmp_path))
    assert str(caught.value).count("task.toml:") == 1
