"""From positions of the graph back to the system: paths and lassos, recomputed in exact arithmetic."""

from __future__ import annotations

import numpy as np

from vernal.engines.explicit.enumeration import Enumeration
from vernal.engines.explicit.graph import Graph
from vernal.evidence import confirm
from vernal.evidence.candidates import lasso_of, path_of
from vernal.evidence.knowledge import Candidate
from vernal.evidence.trace import Trace
from vernal.logic.formula import Formula
from vernal.model.expr import Expr
from vernal.sets.finite.graph_product import GraphPath
from vernal.sets.finite.points import UNDECIDED, RowBatch


class Witnesses:
    """Makes traces of positions: the decisions between two states are found again."""

    def __init__(self, enumeration: Enumeration, graph: Graph) -> None:
        self.enumeration, self.graph = enumeration, graph
        self.system = enumeration.system

    def trace(self, lasso: GraphPath) -> Trace | None:
        """The path through these positions; None where replay does not accept it."""
        positions = list(lasso.positions)
        tick = self.enumeration.budget.check
        if lasso.loop is None:
            return path_of(self.system, self._candidate(positions), tick)
        closed = self._candidate([*positions, positions[lasso.loop]])
        return lasso_of(self.system, closed, lasso.loop, tick)

    def showing(self, lasso: GraphPath, path: Formula, *, truth: bool) -> Trace | None:
        """The path as far as it takes to give the formula this truth; None where replay does not confirm it."""
        trace = self.trace(lasso)
        if trace is not None and lasso.loop is None and confirm.truth(trace, path) is None:
            lasso = self._endless(lasso.positions)  # a prefix may leave open what every way to go on decides
            trace = self.trace(lasso)
        if trace is None or confirm.truth(trace, path) is not truth:
            return None
        last = confirm.decided_at(trace, path)
        return trace if last == len(trace) - 1 else self.trace(GraphPath(lasso.positions[: last + 1]))

    def _endless(self, positions: tuple[int, ...]) -> GraphPath:
        """The path with some way to go on, until it ends or returns to where it was."""
        way = list(positions)
        met = {position: place for place, position in enumerate(way)}
        while True:
            after, _ = self.graph.successors.of(np.array(way[-1:]))
            if not len(after):
                return GraphPath(tuple(way))
            if int(after[0]) in met:
                return GraphPath(tuple(way), met[int(after[0])])
            met[int(after[0])] = len(way)
            way.append(int(after[0]))

    def _candidate(self, positions: list[int]) -> Candidate:
        state = self.graph.state[positions]
        values = self.enumeration.columns.valuation(self.graph.rows[state[0]].tolist())
        decisions = [self._moving(here, int(after)) for here, after in zip(positions, state[1:], strict=False)]
        last = {node: number for node, number in self._open(positions[-1]).items() if number != UNDECIDED}
        defaults: dict[Expr, int] = dict.fromkeys(self.system.step.names, 0)
        first, memory = self.system.pack(values)
        return Candidate(first, memory, [defaults | made for made in (*decisions, last)], len(positions) - 1)

    def _open(self, position: int) -> dict[Expr, int]:
        return {node: int(numbers[position]) for node, numbers in self.graph.open.items()}

    def _moving(self, position: int, after: int) -> dict[Expr, int]:
        """Decisions that lead from a position to a state."""
        taken = {node: np.array([number]) for node, number in self._open(position).items()}
        here = RowBatch(self.graph.rows[[self.graph.state[position]]], taken)
        for decided, _ in self.enumeration.decided(here):
            rows = self.enumeration.points.codes(self.enumeration.following, self.enumeration.step.inputs, decided)
            found = np.flatnonzero((rows == self.graph.rows[after]).all(axis=1))
            if len(found):
                return {node: max(int(numbers[found[0]]), 0) for node, numbers in decided.taken.items()}
        raise AssertionError("a transition of the graph is one of the system")
