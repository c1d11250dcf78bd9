"""LTL on a finite graph: the product with an automaton, and the paths on which the automaton accepts.

An automaton reads the positions of a path one by one. A path is accepted where it ends with a position that may be the
last, where a state of the automaton is reached that accepts everything, or where it goes on for ever and takes edges of
every mark again and again: then it stays in a strongly connected component of the product with all marks inside, and
conversely a path into such a component can be closed to a lasso.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vernal.interpret.numbers.rounding import Mask
from vernal.logic.automaton import Automaton, Edge
from vernal.model.tick import Tick
from vernal.sets.finite.columns import NotFinite
from vernal.sets.finite.fixpoints import atom
from vernal.sets.finite.labelled_graph import LabelledGraph, Links, links
from vernal.sets.finite.table import Numbers


@dataclass(frozen=True)
class GraphPath:
    """Positions of the graph, one after the other; the last is followed by position `loop` of them, if there is one."""

    positions: tuple[int, ...]
    loop: int | None = None


class GraphProduct:
    """The pairs of a position and a state of the automaton about to read it, reachable from some positions.

    A pair is one number: the state times the number of positions, plus the position. With `sure`, atoms that are
    undefined satisfy no literal, otherwise each.
    """

    def __init__(self, graph: LabelledGraph, automaton: Automaton, tick: Tick, *, sure: bool, most_bytes: int) -> None:
        self.graph, self.automaton, self.tick = graph, automaton, tick
        self.left = most_bytes - automaton.states * graph.size
        self._check(0)
        self.seen: Mask = np.zeros(automaton.states * graph.size, bool)
        self.levels: list[tuple[Numbers, Numbers]] = []  # pairs first met by so many transitions, and one before each
        self.edges: list[list[Edge]] = [[] for _ in range(automaton.states)]
        for edge in automaton.edges:
            self.edges[edge.source].append(edge)
        self.universal = [any(map(self._accepts_all, edges)) for edges in self.edges]
        self.readable = {id(edge): self._readable(edge, sure) for edge in automaton.edges}

    def _check(self, more: int) -> None:
        """That so many more transitions of the product fit into memory."""
        self.tick()
        self.left -= 3 * 8 * more
        if self.left < 0:
            states = self.automaton.states
            raise NotFinite(f"the product with an automaton of {states:,} states does not fit into memory")

    def _accepts_all(self, edge: Edge) -> bool:
        """Whether a state with this edge accepts every path."""
        marks, ending = self.automaton.marks, edge.may_end or not self.graph.ends.any()
        return edge.source == edge.target and not edge.literals and len(edge.marks) == marks and ending

    def _readable(self, edge: Edge, sure: bool) -> Mask:
        """The positions that an edge may read."""
        graph, found = self.graph, np.ones(self.graph.size, bool)
        for expr, positive in edge.literals:
            fact = atom(expr, graph.sure, graph.maybe, graph.size)
            fact = fact if positive else ~fact
            found &= fact.sure if sure else fact.maybe
        return found

    # Search -----------------------------------------------------------------------------------------------------------

    def accepted(self, starts: Numbers) -> GraphPath | None:
        """A path from one of these positions that the automaton accepts, short; None where there is none."""
        first = self.automaton.initial * self.graph.size + starts
        self.seen[first] = True
        self.levels.append((first, np.full(len(first), -1)))
        made: list[tuple[Numbers, Numbers, Numbers]] = []  # for each batch: pairs, pairs that follow, automaton's edges
        while len(self.levels[-1][0]):
            self.tick()
            fresh: list[tuple[Numbers, Numbers]] = []
            for number, edge, pairs in self._readings(self.levels[-1][0]):
                final = self._final(edge, pairs)
                if len(final):
                    return GraphPath(self._way(int(final[0])))
                self._check(int(self.graph.successors.counts[pairs % self.graph.size].sum()))
                after, which = self.graph.successors.of(pairs % self.graph.size)
                following = edge.target * self.graph.size + after
                made.append((pairs[which], following, np.full(len(after), number)))
                fresh.append((following, pairs[which]))
            self.levels.append(self._new(fresh))
        return self._infinite(made) if made else None

    def _readings(self, pairs: Numbers) -> Iterator[tuple[int, Edge, Numbers]]:
        """The automaton's edges, each with those pairs whose position it may read."""
        states = pairs // self.graph.size
        numbers = {id(edge): number for number, edge in enumerate(self.automaton.edges)}
        for state in np.unique(states):
            here = pairs[states == state]
            for edge in self.edges[int(state)]:
                yield numbers[id(edge)], edge, here[self.readable[id(edge)][here % self.graph.size]]

    def _final(self, edge: Edge, pairs: Numbers) -> Numbers:
        """The pairs at which a path is accepted as soon as the edge has read the position."""
        ends = self.graph.ends[pairs % self.graph.size]
        if edge.may_end:
            return pairs if self.universal[edge.target] else pairs[ends]
        return pairs[~ends] if self.universal[edge.target] else pairs[:0]

    def _new(self, fresh: Sequence[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
        """The pairs not seen before, each once, with one from which it is reached."""
        after = np.concatenate([np.zeros(0, np.int64), *(after for after, _ in fresh)])
        before = np.concatenate([np.zeros(0, np.int64), *(before for _, before in fresh)])
        unseen = ~self.seen[after]
        pairs, first = np.unique(after[unseen], return_index=True)
        self.seen[pairs] = True
        return pairs, before[unseen][first]

    def _way(self, pair: int) -> tuple[int, ...]:
        """The positions on a shortest way to a pair."""
        way: list[int] = []
        found = False
        for pairs, before in reversed(self.levels):
            place = int(np.searchsorted(pairs, pair))
            found = place < len(pairs) and pairs[place] == pair
            if found or way:
                assert found, "every pair but the first has one before it"
                way.append(pair % self.graph.size)
                pair = int(before[place])
        return tuple(reversed(way))

    # Components -------------------------------------------------------------------------------------------------------

    def _infinite(self, made: Sequence[tuple[Numbers, Numbers, Numbers]]) -> GraphPath | None:
        """A lasso that takes edges of every mark in its loop."""
        from scipy.sparse import csr_array  # late: few questions come this far
        from scipy.sparse.csgraph import connected_components

        if not self.graph.complete:  # only bounded formulas are asked then, and no prefix satisfies this one
            return None
        pairs = np.flatnonzero(self.seen)
        place = np.zeros(len(self.seen), np.int64)
        place[pairs] = np.arange(len(pairs))
        sources, targets, taken = (np.concatenate(column) for column in zip(*made, strict=True))
        sources, targets = place[sources], place[targets]
        self.tick()
        matrix = csr_array((np.ones(len(sources), bool), (sources, targets)), shape=(len(pairs), len(pairs)))
        count, component = connected_components(matrix, connection="strong")
        self.tick()
        inside = component[sources] == component[targets]
        good = self._with_all_marks(component[sources[inside]], taken[inside], count)
        if not good.any():
            return None
        entry = self._nearest(good[component[place]] & self.seen)
        loops = inside & (component[sources] == component[place[entry]])
        ring = Ring(sources[loops], targets[loops], taken[loops], self.automaton, len(pairs))
        way = self._way(entry)
        loop = [int(pairs[node]) % self.graph.size for node in ring.around(int(place[entry]))]
        return shortest(way[:-1], loop)

    def _with_all_marks(self, component: Numbers, taken: Numbers, count: int) -> Mask:
        """The components with a loop in which every mark occurs."""
        good = np.zeros(count, bool)
        good[component] = True
        for mark in range(self.automaton.marks):
            marked = np.array([mark in edge.marks for edge in self.automaton.edges])
            there = np.zeros(count, bool)
            there[component[marked[taken]]] = True
            good &= there
        return good

    def _nearest(self, wanted: Mask) -> int:
        for pairs, _ in self.levels:
            here = pairs[wanted[pairs]]
            if len(here):
                return int(here[0])
        raise AssertionError("a component is reached")


def shortest(way: Sequence[int], loop: Sequence[int]) -> GraphPath:
    """The shortest lasso of the same infinite path: nothing in front that the loop repeats, and no loop run twice."""
    size = len(loop)
    period = next(n for n in range(1, size + 1) if size % n == 0 and list(loop[n:]) == list(loop[: size - n]))
    positions = [*way, *loop[:period]]
    first = len(way)
    while first and positions[first - 1] == positions[-1]:
        positions.pop()
        first -= 1
    return GraphPath(tuple(positions), first)


class Ring:
    """A strongly connected component of a product, in which a closed walk with every mark is looked for."""

    def __init__(self, sources: Numbers, targets: Numbers, taken: Numbers, automaton: Automaton, count: int) -> None:
        order = np.argsort(sources, kind="stable")
        self.links: Links = links(sources[order], targets[order], count)
        self.taken = taken[order]
        self.marks = [edge.marks for edge in automaton.edges]
        self.missing = set(range(automaton.marks))
        self.count = count

    def around(self, entry: int) -> list[int]:
        """Nodes from the entry on, such that the entry follows the last and every mark is on the way."""
        walk = [entry]
        while self.missing:
            self._go(walk, self._bears_missing())
        if len(walk) == 1 or walk[-1] != entry:
            self._go(walk, self.links.others == entry)
        assert walk.pop() == entry
        return walk

    def _bears_missing(self) -> Mask:
        """The links that bear a mark which is missing."""
        bears = np.array([bool(marks & self.missing) for marks in self.marks])
        return np.asarray(bears[self.taken], bool)

    def _go(self, walk: list[int], wanted: Mask) -> None:
        """Walk to the nearest wanted link, and over it."""
        before = {walk[-1]: (-1, -1)}
        fresh = np.array([walk[-1]])
        while True:
            after, which = self.links.of(fresh)
            numbers = self._numbers(fresh)
            hit = np.flatnonzero(wanted[numbers])
            if len(hit):
                self._append(walk, before, int(fresh[which[hit[0]]]), int(numbers[hit[0]]))
                return
            nodes, first = np.unique(after, return_index=True)
            new = [(int(n), int(i)) for n, i in zip(nodes, first, strict=True) if int(n) not in before]
            before.update({n: (int(fresh[which[i]]), int(numbers[i])) for n, i in new})
            fresh = np.array([n for n, _ in new])

    def _numbers(self, nodes: Numbers) -> Numbers:
        """The numbers of the links of some nodes, in the order of `Links.of`."""
        return np.concatenate([np.arange(self.links.first[n], self.links.first[n + 1]) for n in nodes])

    def _append(self, walk: list[int], before: dict[int, tuple[int, int]], node: int, last: int) -> None:
        crossed = [last]
        while before[node][0] >= 0:
            node, link = before[node]
            crossed.append(link)
        for link in reversed(crossed):
            walk.append(int(self.links.others[link]))
            self.missing -= self.marks[int(self.taken[link])]
