"""Breadth-first enumeration of a system with finitely many reachable states, thousands of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from vernal.engines.explicit.graph import Graph
from vernal.engines.explicit.successors import Following
from vernal.interpret.discrete.initial_states import start_boxes
from vernal.interpret.discrete.solutions import MAX_BOXES
from vernal.interpret.numbers.rounding import Mask
from vernal.logic.question import Question
from vernal.model.expr import Expr
from vernal.model.graph import decisions, order
from vernal.run.budget import Budget
from vernal.sets.finite.choices import Decider, refuse_intervals
from vernal.sets.finite.columns import Columns, NotFinite, slices
from vernal.sets.finite.labelled_graph import links, none
from vernal.sets.finite.points import UNDECIDED, Points, RowBatch
from vernal.sets.finite.table import Codes, Numbers, RowTable

STATES_PER_BATCH = 1 << 14  # states whose successors are computed together
MEMORY = 2.0  # GiB for everything where no limit is given
GRAPH_MEMORY_SHARE = 0.4  # of the memory, for the graph as it grows: what is made of it takes the rest
MAX_STATES = 50_000_000  # whatever the memory

Goal = Callable[[Mapping[Expr, Mask], int], Mask]  # positions at which an enumeration may stop, from true atoms


class TooManyStates(NotFinite):
    """More states than the cap, or than fit into memory; all within `depth` transitions are known."""

    def __init__(self, reason: str, depth: int) -> None:
        super().__init__(reason)
        self.depth = depth


class Enumeration:
    """From the initial states to everything reachable within a number of transitions."""

    def __init__(self, question: Question, budget: Budget, most: int | None = None) -> None:
        self.system, self.budget = question.system, budget
        self.step = self.system.step
        self.most = MAX_STATES if most is None else most
        self.bytes = int((budget.memory or MEMORY) * GRAPH_MEMORY_SHARE * 2**30)
        self.following = (*self.step.next_state, *self.step.next_memory)
        self.atoms = question.atoms
        refuse_intervals([*self.following, self.step.enabled, *self.atoms.values()])
        self.columns = Columns(self.step.inputs)
        self.points = Points(self.columns, budget.check)
        self.opening = Decider(self.points, self._asked())
        self.moving = Decider(self.points, self.following)
        self.after = Following(self.points, self.following, self.step.inputs)
        self.table = RowTable(self.columns.count)
        self.parts = GraphParts()

    def _asked(self) -> list[Expr]:
        """Conditions that actions left open by the state decide, with those actions."""
        asked = [condition for condition in (*self.atoms.values(), self.step.enabled) if decisions([condition])]
        inside = set(order(asked))
        return [*(action for action in self.step.actions.values() if action in inside), *asked]

    # The loop ---------------------------------------------------------------------------------------------------------

    def run(self, depth: int | None = None, goal: Goal | None = None) -> Graph:
        """The graph within so many transitions; of all states, where no number is given or a goal is met before."""
        self.table.enter(self._starts())
        level, levels, met = 0, [0, len(self.table)], False
        while levels[-2] < levels[-1] and not met:
            expands = depth is None or level < depth
            for part in slices(levels[-1] - levels[-2], STATES_PER_BATCH):
                self._check(level)
                met |= self._visit(np.arange(levels[-2] + part.start, levels[-2] + part.stop), expands, goal)
            levels.append(len(self.table))
            level += 1
            self.budget.progress(f"explicit: {len(self.table):,} states within {level:,} steps", None)
        return self._graph(levels, complete=not met and self.parts.expanded, goal=met)

    def _starts(self) -> Codes:
        boxes = start_boxes(self.system.initial, self.budget.check, min(MAX_BOXES, self.most))
        if boxes is not None:
            return self.columns.starts_in(boxes, self.system.initial, self.most)
        rows = self.columns.starts(self.system.initial, self.most)
        where = self.system.init.where
        kept = [np.ones(len(rows), bool)]
        for part in slices(len(rows) if where else 0, STATES_PER_BATCH):
            truths = self.points.truths(where, RowBatch(rows[part], {}))
            kept[0][part] = np.logical_and.reduce(truths)
        return rows[kept[0]]

    def _check(self, level: int) -> None:
        self.budget.check()
        if len(self.table) > self.most:
            raise TooManyStates(f"more than {self.most:,} states", level - 1)
        if self.table.nbytes + self.parts.nbytes > self.bytes:
            gib = self.bytes / GRAPH_MEMORY_SHARE / 2**30
            raise TooManyStates(f"{len(self.table):,} states and more do not fit into {gib:g} GiB", level - 1)

    def _visit(self, states: Numbers, expands: bool, goal: Goal | None) -> bool:
        """Positions, atoms and, where wanted, successors of some states; whether a goal is among the positions."""
        positions, which = self.positions(RowBatch(self.table.rows[states], {}))
        conditions = [*self.atoms.values()]
        facts = self.points.kleene(conditions, positions) if conditions else []
        first = self.parts.positions
        self.parts.add_positions(states[which], positions.taken, facts)
        if expands:
            (enabled,) = self.points.truths([self.step.enabled], positions)
            going = np.flatnonzero(enabled)
            sources, targets = self._successors(positions.take(going))
            self.parts.add_edges(first + going[sources], targets)
        self.parts.expanded &= expands
        return goal is not None and self._is_met(goal, facts, len(positions))

    def _is_met(self, goal: Goal, facts: Sequence[tuple[Mask, Mask]], count: int) -> bool:
        """Whether a position is a goal, in the light of the atoms that are defined everywhere."""
        known = {atom: sure for atom, (sure, maybe) in zip(self.atoms, facts, strict=True) if sure is maybe}
        return len(known) == len(self.atoms) and bool(goal(known, count).any())

    def positions(self, batch: RowBatch) -> tuple[RowBatch, Numbers]:
        """Each state with every way to decide what is asked about it, and which state it is."""
        if not self.opening.plan:
            return batch, np.arange(len(batch))
        found = []
        for decided, origin in self.opening.combinations(batch):
            asked = self.opening.really_taken(decided)
            codes = [np.where(asked[node], decided.taken[node], UNDECIDED) for node in self.opening.nodes]
            found.append(np.stack([origin, *codes], axis=1))
        distinct = np.unique(np.concatenate(found), axis=0)
        which = distinct[:, 0]
        taken: dict[Expr, Numbers] = {node: distinct[:, 1 + number] for number, node in enumerate(self.opening.nodes)}
        return RowBatch(batch.rows[which], taken), which

    def _successors(self, batch: RowBatch) -> tuple[Numbers, Numbers]:
        """Pairs of a row and the number of a state that follows it, each once, in the order of the rows."""
        keys = [np.zeros(0, np.int64)]
        for decided, origin in self.decided(batch):
            keys.append(np.unique((origin << 32) | self.table.enter(self.after.rows(decided))))
        pairs = np.unique(np.concatenate(keys)) if len(keys) > 2 else keys[-1]
        return pairs >> 32, pairs & 0xFFFFFFFF

    def decided(self, batch: RowBatch) -> Iterator[tuple[RowBatch, Numbers]]:
        """The positions of a batch with every way to decide what follows."""
        return self.moving.combinations(batch) if len(batch) else iter(())

    # The graph --------------------------------------------------------------------------------------------------------

    def _graph(self, levels: Sequence[int], complete: bool, goal: bool) -> Graph:
        parts, count = self.parts, len(self.table)
        state = _joined(parts.state)
        first = np.searchsorted(state, np.arange(count + 1))
        sources, targets = _joined(parts.sources), _joined(parts.targets)
        if self.opening.plan:  # a transition leads to every position of a state
            many = first[targets + 1] - first[targets]
            which = np.repeat(np.arange(len(targets)), many)
            offsets = np.arange(len(which)) - np.repeat(np.cumsum(many) - many, many)
            sources, targets = sources[which], first[targets[which]] + offsets
        sizes = np.diff(levels)
        return Graph(
            rows=self.table.rows,
            state=state,
            open={node: _joined(parts.open[node]) for node in self.opening.nodes if node in parts.open},
            first=first,
            successors=links(sources, targets, len(state)),
            sure={atom: _joined_truths(parts.sure[n]) for n, atom in enumerate(self.atoms) if n in parts.sure},
            maybe={atom: _joined_truths(parts.maybe[n]) for n, atom in enumerate(self.atoms) if n in parts.maybe},
            initial=np.arange(first[levels[1]]),
            depth=np.repeat(np.arange(len(sizes)), sizes),
            complete=complete,
            goal=goal,
            together=first[:-1] if self.opening.plan and not decisions(self.atoms.values()) else none(),
            within=None if parts.expanded and not sizes[-1] else int(np.flatnonzero(sizes).max(initial=0)),
        )


def _joined(parts: Sequence[Numbers]) -> Numbers:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _joined_truths(parts: Sequence[Mask]) -> Mask:
    return np.concatenate(parts)


class GraphParts:
    """What is known of the graph so far, batch by batch; positions are numbered in the order of their states."""

    def __init__(self) -> None:
        self.state: list[Numbers] = []
        self.open: dict[Expr, list[Numbers]] = {}
        self.sure: dict[int, list[Mask]] = {}  # by the number of the atom
        self.maybe: dict[int, list[Mask]] = {}
        self.sources: list[Numbers] = []
        self.targets: list[Numbers] = []
        self.positions = 0
        self.nbytes = 0
        self.expanded = True  # whether the successors of all states met are known

    def add_positions(self, states: Numbers, taken: Mapping[Expr, Numbers], facts: Sequence[tuple[Mask, Mask]]) -> None:
        self.state.append(states)
        self.positions += len(states)
        for node, numbers in taken.items():
            self.open.setdefault(node, []).append(numbers)
        for number, (sure, maybe) in enumerate(facts):
            self.sure.setdefault(number, []).append(sure)
            self.maybe.setdefault(number, []).append(maybe)
        self.nbytes += len(states) * (8 + 8 * len(taken) + 2 * len(facts))

    def add_edges(self, sources: Numbers, targets: Numbers) -> None:
        self.sources.append(sources)
        self.targets.append(targets)
        self.nbytes += sources.nbytes + targets.nbytes
