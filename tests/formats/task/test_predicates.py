"""`predicates` of a task file: conditions on the state, each once and in their order."""

from __future__ import annotations

from pathlib import Path

import pytest

import vernal as vn
from vernal.errors import InputError
from vernal.formats.task.blueprint import read_task
from vernal.logic.task import InputFile
from vernal.model import build
from vernal.model.sorts import INT

TEXT = """
vernal = 1
name = "counter"
predicates = [PREDICATES]
[constants]
top = 3
[state]
x = "int [0, 5]"
[init]
x = 0
[environment.next]
x = "if(x < top, x + 1, x)"
[properties]
safe = "G (x <= 4)"
"""


def _task(predicates: str) -> vn.Task:
    return read_task(TEXT.replace("PREDICATES", predicates), InputFile("counter.toml", ""), Path(), {})


def test_predicates_are_conditions_on_the_state() -> None:
    x = build.var("x", INT)
    assert _task('"x <= top", "x == 1", "x <= 3"').predicates == (build.compare("<=", x, 3), build.eq(x, 1))


@pytest.mark.parametrize("text", ['"x + 1"', '"y <= 1"', '"choose(true, false)"', "3"])
def test_anything_else_is_an_error_at_its_place(text: str) -> None:
    with pytest.raises(InputError) as caught:
        _task(text)
    assert caught.value.place is not None
    assert caught.value.place.line == 4
