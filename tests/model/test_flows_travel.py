"""Flows, questions about them and what answers carry cross processes, and come back equal."""

from __future__ import annotations

import copy
import json
import multiprocessing
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import vernal as vn
from tests.cases import read
from vernal.engines.check import parse_formula
from vernal.errors import InputError
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.neural import NeuralAbstraction
from vernal.evidence.result import Result
from vernal.logic.printing import text
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.travel import flatten, restore

TASK = """
[state]
x = "real [-2, 2]"
y = "real [-2, 2]"
[flow]
x = "y"
y = "-x - x^2 / 8 + push"
[flow.let]
push = "between(-1/64, 1/64)"
[init]
x = "[0.5, 0.5625]"
y = 0
[properties]
near = "G[0, 0.5] (x <= 0.75)"
[abstraction]
error = 0.25
"""
SEVERAL = ("G[0, 0.5] (x <= 0.75)", "G[0, 0.5] (x >= 0.5)", "F[0, 0.25] (y > 1)")
TRIPS: dict[str, Callable[[Any], Any]] = {
    "json": lambda value: restore(json.loads(json.dumps(flatten(value), allow_nan=False))),
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "deepcopy": copy.deepcopy,
}
trips = pytest.mark.parametrize("trip", TRIPS.values(), ids=TRIPS)


@cache
def task() -> Task:
    return read(TASK)


@cache
def answers() -> tuple[Result, ...]:
    """By a flowpipe, by an abstraction, and a trajectory that violates."""
    asked = ((SEVERAL[0], "flowpipe"), (SEVERAL[0], "abstraction"), (SEVERAL[1], "falsify"))
    return tuple(vn.check(task(), claim, engine=engine, timeout=60) for claim, engine in asked)


@trips
def test_flows_tasks_and_questions_survive(trip: Callable[[Any], Any]) -> None:
    question = Question(task().flow, task().properties["near"], "near", settings=task().settings)
    for one in (task().flow, task(), question):
        assert trip(one) == one
    assert trip(question).claim.last_time == Fraction(1, 2)
    assert trip(task()).settings == task().settings


@trips
def test_answers_survive(trip: Callable[[Any], Any]) -> None:
    assert [answer.verdict for answer in answers()] == [vn.HOLDS, vn.HOLDS, vn.VIOLATED]
    for answer in answers():
        back = trip(answer)
        assert back == answer
        assert (back.evidence, back.abstraction, back.trace) == (answer.evidence, answer.abstraction, answer.trace)
        assert hash(back.abstraction) == hash(answer.abstraction)


def test_what_differs_is_not_equal() -> None:
    pipe, abstraction = answers()[0].evidence, answers()[1].abstraction
    assert isinstance(pipe, Flowpipe)
    assert isinstance(abstraction, NeuralAbstraction)
    assert abstraction.automaton is not None
    location, *rest = abstraction.automaton.locations
    moved = replace(location, drift=location.drift + 1)
    others = [replace(abstraction, error=2 * abstraction.error)]
    others.append(replace(abstraction, automaton=replace(abstraction.automaton, locations=(moved, *rest))))
    assert abstraction not in others
    assert pipe != replace(pipe, sets=replace(pipe.sets, upper=pipe.upper + 1))
    assert pipe != abstraction


def asked(claim: str) -> Result:
    return vn.check(read(TASK), claim, timeout=60)


def refused(claim: str) -> Result:
    return vn.check(read(TASK), claim, engine="paths")


def test_answers_and_errors_come_from_a_pool() -> None:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.map(asked, SEVERAL)
        with pytest.raises(InputError, match="for systems that move in steps"):
            pool.map(refused, SEVERAL[:1])
    assert [answer.verdict for answer in found] == [vn.HOLDS, vn.VIOLATED, vn.VIOLATED]
    assert found[1].trace is not None
    assert found[1].formula == text(parse_formula(task(), SEVERAL[1]))
