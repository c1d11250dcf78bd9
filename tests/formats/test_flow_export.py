"""Flows to hybrid automata in files, and the question beside a SpaceEx model."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from tests.networks_at_hand import drawn
from tests.systems import counter
from vernal.cli.main import main
from vernal.errors import FormatError, InputError, NameUnknown
from vernal.formats.automata import automaton_json, read_automaton, write_automaton
from vernal.formats.flow_export import export, export_task
from vernal.formats.spaceex.config import spaceex_config
from vernal.formats.spaceex.reader import parse_spaceex
from vernal.formats.spaceex.writer import names_of
from vernal.logic.formula import Always, And, Atom, Bound, Eventually, Formula, Not, Or
from vernal.logic.question import Question
from vernal.logic.task import AbstractionSettings, Task
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.flow import Flow
from vernal.model.initial import Init, OneOf, Span, Start
from vernal.model.sorts import REAL
from vernal.model.system import Variable
from vernal.reduce.neural.coverage import covers
from vernal.reduce.neural.partition import automaton_of

RANGE = Fraction(-1), Fraction(1)
X, Y = (Variable(name, REAL, *RANGE) for name in "xy")
STARTS: dict[str, Start] = {"x": Span(Fraction(1, 4), Fraction(1, 2)), "y": OneOf((Fraction(-1, 2),))}


def flow(*where: Expr) -> Flow:
    """x' = -y - x^2, y' = x."""
    rates = {"x": build.sub(build.neg(Y.var), build.mul(X.var, X.var)), "y": X.var}
    return Flow("square", (X, Y), Init(STARTS, where), rates)


def half(factor: Fraction = Fraction(1, 2)) -> Expr:
    return build.const(factor)


HIGH = And((Atom(build.compare("<=", half(), X.var)), Atom(build.compare("<", half(Fraction(1, 10)), Y.var))))
SAFE = Always(Not(HIGH), Bound(Fraction(0), Fraction(3, 2)))


def config(formula: Formula, given: Flow | None = None) -> tuple[dict[str, str], tuple[str, ...]]:
    names = names_of(automaton_of(drawn([3], 2, 0), name="square", variables=["x", "y"]))
    made = spaceex_config(Question(given or flow(), formula), names)
    return dict(line.split(" = ", 1) for line in made.text.splitlines()), made.notes


def test_a_flow_becomes_a_model_and_a_configuration(tmp_path: Path) -> None:
    task = Task(flow(), {"safe": SAFE}, settings=AbstractionSettings(error=(Fraction(1, 4), Fraction(1, 4)), seed=0))
    done = export_task(task, tmp_path / "square.xml")
    model = parse_spaceex((tmp_path / "square.xml").read_bytes())
    assert model.horizon == Fraction(3, 2)
    assert (model.automaton.name, model.automaton.variables) == ("square", ("x", "y"))
    assert covers(model.automaton)
    assert f"{done.locations} locations" in str(done)
    assert done.locations == len(model.automaton.locations) >= 2
    assert "forbidden" in (tmp_path / "square.cfg").read_text()
    assert done.notes == (f"the question is in {tmp_path / 'square.cfg'}",)
    export(tmp_path / "square.xml", tmp_path / "square.json")
    assert automaton_json(read_automaton(tmp_path / "square.json")) == automaton_json(model.automaton)


def test_the_configuration_asks_the_question() -> None:
    entries, notes = config(SAFE)
    assert entries["initially"] == '"x >= 0.25 & x <= 0.5 & y == -0.5 & t == 0"'
    assert entries["forbidden"] == '"x >= 0.5 & y >= 0.1"'
    assert (entries["time-horizon"], entries["sampling-time"]) == ("1.5", "0.015")
    assert notes == ()


def test_linear_constraints_of_the_initial_states_are_written() -> None:
    entries, notes = config(SAFE, flow(build.compare("<=", build.add(X.var, Y.var), half())))
    assert "-x - y >= -0.5" in entries["initially"]
    assert notes == ()


def test_what_the_configuration_cannot_say_is_noted() -> None:
    curved = build.compare("<=", build.mul(X.var, Y.var), half())
    _, notes = config(SAFE, flow(curved))
    assert len(notes) == 1
    assert "whole box" in notes[0]
    for formula in (
        Eventually(HIGH, Bound(Fraction(0), Fraction(1))),
        Always(Not(HIGH), Bound(Fraction(1), Fraction(2))),
        Always(Not(Or((HIGH, Atom(build.compare("<=", X.var, half(Fraction(-1))))))), Bound(Fraction(0), Fraction(2))),
        Always(Atom(curved), Bound(Fraction(0), Fraction(2))),
    ):
        entries, notes = config(formula)
        assert "forbidden" not in entries
        assert len(notes) == 1
        assert "no forbidden states" in notes[0]


def test_without_properties_there_is_no_configuration(tmp_path: Path) -> None:
    done = export_task(Task(flow(), settings=AbstractionSettings(widths=(3,))), tmp_path / "a.xml")
    assert done.notes == ()
    assert not (tmp_path / "a.cfg").exists()
    assert parse_spaceex((tmp_path / "a.xml").read_bytes()).horizon is None


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="move in steps"):
        export_task(Task(counter()), tmp_path / "a.xml")
    with pytest.raises(NameUnknown, match=r"no property 'save'.*safe"):
        export_task(Task(flow(), {"safe": SAFE}), tmp_path / "a.xml", property_name="save")
    write_automaton(automaton_of(drawn([3], 1, 0), name="a", variables=["x"]), tmp_path / "b.json")
    with pytest.raises(InputError, match="no properties"):
        export(tmp_path / "b.json", tmp_path / "b.xml", property_name="safe")
    assert not (tmp_path / "a.xml").exists()
    assert not (tmp_path / "b.xml").exists()


TURNING = """
vernal = 1
name = "turning"
[state]
x = "real [-1, 1]"
y = "real [-1, 1]"
[flow]
x = "-y - x^2"
y = "x"
[init]
x = 0
y = 0
[abstraction]
error = 0.1
"""


@pytest.mark.parametrize(("widths", "code"), [("", 0), ("widths = [2]\nrounds = 1", 5)])
def test_the_network_of_an_abstraction(
    tmp_path: Path, widths: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its output is near the rates at all states of the region, by the error that is said, which may be too large."""
    task, network, automaton = (tmp_path / f"turning.{suffix}" for suffix in ("toml", "onnx", "json"))
    task.write_text(TURNING + widths)
    assert main(["convert", str(task), str(network)]) == code
    told = capsys.readouterr()
    found = re.search(r"([\d.e-]+) of x", told.out)
    assert found is not None
    error = float(found[1]) * 1.01  # it was rounded
    assert (error > 0.102) is (code == 5)
    assert ("[abstraction] error was not reached" in told.err) is (code == 5)
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 41), np.linspace(-1, 1, 41)), -1).reshape(-1, 2)
    out = vn.read_network(network)(grid)
    assert np.abs(out[:, 0] - (-grid[:, 1] - grid[:, 0] ** 2)).max() <= error
    assert np.abs(out[:, 1] - grid[:, 0]).max() <= 0.101 or code == 5
    assert main(["convert", str(task), str(automaton)]) == code
