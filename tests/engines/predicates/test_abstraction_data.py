"""Abstractions as plain data, and shortest unsafe paths: what every concrete state says."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import vernal as vn
from tests.formats.jani import lift
from tests.planning_answers import abstraction, ask, drawn
from tests.planning_loops import PlanningCase
from tests.planning_oracle import AbstractAnswer
from tests.portion import seeds
from vernal.engines.predicates import danger
from vernal.engines.predicates.concrete_states import ConcretePath, ConcreteStates
from vernal.engines.predicates.shortest_paths import NONE_SHORTER, ShorterPath
from vernal.errors import Stopped
from vernal.evidence.candidates import path_of
from vernal.evidence.finite_abstraction import FiniteAbstraction, StartVerdict
from vernal.formats.jani.planning_task import load_jani
from vernal.run.budget import Budget


def handed_out(case: PlanningCase) -> FiniteAbstraction:
    found = ask(case, case.predicates, abstraction=True, refine=False).abstraction
    assert isinstance(found, FiniteAbstraction)
    return found


def cells(abstraction: FiniteAbstraction) -> list[tuple[bool, ...]]:
    return [tuple(row) for row in abstraction.values.tolist()]


@pytest.mark.parametrize("seed", seeds(10))
def test_all_of_the_abstraction_is_handed_out(seed: int) -> None:
    case = drawn(1200 + seed)
    made = handed_out(case)
    own = cells(made)
    assert AbstractAnswer(
        frozenset(own[: len(made.starts)]),
        frozenset(own),
        frozenset((own[move.source], own[move.target]) for move in made.transitions),
        frozenset(own[state] for state in made.unsafe),
    ) == case.oracle.abstraction(made.predicates)
    assert len(set(own)) == len(made)
    assert made.unsafe == tuple(range(made.unsafe[0], made.unsafe[0] + len(made.unsafe))) if made.unsafe else True


@pytest.mark.parametrize("seed", seeds(10))
def test_every_start_has_the_verdict_of_its_states(seed: int) -> None:
    case = drawn(1300 + seed)
    made, oracle = handed_out(case), case.oracle
    unsafe = set()
    for start in oracle.starts:
        reached = oracle._closure({start}, lambda state: oracle.after[state])
        if any(oracle.truths([case.unsafe], state)[0] for state in reached):
            unsafe.add(oracle.truths(made.predicates, start))
    for state, verdict in enumerate(made.starts):
        assert verdict is (StartVerdict.UNSAFE if cells(made)[state] in unsafe else StartVerdict.SAFE)
        assert (state in made.paths) == (verdict is StartVerdict.UNSAFE)


def test_every_label_of_a_transition_is_listed(tmp_path: Path) -> None:
    """At floor 1 both actions have the same score, so up and down lead from the low floors back to them."""
    model = lift.write(tmp_path)
    task = load_jani(model, property=f"{tmp_path / 'pa.jani'}#0", constants={"top": 3})
    result = vn.check(task, task.properties["never_at_three"], engine="predicates", options={"abstraction": True})
    made = result.abstraction
    assert isinstance(made, FiniteAbstraction)
    where = {state: "".join("01"[v] for v in row) for state, row in enumerate(made.values.tolist())}
    low, low_moving, high, high_moving = "101", "011", "100", "010"  # still, moving, at most 1
    assert {(where[m.source], m.label, where[m.target]) for m in made.transitions} == {
        (low, "down", low),
        (low, "up", low),
        (low, "up", low_moving),
        (low, "up", high_moving),
        (low_moving, None, low),
        (high_moving, None, high),
        (high, "down", low),
        (high, "down", high),
    }
    assert made.pairs == result.statistics["transitions"] == 7


def test_labels_are_those_of_the_model(tmp_path: Path) -> None:
    """Also where the policy only compares scores, and of actions that the policy has no say in."""
    for network, options in ((lift.ALWAYS_UP, {"filter": "applicable"}), (lift.UP, {})):
        task = load_jani(
            lift.write(tmp_path, network=network), property=f"{tmp_path / 'pa.jani'}#0", constants={"top": 3}, **options
        )
        assert task.labels == {"edge": ("up", "up", "down", None)}
        asked = task.properties["never_at_three"]
        made = vn.check(task, asked, engine="predicates", options={"abstraction": True}).abstraction
        assert isinstance(made, FiniteAbstraction)
        assert {move.label for move in made.transitions} == {"up", "down", None}


def test_nothing_is_handed_out_unless_asked_for() -> None:
    case = drawn(1200)
    assert ask(case, case.predicates).abstraction is None


def test_it_travels() -> None:
    made = handed_out(drawn(1201))
    back = pickle.loads(pickle.dumps(made))
    assert (back.predicates, back.starts, back.transitions) == (made.predicates, made.starts, made.transitions)
    assert (back.values == made.values).all()


# Shortest paths -------------------------------------------------------------------------------------------------------


def distance(case: PlanningCase) -> int | None:
    """The number of steps to the nearest unsafe state, level by level."""
    oracle = case.oracle
    level, seen, steps = set(oracle.starts), set(oracle.starts), 0
    while level:
        if any(oracle.truths([case.unsafe], state)[0] for state in level):
            return steps
        level = {after for state in level for after in oracle.after[state]} - seen
        seen |= level
        steps += 1
    return None


@pytest.mark.parametrize("seed", seeds(20))
def test_a_shortest_path_is_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where only a few of the initial states were followed in search of any path."""
    monkeypatch.setattr(danger, "MAX_STARTS", 1)
    monkeypatch.setattr(danger, "DRAWN", 1)
    case = drawn(1400 + seed)
    result = ask(case, case.predicates, shortest=True)
    if result.verdict is vn.VIOLATED:
        assert result.step == distance(case)
        assert NONE_SHORTER in result.notes


@pytest.mark.parametrize("seed", seeds(10))
def test_a_longer_path_is_shortened(seed: int) -> None:
    case = drawn(1400 + seed)
    made, steps = abstraction(case, case.predicates[:2]), distance(case)
    made.explore()
    states = ConcreteStates(made.model, made.search.policy)

    def shorter_than(length: int) -> ConcretePath | None:
        return ShorterPath(made, states, Budget(60), length).find()

    if steps is None:
        assert shorter_than(9) is None
        return
    assert shorter_than(steps) is None
    for more in (1, 4):
        found = shorter_than(steps + more)
        assert found is not None
        trace = path_of(case.system, found.candidate(made.model))
        assert trace is not None
        assert len(trace) == steps + 1


def test_a_search_that_is_cut_short_keeps_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(search: ShorterPath) -> None:
        raise Stopped("timeout after 1 s")

    monkeypatch.setattr(ShorterPath, "find", stop)
    seeds = (seed for seed in range(1400, 1440) if distance(drawn(seed)))
    result = ask(case := drawn(next(seeds)), case.predicates, shortest=True)
    assert result.verdict is vn.VIOLATED
    assert "a shorter unsafe path is not excluded: timeout after 1 s" in result.notes
