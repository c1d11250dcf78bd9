"""The exact core of engine `paths`: always right, and complete wherever everything is piecewise linear.

Claims of all paths are searched path by path: a piece of states, all exactly affine in the initial values and the
disturbances drawn, with what the formula still asks of it. Every decision that is open forks it, and it is closed when
nothing more is asked or the claim has failed; equal pieces are followed once. Other CTL claims are evaluated state by
state (exact_states). What this cannot do is hurry; the batched front of the engine does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from vernal.engines.base import UNBOUNDED
from vernal.engines.candidates import path_of
from vernal.engines.knowledge import Counterexample, FailingState, Known, Open, Proof, Subject
from vernal.engines.paths.exact_loop import Loop, Pace, candidate
from vernal.engines.paths.exact_states import States, TooMany
from vernal.errors import UnsupportedFormula
from vernal.evidence import confirm
from vernal.evidence.result import Assurance
from vernal.evidence.trace import Trace
from vernal.interpret.geometry.polyhedra import Polyhedron, TooManyRows
from vernal.interpret.symbolic.execute import NotPiecewiseLinear, Piece, Taken
from vernal.logic.formula import Formula
from vernal.logic.progress import FALSE, TRUE, Obligation, Obligations
from vernal.logic.question import Question
from vernal.model.expr import Expr
from vernal.reduce.base import Direction
from vernal.run.budget import Budget

MAX_PIECES = 1_000_000  # pieces of one search; beyond, something else has to be tried
Ask = Callable[[Piece], Known | None]  # what is wrong with an initial piece, if anything is


def decide(question: Question, budget: Budget, *, engine: str = "paths", limit: int = MAX_PIECES) -> Known:
    """Decide a bounded formula exactly; open only where something is not piecewise linear, or by a limit."""
    if question.claim.horizon is None:
        return Open(engine=engine, reason=UNBOUNDED)
    search = Search(question, budget, engine, limit)
    try:
        return search.run()
    except NotPiecewiseLinear as error:
        return search.open(f"not piecewise linear: {error}")
    except TooManyRows:
        reason = "a disturbance under a quantifier takes too many inequalities to eliminate; use choose, or fewer draws"
        return search.open(reason)
    except TooMany as error:
        return search.open(str(error))
    except UnsupportedFormula as error:
        return search.open(error.message)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A piece at position t of its paths, what is still asked of it, and the positions it came from."""

    piece: Piece
    owed: Obligation
    t: int
    before: Node | None = None

    @property
    def chain(self) -> list[Node]:
        """The positions from the first to this one."""
        nodes: list[Node] = []
        here: Node | None = self
        while here is not None:
            nodes.append(here)
            here = here.before
        return nodes[::-1]


@dataclass
class Search:
    """One question on its way to an answer."""

    question: Question
    budget: Budget
    engine: str
    limit: int = MAX_PIECES
    pieces: int = 0
    merged: int = 0
    seen: set[object] = field(default_factory=set)
    obligations: Obligations = field(default_factory=Obligations)
    witness: Trace | None = None  # of a claim of some path, from the first initial state

    def __post_init__(self) -> None:
        self.closed: Mapping[Expr, Expr] = self.question.atoms
        self.loop = Loop(self.question.system, tuple(self.closed.values()), Pace(self.budget))

    @property
    def statistics(self) -> dict[str, int | float | str]:
        return {"pieces": self.pieces, "merged": self.merged}

    def open(self, reason: str) -> Open:
        """What is known where the search cannot go on."""
        return Open(engine=self.engine, reason=reason, statistics=self.statistics)

    def run(self) -> Known:
        """Ask every initial piece in the way that fits the formula; the first that fails is the answer."""
        claim = self.question.claim
        ask = self._all_paths(claim.linear) if claim.linear is not None else self._each_state(claim.formula)
        started = 0
        for start in self.loop.starts():
            started += 1
            failed = ask(start)
            if failed is not None:
                return failed
        return self._proof(empty=started == 0)

    # Paths ------------------------------------------------------------------------------------------------------------

    def _all_paths(self, linear: Formula) -> Ask:
        """A claim of all paths fails where one path fails."""
        owed = self.obligations.of(linear, total=self.loop.is_total)

        def ask(start: Piece) -> Known | None:
            node = self._failing(start, owed)
            return None if node is None else self._violated(node)

        return ask

    def _failing(self, start: Piece, owed: Obligation) -> Node | None:
        """Follow all paths of an initial piece, depth first, to one that does not do what it owes."""
        waiting = [Node(start, owed, 0)]
        while waiting:
            self._count()
            node = waiting.pop()
            if node.owed == FALSE:
                return node
            if node.owed == TRUE:
                continue
            atom = self.obligations.atom_now(node.owed)
            if atom is None and (dead := self._dead_end(node)) is not None:
                return dead
            after = self._moves(node) if atom is None else self._asked(node, atom)
            waiting.extend(reversed(list(after)))
        return None

    def _count(self) -> None:
        self.pieces += 1
        if self.pieces % 256 == 0:
            self.budget.progress(f"paths: {self.pieces:,} exact pieces", None)
        if self.pieces > self.limit:
            raise TooMany(f"more than {self.limit:,} pieces; try a shorter bound or a smaller initial set")

    def _asked(self, node: Node, atom: Expr) -> Iterator[Node]:
        """The node divided by the truth of an atom."""
        for piece, truth in self.loop.truths(node.piece, self.closed[atom], node.t):
            yield Node(piece, self.obligations.assume(node.owed, atom, truth), node.t, node.before)

    def _moves(self, node: Node) -> Iterator[Node]:
        """The next positions, those that were met before left out."""
        owed = self.obligations.step(node.owed)
        for moved in self.loop.moves(node.piece, node.t):
            piece = self.loop.arrive(moved)
            key = owed, *self.loop.key(piece)
            if key in self.seen:
                self.merged += 1
                continue
            self.seen.add(key)
            yield Node(piece, owed, node.t + 1, Node(moved, node.owed, node.t, node.before))

    def _dead_end(self, node: Node) -> Node | None:
        """The part of a node whose paths end here, though more is asked."""
        if self.loop.is_total or self.obligations.end(node.owed):
            return None
        parts = self.loop.truths(node.piece, self.loop.system.step.enabled, node.t)
        return next((Node(part, node.owed, node.t, node.before) for part, enabled in parts if not enabled), None)

    def _path(self, node: Node) -> Trace | None:
        """The path one of the node's points takes, recomputed on the concrete system."""
        chain = node.chain
        taken: list[Mapping[Expr, Taken]] = [one.piece.taken for one in chain]
        system = self.question.system
        return path_of(system, candidate(system, chain[0].piece, taken, node.piece.polyhedron.point), self.loop.tick)

    def _violated(self, node: Node) -> Known:
        trace = self._path(node)
        if trace is None or confirm.truth(trace, self.question.formula) is not False:
            return self.open("a counterexample was found but did not replay")
        return Counterexample(engine=self.engine, trace=trace, statistics=self.statistics)

    # States -----------------------------------------------------------------------------------------------------------

    def _each_state(self, formula: Formula) -> Ask:
        """Look for an initial state at which the formula is false.

        A claim of some path, from a single state, is refuted by following all paths, and proven by one of them.
        """
        states = States(self.loop, self.obligations, self.closed, self.limit)
        owed = self.obligations.of(formula, total=self.loop.is_total)
        opposite = self.question.claim.opposite
        shunned = None if opposite is None else self.obligations.of(opposite, total=self.loop.is_total)

        def ask(start: Piece) -> Known | None:
            for piece in states.positions(start, 0):
                if shunned is not None and not piece.polyhedron.box:
                    failed = self._unwitnessed(piece, shunned)
                else:
                    failed = self._failing_state(states, piece, owed)
                if failed is not None:
                    return failed
            return None

        return ask

    def _unwitnessed(self, piece: Piece, shunned: Obligation) -> Known | None:
        self.seen.clear()  # a search that ended with a witness has left pieces behind
        node = self._failing(piece, shunned)
        if node is None:
            return self._refuted_state(piece, piece.polyhedron)
        trace = self._path(node)
        if trace is None or confirm.truth(trace, self.question.formula) is not True:
            return self.open("a witness was found but did not replay")
        self.witness = self.witness or trace
        return None

    def _failing_state(self, states: States, piece: Piece, owed: Obligation) -> Known | None:
        self._count()
        false = (polyhedron for polyhedron, truth in states.evaluate(owed, piece) if not truth)
        polyhedron = next(false, None)
        return None if polyhedron is None else self._refuted_state(piece, polyhedron)

    def _refuted_state(self, piece: Piece, polyhedron: Polyhedron) -> Known:
        system = self.question.system
        trace = path_of(system, candidate(system, piece, [piece.taken], polyhedron.point), self.loop.tick)
        if trace is None:
            return self.open("a state that fails was found but is no initial state")
        return FailingState(
            engine=self.engine,
            trace=trace,
            direction=Direction.EXACT,
            assurance=Assurance.EXACT,
            excluded_by="all outcomes from it were followed, in exact arithmetic",
            statistics=self.statistics,
        )

    def _proof(self, empty: bool) -> Proof:
        return Proof(
            engine=self.engine,
            direction=Direction.EXACT,
            subject=Subject.STATES,
            assurance=Assurance.EXACT,
            empty=empty,
            evidence=self.witness,
            statistics=self.statistics,
        )
