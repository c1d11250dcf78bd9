"""Certificates: what `vernal check --certificate` writes is accepted by `vernal-check`, a program of its own."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import vernal as vn
from benchmarks.certificates.mutants import attack
from tests.engine_faults import FAULTS, HALVING, Fault
from vernal.formats.layers import dense
from vernal.formats.onnx.writer import write_onnx
from vernal.model.network import Network, network_input
from vernal.report.document import schema
from vernal_check import clock
from vernal_check.check import check as checked
from vernal_check.errors import Rejected, Unreadable
from vernal_check.worlds import KNOWN

EXAMPLES = Path(__file__).parents[2] / "examples"
SYSTEMS = Path(__file__).parents[2] / "benchmarks" / "forever" / "systems"


def networks(folder: Path) -> None:
    """A network of two scores that are always equal, one that turns a vector, and a fuse, which remembers."""
    given, pair = network_input(1), network_input(2)
    write_onnx(Network("tie", given, dense(given, np.zeros((2, 1)), np.zeros(2))), folder / "tie.onnx")
    turned = dense(pair, np.array([[0.0, 1.0], [0.0, 0.0]]), np.zeros(2))
    write_onnx(Network("turned", pair, turned), folder / "turned.onnx")
    (folder / "fuse.onnx").write_bytes((SYSTEMS.parent / "fuse.onnx").read_bytes())


def written(folder: Path, text: str) -> Path:
    networks(folder)
    file = folder / "task.toml"
    file.write_text(text)
    return file


def certified(task: Path, formula: str, folder: Path, **options: object) -> Path | None:
    """The certificate of a claim that holds; None where there is none."""
    target = folder / "claim.certificate"
    result = vn.check(vn.load(task), formula, certificate=target, timeout=60, **options)  # type: ignore[call-overload]
    assert result.verdict is vn.HOLDS, result
    assert (result.certificate is None) == (result.uncertified is not None)
    return target if result.certificate is not None else None


@pytest.mark.parametrize(
    ("system", "formula"),
    [
        ("counter", "G (n <= 9)"),
        ("counter", "G F (n == 0)"),
        ("counter", "(n == 5) R (n <= 5)"),
        ("counter", "AG EF (n == 7)"),
        ("chasing", "G (caught -> G caught)"),
        ("chasing", "AG EF caught"),
        ("chasing", "EF caught"),
        ("counter", "G[0,20] (n == 3 -> X (n == 4))"),
        ("counter", "(n < 5) W (n == 5)"),
        ("counter", "!(n < 5 U n == 6)"),
    ],
)
def test_what_explicit_proves_is_accepted(system: str, formula: str, tmp_path: Path) -> None:
    file = certified(SYSTEMS / f"{system}.toml", formula, tmp_path, engine="explicit")
    assert file is not None
    assert checked(file, SYSTEMS / f"{system}.toml").sets


def test_bounded_claims_are_followed(tmp_path: Path) -> None:
    task = written(tmp_path, HALVING.replace("x = 0\n", 'x = "[0, 2]"\n', 1))
    file = certified(task, "G[0,4] (x <= 2)", tmp_path)
    assert file is not None
    assert checked(file, task).formula == "G[0,4] (x <= 2)"
    assert '"walk":true' in file.read_text()


def test_invariants_of_boxes_are_certificates(tmp_path: Path) -> None:
    task = written(tmp_path, HALVING.replace("x = 0\n", 'x = "[0, 1]"\n', 1))
    file = certified(task, "G (x <= 2)", tmp_path, engine="invariants")
    assert file is not None
    assert checked(file, task).sets


@pytest.mark.parametrize(
    ("system", "formula"),
    [
        ("blinking", "G F (light == 1)"),
        ("burning", "F (left[0] == 0)"),
        ("following", "G (x - y <= 0.01)"),
        ("leaking", "(abs(x) <= 1) W (abs(x) >= 0.9)"),
        ("drifting", "G (x >= 0)"),
    ],
)
def test_memories_inductions_and_sets_without_an_end_are_certified(system: str, formula: str, tmp_path: Path) -> None:
    file = certified(SYSTEMS / f"{system}.toml", formula, tmp_path)
    assert file is not None
    assert checked(file, SYSTEMS / f"{system}.toml").sets


def test_a_memory_starts_where_the_task_says(tmp_path: Path) -> None:
    text = (SYSTEMS / "burning.toml").read_text().replace("../fuse.onnx", "fuse.onnx")
    (tmp_path / "fuse.onnx").write_bytes((SYSTEMS.parent / "fuse.onnx").read_bytes())
    (tmp_path / "burning.toml").write_text(text)
    file = certified(tmp_path / "burning.toml", "G[0,5] (x <= 7)", tmp_path)
    assert file is not None
    assert checked(file, tmp_path / "burning.toml").sets == 1
    lines = file.read_text().splitlines()
    cells = json.loads(lines[1])
    cells["set"][1] = [3, 3.5]
    file.write_text(f"{lines[0]}\n{json.dumps(cells)}\n")
    with pytest.raises(Rejected, match="initial states"):
        checked(file, tmp_path / "burning.toml")


def test_a_report_shows_the_sets_as_a_graph(tmp_path: Path) -> None:
    result = vn.check(vn.load(SYSTEMS / "counter.toml"), "G (n <= 9)", engine="explicit", certificate=True)
    result.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "10 sets that show the claim; vernal-check accepts it." in page
    assert (
        '<tr id="c0-0"><td>2</td><td>n = 0</td><td><a href="#c0-9">11</a></td><td><a href="#c0-1">3</a></td></tr>'
        in page
    )
    assert "point at a set" in page


def test_every_line_is_of_the_schema(tmp_path: Path) -> None:
    task = written(tmp_path, HALVING)
    file = certified(task, "G[0,3] (x <= 2)", tmp_path, engine="explicit")
    assert file is not None
    for line in file.read_text().splitlines():
        jsonschema.Draft202012Validator(schema("certificate")).validate(json.loads(line))


def test_what_cannot_be_certified_says_so(tmp_path: Path) -> None:
    result = vn.check(vn.load(EXAMPLES / "jet" / "jet.toml"), certificate=tmp_path, timeout=60)["safe"]
    assert result.verdict is vn.HOLDS
    assert result.certificate is None
    assert result.uncertified is not None
    assert "continuous time" in result.uncertified
    assert list(tmp_path.iterdir()) == []
    result.report(tmp_path / "report.html")
    assert "Uncertified: certificates of models in continuous time" in (tmp_path / "report.html").read_text()


def test_tasks_on_worlds_are_accepted_with_the_world_that_is_known(tmp_path: Path) -> None:
    task = EXAMPLES / "pendulum" / "pendulum.toml"
    file = certified(task, "G[0,2] (abs(theta) < 0.06)", tmp_path)
    assert file is not None
    assert "the world pendulum" in checked(file, task).trusted
    file.write_text(file.read_text().replace("gravity = 10", "gravity = 0 "))
    with pytest.raises(Unreadable, match="not the world"):
        checked(file, task)


def test_the_checker_knows_every_world() -> None:
    known = {name: hashlib.sha256(vn.worlds.text(name).encode()).hexdigest() for name in vn.worlds.names()}
    assert known == KNOWN


def test_nothing_is_kept_unless_it_is_asked_for() -> None:
    result = vn.check(vn.load(SYSTEMS / "counter.toml"), "G (n <= 9)")
    assert result.cover is None
    assert result.certificate is None
    assert result.uncertified is None


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_seeded_faults_do_not_fool_the_checker(fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = written(tmp_path, f'{fault.task}[properties]\nclaim = "{fault.formula}"\n')
    assert vn.check(vn.load(task), timeout=60)["claim"].verdict is vn.VIOLATED
    with monkeypatch.context() as patch:
        fault.seed(patch)
        result = vn.check(vn.load(task), engine=fault.engine, certificate=tmp_path, timeout=60)["claim"]
        assert result.verdict is vn.HOLDS, "the fault does not show"
        assert result.certificate is not None, result.uncertified
    clock.limit(60)
    with pytest.raises(Rejected):
        checked(tmp_path / "claim.certificate", task)


def test_a_changed_task_is_not_accepted(tmp_path: Path) -> None:
    task = written(tmp_path, HALVING)
    file = certified(task, "G[0,3] (x <= 2)", tmp_path, engine="explicit")
    assert file is not None
    task.write_text(HALVING.replace("choose(0, 1)", "choose(0, 3)"))
    with pytest.raises(Unreadable, match="hash"):
        checked(file, task)


def test_mutants_are_not_accepted_unless_they_are_true() -> None:
    found = attack(seed=1, count=200)
    assert found["mutants"] >= 200
    assert found["accepted"] > 20  # some mutants are true, and shown
    assert found["accepted and false"] == 0
    assert found["genuine but rejected"] == 0
