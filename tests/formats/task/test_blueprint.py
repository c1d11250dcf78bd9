"""Task files say what DESIGN says they say: exact numbers, typed names, one graph."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.portion import some
from vernal.engines.check import in_range
from vernal.errors import InputError, Problems
from vernal.formats.task.blueprint import Override, load, open_task, read_task
from vernal.logic.formula import Always, And, Atom, Bound
from vernal.logic.task import InputFile, Task
from vernal.model import build
from vernal.model.expr import Affine, Const, Expr
from vernal.model.graph import order
from vernal.model.sorts import BOOL, INT, REAL, enum
from vernal.model.system import OneOf, Span
from vernal.model.travel import canonical

ROOT = Path(__file__).parents[3]
THERMOSTAT = ROOT / "examples" / "thermostat" / "thermostat.toml"
VCAS = ROOT / "benchmarks" / "vcas" / "vcas.toml"


def read(folder: Path, text: str, overrides: Mapping[str, Override] | None = None) -> Task:
    """A task from a text without its first line."""
    path = folder / "task.toml"
    path.write_text(f"vernal = 1\n{text}", encoding="utf-8")
    return load(path, overrides)


def one_variable(declaration: str, init: str, rest: str = "") -> str:
    return f"{rest}\n[state]\nx = {declaration}\n[init]\nx = {init}\n"


def constant(node: Expr) -> Fraction:
    assert isinstance(node, Const)
    return node.value


# Numbers and declarations ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0.1", Fraction(1, 10)),
        ("1e-3", Fraction(1, 1000)),
        ("1_000", Fraction(1000)),
        ("1_0.2_5", Fraction(41, 4)),
        ("+3", Fraction(3)),
        ("0xff", Fraction(255)),
        ('"1/3"', Fraction(1, 3)),
        ('"-2^2"', Fraction(-4)),
        ("12345678901234567890.123456789", Fraction("12345678901234567890.123456789")),
    ],
)
def test_numbers_are_exactly_what_is_written(tmp_path: Path, written: str, value: Fraction) -> None:
    task = read(tmp_path, one_variable('"real"', '"p"', f"[parameters]\np = {written}\n[constants]\nc = {written}"))
    assert task.parameters == {"p": value}
    assert constant(task.constants["c"]) == value
    assert task.system.init.starts["x"] == OneOf((value,))


@pytest.mark.parametrize(
    ("declaration", "init", "sort", "limits"),
    [
        ('"real"', "0.5", REAL, (None, None)),
        ('"real [-1, 1/2]"', "0", REAL, (Fraction(-1), Fraction(1, 2))),
        ('"int [0, 9]"', "3", INT, (Fraction(0), Fraction(9))),
        ('"bool"', "true", BOOL, (None, None)),
        ('"enum {RED, GREEN, G}"', '"G"', enum("RED", "GREEN", "G"), (None, None)),
    ],
)
def test_declarations(tmp_path: Path, declaration: str, init: str, sort: object, limits: object) -> None:
    (variable,) = read(tmp_path, one_variable(declaration, init)).system.state
    assert variable.sort == sort
    assert (variable.lower, variable.upper) == limits


@pytest.mark.parametrize(
    ("declaration", "init", "start"),
    [
        ('"real"', '"[0.1, 1]"', Span(Fraction(1, 10), Fraction(1))),
        ('"real"', '"[2, 2]"', OneOf((Fraction(2),))),
        ('"real"', '"{1, 2.5}"', OneOf((Fraction(1), Fraction(5, 2)))),
        ('"int"', '"[0.5, 3]"', OneOf((Fraction(1), Fraction(2), Fraction(3)))),
        ('"bool"', '"{true, false}"', OneOf((Fraction(1), Fraction(0)))),
        ('"bool"', "true", OneOf((Fraction(1),))),
        ('"enum {RED, GREEN}"', '"GREEN"', OneOf((Fraction(1),))),
        ('"enum {RED, GREEN}"', '"{GREEN, RED}"', OneOf((Fraction(1), Fraction(0)))),
    ],
)
def test_initial_values(tmp_path: Path, declaration: str, init: str, start: object) -> None:
    assert read(tmp_path, one_variable(declaration, init)).system.init.starts["x"] == start


def test_constraints_cut_the_initial_values(tmp_path: Path) -> None:
    text = '[state]\nx = "real"\n[init]\nx = "[0, 1]"\nwhere = ["x < 1", "x > 0"]\n'
    where = read(tmp_path, text).system.init.where
    x = build.var("x")
    assert where == (x < 1, x > 0)


# Parameters -----------------------------------------------------------------------------------------------------------


PARAMETERS = """
[parameters]
twice = "2 * once"
once = 1.5
steps = 4
[state]
x = "real [-twice, twice]"
[init]
x = "once"
[environment.next]
x = "x / twice"
[properties]
near = "G[0,steps] (x <= twice)"
"""


def test_parameters_reach_ranges_starts_expressions_and_bounds(tmp_path: Path) -> None:
    task = read(tmp_path, PARAMETERS)
    assert task.parameters == {"twice": 3, "once": Fraction(3, 2), "steps": 4}
    assert task.system.state[0].upper == 3
    formula = task.properties["near"]
    assert isinstance(formula, Always)
    assert formula.bound == Bound(Fraction(0), Fraction(4))


@pytest.mark.parametrize("value", ["5", "10/2", 5, 5.0, Fraction(5)])
def test_overrides_are_numbers_or_expressions(tmp_path: Path, value: Override) -> None:
    task = read(tmp_path, PARAMETERS, {"once": value})
    assert task.parameters == {"twice": 10, "once": 5, "steps": 4}
    assert task.system.init.starts["x"] == OneOf((Fraction(5),))


def test_an_override_is_checked_like_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fractional"):
        read(tmp_path, PARAMETERS, {"steps": "2.5"})


def test_the_file_and_its_networks_are_fingerprinted() -> None:
    task = load(THERMOSTAT)
    assert task.source is not None
    assert task.source.sha256 == hashlib.sha256(THERMOSTAT.read_bytes()).hexdigest()
    (network,) = task.networks
    assert network.file == "thermostat.onnx"
    assert network.sha256 == hashlib.sha256((THERMOSTAT.parent / network.file).read_bytes()).hexdigest()


# Names and problems ---------------------------------------------------------------------------------------------------


def test_lets_may_stand_in_any_order(tmp_path: Path) -> None:
    text = one_variable('"real"', "0") + '[environment.let]\na = "b + 1"\nb = "x"\n[environment.next]\nx = "a"\n'
    system = read(tmp_path, text).system
    assert list(system.lets) == ["a", "b"]
    assert system.step.next_state == (build.var("x") + 1,)


def test_a_let_is_drawn_once_and_an_occurrence_each_time(tmp_path: Path) -> None:
    text = one_variable('"real"', "0") + '[environment.let]\nd = "choose(0, 1)"\n[environment.next]\nx = "d + d"\n'
    shared = read(tmp_path, text).system.step
    assert len(shared.names) == 1
    twice = read(tmp_path, text.replace("d + d", "choose(0, 1) + choose(0, 1)")).system.step
    assert sorted(twice.names.values()) == ["d", "x", "x#2"]


def test_problems_are_sorted_by_place(tmp_path: Path) -> None:
    text = one_variable('"real"', "0") + '[environment.next]\nx = "y"\n[properties]\np = "z > 0"\nq = "x >"\n'
    with pytest.raises(Problems) as caught:
        read(tmp_path, text)
    places = [problem.place for problem in caught.value.problems]
    assert [(place.line, place.column) for place in places if place] == [(8, 6), (10, 6), (11, 9)]


def test_a_broken_network_does_not_hide_the_rest(tmp_path: Path) -> None:
    text = (
        '[state]\nx = "real"\nlight = "enum {RED, GREEN}"\n[init]\nx = 0\nlight = "RED"\n'
        '[agents.pilot]\npolicy = "missing.onnx"\nobserve = ["y"]\nlabels = "light"\n'
        '[environment.next]\nx = "match(pilot, RED: 0, GREEN: 1)"\nlight = "pilot"\n'
    )
    with pytest.raises(Problems) as caught:
        read(tmp_path, text)
    assert len(caught.value.problems) == 2
    assert "missing.onnx" in str(caught.value)
    assert "'y'" in str(caught.value)


def test_in_range_asks_for_all_ranges() -> None:
    formula = in_range(load(THERMOSTAT))
    assert isinstance(formula, Always)
    assert isinstance(formula.arg, And)
    T = build.var("T")
    assert formula.arg.args == (Atom(build.compare("<=", 5, T)), Atom(T <= 35))


# Agents ---------------------------------------------------------------------------------------------------------------


def write_linear(path: Path, rows: list[list[float]]) -> None:
    """An ONNX network that is one matrix product."""
    from onnx import TensorProto, helper, numpy_helper

    weight = np.array(rows, dtype=np.float32)
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, weight.shape[i]]) for i, n in ((1, "x"), (0, "y"))]
    node = helper.make_node("Gemm", ["x", "W"], ["y"], transB=1)
    graph = helper.make_graph([node], "net", ends[:1], ends[1:], [numpy_helper.from_array(weight, "W")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    path.write_bytes(model.SerializeToString())


PILOTS = """
[state]
x = "real"
far = "bool"
[init]
x = "[0, 1]"
far = false
[agents.pilot]
policy = "net.onnx"
observe = ["x + between(-0.1, 0.1)", "gap"]
{act}
[environment.let]
gap = "2 - x"
late = "pilot_moves + gap"
pilot_moves = "{moves}"
[environment.next]
x = "x + pilot_moves"
"""


def pilots(folder: Path, act: str, moves: str, **changes: str) -> Task:
    write_linear(folder / "net.onnx", [[1, 0], [0, 1]])
    text = PILOTS.format(act=act, moves=moves)
    for old, new in changes.items():
        text = text.replace(f'"{old}"', f'"{new}"')
    return read(folder, text)


@pytest.mark.parametrize(
    ("act", "moves", "sort", "size"),
    [
        ('act = "argmax"', "pilot", INT, 1),
        ('labels = ["LEFT", "RIGHT"]', "match(pilot, LEFT: -1, RIGHT: 1)", enum("LEFT", "RIGHT"), 1),
        ('act = "raw"', "pilot[0] + pilot[1]", REAL, 2),
        ('act = ["clip(out[0] - out[1], -1, 1)"]', "pilot", REAL, 1),
        ('act = ["out[1]", "x"]', "pilot[1]", REAL, 2),
        ('act = ["out[0] > out[1]"]', "if(pilot, 1, 0)", BOOL, 1),
    ],
)
def test_ways_of_acting(tmp_path: Path, act: str, moves: str, sort: object, size: int) -> None:
    (agent,) = pilots(tmp_path, act, moves).system.agents
    assert agent.var.sort == sort
    assert agent.var.size == size


def test_sensor_noise_is_named_for_the_agent(tmp_path: Path) -> None:
    assert "pilot" in pilots(tmp_path, 'act = "raw"', "pilot[0]").system.step.names.values()


def test_what_depends_on_an_action_cannot_be_observed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'late' depends on an action and cannot be observed"):
        pilots(tmp_path, 'act = "raw"', "pilot[0]", gap="late")


def test_labels_go_with_argmax(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="labels go with"):
        pilots(tmp_path, 'act = "raw"\nlabels = ["LEFT", "RIGHT"]', "1")


def test_a_network_is_selected_by_a_truth_value(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    write_linear(tmp_path / "other" / "net.onnx", [[0, 1], [1, 0]])
    both = '{ by = "far", networks = ["net.onnx", "other/net.onnx"] }'
    write_linear(tmp_path / "net.onnx", [[1, 0], [0, 1]])
    text = PILOTS.format(act='act = "raw"', moves="pilot[0]").replace('"net.onnx"', both)
    task = read(tmp_path, text)
    (agent,) = task.system.agents
    assert agent.select is not None
    assert [network.name for network in agent.networks] == ["net", "net_2"]
    assert [network.file for network in task.networks] == ["net.onnx", "other/net.onnx"]


def test_networks_are_functions_of_expressions(tmp_path: Path) -> None:
    write_linear(tmp_path / "net.onnx", [[1, 2], [3, 4]])
    text = one_variable('"real"', "0", '[networks]\nf = "net.onnx"')
    task = read(tmp_path, text + '[environment.next]\nx = "f(x, 1)[1]"\n')
    assert task.functions["f"].output_size == 2
    assert any(isinstance(node, Affine) for node in order(task.system.step.next_state))
    with pytest.raises(InputError, match="takes 2 inputs, but is given 1"):
        read(tmp_path, text + '[environment.next]\nx = "f(x)[1]"\n')


def test_partial_systems_and_labels_as_next_values(tmp_path: Path) -> None:
    text = one_variable('"enum {RED, GREEN}"', '"RED"') + '[environment]\nenabled = "x == RED"\n'
    system = read(tmp_path, text + '[environment.next]\nx = "GREEN"\n').system
    x = build.var("x", enum("RED", "GREEN"))
    assert system.enabled is build.eq(x, build.label(x.sort, "RED"))
    assert system.next["x"] is build.label(x.sort, "GREEN")


@pytest.mark.parametrize(
    "change", [lambda b: b.replace(b"\n", b"\r\n"), lambda b: b"\xef\xbb\xbf" + b], ids=["CRLF", "BOM"]
)
def test_editors_differ(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "task.toml"
    path.write_bytes(change(b"vernal = 1\n" + PARAMETERS.encode()))
    assert load(path).parameters["once"] == Fraction(3, 2)


@settings(max_examples=some(100))
@given(st.integers(0, 2**32))
def test_no_damage_to_a_file_escapes_as_something_else(seed: int) -> None:
    """Whatever a slip of the editor makes of a file, it loads or it is refused in Vernal's own words."""
    rng = random.Random(seed)
    text = THERMOSTAT.read_text(encoding="utf-8")
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(text))
        inserted = rng.choice(
            ['"', "[", "}", "(", "choose(", "G", "T", "1e9", "\n", "=", "\0", "mode", "between(", "^"]
        )
        text = text[:start] + inserted + text[start + rng.randint(0, 3) :]
    try:
        task = read_task(text, InputFile("thermostat.toml", ""), THERMOSTAT.parent, {})
    except InputError:
        return
    assert len(task.system.step.next_state) == len(task.system.state)


# Many tasks from one file ---------------------------------------------------------------------------------------------

SWEPT = """vernal = 1
[parameters]
start = 0
half = "start / 2"
k = 3
slope = 1
twice = "2 * slope"
[constants]
drift = "twice + 1"
[state]
x = "real"
[init]
x = "[half, start]"
[environment.next]
x = "x + drift * choose(0, 1)"
[properties]
safe = "AX[k] x < 10"
"""


def test_tasks_of_a_file_share_the_step_unless_a_parameter_is_in_it(tmp_path: Path) -> None:
    file = tmp_path / "swept.toml"
    file.write_text(SWEPT, encoding="utf-8")
    tasks = open_task(file)
    first, elsewhere = tasks.task({}), tasks.task({"start": "4", "k": "5"})
    assert elsewhere.system.step is first.system.step
    assert elsewhere.system.init.starts["x"] == Span(Fraction(2), Fraction(4))
    assert str(elsewhere.properties["safe"]) == "AX[5] (x < 10)"
    assert elsewhere.parameters["half"] == 2
    steeper = tasks.task({"slope": "3"})
    assert steeper.system.step is not first.system.step
    assert constant(steeper.constants["drift"]) == 7
    assert tasks.task({"start": "1"}).system.step is first.system.step


@pytest.mark.parametrize("given", [{}, {"start": "4"}, {"slope": "-1/3"}, {"k": "1", "start": "2"}, {"start": "8"}])
def test_a_task_is_the_same_whichever_were_made_before(tmp_path: Path, given: dict[str, Override]) -> None:
    file = tmp_path / "swept.toml"
    file.write_text(SWEPT, encoding="utf-8")
    tasks = open_task(file)
    for other in ({"start": "1"}, {"slope": "2"}, {"k": "2"}):
        tasks.task(other)
    alone, among = load(file, given), tasks.task(given)
    assert canonical(among.system.step.roots) == canonical(alone.system.step.roots)
    assert (among.system.init, among.parameters, among.source) == (alone.system.init, alone.parameters, alone.source)
    assert among.constants == alone.constants
    assert {n: str(f) for n, f in among.properties.items()} == {n: str(f) for n, f in alone.properties.items()}


def test_a_bad_parameter_is_refused_after_good_ones_and_does_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "swept.toml"
    file.write_text(SWEPT, encoding="utf-8")
    tasks = open_task(file)
    tasks.task({})
    for bad in ({"k": "-1"}, {"k": "1/2"}, {"start": "-3"}, {"slope": "x"}, {"nobody": "1"}):
        with pytest.raises(InputError):
            tasks.task(bad)
    assert tasks.task({"k": "4"}).parameters["k"] == 4
