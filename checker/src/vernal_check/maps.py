"""Certificates of maps: a tree of cuts over starts, and for every cell that is called safe the sets that show it.

The header's `map` has the axes and the tree; the cells follow from both, so that they cannot overlap or leave anything
out. Each group of sets is checked as the certificate of one claim: that of the task with the starts of the cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import Any

from vernal_check import syntax
from vernal_check.certificate import Header, number
from vernal_check.errors import Rejected, Unreadable
from vernal_check.task import Task

KINDS = ("safe", "unsafe", "wholly unsafe", "open", "no start")
SAFE = KINDS[0]
Ends = tuple[Fraction, Fraction]
Line = tuple[int, Any]


@dataclass(frozen=True)
class Axis:
    """A variable whose start is mapped."""

    name: str
    ends: Ends
    whole: bool

    def halves(self, ends: Ends) -> tuple[Ends, Ends]:
        """The parts of a cell that is cut: reals share the middle, whole numbers share none."""
        low, high = ends
        if low == high:
            raise Unreadable(f"the map cuts a cell of one value of {self.name}")
        middle = (low + high) / 2
        if not self.whole:
            return (low, middle), (middle, high)
        return (low, Fraction(floor(middle))), (Fraction(floor(middle) + 1), high)

    def size(self, ends: Ends) -> Fraction:
        return ends[1] - ends[0] + (1 if self.whole else 0)


@dataclass(frozen=True)
class AcceptedMap:
    """What was shown: of how much of the region, by how many sets."""

    formula: str
    cells: int
    share: Fraction
    sets: int
    trusted: str
    vacuous: bool = False  # it may be of some cells
    steps: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        count = "1 cell" if self.cells == 1 else f"{self.cells:,} cells"
        share = f"{float(100 * self.share):.4g} % of the region"
        return (
            f"accepted  {self.formula}  from {count}, {share}, by {self.sets:,} sets\n          trusted: {self.trusted}"
        )


def shown(
    head: Header, loaded: Task, lines: Iterable[Line], show: Callable[[Header, Task, list[Line]], Any]
) -> AcceptedMap:
    """Accepted, if the sets of every safe cell show the claim of the header from its starts."""
    if loaded.listed is not None or head.state is not None:
        raise Unreadable("maps of planning models, or of states at which a claim fails, are not read")
    axes, nodes = parsed(head.map)
    sorts = {variable.name: variable.sort for variable in loaded.variables}
    for axis in axes:
        if sorts.get(axis.name) != ("int" if axis.whole else "real"):
            raise Rejected(f"the map goes over {axis.name}, which is no such variable of the task")
    safe = {place: box for place, (kind, box) in enumerate(leaves(axes, nodes)) if kind == SAFE}
    cells, sets, share, last = len(safe), 0, Fraction(0), None
    plain = replace(head, map=None)
    for place, own in grouped(lines):
        if place not in safe:
            raise Rejected(f"cell {place} of the map is not called safe, or is shown twice")
        box = safe.pop(place)
        starts = {axis.name: syntax.region(f"[{low}, {high}]") for axis, (low, high) in zip(axes, box, strict=True)}
        try:
            last = show(plain, replace(loaded, init={**loaded.init, **starts}), own)
        except Rejected as why:
            raise Rejected(f"cell {place} of the map: {why}", why.node, why.obligation) from None
        sets += last.sets
        part = Fraction(1)
        for axis, ends in zip(axes, box, strict=True):
            part *= axis.size(ends) / axis.size(axis.ends)
        share += part
    if safe:
        raise Rejected(f"nothing shows that cell {min(safe)} of the map is safe")
    if last is None:
        raise Unreadable("no cell of this map is called safe")
    return AcceptedMap(last.formula, cells, share, sets, last.trusted)


def parsed(document: Any) -> tuple[list[Axis], list[Any]]:
    """The axes and the nodes of the tree."""
    if not isinstance(document, dict) or set(document) != {"over", "tree"}:
        raise Unreadable("a map has axes and a tree")
    over, tree = document["over"], document["tree"]
    if not isinstance(over, list) or not isinstance(tree, list) or not over:
        raise Unreadable("a map has axes and a tree")
    axes = [axis(item) for item in over]
    if len({one.name for one in axes}) < len(axes):
        raise Unreadable("a map has an axis twice")
    return axes, tree


def axis(document: Any) -> Axis:
    if not isinstance(document, dict) or set(document) != {"name", "lower", "upper", "whole"}:
        raise Unreadable("an axis of a map has a name, two ends, and whether it is of whole numbers")
    ends = tuple(number(end) if isinstance(end, str) else end for end in (document["lower"], document["upper"]))
    name, whole = document["name"], document["whole"]
    if not isinstance(name, str) or not isinstance(whole, bool) or not all(isinstance(end, Fraction) for end in ends):
        raise Unreadable("an axis of a map has a name, two ends, and whether it is of whole numbers")
    if ends[0] >= ends[1] or (whole and any(end.denominator != 1 for end in ends)):
        raise Unreadable(f"the axis {name} of the map has no ends")
    return Axis(name, (ends[0], ends[1]), whole)


def leaves(axes: Sequence[Axis], nodes: Sequence[Any]) -> Iterator[tuple[str, tuple[Ends, ...]]]:
    """The cells with their kinds, in the order of the tree: a cut is the number of its axis, and both parts follow."""
    waiting: list[tuple[Ends, ...]] = [tuple(one.ends for one in axes)]
    for node in nodes:
        if not waiting:
            raise Unreadable("the tree of the map has more nodes than its cuts make")
        box = waiting.pop()
        if node in KINDS:
            yield str(node), box
            continue
        if not isinstance(node, Fraction) or node not in range(len(axes)):
            raise Unreadable("a node of the map is a cut, or a kind of cells")
        place = int(node)
        first, second = axes[place].halves(box[place])
        waiting += [(*box[:place], part, *box[place + 1 :]) for part in (second, first)]
    if waiting:
        raise Unreadable("the tree of the map ends too early")


def grouped(lines: Iterable[Line]) -> Iterator[tuple[int, list[Line]]]:
    """The sets of each cell: those after a line that names it."""
    place, own = None, list[Line]()
    for line, document in lines:
        if isinstance(document, dict) and set(document) == {"cell"}:
            if place is not None:
                yield place, own
            named = document["cell"]
            if not isinstance(named, Fraction) or named.denominator != 1:
                raise Unreadable(f"line {line}: a cell is named by its number")
            place, own = int(named), []
        elif place is None:
            raise Unreadable(f"line {line}: a set of a map belongs to a cell")
        else:
            own.append((line, document))
    if place is not None:
        yield place, own
