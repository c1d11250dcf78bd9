"""Predicates from elsewhere than the task: none, a TOML file, or an array of JANI expressions."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from vernal.errors import InputError
from vernal.formats.predicates import with_predicates
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.sorts import BOOL, INT
from vernal.model.system import Init, OneOf, System, Variable

X, FLAG = Variable("x", INT, Fraction(0), Fraction(5)), Variable("hand-empty", BOOL)
START = Init({"x": OneOf((Fraction(0),)), "hand-empty": OneOf((Fraction(1),))})
TASK = Task(System("small", (X, FLAG), START, {}), predicates=(X.var <= 1,))


def test_auto_keeps_them_and_none_drops_them() -> None:
    assert with_predicates(TASK, "auto") is TASK
    assert with_predicates(TASK, "none").predicates == ()


def test_a_toml_file(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text('predicates = ["x <= 3", "\'hand-empty\'", "x <= 3"]')
    assert with_predicates(TASK, str(file)).predicates == (build.compare("<=", X.var, 3), FLAG.var)


def test_an_array_of_jani_expressions(tmp_path: Path) -> None:
    file = tmp_path / "p.jani"
    file.write_text('[{"op": "≤", "left": 2, "right": "x"}, "hand-empty"]')
    assert with_predicates(TASK, str(file)).predicates == (build.compare("<=", 2, X.var), FLAG.var)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.toml", "predicates = 3"),
        ("p.toml", 'predicates = ["y <= 3"]'),
        ("p.toml", 'predicates = ["x + 1"]'),
        ("p.toml", 'other = ["x <= 3"]'),
        ("p.toml", "predicates = ["),
        ("p.jani", '{"op": "≤"}'),
        ("p.jani", '["y"]'),
        ("p.jani", "["),
    ],
)
def test_bad_files_are_errors_of_the_input(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(InputError):
        with_predicates(TASK, str(file))


def test_a_missing_file() -> None:
    with pytest.raises(InputError, match="nowhere"):
        with_predicates(TASK, "nowhere.toml")
