"""Which leaves of a requirement have to be satisfied together: of them any weighted sum may be bounded instead of one.

Whoever satisfies a leaf of a conjunction satisfies its other leaves, too, and those of every conjunction around it,
the constraints on initial states among them. So a sum of them, with weights not negative, has to be at most zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from vernal.sets.core.clauses import Clauses


@dataclass(frozen=True)
class Companions:
    """Differences that stand in the same place of a requirement, and those that are satisfied wherever they are."""

    members: tuple[int, ...]
    together: tuple[int, ...]  # the members among them


def companions(clauses: Clauses) -> list[Companions]:
    """The groups of what is asked; those of constraints alone are left out."""
    needed = _needed(clauses)
    rows = len(clauses.differences)
    constraints = _beneath(clauses, clauses.outside)
    groups: dict[frozenset[int], list[int]] = {}
    for leaf in range(rows):
        if leaf not in constraints:
            groups.setdefault(needed[leaf], []).append(leaf)
    return [
        Companions(tuple(members), tuple(sorted(leaf for leaf in together if leaf < rows)))
        for together, members in groups.items()
    ]


def asked_rows(clauses: Clauses) -> list[bool]:
    """For every difference whether it is part of what is asked, not of a constraint on initial states."""
    constraints = _beneath(clauses, clauses.outside)
    return [leaf not in constraints for leaf in range(len(clauses.differences))]


def _needed(clauses: Clauses) -> dict[int, frozenset[int]]:
    """For every place the leaves that are satisfied wherever it is used to satisfy the whole."""
    own: dict[int, frozenset[int]] = {leaf: frozenset([leaf]) for leaf in range(clauses.leaves)}
    for number, (every, parts) in enumerate(clauses.junctions):
        sets = [own[part] for part in parts]
        if not sets:
            own[clauses.leaves + number] = frozenset()
        elif every:
            own[clauses.leaves + number] = frozenset().union(*sets)
        else:
            own[clauses.leaves + number] = sets[0].intersection(*sets[1:])
    needed = {clauses.root: own[clauses.root]}
    for number in range(len(clauses.junctions) - 1, -1, -1):
        place = clauses.leaves + number
        for part in clauses.junctions[number][1] if place in needed else ():
            with_parent = needed[place] | own[part]
            needed[part] = needed[part] & with_parent if part in needed else with_parent
    return {leaf: needed.get(leaf, frozenset([leaf])) for leaf in range(clauses.leaves)}


def _beneath(clauses: Clauses, places: list[int]) -> set[int]:
    """The leaves of some places."""
    found: set[int] = set()
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if place < clauses.leaves:
            found.add(place)
        else:
            waiting += clauses.junctions[place - clauses.leaves][1]
    return found
