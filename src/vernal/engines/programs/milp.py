"""Mixed-integer programs for bounded claims of all paths, in the two encodings of the AAMAS 2020 paper.

A claim is refuted by a path, and the paths of a piecewise-linear system are the points of a mixed-integer program. The
*monolithic* encoding is one program, with disjunctions, choices and starts left to the solver; the *compositional* one
is a program for each combination of them, in turn until one is feasible. Phases, winners and branches that linear
bounds decide are not encoded at all.

What is encoded is the unrolled loop: *recursively*, each step once (M. Hosseini et al., AAMAS 2025), or, to compare,
with every recurrent policy unrolled anew at each step over its whole history, input on start or on demand
(M. Akintunde et al., AAAI 2019). Without tightening, bounds are those of intervals alone.

A solver works within tolerances, so neither of its answers is believed as it stands. A point is a candidate: its first
state and decisions are replayed exactly, if need be after a linear program has moved it inside its cell. And a program
is infeasible only if it stays so with every decision relaxed by a tolerance far beyond the solver's (`milp.rows`). What
is in between is asked case by case, with exact forms at margin zero; what is still open then is unknown: numerics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from vernal.engines.chain import Chain, Prover
from vernal.engines.options import Encoding, MilpOptions, Unroll
from vernal.engines.programs.cases import CaseWork, is_decided
from vernal.engines.programs.program import Asking, End, ProgramAnswer, Solving
from vernal.engines.refusals import within_steps
from vernal.errors import Stopped, UnsupportedFormula
from vernal.evidence.candidates import failing_state, witnessed
from vernal.evidence.knowledge import Counterexample, FailingState, Known, Open, Proof, Statistics
from vernal.evidence.result import Assurance
from vernal.evidence.single_path import OPEN_ACTION, is_only_position
from vernal.evidence.trace import Trace
from vernal.interpret import exact
from vernal.interpret.exact import Given
from vernal.interpret.unrolling import history
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.logic.formula import Formula, Not
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.expr import Expr
from vernal.model.graph import decisions
from vernal.model.initial import InitialSet
from vernal.model.system import System
from vernal.reduce.growing_bounds import GrowingBounds
from vernal.run.budget import Budget
from vernal.run.executor import carry_out
from vernal.sets.initial_boxes import MAX_BOXES
from vernal.sets.refutation import (
    BoundedStarts,
    Case,
    cases,
    refuting_condition,
)
from vernal.solvers import registry
from vernal.solvers.base import Capabilities

WHOLE = "whole"  # one program, and never mind a doubt
REFINED = 256  # cases into which a monolithic program in doubt is split
UNSUPPORTED = "not supported by this engine"


class Refuter(ABC):
    """Bounded claims about paths, decided by looking for a path that refutes them; engines choose the solver."""

    name: str
    encoding: str
    deepen: bool = False

    @abstractmethod
    def asking(self, unrolling: Unrolling, system: System, goal: Formula, steps: int, budget: Budget) -> Asking:
        """What asks the programs of this question, and the solver it uses."""

    def unrolling(self, system: System) -> Unrolling:
        return Unrolling(system.step)

    def refusal(self, question: Question) -> str | None:
        """What keeps a question from being one about single paths."""
        if len(question.claim.quantifiers) > 1:
            return "a formula that mixes claims of all paths and of some path"
        if question.claim.mentions_some and not question.is_total and decisions([question.system.step.enabled]):
            return "a guard that depends on a choice, in a claim of some path"
        return None

    def takes(self, question: Question) -> str | None:
        """Claims of all paths or of some path, with a last step."""
        if question.time is not Time.STEPS or question.claim.horizon is None:
            return within_steps(question)
        refusal = self.refusal(question)
        return None if refusal is None else f"{UNSUPPORTED}: {refusal}; try --engine auto"

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A counterexample, a proof that there is none, or what keeps the question open."""
        if (refused := self.takes(question)) is not None:
            return Open(engine=self.name, reason=refused)
        if self.deepen:
            return Chain((GrowingBounds(),), Prover(self.name, self._attempt)).attempt(question, budget)
        return self._attempt(question, budget)

    def _attempt(self, question: Question, budget: Budget) -> Known:
        claim = question.claim
        assert claim.horizon is not None
        goal = Not(claim.path) if claim.mentions_some else claim.path
        unrolling = self.unrolling(question.system)
        solving = self.asking(unrolling, question.system, goal, claim.horizon, budget)
        try:
            condition = refuting_condition(question.system, goal, budget.check, unrolling)
            asked = _Asked(question, solving, condition, self.encoding)
            return asked.some() if claim.mentions_some else asked.every()
        except UnsupportedFormula as error:
            return Open(engine=self.name, reason=f"{UNSUPPORTED}: {error.message}")
        except Stopped as stop:
            return Open(engine=self.name, reason=stop.reason, statistics=solving.tally.statistics())


class Milp(Refuter):
    """The engine `milp`."""

    name = "milp"

    def __init__(self, options: MilpOptions = MilpOptions()) -> None:
        self.encoding, self.unroll = options.encoding, options.unroll
        self.tighten, self.deepen = options.tighten, options.deepen
        needed = Capabilities(integers=True, incremental=False)
        self.solver = registry.find(options.solver, needed) if isinstance(options.solver, str) else options.solver

    def asking(self, unrolling: Unrolling, system: System, goal: Formula, steps: int, budget: Budget) -> Asking:
        twins = unrolling.twins if isinstance(unrolling, history.HistoryUnrolling) else {}
        return Solving(self.name, system, goal, steps, budget, self.solver, tighten=self.tighten, twins=twins)

    def unrolling(self, system: System) -> Unrolling:
        if self.unroll is Unroll.RECURSIVE:
            return Unrolling(system.step)
        return history.HistoryUnrolling(system, "ios" if self.unroll is Unroll.IOS else "iod")

    def refusal(self, question: Question) -> str | None:
        own = None if self.unroll is Unroll.RECURSIVE else history.refusal(question.system)
        return super().refusal(question) or own


@dataclass(frozen=True)
class _Asked:
    """A question, and the condition under which a path decides it."""

    question: Question
    solving: Asking
    condition: Expr
    encoding: str

    def every(self) -> Known:
        """A claim of all paths: one path that fails refutes it, that there is none proves it."""
        summary = _search(self.solving, self.condition, self.encoding, self.question.system.initial)
        if summary.trace is not None:
            return Counterexample(engine=self.engine, trace=summary.trace, statistics=self.statistics)
        if summary.doubt is not None:
            return self._open(summary.doubt)
        assurance = Assurance.SOLVER if summary.by_solver else Assurance.RIGOROUS
        return Proof(
            engine=self.engine, direction=self.solving.direction, assurance=assurance, statistics=self.statistics
        )

    def some(self) -> Known:
        """A claim of some path: a witness proves it of its own first state, and a state without any refutes it."""
        initial = self.question.system.initial
        alone = initial.split(MAX_BOXES)
        finite = all(one.is_point for one in alone)
        if not finite:
            alone = [initial]
        witness: Trace | None = None
        for one in alone:
            summary = _search(self.solving, self.condition, self.encoding, one)
            if summary.doubt is not None and summary.trace is None:
                return self._open(summary.doubt)
            if summary.trace is None and not _is_excluded(self.question.system, one):
                return self._refuted(BoundedStarts(one), summary.by_solver)
            if summary.trace is not None and not is_only_position(
                self.question.system, self.question.formula, summary.trace
            ):
                return self._open(OPEN_ACTION)
            witness = witness or summary.trace
        if witness is None:
            return self._open("there is no initial state to look at; try --engine auto")
        if not finite:
            reason = "a witness proves a claim of some path for one initial state only, and here are infinitely many"
            return self._open(f"{UNSUPPORTED}: {reason}; try --engine auto")
        return witnessed(self.question, witness, self.engine, self.statistics)

    def _refuted(self, space: BoundedStarts, by_solver: bool) -> Known:
        """No path from these starts keeps a claim of some path; an initial state shows it, if one can be named."""
        shown = (
            failing_state(self.question, space.box, self.solving.budget.check)
            if self.question.claim.opposite is not None
            else None
        )
        if shown is None:
            return self._open(f"{UNSUPPORTED}: no single path is a witness, which alone does not refute this claim")
        who = "a solver excludes" if by_solver else "bounds exclude"
        return FailingState(
            engine=self.engine,
            trace=shown,
            direction=self.solving.direction,
            assurance=Assurance.SOLVER if by_solver else Assurance.RIGOROUS,
            excluded_by=f"{who} every path from this state that keeps the claim",
            statistics=self.statistics,
        )

    @property
    def engine(self) -> str:
        return self.solving.engine

    @property
    def statistics(self) -> Statistics:
        return self.solving.tally.statistics()

    def _open(self, reason: str) -> Open:
        return Open(engine=self.engine, reason=reason, statistics=self.statistics)


def _is_excluded(system: System, initial: InitialSet) -> bool:
    """Whether a single start is no initial state, by the constraints; False for more than one start.

    A constraint without a defined truth value excludes nothing.
    """
    if not initial.where or not initial.is_point:
        return False
    given: dict[Expr, Given] = {var: initial.first[var][0] for var in system.step.state}
    return any(truth is False for truth in exact.evaluate(initial.where, given))


# The search -----------------------------------------------------------------------------------------------------------


@dataclass
class Summary:
    """What all programs together show: a path, a doubt, or that there is no path."""

    trace: Trace | None = None
    doubt: str | None = None
    by_solver: bool = False

    def add(self, answer: ProgramAnswer) -> bool:
        """Whether this settles the question, or makes a proof impossible for good."""
        self.trace = answer.trace
        self.by_solver |= answer.end is End.INFEASIBLE
        if answer.end in (End.DOUBT, End.UNSUITABLE):
            self.doubt = answer.reason
        return answer.trace is not None or (answer.end is End.UNSUITABLE and answer.reason.startswith(UNSUPPORTED))


def _search(solving: Asking, condition: Expr, encoding: str, initial: InitialSet) -> Summary:
    """All programs of the encoding; a monolithic one that ends in doubt is split into a few cases."""
    if encoding == Encoding.COMPOSITIONAL:
        return _each(solving, _all_cases(_spaces(solving, initial), condition))
    space = solving.space(initial)
    if not space.may_be(condition):
        return Summary()
    whole = Summary()
    whole.add(solving.answer(space, Case(condition)))
    if whole.trace is not None or whole.doubt is None or encoding == WHOLE:
        return whole
    parts = list(islice(_all_cases(_spaces(solving, initial), condition), REFINED + 1))
    if len(parts) > REFINED:
        return whole
    return _each(solving, iter(parts))


def _spaces(solving: Asking, initial: InitialSet) -> list[BoundedStarts]:
    return [solving.space(one) for one in initial.split(MAX_BOXES)]


def _all_cases(spaces: list[BoundedStarts], condition: Expr) -> Iterator[tuple[BoundedStarts, Case]]:
    return ((space, case) for space in spaces for case in cases(space, condition))


def _each(solving: Asking, every: Iterator[tuple[BoundedStarts, Case]]) -> Summary:
    """Program after program, or several at a time, until one is a path."""
    summary = Summary()
    work = CaseWork(solving)
    with closing(carry_out((work.job(space, case) for space, case in every), solving.budget, is_decided)) as answers:
        for done in answers:
            solving.budget.progress(f"milp: {solving.tally.programs} programs", None)
            if summary.add(work.answer(done)):
                break
    return summary
