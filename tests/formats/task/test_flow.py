"""Flows in task files: what is read, and what is said about what cannot be."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from vernal.errors import InputError
from vernal.formats.networks import read_network
from vernal.formats.task.blueprint import load
from vernal.interpret.concrete import evaluate
from vernal.logic.task import MAX_ABSTRACTED, AbstractionSettings, Transitions
from vernal.model import build
from vernal.model.flow import Flow
from vernal.model.initial import OneOf, Span
from vernal.model.travel import canonical

ROOT = Path(__file__).parents[3]

JET = """\
vernal = 1
name = "jet"

[parameters]
T = 1.5
shift = 0

[constants]
drop = 0.1

[state]
x = "real [-1, 1]"
y = "real [-1, 1]"

[init]
x = "[0.45 + shift, 0.5 + shift]"
y = "[-0.6, -0.55]"

[flow]
x = "-y - 1.5*x^2 - 0.5*x^3 - drop"
y = "3*x - y"

[properties]
safe = "G[0, T] !(x >= 0.3 & x <= 0.35 & y >= 0.5 & y <= 0.6)"

[abstraction]
widths = [10, 16]
"""


def written(folder: Path, text: str = JET) -> Path:
    path = folder / "task.toml"
    path.write_text(text)
    return path


# Reading --------------------------------------------------------------------------------------------------------------


def test_the_jet(tmp_path: Path) -> None:
    task = load(written(tmp_path))
    flow = task.flow
    assert isinstance(task.model, Flow)
    assert flow.region == ((Fraction(-1), Fraction(1)),) * 2
    assert flow.init.starts == {
        "x": Span(Fraction("0.45"), Fraction("0.5")),
        "y": Span(Fraction("-0.6"), Fraction("-0.55")),
    }
    assert task.settings == AbstractionSettings(widths=(10, 16))
    assert str(task.properties["safe"]).startswith("G[0,1.5] ")
    x, y = np.random.default_rng(0).uniform(-1, 1, (2, 50))
    found = evaluate(list(flow.vector_field), dict(zip(flow.vars, (x, y), strict=True)))
    assert np.allclose(found[0], -y - 1.5 * x**2 - 0.5 * x**3 - 0.1)
    assert np.allclose(found[1], 3 * x - y)


def test_python_and_toml_give_the_same_flow(tmp_path: Path) -> None:
    read = load(written(tmp_path)).flow
    made = vn.Flow(
        "jet",
        state={"x": vn.real(-1, 1), "y": vn.real(-1, 1)},
        init={"x": vn.interval(0.45, 0.5), "y": vn.interval(-0.6, -0.55)},
        rates=lambda s: {
            "x": -s.y - Fraction("1.5") * s.x**2 - Fraction("0.5") * s.x**3 - Fraction("0.1"),
            "y": 3 * s.x - s.y,
        },
    )
    assert canonical(made.vector_field) == canonical(read.vector_field)
    assert (made.state, made.init) == (read.state, read.init)


def test_parameters_are_set(tmp_path: Path) -> None:
    task = load(written(tmp_path), T="1/2", shift="-0.2")
    assert str(task.properties["safe"]).startswith("G[0,0.5] ")
    assert task.flow.init.starts["x"] == Span(Fraction("0.25"), Fraction("0.3"))


def test_a_variable_without_a_rate_stays(tmp_path: Path) -> None:
    flow = load(written(tmp_path, JET.replace('y = "3*x - y"\n', ""))).flow
    assert flow.vector_field[1] is build.const(0)


def test_an_empty_flow_is_a_flow(tmp_path: Path) -> None:
    text = JET[: JET.index("[flow]")] + "[flow]\n" + JET[JET.index("[properties]") :]
    assert len(load(written(tmp_path, text)).flow.vector_field) == 2


LETS = """[flow.let]
wind = "between(-d, d)"
d = "drop / 2"
speed = "x^2 + y^2"
"""


def test_lets_and_disturbances(tmp_path: Path) -> None:
    text = JET.replace("- drop", "- drop + wind").replace('"3*x - y"', '"3*x - y + 2*wind + between(0, 0.01)"')
    text = text.replace("[properties]", LETS + '\n[properties]\nslow = "F[0, 1] (speed <= 0.5)"')
    task = load(written(tmp_path, text))
    names = [node.occurrence.name for node in task.flow.disturbances]
    assert sorted(names) == ["wind", "y"]  # the let is one disturbance, shared by two rates
    assert task.properties.keys() == {"slow", "safe"}


def test_constraints_cut_the_initial_set(tmp_path: Path) -> None:
    text = JET.replace('y = "[-0.6, -0.55]"', 'y = "[-0.6, -0.55]"\nwhere = ["x + y <= 0", "0 <= x - y <= 2"]')
    assert len(load(written(tmp_path, text)).flow.init.where) == 2


def test_a_set_of_initial_values(tmp_path: Path) -> None:
    flow = load(written(tmp_path, JET.replace('"[-0.6, -0.55]"', '"{-0.6, -0.55}"'))).flow
    assert flow.init.starts["y"] == OneOf((Fraction("-0.6"), Fraction("-0.55")))


def test_arrays(tmp_path: Path) -> None:
    text = """
vernal = 1
[state]
p = "real[3] [-1, 1]"
[init]
p = 0
[flow]
p = "[-p[i] + between(-0.1, 0.1) for i in 0..2]"
[properties]
safe = "G[0, 1] all(p[i] <= 0.5 for i in 0..2)"
"""
    flow = load(written(tmp_path, text)).flow
    assert len(flow.vector_field) == 3
    assert len(flow.disturbances) == 3


def test_a_network_is_a_function(tmp_path: Path) -> None:
    source = ROOT / "examples" / "pendulum"
    network = next(source.glob("*.onnx"))
    inputs = read_network(network).input_size
    text = JET.replace("[state]", f'[networks]\nnet = "{network}"\n\n[state]')
    arguments = ", ".join(["x", "y", "0", "0", "0", "0"][:inputs])
    text = text.replace('"3*x - y"', f'"3*x - y + net({arguments})[0]"')
    assert len(load(written(tmp_path, text)).networks) == 1


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("0.1", ("0.1", "0.1")),
        ("[0.1, 0.2]", ("0.1", "0.2")),
        ("{ y = 0.2, x = 0.1 }", ("0.1", "0.2")),
        ('"drop / 2"', ("0.05", "0.05")),
    ],
)
def test_settings(tmp_path: Path, error: str, expected: tuple[str, str]) -> None:
    text = JET.replace(
        "widths = [10, 16]", f"error = {error}\nsamples = 1000\nrounds = 3\nseed = 7\ntransitions = 'vertex'"
    )
    settings = load(written(tmp_path, text)).settings
    assert settings == AbstractionSettings(
        None, (Fraction(expected[0]), Fraction(expected[1])), 1000, 3, 7, Transitions.VERTEX
    )


# What is wrong --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wrong:
    """A change of the jet that makes it bad input, and what is then said, at which line and column."""

    name: str
    old: str
    new: str
    place: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


RATE_Y, LINE_Y = '"3*x - y"', "21:5"

WRONG = [
    Wrong("no range", 'y = "real [-1, 1]"', 'y = "real"', "13:5", ("'y' has no range", "region")),
    Wrong("an integer", 'y = "real [-1, 1]"', 'y = "int [-1, 1]"', "13:5", ("'y' is of sort int", "reals")),
    Wrong("a label", 'y = "real [-1, 1]"', 'y = "enum {A, B}"', "13:5", ("of sort enum",)),
    Wrong("integers", 'y = "real [-1, 1]"', 'y = "int[3] [-1, 1]"', "13:5", ("of sort int",)),
    Wrong("one point", 'y = "real [-1, 1]"', 'y = "real [-0.6, -0.6]"', "13:5", ("one point",)),
    Wrong("beside steps", "[flow]", '[environment.next]\nx = "x"\n[flow]', "19:2", ("nothing says how often",)),
    Wrong("predicates", "[parameters]", 'predicates = ["x > 0"]\n[parameters]', "4:1", ("predicates are for",)),
    Wrong("unknown variable", 'y = "3*x - y"', 'z = "3*x - y"', "21:1", ("there is no state variable 'z'",)),
    Wrong("unknown name", RATE_Y, '"3*x - z"', "21:12", ("'z'",)),
    Wrong("unknown function", RATE_Y, '"sinh(x)"', "21:6", ("unknown function 'sinh'",)),
    Wrong("a truth value", RATE_Y, '"x > y"', "21:6", ("expected real",)),
    Wrong("choose", RATE_Y, '"choose(x, y)"', LINE_Y, ("`choose`", "between(lo, hi)")),
    Wrong("nested", RATE_Y, '"between(0, between(1, 2))"', LINE_Y, ("the ends of a disturbance", "d + between(0, 1)")),
    Wrong("a jump", RATE_Y, '"if(x > 0, 1, -1)"', LINE_Y, ("`if` may jump", "continuous")),
    Wrong("floor", RATE_Y, '"floor(x)"', LINE_Y, ("`floor` may jump",)),
    Wrong("a root", RATE_Y, '"sqrt(x)"', LINE_Y, ("sqrt(x) is undefined", "x is negative", "x = -1")),
    Wrong("a quotient", RATE_Y, '"1 / (x - 0.3)"', LINE_Y, ("undefined", "is zero at or near x = 0.3")),
    Wrong("a logarithm", RATE_Y, '"log(x + 1)"', LINE_Y, ("zero or negative",)),
    Wrong("in doubt", RATE_Y, '"sqrt(x^2 - 2*x*y + y^2)"', LINE_Y, ("was not shown to be defined",)),
    Wrong("outside", '"[-0.6, -0.55]"', '"[-1.6, -0.55]"', "17:6", ("-1.6", "outside its range")),
    Wrong("no start", 'y = "[-0.6, -0.55]"', "", "15:2", ("no initial value for y",)),
    Wrong(
        "a curved start",
        '"[-0.6, -0.55]"',
        '"[-0.6, -0.55]"\nwhere = ["x^2 <= 0.2"]',
        "18:10",
        ("polyhedron", "not linear"),
    ),
    Wrong(
        "two parts", '"[-0.6, -0.55]"', '"[-0.6, -0.55]"\nwhere = ["x <= 0.46 | y <= -0.59"]', "18:10", ("polyhedron",)
    ),
    Wrong("no last time", "G[0, T] !", "F !", "24:9", ("F needs a last time", "F[0, 1.5]")),
    Wrong("no time", "G[0, T] !", "G[0, 0] !", "24:9", ("horizon is zero",)),
    Wrong("a state", "G[0, T] !", "!", "24:9", ("horizon is zero",)),
    Wrong("steps", "G[0, T] !", "X[2] !", "24:9", ("counts steps",)),
    Wrong("steps in windows", "G[0, T] !", "G[0, 1] X !", "24:17", ("counts steps",)),
    Wrong("weak", "G[0, T] !", "(x <= 1) W[0, 1] !", "24:9", ("Boolean combination",)),
    Wrong("some path", "G[0, T] !", "EG[0, 1] !", "24:9", ("Boolean combination",)),
    Wrong("an undefined atom", "x >= 0.3", "sqrt(x) >= 0.3", "24:8", ("sqrt(x) is undefined",)),
    Wrong(
        "a draw in an atom",
        "[properties]",
        '[flow.let]\nw = "between(0, 1)"\n[properties]\nq = "G[0, 1] (w > 0)"',
        "26:15",
        ("'w'",),
    ),
    Wrong("a let in [flow]", "[flow]", '[flow]\nlet = "x"', "20:1", ("[flow.let] is a table",)),
    Wrong("a table as a rate", 'y = "3*x - y"', "y = { a = 1 }", "21:5", ("this is a table",)),
    Wrong("a circle", "[properties]", '[flow.let]\na = "b"\nb = "a"\n[properties]', "24:1", ("circle", "a -> b -> a")),
    Wrong("a key", "widths", "width", "27:1", ("unknown key 'width'", "did you mean 'widths'?")),
    Wrong("widths", "[10, 16]", "[10, 0]", "27:15", ("at least 1 neuron",)),
    Wrong("no widths", "[10, 16]", "[]", "27:10", ("names no layer",)),
    Wrong("words as widths", "[10, 16]", '[10, "a"]', "27:15", ("expected a whole number",)),
    Wrong("too wide", "[10, 16]", "[10, 1000000]", "27:15", ("at most 10000 neurons",)),
    Wrong("too deep", "[10, 16]", f"{[9] * 40}", "27:10", ("40 layers; 32 are the most",)),
    Wrong("samples", "widths = [10, 16]", "samples = 10000000", "27:11", ("samples is at most 100000",)),
    Wrong("rounds", "widths = [10, 16]", "rounds = 0", "27:10", ("rounds is at least 1",)),
    Wrong("negative error", "widths = [10, 16]", "error = -0.1", "27:9", ("positive",)),
    Wrong("errors", "widths = [10, 16]", "error = [0.1]", "27:9", ("1 entries", "2 variables")),
    Wrong("error of what", "widths = [10, 16]", "error = { x = 0.1, z = 0.2 }", "27:20", ("'z'",)),
    Wrong("transitions", "widths = [10, 16]", 'transitions = "edge"', "27:15", ("no transitions 'edge'", "facet")),
    Wrong("no error", "widths = [10, 16]", "error = { x = 0.1 }", "27:9", ("nothing of y",)),
]


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_what_is_wrong_is_said_at_its_place(case: Wrong, tmp_path: Path) -> None:
    assert JET.count(case.old) == 1
    with pytest.raises(InputError) as caught:
        load(written(tmp_path, JET.replace(case.old, case.new)))
    message = str(caught.value)
    assert message.count("task.toml:") == 1, message
    assert f"task.toml:{case.place}: " in message, message
    for word in case.words:
        assert word in message, message


def test_the_jet_itself_is_good(tmp_path: Path) -> None:
    """Otherwise the table above would prove nothing."""
    assert load(written(tmp_path)).properties.keys() == {"safe"}


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    text = JET.replace('y = "real [-1, 1]"', 'y = "real"').replace("3*x - y", "3*x - z").replace("[10, 16]", "[0]")
    with pytest.raises(InputError) as caught:
        load(written(tmp_path, text))
    assert str(caught.value).count("task.toml:") == 3


def test_a_flow_that_is_no_table_is_one_problem(tmp_path: Path) -> None:
    start, end = JET.index("[flow]"), JET.index("[properties]")
    text = JET[:start].replace("[parameters]", "flow = 3\n[parameters]") + JET[end:]
    with pytest.raises(InputError, match="expected a table with the rate") as caught:
        load(written(tmp_path, text))
    assert str(caught.value).count("task.toml:") == 1


def test_more_variables_than_an_abstraction_takes(tmp_path: Path) -> None:
    names = [f"v{n}" for n in range(MAX_ABSTRACTED + 1)]
    parts = ["vernal = 1", "[state]", *(f'{n} = "real [0, 1]"' for n in names), "[init]", *(f"{n} = 0" for n in names)]
    text = "\n".join([*parts, "[flow]", *(f'{n} = "1 - {n}"' for n in names)])
    assert len(load(written(tmp_path, text)).flow.state) == len(names)
    with pytest.raises(InputError, match=f"{MAX_ABSTRACTED} are the most"):
        load(written(tmp_path, f"{text}\n[abstraction]\nseed = 0\n"))


# In Python ------------------------------------------------------------------------------------------------------------


def test_a_flow_in_python_is_checked_like_one_in_a_file() -> None:
    state, init = {"x": vn.real(-1, 1)}, {"x": 0}
    with pytest.raises(InputError, match="has no range"):
        vn.Flow(state={"x": vn.real()}, init=init, rates=lambda s: {"x": s.x})
    with pytest.raises(InputError, match="`choose`"):
        vn.Flow(state=state, init=init, rates=lambda s: {"x": vn.choose(0, 1)})
    with pytest.raises(InputError, match="no state variable 'y'"):
        vn.Flow(state=state, init=init, rates=lambda s: {"y": s.x})
    with pytest.raises(InputError, match="outside its range"):
        vn.Flow(state=state, init={"x": 2}, rates=lambda s: {"x": s.x})
    with pytest.raises(InputError, match="not linear"):
        vn.Flow(state=state, init=init, rates=lambda s: {}, where=lambda s: [s.x**2 <= 1])


def test_arrays_in_python() -> None:
    flow = vn.Flow(state={"p": vn.array(vn.real(-1, 1), 3)}, init={"p": 0}, rates=lambda s: {"p": -s.p})
    assert [variable.name for variable in flow.state] == ["p[0]", "p[1]", "p[2]"]
    assert [str(rate) for rate in flow.rates.values()] == [str(-variable.var) for variable in flow.state]


def test_disturbances_in_python_are_named() -> None:
    flow = vn.Flow(
        state={"x": vn.real(-1, 1), "y": vn.real(-1, 1)},
        init={"x": 0, "y": 0},
        lets={"wind": lambda s: vn.between(-1, 1), "twice": lambda s: 2 * s.wind},
        rates=lambda s: {"x": s.twice, "y": s.wind + vn.between(0, 1)},
    )
    assert sorted(node.occurrence.name for node in flow.disturbances) == ["wind", "y"]
