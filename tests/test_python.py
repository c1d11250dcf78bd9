"""Python without traps: numbers of numpy, starts that may mean two things, objects in one line, names in hints."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vernal as vn
from vernal.errors import TypeClash
from vernal.model import build
from vernal.model.initial import OneOf

SOURCES = Path(vn.__file__).parent
NUMBERS = [np.float64(0.5), np.float32(0.5), np.array(0.5), np.array(0.5, dtype=np.float32)]


def counter(start: Any, by: Any = 1) -> vn.System:
    return vn.System("counter", state={"x": vn.real()}, init={"x": start}, step=lambda n: {"x": n.x + by})


@pytest.mark.parametrize("half", NUMBERS)
def test_numbers_of_numpy_are_numbers(half: Any) -> None:
    x = build.var("x")
    assert x + half is x + Fraction(1, 2)
    assert half * x is Fraction(1, 2) * x
    assert (half < x) is (Fraction(1, 2) < x)
    assert counter(half).init.starts["x"] == OneOf((Fraction(1, 2),))
    assert counter([half, np.int64(2)]).init.starts["x"] == OneOf((Fraction(1, 2), Fraction(2)))
    assert vn.interval(half, 1).lower == Fraction(1, 2)
    result = vn.check(counter(half, half), "X[2] (x == 1.5)")
    assert result.verdict is vn.HOLDS


def test_a_number_is_what_it_prints_as_numpys_as_well() -> None:
    for tenth in (0.1, np.float64(0.1), np.float32(0.1)):
        assert counter(tenth).init.starts["x"] == OneOf((Fraction(1, 10),))
    assert build.const(np.int64(3)) is build.const(3)
    assert build.const(np.bool_(True)) is build.const(True)


@pytest.mark.parametrize("value", [np.float64("nan"), np.float32("inf"), np.array([1.0, 2.0]), None, [1]])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(TypeClash, match="number"):
        build.var("x") + value


def test_a_pair_as_a_start_is_refused_with_both_remedies() -> None:
    with pytest.raises(TypeClash, match=r"write vn\.interval\(0, 1\) or vn\.one_of\(0, 1\)"):
        counter((0, 1))
    assert counter(vn.one_of(0, 1)).init.starts["x"] == OneOf((Fraction(0), Fraction(1)))
    assert counter([0, 1]).init.starts["x"] == OneOf((Fraction(0), Fraction(1)))


def test_an_equation_with_a_number_of_numpy_is_refused() -> None:
    with pytest.raises(TypeError, match=r"vn\.eq"):
        build.var("x") == np.float64(1)  # noqa: B015


def test_a_result_is_no_truth_value() -> None:
    with pytest.raises(TypeError, match=r"result\.verdict is vn\.HOLDS"):
        assert vn.check(counter(0), "G[0,2] (x < 0)")


def test_every_object_prints_in_one_line() -> None:
    task = vn.load(Path(__file__).parent.parent / "examples" / "thermostat" / "thermostat.toml")
    result = vn.check(task, "G[0,5] (T <= 16)", engine="falsify")
    for item in (task, task.system, result, result.trace):
        assert "\n" not in repr(item)
        assert len(repr(item)) < 120
    assert repr(result) == f"<Result violated: G[0,5] (T <= 16) at step {result.step} (falsify)>"
    assert repr(task.system).startswith("<System thermostat: T, mode; agents ")


def test_the_package_shows_what_it_promises_and_no_more() -> None:
    assert dir(vn) == sorted(vn.__all__)
    assert all(hasattr(vn, name) for name in vn.__all__)


def hints() -> list[tuple[str, str]]:
    """Every `vn.name` in a string of the package that is no docstring, with its file."""
    found = []
    texts = {file: file.read_text(encoding="utf-8") for file in SOURCES.rglob("*.py")}
    for file, tree in ((file, ast.parse(text)) for file, text in texts.items() if "vn." in text):
        documented = {id(node.body[0].value) for node in ast.walk(tree) if _has_docstring(node)}  # type: ignore[attr-defined]
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
                found += [(file.name, name) for name in re.findall(r"\bvn\.([A-Za-z_]+)", node.value)]
    return found


def _has_docstring(node: ast.AST) -> bool:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, kinds) and ast.get_docstring(node) is not None


def test_hints_name_what_exists() -> None:
    named = hints()
    assert len(named) > 10
    assert [(file, name) for file, name in named if name not in vn.__all__] == []


@pytest.mark.parametrize("start", [vn.between(0, 1), vn.choose(0, 1)])
def test_initial_values_are_no_draws(start: Any) -> None:
    """A draw is made at a step; where a variable starts is an interval, or one of some values."""
    with pytest.raises(vn.InputError, match=r"x starts in an expression.*vn.interval"):
        vn.System(state={"x": vn.real(0, 1)}, init={"x": start}, step=lambda s: {"x": s.x})
    with pytest.raises(vn.InputError, match=r"x starts in an expression.*vn.interval"):
        vn.Flow(state={"x": vn.real(0, 1)}, init={"x": start}, rates=lambda s: {"x": s.x})
