"""The planning family: its models mean what they should, teachers are right, policies do what is recorded."""

from __future__ import annotations

import json
from itertools import permutations
from math import comb
from pathlib import Path

import numpy as np
import pytest

from benchmarks.learning import backward, begin, forward
from benchmarks.ppa import blocksworld, generate, puzzle, racetrack, transport
from benchmarks.ppa.family import MEMBERS
from benchmarks.ppa.jani import Bounded
from benchmarks.ppa.policy import Policy, read_policy, rounded, write_policy
from benchmarks.ppa.runs import play
from benchmarks.ppa.starts import blocks, loads
from benchmarks.ppa.teach import Rule, Teacher, slopes
from benchmarks.ppa.teachers import blocks as block_rules
from benchmarks.ppa.teachers import puzzle as tile_rules
from benchmarks.ppa.teachers import road, track
from benchmarks.ppa.thresholds import halving, levels, one_variable, together
from tests.planning_family import row, simulator

BELL = {4: 15, 6: 203, 8: 4140}  # partitions of a set: towers with blocks on larger ones only


# Predicates -----------------------------------------------------------------------------------------------------------


def test_thresholds_halve_intervals_and_tell_all_values_apart() -> None:
    assert list(halving(0, 6)) == [3, 1, 5, 2, 4, 6]
    assert next(halving(0, 34)) == 17
    assert next(halving(-35, 35)) == 0
    for lower, upper in ((0, 1), (-3, 4), (0, 15)):
        assert sorted(halving(lower, upper)) == list(range(lower + 1, upper + 1))


def test_stages_add_one_threshold_of_each_variable_or_one_level() -> None:
    narrow, wide = Bounded("a", 0, 1, 0), Bounded("b", 0, 4, 0)
    assert [len(stage) for stage in together([narrow, wide])] == [2, 1, 1, 1]
    assert [len(stage) for stage in levels([narrow, wide])] == [2, 2, 1]
    assert [one for stage in levels([wide]) for one in stage] == one_variable(wide)


def test_the_share_of_predicates_without_costs_is_the_papers() -> None:
    for n, bound, count, share in ((6, 12, 49, 40), (8, 8, 81, 56)):
        instance = blocksworld.instance(n, bound)
        assert dict(zip(map(len, instance.predicates), instance.percentages, strict=True))[count] == share


@pytest.mark.parametrize("name", MEMBERS)
def test_the_last_set_tells_all_states_apart_and_sets_grow(name: str) -> None:
    instance = MEMBERS[name].make()
    numbers = [v for v in instance.model.variables if isinstance(v, Bounded)]
    texts = [json.dumps(one) for one in instance.predicates[-1]]
    assert len(set(texts)) == len(texts)
    assert {json.dumps(one) for v in numbers for one in one_variable(v)} <= set(texts)
    assert instance.percentages == sorted(set(instance.percentages))


# Models ---------------------------------------------------------------------------------------------------------------


def test_start_states_are_as_many_as_in_the_paper() -> None:
    for n, bell in BELL.items():
        instance = blocksworld.instance(n, 0)
        states = blocks(n, len(simulator(instance).initial))
        assert simulator(instance).holds(instance.start["exp"], states).all()
        assert len(np.unique(states, axis=0)) == bell - 1
    arranged = np.zeros((362_880, 10), np.int64)
    arranged[:, :9] = list(permutations(range(9)))
    assert simulator(puzzle.instance(0)).holds(puzzle.start(0), arranged).sum() == 4900


def test_conditions_are_satisfied_by_the_starts_and_no_other_state() -> None:
    small = blocksworld.instance(4, 0)
    assert len(simulator(small).states(small.start)) == 14
    road_ = transport.instance(4, 3)
    assert len(simulator(road_).states(road_.start)) == 3 * comb(3 + 3, 3)
    assert 9 * comb(15 + 9, 9) == 11_767_536  # the same count for the paper's size
    drawn = loads(np.random.default_rng(0), 500, 4, 3)
    assert simulator(road_).holds(road_.start["exp"], drawn).all()


def test_blocks_are_where_they_say_after_every_move() -> None:
    """From all starts, everything that can happen in four moves keeps the variables consistent."""
    sim = simulator(blocksworld.instance(4, 2))
    states = blocks(4, len(sim.initial))
    for _ in range(4):
        states = np.unique(np.concatenate([states, sim.successors(states).states]), axis=0)
    at, clear = states[:, 2:6], states[:, 6:10]
    assert (states[:, 1] == (at == 4).sum(axis=1)).all()
    assert (states[:, 0] == (at != 0).all(axis=1)).all()
    for j in range(4):
        covered = np.any([at[:, i] == blocksworld.code(i, j) for i in range(4) if i != j], axis=0)
        assert (clear[:, j] == (~covered & (at[:, j] != 0))).all()


def test_a_failing_move_changes_the_cost_only_and_costs_are_bounded() -> None:
    sim = simulator(blocksworld.instance(4, 2))
    first = sim.labels.index("block_0")
    for cost, outcomes in ((0, 2), (1, 2), (2, 1)):
        found = sim.successors(row(sim, cost_0=cost), np.array([first]))
        assert len(found.states) == outcomes
        costs = found.states[:, sim.columns["cost_0"]]
        assert set(costs.tolist()) == {cost, min(cost + 1, 2)}


def test_tiles_stay_in_their_rows() -> None:
    sim = simulator(puzzle.instance(0))
    corner = row(sim, empty=2, tile_1=0, tile_2=1, tile_3=3)
    assert sim.applicable(corner).tolist() == [[False, True, True, False]]  # left, right, up, down
    after = sim.successors(corner, np.array([sim.labels.index("right")])).states
    assert after[0, [sim.columns["empty"], sim.columns["tile_2"]]].tolist() == [1, 2]


def test_the_car_crashes_outside_the_track_and_finishes_in_the_top_row() -> None:
    sim = simulator(racetrack.instance(racetrack.TINY, []))
    coast = np.array([sim.labels.index(racetrack.label(0, 0))])
    cases = {(4, 1, 0, -1): (0, 1), (3, 2, 0, -1): (1, 0), (5, 2, 1, 0): (1, 0), (0, 2, 1, 0): (0, 0)}
    for (x, y, dx, dy), flags in cases.items():
        state = row(sim, x=x, y=y, dx=dx, dy=dy)
        for _ in range(3):
            state = sim.successors(state, coast).states if len(sim.successors(state, coast).states) else state
        assert tuple(state[0, [sim.columns["crashed"], sim.columns["finished"]]]) == flags, (x, y, dx, dy)


def test_the_track_has_a_start_and_a_goal() -> None:
    barto = racetrack.BARTO_SMALL
    assert (barto.width, barto.height) == (35, 12)
    sim = simulator(racetrack.instance(barto, []))
    cells = np.array([[x, y, 0, 0, 0, 0, 2] for x in range(35) for y in range(12)])
    free = ~sim.holds(racetrack.walls(barto), cells)
    assert free.tolist() == [barto.free(x, y) for x, y in cells[:, :2]]
    assert len(MEMBERS["racetrack"].make().start["values"]) == 1000


# Teachers -------------------------------------------------------------------------------------------------------------

RULES: dict[str, tuple[str, Rule]] = {
    "blocks": ("blocksworld-6", lambda states: block_rules.labels(states, 6, cautious=True)),
    "tiles": ("puzzle-8", lambda states: tile_rules.labels(states, cautious=True, aware=False)),
    "tiles and costs": ("puzzle-8", lambda states: tile_rules.labels(states, cautious=True, aware=True)),
    "road": ("transport", lambda states: road.labels(states, cautious=True)),
    "track": ("racetrack", lambda states: track.labels(states, racetrack.BARTO_SMALL)),
}


@pytest.mark.parametrize("key", RULES)
def test_a_careful_teacher_always_arrives_and_is_never_unsafe(key: str) -> None:
    name, rule = RULES[key]
    member, rng = MEMBERS[name], np.random.default_rng(3)
    instance = member.make()
    sim = simulator(instance)
    done = play(instance, sim, Teacher(rule), member.starts(sim, rng, 300), member.steps, rng)
    assert done.arrived.all()
    assert not done.unsafe.any()


def test_the_hasty_rule_is_unsafe_where_only_the_smallest_block_is_not_on_the_table() -> None:
    instance, rng = blocksworld.instance(6, 0), np.random.default_rng(0)
    sim = simulator(instance)
    states = blocks(6, len(sim.initial))
    done = play(instance, sim, Teacher(lambda s: block_rules.labels(s, 6, cautious=False)), states, 100, rng)
    assert (done.unsafe == ((states[:, 1] == 5) & (states[:, 2] != 6))).all()


def test_slopes_are_those_of_the_loss() -> None:
    rng = np.random.default_rng(0)
    layers = begin([3, 5, 4], rng, 2.0)
    inputs, good = rng.normal(size=(7, 3)), rng.random((7, 4)) < 0.5
    good[:, 0] = True

    def loss() -> float:
        scores = forward(layers, inputs, "Relu")[-1]
        chance = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        return float(-np.log((chance * good).sum(axis=1)).mean())

    weight, before = layers[0][0], loss()
    found = slopes(layers, inputs, good)[0][2, 1]
    weight[2, 1] += 1e-6
    assert found == pytest.approx((loss() - before) / 1e-6, abs=1e-4)
    values = forward(layers, inputs, "Relu")
    assert len(backward(layers, values, np.ones_like(values[-1]), "Relu")) == 4


# Files ----------------------------------------------------------------------------------------------------------------


def test_a_policy_is_read_as_it_was_written(tmp_path: Path) -> None:
    policy = Policy(["x", "y"], ["a", "b", "c"], rounded(begin([2, 4, 4, 3], np.random.default_rng(0), 2.0)))
    write_policy(policy, tmp_path / "p_1", [(0, 3), (-1, 1)])
    found = read_policy(tmp_path / "p_1")
    assert (found.inputs, found.labels) == (policy.inputs, policy.labels)
    for (W, b), (V, c) in zip(found.layers, policy.layers, strict=True):
        assert (W == V).all()
        assert (b == c).all()


def test_files_are_generated_with_a_property_for_each_set(tmp_path: Path) -> None:
    instance = blocksworld.instance(4, 2)
    generate.write(instance, tmp_path)
    written = json.loads((tmp_path / "property.jani").read_text(encoding="utf-8"))["properties"]
    assert [entry["name"] for entry in written] == ["safe", *map(generate.named, instance.percentages)]
    for entry, predicates in zip(written[1:], instance.predicates, strict=True):
        file = tmp_path / entry["expression"]["predicates"]["file"]
        assert json.loads(file.read_text(encoding="utf-8")) == predicates
    assert json.loads((tmp_path / "model.jani").read_text(encoding="utf-8")) == instance.model.declaration
