"""Measurements of the planning family: tests replayed by configurations, cells of the figure, perils of Transport."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.ppa import cells, figure, published, replay, transport
from benchmarks.ppa.family import MEMBERS, POLICIES, ROADS
from benchmarks.ppa.peril import mistakes, perils, spreads
from benchmarks.ppa.policy import read_policy
from benchmarks.ppa.published import RecordedRun
from benchmarks.ppa.replay import Plan
from benchmarks.ppa.simulate import Simulator
from tests.engines.predicates.test_configurations import recorded
from vernal.engines.predicates.policy import PolicyBounds
from vernal.engines.predicates.witnesses import Existence
from vernal.run.budget import Budget

# Tests of runs --------------------------------------------------------------------------------------------------------


def run() -> RecordedRun:
    model, tests = recorded(702)
    return RecordedRun(model, PolicyBounds(model.variables, model.judge, Budget(60).check), tests)


def test_configurations_are_compared_test_by_test() -> None:
    rows = replay.measured("random", run(), Plan(6, 0, 20.0, 0, None))
    titles = [row[1] for row in rows]
    assert titles[:2] == [replay.OURS, replay.TOGETHER]
    assert "relaxed, branch and bound (our bounds)" in titles
    assert not any("Z3" in title for title in titles)  # it is asked none
    columns = {row[1]: dict(zip(replay.HEADER, row, strict=True)) for row in rows}
    assert all(row["different"] == "0" for row in columns.values())
    assert columns[replay.OURS]["equal"] == columns[replay.OURS]["tests"]
    assert columns[replay.OURS][replay.ONE] == columns[replay.TOGETHER][replay.AT_ONCE] == "1.0"


def test_a_wrong_answer_is_seen() -> None:
    (test, *_) = run().tests
    wrong = Existence.NONE if test.answer is Existence.SOME else Existence.SOME
    line = replay.Line(lambda _: wrong, lambda: 0.0, 1)
    line.ask(test)
    assert (line.equal, line.different, line.open) == (0, 1, 0)


def test_a_sample_has_both_answers_and_is_the_same_again() -> None:
    tests = [test for seed in range(700, 706) for test in recorded(seed)[1]]
    drawn = published.sample(tests, 8, seed=3)
    assert drawn == published.sample(tests, 8, seed=3)
    assert [test.answer for test in drawn] == [Existence.SOME, Existence.NONE] * 4


@pytest.mark.data
def test_published_runs_are_recorded() -> None:
    data = published.folder()
    assert data is not None
    found = published.run(published.question("blocksworld-6, 6_0", data), Budget(120))
    assert {test.answer for test in found.tests} == {Existence.SOME, Existence.NONE}
    assert len(found.tests) > 1000


# The figure -----------------------------------------------------------------------------------------------------------


def test_the_figure_is_measured_once_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["racetrack-tiny", "--policy", "careful_16", "--sets", "2", "--cap", "20", "--no-rivals"]
    files = ["--data", str(tmp_path / "cells.json"), "--out", str(tmp_path / "figure.svg")]
    assert figure.main([*given, *files]) == 0
    first = cells.load(tmp_path / "cells.json")
    assert [(cell.policy, cell.share) for cell in first] == [
        (cells.PLAIN, 20),
        (cells.PLAIN, 100),
        ("careful_16", 20),
        ("careful_16", 100),
    ]
    finest = first[-1]
    assert (finest.verdict, finest.safe, finest.starts, finest.unsafe) == ("holds", 8, 8, 0)
    assert all(cell.is_complete for cell in first)
    assert "<svg" in (tmp_path / "figure.svg").read_text(encoding="utf-8")
    capsys.readouterr()
    assert figure.main([*given, *files]) == 0
    said = capsys.readouterr()
    assert not said.err  # nothing is measured again
    assert "| racetrack-tiny | careful_16 | 100 %" in said.out


def test_rivals_are_told_by_policy() -> None:
    explicit = cells.MeasuredCell("a", "hasty_16", "explicit", None, "violated", 0.5, states=7)
    bounded = cells.MeasuredCell("a", "hasty_16", cells.BOUNDED, None, "violated", 2.0, length=3)
    assert figure.rivals([explicit, bounded]) == [("a", "hasty_16", "violated", "0.5", "7", "3", "2.0", "3")]


def test_the_set_without_costs_is_always_measured() -> None:
    plan = figure.Plan([], 2, [], 1.0, 1.0, False, 1.0)
    assert figure.shares("blocksworld-6", plan) == [12, 40, 100]
    assert figure.shares("blocksworld-8", plan) == [13, 56, 100]


# Perils ---------------------------------------------------------------------------------------------------------------


def test_perils_are_the_states_from_which_one_label_is_unsafe() -> None:
    """All of three locations and three packages, against the model."""
    instance = transport.instance(3, 3)
    simulator = Simulator(instance.model.declaration)
    every = np.array([[truck, *spread, 0] for truck in range(3) for spread in spreads(3, 4).tolist()])
    every = every[~simulator.holds(instance.unsafe, every)]
    states, forbidden = perils(3, 3)
    listed = {(*state, label) for state, label in zip(states.tolist(), forbidden.tolist(), strict=True)}
    for label in range(len(transport.LABELS)):
        found = simulator.successors(every, np.full(len(every), label))
        unsafe = simulator.holds(instance.unsafe, found.states)
        own = {(*state, label) for state in every[found.source[unsafe]].tolist()}
        assert own == {entry for entry in listed if entry[-1] == label}


DRILLED = sorted(file.stem for file in POLICIES.glob("transport*_drilled_*.nnet"))


@pytest.mark.parametrize("stem", [stem for stem in DRILLED if stem.startswith("transport-6")])
def test_drilled_policies_take_no_forbidden_label(stem: str) -> None:
    name = stem.split("_")[0]
    simulator = Simulator(MEMBERS[name].make().model.declaration)
    assert not mistakes(simulator, read_policy(POLICIES / stem), *perils(*ROADS[name])).any()
