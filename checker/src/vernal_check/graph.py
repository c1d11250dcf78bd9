"""Sets of states and where their steps lead: what covers initial states and every image (obligations 1, 3 and 6)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from vernal_check.clock import tick
from vernal_check.curves import Undefined
from vernal_check.errors import Endless, Rejected, Unshown
from vernal_check.evaluation import Fork, Run, outcomes
from vernal_check.forms import ZERO, Interval
from vernal_check.formulas import Normal
from vernal_check.syntax import Node
from vernal_check.system import NOT_FOUND, Case, Cell, Place, Region, Row, System, Truths, narrowed, placed

Atoms = frozenset[int]  # those that are asked about
MAX_PARTS = 10_000  # boxes into which an image falls while it is covered
MAX_SAMPLED = 3  # sides whose ends are looked at
MAX_HALVINGS = 6  # of a set whose image is not covered
MAX_PLACES = 50_000  # that come of one set which is followed
NO_IMAGE = "where a step leads from these states is not found: a value has no end over them"
MAX_ROUNDED = 2_000  # likewise in floats: their errors grow from step to step, so that no set comes back


@dataclass(frozen=True)
class SetNode:
    """A set of states of the certificate, and the sets its steps lead to, where they are named."""

    name: str
    region: Region
    after: tuple[str, ...] | None = None
    first: bool = False
    walk: bool = False  # its states are followed without further sets
    rows: tuple[Row, ...] = ()
    where: Node | None = None  # a condition on its states
    induction: int = 0  # positions that keep the claim, after which one more is looked at
    after_position: int = 0  # from which on an induction shows it

    @property
    def is_box(self) -> bool:
        """Whether it is a closed box, and nothing else."""
        ends = [end for cell in self.region if isinstance(cell, tuple) for end in cell]
        return not self.rows and self.where is None and not any(isinstance(end, float) for end in ends)


@dataclass(frozen=True)
class Step:
    """A case of a place and the places around where it goes: None where paths end, empty where that is unknown."""

    forks: tuple[Fork, ...]
    truths: Truths
    targets: tuple[int, ...] | None


class Graph:
    """The sets of a certificate, and what the checker found out about them."""

    def __init__(self, system: System, nodes: Sequence[SetNode], normal: Normal) -> None:
        self.system, self.nodes, self.normal = system, nodes, normal
        self.points: dict[Region, int] = {}
        self.boxes: dict[tuple[Cell, ...], list[int]] = {}
        self.shapes: dict[tuple[Cell, ...], list[int]] = {}  # sets that are no boxes
        self.names: dict[str, int] = {}
        self.sorted: dict[tuple[Cell, ...], tuple[list[tuple[Interval, int]], Fraction]] = {}
        self.known: dict[tuple[int, Atoms], list[Step]] = {}
        self.seen: dict[tuple[int, Atoms], list[Case]] = {}
        for number, node in enumerate(nodes):
            self.names[node.name] = number
            if node.induction:
                continue
            if not node.is_box:
                self.shapes.setdefault(discrete(node.region), []).append(number)
            elif all(not isinstance(cell, tuple) or cell[0] == cell[1] for cell in node.region):
                self.points.setdefault(node.region, number)
            else:
                self.boxes.setdefault(discrete(node.region), []).append(number)

    def is_state(self, number: int) -> bool:
        return is_point(self.nodes[number].region)

    def with_states(self, number: int) -> Iterator[tuple[Graph, int]]:
        """The same graph with one state of a node as a node more, and its number, for a few of its states."""
        for state in samples(self.nodes[number].region):
            one = replace(self.nodes[number], name="", region=state)
            yield Graph(self.system, [*self.nodes, one], self.normal), len(self.nodes)

    def starts(self) -> list[int]:
        """The nodes that contain the initial states (obligation 1)."""
        found: dict[int, None] = {}
        named = [number for number, node in enumerate(self.nodes) if node.first] or None
        for place in self.system.starts():
            covering = self.covering(place, named)
            if covering is None:
                kind = Unshown if self.shapes else Rejected  # boxes are compared exactly, other sets by bounds
                where = self.system.described(place.region)
                raise kind(f"no set contains the initial states {where}", obligation=1)
            found.update(dict.fromkeys(covering))
        return list(found)

    def start_at(self, state: Region) -> list[int]:
        """The nodes that contain one initial state."""
        if not self.system.is_initial(state):
            raise Rejected(f"this is no initial state: {self.system.described(state)}", obligation=1)
        covering = self.covering(placed(state), None)
        if covering is None:
            raise Rejected("no set contains the state", obligation=1)
        return covering

    def covering(self, place: Place, named: Sequence[int] | None, depth: int = MAX_HALVINGS) -> list[int] | None:
        """Nodes whose union contains a place; None where there are none."""
        region = place.region
        point = self.points.get(region)
        if point is not None and (named is None or point in named):
            return [point]
        if place.rows and any(isinstance(cell, tuple) and cell[0] > cell[1] for cell in region):
            return []  # there is no state
        key = discrete(region)
        boxes = self.near(region) if named is None else [n for n in named if discrete(self.nodes[n].region) == key]
        found = covered(region, [(n, self.nodes[n].region) for n in boxes if self.nodes[n].is_box])
        if found is not None or depth == 0:
            return found
        return self.divided(place, [n for n in self.shapes.get(key, ()) if named is None or n in named], named, depth)

    def divided(self, place: Place, shapes: list[int], named: Sequence[int] | None, depth: int) -> list[int] | None:
        """Nodes that contain a place: one of another shape, and others what is left outside of it."""
        for number in shapes:
            node = self.nodes[number]
            outside, some = list[Place](), False
            for part, _, is_inside in self.sides(place, node):
                some = some or is_inside
                outside += [] if is_inside else [part]
            if not some and outside:
                continue
            others = [n for n in range(len(self.nodes)) if n != number and (named is None or n in named)]
            found = [number]
            for part in outside:
                more = self.covering(part, others, depth - 1)
                if more is None:
                    break
                found += more
            else:
                return list(dict.fromkeys(found))
        return None

    def sides(self, place: Place, node: SetNode) -> Iterator[tuple[Place, tuple[Fork, ...], bool]]:
        """The parts of a place inside and outside of a node."""

        def inside(run: Run) -> bool:
            return self.system.inside(run, place, node.region, node.rows, node.where)

        try:
            for found in outcomes(dict(place.ranges), inside, rows=place.rows or ()):
                yield narrowed(place, found), found.forks, found.value
        except Undefined as problem:
            raise Rejected(f"{problem}: the condition of a set is not defined", node.name, 6) from None

    def places(self, number: int) -> list[tuple[Place, tuple[Fork, ...]]]:
        """The states of a node: one place, or several where its condition has cases."""
        node = self.nodes[number]
        if node.is_box:
            return [(placed(node.region), ())]
        around = placed(node.region, keeps=True)
        return [(place, forks) for place, forks, is_inside in self.sides(around, node) if is_inside]

    def near(self, region: Region) -> list[int]:
        """The boxes that may meet a region, by the first number that they give ends to."""
        key = discrete(region)
        if key not in self.sorted:
            ends = [
                (next(cell for cell in self.nodes[n].region if isinstance(cell, tuple)), n)
                for n in self.boxes.get(key, ())
            ]
            ends.sort()
            self.sorted[key] = ends, max((high - low for (low, high), _ in ends), default=ZERO)
        ends, width = self.sorted[key]
        low, high = next((cell for cell in region if isinstance(cell, tuple)), (ZERO, ZERO))
        first = bisect_left(ends, low - width, key=lambda entry: entry[0][0])
        last = bisect_right(ends, high, key=lambda entry: entry[0][0])
        return [number for _, number in ends[first:last]]

    def cases(self, number: int, asked: Atoms, moves: bool) -> list[Case]:
        """The ways the positions of a node go."""
        return [
            replace(case, forks=(*forks, *case.forks))
            for place, forks in self.places(number)
            for case in self.part(number, asked, moves, place)
        ]

    def part(self, number: int, asked: Atoms, moves: bool, place: Place) -> list[Case]:
        try:
            return self.system.cases(place, self.normal.atoms, asked, moves)
        except Rejected as problem:
            raise Rejected(problem.reason, self.nodes[number].name, problem.obligation) from None

    def steps(self, number: int, asked: Atoms) -> list[Step]:
        """The cases of a node with their targets (obligation 3): where they are not covered, its halves are tried."""
        if (number, asked) not in self.known:
            named = self.named(number)
            self.known[number, asked] = [
                step
                for place, forks in self.places(number)
                for step in self.parts(number, asked, place, named, forks, MAX_HALVINGS)
            ]
        return self.known[number, asked]

    def named(self, number: int) -> list[int] | None:
        """The nodes that a node names; None where all are meant."""
        after = self.nodes[number].after
        return None if after is None else [self.names[name] for name in after if name in self.names]

    def parts(
        self,
        number: int,
        asked: Atoms,
        place: Place,
        named: Sequence[int] | None,
        before: tuple[Fork, ...],
        depth: int,
    ) -> list[Step]:
        """The steps of a part of a node."""
        cases = self.part(number, asked, True, place)
        found = [self.step(case, named, before) for case in cases if case.after is None or not case.after.is_empty]
        halves = place.halves() if depth and any(step.targets == () for step in found) else None
        if halves is None:
            return found
        return [
            step
            for taken, half in enumerate(halves)
            for step in self.parts(number, asked, half, named, (*before, Fork("either", 2, taken)), depth - 1)
        ]

    def step(self, case: Case, named: Sequence[int] | None, before: tuple[Fork, ...]) -> Step:
        forks = (*before, *case.forks)
        if case.after is None or case.after is NOT_FOUND:
            return Step(forks, case.truths, None if case.after is None else ())
        return Step(forks, case.truths, tuple(self.covering(case.after, named) or ()))

    def edges(self) -> tuple[tuple[str, str], ...]:
        """The steps that were found, by the names of their nodes."""
        found = {
            (number, to) for (number, _), steps in self.known.items() for step in steps for to in step.targets or ()
        }
        return tuple((self.nodes[number].name, self.nodes[to].name) for number, to in sorted(found))

    def truths(self, number: int, asked: Atoms) -> list[Case]:
        """What is true at a node, without its steps."""
        if (number, asked) not in self.seen:
            self.seen[number, asked] = self.cases(number, asked, moves=False)
        return self.seen[number, asked]

    def is_last(self, number: int) -> bool:
        """Whether nothing is said of a node's steps: they must not matter."""
        return self.nodes[number].after == ()

    def uncovered(self, number: int) -> Rejected:
        """Why a node is rejected whose states may go where no set is."""
        node, named = self.nodes[number], self.named(number)
        for case in self.cases(number, frozenset(), moves=True):
            if case.after is NOT_FOUND:
                return Rejected(NO_IMAGE, node.name, 3)
            if case.after is not None and not self.covering(case.after, named):
                where = self.system.described(case.after.region)
                return Rejected(f"a step leads to {where}, which no set named contains", node.name, 3)
        raise AssertionError("a step that is not covered")

    def described(self, number: int) -> tuple[str, str]:
        """The name of a node, and its states."""
        return self.nodes[number].name, self.system.described(self.nodes[number].region)


class Walk:
    """A set of states followed as far as the claim asks, step by step (the lemma *tree*)."""

    def __init__(self, graph: Graph, name: str, start: Place) -> None:
        self.graph, self.system, self.normal, self.name = graph, graph.system, graph.normal, name
        self.places: list[Place] = [start]
        self.numbers: dict[tuple[object, ...], int] = {}
        self.known: dict[tuple[int, Atoms], list[Step]] = {}

    def number(self, place: Place) -> int:
        place = place.coarse if place.directed else place
        if place.key not in self.numbers:
            most = MAX_ROUNDED if place.directed and not self.normal.is_bounded else MAX_PLACES
            if len(self.places) >= most:
                raise Endless(f"more than {most:,} sets come of one that is followed", self.name)
            self.numbers[place.key] = len(self.places)
            self.places.append(place)
        return self.numbers[place.key]

    def is_last(self, number: int) -> bool:
        """Whether the claim is looked at first, and a step only where it asks for one: it may ask for none."""
        return True

    def is_state(self, number: int) -> bool:
        return is_point(self.places[number].region)

    def truths(self, number: int, asked: Atoms) -> list[Case]:
        return self.cases(number, asked, moves=False)

    def cases(self, number: int, asked: Atoms, moves: bool) -> list[Case]:
        try:
            return self.system.cases(self.places[number], self.normal.atoms, asked, moves)
        except Rejected as problem:
            raise Rejected(problem.reason, self.name, problem.obligation) from None

    def steps(self, number: int, asked: Atoms) -> list[Step]:
        if (number, asked) not in self.known:
            made = []
            for case in self.cases(number, asked, moves=True):
                known = case.after is not NOT_FOUND
                targets = None if case.after is None else (self.number(case.after),) if known else ()
                made.append(Step(case.forks, case.truths, targets))
            self.known[number, asked] = made
        return self.known[number, asked]

    def uncovered(self, number: int) -> Rejected:
        return Rejected(NO_IMAGE, self.name, 3)

    def described(self, number: int) -> tuple[str, str]:
        return self.name, self.system.described(self.places[number].region)


def is_point(region: Region) -> bool:
    """Whether a region is a single state."""
    return all(not isinstance(cell, tuple) or cell[0] == cell[1] for cell in region)


def met(region: Region, other: Region) -> Region:
    """The part of a region inside another that it meets: ends in floats may lie a little outside."""
    return tuple(
        (min(max(a[0], b[0]), b[1]), max(min(a[1], b[1]), b[0])) if isinstance(a, tuple) and isinstance(b, tuple) else a
        for a, b in zip(region, other, strict=True)
    )


def samples(region: Region) -> Iterator[Region]:
    """A few states of a region: the one in the middle, and corners."""
    wide = {place: cell for place, cell in enumerate(region) if isinstance(cell, tuple) and cell[0] < cell[1]}
    if any(isinstance(end, float) for ends in wide.values() for end in ends):
        return
    middle = {place: (low + high) / 2 for place, (low, high) in wide.items()}
    corners = product(*list(wide.values())[:MAX_SAMPLED])
    for chosen in (middle, *({**middle, **dict(zip(wide, corner, strict=False))} for corner in corners)):
        yield tuple((chosen[place],) * 2 if place in chosen else cell for place, cell in enumerate(region))


def discrete(region: Region) -> tuple[Cell, ...]:
    """What a region says of truth values and labels."""
    return tuple(cell for cell in region if not isinstance(cell, tuple))


def covered(region: Region, sets: Sequence[tuple[int, Region]]) -> list[int] | None:
    """The sets that together contain a region: what one of them leaves uncovered is cut into boxes, and so on."""
    used: dict[int, None] = {}
    left = [region]
    for _ in range(MAX_PARTS):
        tick()
        if not left:
            return list(used)
        part = left.pop()
        number, rest = next(((n, rest) for n, one in sets if (rest := difference(part, one)) is not None), (-1, []))
        if number < 0:
            return None
        used[number] = None
        left += rest
    return None


def difference(part: Region, one: Region) -> list[Region] | None:
    """What is left of a box outside another, as closed boxes; None where that takes nothing away.

    A box of lower dimension than its neighbours' common side is taken away where it lies inside the other.
    """
    rest: list[Region] = []
    current = list(part)
    for place, (cell, other) in enumerate(zip(part, one, strict=True)):
        if not isinstance(cell, tuple) or not isinstance(other, tuple):
            continue
        if cell[1] < other[0] or cell[0] > other[1]:
            return None
        if cell[0] < cell[1] and (cell[1] == other[0] or cell[0] == other[1]):
            return None  # they touch: nothing with an inside is taken away
        if cell[0] < other[0]:
            rest.append((*current[:place], (cell[0], other[0]), *current[place + 1 :]))
        if cell[1] > other[1]:
            rest.append((*current[:place], (other[1], cell[1]), *current[place + 1 :]))
        current[place] = (max(cell[0], other[0]), min(cell[1], other[1]))
    return rest
