"""A finished map: cells with what is known of them, exact shares, a question about points, and ways out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from vernal.errors import InputError, NameUnknown
from vernal.evidence.trace import Trace
from vernal.interpret import exact
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.expr import Expr
from vernal.model.hooks import hook
from vernal.model.initial import Ends
from vernal.queries.maps.axes import MapAxis
from vernal.queries.maps.cell_tree import CellKind, MapTree

Coordinate = float | int | Fraction


@dataclass(frozen=True)
class MapCell:
    """A leaf: its values of listed parameters, its ends by variable, what is known of it, and its share of the map."""

    parameters: Mapping[str, Fraction]
    ends: Mapping[str, Ends]
    kind: CellKind
    margin: float | None
    share: Fraction
    trace: Trace | None = field(default=None, repr=False)  # of an unsafe cell: a path from it that fails
    reason: str | None = None
    steps: int | None = None  # the largest k for which G[a,k] p is proven, where steps were counted


@dataclass(frozen=True)
class RegionMap:
    """Where a claim holds, proven cell by cell."""

    task: Task = field(repr=False)
    question: Question = field(repr=False)
    tree: MapTree = field(repr=False)
    sheets: tuple[Mapping[str, Fraction], ...] = ({},)  # the values of listed parameters, one entry for each tree
    seconds: float = 0.0
    stopped: str | None = None  # the limit that ended it, if one did
    freed: tuple[str, ...] = ()  # the axes that are parameters of the task
    otherwise: str = ""  # why cells are open that have no reason of their own

    @property
    def axes(self) -> tuple[MapAxis, ...]:
        return self.tree.axes

    @property
    def shares(self) -> dict[CellKind, Fraction]:
        """What part of the map is of each kind, exactly; together they are one."""
        return self.tree.shares()

    @property
    def cells(self) -> Iterator[MapCell]:
        """The leaves."""
        names = [axis.name for axis in self.axes]
        for sheet, node, box in self.tree.cells():
            margin, found = self.tree.margin[node], self.tree.evidence.get(node)
            yield MapCell(
                self.sheets[sheet],
                dict(zip(names, box, strict=True)),
                self.tree.kind_of(node),
                None if math.isnan(margin) else margin,
                self.tree.share(box),
                found if isinstance(found, Trace) else None,
                self.reason(node),
                self.steps(node),
            )

    def reason(self, node: int) -> str | None:
        """Why a leaf is open; None of one that is not."""
        return self.tree.reasons.get(node, self.otherwise) if self.tree.kind_of(node) is CellKind.OPEN else None

    def steps(self, node: int) -> int | None:
        """For how many steps the claim is proven of a leaf: for all of them where it is safe; None if not counted."""
        return self.question.claim.horizon if self.tree.kind_of(node) is CellKind.SAFE else self.tree.steps.get(node)

    def __len__(self) -> int:
        return self.tree.leaves

    def __repr__(self) -> str:
        said = ", ".join(f"{kind} {100 * float(share):.3g} %" for kind, share in self.shares.items() if share)
        return f"<RegionMap of {self.task.name}, {len(self):,} cells: {said}>"

    def contains(self, state: Mapping[str, Coordinate]) -> CellKind:
        """What is known of a point: a value for every axis, and for every listed parameter.

        Where `where` constrains the starts, a state with a value for each variable it names is looked at, too.
        """
        sheet = self._sheet(state)
        try:
            point = [state[axis.name] for axis in self.axes]
        except KeyError as error:
            raise NameUnknown(f"the point has no value for {error.args[0]}, over which the map goes") from None
        found = self.tree.at(sheet, point)
        return CellKind.NO_START if found is not CellKind.OUTSIDE and self._is_excluded(state) else found

    def _sheet(self, state: Mapping[str, Coordinate]) -> int:
        if len(self.sheets) == 1:
            return 0
        for number, values in enumerate(self.sheets):
            if all(state.get(name) == value for name, value in values.items()):
                return number
        raise InputError(f"the map has no sheet for these values of {', '.join(self.sheets[0])}")

    def _is_excluded(self, state: Mapping[str, Coordinate]) -> bool:
        where = self.question.model.init.where
        if not where:
            return False
        model = self.question.model
        given: dict[Expr, Fraction] = {}
        for variable in model.state:
            start = model.init.starts[variable.name]
            if variable.name in state:
                given[variable.var] = Fraction(state[variable.name])
            elif start.is_point:
                given[variable.var] = start.first
            else:
                return False  # some start may agree with the point
        return not all(bool(value) for value in exact.evaluate(where, given))

    def to_numpy(self) -> dict[str, Any]:
        """Arrays with a row for each cell: `lower` and `upper` (cells, axes), `kind`, `margin`, and `sheet`."""
        rows = [(sheet, node, box) for sheet, node, box in self.tree.cells()]
        return {
            "names": [axis.name for axis in self.axes],
            "lower": np.array([[float(low) for low, _ in box] for _, _, box in rows]),
            "upper": np.array([[float(high) for _, high in box] for _, _, box in rows]),
            "kind": np.array([self.tree.kind_of(node).value for _, node, _ in rows]),
            "margin": np.array([self.tree.margin[node] for _, node, _ in rows]),
            "sheet": np.array([sheet for sheet, _, _ in rows]),
            **({"steps": np.array([self.steps(node) for _, node, _ in rows], float)} if self.tree.steps else {}),
        }

    def boxes(self, kind: str | CellKind = CellKind.SAFE) -> list[dict[str, Ends]]:
        """The boxes of one kind, with exact ends by variable."""
        return [dict(cell.ends) for cell in self.cells if cell.kind == kind]

    def save(self, file: str | Path) -> None:
        """Write the tree as JSON, which `vernal map --output` goes on with, or the cells as CSV."""
        hook("save_map")(self, file)

    def plot(
        self,
        file: str | Path | None = None,
        *,
        axes: Sequence[str] | None = None,
        at: Mapping[str, Coordinate | str] | None = None,
        colour: str = "kind",
    ) -> Any:
        """Draw two of the axes; the others are at a value, in the middle if none is named, or at their `"worst"`."""
        return hook("plot_map")(self, file, axes, at, colour)

    def certify(self, file: str | Path, timeout: float | None = None) -> None:
        """Write a certificate of the safe cells, for `vernal-check`."""
        hook("certify_map")(self, file, timeout)

    def page(self, file: str | Path) -> None:
        """Write one HTML page to zoom, hover and click; it needs no network."""
        hook("write_map_page")(self, file)
