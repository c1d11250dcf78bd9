"""Trace files: written so that they come back exactly, read so that nothing is believed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.portion import every
from tests.systems import accumulator, chooser, make, wanderer
from vernal.errors import FormatError
from vernal.evidence.evidence_file import dump, load, parameters
from vernal.evidence.replay import run, verify
from vernal.evidence.result import VIOLATED, Result
from vernal.evidence.trace import Choice, Enclosure, Trace
from vernal.evidence.trace_file import from_json, to_json
from vernal.evidence.trace_values import read_number, settled, write_number
from vernal.logic.task import InputFile, Task
from vernal.model import build
from vernal.model.expr import Function
from vernal.model.sorts import BOOL, INT, enum
from vernal.model.system import System

X = build.var("x")


def sample() -> tuple[System, Trace]:
    """A system with every sort of value, and a path of it."""
    colours = enum("RED", "GREEN")
    n, flag, colour = build.var("n", INT), build.var("p", BOOL), build.var("c", colours)
    move = {
        "x": X / 3 + build.between(0, 1, name="w") + build.choose(0, Fraction(1, 7), name="kick"),
        "n": n + 1,
        "p": ~flag,
        "c": build.choose(colour, build.label(colours, "RED"), name="paint"),
        "s": build.apply(Function.SIN, X),
    }
    init = {"x": (0, 1), "n": 0, "p": {0, 1}, "c": 1, "s": 0}
    system = make(init, move, sorts={"n": INT, "p": BOOL, "c": colours})
    first = {"x": Fraction("0.1"), "n": Fraction(0), "p": Fraction(1), "c": Fraction(1), "s": Fraction(0)}
    drawn = {"w": Fraction("0.25"), "kick": 1, "paint": 1}
    return system, run(system, first, [drawn, {**drawn, "paint": 0}], 2)


def text(system: System, trace: Trace) -> str:
    """A trace file."""
    task = Task(
        system,
        parameters={"k": Fraction(6), "v0": Fraction("-19.5"), "third": Fraction(1, 3)},
        source=InputFile("task.toml", "ab" * 32),
        networks=(InputFile("net.onnx", "cd" * 32),),
    )
    return dump(task, Result("G x < 1", VIOLATED, "falsify", "safe", evidence=trace))


# Numbers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Fraction("0.1"), 0.1),
        (Fraction(0.1), "3602879701896397/36028797018963968"),
        (Fraction(-131), -131.0),
        (Fraction(1, 3), "1/3"),
        (Fraction(1, 3**200), float(Fraction(1, 3**200))),
        (Fraction(10**400), "1.0000000000000000E+400"),
        (Enclosure(Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**40)), 0.3333333333333333),
    ],
)
def test_numbers(value: Fraction | Enclosure, written: float | str) -> None:
    assert write_number(value) == written
    if isinstance(value, Fraction) and value.denominator < 10**20:
        assert read_number(write_number(value), "here") == value


def test_what_a_replay_starts_from_is_written_in_full() -> None:
    long = Fraction(1, 3**200)
    assert read_number(write_number(long, full=True), "here") == long
    system = make({"x": (0, 1)}, {"x": X / 7 + build.between(0, 1, name="w")})
    trace = run(system, {"x": long}, [{"w": Fraction(2, 3**190)}], 1)
    assert verify(system, from_json(json.loads(json.dumps(to_json(trace, system))), system)).accepted


@given(st.fractions())
def test_short_numbers_come_back_exactly(value: Fraction) -> None:
    written = write_number(value, full=True)
    assert read_number(json.loads(json.dumps(written)), "here") == value


@given(st.integers(1, 10**40), st.integers(1, 10**20), st.integers(310, 900), st.booleans(), st.integers(-1, 1))
def test_numbers_beyond_floats_are_rounded_as_decimals_are(
    numerator: int, denominator: int, exponent: int, negative: bool, beside: int
) -> None:
    value = Fraction((10 * numerator + 5) * 10**exponent + beside, denominator if denominator % 3 else 1)
    value = -value if negative else value
    with localcontext() as context:
        context.prec = 17
        expected = f"{Decimal(value.numerator) / Decimal(value.denominator):.16E}"
    assert write_number(value) == expected or abs(value) < 10**310


HUGE = "1.0E+999999"  # Python writes no integer of so many digits


def number_places(document: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where numbers stand in a document."""
    match document:
        case dict() | list():
            for key, part in document.items() if isinstance(document, dict) else enumerate(document):
                yield from number_places(part, (*place, key))
        case bool():
            return
        case int() | float():
            yield place


def with_number(document: Any, place: tuple[Any, ...], number: Any) -> Any:
    """The document with another number at a place."""
    changed = json.loads(json.dumps(document))
    part = changed
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = number
    return changed


@pytest.mark.parametrize("position", every(2, [0, 1, 2]))
def test_a_number_beyond_all_texts_is_refused_in_words(position: int) -> None:
    system, trace = sample()
    document = to_json(trace, system)
    places = [place for place in number_places(document) if place[:2] == ("steps", position)]
    assert places
    for place in places:
        assert len(refusal(system, with_number(document, place, HUGE))) < 500


def refusal(system: System, document: Any) -> str:
    """Why a document is no path of the system."""
    try:
        read = verify(system, from_json(document, system))
    except FormatError as refused:
        return str(refused)
    assert not read.accepted
    return str(read.problem)


def test_an_enclosure_is_settled_where_one_float_says_it() -> None:
    assert settled(Enclosure(Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**20)))
    assert not settled(Enclosure(Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**10)))


# Traces ---------------------------------------------------------------------------------------------------------------


def test_a_step_reads_as_designed() -> None:
    system, trace = sample()
    first, second, last = to_json(trace, system)["steps"]
    assert first == {
        "state": {"x": 0.1, "n": 0, "p": True, "c": "GREEN", "s": 0.0},
        "actions": {},
        "choices": {"kick": {"index": 1, "value": "1/7"}, "paint": {"index": 1, "value": "RED"}},
        "disturbances": {"w": 0.25},
        "memory": {},
    }
    assert second["state"]["s"] == 0.09983341664682815
    assert last["choices"] == last["disturbances"] == {}


def test_actions_and_memory() -> None:
    system = accumulator()
    document = to_json(run(system, {"x": Fraction(1)}, [], 1, {"adder": [Fraction(1, 2)]}), system)
    assert document["steps"][0]["memory"] == {"adder": [0.5]}
    assert document["steps"][0]["actions"] == {"adder": 1.0}
    pilot = chooser()
    assert to_json(run(pilot, {"x": Fraction(1)}, [], 0), pilot)["steps"][0]["actions"] == {"pilot": "LEFT"}


@pytest.mark.parametrize("make_sample", [sample], ids=["all sorts"])
def test_what_is_written_is_read(make_sample: Callable[[], tuple[System, Trace]]) -> None:
    system, trace = make_sample()
    read = from_json(json.loads(json.dumps(to_json(trace, system))), system)
    assert read.steps[0].choices["kick"] == Choice(1, Fraction(1, 7))
    assert to_json(read, system) == to_json(trace, system)
    assert verify(system, read).accepted


# Files ----------------------------------------------------------------------------------------------------------------


def test_a_file_says_what_it_is_about() -> None:
    system, trace = sample()
    file = load(text(system, trace))
    assert file.is_intact()
    assert (file.formula, file.property, file.verdict) == ("G x < 1", "safe", VIOLATED)
    assert file.task["file"] == "task.toml"
    assert file.task["networks"] == [{"file": "net.onnx", "sha256": "cd" * 32}]
    assert parameters(file) == {"k": 6, "v0": Fraction("-19.5"), "third": Fraction(1, 3)}
    assert verify(system, from_json(file.content["trace"], system)).accepted


def test_an_edit_of_any_digit_is_found() -> None:
    """Every digit of the trace, one at a time: refused, or no longer intact."""
    system, trace = sample()
    written = text(system, trace)
    start, end = written.index('"steps"'), written.index('"sha256"', written.index('"steps"'))
    digits = [match.start() for match in re.finditer(r"\d", written) if start < match.start() < end]
    assert len(digits) > 50
    for place in digits:
        changed = written[:place] + str((int(written[place]) + 1) % 10) + written[place + 1 :]
        try:
            file = load(changed)
        except FormatError:
            continue
        assert not file.is_intact(), changed[place - 20 : place + 20]


def test_an_edit_with_a_mended_hash_is_found() -> None:
    """Whoever also mends the hash still meets the recomputation, which says where."""
    system = wanderer()
    trace = run(system, {"x": Fraction("0.5")}, [{"move": 2}, {"move": 0}], 2)
    document = to_json(trace, system)
    document["steps"][1]["state"]["x"] = 2.6
    found = verify(system, from_json(document, system))
    assert str(found.problem) == "step 1, x: recorded 2.6, recomputed 2.5 (the values differ)"


BROKEN: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda d: d.pop("trace"), "'trace' is missing"),
    (lambda d: d.update(more=1), "'more' is not known"),
    (lambda d: d.update(schema_version=2), "schema_version"),
    (lambda d: d.update(verdict="unknown"), "verdict|trace belongs"),
    (lambda d: d.update(formula=3), "formula"),
    (lambda d: d.update(property=3), "property"),
    (lambda d: d.update(task=[]), "task"),
    (lambda d: d["task"].update(networks={}), "networks"),
]


@pytest.mark.parametrize(("spoil", "why"), BROKEN)
def test_broken_files_are_refused(spoil: Callable[[dict[str, Any]], object], why: str) -> None:
    system, trace = sample()
    document = json.loads(text(system, trace))
    spoil(document)
    with pytest.raises(FormatError, match=why):
        load(json.dumps(document))


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "NaN", '{"a": Infinity}', "[" * 100_000, "1" * 10_000, '{"a": 1, "a": 2}', '{"a": 1e999999999}'],
)
def test_nonsense_is_refused(content: str) -> None:
    with pytest.raises(FormatError):
        load(content)


SPOILT: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda d: d.update(steps=[]), "at least one step"),
    (lambda d: d.update(loop=9), "loop"),
    (lambda d: d["steps"][1].pop("memory"), "step 1: 'memory' is missing"),
    (lambda d: d["steps"][1]["state"].pop("x"), "step 1, state: 'x' is missing"),
    (lambda d: d["steps"][1]["state"].update(y=1), "'y' is not known"),
    (lambda d: d["steps"][1]["state"].update(x=True), "step 1, x: expected a number"),
    (lambda d: d["steps"][1]["state"].update(x="1/0"), "step 1, x"),
    (lambda d: d["steps"][1]["state"].update(x=None), "step 1, x"),
    (lambda d: d["steps"][1]["state"].update(p=1), "true or false"),
    (lambda d: d["steps"][1]["state"].update(c="BLUE"), "RED, GREEN"),
    (lambda d: d["steps"][1]["state"].update(c=["RED"]), "RED, GREEN"),
    (lambda d: d["steps"][0]["choices"].update(kick=1), "choices, kick: expected an object"),
    (lambda d: d["steps"][0]["choices"]["kick"].update(index=-1), "option"),
    (lambda d: d["steps"][0]["choices"].update(w={"index": 0, "value": 1}), "'w' is not known"),
    (lambda d: d["steps"][0]["disturbances"].update(w=[1]), "disturbances, w"),
]


@pytest.mark.parametrize(("spoil", "why"), SPOILT)
def test_malformed_traces_are_refused(spoil: Callable[[dict[str, Any]], object], why: str) -> None:
    system, trace = sample()
    document = to_json(trace, system)
    spoil(document)
    with pytest.raises(FormatError, match=why):
        from_json(document, system)
