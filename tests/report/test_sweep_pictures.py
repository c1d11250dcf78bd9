"""Pictures of sweeps: every verdict has its colour, margins are written, and what cannot be drawn says so."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import vernal as vn
from vernal.evidence.result import Result
from vernal.logic.task import Task
from vernal.queries.sweep import SweepRow, SweepTable


def table(*answers: tuple[dict[str, str], vn.Verdict, float | None]) -> SweepTable:
    drift = vn.System(state={"x": vn.real()}, init={"x": 0}, step=lambda s: {})
    return SweepTable(
        Task(drift),
        tuple(
            SweepRow(
                {name: Fraction(text) for name, text in at.items()}, Result("G p", verdict, "e", margin=margin), at
            )
            for at, verdict, margin in answers
        ),
    )


def drawn(made: SweepTable) -> tuple[Any, list[str]]:
    (panel,) = made.plot().axes
    return panel.images[0].get_array(), [text.get_text() for text in panel.texts]


def test_cells_have_the_colour_of_their_verdict_and_their_margin() -> None:
    cells, texts = drawn(
        table(
            ({"a": "1", "b": "1"}, vn.HOLDS, 2.0),
            ({"a": "1", "b": "2"}, vn.HOLDS, 0.5),
            ({"a": "2", "b": "1"}, vn.VIOLATED, -1.0),
            ({"a": "2", "b": "2"}, vn.UNKNOWN, None),
        )
    )
    assert cells.shape == (2, 2, 3)
    blue, red = cells[0, 0], cells[0, 1]
    assert blue[2] > blue[0]
    assert red[0] > red[2]
    assert np.all(cells[1, 0] > blue)  # less margin, fainter
    assert cells[1, 1][0] > cells[1, 1][2]  # yellow
    assert sorted(texts) == ["-1", "0.5", "2"]


def test_a_cell_that_was_not_reached_stays_white() -> None:
    cells, _ = drawn(
        table(
            ({"a": "1", "b": "1"}, vn.HOLDS, float("inf")),
            ({"a": "1", "b": "2"}, vn.HOLDS, 1.0),
            ({"a": "2", "b": "1"}, vn.HOLDS, 0.0),
        )
    )
    assert cells[1, 1].tolist() == [1, 1, 1]
    assert np.isfinite(cells).all()


def test_one_parameter_is_a_row_and_three_are_refused() -> None:
    cells, _ = drawn(table(*(({"a": str(k)}, vn.HOLDS, 1.0) for k in range(30))))
    assert cells.shape == (1, 30, 3)
    with pytest.raises(vn.InputError, match="one or two parameters"):
        table(({"a": "1", "b": "1", "c": "1"}, vn.HOLDS, 1.0)).plot()
