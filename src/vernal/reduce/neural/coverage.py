"""Whether the locations of a hybrid automaton cover its region: a property of the automaton that is checked exactly.

Parts of the region are cut along rows of invariants until each is inside one of them. A part that meets the inside of
none of the invariants is not covered. Parts without interior need no look: the invariants are closed, so what they
leave of a box is open in it, and has an interior wherever it is not empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from vernal.interpret.geometry.polytopes import IntegerRow, Polytope, box, integer_row
from vernal.model.hybrid import Facets, HybridAutomaton
from vernal.model.tick import Tick, idle


def covers(automaton: HybridAutomaton, tick: Tick = idle) -> bool:
    """Whether every point of the region lower <= x <= upper is in the invariant of some location."""
    return uncovered(automaton, tick) is None


def uncovered(automaton: HybridAutomaton, tick: Tick = idle) -> Polytope | None:
    """A part of the region with interior that is in no invariant; None if there is none."""
    invariants = [rows_of(location.invariant) for location in automaton.locations]
    waiting = [(region_of(automaton), invariants)]
    while waiting:
        tick()
        part, near = waiting.pop()
        near = [rows for rows in near if not part.outside(rows)]
        if any(part.satisfies(rows) for rows in near):
            continue
        halves = _cut(part, near)
        if halves is None:
            return part
        waiting += [(half, near) for half in halves]
    return None


def _cut(part: Polytope, invariants: Iterable[Sequence[IntegerRow]]) -> tuple[Polytope, Polytope] | None:
    """The part cut by a row of one of the invariants; None if no row cuts it."""
    splits = (part.split(row) for rows in invariants for row in rows)
    return next((halves for halves in splits if halves is not None), None)


def region_of(automaton: HybridAutomaton) -> Polytope:
    """The region as a polytope."""
    return box(_exactly(automaton.lower), _exactly(automaton.upper))


def rows_of(facets: Facets) -> list[IntegerRow]:
    """The half-spaces in whole numbers."""
    pairs = zip(facets.normals, facets.offsets, strict=True)
    return [integer_row([*_exactly(normal), Fraction(-float(offset))]) for normal, offset in pairs]


def _exactly(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[Fraction]:
    return [Fraction(x) for x in values.tolist()]
