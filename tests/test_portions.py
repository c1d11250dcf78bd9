"""The table of what `make test` asks in part names tests that there are."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.portion import portions

ROOT = Path(__file__).resolve().parent.parent


@cache
def functions(file: str) -> frozenset[str]:
    """The test functions of a file."""
    tree = ast.parse((ROOT / file).read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_every_name_is_a_test() -> None:
    gone = []
    for name in portions():
        file, _, function = name.partition("::")
        if not (ROOT / file).is_file() or function not in functions(file):
            gone.append(name)
    assert not gone, "tests/portions.txt names tests that are gone or renamed; mend their lines"


def test_the_table_of_ground_truth_is_asked_whole() -> None:
    assert not [name for name in portions() if "test_truth.py::test_no_engine_is_wrong" in name]


def test_few_are_left_out_whole() -> None:
    assert all(stride == 0 or stride > 1 for stride in portions().values())
    assert sum(stride == 0 for stride in portions().values()) < 20
