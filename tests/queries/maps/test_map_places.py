"""Maps in other processes: the cells of one process, wherever they are asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from tests.queries.maps.test_map_truth import COUNTED, HALVING, agree, written
from vernal.queries.maps.cell_tree import CellKind


@pytest.mark.parametrize("place", ["workers", "dir"])
def test_cells_are_those_of_one_process(tmp_path: Path, place: str) -> None:
    task = written(tmp_path, HALVING)
    here = vn.map(task, property="low", cells=200, until="open < 0%")
    on = "workers" if place == "workers" else f"dir:{tmp_path / 'jobs'}"
    found = vn.map(task, property="low", cells=200, until="open < 0%", on=on, workers=2)
    agree(found, lambda x, y: x + y <= 1)
    decided = [one.shares[CellKind.SAFE] + one.shares[CellKind.WHOLLY_UNSAFE] for one in (here, found)]
    assert abs(decided[0] - decided[1]) < 0.1
    assert any(cell.trace is not None for cell in found.cells)


def test_cells_that_are_asked_one_by_one_spread(tmp_path: Path) -> None:
    found = vn.map(written(tmp_path, COUNTED), property="few", until="open < 0.1%", cells=64, workers=2)
    agree(found, lambda a, b: None if a == 3 else a + b <= 9, 100)
    assert found.shares[CellKind.OPEN] == 0


def test_sheets_spread(tmp_path: Path) -> None:
    over = {"x": (0, 1), "y": (0, 1), "k": [1, 2]}
    found = vn.map(written(tmp_path, HALVING), property="ever", over=over, cells=100, workers=2)
    rng = np.random.default_rng(5)
    for x, y, k in zip(rng.random(200), rng.random(200), rng.integers(1, 3, 200), strict=True):
        kind = found.contains({"x": x, "y": y, "k": int(k)})
        assert kind is not (CellKind.WHOLLY_UNSAFE if x + k * y / 2 <= 1 else CellKind.SAFE)


def test_a_folder_of_another_map_is_refused(tmp_path: Path) -> None:
    task, on = written(tmp_path, HALVING), f"dir:{tmp_path / 'jobs'}"
    vn.map(task, property="low", cells=8, on=on, workers=2)
    with pytest.raises(vn.InputError, match="another"):
        vn.map(task, property="low", over={"x": (0, 2)}, cells=8, on=on, workers=2)
