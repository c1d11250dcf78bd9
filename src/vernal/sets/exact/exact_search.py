"""The exact core of engine `paths`: always right, and complete wherever everything is piecewise linear.

Claims of all paths are searched path by path: a piece of states, all exactly affine in the initial values and the
disturbances drawn, with what the formula still asks of it. Every decision that is open forks it, and it is closed when
nothing more is asked or the claim has failed; equal pieces are followed once. Other CTL claims are evaluated state by
state (exact_cells). What this cannot do is hurry; the batched front of the engine does that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from vernal.errors import TooLong, UnsupportedFormula
from vernal.evidence import confirm
from vernal.evidence.candidates import path_of
from vernal.evidence.knowledge import UNBOUNDED, Counterexample, FailingState, Known, Open, Proof, Statistics, Subject
from vernal.evidence.result import Assurance
from vernal.evidence.trace import Trace
from vernal.interpret.geometry.polyhedra import Polyhedron, TooManyRows
from vernal.interpret.symbolic.execute import NotPiecewiseLinear, Piece
from vernal.logic.formula import Formula
from vernal.logic.progress import Obligation, Obligations
from vernal.logic.question import Question
from vernal.run.budget import Budget
from vernal.sets.exact.cells import Cells
from vernal.sets.exact.loop import Loop, candidate
from vernal.sets.exact.space import ExactSpace, ExactStates, FirstFailure, TooMany
from vernal.sets.search import Search

MAX_PIECES = 1_000_000  # pieces of one search; beyond, something else has to be tried
PieceCheck = Callable[[ExactStates], Known | None]  # what is wrong with an initial piece, if anything is


def decide(question: Question, budget: Budget, *, engine: str = "paths", limit: int = MAX_PIECES) -> Known:
    """Decide a bounded formula exactly; open only where something is not piecewise linear, or by a limit."""
    if question.claim.horizon is None:
        return Open(engine=engine, reason=UNBOUNDED)
    search = ExactSearch(question, budget, engine, limit)
    return _within_limits(search, search.run)


def follow(question: Question, path: Formula, depth: int, budget: Budget, *, engine: str, limit: int) -> Known:
    """Ask all paths a formula without a bound, exactly, as far as so many steps; open where some path goes on."""
    search = ExactSearch(question, budget, engine, limit)
    return _within_limits(search, lambda: search.follow(path, depth))


def _within_limits(search: ExactSearch, run: Callable[[], Known]) -> Known:
    """What a search finds; open where it cannot go on."""
    try:
        return run()
    except NotPiecewiseLinear as error:
        return search.open(f"not piecewise linear: {error}")
    except TooManyRows:
        reason = "a disturbance under a quantifier takes too many inequalities to eliminate; use choose, or fewer draws"
        return search.open(reason)
    except TooLong as error:
        return search.open(error.reason)
    except TooMany as error:
        return search.open(str(error))
    except UnsupportedFormula as error:
        return search.open(error.message)


@dataclass
class ExactSearch:
    """One question on its way to an answer."""

    question: Question
    budget: Budget
    engine: str
    limit: int = MAX_PIECES
    witness: Trace | None = None  # of a claim of some path, from the first initial state

    def __post_init__(self) -> None:
        closed = self.question.atoms
        loop = Loop(self.question.system, tuple(closed.values()), self.budget.check)
        self.space = ExactSpace(loop, closed, self.limit, self._tell)

    def _tell(self, pieces: int) -> None:
        self.budget.progress(f"paths: {pieces:,} exact pieces", None)

    @property
    def statistics(self) -> Statistics:
        return {"pieces": self.space.pieces, "merged": self.space.merged}

    def open(self, reason: str) -> Open:
        """What is known where the search cannot go on."""
        return Open(engine=self.engine, reason=reason, statistics=self.statistics)

    def run(self) -> Known:
        """Ask every initial piece in the way that fits the formula; the first that fails is the answer."""
        claim = self.question.claim
        ask = self._all_paths(claim.linear) if claim.linear is not None else self._each_state(claim.formula)
        started = 0
        for _, start in self.space.enter():
            started += 1
            failed = ask(start)
            if failed is not None:
                return failed
        return self._proof(empty=started == 0)

    # Paths ------------------------------------------------------------------------------------------------------------

    def follow(self, path: Formula, depth: int) -> Known:
        """All paths, step by step, as far as so many steps; a set that was there before is followed once."""
        search, failure = self._search(path)
        ended = search.levels(depth)
        if failure.found is not None:
            return self._violated(failure.found)
        if ended:
            return self._proof(empty=self.space.pieces == 0)
        return replace(self.open(f"some paths go on after step {depth}"), proven_steps=depth)

    def _all_paths(self, path: Formula) -> PieceCheck:
        """A claim of all paths fails where one path fails."""
        search, failure = self._search(path)

        def ask(start: ExactStates) -> Known | None:
            search.dive((), start)
            return None if failure.found is None else self._violated(failure.found)

        return ask

    def _search(self, path: Formula) -> tuple[Search[ExactStates], FirstFailure]:
        failure = FirstFailure()
        loop = self.space.loop
        search = Search(path, self.space, failure, total=loop.is_total, tick=loop.tick)
        self.space.waits = search.obligations.waits
        return search, failure

    def _violated(self, states: ExactStates) -> Known:
        trace = states.path()
        if trace is None or confirm.truth(trace, self.question.formula) is not False:
            return self.open("a counterexample was found but did not replay")
        return Counterexample(engine=self.engine, trace=trace, statistics=self.statistics)

    # States -----------------------------------------------------------------------------------------------------------

    def _each_state(self, formula: Formula) -> PieceCheck:
        """Look for an initial state at which the formula is false.

        A claim of some path, from a single state, is refuted by following all paths, and proven by one of them.
        """
        obligations = Obligations()
        cells = Cells(self.space.loop, obligations, self.space.closed, self.limit)
        owed = obligations.of(formula, total=self.space.loop.is_total)
        opposite = self.question.claim.opposite

        def ask(start: ExactStates) -> Known | None:
            on_paths = opposite if not start.piece.polyhedron.box else None
            if on_paths is not None and self.space.loop.is_guarded:  # a path chooses what the guard asks about
                return self._unwitnessed(start, on_paths)
            for piece in cells.positions(start.piece, 0):
                if on_paths is not None:
                    failed = self._unwitnessed(replace(start, piece=piece), on_paths)
                else:
                    failed = self._failing_state(cells, piece, owed)
                if failed is not None:
                    return failed
            return None

        return ask

    def _unwitnessed(self, start: ExactStates, opposite: Formula) -> Known | None:
        self.space.seen.clear()  # a search that ended with a witness has left pieces behind
        search, failure = self._search(opposite)
        search.dive((), start)
        if failure.found is None:
            return self._refuted_state(start.piece, start.piece.polyhedron)
        trace = failure.found.path()
        if trace is None or confirm.truth(trace, self.question.formula) is not True:
            return self.open("a witness was found but did not replay")
        self.witness = self.witness or trace
        return None

    def _failing_state(self, cells: Cells, piece: Piece, owed: Obligation) -> Known | None:
        self.space.count()
        false = (polyhedron for polyhedron, truth in cells.evaluate(owed, piece) if not truth)
        polyhedron = next(false, None)
        return None if polyhedron is None else self._refuted_state(piece, polyhedron)

    def _refuted_state(self, piece: Piece, polyhedron: Polyhedron) -> Known:
        system = self.question.system
        trace = path_of(system, candidate(system, piece, [piece.taken], polyhedron.point), self.space.loop.tick)
        if trace is None:
            return self.open("a state that fails was found but is no initial state")
        return FailingState(
            engine=self.engine,
            trace=trace,
            direction=self.space.direction,
            assurance=Assurance.EXACT,
            excluded_by="all outcomes from this state were followed, in exact arithmetic",
            statistics=self.statistics,
        )

    def _proof(self, empty: bool) -> Proof:
        return Proof(
            engine=self.engine,
            direction=self.space.direction,
            subject=Subject.STATES,
            assurance=Assurance.EXACT,
            empty=empty,
            evidence=self.witness,
            statistics=self.statistics,
        )
