"""The tree of a map: cells that were cut, and leaves with what is known of them; exact shares of the whole.

Nodes are rows of arrays, so that a million cells are some tens of megabytes. Children of a node stand side by side.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction

from vernal.errors import FormatError
from vernal.model.initial import Ends
from vernal.queries.maps.axes import MapAxis

CellBox = tuple[Ends, ...]
UNCUT = -1


class CellKind(StrEnum):
    """What is known of a cell, equal to its words."""

    SAFE = "safe"  # from all its points the claim holds, proven
    UNSAFE = "unsafe"  # one of its points is refuted, by a trace that replays
    WHOLLY_UNSAFE = "wholly unsafe"  # from every point some start fails, proven
    OPEN = "open"
    NO_START = "no start"  # the constraints on initial states exclude all of it
    OUTSIDE = "outside"  # of no cell: the point is not on the map

    def __repr__(self) -> str:  # shares are printed by people
        return repr(self.value)


KINDS: tuple[CellKind, ...] = tuple(kind for kind in CellKind if kind is not CellKind.OUTSIDE)
NUMBER: dict[CellKind, int] = {kind: place for place, kind in enumerate(KINDS)}
FIRST_COUNTS = (CellKind.SAFE, CellKind.WHOLLY_UNSAFE, CellKind.NO_START, CellKind.UNSAFE, CellKind.OPEN)


class MapTree:
    """One tree for each combination of listed parameters, all over the same axes."""

    def __init__(self, axes: Sequence[MapAxis], sheets: int = 1) -> None:
        self.axes, self.sheets = tuple(axes), sheets
        self.axis, self.child = array("b"), array("q")
        self.kind, self.margin = array("b"), array("d")
        self.steps: dict[int, int] = {}  # of leaves that are not safe: for how many the claim is proven, if asked for
        self.cut_at: list[Fraction | float] = []  # floats where they are exact: they compare faster
        self.leaves = sheets
        self.evidence: dict[int, object] = {}  # of unsafe leaves: a Trace, or the record of one
        self.reasons: dict[int, str] = {}  # of open leaves that were asked by themselves
        for _ in range(sheets):
            self._add()

    def __len__(self) -> int:
        return len(self.axis)

    def _add(self) -> int:
        self.axis.append(UNCUT)
        self.child.append(UNCUT)
        self.kind.append(NUMBER[CellKind.OPEN])
        self.margin.append(math.nan)
        self.cut_at.append(0.0)
        return len(self.axis) - 1

    @property
    def whole(self) -> CellBox:
        return tuple(axis.ends for axis in self.axes)

    def cut(self, node: int, box: CellBox, axis: int) -> tuple[tuple[int, CellBox], tuple[int, CellBox]]:
        """Cut a leaf in the middle of one axis: both parts with their boxes."""
        assert self.axis[node] == UNCUT, "a cell is cut once"
        boxes = self._parts(box, axis)
        at = boxes[0][axis][1]
        self.axis[node], self.cut_at[node] = axis, float(at) if Fraction(float(at)) == at else at
        first, second = self._add(), self._add()
        self.child[node] = first
        self.leaves += 1
        return (first, boxes[0]), (second, boxes[1])

    def _parts(self, box: CellBox, axis: int) -> tuple[CellBox, CellBox]:
        low, high = self.axes[axis].halves(box[axis])
        return (*box[:axis], low, *box[axis + 1 :]), (*box[:axis], high, *box[axis + 1 :])

    def set(self, node: int, kind: CellKind, margin: float | None = None) -> None:
        self.kind[node] = NUMBER[kind]
        self.margin[node] = math.nan if margin is None or not math.isfinite(margin) else margin

    def kind_of(self, node: int) -> CellKind:
        return KINDS[self.kind[node]]

    def share(self, box: CellBox) -> Fraction:
        """The part of the map that a cell is, exactly."""
        made = Fraction(1, self.sheets)
        for axis, ends in zip(self.axes, box, strict=True):
            made *= axis.size(ends) / axis.size(axis.ends)
        return made

    def walk(self) -> Iterator[tuple[int, int, CellBox]]:
        """Every node, parents first: its sheet, its number, its box."""
        for sheet in range(self.sheets):
            waiting: list[tuple[int, CellBox]] = [(sheet, self.whole)]
            while waiting:
                node, box = waiting.pop()
                yield sheet, node, box
                if self.axis[node] != UNCUT:
                    low, high = self._parts(box, self.axis[node])
                    waiting += [(self.child[node] + 1, high), (self.child[node], low)]

    def cells(self) -> Iterator[tuple[int, int, CellBox]]:
        """The leaves."""
        return (found for found in self.walk() if self.axis[found[1]] == UNCUT)

    def shares(self) -> dict[CellKind, Fraction]:
        """What part of the map is of each kind; together they are one."""
        found = dict.fromkeys(KINDS, Fraction(0))
        for _, node, box in self.cells():
            found[self.kind_of(node)] += self.share(box)
        return found

    def at(self, sheet: int, point: Sequence[float | Fraction | int]) -> CellKind:
        """What is known of a point; where cells touch, the one of which more is known."""
        for axis, value in zip(self.axes, point, strict=True):
            if not axis.lower <= value <= axis.upper or (axis.whole and value != math.floor(value)):
                return CellKind.OUTSIDE
        found: set[CellKind] = set()
        waiting = [sheet]
        while waiting:
            node = waiting.pop()
            while (axis_number := self.axis[node]) != UNCUT:
                value, at = point[axis_number], self.cut_at[node]
                if value == at and not self.axes[axis_number].whole:
                    waiting.append(self.child[node] + 1)
                node = self.child[node] + (1 if value > at else 0)
            found.add(KINDS[self.kind[node]])
        return next(kind for kind in FIRST_COUNTS if kind in found)

    # As plain data ----------------------------------------------------------------------------------------------------

    def record(self) -> dict[str, object]:
        """The tree as plain data: axes of cuts and kinds of leaves, parents first; margins, and steps if counted."""
        nodes: list[object] = []
        margins: list[float | None] = []
        steps: list[int | None] = []
        for _, node, _ in self.walk():
            cut = self.axis[node] != UNCUT
            nodes.append(self.axis[node] if cut else self.kind_of(node).value)
            if not cut:
                margins.append(None if math.isnan(self.margin[node]) else self.margin[node])
                steps.append(self.steps.get(node))
        return {"nodes": nodes, "margins": margins} | ({"steps": steps} if self.steps else {})

    def restore(self, record: Mapping[str, object]) -> list[int]:
        """Make a new tree what a record says; the leaves, in its order."""
        nodes, margins, steps = record["nodes"], record["margins"], record.get("steps", [])
        if not isinstance(nodes, list) or not isinstance(margins, list) or not isinstance(steps, list):
            raise FormatError("the tree of a map is a list of nodes")
        leaves: list[int] = []
        waiting: list[tuple[int, CellBox]] = [(sheet, self.whole) for sheet in reversed(range(self.sheets))]
        for said in nodes:
            if not waiting:
                raise FormatError("the tree of this map has more nodes than its cuts make")
            node, box = waiting.pop()
            if isinstance(said, int):
                if not 0 <= said < len(self.axes) or not self.axes[said].can_cut(box[said]):
                    raise FormatError("the tree of this map has a cut that is none")
                low, high = self.cut(node, box, said)
                waiting += [high, low]
                continue
            if said not in [kind.value for kind in KINDS] or len(leaves) >= len(margins):
                raise FormatError(f"the tree of this map has a leaf of no known kind: {str(said)[:40]!r}")
            margin = margins[len(leaves)]
            self.set(node, CellKind(said), margin if isinstance(margin, int | float) else None)
            leaves.append(node)
        if waiting or len(leaves) != len(margins):
            raise FormatError("the tree of this map ends too early")
        self.steps.update((leaf, many) for leaf, many in zip(leaves, steps, strict=False) if isinstance(many, int))
        return leaves
