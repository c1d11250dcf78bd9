"""The obligations: sets cover the initial states and their images, and on the graph of sets the claim is true.

A path formula is decided by the product with what its negation asks (docs/certificates.md): no path of sets keeps the
negation. A formula with path quantifiers is decided by fixpoints: at which sets it is true of every state.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from vernal_check.clock import tick
from vernal_check.curves import Undefined
from vernal_check.errors import Rejected, Unreadable
from vernal_check.evaluation import Fork, Run, outcomes
from vernal_check.forms import ZERO, Interval
from vernal_check.formulas import FALSE, TRUE, Demand, Formula, Normal, demands, untils
from vernal_check.syntax import Node
from vernal_check.system import Case, Cell, Place, Region, Row, System, Truths, narrowed, placed

Atoms = frozenset[int]  # those that are asked about
MAX_PARTS = 10_000  # boxes into which an image falls while it is covered
MAX_PAIRS = 5_000_000
MAX_HALVINGS = 6  # of a set whose image is not covered
MAX_PLACES = 50_000  # that come of one set which is followed
MAX_ROUNDED = 2_000  # likewise in floats: their errors grow from step to step, so that no set comes back
MAX_CUTS, MAX_DEPTH = 100_000, 24  # parts of such a set, and how often each is halved


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

    def starts(self) -> list[int]:
        """The nodes that contain the initial states (obligation 1)."""
        found: dict[int, None] = {}
        named = [number for number, node in enumerate(self.nodes) if node.first] or None
        for place in self.system.starts():
            covering = self.covering(place, named)
            if covering is None:
                where = self.system.described(place.region)
                raise Rejected(f"no set contains the initial states {where}", obligation=1)
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
        if case.after is None:
            return Step(forks, case.truths, None)
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
            if case.after is not None and not self.covering(case.after, named):
                where = self.system.described(case.after.region)
                return Rejected(f"a step leads to {where}, which no set named contains", node.name, 3)
        raise AssertionError("a step that is not covered")

    def described(self, number: int) -> tuple[str, str]:
        """The name of a node, and its states."""
        return self.nodes[number].name, self.system.described(self.nodes[number].region)


class Endless(Rejected):
    """More sets come of one that is followed than are looked at."""


class Walk:
    """A set of states followed as far as the claim asks, step by step (the lemma *tree*)."""

    def __init__(self, graph: Graph, name: str, start: Place) -> None:
        self.graph, self.system, self.normal, self.name = graph, graph.system, graph.normal, name
        self.places: list[Place] = [start]
        self.numbers: dict[tuple[object, ...], int] = {}
        self.known: dict[tuple[int, Atoms], list[Step]] = {}

    def number(self, place: Place) -> int:
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
                targets = None if case.after is None else (self.number(case.after),)
                made.append(Step(case.forks, case.truths, targets))
            self.known[number, asked] = made
        return self.known[number, asked]

    def uncovered(self, number: int) -> Rejected:
        raise AssertionError("what is followed is covered")

    def described(self, number: int) -> tuple[str, str]:
        return self.name, self.system.described(self.places[number].region)


def walk(graph: Graph, number: int) -> None:
    """Follow a set in floats, and where these do not show the claim in rational numbers."""
    node = graph.nodes[number]
    if node.is_box:
        try:
            return follow(graph, node.name, [placed(node.region, directed=True)])
        except Rejected as problem:
            if problem.obligation == 6:
                raise
    follow(graph, node.name, [place for place, _ in graph.places(number)])


def follow(graph: Graph, name: str, places: Sequence[Place]) -> None:
    """Follow sets; where their bounds are too loose, their halves, and so on."""
    left = [(place, 0) for place in reversed(places)]
    for _ in range(MAX_CUTS):
        if not left:
            return
        place, depth = left.pop()
        try:
            Product(Walk(graph, name, place)).check([0])
        except Rejected as problem:
            hopeless = problem.obligation == 6 or (place.directed and isinstance(problem, Endless))
            halves = place.halves() if depth < MAX_DEPTH and not hopeless else None
            if halves is None:
                raise
            left += [(half, depth + 1) for half in reversed(halves)]
    raise Rejected(f"more than {MAX_CUTS:,} parts of a set that is followed", name)


def by_induction(graph: Graph, starts: Sequence[int], steps: Sequence[int]) -> None:
    """`G p`: p is kept at the first k positions, and any k positions that keep it are followed by one that does."""
    claim, first = graph.normal, graph.nodes[steps[0]]
    if len({(graph.nodes[n].induction, graph.nodes[n].after_position) for n in steps}) > 1:
        raise Unreadable("inductions of several lengths are not read")
    graph.system.covers_all(
        [graph.nodes[n].region for n in steps if not graph.nodes[n].rows and not graph.nodes[n].where]
    )
    graph.normal, step = claim.induction(first.induction, first.after_position)
    decide(graph, starts)
    graph.normal = step
    for number in steps:
        walk(graph, number)


def decide(graph: Graph, starts: Sequence[int]) -> None:
    """A claim of paths from the sets that contain the initial states."""
    Product(graph).check([number for number in starts if not graph.nodes[number].walk])
    for number in starts:
        if graph.nodes[number].walk:
            walk(graph, number)


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


# Path formulas --------------------------------------------------------------------------------------------------------

Pair = tuple[int, frozenset[Formula], int]  # a node, what the negation asks there, and the mark that is waited for


class Product:
    """The paths of sets on which the negation of the claim may be true."""

    def __init__(self, graph: Graph | Walk) -> None:
        self.graph, self.marks = graph, untils(graph.normal.formula)
        self.ways: dict[frozenset[Formula], list[Demand]] = {}
        self.edges: dict[Pair, list[tuple[Pair, bool]]] = {}

    def check(self, starts: Sequence[int]) -> None:
        """Reject where the negation may be true of a path; obligations 2 to 6 at every pair that is reached."""
        first = frozenset([self.graph.normal.formula])
        stack: list[Pair] = [(number, first, 0) for number in starts]
        self.edges.update((pair, []) for pair in stack)
        while stack:
            tick()
            pair = stack.pop()
            for target, marked in self.following(pair):
                self.edges[pair].append((target, marked))
                if target not in self.edges:
                    self.edges[target] = []
                    stack.append(target)
            if len(self.edges) > MAX_PAIRS:
                raise Rejected(f"more than {MAX_PAIRS:,} pairs of sets and formulas")
        self.rank()

    def following(self, pair: Pair) -> Iterator[tuple[Pair, bool]]:
        number, state, _ = pair
        if state not in self.ways:
            self.ways[state] = demands(state)
        ways = self.ways[state]
        asked = frozenset(atom for way in ways for atom, _ in way.literals)
        if asked and self.graph.is_last(number):
            cases = self.graph.truths(number, asked)
            if not any(way.allows(case.truths) for way in ways for case in cases):
                return
        for step in self.graph.steps(number, asked):
            for way in ways:
                if way.allows(step.truths):
                    yield from self.along(pair, step, way)

    def along(self, pair: Pair, step: Step, way: Demand) -> Iterator[tuple[Pair, bool]]:
        number, _, waiting = pair
        if step.targets is None:
            if not way.strong:
                raise self.failed(number, "may be true of a path that ends here", 5)
            return
        if not way.after:
            raise self.failed(number, "may be true here", 2)
        if not step.targets:
            raise self.graph.uncovered(number)
        while waiting < len(self.marks) and self.marks[waiting] not in way.promises:
            waiting += 1
        marked = waiting == len(self.marks)
        for target in step.targets:
            yield (target, way.after, 0 if marked else waiting), marked

    def failed(self, number: int, what: str, obligation: int) -> Rejected:
        name, where = self.graph.described(number)
        return Rejected(f"the negation of the claim {what}, at {where}", name, obligation)

    # Obligation 4 -----------------------------------------------------------------------------------------------------

    def rank(self) -> None:
        """Ranks exist exactly where no cycle has a marked edge: none inside a strongly connected component."""
        component = components(self.edges)
        for pair, edges in self.edges.items():
            for target, marked in edges:
                if marked and component[pair] == component[target]:
                    raise self.failed(pair[0], "may be true of a path that comes back here again and again", 4)


def components(edges: dict[Pair, list[tuple[Pair, bool]]]) -> dict[Pair, int]:
    """Strongly connected components (Tarjan), without recursion."""
    index: dict[Pair, int] = {}
    low: dict[Pair, int] = {}
    found: dict[Pair, int] = {}
    path: list[Pair] = []
    for root in edges:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        path.append(root)
        work = [(root, iter(edges[root]))]
        while work:
            pair, rest = work[-1]
            for target, _ in rest:
                if target not in index:
                    index[target] = low[target] = len(index)
                    path.append(target)
                    work.append((target, iter(edges[target])))
                    break
                if target not in found:
                    low[pair] = min(low[pair], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[pair])
                if low[pair] == index[pair]:
                    while True:
                        member = path.pop()
                        found[member] = index[pair]
                        if member == pair:
                            break
    return found


# Formulas with path quantifiers ---------------------------------------------------------------------------------------


class Fixpoints:
    """The nodes at which a formula with path quantifiers is true of every state."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.count = graph, len(graph.nodes)

    def check(self, starts: Sequence[int]) -> None:
        """Reject where the claim is not shown at a set of initial states."""
        sure = self.true(self.graph.normal.formula)
        for number in starts:
            if number not in sure:
                node = self.graph.nodes[number]
                where = self.graph.system.described(node.region)
                raise Rejected(f"the sets do not show the claim at {where}", node.name, 2)

    def true(self, f: Formula) -> set[int]:
        everything = set(range(self.count))
        if f in (TRUE, FALSE):
            return everything if f == TRUE else set()
        if f.op in ("atom", "no atom"):
            wanted = f.op == "atom"
            return {
                n
                for n in everything
                if all(c.truths[f.atom] is wanted for c in self.graph.truths(n, frozenset([f.atom])))
            }
        parts = [self.true(part) for part in f.parts]
        if f.op == "and":
            return set.intersection(*parts)
        if f.op == "or":
            return set.union(*parts)
        found = self.endless(f, parts[0], parts[1]) if f.upper is None else None
        for count in range(f.lower if f.upper is None else f.upper + 1):
            found = self.once(f, parts[0], parts[1], found, f.upper is None or f.upper - count < f.lower)
        assert found is not None
        return found

    def once(self, f: Formula, a: set[int], b: set[int], later: set[int] | None, waits: bool) -> set[int]:
        """One position earlier: `waits` where the window has not begun; `later` is None after its end."""
        strong = f.op == "U"
        if later is None:
            return b
        after = self.before(f.quantifier == "A", strong, later)
        if waits:
            return a & after if strong else a | after
        return b | (a & after) if strong else b & (a | after)

    def endless(self, f: Formula, a: set[int], b: set[int]) -> set[int]:
        """The least fixpoint of an until, the greatest of its dual, with a window from now on."""
        found = set[int]() if f.op == "U" else set(range(self.count))
        while True:
            more = self.once(f, a, b, found, False)
            if more == found:
                return found
            found = more

    def before(self, universal: bool, strong: bool, wanted: set[int]) -> set[int]:
        """Nodes from which every step, or one that can be chosen, leads into wanted nodes."""
        return {n for n in range(self.count) if self.leads(self.graph.steps(n, frozenset()), universal, strong, wanted)}

    def leads(self, steps: Sequence[Step], universal: bool, strong: bool, wanted: set[int]) -> bool:
        good = [
            not strong if step.targets is None else bool(step.targets) and all(t in wanted for t in step.targets)
            for step in steps
        ]
        return all(good) if universal else chosen([(step.forks, fine) for step, fine in zip(steps, good, strict=True)])


def chosen(runs: Sequence[tuple[tuple[Fork, ...], bool]], depth: int = 0) -> bool:
    """Whether good runs can be chosen: one answer where there is a choice, all where states differ."""
    if not runs:
        return True  # no state goes this way
    if len(runs[0][0]) == depth:
        return runs[0][1]
    fork = runs[0][0][depth]
    parts = [[run for run in runs if run[0][depth].taken == taken] for taken in range(fork.count)]
    if fork.kind == "choice":
        return any(part and chosen(part, depth + 1) for part in parts)
    return all(chosen(part, depth + 1) for part in parts)
