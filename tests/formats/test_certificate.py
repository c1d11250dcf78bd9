"""Certificates: what `vernal check --certificate` writes is accepted by `vernal-check`, a program of its own."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import vernal as vn
from benchmarks.certificates.mutants import attack, attack_flows
from benchmarks.certificates.planning_mutants import attack_plans
from tests.bad_tasks import CASES, Case, write_task
from tests.engine_faults import FAULTS, HALVING, Fault
from vernal.formats.layers import dense
from vernal.formats.onnx.writer import write_onnx
from vernal.model.network import Network, network_input
from vernal.report.document import schema
from vernal_check import clock
from vernal_check.check import check as checked
from vernal_check.errors import Rejected, Unreadable
from vernal_check.main import main as vernal_check
from vernal_check.sorts import check as check_sorts
from vernal_check.syntax import expression
from vernal_check.system import System
from vernal_check.task import load as load_task
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


@pytest.mark.parametrize(("name", "formula"), [("jet", "G[0, 1.5] (y <= 0.9)"), ("windy", "F[0, 1.5] (y >= 0.2)")])
def test_flows_are_certified(name: str, formula: str, tmp_path: Path) -> None:
    task = EXAMPLES / "jet" / f"{name}.toml"
    file = certified(task, formula, tmp_path, engine="flowpipe")
    assert file is not None
    assert checked(file, task).sets == 1
    lines = file.read_text().replace("1.5", "2.5").splitlines()  # further than the claim is true
    file.write_text("\n".join(lines).replace("0.9)", "0.3)").replace("0.2)", "0.4)"))
    with pytest.raises(Rejected):
        checked(file, task)


def test_loops_that_sample_are_certified(tmp_path: Path) -> None:
    task = EXAMPLES / "boat" / "boat.toml"
    file = certified(task, "G[0, 1] (psi >= 0)", tmp_path)
    assert file is not None
    assert checked(file, task).sets == 1
    file.write_text(file.read_text().replace("psi >= 0)", "psi >= 0.5)"))
    with pytest.raises(Rejected):
        checked(file, task)
    for formula, time in (("G[0, 1] (helm <= 1)", "seconds"), ("G[0, 1] (psi >= 0)", "samples")):
        result = vn.check(vn.load(task), formula, time=time, certificate=True, timeout=60)
        assert result.verdict is vn.HOLDS
        assert result.certificate is None


def test_what_cannot_be_certified_says_so(tmp_path: Path) -> None:
    wind = vn.between(0, 1)  # used twice: a text of it would be two disturbances
    rates = {"x": wind - 1, "y": wind - 2}
    state = {"x": vn.real(-9, 9), "y": vn.real(-9, 9)}
    falling = vn.Flow("falling", state=state, init={"x": 1, "y": 1}, rates=lambda s: rates)
    result = vn.check(falling, "G[0, 1] (x <= 1.1)", certificate=tmp_path / "falling.certificate", timeout=60)
    assert result.verdict is vn.HOLDS
    assert result.certificate is None
    assert result.uncertified is not None
    assert "made in Python" in result.uncertified
    assert list(tmp_path.iterdir()) == []
    result.report(tmp_path / "report.html")
    assert "Uncertified: vernal-check reads the task from its file" in (tmp_path / "report.html").read_text()


def test_tasks_on_worlds_are_accepted_with_the_world_that_is_known(tmp_path: Path) -> None:
    task = EXAMPLES / "pendulum" / "pendulum.toml"
    file = certified(task, "G[0,2] (abs(theta) < 0.06)", tmp_path)
    assert file is not None
    assert "the world pendulum" in checked(file, task).trusted
    file.write_text(file.read_text().replace("gravity = 10", "gravity = 0 "))
    with pytest.raises(Unreadable, match="not the world"):
        checked(file, task)


def test_planning_models_are_certified(tmp_path: Path) -> None:
    folder = EXAMPLES / "lift"
    for name in ("lift.jani", "turns.jani2nnet", "turns.nnet", "climbs.jani2nnet", "climbs.nnet", "safe.jani"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    policy, claim = tmp_path / "turns.jani2nnet", f"{tmp_path / 'safe.jani'}#0"
    task = vn.load_jani(tmp_path / "lift.jani", policy=policy, property=claim, constants={"top": 3})
    result = vn.check(task, certificate=tmp_path)["safe"]
    file = tmp_path / "safe.certificate"
    assert result.certificate is not None
    assert "policy" in checked(file).trusted
    text = file.read_text()
    file.write_text(text.replace("G !('the-floor' == 3)", "true"))  # which nobody believes
    assert checked(file).formula == "the property 'safe'"
    file.write_text(text.replace("turns.jani2nnet", "climbs.jani2nnet"))
    with pytest.raises(Rejected, match="not those"):
        checked(file)
    file.write_text(text.replace('[2,false,"moving"]\n', ""))
    with pytest.raises(Rejected, match="leads to"):
        checked(file)
    (tmp_path / "safe.jani").write_text((tmp_path / "safe.jani").read_text().replace('"right": 3', '"right": 2'))
    file.write_text(text)
    with pytest.raises(Rejected, match="not those"):
        checked(file)


def test_forged_certificates_of_planning_models_are_not_accepted() -> None:
    found = attack_plans(seed=3, count=150)  # some of these models have arrays, which the checker does not read
    assert found["accepted"] > 20
    assert found["accepted and false"] == 0
    assert found["genuine, and the checker is wrong"] == 0
    assert found["not read by the checker"] < found["models"]


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
    found = attack(seed=1, count=600)
    assert found["mutants"] >= 600
    assert found["accepted"] > 20  # some mutants are true, and shown
    assert found["accepted and false"] == 0
    assert found["genuine but rejected"] == 0


def test_no_false_claim_about_a_random_flow_is_accepted() -> None:
    found = attack_flows(seed=3, count=8)
    assert found["accepted"]
    assert found["whose claim is false"]
    assert not found["accepted and false"]


def read_by_the_checker(file: Path) -> None:
    read = load_task(file, file.read_bytes(), {}, {})
    check_sorts(read, System(read).scope_of_constants(), expression("true"))


@pytest.mark.parametrize("file", sorted(SYSTEMS.glob("*.toml")), ids=lambda file: file.stem)
def test_the_checker_reads_systems(file: Path) -> None:
    read_by_the_checker(file)


@pytest.mark.parametrize("case", [case for case in CASES if not case.options], ids=str)
def test_what_vernal_refuses_to_read_is_not_accepted(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VERNAL_DATA", raising=False)
    file = write_task(case, tmp_path)
    with pytest.raises(Unreadable):
        read_by_the_checker(file)


def test_certificates_of_tasks_that_are_not_read_are_unchecked(tmp_path: Path) -> None:
    task = written(tmp_path, HALVING)
    file = certified(task, "G[0,3] (x <= 2)", tmp_path, engine="explicit")
    assert file is not None
    known = hashlib.sha256(task.read_bytes()).hexdigest()
    task.write_text(f'{HALVING}[environment.let]\nnever = "clip(x, 0)"\n')
    file.write_text(file.read_text().replace(known, hashlib.sha256(task.read_bytes()).hexdigest()))
    with pytest.raises(Unreadable, match="clip does not take 2 arguments"):
        checked(file, task)
    assert vernal_check([str(file)]) == 5


def test_worlds_may_be_files_below_the_task(tmp_path: Path) -> None:
    (tmp_path / "world.toml").write_text(HALVING)
    task = written(tmp_path, 'vernal = 1\nworld = "world.toml"\n')
    file = certified(task, "G[0,4] (x <= 2)", tmp_path, engine="explicit")
    assert file is not None
    assert "the world world.toml" in checked(file, task).trusted
    (tmp_path / "world.toml").write_text(HALVING.replace("choose(0, 1)", "choose(0, 3)"))
    with pytest.raises(Rejected, match="networks"):
        checked(file, task)
