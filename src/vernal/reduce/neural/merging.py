"""Neighbouring regions with the same flow become one where their union is convex."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from vernal.interpret.geometry.polytopes import IntegerRow, Polytope, opposite
from vernal.model.tick import Tick, idle
from vernal.reduce.neural.activation import ActivationRegion, IntegerForms


def merged(regions: Iterable[ActivationRegion], region: Polytope, tick: Tick = idle) -> list[ActivationRegion]:
    """The regions, fewer where unions of some with equal flows are convex; together they are the same points."""
    by_flow: dict[IntegerForms, list[Polytope]] = defaultdict(list)
    for one in regions:
        _add(by_flow[one.flow], one.polytope, region, tick)
    return [ActivationRegion(polytope, flow) for flow, polytopes in by_flow.items() for polytope in polytopes]


def _add(polytopes: list[Polytope], new: Polytope, region: Polytope, tick: Tick) -> None:
    """Put one more among polytopes with the same flow, united with as many of them as possible."""
    i = 0
    while i < len(polytopes):
        tick()
        union = convex_union(polytopes[i], new, region)
        if union is None:
            i += 1
            continue
        del polytopes[i]
        new, i = union, 0
    polytopes.append(new)


def convex_union(first: Polytope, second: Polytope, region: Polytope) -> Polytope | None:
    """The union of two polytopes on both sides of a hyperplane that is a row of each, if it is convex.

    The rows of each that the other satisfies hold on the union. What they describe inside the region is the union if
    its part on either side of the hyperplane is in the polytope on that side.
    """
    between = next((row for row in first.rows if opposite(row) in second.rows), None)
    if between is None:
        return None
    hull = region.meet(_common(first, second) + _common(second, first))
    halves = None if hull is None else hull.split(between)
    if hull is None or halves is None:
        return None
    inside, beyond = halves
    return hull.reduced() if inside.satisfies(first.rows) and beyond.satisfies(second.rows) else None


def _common(polytope: Polytope, other: Polytope) -> list[IntegerRow]:
    """The rows of one that the other satisfies, too."""
    return [row for row in polytope.rows if other.satisfies([row])]
