"""Arrays of planning models: each element is a variable; what may be outside is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import vernal as vn
from vernal.errors import InputError
from vernal.formats.jani.planning_task import load_jani
from vernal.logic.task import Task

Json = Any


def bounded(low: int, high: int) -> Json:
    return {"kind": "bounded", "base": "int", "lower-bound": low, "upper-bound": high}


def variable(name: str, kind: Json, first: Json) -> Json:
    return {"name": name, "type": kind, "initial-value": first}


def listed(*elements: Json) -> Json:
    return {"op": "av", "elements": list(elements)}


def at(array: Json, index: Json) -> Json:
    return {"op": "aa", "exp": array, "index": index}


def binary(op: str, left: Json, right: Json) -> Json:
    return {"op": op, "left": left, "right": right}


def edge(*assignments: tuple[Json, Json], guard: Json = True) -> Json:
    made = [{"ref": ref, "value": value} for ref, value in assignments]
    return {"location": "on", "guard": {"exp": guard}, "destinations": [{"location": "on", "assignments": made}]}


D = variable("d", {"kind": "array", "base": bounded(0, 9)}, listed(3, 1, 2))
PLACE = variable("i", bounded(0, 3), 0)
GRID = variable(
    "grid",
    {"kind": "array", "base": {"kind": "array", "base": "bool"}},
    {"op": "ac", "var": "r", "length": 2, "exp": {"op": "ac", "var": "c", "length": 2, "exp": binary("=", "r", "c")}},
)
FLAGS = variable("d", {"kind": "array", "base": "bool"}, listed(False, False))
INSIDE = binary("<", "i", 2)
NEXT = binary("+", "i", 1)


def automaton(edges: list[Json], *own: Json) -> Json:
    places = {"locations": [{"name": "on"}], "initial-locations": ["on"]}
    return {"name": "m", "variables": list(own), **places, "edges": edges}


def model(variables: list[Json], *automata: Json) -> Json:
    return {
        "jani-version": 1,
        "name": "made",
        "type": "lts",
        "variables": variables,
        "automata": list(automata),
        "system": {"elements": [{"automaton": one["name"]} for one in automata]},
    }


def loaded(folder: Path, made: Json, unsafe: str) -> Task:
    (folder / "made.jani").write_text(json.dumps(made))
    return load_jani(folder / "made.jani", unsafe=unsafe)


def task(folder: Path, variables: list[Json], edges: list[Json], unsafe: str) -> Task:
    return loaded(folder, model(variables, automaton(edges)), unsafe)


LARGER = binary(">", at("d", "i"), at("d", NEXT))
SORTING = [  # one pass: neighbours change places where the first is larger
    edge(
        (at("d", "i"), at("d", NEXT)),
        (at("d", NEXT), at("d", "i")),
        ("i", NEXT),
        guard=binary("∧", INSIDE, LARGER),
    ),
    edge(("i", NEXT), guard=binary("∧", INSIDE, {"op": "¬", "exp": LARGER})),
]


@pytest.mark.parametrize(
    ("unsafe", "verdict", "step"),
    [
        ("d[0] == 1 & d[1] == 2 & d[2] == 3", vn.VIOLATED, 2),
        ("d[2] == 1", vn.HOLDS, None),  # it is moved to the front
        ("i == 2 & d[clip(i, 0, 2)] == 3", vn.VIOLATED, 2),
        ("sum(d) != 6", vn.HOLDS, None),
        ("any(d[k] > 3 for k in 0..2)", vn.HOLDS, None),
    ],
)
def test_elements_are_read_and_assigned(tmp_path: Path, unsafe: str, verdict: vn.Verdict, step: int | None) -> None:
    asked = task(tmp_path, [D, PLACE], SORTING, unsafe)
    assert [one.name for one in asked.system.state] == ["d[0]", "d[1]", "d[2]", "i"]
    for engine in ("explicit", "predicates", "auto"):
        result = vn.check(asked, asked.properties["safe"], engine=engine)
        assert (result.verdict, result.step) == (verdict, step), engine


def test_arrays_of_arrays(tmp_path: Path) -> None:
    """The other row is copied, whichever is said to be the first."""
    row = at("grid", binary("-", 1, "i"))
    copied = {"op": "ac", "var": "c", "length": 2, "exp": at(row, "c")}
    place = variable("i", bounded(0, 1), 0)
    edges = [edge((at("grid", "i"), copied)), edge(("i", binary("-", 1, "i")))]
    asked = task(tmp_path, [GRID, place], edges, "'grid[0][0]' & 'grid[0][1]'")
    found = vn.check(asked, engine="explicit")["safe"]
    assert (found.verdict, found.statistics["states"]) == (vn.HOLDS, 6)  # rows 10 01, 10 10 and 01 01, with i 0 and 1
    asked = task(tmp_path, [GRID, place], edges, "'grid[0][0]' & 'grid[1][0]'")
    assert vn.check(asked, engine="explicit")["safe"].verdict is vn.VIOLATED


def test_arrays_of_an_automaton_have_its_name_where_theirs_is_taken(tmp_path: Path) -> None:
    other = {**automaton([edge((at("d", 1), True))], FLAGS), "name": "n"}
    made = model([PLACE], automaton([edge((at("d", 0), 4))], D), other)
    asked = loaded(tmp_path, made, "'d[0]' == 4 & 'n.d[1]'")
    assert [one.name for one in asked.system.state] == ["i", "d[0]", "d[1]", "d[2]", "n.d[0]", "n.d[1]"]
    assert vn.check(asked, engine="explicit")["safe"].step == 2


def test_arrays_are_told_apart_by_their_places(tmp_path: Path) -> None:
    """Two assignments to elements whose numbers the guard keeps apart."""
    other = variable("j", bounded(0, 2), 1)
    place = variable("i", bounded(0, 2), 0)
    edges = [edge((at("d", "i"), 0), (at("d", "j"), 9), guard=binary("≠", "i", "j"))]
    asked = task(tmp_path, [D, place, other], edges, "d[0] == 0 & d[1] == 9 & d[2] == 2")
    assert vn.check(asked, engine="explicit")["safe"].step == 1


@pytest.mark.parametrize(
    ("variables", "edges", "said"),
    [
        ([D, PLACE], [edge((at("d", "i"), 0))], "this index may be outside the array, which has elements 0 to 2"),
        ([D, PLACE], [edge(("i", at("d", NEXT)))], "may be outside the array"),
        ([D, PLACE], [edge(guard=binary("∧", LARGER, INSIDE))], "may be outside the array"),
        ([D, PLACE], [edge(guard=binary("∨", INSIDE, LARGER))], "may be outside the array"),
        ([D, PLACE], [edge(("i", at("d", 3)))], "there is no element 3: the array has elements 0 to 2"),
        ([D, PLACE], [edge((at("d", "i"), 0), (at("d", 1), 1), guard=INSIDE)], "'d[1]' may be assigned twice at once"),
        ([D, PLACE], [edge(("d", listed(1, 2)))], "an array of 3 elements keeps this length"),
        ([D, PLACE], [edge(("i", "d"))], "this is an array of 3, where one value is expected"),
        ([D, PLACE], [edge((at("d", 0), True))], "an expression of sort int is expected, but this is of sort bool"),
        ([D, PLACE], [edge((listed(0, 1, 2), 1))], "only variables and elements of arrays can be assigned"),
        ([D, PLACE], [edge(("i", at(at("d", 0), 0)))], "this is one value and has no elements"),
        ([D, PLACE], [edge((at("d", INSIDE), 0))], "an expression of sort int is expected"),
        ([D, PLACE], [edge(("d", {"op": "ac", "var": "k", "length": "i", "exp": 0}))], "is a constant integer"),
        ([D, PLACE], [edge(("d", {"op": "ac", "var": "k", "length": 10**9, "exp": 0}))], "from 1 to 5000 elements"),
        ([variable("d", D["type"], listed(1, 10))], [], "10 is outside the range [0, 9] of 'd[1]'"),
        ([variable("d", D["type"], listed(1, True))], [], "a constant of sort int is expected for 'd[1]'"),
        ([variable("d", D["type"], listed())], [], "an array has at least one element"),
        ([variable("d", D["type"], 3)], [], "not as many dimensions as the type"),
        ([variable("d", GRID["type"], listed(listed(True), listed(True, True)))], [], "have the same length"),
        ([variable("d", {"kind": "array", "base": "real"}, listed(1))], [], "'d[0]' is a real variable without bounds"),
        ([D, variable("d", "bool", False)], [], "the name 'd' is declared twice"),
        ([D, variable("d[1]", "bool", False)], [], "the name 'd[1]' is declared twice"),
        ([variable("d[1]", "bool", False), D], [], "the name 'd[1]' of an element is that of a variable"),
    ],
)
def test_what_is_refused(tmp_path: Path, variables: list[Json], edges: list[Json], said: str) -> None:
    with pytest.raises(InputError) as refused:
        task(tmp_path, variables, edges, "false")
    assert said in str(refused.value)


def test_much_that_is_written_out_is_refused(tmp_path: Path) -> None:
    body: Json = 0
    for name in "abc":
        body = {"op": "ac", "var": name, "length": 5000, "exp": body}
    with pytest.raises(InputError, match="more than is read"):
        task(tmp_path, [variable("d", D["type"], body)], [], "false")
