"""Back ends are found by name, imported on first use, and say what is missing; every status stands in a table."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tests.solvers.programs import milp
from vernal.errors import MissingExtra, NameUnknown
from vernal.solvers import registry
from vernal.solvers.base import Capabilities, Solved, SolveStatus
from vernal.solvers.fake import Fake
from vernal.solvers.registry import BACKENDS, SolverEntry


def test_the_default_comes_along() -> None:
    assert registry.names()[0] == registry.DEFAULT == "highs"
    assert "highs" in registry.installed()
    assert registry.find().name == "highs"


@pytest.mark.parametrize("name", registry.installed())
def test_adapters_say_who_they_are(name: str) -> None:
    (backend,) = (entry for entry in BACKENDS if entry.name == name)
    solver = registry.find(name, Capabilities(integers=True, incremental=False))
    assert solver.name == name
    assert backend.module in solver.requires


def test_an_unknown_solver_has_a_neighbour() -> None:
    with pytest.raises(NameUnknown, match="did you mean 'highs'"):
        registry.find("high")


def test_a_solver_of_something_else_is_refused() -> None:
    with pytest.raises(NameUnknown, match="no mixed-integer programs"):
        registry.find("z3")


def test_a_missing_solver_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    monkeypatch.delitem(sys.modules, "vernal.solvers.gurobi", raising=False)
    with pytest.raises(MissingExtra, match=r"pip install 'vernal\[gurobi\]'"):
        registry.find("gurobi")


def test_what_a_solver_cannot_do_is_not_asked_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SolverEntry("fake", "sys", "fake", None, "", "vernal.solvers.fake:Fake")
    monkeypatch.setattr(registry, "BACKENDS", (*BACKENDS, fake))
    assert registry.find("fake", Capabilities(integers=True, incremental=False)).name == "fake"
    with pytest.raises(NameUnknown, match="cannot do"):
        registry.find("fake", Capabilities(integers=True, incremental=True))


def test_every_status_of_highs_is_in_the_table() -> None:
    import highspy

    from vernal.solvers.highs import STATUS

    assert set(highspy.HighsModelStatus.__members__) <= set(STATUS)  # older versions know fewer
    assert [name for name, status in STATUS.items() if status is SolveStatus.INFEASIBLE] == ["kInfeasible"]


def test_only_infeasible_is_infeasible_in_scip() -> None:
    pytest.importorskip("pyscipopt")
    from vernal.solvers.scip import STATUS

    assert [name for name, status in STATUS.items() if status is SolveStatus.INFEASIBLE] == ["infeasible"]


def test_the_fake_says_what_it_is_told() -> None:
    point = np.zeros(1)
    fake = Fake([Solved(SolveStatus.LIMIT), lambda problem: Solved(SolveStatus.OPTIMAL, point, float(problem.columns))])
    problem = milp([1])
    assert fake.solve(problem, 3.0).status is SolveStatus.LIMIT
    assert fake.solve(problem).objective == 1.0
    assert fake.solve(problem).status is SolveStatus.UNKNOWN
    assert fake.asked == [problem] * 3
    assert fake.time_limits[0] == 3.0
