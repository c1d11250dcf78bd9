"""What is found of one cell of a map."""

from __future__ import annotations

from dataclasses import dataclass

from vernal.evidence.trace import Trace
from vernal.interpret.numbers.rounding import Floats
from vernal.queries.maps.cell_tree import CellKind

CellSlopes = tuple[float, ...]  # how much the margin changes from end to end of each axis of a cell, as runs suggest


@dataclass(frozen=True)
class CellAnswer:
    """What was found of a cell."""

    kind: CellKind = CellKind.OPEN
    margin: float | None = None
    trace: Trace | None = None
    reason: str = ""
    slopes: CellSlopes | None = None  # of an open one


def sloping(slopes: Floats) -> list[CellAnswer]:
    """Open cells with these slopes."""
    return [CellAnswer(slopes=tuple(row)) for row in slopes.tolist()]
