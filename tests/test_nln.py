"""The competition's nonlinear flows are read, and the quick ones of them proven in one piece."""

from __future__ import annotations

from pathlib import Path

import pytest

import vernal as vn
from benchmarks.nln.__main__ import HERE, PROBLEMS, Problem, row
from vernal.formats.task.blueprint import load


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_problems_are_read_with_their_parameters(problem: Problem) -> None:
    task = load(HERE / f"{problem.file}.toml", **problem.parameters)
    assert problem.of in {variable.name for variable in task.model.state}
    assert len(task.properties) == 1


def test_every_file_is_a_problem() -> None:
    assert {path.stem for path in Path(HERE).glob("*.toml")} == {problem.file for problem in PROBLEMS}


@pytest.mark.parametrize("name", ["Van der Pol, mu = 1", "Lotka-Volterra"])
def test_one_set_is_enough_and_contains_what_is_simulated(name: str) -> None:
    (problem,) = (problem for problem in PROBLEMS if problem.name == name)
    line, good = row(problem, 200, 60)
    assert good, line
    assert line[1:4:2] == [str(vn.HOLDS), "1"]
