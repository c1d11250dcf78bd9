"""The reachable graph: states, positions, transitions, and what stops an enumeration."""

from __future__ import annotations

import pytest

from tests.cases import DEPENDS, DESCENT, ROOMS, TEN, TWO_COINS, UNTAKEN, read
from vernal.engines.check import ask, parse_formula
from vernal.engines.explicit.enumeration import Enumeration, TooManyStates
from vernal.engines.explicit.graph import Graph
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED
from vernal.logic.question import Question
from vernal.run.budget import Budget
from vernal.sets.finite.columns import NotFinite

COUNT = """
[state]
n = "int"
[init]
n = 0
[environment.next]
n = "n + 1"
"""

NOISY = """
[state]
x = "int"
[init]
x = 0
[agents.a]
policy = "late.onnx"
observe = ["choose(0, 4)"]
labels = ["WAIT", "GO"]
[environment.next]
x = "if(a == GO, 1, 0)"
"""


def graph(model: str, formula: str, depth: int | None = None, most: int | None = None) -> Graph:
    task = read(model)
    return Enumeration(Question(task.system, parse_formula(task, formula)), Budget(), most).run(depth)


def edges(found: Graph) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    pairs = zip(found.successors.owners.tolist(), found.successors.others.tolist(), strict=True)
    row = [tuple(found.rows[state].tolist()) for state in found.state]
    return {(row[a], row[b]) for a, b in pairs}


@pytest.mark.parametrize(
    ("model", "formula", "expected"),
    [
        (TWO_COINS, "x >= 0", {(a, b) for a in range(3) for b in range(3)}),
        (DESCENT, "n >= 0", {(3, 2), (3, 1), (2, 1), (2, 0), (1, 0)}),
        (DEPENDS, "x >= 0", {(a, b) for a in (0, 2, 11) for b in (0, 2, 11)}),
    ],
)
def test_every_way_to_decide_is_a_transition(model: str, formula: str, expected: set[tuple[int, int]]) -> None:
    found = graph(model, formula)
    assert edges(found) == {((a,), (b,)) for a, b in expected}
    assert found.complete


def test_choices_in_branches_that_are_not_taken_do_not_exist() -> None:
    assert edges(graph(UNTAKEN, "x >= 0")) == {((0, 1), (1, 1)), ((1, 1), (2, 1)), ((0, 0), (0, 0))}


def test_depths_are_those_of_breadth_first_search() -> None:
    found = graph(ROOMS, "room == HALL")
    depths = {tuple(row): int(depth) for row, depth in zip(found.rows.tolist(), found.depth, strict=True)}
    assert depths == {(0, 0): 0, (1, 0): 1, (1, 1): 1, (0, 1): 2, (2, 1): 2}


def test_a_graph_ends_at_the_horizon() -> None:
    found = graph(COUNT, "n >= 0", depth=7)
    assert found.rows[:, 0].tolist() == list(range(8))
    assert not found.complete


def test_an_action_left_open_belongs_to_the_position_where_it_is_asked_about() -> None:
    """One state, two observations: one position of the state 0 for each action the formula can see."""
    assert len(graph(NOISY, "x == 0", depth=0).state) == 1
    assert len(graph(NOISY, "a == GO", depth=0).state) == 2


# What stops it --------------------------------------------------------------------------------------------------------


def reason(model: str, formula: str, **limits: float) -> str:
    task = read(model)
    result = ask(task, parse_formula(task, formula), None, "explicit", Budget(**limits))  # type: ignore[arg-type]
    assert result.verdict is UNKNOWN
    assert result.reason is not None
    return result.reason


def test_intervals_are_refused_with_the_reason() -> None:
    assert "infinitely many initial states" in reason('[state]\nx = "real"\n[init]\nx = "[0, 1]"\n', "G (x <= 1)")
    noise = '[state]\nx = "real"\n[init]\nx = 0\n[environment.next]\nx = "between(0, 1)"\n'
    assert "drawn from an interval" in reason(noise, "G (x <= 1)")


def test_a_system_without_end_stops_at_a_limit() -> None:
    with pytest.raises(TooManyStates) as stop:
        graph(COUNT, "n >= 0", most=100)
    assert stop.value.depth >= 99
    assert "timeout" in reason(COUNT, "G F (n == 0)", timeout=0.3)


def test_values_that_never_repeat_are_no_finite_system() -> None:
    half = '[state]\nx = "real"\n[init]\nx = 1\n[environment.next]\nx = "x / 3"\n'
    with pytest.raises(NotFinite, match="bits"):
        graph(half, "x >= 0")
    root = '[state]\nx = "real"\n[init]\nx = 2\n[environment.next]\nx = "sqrt(x)"\n'
    with pytest.raises(NotFinite, match="not rational"):
        graph(root, "x >= 0")


def test_too_many_initial_states_are_not_written_down() -> None:
    wide = '[state]\nx = "int"\ny = "int"\nz = "int"\n[init]\nx = "[0, 999]"\ny = "[0, 999]"\nz = "[0, 999]"\n'
    assert "initial states" in reason(wide, "G (x >= 0)")


def test_memory_is_a_limit() -> None:
    task = read('[state]\nx = "int"\n[init]\nx = 0\n[environment.next]\nx = "choose(x + 1, 2*x + 7, x + 12345)"\n')
    found = ask(task, parse_formula(task, "G F (x == 0)"), None, "explicit", Budget(timeout=60, memory=0.0002))
    assert found.verdict is UNKNOWN
    assert found.reason is not None
    assert "GiB" in found.reason


def test_a_violation_is_found_before_the_end_of_an_endless_system() -> None:
    task = read(COUNT)
    result = ask(task, parse_formula(task, "G (n <= 30)"), None, "explicit", Budget(timeout=20))
    assert (result.verdict, result.step) == (VIOLATED, 31)


def test_atoms_that_are_undefined_somewhere_matter_only_where_they_decide() -> None:
    task = read(TEN)
    for formula, verdict in [
        ("G (n == 0 | 1/n <= 1)", HOLDS),
        ("AG (n == 0 | 1/n <= 1)", HOLDS),
        ("F (n > 0 & 1/n < 1/5)", HOLDS),
        ("G (n == 0 | 1/n > 1/5)", VIOLATED),
        ("G F (1/n > 1/2)", HOLDS),
        ("G (1/n <= 1)", UNKNOWN),
        ("F G (1/n <= 1)", UNKNOWN),
    ]:
        result = ask(task, parse_formula(task, formula), None, "explicit", Budget(timeout=20))
        assert result.verdict is verdict, (formula, result.reason)
