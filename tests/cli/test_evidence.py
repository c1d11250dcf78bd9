"""Whatever an engine writes as evidence replays, as far as it shows the verdict; whatever is changed in it does not."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.portion import every, some
from vernal.cli.main import main

Said = pytest.CaptureFixture[str]

CART = """\
vernal = 1
name = "cart"

[state]
x = "real [-9, 9]"
n = "int [0, 9]"
on = "bool"

[init]
x = "0"
n = "0"
on = "true"

[environment]
enabled = "x < 3"

[environment.let]
push = "choose(-1, 1)"
wind = "between(0, 0.5)"

[environment.next]
x = "if(on, x + push + wind, 2 * x)"
n = "n + 1"
on = "x <= 1"
"""

MILP = [("milp", "--encoding", encoding) for encoding in ("monolithic", "compositional")]
ALL = [("falsify",), ("bounds",), ("paths",), *MILP, ("auto",)]
ONE_PATH = [("falsify",), ("paths",), *MILP, ("auto",)]
CLAIMS: list[tuple[str, int, list[tuple[str, ...]]]] = [
    ("G[0,2] (n <= 1)", 10, ALL),
    ("G[0,2] (x <= 1)", 10, ONE_PATH),
    ("F[1,3] (x < -1)", 10, ONE_PATH),
    ("AG[1,2] (x < 1.5)", 10, ONE_PATH),
    ("x > 0 | X (x != 1.25)", 10, [("paths",), ("auto",)]),
    ("AX (x < 0) | AX (x > 0)", 10, [("paths",), ("auto",)]),
    ("EF[0,2] (x > 3)", 10, [("bounds",), ("paths",), *MILP, ("auto",)]),
    ("EG[0,1] (n == 0)", 10, [("bounds",), ("paths",), *MILP, ("auto",)]),
    ("AX EX (x == 2)", 10, [("paths",), ("auto",)]),
    ("EX AX (x > 3)", 10, [("paths",), ("auto",)]),
    ("EF[0,2] (x >= 2.5)", 0, [("falsify",), ("paths",), *MILP]),
    ("EX EX (x == 0.25)", 0, [("paths",), *MILP, ("auto",)]),
]
CASES = [(claim, code, engine) for claim, code, engines in CLAIMS for engine in engines]


def written(folder: Path, claim: str, engine: tuple[str, ...]) -> tuple[int, Path]:
    """The exit code of a check, and the trace it wrote."""
    task, file = folder / "cart.toml", folder / "found.trace.json"
    task.write_text(CART, encoding="utf-8")
    return main(["check", str(task), "--spec", claim, "--trace", str(file), "--engine", *engine]), file


@pytest.mark.parametrize(("claim", "code", "engine"), every(2, CASES), ids=lambda value: str(value))
def test_what_an_engine_writes_is_accepted_or_is_a_tree(
    claim: str, code: int, engine: tuple[str, ...], tmp_path: Path, capsys: Said
) -> None:
    given, file = written(tmp_path, claim, engine)
    assert given == code, capsys.readouterr().out
    rests_on_other_paths = json.loads(file.read_text())["evidence"] == "tree"
    assert main(["replay", str(file)]) == (5 if rests_on_other_paths else 0), capsys.readouterr().out


@pytest.mark.parametrize(
    "claim", ["G[0,2] (x <= 1)", "AX (x < 0) | AX (x > 0)", "EF[0,2] (x > 3)", "EX EX (x == 0.25)"]
)
def test_whatever_is_changed_is_refused(claim: str, tmp_path: Path, capsys: Said) -> None:
    _, file = written(tmp_path, claim, ("paths",))
    whole = json.loads(file.read_text())
    for place, changed in random.Random(claim).sample(list(edits(whole)), some(25)):  # all of them would take too long
        file.write_text(json.dumps(changed))
        assert main(["replay", str(file)]) in (1, 2), place
        capsys.readouterr()


def edits(document: Any) -> Iterator[tuple[str, Any]]:
    """The document with one value changed, or one left out."""
    for place in places(document):
        for value in other_values(at(document, place)):
            changed = deepcopy(document)
            at(changed, place[:-1])[place[-1]] = value
            yield f"{place} to {value!r}", changed
        changed = deepcopy(document)
        del at(changed, place[:-1])[place[-1]]
        yield f"{place} left out", changed


def places(node: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value, containers included."""
    if here:
        yield here
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from places(value, (*here, key))


def at(document: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        document = document[key]
    return document


def other_values(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1]
    if isinstance(value, str):
        return [f"{value} ", "violated" if value == "holds" else "holds"]
    return ["cart"] if value is None else [None]
