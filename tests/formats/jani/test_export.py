"""Abstractions written as JANI and read back: the same states, transitions, starts and unsafe states."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import vernal as vn
from tests.engines.predicates.test_abstraction_data import handed_out
from tests.planning_answers import drawn
from tests.portion import seeds
from vernal.errors import InputError
from vernal.formats.jani.composition import read_model
from vernal.formats.jani.entries import read_json
from vernal.formats.jani.export import write_abstraction
from vernal.formats.jani.planning_task import load_jani


@pytest.mark.parametrize("seed", seeds(12))
def test_read_back_it_is_the_same(seed: int, tmp_path: Path) -> None:
    made, file = handed_out(drawn(1200 + seed)), tmp_path / "abstraction.jani"
    if not len(made):
        pytest.skip("no initial state")
    write_abstraction(made, file)
    outcomes = read_model(read_json(file)[0], {}).outcomes
    assert sorted(str(one.label) for one in outcomes) == sorted(str(move.label) for move in made.transitions)
    task = load_jani(file, property="#0")
    whole = vn.check(task, f"G (state <= {len(made) - 1})", engine="explicit")
    assert whole.statistics["states"] == len(made)
    assert whole.statistics["transitions"] == made.pairs
    assert vn.check(task, engine="explicit")["safe"].verdict is (vn.VIOLATED if made.unsafe else vn.HOLDS)
    for state in range(len(made)):
        start = vn.check(task, f"!(state == {state})", engine="explicit").verdict
        assert (start is vn.VIOLATED) == (state < len(made.starts))


def test_it_is_plain_jani(tmp_path: Path) -> None:
    """One property in the words of the standard, one automaton, predicates and their values in the description."""
    made, file = handed_out(drawn(1200)), tmp_path / "abstraction.jani"
    write_abstraction(made, file, "mine")
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written["name"] == "mine"
    assert written["properties"][0]["expression"]["op"] == "filter"
    lines = written["metadata"]["description"].splitlines()
    assert len(lines) == 2 + len(made.predicates) + len(made)
    assert lines[-1].split(": ")[1] == "".join("01"[value] for value in made.values[-1].tolist())


def test_a_condition_that_is_kept_is_a_property(tmp_path: Path) -> None:
    """A file without PA properties may say it as JANI does; a bound is left aside."""
    file = tmp_path / "abstraction.jani"
    write_abstraction(handed_out(drawn(1200)), file)
    content = json.loads(file.read_text(encoding="utf-8"))
    content["properties"][0]["expression"]["values"]["exp"]["step-bounds"] = {"upper": 3}
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match="no PA property"):
        load_jani(file, property="#0")


def test_properties_about_chances_are_named_where_they_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "abstraction.jani"
    write_abstraction(handed_out(drawn(1200)), file)
    content = json.loads(file.read_text(encoding="utf-8"))
    content["properties"][0]["name"] = "likely"
    content["properties"][0]["expression"]["values"]["op"] = "Pmax"
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=r"no PA property in this file \(likely: about probabilities"):
        load_jani(file, property="#0")
