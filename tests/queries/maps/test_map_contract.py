"""The table of ground truth, asked of maps: what is known of all starts may not contradict what is known of cells."""

from __future__ import annotations

import pytest

import vernal as vn
from tests.cases import CASES, Case
from tests.portion import every
from vernal.evidence.result import HOLDS, VIOLATED
from vernal.queries.maps.axes import map_axes
from vernal.queries.maps.cell_tree import CellKind

FAILING = (CellKind.UNSAFE, CellKind.WHOLLY_UNSAFE)


def has_axes(case: Case) -> bool:
    """Whether some variable starts in an interval."""
    try:
        return bool(map_axes(case.task.model, {}, ()))
    except vn.VernalError:
        return False


MAPPED = [case for case in CASES if has_axes(case)]


@pytest.mark.parametrize("case", every(4, MAPPED), ids=str)
def test_no_map_contradicts_the_table(case: Case) -> None:
    """A claim that holds fails from no cell; one that fails is not proven of all of them."""
    found = vn.map(case.task.model, case.formula, cells=4, timeout=3, cell_timeout=0.5)
    kinds = {cell.kind for cell in found.cells}
    assert sum(found.shares.values()) == 1
    if case.expected is HOLDS:
        assert not kinds & set(FAILING), case.why
    if case.expected is VIOLATED:
        assert kinds - {CellKind.SAFE, CellKind.NO_START}, case.why
    for cell in found.cells:
        assert cell.kind is not CellKind.UNSAFE or cell.trace is not None
