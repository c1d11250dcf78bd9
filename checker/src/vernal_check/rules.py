"""The obligations: on the graph of sets the claim is true (2, 4 and 5).

A path formula is decided by the product with what its negation asks (docs/certificates.md): no path of sets keeps the
negation. A formula with path quantifiers is decided by fixpoints: at which sets it is true of every state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vernal_check.clock import tick
from vernal_check.errors import Endless, Rejected, Unreadable, Unshown
from vernal_check.evaluation import Fork
from vernal_check.formulas import FALSE, TRUE, Demand, Formula, demands, untils
from vernal_check.graph import Graph, SetNode, Step, Walk, is_point, met, samples
from vernal_check.system import Place, placed

MAX_CUTS, MAX_DEPTH = 100_000, 24  # parts of such a set, and how often each is halved
MAX_PAIRS = 5_000_000


def walk(graph: Graph, number: int) -> None:
    """Follow a set in floats, and where these do not show the claim in rational numbers."""
    node = graph.nodes[number]
    if node.is_box:
        try:
            return follow(graph, node, [placed(node.region, directed=True)])
        except Rejected as problem:
            if problem.obligation == 6:
                raise
    follow(graph, node, [place for place, _ in graph.places(number)])


def follow(graph: Graph, node: SetNode, places: Sequence[Place]) -> None:
    """Follow sets; where their bounds are too loose, their halves, and so on."""
    left = [(place, 0) for place in reversed(places)]
    for _ in range(MAX_CUTS):
        if not left:
            return
        place, depth = left.pop()
        try:
            shown(Walk(graph, node.name, place))
        except Rejected as problem:
            hopeless = problem.obligation == 6 or (place.directed and isinstance(problem, Endless))
            halves = place.halves() if depth < MAX_DEPTH and not hopeless else None
            if halves is None:
                raise judged(graph, node, place, problem) from None
            left += [(half, depth + 1) for half in reversed(halves)]
    raise Unshown(f"more than {MAX_CUTS:,} parts of a set that is followed", node.name)


def shown(walk: Walk) -> None:
    """A claim from a set that is followed."""
    if walk.normal.is_branching:
        Branching(walk).check()
    else:
        Product(walk).check([0])


def judged(graph: Graph, node: SetNode, place: Place, problem: Rejected) -> Rejected:
    """What is said of a set of which the claim is not shown: it is rejected if a state of it contradicts it."""
    for point in samples(met(place.region, node.region)) if node.is_box else ():
        if not node.induction and not graph.system.is_initial(point):
            continue  # the set is larger than it has to be
        try:
            shown(Walk(graph, node.name, placed(point)))
        except Unshown:
            continue
        except Rejected as contradiction:
            return contradiction
    return problem if is_point(place.region) else Unshown(problem.reason, problem.node, problem.obligation)


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
            for target, marked in self.judged(pair):
                self.edges[pair].append((target, marked))
                if target not in self.edges:
                    self.edges[target] = []
                    stack.append(target)
            if len(self.edges) > MAX_PAIRS:
                raise Unshown(f"more than {MAX_PAIRS:,} pairs of sets and formulas")
        self.rank()

    def judged(self, pair: Pair) -> list[tuple[Pair, bool]]:
        """What follows; where an obligation fails at a set, a state is looked for at which it does."""
        try:
            return list(self.following(pair))
        except Rejected as problem:
            number, state, waiting = pair
            if isinstance(problem, Unshown) or self.graph.is_state(number):
                raise
            if isinstance(self.graph, Graph):
                for graph, own in self.graph.with_states(number):
                    try:
                        list(Product(graph).following((own, state, waiting)))
                    except Unshown:
                        continue
                    except Rejected as contradiction:
                        raise Rejected(contradiction.reason, problem.node, contradiction.obligation) from None
            raise Unshown(problem.reason, problem.node, problem.obligation) from None

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
                    problem = self.failed(pair[0], "may be true of a path that comes back here again and again", 4)
                    around = {other[0] for other in self.edges if component[other] == component[pair]}
                    raise problem if all(map(self.graph.is_state, around)) else Unshown(problem.reason, problem.node, 4)


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
                kind = Rejected if all(map(self.graph.is_state, range(self.count))) else Unshown
                raise kind(
                    f"the sets do not show the claim at {self.graph.system.described(node.region)}", node.name, 2
                )

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


class Branching:
    """Whether a formula with path quantifiers, all of whose bounds end, is true of every state of a set."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.known: dict[tuple[Formula, int, int], bool] = {}

    def check(self) -> None:
        if not self.true(self.walk.normal.formula, 0):
            name, where = self.walk.described(0)
            raise Unshown(f"following the sets does not show the claim at {where}", name, 2)

    def true(self, f: Formula, number: int, gone: int = 0) -> bool:
        """At a set, where so many positions of the formula's window are gone."""
        key = f, number, gone
        if key not in self.known:
            tick()
            self.known[key] = self.found(f, number, gone)
        return self.known[key]

    def found(self, f: Formula, number: int, gone: int) -> bool:
        if f in (TRUE, FALSE):
            return f == TRUE
        if f.op in ("atom", "no atom"):
            cases = self.walk.truths(number, frozenset([f.atom]))
            return all(case.truths[f.atom] is (f.op == "atom") for case in cases)
        if f.op in ("and", "or"):
            return (all if f.op == "and" else any)(self.true(part, number) for part in f.parts)
        if f.upper is None:
            raise Unreadable("a formula with path quantifiers that has no last position is not followed")
        left, right = f.parts
        if gone == f.upper:
            return self.true(right, number)
        waits = gone < f.lower
        if f.op == "U":
            return (not waits and self.true(right, number)) or (
                self.true(left, number) and self.goes_on(f, number, gone)
            )
        return (waits or self.true(right, number)) and (self.true(left, number) or self.goes_on(f, number, gone))

    def goes_on(self, f: Formula, number: int, gone: int) -> bool:
        """Whether every step, or one that can be chosen, leads to where the formula is true, one position later."""
        steps = self.walk.steps(number, frozenset())
        good = [
            f.op != "U"
            if step.targets is None
            else all(self.true(f, t, gone + 1) for t in step.targets)
            if step.targets
            else False
            for step in steps
        ]
        if f.quantifier == "A":
            return all(good)
        return chosen([(step.forks, fine) for step, fine in zip(steps, good, strict=True)])


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
