"""Rows are numbered as a dictionary would number them, whatever their hashes."""

from __future__ import annotations

import numpy as np
import pytest

from vernal.sets.finite import table
from vernal.sets.finite.table import RowTable


def check_against_dictionary(rng: np.random.Generator, columns: int, values: int) -> None:
    known: dict[tuple[int, ...], int] = {}
    rows = RowTable(columns)
    for _ in range(20):
        batch = rng.integers(-values, values, (int(rng.integers(0, 300)), columns))
        expected = [known.setdefault(tuple(row), len(known)) for row in batch.tolist()]
        assert rows.enter(batch).tolist() == expected
        assert len(rows) == len(known)
    assert [tuple(row) for row in rows.rows.tolist()] == list(known)


@pytest.mark.parametrize(("columns", "values"), [(1, 5), (1, 10**9), (3, 4), (7, 2), (2, 2**52)])
def test_rows_are_numbered_in_the_order_of_arrival(columns: int, values: int) -> None:
    check_against_dictionary(np.random.default_rng(columns), columns, values)


@pytest.mark.parametrize("bits", [0, 1, 3])
def test_equal_hashes_of_different_rows_do_no_harm(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = table.hashes
    monkeypatch.setattr(table, "hashes", lambda rows: hashes(rows) & np.uint64(2**bits - 1))
    check_against_dictionary(np.random.default_rng(bits), 2, 12)


def test_a_system_without_variables_has_one_state() -> None:
    rows = RowTable(0)
    assert rows.enter(np.zeros((3, 0), np.int64)).tolist() == [0, 0, 0]
    assert len(rows) == 1
