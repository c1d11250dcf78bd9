"""Inductive invariants as data: sets of states that no step leaves, in exact numbers.

An invariant proves a claim for all time (see `logic.safety`): initial states are in it, a step from it stays in it, and
what is claimed is true in it. It is a union of polyhedra over named components of state and memory; components that
are not named may have any value. `vernal.evidence.recheck` checks it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal

from vernal.model.portable import Portable


@dataclass(frozen=True, slots=True)
class StateSet:
    """The states x with rows . x <= bounds; truth values count as 0 and 1, labels by their index."""

    rows: tuple[tuple[Fraction, ...], ...]
    bounds: tuple[Fraction, ...]

    def limits(self) -> Iterator[tuple[tuple[Fraction, ...], Fraction | None, Fraction | None]]:
        """Every direction once, with what its value is at least and at most; None where there is no end."""
        ends: dict[tuple[Fraction, ...], Fraction] = {}
        for row, bound in zip(self.rows, self.bounds, strict=True):
            ends[row] = min(bound, ends.get(row, bound))
        for row, bound in ends.items():
            opposite = tuple(-a for a in row)
            if opposite not in ends:
                yield (row, None, bound) if _is_positive(row) else (opposite, -bound, None)
            elif _is_positive(row):
                yield row, -ends[opposite], bound

    def contains(self, point: Sequence[Fraction]) -> bool:
        """Whether a point is in the set."""
        values = (sum((a * x for a, x in zip(row, point, strict=True)), Fraction(0)) for row in self.rows)
        return all(value <= bound for value, bound in zip(values, self.bounds, strict=True))


def _is_positive(row: Sequence[Fraction]) -> bool:
    """Whether the first coefficient that is not 0 is positive."""
    return next((a for a in row if a), Fraction(1)) > 0


@dataclass(frozen=True)
class Invariant(Portable):
    """A union of sets of states that no step leaves.

    Where something is claimed only from a later position on, `prefix` says where paths are before: one union of sets
    for each earlier position. A step leads from each to the next, and from the last one into the invariant.
    """

    components: tuple[str, ...]
    sets: tuple[StateSet, ...]
    prefix: tuple[tuple[StateSet, ...], ...] = ()
    system: Any = field(default=None, repr=False, compare=False)

    plotter: ClassVar[Callable[..., Any] | None] = None  # drawing lives downstream; the package plugs it in

    def __repr__(self) -> str:
        count = "1 set" if len(self.sets) == 1 else f"{len(self.sets)} sets"
        return f"<Invariant of {count} over {', '.join(self.components)}>"

    @property
    def kind(self) -> Literal["invariant"]:
        """Which kind of evidence this is."""
        return "invariant"

    @property
    def path(self) -> None:
        """An invariant shows no path."""
        return None

    @property
    def invariant(self) -> Invariant:
        """The invariant the evidence shows: this one."""
        return self

    @property
    def entry(self) -> tuple[StateSet, ...]:
        """The sets that hold the initial states."""
        return self.prefix[0] if self.prefix else self.sets

    def contains(self, point: Sequence[Fraction]) -> bool:
        """Whether a state is in one of the sets."""
        return any(one.contains(point) for one in self.sets)

    def plot(self, file: str | Path | None = None, of: tuple[str, str] | None = None) -> Any:
        """Draw the sets over two components, the first two that vary if none are named; to a file if one is named."""
        if Invariant.plotter is None:
            raise RuntimeError("import vernal to plot invariants")
        return Invariant.plotter(self, file, of)
