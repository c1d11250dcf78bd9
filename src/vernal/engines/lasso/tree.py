"""Lassos in the tree of exact sets: along a sequence of decisions the state is affine in initial values and draws.

So "state and memory at t are those at t'" is a system of linear equations on a polyhedron, solved in rationals; a point
of it is a path that closes exactly. That two *sets* meet is no lasso (003, Algorithm 3: x' = x + 0.5 from [0, 1]).
Every atom is decided at every position, so that the formula has one truth value on all lassos of a sequence.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from vernal.evidence import confirm
from vernal.evidence.replay import closed
from vernal.evidence.trace import Trace
from vernal.interpret.geometry.affine_form import ZERO, AffineForm, Relation, Row
from vernal.interpret.symbolic.cases import SymbolicScalar
from vernal.logic.formula import Formula
from vernal.logic.normal import atoms
from vernal.logic.progress import FALSE, TRUE, Obligation, Obligations
from vernal.logic.semantics import evaluate
from vernal.model.expr import Expr
from vernal.model.system import System
from vernal.model.tick import Tick
from vernal.sets.exact.loop import Loop
from vernal.sets.exact.space import ExactSpace, ExactStates


@dataclass(frozen=True, eq=False)
class Link:
    """States at one position with the truth of every atom there, what they owe, and the position before."""

    states: ExactStates
    truths: Mapping[Expr, bool]
    owed: Obligation
    before: Link | None

    def chain(self) -> list[Link]:
        """The positions up to this one, the first one first."""
        links = [self]
        while links[-1].before is not None:
            links.append(links[-1].before)
        return links[::-1]


class LassoTree:
    """The tree of a system, searched breadth first for a path on which a formula is false."""

    def __init__(self, system: System, goal: Formula, tick: Tick, *, depth: int, most: int) -> None:
        """`goal` is LTL; `depth` steps and `most` sets are looked at."""
        self.goal, self.depth, self.most = goal, depth, most
        self.atoms = {atom: system.step.resolve(atom) for atom in atoms(goal)}
        loop = Loop(system, (*self.atoms.values(), *system.step.inputs), tick)  # a lasso is of all variables
        self.space = ExactSpace(loop, self.atoms, most, lambda pieces: None)
        self.obligations = Obligations()
        self.start = self.obligations.of(goal, total=loop.is_total)
        self.looked_at = 0
        self.reached = 0  # the deepest position that was looked at
        self.complete = False  # whether the last search has followed every set as far as the depth

    def search(self, visits: int) -> Trace | None:
        """A lasso, or a prefix, on which the goal is false; equal sets are followed so many times at most."""
        waiting: deque[tuple[ExactStates, Obligation, Link | None]] = deque()
        waiting += [(start, self.start, None) for _, start in self.space.enter()]
        seen: Counter[object] = Counter()
        self.looked_at, self.complete = 0, True
        while waiting and self.looked_at < self.most:
            states, owed, before = waiting.popleft()
            self.reached = max(self.reached, states.t)
            for link in self.links(states, owed, before):
                self.looked_at += 1
                key = self.space.loop.key(link.states.piece), link.owed
                seen[key] += 1
                if seen[key] > visits:
                    self.complete = False
                    continue
                found = self._refuted(link)
                if found is not None:
                    return found
                if link.owed in (TRUE, FALSE) or states.t >= self.depth:
                    continue
                for arrived, after in self.moved(link):
                    lasso = self.closing(arrived, after, reversed(range(states.t + 1)))
                    if lasso is not None:
                        return lasso
                    waiting.append((arrived, self.obligations.step(after.owed), after))
        self.complete &= not waiting
        return None

    def links(self, states: ExactStates, owed: Obligation, before: Link | None) -> Iterator[Link]:
        """The states divided by the truth of every atom."""
        parts = [Link(states, {}, owed, before)]
        for atom in self.atoms:
            parts = [
                Link(part, {**link.truths, atom: truth}, self.obligations.assume(link.owed, atom, truth), before)
                for link in parts
                for truth, part in link.states.decide(atom, only_truth=False)
            ]
        return iter(parts)

    def _refuted(self, link: Link) -> Trace | None:
        """A prefix that is false already, or a path that ends and is false."""
        if link.owed == FALSE:
            return self._false(link.states.path())
        if link.owed == TRUE:
            return None
        for enabled, part in link.states.enabled():
            if not enabled and not self.obligations.end(link.owed):
                return self._false(part.path())
        return None

    def moved(self, link: Link) -> Iterator[tuple[ExactStates, Link]]:
        """Where a step takes the states, each with those of them that it takes there."""
        for enabled, part in link.states.enabled():
            if enabled:
                after = replace(link, states=part)
                for _, arrived in part.moves():
                    yield arrived, after

    # Closing ----------------------------------------------------------------------------------------------------------

    def closing(self, arrived: ExactStates, last: Link, loops: Iterable[int]) -> Trace | None:
        """A lasso that goes from the states that arrived back to one of these positions."""
        chain = last.chain()
        for loop in loops:
            self.space.loop.tick()
            rows = self._equal(arrived, chain[loop].states)
            if rows is None or not self._is_false(chain, loop):
                continue
            polyhedron = arrived.piece.polyhedron.meet(rows)
            if polyhedron is None:
                continue
            path = replace(arrived, piece=replace(arrived.piece, polyhedron=polyhedron)).path()
            lasso = None if path is None else self._false(closed(path, loop))
            if lasso is not None:
                return lasso
        return None

    def _equal(self, here: ExactStates, there: ExactStates) -> list[Row] | None:
        """What makes the states of two positions equal; None where nothing does."""
        rows: list[Row] = []
        for var in self.space.loop.followed:
            for new, old in zip(here.piece.known[var], there.piece.known[var], strict=True):
                difference = _difference(new, old)
                if difference is None:
                    return None
                extent = here.piece.polyhedron.measure(difference)
                if extent.low > ZERO or extent.high < ZERO:
                    return None
                if difference.coefficients:
                    rows.append(Row(difference, Relation.EQUAL))
        return rows

    def _is_false(self, chain: list[Link], loop: int) -> bool:
        """Whether the goal is false on every lasso of this sequence of decisions."""
        return evaluate(self.goal, lambda atom, t: chain[t].truths[atom], len(chain), loop=loop) is False

    def _false(self, trace: Trace | None) -> Trace | None:
        """The trace, if the goal is false on it."""
        return None if trace is None or confirm.truth(trace, self.goal) is not False else trace


def _difference(new: SymbolicScalar, old: SymbolicScalar) -> AffineForm | None:
    """The difference of two numbers; of labels and truth values nothing where they are equal, None where not."""
    if isinstance(new, AffineForm) and isinstance(old, AffineForm):
        return new - old
    return AffineForm(ZERO) if new == old else None
