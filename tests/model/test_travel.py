"""Graphs travel: as plain data, pickled or copied, and what comes back is what was sent."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import vernal as vn
from tests.cases import CASES, read
from tests.endless import HALVING
from tests.portion import every
from tests.strategies import expressions
from vernal import errors
from vernal.engines.check import ask, parse_formula
from vernal.errors import FormatError, VernalError
from vernal.evidence.finite_abstraction import FiniteAbstraction
from vernal.evidence.kinds import Tree
from vernal.evidence.result import Result
from vernal.logic.formula import Formula, Next
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import build as b
from vernal.model import expr as e
from vernal.model.expr import Expr, Matrix, Occurrence
from vernal.model.graph import order
from vernal.model.traits import kinds
from vernal.model.travel import canonical, flatten, restore
from vernal.run.budget import Budget

x, y = b.var("x"), b.var("y")


def through_json(value: object) -> Any:
    return restore(json.loads(json.dumps(flatten(value), allow_nan=False)))


def pickled(value: object) -> Any:
    return pickle.loads(pickle.dumps(value))


TRIPS: list[Callable[[Any], Any]] = [through_json, pickled, copy.deepcopy, copy.copy]
trips = pytest.mark.parametrize("trip", TRIPS, ids=["json", "pickle", "deepcopy", "copy"])


# Nodes ----------------------------------------------------------------------------------------------------------------


@given(expressions())
def test_nodes_come_back_as_themselves(roots: list[Expr]) -> None:
    for trip in TRIPS:
        assert all(back is root for back, root in zip(trip(roots), roots, strict=True))


FIELDS: dict[str, Any] = {
    "args": (x, y),
    "sort": b.TRUE.sort,
    "shape": (),
    "values": (Fraction(1, 3),),
    "role": e.Role.STATE,
    "exponent": Fraction(2, 3),
    "slopes": (Fraction(1, 7),),
    "function": e.Function.SIN,
    "weight": Matrix(np.eye(2)),
    "bias": Matrix(np.zeros(2)),
    "indices": (1, 0),
    "cases": (Fraction(1), None),
    "occurrence": Occurrence(),
}


def every_operator() -> list[Expr]:
    """A node of every operator there is; its fields have a value of their type where one is known, else a text."""
    every: list[Any] = sorted(kinds(), key=lambda kind: kind.__name__)
    return [kind(**{entry.name: FIELDS.get(entry.name, "text") for entry in fields(kind)}) for kind in every]


@trips
def test_every_operator_travels(trip: Callable[[Any], Any]) -> None:
    nodes = every_operator()
    assert all(back is node for back, node in zip(trip(tuple(nodes)), nodes, strict=True))


def deep(count: int) -> Expr:
    node: Expr = x
    for _ in range(count):
        node = b.if_(node > 0, -node, node + 1)
    return node


@trips
def test_depth_does_not_matter(trip: Callable[[Any], Any]) -> None:
    root = deep(2_000)
    assert trip(root) is root


def test_what_is_shared_is_written_once() -> None:
    weight = Matrix(np.arange(10_000.0).reshape(100, 100))
    node: Expr = b.concat(*[x] * 100)
    for _ in range(20):
        node = b.affine(node, weight, Matrix(np.zeros(100)))
    assert len(json.dumps(flatten([node, node]))) < 2 * weight.array.nbytes


def test_numbers_are_exact() -> None:
    values = (
        Fraction(10**6000 + 1, 3**9000),
        0.1,
        -0.0,
        float("inf"),
        5e-324,
        2**70,
        True,
        np.float64(0.1),
        np.int64(3),
    )
    back = through_json(values)
    assert back == values
    assert str(back[2]) == "-0.0"
    assert back[6] is True


def test_a_matrix_keeps_its_bits() -> None:
    matrix = Matrix(np.array([[0.0, -0.0, 1e-310], [np.inf, 1 / 3, -5.0]]))
    for trip in TRIPS:
        assert trip(matrix) == matrix
        assert trip(matrix).array.tobytes() == matrix.array.tobytes()
        assert not trip(matrix).array.flags.writeable


def test_what_is_no_data_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot travel"):
        flatten([lambda: None])
    with pytest.raises(TypeError, match="cannot travel"):
        flatten([Path("here")])


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        [[], ["row", 0]],
        [[], ["row", -1]],
        [[["model.expr:Relu"]], ["row", 0]],
        [[["model.expr:_made", "add"]], ["row", 0]],
        [[["os:system", "true"]], ["row", 0]],
        [[["nothing:Here"]], ["row", 0]],
        [[], ["ratio", "1/0"]],
        [[], ["ratio", "1"]],
        [[], ["array", "O", [1], "AAAAAAAAAAA="]],
        [[], ["array", "<f8", [3], "AAAAAAAAAAA="]],
        [[], ["enum", "model.sorts:Kind", "NONE"]],
        [[], ["heap", 1]],
        [[], [[]]],
    ],
)
def test_foreign_data_is_an_error_with_a_name(data: Any) -> None:
    with pytest.raises(FormatError, match="no flattened data"):
        restore(data)


def test_the_same_model_built_twice_gives_the_same_table() -> None:
    def build() -> Expr:
        return b.if_(x > 0, b.choose(0, 1), b.choose(0, 1)) + b.between(0, y)

    first, second = build(), build()
    assert first is not second
    assert canonical([first]) == canonical([second])
    assert flatten([first]) != flatten([second])
    shared = b.choose(0, 1)
    assert canonical([first]) != canonical([b.if_(x > 0, shared, shared) + b.between(0, y)])


# Systems, tasks, results ----------------------------------------------------------------------------------------------


@trips
@pytest.mark.parametrize("case", every(4, CASES), ids=str)
def test_tasks_and_questions_survive(case: Any, trip: Callable[[Any], Any]) -> None:
    task: Task = case.task
    question = Question(task.system, parse_formula(task, case.formula))
    back = trip(question)
    assert trip(task) == task
    assert back == question
    assert back.system.step == task.system.step
    assert back.system.step is not task.system.step
    assert list(back.system.step.names.items()) == list(task.system.step.names.items())
    assert hash(back.system.step) == hash(task.system.step)


@trips
def test_a_step_leaves_behind_what_was_made_of_it(trip: Callable[[Any], Any]) -> None:
    step = CASES[0].task.system.step
    assert step.once(lambda step: len(step.roots)) > 0
    back = trip(step)
    assert back == step
    assert not back._made


@cache
def results() -> list[Result]:
    """Answers of all kinds, each asked for once."""
    cases = CASES[::6]
    return [ask(one.task, parse_formula(one.task, one.formula), None, "auto", Budget(timeout=0.5)) for one in cases]


@trips
def test_results_and_traces_survive(trip: Callable[[Any], Any]) -> None:
    seen = set()
    for result in results():
        back = trip(result)
        assert isinstance(back, Result)
        assert back == result
        if result.trace is not None:
            assert trip(result.trace) == result.trace
            assert back.trace is not None
            assert back.trace.system == result.trace.system
        seen.add((result.verdict, result.trace is not None))
    assert len(seen) > 2


@trips
def test_abstractions_and_invariants_survive(trip: Callable[[Any], Any]) -> None:
    for result in (abstracted(), excluded()):
        back = trip(result)
        assert back == result
        assert (back.evidence, back.abstraction) == (result.evidence, result.abstraction)
        assert hash(back.abstraction) == hash(result.abstraction)
    made = abstracted().abstraction
    assert isinstance(made, FiniteAbstraction)
    assert made not in (replace(made, unsafe=(*made.unsafe, 0)), replace(made, lower=made.lower - 1), None)


@cache
def abstracted() -> Result:
    """A proof by predicate abstraction, with the abstraction."""
    asked = '[state]\nn = "int [0, 5]"\n[init]\nn = 0\n[environment.next]\nn = "min(n + 1, 3)"\n'
    task = read(asked)
    result = vn.check(task, "G (n <= 4)", engine="predicates", options={"abstraction": True}, timeout=20)
    assert result.abstraction is not None
    return result


@cache
def excluded() -> Result:
    """A claim of some path that an invariant refutes."""
    result = vn.check(read(HALVING), "EF (x >= 5)", engine="invariants", timeout=20)
    assert isinstance(result.evidence, Tree)
    assert result.invariant is not None
    return result


@trips
def test_a_deep_formula_survives(trip: Callable[[Any], Any]) -> None:
    formula: Formula = parse_formula(CASES[0].task, CASES[0].formula)
    for count in range(3_000):
        formula = Next(formula, count + 1)
    back = trip(formula)
    for count in reversed(range(3_000)):
        assert isinstance(back, Next)
        assert back.count == count + 1
        back = back.arg
    assert back == parse_formula(CASES[0].task, CASES[0].formula)


# Errors ---------------------------------------------------------------------------------------------------------------


def every_error() -> Iterator[VernalError]:
    place = errors.Place("task.toml", 3, 4, "x = 1 +", 2)
    named = [
        errors.MissingExtra("the solver 'scip'", "scip"),
        errors.Problems([errors.ParseError("this", place=place), errors.TypeClash("that")]),
    ]
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, VernalError)]
    yield from named
    for kind in set(kinds) - {type(error) for error in named}:  # all others take a message, and there may be more
        yield kind("wrong")
        if issubclass(kind, errors.InputError):
            yield kind("wrong", place=place)


@pytest.mark.parametrize("trip", [pickled, copy.deepcopy, copy.copy], ids=["pickle", "deepcopy", "copy"])
def test_errors_survive(trip: Callable[[Any], Any]) -> None:
    for error in every_error():
        back = trip(error)
        assert type(back) is type(error)
        assert (str(back), back.args) == (str(error), error.args)
        said, heard = vars(error), vars(back)
        assert {**heard, "problems": repr(heard.get("problems"))} == {**said, "problems": repr(said.get("problems"))}


# Processes and threads ------------------------------------------------------------------------------------------------

ELSEWHERE = """
import pickle, sys
from vernal.model import build as b
sys.stdout.buffer.write(pickle.dumps([b.choose(0, 1) for _ in range(50)]))
"""


def test_draws_of_two_processes_are_apart() -> None:
    nodes = [b.choose(0, 1) for _ in range(50)]
    for _ in range(2):
        told = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, check=True).stdout
        nodes.extend(pickle.loads(told))
    serials = [node.occurrence.serial for node in nodes if isinstance(node, e.Choose)]
    assert len(set(serials)) == 150
    assert serials == sorted(serials)  # by the time they were made, and in order


@contextmanager
def switching_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def test_threads_share_their_nodes() -> None:
    """Of equal nodes made at the same time by several threads there is one; also while others die."""
    made: list[list[Expr]] = [[] for _ in range(4)]
    start = threading.Barrier(len(made))

    def make(kept: list[Expr]) -> None:
        start.wait()
        for number in range(1500):
            kept.append(x * Fraction(number, 7) + y)
            _ = x - Fraction(number % 5, 9)  # made and dropped by all of them

    threads = [threading.Thread(target=make, args=(kept,)) for kept in made]
    with switching_often():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for nodes in zip(*made, strict=True):
        assert len(set(nodes)) == 1
    assert all(e._Interned.table[node_key(node)]() is node for node in order(made[0]))


def node_key(node: Expr) -> tuple[object, ...]:
    return (type(node), e._content(type(node))(node))
