"""Attacks on flowpipes, certified errors and enclosures: a few of each find nothing, and planted lies are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import never_wrong_pipes
from tests import pipe_attacks
from tests.checked_runs import Contradicted, checked_runs, contained
from tests.hostile_flows import hostile_case, hostile_flow
from tests.pipe_attacks import ATTACKS, on_certified_errors, on_enclosures, within
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.trajectory import Trajectory
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import trailed
from vernal.interpret.numbers.rounding import Floats
from vernal.reduce.neural.certifier import Certificate, certify

SECONDS = 60.0  # for each claim: plenty, on a busy machine, too
SEEDS = {"Taylor flowpipes": (1, 3, 4, 6), "enclosed trajectories": (2, 3, 6)}  # quick ones


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_is_contradicted(name: str) -> None:
    for seed in SEEDS.get(name, range(8)):
        assert ATTACKS[name](seed, within(SECONDS))


def grows(states: Floats, disturbances: Floats) -> Floats:
    return states + disturbances


def true_pipe(until: float = 1.0, segments: int = 20) -> Flowpipe:
    """Of x' = x + d, |d| <= 1/10, from 1."""
    times = np.linspace(0.0, until, segments + 1)
    ends = np.stack([times[:-1], times[1:]], axis=1)
    lower, upper = np.exp(ends[:, :1]) * 0.9 + 0.1, np.exp(ends[:, 1:]) * 1.1 - 0.1
    return Flowpipe(("x",), trailed(Template(np.eye(1)), lower, upper), ends, until, until)


def test_pipes_that_lose_trajectories_are_found() -> None:
    rng = np.random.default_rng(0)
    pushes = np.where(rng.random((1, 50, 1)) < 0.5, -0.1, 0.1) * np.ones((48, 1, 1))
    runs = checked_runs(grows, np.ones((50, 1)), pushes, 1.0, np.array([-5.0]), np.array([5.0]))
    assert np.abs(runs.states[:, -1, 0] - (np.e * (1 + 10 * pushes[0, :, 0] / 10) - pushes[0, :, 0])).max() < 1e-7
    size, true = np.array([5.0]), true_pipe()
    contained(true, runs, size)
    for lie in (
        replace(true, sets=replace(true.sets, upper=true.upper - 0.06)),
        replace(true, sets=replace(true.sets, lower=true.lower + 0.05)),
        true.part(np.arange(len(true.times)) < len(true.times) - 1),  # nothing at the end
    ):
        with pytest.raises(Contradicted, match="outside the flowpipe"):
            contained(lie, runs, size)
    left = checked_runs(grows, np.ones((50, 1)), pushes, 1.0, np.array([-5.0]), np.array([2.0]))
    with pytest.raises(Contradicted, match="leaves the region before 1"):
        contained(true, left, size)
    contained(replace(true, inside_until=0.5), left, size)


def test_errors_that_are_too_small_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def lying(*given: object, **named: object) -> Certificate:
        found = certify(*given, **named)  # type: ignore[arg-type]
        return replace(found, error=0.9 * found.worst)

    monkeypatch.setattr(pipe_attacks, "certify", lying)
    with pytest.raises(Contradicted, match="are certified"):
        on_certified_errors(0, within(SECONDS))


def test_enclosures_that_lie_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    true = Trajectory.states
    monkeypatch.setattr(Trajectory, "states", lambda self, time: [[x + 1 for x in one] for one in true(self, time)])
    with pytest.raises(Contradicted, match="outside its enclosure"):
        on_enclosures(3, within(SECONDS))


def test_hostile_flows_are_the_same_for_the_same_seed() -> None:
    for seed in range(5):
        assert str(hostile_flow(seed).vector_field) == str(hostile_flow(seed).vector_field)
        assert str(hostile_case(seed)) == str(hostile_case(seed))
    flows = [hostile_flow(seed) for seed in range(40)]
    assert {len(flow.state) for flow in flows} == {1, 2, 3}
    assert {len(flow.disturbances) for flow in flows} == {0, 1, 2}


def test_the_benchmark_counts_the_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def lies(seed: int, tick: object) -> bool:
        raise Contradicted("no") if seed % 2 else RuntimeError("broken")

    monkeypatch.setattr(never_wrong_pipes, "ATTACKS", {"honest": lambda seed, tick: True, "lies": lies})
    asked = ["--seconds", "0.01", "--attacks"]
    assert never_wrong_pipes.main([*asked, "honest"]) == 0
    assert never_wrong_pipes.main([*asked, "honest", "lies"]) == 1
    printed = capsys.readouterr().out
    assert "WRONG lies, seed 1: no" in printed
    assert "FAILED lies, seed 0" in printed
