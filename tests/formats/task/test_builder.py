"""The Python builder and task files make the same graph, and the examples say what they show."""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vernal.engines.check import check
from vernal.errors import InputError
from vernal.evidence.result import HOLDS, VIOLATED
from vernal.formats.networks import read_network
from vernal.formats.task.blueprint import load
from vernal.model import build, declare
from vernal.model.expr import Affine, Expr
from vernal.model.graph import order
from vernal.model.system import System
from vernal.model.system_arguments import GivenNames
from vernal.model.travel import canonical

ROOT = Path(__file__).parents[3]
THERMOSTAT = ROOT / "examples" / "thermostat" / "thermostat.toml"
VCAS = ROOT / "benchmarks" / "vcas" / "vcas.toml"


# The builder gives the same graph -------------------------------------------------------------------------------------


def thermostat_in_python() -> System:
    leak = Fraction("0.02")
    return System(
        "thermostat",
        state={"T": declare.real(5, 35), "mode": declare.enum("OFF", "ON")},
        init={"T": declare.interval(15, "15.5"), "mode": "OFF"},
        agents={
            "control": declare.agent(
                read_network(THERMOSTAT.parent / "thermostat.onnx"),
                observe=lambda s: [(s.T - 20) / 10, build.if_(declare.equals(s["mode"], "ON"), 1, 0)],
                labels="mode",
            )
        },
        lets={
            "weather": lambda s: build.between(9, 11),
            "draught": lambda s: build.choose(0, 0.1),
            "heat": lambda s: declare.match(s.control, {"OFF": 0, "ON": 0.6}),
        },
        step=lambda s: {"T": s.T + leak * (s.weather - s.T) + s.heat - s.draught, "mode": s.control},
    )


def test_python_and_toml_give_the_same_thermostat() -> None:
    written, built = load(THERMOSTAT).system, thermostat_in_python()
    assert canonical(built.step.roots) == canonical(written.step.roots)
    assert sorted(built.step.names.values()) == sorted(written.step.names.values())
    assert built.state == written.state
    assert built.init == written.init


WAREHOUSE = """
vernal = 1
name = "warehouse"
[state]
place = "enum {DOCK, AISLE, SHELF}"
load = "int [0, 2]"
[init]
place = "DOCK"
load = 0
[environment.let]
move = "choose(DOCK when place == AISLE & load > 0, AISLE when place != AISLE, SHELF when place == AISLE & load < 2)"
[environment.next]
place = "move"
load = "choose(load + 1 when move == SHELF & load < 2, load)"
"""


def test_python_and_toml_give_the_same_guarded_choices(tmp_path: Path) -> None:
    def is_at(s: GivenNames, label: str) -> Expr:
        return declare.equals(s.place, label)

    def move(s: GivenNames) -> Expr:
        dock, aisle, shelf = (build.label(s.place.sort, label) for label in s.place.sort.labels)
        return build.choose(
            build.when(dock, is_at(s, "AISLE") & (s.load > 0)),
            build.when(aisle, build.compare("!=", s.place, aisle)),
            build.when(shelf, is_at(s, "AISLE") & (s.load < 2)),
        )

    built = System(
        "warehouse",
        state={"place": declare.enum("DOCK", "AISLE", "SHELF"), "load": declare.integer(0, 2)},
        init={"place": "DOCK", "load": 0},
        lets={"move": move},
        step=lambda s: {
            "place": s.move,
            "load": build.choose(build.when(s.load + 1, declare.equals(s.move, "SHELF") & (s.load < 2)), s.load),
        },
    )
    (tmp_path / "warehouse.toml").write_text(WAREHOUSE)
    written = load(tmp_path / "warehouse.toml").system
    assert canonical(built.step.roots) == canonical(written.step.roots)
    assert sorted(built.step.names.values()) == sorted(written.step.names.values()) == ["load", "move"]


ADVISORIES = ("COC", "DNC", "DND", "DES1500", "CL1500", "SDES1500", "SCL1500", "SDES2500", "SCL2500")
COMPLIANT = {"DNC": ("<=", 0), "DND": (">=", 0), "DES1500": ("<=", -1500), "CL1500": (">=", 1500)}
COMPLIANT |= {"SDES1500": ("<=", -1500), "SCL1500": (">=", 1500), "SDES2500": ("<=", -2500), "SCL2500": (">=", 2500)}
G = Fraction("32.2")


def vcas_in_python(data: Path) -> System:
    def complies(s: GivenNames) -> Expr:
        cases: dict[Any, Any] = {name: build.compare(op, s.v, limit) for name, (op, limit) in COMPLIANT.items()}
        return build.eq(s.advisor, s.adv) & declare.match(s.advisor, {"COC": False, **cases})

    def accel(s: GivenNames) -> Expr:
        down, up = (-G / 3, -7 * G / 24, -G / 4), (G / 4, 7 * G / 24, G / 3)
        cases: dict[Any, Any] = {"COC": build.choose(-G / 8, 0, G / 8)}
        cases |= {"DNC": build.choose(*down), "DES1500": build.choose(*down)}
        cases |= {"DND": build.choose(*up), "CL1500": build.choose(*up)}
        cases |= {"SDES1500": -G / 3, "SDES2500": -G / 3, "SCL1500": G / 3, "SCL2500": G / 3}
        return build.if_(s.complies, 0, declare.match(s.advisor, cases))

    return System(
        "vcas",
        state={
            "h": declare.real(-3000, 3000),
            "v": declare.real(-2500, 2500),
            "tau": declare.real(),
            "adv": declare.enum(*ADVISORIES),
        },
        init={"h": declare.interval(-133, -129), "v": -19.5, "tau": 25, "adv": "COC"},
        agents={
            "advisor": declare.agent(
                [read_network(data / "vcas" / f"vcas_{number}.onnx") for number in range(1, 10)],
                observe=lambda s: [s.h / 16000, s.v / 5000, (s.tau - 20) / 40],
                by=lambda s: s.adv,
                labels="adv",
            )
        },
        lets={"complies": complies, "accel": accel},
        step=lambda s: {"h": s.h - s.v - s.accel / 2, "v": s.v + s.accel, "tau": s.tau - 1, "adv": s.advisor},
    )


@pytest.mark.data
def test_python_and_toml_give_the_same_vcas(data: Path) -> None:
    task, built = load(VCAS), vcas_in_python(data)
    assert canonical(built.step.roots) == canonical(task.system.step.roots)
    assert built.init == task.system.init
    assert len(task.networks) == 9
    assert task.parameters == {"v0": Fraction("-19.5"), "k": 6, "range_v": 5000, "H": 3000}


# The examples ---------------------------------------------------------------------------------------------------------


def test_the_shipped_thermostat_is_what_its_script_makes(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("make_thermostat", THERMOSTAT.parent / "make.py")
    assert spec is not None
    assert spec.loader is not None
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    layers = make.fit()
    network = read_network(THERMOSTAT.parent / "thermostat.onnx")
    shipped = [node for node in order([network.output]) if isinstance(node, Affine)]
    for node, (weight, bias) in zip(shipped, layers, strict=True):
        np.testing.assert_array_equal(node.weight.array, weight)
        np.testing.assert_array_equal(node.bias.array, bias)
    assert make.switching_point(layers, 0) == pytest.approx(19, abs=0.05)
    assert make.switching_point(layers, 1) == pytest.approx(21, abs=0.05)


def test_the_tutorial_tells_the_truth() -> None:
    task, frosty = load(THERMOSTAT), load(THERMOSTAT, {"outside": 0})
    assert check(task, task.properties["warm"], engine="bounds").verdict is HOLDS
    assert check(task, task.properties["steady"]).verdict is VIOLATED
    assert check(frosty, frosty.properties["warm"]).verdict is VIOLATED


def test_a_builder_refuses_what_a_file_refuses() -> None:
    def broken(**changes: Any) -> System:
        usual: dict[str, Any] = {"state": {"n": declare.integer(0, 9)}, "init": {"n": 0}, "step": lambda s: {"n": s.n}}
        return System("broken", **{**usual, **changes})

    with pytest.raises(InputError, match="outside its range"):
        broken(init={"n": 10})
    with pytest.raises(InputError, match="no initial value for n"):
        broken(init={})
    with pytest.raises(InputError, match="did you mean 'n'"):
        broken(step=lambda s: {"n": s.nn})
    with pytest.raises(InputError, match="'n' is of sort int"):
        broken(step=lambda s: {"n": s.n / 2})


def test_a_draw_shared_in_python_stays_shared() -> None:
    def step(s: GivenNames) -> dict[str, Expr]:
        push = build.between(-1, 1)
        return {"x": s.x + push, "y": s.y - push}

    both = {"x": declare.real(), "y": declare.real()}
    made = System("pair", state=both, init={"x": 0, "y": 0}, step=step).step
    assert list(made.names.values()) == ["x"]
