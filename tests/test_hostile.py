"""The attacks of benchmarks/hostile: one of each family, and that faults are found where there are some."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

from benchmarks.hostile import attempt, volley
from benchmarks.hostile.attacks import FAMILIES
from benchmarks.hostile.attempt import Ended, run
from benchmarks.hostile.format_seeds import SAVED, plant_formats
from benchmarks.hostile.formats import Format, formats
from benchmarks.hostile.mutate import mutated
from benchmarks.hostile.seeds import plant
from benchmarks.hostile.siege import Siege
from benchmarks.hostile.structured import changed_json, changed_lines, changed_members, resigned
from benchmarks.hostile.volley import Fate, Volley, fire
from benchmarks.never_wrong_forged import Run, forge
from tests.forged_judge import Outcome
from tests.portion import seeds
from tests.test_materials import FORMATS
from vernal.cli import exits
from vernal.errors import FormatError, InputError
from vernal.evidence.evidence_file import fingerprint

SLACK = 20.0  # a busy machine is no failure here
NEVER_READ = ("torch (.pth)", "certificate with forms")  # refused whatever is in them; one that shows nothing
FORGED = 200  # files
QUICK = ("explicit", "invariants", "falsify", "lasso")


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Siege:
    return Siege(plant(tmp_path_factory.mktemp("seeds")), tmp_path_factory.mktemp("work"), SLACK)


@pytest.fixture(scope="module")
def known(siege: Siege, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Format]:
    """Every format, with files to start from."""
    return formats(plant_formats(tmp_path_factory.mktemp("formats"), siege.seeds))


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


# Files of every format ------------------------------------------------------------------------------------------------


def test_proper_files_of_every_format_are_read(known: dict[str, Format]) -> None:
    for name, one in known.items():
        for file in one.seeds:
            if name in NEVER_READ:
                with pytest.raises(InputError):
                    one.read(file)
            else:
                one.read(file)


def test_every_package_of_formats_is_attacked(known: dict[str, Format]) -> None:
    words = {**FORMATS, "task": "task"}
    assert [word for word in words.values() if not any(word in name for name in known)] == []


def test_mutated_files_of_every_format_are_read_or_refused(known: dict[str, Format]) -> None:
    """Two of each; `python -m benchmarks.hostile.files` reads thousands."""
    shots = Volley(known, seed=1)
    for number in range(2 * len(known)):
        shots.add(shots.read(number))
    assert shots.faults == []
    assert set(shots.counts) == set(known)


def _reads(file: Path) -> None:
    """What a reader may do wrong, as the file says."""
    match file.read_text():
        case "refuse":
            raise FormatError("not this one")
        case "crash":
            raise KeyError("lost")
        case "warn":
            warnings.warn("look out", stacklevel=1)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)  # as a segmentation fault, but without its dump on the terminal
        case "hang":
            while True:
                time.process_time()


def test_what_becomes_of_files_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volley, "MOST_SECONDS", 0.3)
    said = ["read", "refuse", "crash", "warn", "die", "hang"]
    files = [tmp_path / f"{word}.txt" for word in said]
    for file in files:
        file.write_text(file.stem)
    known = {file.stem: Format([file], lambda content, chance: content, _reads) for file in files}
    shots = Volley(known, keep=tmp_path / "kept")
    fire(shots, range(18), jobs=2)
    fates = {name: set(count) for name, count in shots.counts.items()}
    bad = {"crash": {Fate.CRASHED}, "warn": {Fate.CRASHED}, "die": {Fate.CRASHED}, "hang": {Fate.HUNG}}
    assert fates == {"read": {Fate.READ}, "refuse": {Fate.REFUSED}, **bad}
    assert all(count.total() == 3 for count in shots.counts.values())
    assert len(shots.faults) == 12
    assert sum("ended with -9" in fault for fault in shots.faults) == 3
    assert len(list((tmp_path / "kept").iterdir())) == 12
    assert "| hang" in shots.table()


@pytest.mark.parametrize("seed", seeds(20))
def test_structured_mutations_keep_the_outer_form(seed: int) -> None:
    chance = random.Random(seed)
    content: dict[str, Any] = {"formula": "G (x <= 1)", "steps": [{"x": 1}, {"x": 2.5}], "sha256": "0"}
    written = json.dumps(content).encode()
    json.loads(changed_json(written, chance))
    signed = json.loads(resigned(written, chance))
    assert not isinstance(signed, dict) or signed["sha256"] == fingerprint(signed)
    assert changed_lines(b'{"a":1}\n{"a":2}\n', chance).endswith(b"\n")
    archive = zipfile.ZipFile(io.BytesIO(changed_members((SAVED / "ppo.zip").read_bytes(), chance)))
    assert archive.testzip() is None


# Forged evidence ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forgeries(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The list made by hand, and the first of those that `python -m benchmarks.never_wrong_forged` makes."""
    run = Run(tmp_path_factory.mktemp("forged"), engines=QUICK)
    run.by_hand()
    forge(run, FORGED, 0)
    return run


def test_nothing_false_is_accepted(forgeries: Run) -> None:
    assert forgeries.total(Outcome.FALSE) == 0


def test_nothing_is_accepted_that_does_not_force_its_verdict(forgeries: Run) -> None:
    assert forgeries.total(Outcome.WITHOUT_FORCE) == 0


def test_no_forgery_makes_replay_fail_and_what_engines_gave_is_not_rejected(forgeries: Run) -> None:
    assert forgeries.wrong == forgeries.total(Outcome.FALSE)
    assert forgeries.total(Outcome.FORCED) > 0
