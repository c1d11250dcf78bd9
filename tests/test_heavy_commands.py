"""The heavy commands of benchmarks/limits: there are seventy-four, some end in time here, and what is late is told."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from benchmarks.hostile import attempt
from benchmarks.limits import __main__ as limits
from benchmarks.limits.entry import Heavy
from benchmarks.limits.heavy import heavy
from benchmarks.limits.watch import Watched, watch
from tests.portion import every


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Heavy]:
    return {entry.name: entry for entry in heavy(tmp_path_factory.mktemp("heavy"))}


def test_there_are_seventy_four_and_their_files(commands: dict[str, Heavy]) -> None:
    assert len(commands) == 74
    for entry in commands.values():
        assert Path(entry.arguments[1]).exists(), entry.name


@pytest.mark.parametrize("name", ["100,000 symbols", "ten blocks predicates", "flow, 50 variables flowpipe"])
def test_a_heavy_command_is_unknown_after_its_limit(name: str, commands: dict[str, Heavy]) -> None:
    """Who goes on for a minute is killed, and ends with another code; seconds are measured by benchmarks.limits."""
    ended = watch([*commands[name].arguments, "--timeout", "0.2"], 0.2)
    assert (ended.code, ended.verdict) == (5, "unknown"), ended.said


@pytest.mark.parametrize(
    "name",
    every(
        2,
        [
            "report of twenty claims",
            "convert, 3000-1000-1000-5",
            "explain, a tree of nine steps",
            "simulate, 16 million positions",
            "replay, a thousand ifs",
        ],
    ),
)
def test_a_command_that_was_stopped_ends_with_5(name: str, commands: dict[str, Heavy]) -> None:
    ended = watch([*commands[name].arguments, "--timeout", "0.2"], 0.2)
    assert ended.code == 5, ended.said
    assert "timeout after" in ended.said


def test_what_is_late_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def command(arguments: list[str]) -> int:
        print("unknown   p: G x  (auto)\n          reason: holds up to step 3")
        began = time.process_time()
        while time.process_time() - began < 0.5:
            pass
        return 5

    monkeypatch.setattr(attempt, "main", command)  # what the child process calls
    ended = watch([], 0.1)
    assert ended.verdict == "unknown"
    assert ended.late > 0.2  # it works for half a second of the processor


@pytest.mark.parametrize(
    ("ended", "fault"),
    [
        (Watched(0.5, 0.4, 0.2, 5, ""), ""),
        (Watched(9.0, 0.4, 0.2, 5, ""), ""),  # a busy machine
        (Watched(2.5, 2.2, 0.2, 5, ""), "late"),
        (Watched(0.5, 0.4, 0.7, 5, ""), "large"),
        (Watched(0.5, 0.4, 0.2, 70, ""), "exit 70"),
    ],
)
def test_faults_are_told(ended: Watched, fault: str) -> None:
    assert limits._fault(ended, 0.5) == fault
