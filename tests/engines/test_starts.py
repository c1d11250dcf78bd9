"""Starts that a condition over truth values, locations and integers describes: every engine against enumeration."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.available import engines_of_steps, is_here
from tests.jani_starts import StartsModel
from tests.judge import Judge, instance
from tests.portion import some
from vernal.engines.check import ask, parse_formula
from vernal.errors import TypeClash
from vernal.evidence.result import Result, Verdict
from vernal.formats.jani.planning_task import load_jani
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.initial import InitialSet, OneOf, Span, start_among
from vernal.model.sorts import BOOL, INT, Sort, enum
from vernal.run.budget import Budget

NAMES = [entry.name for entry in engines_of_steps() if is_here(entry.name)]
QUESTIONS = some(10)
COUNTER = StartsModel(
    flags=["x", "y"],
    counters={"n": (0, 9)},
    automata={"p": ["p0"]},
    edges={"p": [{"from": "p0", "to": "p0", "guard": ("number", "<", "n", 9), "flips": None, "counts": "n"}]},
)


def asked(engine: str, task: Task, claim: str, timeout: float = 5) -> Result:
    return ask(task, parse_formula(task, claim), None, engine, Budget(timeout=timeout))


@pytest.mark.parametrize("engine", NAMES)
def test_no_engine_disagrees_with_enumeration(engine: str) -> None:
    decided = 0
    for seed in range(QUESTIONS):
        question = instance(seed, "starts")
        result = ask(Task(question.system), question.formula, None, engine, Budget(timeout=1))
        assert not list(Judge(question).problems({engine: result})), question
        decided += result.verdict is not Verdict.UNKNOWN
    if engine in ("auto", "explicit"):
        assert decided == QUESTIONS


@pytest.mark.parametrize("engine", NAMES)
@pytest.mark.parametrize(
    ("start", "claim"),
    [
        ("x | y", "G (n < 5)"),
        ("x | y", "F (n > 9)"),
        ("x | y", "EX (n > 20)"),
        ("x | y | n >= 8", "G (n >= 8)"),
    ],
)
def test_a_counter_that_starts_where_a_flag_is_set_climbs(tmp_path: Path, start: str, claim: str, engine: str) -> None:
    (tmp_path / "counter.jani").write_text(json.dumps(COUNTER.json()), encoding="utf-8")
    result = asked(engine, load_jani(tmp_path / "counter.jani", start=start, unsafe="n >= 5"), claim)
    assert result.verdict is not Verdict.HOLDS
    assert not result.vacuous


# The kind of mistake: a sort that is taken apart by whether it is INT -------------------------------------------------

SORTS = [BOOL, INT, enum("a", "b", "c"), enum("only")]


def domains(sort: Sort) -> Iterator[tuple[int, ...]]:
    values = sort.values or range(-2, 3)
    for size in range(1, len(values) + 1):
        yield from itertools.combinations(values, size)


@pytest.mark.parametrize("sort", SORTS, ids=str)
def test_a_start_has_the_values_it_was_made_from(sort: Sort) -> None:
    for values in domains(sort):
        start = start_among(values, sort)
        initial = InitialSet({build.var("x", sort): (start,)})
        alternatives = [part.first for part in initial.alternatives()]
        assert [value[0] for each in alternatives for value in each.values()] == list(map(Fraction, values))
        assert initial.count == len(values)


@pytest.mark.parametrize("sort", [sort for sort in SORTS if not sort.is_number], ids=str)
def test_labels_and_truth_values_start_in_no_interval(sort: Sort) -> None:
    with pytest.raises(TypeClash, match="not in the interval"):
        InitialSet({build.var("x", sort): (Span(Fraction(0), Fraction(1)),)})


@given(st.integers(-5, 5), st.integers(0, 5))
def test_an_interval_of_integers_stays_one(low: int, width: int) -> None:
    start = start_among(range(low, low + width + 1), INT)
    assert start == (Span(Fraction(low), Fraction(low + width)) if width else OneOf((Fraction(low),)))
