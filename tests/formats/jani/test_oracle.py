"""Random planning models against an explicit-state oracle that reads the same JSON with other code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from tests.jani_models import write_planning_files
from tests.jani_oracle import PlanningOracle, State, read_oracle
from tests.portion import seeds
from vernal.engines.explicit.enumeration import Enumeration
from vernal.formats.jani.planning_task import NOT_STUCK, load_jani
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.initial import Valuation
from vernal.model.sorts import BOOL, Kind
from vernal.run.budget import Budget

SEEDS = seeds(40)


@pytest.mark.parametrize("filtered", [False, True], ids=["argmax", "applicable"])
@pytest.mark.parametrize("block", range(10))
def test_states_transitions_and_verdicts_agree(block: int, filtered: bool, tmp_path: Path) -> None:
    for seed in SEEDS[block::10]:
        folder = tmp_path / str(seed)
        folder.mkdir()
        compare(seed, filtered, folder)


def compare(seed: int, filtered: bool, folder: Path) -> None:
    """One model: reachable states, transitions, depths and both verdicts."""
    files = write_planning_files(seed, folder)
    filtered = filtered and files.policy is not None
    oracle = read_oracle(files.model, folder / "pa.jani", 0, {"K": 1}, filtered)
    options = {"filter": "applicable"} if filtered else {}
    task = load_jani(files.model, property=files.property, constants={"K": 1}, **options)
    explored = oracle.explore()
    name = next(iter(task.properties))
    states, edges = reachable(task, oracle)
    assert states == explored.depth, seed
    assert edges == explored.edges, seed
    found = vn.check(task, engine="explicit")
    shortest = min(explored.unsafe.values(), default=None)
    assert (found[name].verdict is vn.VIOLATED) == (shortest is not None), seed
    assert found[name].step == shortest, seed
    assert found[name].vacuous == (not explored.depth or task_is_trivial(task, name)), seed
    if files.policy is not None:
        assert (found[NOT_STUCK].verdict is vn.VIOLATED) == bool(explored.stuck), seed


def task_is_trivial(task: Task, name: str) -> bool:
    """Whether the claim is true whatever the system does."""
    return Question(task.system, task.properties[name]).claim.vacuous


def reachable(task: Task, oracle: PlanningOracle) -> tuple[dict[State, int], set[tuple[State, State]]]:
    """States with their depths, and transitions, as the engine `explicit` finds them."""
    name = next(iter(task.properties))
    enumeration = Enumeration(Question(task.system, task.properties[name]), Budget())
    graph = enumeration.run()
    states = [named(enumeration.columns.valuation(row.tolist()), task, oracle) for row in graph.rows]
    sources, targets = graph.state[graph.successors.owners], graph.state[graph.successors.others]
    edges = {(states[a], states[b]) for a, b in zip(np.asarray(sources), np.asarray(targets), strict=True)}
    return dict(zip(states, graph.depth.tolist(), strict=True)), edges


def named(values: Valuation, task: Task, oracle: PlanningOracle) -> State:
    """A state as the oracle writes it."""
    found: dict[str, object] = {}
    for variable in task.system.state:
        (number,) = values[variable.var]
        label = variable.sort.labels[int(number)] if variable.sort.kind is Kind.ENUM else None
        found[variable.name] = label or (bool(number) if variable.sort == BOOL else int(number))
    return tuple((name, found.get(name, known[0])) for name, known in oracle.ranges.items())
