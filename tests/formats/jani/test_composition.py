"""Automata that synchronise: many combinations are one outcome with parts, with the transitions of all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import vernal as vn
from tests.formats.jani import copies
from tests.formats.jani.test_oracle import compare
from tests.portion import seeds
from vernal.errors import InputError
from vernal.evidence.judgement import Judgement
from vernal.formats.jani import composition
from vernal.formats.jani.planning_task import load_jani, open_jani
from vernal.logic.task import Task
from vernal.model.graph import order

MANY, FEW = 1, 10**6  # what MAX_COMBINED is set to: parts wherever there is a choice, or never
EVERYWHERE = {"parts": MANY, "combined": FEW}


def loaded(count: int, folder: Path, unsafe: str = copies.UNSAFE) -> Task:
    return load_jani(copies.write(count, folder), unsafe=unsafe)


@pytest.mark.parametrize("block", range(4))
def test_random_models_in_parts_agree_with_the_oracle(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(composition, "MAX_COMBINED", MANY)
    for seed in seeds(40)[block::4]:
        folder = tmp_path / str(seed)
        folder.mkdir()
        compare(seed, bool(seed % 8 >= 4), folder)


def test_work_and_size_grow_with_the_automata_not_with_their_combinations(tmp_path: Path) -> None:
    def work(count: int) -> tuple[int, int]:
        ticks: list[None] = []
        task = open_jani(copies.write(count, tmp_path), {"unsafe": copies.UNSAFE}, lambda: ticks.append(None)).task({})
        step = task.system.step
        return len(ticks), len(order([step.enabled, *step.next_state]))

    (ticks, nodes), (more_ticks, more_nodes) = work(10), work(40)
    assert more_ticks <= 6 * ticks
    assert more_nodes <= 6 * nodes


@pytest.mark.parametrize("most", EVERYWHERE.values(), ids=EVERYWHERE)
@pytest.mark.parametrize("engine", ["explicit", "predicates", "invariants", "deepening", "auto"])
def test_engines_decide_either_form(engine: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composition, "MAX_COMBINED", most)
    task = loaded(3, tmp_path)
    assert ("edge a0" in task.system.step.names.values()) == (most == MANY)
    assert vn.check(task, engine=engine)["safe"].verdict is vn.HOLDS


@pytest.mark.parametrize("engine", ["explicit", "predicates", "deepening", "falsify"])
def test_a_path_through_parts_replays(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composition, "MAX_COMBINED", MANY)
    found = vn.check(loaded(3, tmp_path, copies.REACHED), engine=engine)["safe"]
    assert found.verdict is vn.VIOLATED
    assert found.trace is not None
    assert len(found.trace.steps) == copies.LAST + 1
    file = tmp_path / "bad.json"
    found.trace.save(file)
    assert vn.replay(file).judgement is Judgement.ACCEPTED
    choices = json.loads(file.read_text())["trace"]["steps"][0]["choices"]
    assert set(choices) == {"edge", "edge a0", "edge a1", "edge a2"}


@pytest.mark.parametrize("most", EVERYWHERE.values(), ids=EVERYWHERE)
@pytest.mark.parametrize(("values", "refused"), [((0, 0, 0), False), ((0, 1, 1), True), ((1, 0, 1), True)])
def test_automata_that_assign_a_variable_at_once_agree_on_it(
    values: tuple[int, int, int], refused: bool, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One edge of the first copy and both of the second assign a variable of the model."""
    monkeypatch.setattr(composition, "MAX_COMBINED", most)
    made = copies.model(2)
    made["variables"] = [{"name": "g", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 1}}]
    edges = [made["automata"][0]["edges"][0], *made["automata"][1]["edges"]]
    for edge, value in zip(edges, values, strict=True):
        edge["destinations"][0]["assignments"].append({"ref": "g", "value": value})
    file = tmp_path / "two.jani"
    file.write_text(json.dumps(made), encoding="utf-8")
    if refused:
        with pytest.raises(InputError, match=r"'g' is assigned differently by another automaton in the same step"):
            load_jani(file, unsafe="g == 1")
    else:
        task = load_jani(file, start="g == 1 & x0 == 0 & x1 == 0", unsafe="g == 1 & x0 == 1")
        assert vn.check(task)["safe"].verdict is vn.HOLDS
