"""What planning models may not say: a message with file, JSON path and what is supported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.formats.jani import lift
from vernal.errors import InputError
from vernal.formats.jani.planning_task import load_jani

Json = Any
Change = Callable[[Json, Json, Json], object]  # of model, property and policy interface


def edge(model: Json, number: int = 0) -> Json:
    return model["automata"][0]["edges"][number]


def edges(model: Json) -> Json:
    return model["automata"][0]["edges"]


def variable(model: Json, kind: Json) -> None:
    model["variables"].append({"name": "more", "type": kind})


def guard(model: Json, expression: Json) -> None:
    edge(model)["guard"]["exp"] = expression


REFUSALS: dict[str, tuple[Change, str, str]] = {
    "undefined constant": (
        lambda m, q, i: m["constants"].append({"name": "K", "type": "int"}),
        "lift.jani: $.constants[2]",
        "the constant 'K' has no value; set it with --constant K=VALUE",
    ),
    "real variable": (
        lambda m, q, i: variable(m, "real"),
        "lift.jani: $.variables[2].type",
        "'more' is a real variable without bounds",
    ),
    "unbounded int": (lambda m, q, i: variable(m, "int"), "$.variables[2].type", "an integer without bounds"),
    "array": (
        lambda m, q, i: variable(m, {"kind": "array", "base": "bool"}),
        "$.variables[2]",
        "the array 'more' needs an initial-value, which says how many elements it has",
    ),
    "clock": (lambda m, q, i: variable(m, "clock"), "$.variables[2].type", 'of type "clock"'),
    "transient": (
        lambda m, q, i: m["variables"].append({"name": "t", "type": "bool", "transient": True}),
        "$.variables[2]",
        "transient",
    ),
    "unknown operator": (
        lambda m, q, i: guard(m, {"op": "xor", "left": True, "right": "doors"}),
        "$.automata[0].edges[0].guard.exp",
        "the operator 'xor' is not supported; supported: ∧ ∨",
    ),
    "array access": (
        lambda m, q, i: guard(m, {"op": "aa", "exp": "doors", "index": 0}),
        "$.automata[0].edges[0].guard.exp.index",
        "this is one value and has no elements",
    ),
    "a remainder of what may be negative": (
        lambda m, q, i: guard(
            m,
            {
                "op": "=",
                "left": {"op": "%", "left": {"op": "-", "left": "the-floor", "right": 9}, "right": 2},
                "right": 1,
            },
        ),
        "$.automata[0].edges[0].guard.exp.left",
        "the left side of % may be negative",
    ),
    "a remainder by a variable": (
        lambda m, q, i: guard(m, {"op": "=", "left": {"op": "%", "left": 3, "right": "the-floor"}, "right": 1}),
        "$.automata[0].edges[0].guard.exp.left",
        "% is by a constant integer above 0",
    ),
    "product of variables": (
        lambda m, q, i: guard(
            m, {"op": "=", "left": {"op": "*", "left": "the-floor", "right": "the-floor"}, "right": 1}
        ),
        "$.automata[0].edges[0].guard.exp.left",
        "* is by a constant",
    ),
    "a truth value in a sum": (
        lambda m, q, i: guard(m, {"op": "=", "left": {"op": "+", "left": "doors", "right": 1}, "right": 1}),
        "$.automata[0].edges[0].guard.exp.left",
        "",
    ),
    "a number as a guard": (lambda m, q, i: guard(m, "the-floor"), "guard.exp", "of sort bool is expected"),
    "unknown variable": (
        lambda m, q, i: guard(m, "door"),
        "$.automata[0].edges[0].guard.exp",
        "there is no variable or constant 'door'; did you mean 'doors'?",
    ),
    "unknown action": (
        lambda m, q, i: edge(m).update(action="Up"),
        "$.automata[0].edges[0].action",
        "there is no action 'Up'; known: down, up",
    ),
    "unknown location": (
        lambda m, q, i: edge(m).update(location="stil"),
        "$.automata[0].edges[0].location",
        "there is no location 'stil'",
    ),
    "a rate": (lambda m, q, i: edge(m).update(rate={"exp": 1}), "$.automata[0].edges[0].rate", "rates"),
    "a strange probability": (
        lambda m, q, i: edge(m)["destinations"][1]["probability"].update(exp=2),
        "$.automata[0].edges[0].destinations[1].probability",
        "2 is no probability",
    ),
    "a probability beyond floats": (
        lambda m, q, i: edge(m)["destinations"][1]["probability"].update(exp=10**400),
        "$.automata[0].edges[0].destinations[1].probability",
        "is no probability",
    ),
    "a bound beyond floats": (
        lambda m, q, i: m["variables"][0]["type"].update({"upper-bound": 10**400}),
        "$.variables[0].type.upper-bound",
        "beyond 2^53",
    ),
    "a probability of the state": (
        lambda m, q, i: edge(m)["destinations"][1]["probability"].update(exp="the-floor"),
        "$.automata[0].edges[0].destinations[1].probability",
        "a constant is expected",
    ),
    "assigned twice": (
        lambda m, q, i: edge(m)["destinations"][0]["assignments"].append({"ref": "the-floor", "value": 0}),
        "$.automata[0].edges[0].destinations[0].assignments[1]",
        "assigned twice",
    ),
    "one assignment after another": (
        lambda m, q, i: edge(m)["destinations"][0]["assignments"][0].update(index=1),
        "assignments[0].index",
        "all are made at once",
    ),
    "a kind of model": (lambda m, q, i: m.update(type="ctmc"), "lift.jani: $.type", 'models of type "ctmc"'),
    "no vectors": (lambda m, q, i: m["system"].pop("syncs"), "$.system", "'syncs'"),
    "a short vector": (
        lambda m, q, i: m["system"]["syncs"][0].update(synchronise=["up", None]),
        "$.system.syncs[0]",
        "2 actions for 1 automata",
    ),
    "input enabled": (
        lambda m, q, i: m["system"]["elements"][0].update({"input-enable": ["up"]}),
        "$.system.elements[0]",
        "input-enable",
    ),
    "an initial value out of range": (
        lambda m, q, i: m["variables"][0].update({"initial-value": 7}),
        "$.variables[0].initial-value",
        "7 is outside the range [0, 3] of 'the-floor'",
    ),
    "unknown input": (
        lambda m, q, i: i["input"][0].update(name="the_floor"),
        "up.jani2nnet: $.input[0]",
        "the model has no variable 'the_floor'; did you mean 'the-floor'?",
    ),
    "unknown output": (
        lambda m, q, i: i.update(output=["up", "left"]),
        "up.jani2nnet: $.output[1]",
        "the model has no action 'left'; known: down, up",
    ),
    "no action": (lambda m, q, i: i.update(output=[]), "up.jani2nnet: $.output", "the policy has no action"),
    "no action in the model": (
        lambda m, q, i: (m.update(actions=[]), m["system"].update(syncs=[]), [e.pop("action", 0) for e in edges(m)]),
        "up.jani2nnet: $.output[0]",
        "the model has no action 'up': it declares none",
    ),
    "one input too few": (
        lambda m, q, i: i["input"].pop(),
        "up.jani2nnet: $.input",
        "has 2 inputs, but 1 are named here",
    ),
    "one output too few": (
        lambda m, q, i: i["output"].pop(),
        "up.jani2nnet: $.output",
        "has 2 outputs, but 1 are named here",
    ),
    "a start value out of range": (
        lambda m, q, i: q["expression"].update(
            start={"op": "states-values", "values": [{"variables": [{"var": "the-floor", "value": 9}]}]}
        ),
        "pa.jani: $.properties[0].expression.start.values[0].variables[0].value",
        "9 is outside the range",
    ),
    "an empty list": (
        lambda m, q, i: q["expression"].update(start={"op": "states-values", "values": []}),
        "pa.jani: $.properties[0].expression.start.values",
        "the list of start states is empty",
    ),
    "another kind of start": (
        lambda m, q, i: q["expression"]["start"].update(op="somewhere"),
        "pa.jani: $.properties[0].expression.start",
        "supported: state-condition, states-values",
    ),
    "a let without a value": (
        lambda m, q, i: guard(m, {"op": "let", "variables": [{"name": "y"}], "expression": True}),
        "guard.exp.variables[0]",
        "needs a 'value'",
    ),
}


@pytest.mark.parametrize("change", REFUSALS.values(), ids=REFUSALS)
def test_refused_at_its_place(change: tuple[Change, str, str], tmp_path: Path) -> None:
    spoil, place, message = change
    model, asked, policy = lift.model(), lift.asked(), {**lift.POLICY, "input": [dict(e) for e in lift.POLICY["input"]]}
    policy["output"] = list(policy["output"])
    spoil(model, asked, policy)
    lift.write(tmp_path, model, asked, policy)
    with pytest.raises(InputError) as caught:
        load_jani(tmp_path / "lift.jani", property=str(tmp_path / "pa.jani"), constants={"top": 3})
    assert place in str(caught.value)
    assert message in str(caught.value)


ODD: list[Json] = [5, "the-floor", True, {"var": "the-floor"}, [5], [{}], [{"var": 1, "value": 1}], [None]]


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("key", ["values", "variables", "locations"])
def test_lists_of_start_states_are_lists_of_what_they_should_be(key: str, value: Json, tmp_path: Path) -> None:
    listed = {"variables": [{"var": "the-floor", "value": 1}], key: value}
    asked = lift.asked()
    asked["expression"]["start"] = {"op": "states-values", "values": value if key == "values" else [listed]}
    lift.write(tmp_path, pa=asked)
    with pytest.raises(InputError, match=r"\.start\.values"):
        load_jani(tmp_path / "lift.jani", property=str(tmp_path / "pa.jani"), constants={"top": 3})


def test_files_that_are_no_models(tmp_path: Path) -> None:
    lift.write(tmp_path)
    (tmp_path / "broken.jani").write_text("{")
    (tmp_path / "deep.jani").write_text("[" * 100_000 + "]" * 100_000)
    (tmp_path / "nan.jani").write_text('{"a": NaN}')
    (tmp_path / "huge.jani").write_text('{"a": 1e999999999}')
    for name, message in (
        ("broken.jani", "not a JSON file"),
        ("deep.jani", "nested too deep"),
        ("nan.jani", "NaN is not a number"),
        ("huge.jani", "digits"),
        ("pa.jani", "not a JANI model"),
        ("absent.jani", "there is no file"),
    ):
        with pytest.raises(InputError, match=message):
            load_jani(tmp_path / name)


def test_properties_that_are_not_there(tmp_path: Path) -> None:
    model = lift.write(tmp_path)
    file = tmp_path / "pa.jani"
    for which, message in (
        (f"{file}#1", "there is no PA property '1'"),
        ("#0", "there is no PA property in this file"),
    ):
        with pytest.raises(InputError, match=message):
            load_jani(model, property=which, constants={"top": 3})
    with pytest.raises(InputError, match="not both"):
        load_jani(model, property=str(file), unsafe="doors", constants={"top": 3})
    with pytest.raises(InputError, match="there is no constant 'tops'; did you mean 'top'"):
        load_jani(model, property=str(file), constants={"tops": 3})
    with pytest.raises(InputError, match="--filter is 'applicable'"):
        load_jani(model, property=str(file), constants={"top": 3}, filter="all")
    with pytest.raises(InputError, match="--filter needs a policy"):
        load_jani(model, unsafe="doors", constants={"top": 3}, filter="applicable")
