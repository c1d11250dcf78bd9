"""The attacks of benchmarks/hostile: one of each family, and that faults are found where there are some."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest

from benchmarks.hostile import attempt
from benchmarks.hostile.attacks import FAMILIES
from benchmarks.hostile.attempt import Ended, run
from benchmarks.hostile.mutate import mutated
from benchmarks.hostile.seeds import plant
from benchmarks.hostile.siege import Siege
from vernal.cli import exits

SLACK = 20.0  # a busy machine is no failure here


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Siege:
    return Siege(plant(tmp_path_factory.mktemp("seeds")), tmp_path_factory.mktemp("work"), SLACK)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_attack_of_each_family_fails(family: str, siege: Siege) -> None:
    attack, _ = FAMILIES[family]
    assert attack(siege, random.Random(f"0 {family}")) is None


@pytest.mark.parametrize(
    ("ended", "fault"),
    [
        (Ended(exits.OK, 1.0, 0.1, "holds\n"), None),
        (Ended(exits.INTERNAL, 1.0, 0.1, ""), "internal error"),
        (Ended(exits.OK, 1.0, 0.1, "Traceback (most recent call last)"), "internal error"),
        (Ended(-signal.SIGSEGV, 1.0, 0.1, ""), "ended with -11"),
        (Ended(exits.OK, 4.5, 0.1, ""), "ended after 4.5 s"),
        (Ended(exits.OK, 1.0, 2.0, ""), "took 2.00 GiB"),
        (Ended(exits.OK, 1.0, 0.1, "a\x1b[2Kb"), "control character"),
    ],
)
def test_faults_are_told(ended: Ended, fault: str | None) -> None:
    found = ended.fault(2.0, 1.0)
    assert found is None if fault is None else fault in str(found)


def test_a_command_runs_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def command(arguments: list[str]) -> int:
        print(os.getpid(), arguments)
        raise RuntimeError("lost")

    monkeypatch.setattr(attempt, "main", command)
    ended = run(["x"], 1.0, SLACK)
    assert ended.code == 99
    assert str(os.getpid()) not in ended.said


def test_mutations_follow_their_seed(tmp_path: Path) -> None:
    content = b"T = 20.5\nmode = 1e5\n" * 20
    made = [mutated(content, random.Random(seed)) for seed in range(200)]
    assert made == [mutated(content, random.Random(seed)) for seed in range(200)]
    assert len(set(made)) > 150
