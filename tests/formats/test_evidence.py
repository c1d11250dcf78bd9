"""Evidence from Python: written, checked again, and rejected where it does not hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import vernal as vn
from vernal.errors import FormatError
from vernal.evidence import evidence_file
from vernal.evidence.result import Result

THERMOSTAT = Path(__file__).parents[2] / "examples/thermostat/thermostat.toml"


def halving() -> vn.System:
    return vn.System(state={"x": vn.real()}, init={"x": vn.interval(-1, 1)}, step=lambda s: {"x": s.x / 2})


def invariant(system: vn.System) -> Result:
    return vn.check(system, "G (x <= 1)")


def test_an_invariant_of_a_python_system_is_checked_again_on_it(tmp_path: Path) -> None:
    system, file = halving(), tmp_path / "half.invariant.json"
    result = invariant(system)
    assert result.evidence is not None
    assert result.evidence.kind == "invariant"
    vn.write_evidence(system, result, file)
    checked = vn.replay(file, system)
    assert checked.judgement == "accepted"
    assert "every step inside" in checked.reason


def test_it_is_no_invariant_of_another_system(tmp_path: Path) -> None:
    system, file = halving(), tmp_path / "half.invariant.json"
    vn.write_evidence(system, invariant(system), file)
    growing = vn.System(state={"x": vn.real()}, init={"x": vn.interval(-1, 1)}, step=lambda s: {"x": s.x * 2})
    assert vn.replay(file, growing).judgement == "rejected"


def test_a_file_that_was_changed_is_rejected(tmp_path: Path) -> None:
    system, file = halving(), tmp_path / "half.invariant.json"
    vn.write_evidence(system, invariant(system), file)
    content = json.loads(file.read_text())
    content["formula"] = "G (x <= 2)"  # true as well, and proven by the same sets
    file.write_text(json.dumps(content))
    checked = vn.replay(file, system)
    assert checked.judgement == "rejected"
    assert "changed" in checked.reason


def test_a_lasso_is_recomputed(tmp_path: Path) -> None:
    system, file = halving(), tmp_path / "still.trace.json"
    result = vn.check(system, "F (x > 2)", engine="lasso")
    assert result.evidence is not None
    assert result.evidence.kind == "lasso"
    vn.write_evidence(system, result, file)
    assert vn.replay(file, system).judgement == "accepted"


def test_a_file_of_a_task_needs_no_system(tmp_path: Path) -> None:
    task = vn.load(THERMOSTAT)
    file = tmp_path / "bad.trace.json"
    vn.write_evidence(task, vn.check(task, property="steady")["steady"], file)
    assert vn.replay(file).judgement == "accepted"


def test_without_evidence_nothing_is_written(tmp_path: Path) -> None:
    system = halving()
    with pytest.raises(vn.InputError, match="no evidence to write"):
        vn.write_evidence(system, vn.check(system, "G[0,3] (x <= 1)"), tmp_path / "none.json")
    assert not list(tmp_path.iterdir())


def test_a_python_system_has_to_be_given(tmp_path: Path) -> None:
    system, file = halving(), tmp_path / "half.invariant.json"
    vn.write_evidence(system, invariant(system), file)
    with pytest.raises(FormatError, match=r"vn\.replay\(file, system\)"):
        vn.replay(file)


@pytest.mark.parametrize("name", ["a" * 300, "/" + "b/" * 3000, "x\0y", "", ".", "..", "/dev/zero", "/proc/self/mem"])
def test_a_task_under_a_name_that_no_task_has_is_refused(name: str, tmp_path: Path) -> None:
    task = vn.load(THERMOSTAT)
    content = evidence_file.document(task, vn.check(task, property="steady")["steady"])
    content["task"]["file"] = name
    file = tmp_path / "odd.trace.json"
    file.write_text(json.dumps({**content, "sha256": evidence_file.fingerprint(content)}))
    with pytest.raises(vn.InputError):
        vn.replay(file)


def test_what_was_checked_has_no_truth_value(tmp_path: Path) -> None:
    system, file = halving(), tmp_path / "half.invariant.json"
    vn.write_evidence(system, invariant(system), file)
    checked = vn.replay(file, system)
    for value in (checked, checked.judgement):
        with pytest.raises(TypeError, match="no truth value"):
            bool(value)
