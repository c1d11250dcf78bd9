"""Published planning models: the numbers of data:ppa/expected.json, as far as explicit enumeration tells them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import vernal as vn
from tests.formats.jani.test_oracle import reachable
from tests.jani_oracle import read_oracle
from vernal.errors import InputError
from vernal.formats.jani.planning_task import load_jani
from vernal.interpret.discrete.initial_states import start_boxes
from vernal.logic.task import Task

pytestmark = pytest.mark.data

Json = Any
BLOCKS = "plaja/icaps22/blocksworld"
UNIT_MODELS = [
    *("for_pa_cegar.jani", "for_pa_cegar2.jani", "for_pa_cegar3.jani"),
    *("for_nn_sat.jani", "for_ppa_simple.jani", "for_solution_enumerator.jani"),  # with arrays
]
SAFETY = f"{BLOCKS}/additional_properties/safety_verification/cost05"


def published(file: str) -> Path:
    return Path(os.environ["VERNAL_DATA"]) / "ppa" / file


def blocks(n: int, limit: int, policy: str, number: int = 0) -> Task:
    folder = f"{SAFETY}/blocksworld_{n}_{limit}/compact_starts_cost_predicates_afterwards/{policy}"
    (file,) = published(folder).glob("pa_*.jani")
    return load_jani(published(f"{BLOCKS}/models/cost05/blocksworld_{n}_{limit}.jani"), property=f"{file}#{number}")


def test_four_blocks() -> None:
    """14 starts and 29 reachable states, none of them unsafe; and all of it as the oracle finds it."""
    model = published("plaja/blocksworld/cost_terminal/models/legacy_enc/blocksworld_4_3.jani")
    constants = {"failing_probability": 0, "item_cost_bound": 1}
    task = load_jani(model, property="#0", constants=constants)
    found = vn.check(task, engine="explicit")
    assert [result.verdict for result in found.values()] == [vn.HOLDS, vn.HOLDS]
    assert next(iter(found.values())).statistics["states"] == 29
    oracle = read_oracle(model, model, 0, constants)
    states, edges = reachable(task, oracle)
    assert sum(depth == 0 for depth in states.values()) == 14
    after = {oracle_state for state in states for _, oracle_state in _successors(oracle, state)}
    assert after <= set(states)
    assert edges == {(state, other) for state in states for _, other in _successors(oracle, state)}


def _successors(oracle: Any, state: Any) -> list[tuple[str | None, Any]]:
    ways = oracle.decisions(dict(state))
    return [(label, tuple(after.items())) for left in ways for label, after in left]


@pytest.mark.parametrize(("number", "predicates"), [(0, 43), (1, 49)])
def test_six_blocks_are_read(number: int, predicates: int) -> None:
    task = blocks(6, 5, "learned_cost05_non_terminal", number)
    boxes = start_boxes(task.system.initial)
    assert boxes is not None
    assert (len(task.predicates), boxes.count) == (predicates, 202)
    assert task.counts["outcomes"] == 144


def test_eight_blocks_without_costs(tmp_path: Path) -> None:
    """The policy ignores costs, so that they can be left out: 4139 starts, 6569 states, 13138 transitions, all safe."""
    model, pa = without_costs(tmp_path)
    task = load_jani(model, property=str(pa))
    result = next(iter(vn.check(task, engine="explicit").values()))
    boxes = start_boxes(task.system.initial)
    assert boxes is not None
    assert boxes.count == 4139
    assert (result.verdict, result.statistics["states"], result.statistics["transitions"]) == (vn.HOLDS, 6569, 13138)


def without_costs(folder: Path) -> tuple[Path, Path]:
    """Eight blocks with everything left out that mentions a cost."""
    model = json.loads(published(f"{BLOCKS}/models/cost05/blocksworld_8_7.jani").read_text())
    files = published(f"{SAFETY}/blocksworld_8_7/compact_starts_cost_predicates_afterwards/learned_no_cost")
    model["variables"] = [entry for entry in model["variables"] if not is_cost(entry["name"])]
    for edge in model["automata"][0]["edges"]:
        edge["guard"]["exp"] = costless(edge["guard"]["exp"])
        for destination in edge["destinations"]:
            destination["assignments"] = [one for one in destination["assignments"] if not is_cost(one["ref"])]
    start = json.loads((files / "start.jani").read_text())
    start["exp"]["expression"] = costless(start["exp"]["expression"])
    reach = json.loads((files / "reach.jani").read_text())
    policy = str(published(f"{BLOCKS}/networks/blocksworld_8_7/learned_no_cost/blocksworld_8_7_16_16.jani2nnet"))
    asked = {"name": "pa", "expression": {"op": "PA", "start": start, "reach": reach, "file": policy}}
    (folder / "model.jani").write_text(json.dumps(model))
    (folder / "pa.jani").write_text(json.dumps({"properties": [asked]}))
    return folder / "model.jani", folder / "pa.jani"


def is_cost(name: Json) -> bool:
    return isinstance(name, str) and (name.startswith("cost_block") or name == "step_cost")


def costless(condition: Json) -> Json:
    """A conjunction without the parts that mention a cost."""
    if isinstance(condition, dict) and condition["op"] == "∧":
        left, right = costless(condition["left"]), costless(condition["right"])
        return right if left is True else left if right is True else {**condition, "left": left, "right": right}
    return True if "cost" in json.dumps(condition) else condition


def test_racetrack() -> None:
    """999 starts; the shortest way into a wall has three steps."""
    folder = published("racetrack_reconstructed")
    model, pa = folder / "racetrack_barto-small_simple.jani", folder / "pa_racetrack_barto-small_16_16.jani"
    task = load_jani(model, property=str(pa))
    boxes = start_boxes(task.system.initial)
    assert boxes is not None
    assert boxes.count == 999
    name = next(iter(task.properties))
    result = vn.check(task, property=name, engine="explicit")[name]
    assert (result.verdict, result.step) == (vn.VIOLATED, 3)
    claim = str(task.properties[name]).replace("G ", "G[0,2] ", 1)
    assert vn.check(task, claim, engine="explicit").verdict is vn.HOLDS
    oracle = read_oracle(model, pa, 0)
    states, edges = reachable(task, oracle)
    assert {state for state, depth in states.items() if depth == 0} == set(oracle.starts())
    some = set(list(states)[::20])  # the oracle takes its time
    assert {edge for edge in edges if edge[0] in some} == {(a, b) for a in some for _, b in _successors(oracle, a)}


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("for_pa.jani", "may be outside the array"),
        ("for_pa2.jani", "may be outside the array"),
        ("for_succ_gen.jani", "may be outside the array"),
        ("for_to_z3.jani", "may be assigned twice at once"),
        ("for_ppa_racetrack.jani", "not supported"),
    ],
)
def test_what_is_refused(file: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_jani(published(f"plaja/unit/{file}"))


@pytest.mark.parametrize("file", UNIT_MODELS)
def test_unit_models(file: str) -> None:
    """Silent edges and several automata: reachable states, transitions and verdicts as the oracle finds them."""
    model = published(f"plaja/unit/{file}")
    count = sum(entry["expression"].get("op") == "PA" for entry in json.loads(model.read_text())["properties"])
    for number in range(count):
        task = load_jani(model, property=f"#{number}")
        oracle = read_oracle(model, model, number)
        explored = oracle.explore()
        assert reachable(task, oracle) == (explored.depth, explored.edges)
        result = next(iter(vn.check(task, engine="explicit").values()))
        assert result.step == min(explored.unsafe.values(), default=None)
