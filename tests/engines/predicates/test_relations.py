"""Comparisons of several variables: read off conditions, and points moved to where they are satisfied."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from benchmarks.ppa import generate
from benchmarks.ppa.family import MEMBERS
from vernal.engines.predicates.atoms import AtomTable, Condition
from vernal.engines.predicates.boxes import IntegerBoxes
from vernal.engines.predicates.integer_model import OperatorModel
from vernal.engines.predicates.relations import moved, relations
from vernal.model import build
from vernal.model.expr import Expr, Var
from vernal.model.sorts import INT
from vernal.model.system import Variable

X, Y, Z = (Variable(name, INT, Fraction(0), Fraction(9)).var for name in "xyz")


def conditions(table: AtomTable, *said: Expr) -> list[Condition]:
    return [table.condition(part) for part in said]


@pytest.fixture
def table() -> AtomTable:
    variables: list[Var] = [X, Y, Z]
    return AtomTable(variables)


def test_an_equation_is_one_sum_between_equal_ends(table: AtomTable) -> None:
    found = relations(table, [conditions(table, build.eq(X + Y + Z, 7), X <= 3)])
    assert found.factors.tolist() == [[[1.0, 1.0, 1.0]]]
    assert found.least.tolist() == [[7.0]]
    assert found.most.tolist() == [[7.0]]


def test_conjunctions_with_fewer_sums_ask_nothing_of_the_rest(table: AtomTable) -> None:
    found = relations(table, [conditions(table, X <= Y, 3 * Z <= X + 1), conditions(table, X <= 3)])
    assert found.any.tolist() == [True, False]
    assert found.count == 2
    assert np.isinf(found.least[1]).all()
    assert np.isinf(found.most[1]).all()


def test_columns_that_are_left_out_may_be_anywhere_in_their_boxes(table: AtomTable) -> None:
    found = relations(table, [conditions(table, build.eq(X + Y - Z, 5))])
    boxes = IntegerBoxes(np.zeros((1, 3)), np.array([[9.0, 9.0, 4.0]]))
    left = found.over(np.array([0, 1]), boxes)
    assert left.factors.tolist() == [[[1.0, 1.0]]]
    assert left.least.tolist() == [[5.0]]  # x + y is 5 + z
    assert left.most.tolist() == [[9.0]]


def test_points_are_moved_to_where_totals_are_right(table: AtomTable) -> None:
    rng = np.random.default_rng(0)
    count = 200
    boxes = IntegerBoxes(np.zeros((count, 3)), np.tile([9.0, 6.0, 4.0], (count, 1)))
    asked = relations(table, [conditions(table, build.eq(X + Y + Z, 11))]).take(np.zeros(count, np.int64))
    points = moved(np.floor(rng.random((count, 3)) * (boxes.upper + 1)), boxes, asked, rng)
    assert (points.sum(axis=1) == 11).all()
    assert (boxes.lower <= points).all()
    assert (points <= boxes.upper).all()
    assert len(np.unique(points, axis=0)) > 20


# Transport: totals in the start condition, and in everything that is asked --------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("transport")
    generate.write(MEMBERS["transport"].make(), made)
    generate.copy_policies("transport", made)
    return made


def test_the_total_of_packages_is_kept(folder: Path) -> None:
    task = vn.load_jani(folder / "model.jani", property=f"{folder}/property.jani#safe")
    model = OperatorModel(task.system, build.TRUE)
    assert len(model.kept) == 2  # at most 15, and not at most 14
    assert {len(terms) for terms, _ in model.table.atoms if len(terms) > 1} == {11}  # the load, and ten locations


def test_the_only_unsafe_start_of_millions_is_found(folder: Path) -> None:
    """The policy crosses the bridge with too many packages in one state of 1,144,066, a start."""
    policy = folder / "transport_careful_32.jani2nnet"
    task = vn.load_jani(folder / "model.jani", policy=policy, property=f"{folder}/property.jani#safe_006")
    result = vn.check(task, property="safe_006", engine="predicates", timeout=300)["safe_006"]
    assert result.verdict is vn.VIOLATED
    assert result.step == 1
    assert result.trace is not None
    first = result.trace.steps[0].state
    assert {name: value for name, value in first.items() if value} == {"truck": 8, "load": 2, "at_7": 13}
    assert result.statistics["undecided_transitions"] == 0
