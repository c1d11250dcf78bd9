"""Certificates of maps: accepted by `vernal-check`, and rejected where the tree or a cell says more than is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vernal as vn
from tests.queries.maps.test_map_truth import COUNTED, FALLING, HALVING, written
from vernal_check.check import check
from vernal_check.errors import Rejected, Unreadable

Lines = list[Any]


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Lines]:
    folder = tmp_path_factory.mktemp("certified")
    found = vn.map(written(folder, HALVING), property="low", cells=12, until="open < 0%")
    found.certify(folder / "map.certificate")
    return folder, [json.loads(line) for line in (folder / "map.certificate").read_text().splitlines()]


def judged(folder: Path, lines: Lines) -> object:
    file = folder / "changed.certificate"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return check(file)


def test_the_safe_cells_of_a_map_are_accepted(certified: tuple[Path, Lines]) -> None:
    folder, lines = certified
    safe = lines[0]["map"]["tree"].count("safe")
    assert safe > 0
    said = str(judged(folder, lines))
    assert said.startswith("accepted")
    assert f"from {safe} cells" in said


def more_safe(lines: Lines) -> None:
    tree = lines[0]["map"]["tree"]
    tree[tree.index("wholly unsafe")] = "safe"


def shown_too(lines: Lines) -> None:
    tree = lines[0]["map"]["tree"]
    leaves = [node for node in tree if isinstance(node, str)]
    place = leaves.index("wholly unsafe")
    more_safe(lines)
    lines += [{"cell": place}, {"set": [[0.5, 1], [0.5, 1]], "walk": True}]


def wider(lines: Lines) -> None:
    lines[0]["map"]["over"][0]["upper"] = 2


def other_axis(lines: Lines) -> None:
    lines[0]["map"]["tree"][0] = 1 - lines[0]["map"]["tree"][0]


def narrow_set(lines: Lines) -> None:
    low, _ = lines[2]["set"][0]
    lines[2]["set"][0] = [low, low]


def lost_cell(lines: Lines) -> None:
    del lines[1:3]


def twice(lines: Lines) -> None:
    lines += lines[1:3]


@pytest.mark.parametrize(
    "change", [more_safe, shown_too, wider, other_axis, narrow_set, lost_cell, twice], ids=lambda one: one.__name__
)
def test_what_is_not_shown_is_rejected(certified: tuple[Path, Lines], change: Callable[[Lines], None]) -> None:
    folder, lines = certified
    changed = json.loads(json.dumps(lines))
    change(changed)
    with pytest.raises((Rejected, Unreadable)):
        judged(folder, changed)


def test_whole_numbers_and_claims_for_all_time(tmp_path: Path) -> None:
    task = written(tmp_path, COUNTED.replace('where = ["a != 3"]', ""))
    found = vn.map(task, property="few", over={"a": (0, 3)}, cells=4, until="open < 0%")
    found.certify(tmp_path / "few.certificate")
    assert "from 2 cells, 75 % of the region" in str(check(tmp_path / "few.certificate"))


def test_what_cannot_be_certified_says_why(tmp_path: Path) -> None:
    found = vn.map(written(tmp_path, FALLING), property="low", cells=2, until="open < 90%", timeout=10)
    with pytest.raises(vn.InputError, match="continuous time"):
        found.certify(tmp_path / "flow.certificate")
    task = written(tmp_path, HALVING)
    for over, why in ({"x": (0, 1), "k": [1, 2]}, "several values"), ({"x": (0, 1), "limit": (1, 2)}, "a parameter"):
        found = vn.map(task, property="ever", over=over, cells=4)
        with pytest.raises(vn.InputError, match=why):
            found.certify(tmp_path / "no.certificate")
