"""The policies of the planning family do as recorded, and what checkers say of them agrees with the simulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks.learning import begin
from benchmarks.ppa import blocksworld, generate, record, transport
from benchmarks.ppa.__main__ import main, policies, spread
from benchmarks.ppa.family import MEMBERS, POLICIES
from benchmarks.ppa.jani import Instance
from benchmarks.ppa.policy import Policy, read_policy, rounded, write_policy
from benchmarks.ppa.runs import reachable
from benchmarks.ppa.simulate import Ints
from benchmarks.ppa.starts import blocks
from benchmarks.ppa.table import HEADER
from benchmarks.ppa.train import course
from examples.blocksworld import make as example
from tests.planning_family import row, simulator
from tests.portion import every
from vernal.engines.check import ask, parse_formula
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, VIOLATED, Verdict
from vernal.formats.jani.planning_task import load_jani
from vernal.run.budget import Budget

STEMS = sorted(file.stem for file in POLICIES.glob("*.nnet"))
PLAYED = [stem for stem in STEMS if stem.endswith("_16") and stem != "blocksworld-10_aware_16"]  # the longest


# Policies -------------------------------------------------------------------------------------------------------------


def test_every_policy_has_its_success_recorded() -> None:
    assert sorted(record.load()) == STEMS
    assert sum(file.stat().st_size for file in POLICIES.iterdir()) < 1.5e6
    assert {stem for name in MEMBERS for stem in (f"{name}_{p}" for p in policies(name))} == set(STEMS)


@pytest.mark.parametrize("stem", every(2, PLAYED))
def test_a_policy_does_as_recorded(stem: str) -> None:
    """A few hundred runs; where these are all there are, the counts are the same."""
    name, flavour, _ = stem.split("_")
    line = record.load()[stem]
    done = course(name, flavour).played(read_policy(POLICIES / stem), np.random.default_rng(1), 300, costly=False)
    if len(done.arrived) == line.runs:
        assert (int(done.arrived.sum()), int(done.unsafe.sum())) == (line.arrived, line.unsafe)
    else:
        assert done.arrived.mean() == pytest.approx(line.arrived / line.runs, abs=0.15)
        assert line.unsafe or not done.unsafe.any()


def test_there_are_safe_and_unsafe_policies() -> None:
    kinds = {(stem.split("_")[0].partition("-")[0], line.unsafe > 0) for stem, line in record.load().items()}
    assert {("racetrack", False), ("racetrack", True), ("blocksworld", False), ("blocksworld", True)} <= kinds
    assert {("puzzle", False), ("puzzle", True)} <= kinds


def test_a_policy_of_transport_is_unsafe_from_a_start_that_runs_do_not_find() -> None:
    """One of 11,767,536: at the bridge with two packages loaded, and thirteen at location 7."""
    sim, policy = simulator(MEMBERS["transport"].make()), read_policy(POLICIES / "transport_careful_32")
    start = row(sim, truck=8, load=2, at_0=0, at_7=13)
    assert record.load()["transport_careful_32"].unsafe == 0
    assert sim.labels[policy.choose(sim, start)[0]] == "forward"
    assert sim.holds(MEMBERS["transport"].make().unsafe, sim.successors(start, policy.choose(sim, start)).states).all()


# The example ----------------------------------------------------------------------------------------------------------


def test_the_example_is_as_made(tmp_path: Path) -> None:
    example.write_model(tmp_path)
    for name in ("blocks.jani", "safe.jani"):
        assert (tmp_path / name).read_text(encoding="utf-8") == (example.HERE / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "verdict"), [("careful", HOLDS), ("hasty", VIOLATED)])
def test_the_careful_policy_of_the_example_is_safe_and_the_hasty_one_is_not(name: str, verdict: Verdict) -> None:
    file, policy = example.HERE / "blocks.jani", example.HERE / f"{name}.jani2nnet"
    task = load_jani(file, policy=policy, property=f"{example.HERE / 'safe.jani'}#0")
    result = ask(task, task.properties["safe"], "safe", "explicit", Budget(timeout=60))
    assert result.verdict is verdict
    if result.trace is not None:
        assert verify(task.system, result.trace).accepted


def test_reachable_states_are_those_of_brute_force() -> None:
    instance = blocksworld.instance(4, 0)
    sim = simulator(instance)
    policy = read_policy(POLICIES / "blocksworld-4_ignoring_16")
    starts = blocks(4, len(sim.initial))
    seen = {tuple(state) for state in starts}
    waiting = list(seen)
    while waiting:
        state = np.array([waiting.pop()])
        for after in sim.successors(state, policy.choose(sim, state)).states:
            if tuple(after) not in seen:
                seen.add(tuple(after))
                waiting.append(tuple(after))
    assert {tuple(state) for state in reachable(sim, policy, starts)} == seen


# The reader of the package and the simulator --------------------------------------------------------------------------

SMALL: dict[str, Callable[[], Instance]] = {
    "blocks": lambda: blocksworld.instance(4, 1),
    "road": lambda: transport.instance(4, 3),
    "track": MEMBERS["racetrack-tiny"].make,
    "costless": lambda: blocksworld.instance(5, 0),
}
_BLOCKS: dict[str, Callable[[int], Ints]] = {"blocks": partial(blocks, 4), "costless": partial(blocks, 5)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("key", SMALL)
def test_reader_and_simulator_agree_about_a_random_policy(key: str, seed: int, tmp_path: Path) -> None:
    instance, rng = SMALL[key](), np.random.default_rng(seed)
    sim, inputs = simulator(instance), [*instance.observed, *instance.costs]
    random = begin([len(inputs), 6, 6, len(sim.labels)], rng, 2.0)
    layers = rounded([(W, rng.normal(size=b.shape)) for W, b in random])  # biases keep scores apart: no ties
    policy = Policy(inputs, list(rng.permutation(sim.labels)), layers)
    generate.write(instance, tmp_path)
    write_policy(policy, tmp_path / "random", [(0, 1)] * len(inputs))
    task = load_jani(tmp_path / "model.jani", policy=tmp_path / "random.jani2nnet", property=_last(tmp_path))
    name = next(iter(task.properties))
    starts = _BLOCKS[key](len(sim.initial)) if key in _BLOCKS else sim.states(instance.start)
    states = reachable(sim, policy, starts)
    unsafe = sim.holds(instance.unsafe, states).any()
    for formula in (task.properties[name], parse_formula(task, "AG EF false")):  # the second explores everything
        result = ask(task, formula, None, "explicit", Budget(timeout=60))
        assert result.verdict is (VIOLATED if unsafe or formula is not task.properties[name] else HOLDS)
    assert result.statistics["states"] == len(states)
    assert len(task.predicates) == len(instance.predicates[-1])


def _last(folder: Path) -> str:
    return f"{folder / 'property.jani'}#safe_100"


# The table ------------------------------------------------------------------------------------------------------------


def test_bounded_model_checking_finds_the_shortest_unsafe_path() -> None:
    bmc = pytest.importorskip("benchmarks.ppa.bmc", reason="bounded model checking needs Z3 (extra smt)")
    instance = blocksworld.instance(4, 0)
    found = bmc.check(instance, read_policy(POLICIES / "blocksworld-4_hasty_16"), 60.0)
    assert found.unsafe == 2


def test_bounded_model_checking_agrees_with_explicit_enumeration(tmp_path: Path) -> None:
    """Where most steps are silent: networks and edges are left out at locations that a path cannot be in."""
    bmc = pytest.importorskip("benchmarks.ppa.bmc", reason="bounded model checking needs Z3 (extra smt)")
    track, stem = MEMBERS["racetrack-tiny"].make(), POLICIES / "racetrack-tiny_hasty_16"
    instance = replace(track, start={**track.start, "values": track.start["values"][-2:]})  # a safe one, an unsafe one
    generate.write(instance, tmp_path)
    task = load_jani(tmp_path / "model.jani", policy=f"{stem}.jani2nnet", property=_last(tmp_path))
    result = ask(task, next(iter(task.properties.values())), None, "explicit", Budget(timeout=60))
    assert bmc.check(instance, read_policy(stem), 200.0).unsafe == result.step
    encoding = bmc.Encoding(instance.model.declaration, read_policy(stem))
    assert [encoding.after({place}) for place in encoding.places][:2] == [{"moves"}, {"is_checked", "is_over"}]


@pytest.mark.parametrize("width", [16, 32, 64])
def test_transport_has_policies_that_explicit_enumeration_proves_safe(width: int, tmp_path: Path) -> None:
    generate.write(MEMBERS["transport-6"].make(), tmp_path)
    file = POLICIES / f"transport-6_drilled_{width}.jani2nnet"
    task = load_jani(tmp_path / "model.jani", policy=file, property=_last(tmp_path))
    result = ask(task, task.properties["safe_100"], None, "explicit", Budget(timeout=60))
    assert result.verdict is HOLDS
    assert int(result.statistics["states"]) >= 2310


def test_the_table_has_a_row_for_each_method_and_set(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["racetrack-tiny", "--policy", "hasty_16", "--sets", "2", "--cap", "30"]
    assert main([*asked, "--method", "policy abstraction", "--method", "explicit"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| racetrack")]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    found = [dict(zip(HEADER, line, strict=True)) for line in cells]
    assert [line["predicates"] for line in found] == ["20 %", "100 %", ""]
    assert {line["verdict"] for line in found} == {"violated"}
    assert found[1]["starts"] == "8"
    assert found[1]["starts safe"] == "7"


@pytest.mark.parametrize(("stem", "safe"), [("ignoring_16", 202), ("hasty_16", 197)])
def test_abstract_states_without_costs_are_those_of_the_model_without(stem: str, safe: int, tmp_path: Path) -> None:
    """At 40 % all but costs is told apart: the abstraction is the cost-free state space, counted by the simulator."""
    full, free = blocksworld.instance(6, 12), blocksworld.instance(6, 0)
    sim, policy = simulator(free), read_policy(POLICIES / f"blocksworld-6_{stem}")
    states = reachable(sim, policy, blocks(6, len(sim.initial)))
    generate.write(full, tmp_path)
    file = POLICIES / f"blocksworld-6_{stem}.jani2nnet"
    task = load_jani(tmp_path / "model.jani", policy=file, property=f"{tmp_path / 'property.jani'}#safe_040")
    result = ask(task, task.properties["safe_040"], None, "predicates", Budget(timeout=100), {"refine": False})
    assert result.verdict is (HOLDS if safe == 202 else VIOLATED)
    assert (result.statistics["abstract_starts"], result.statistics["safe_starts"]) == (202, safe)
    assert result.statistics["reachable"] == len(states)


def test_sets_are_spread_up_to_the_last() -> None:
    assert spread(5, None) == [0, 1, 2, 3, 4]
    assert spread(12, 3)[-1] == 11
    assert len(spread(12, 3)) == 3
    assert spread(4, 1) == [3]
