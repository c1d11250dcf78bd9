"""Mixed-integer programs for bounded claims, in the two encodings of the AAMAS 2020 paper.

A claim is refuted by a path, and the paths of a piecewise-linear system are the points of a mixed-integer program. The
*monolithic* encoding is one program, with disjunctions, choices and starts left to the solver; the *compositional* one
is a program for each combination of them, in turn until one is feasible. Phases, winners and branches that linear
bounds decide are not encoded at all. A claim about states, as one that mixes all paths and some path, is refuted by a
state: its programs have a copy of the step for each way to go (`trees`).

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
from dataclasses import dataclass, replace
from itertools import islice

from vernal.engines.chain import Chain, Prover
from vernal.engines.options import Encoding, MilpOptions, Unroll
from vernal.engines.programs.cases import CaseWork, is_decided
from vernal.engines.programs.program import Asking, End, ProgramAnswer, Solving, Tally
from vernal.engines.programs.trees import EXCLUDED, TreeSolving, asks_states, tree_refusal
from vernal.engines.refusals import within_steps
from vernal.errors import Stopped, UnsupportedFormula
from vernal.evidence.knowledge import Counterexample, FailingState, Known, Open, Proof, Subject
from vernal.evidence.result import Assurance
from vernal.evidence.trace import Trace
from vernal.interpret.unrolling import history
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.expr import Expr
from vernal.model.graph import decisions
from vernal.model.initial import InitialSet
from vernal.model.system import System
from vernal.reduce.growing_bounds import GrowingBounds
from vernal.reduce.initial_cover import ONE_START, SingleStarts
from vernal.reduce.reduction import SEVERAL_STARTS
from vernal.reduce.tree_conditions import TreeCondition
from vernal.reduce.universal_claims import KeptByOne
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
        return system.step.once(Unrolling)

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
        if question.claim.mentions_some:
            return self._some(question, budget)
        if self.deepen:
            return Chain((GrowingBounds(),), Prover(self.name, self._every)).attempt(question, budget)
        return self._every(question, budget)

    def _some(self, question: Question, budget: Budget) -> Known:
        """A claim of some path: a witness proves it of its own first state, and a state without any refutes it."""
        tally = Tally()

        def every(asked: Question, part: Budget) -> Known:
            own = replace(part, journal=budget.journal)  # a case says from which start, and all ask the same
            return self._every(asked, own, tally)

        starts, finite = SingleStarts(MAX_BOXES), SingleStarts(MAX_BOXES).takes(question) is None
        chain = Chain((starts, KeptByOne()) if finite else (KeptByOne(),), Prover(self.name, every))
        known = chain.attempt(question, budget)
        if isinstance(known, Open) and known.reason == SEVERAL_STARTS:
            known = replace(known, reason=f"{UNSUPPORTED}: {ONE_START}; try --engine auto")
        return replace(known, statistics=tally.statistics())

    def _every(self, question: Question, budget: Budget, tally: Tally | None = None) -> Known:
        """A claim of all paths: one path that fails refutes it, that there is none proves it."""
        claim, system = question.claim, question.system
        assert claim.horizon is not None
        unrolling = self.unrolling(system)
        solving = self.asking(unrolling, system, claim.path, claim.horizon, budget)
        solving = solving if tally is None else replace(solving, tally=tally)
        try:
            condition = refuting_condition(system, claim.path, budget.check, unrolling)
            return _known(solving, _search(solving, condition, self.encoding, system.initial))
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
            return system.step.once(Unrolling)
        return history.HistoryUnrolling(system, "ios" if self.unroll is Unroll.IOS else "iod")

    def attempt(self, question: Question, budget: Budget) -> Known:
        if self.takes(question) is None and asks_states(question.claim):
            return self._states(question, budget)
        return super().attempt(question, budget)

    def _states(self, question: Question, budget: Budget) -> Known:
        """A state that fails, a proof that none does, or what keeps the question open; in this process alone."""
        system, horizon = question.system, question.claim.horizon
        assert horizon is not None
        alone = replace(budget, journal=None, workers=1)
        solving = TreeSolving(self.name, system, question.formula, horizon, alone, self.solver, tighten=self.tighten)
        try:
            may_be = solving.space(system.initial).may_be
            condition = TreeCondition(system, may_be, budget.check).failing(question.formula)
            solving = replace(solving, condition=condition)
            return _known_states(solving, _search(solving, condition, self.encoding, system.initial))
        except UnsupportedFormula as error:
            return Open(engine=self.name, reason=f"{UNSUPPORTED}: {error.message}; try --engine auto")
        except Stopped as stop:
            return Open(engine=self.name, reason=stop.reason, statistics=solving.tally.statistics())

    def refusal(self, question: Question) -> str | None:
        own = None if self.unroll is Unroll.RECURSIVE else history.refusal(question.system)
        return (tree_refusal(question) if asks_states(question.claim) else super().refusal(question)) or own


def _known(solving: Asking, summary: Summary) -> Known:
    """What the programs of a claim of all paths show."""
    statistics = solving.tally.statistics()
    if summary.trace is not None:
        return Counterexample(engine=solving.engine, trace=summary.trace, statistics=statistics)
    if summary.doubt is not None:
        return Open(engine=solving.engine, reason=summary.doubt, statistics=statistics)
    assurance = Assurance.SOLVER if summary.by_solver else Assurance.RIGOROUS
    return Proof(engine=solving.engine, direction=solving.direction, assurance=assurance, statistics=statistics)


def _known_states(solving: TreeSolving, summary: Summary) -> Known:
    """What the programs of a claim about states show."""
    known = _known(solving, summary)
    if isinstance(known, Proof):
        return replace(known, subject=Subject.STATES)
    if not isinstance(known, Counterexample):
        return known
    return FailingState(
        engine=known.engine,
        trace=known.trace,
        direction=solving.direction,
        assurance=Assurance.EXACT if solving.is_rational else Assurance.RIGOROUS,
        excluded_by=EXCLUDED,
        statistics=known.statistics,
    )


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
