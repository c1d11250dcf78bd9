"""What is found of one cell of a map."""

from __future__ import annotations

from dataclasses import dataclass

from vernal.evidence.trace import Trace
from vernal.queries.maps.cell_tree import CellKind


@dataclass(frozen=True)
class CellAnswer:
    """What was found of a cell."""

    kind: CellKind = CellKind.OPEN
    margin: float | None = None
    trace: Trace | None = None
    reason: str = ""
