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
is infeasible only if it stays so with every decision relaxed by a tolerance far beyond the solver's (milp_rows). What
is in between is asked case by case, with exact forms at margin zero; what is still open then is unknown: numerics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, get_args

from vernal.engines.base import Question, answered, listed, unknown
from vernal.engines.bounds.levels import Levels
from vernal.engines.deepen import deepened
from vernal.engines.programs.cases import CaseWork, is_decided
from vernal.engines.programs.conditions import (
    Case,
    Space,
    Starts,
    all_starts,
    cases,
    is_point,
    refuting_condition,
    split_starts,
)
from vernal.engines.programs.program import Answer, Asking, End, Solving
from vernal.engines.refute import refuting_trace
from vernal.engines.single_path import OPEN_ACTION, is_only_position
from vernal.errors import Stopped, UnsupportedFormula
from vernal.evidence import confirm
from vernal.evidence.replay import first_range_exit
from vernal.evidence.result import HOLDS, VIOLATED, Assurance, Evidence, Result, Verdict
from vernal.evidence.trace import Trace
from vernal.interpret import exact
from vernal.logic.formula import Formula, Not, Quantifier
from vernal.logic.normal import horizon, quantifiers, strip_quantifiers
from vernal.logic.progress import on_paths
from vernal.model.build import TRUE
from vernal.model.expr import Expr
from vernal.model.graph import decisions
from vernal.model.system import OneOf, System
from vernal.reduce import history
from vernal.reduce.initial import initial_boxes
from vernal.reduce.unroll import Unrolling
from vernal.run.budget import Budget
from vernal.run.executor import carry_out
from vernal.solvers import registry
from vernal.solvers.base import Capabilities, MilpSolver

Encoding = Literal["monolithic", "compositional"]
Unroll = Literal["recursive", "ios", "iod"]

WHOLE = "whole"  # one program, and never mind a doubt
REFINED = 256  # cases into which a monolithic program in doubt is split
UNSUPPORTED = "not supported by this engine"


class Refuter(ABC):
    """Bounded claims about paths, decided by asking for a path that refutes them; whom to ask, engines say."""

    name: str
    encoding: str
    deepen: bool = False

    @abstractmethod
    def asking(self, unrolling: Unrolling, system: System, goal: Formula, steps: int, budget: Budget) -> Asking:
        """Whom the question is put to."""

    def unrolling(self, system: System) -> Unrolling:
        return Unrolling(system.step)

    def refusal(self, question: Question) -> str | None:
        """What keeps a question from being one about single paths."""
        if len(quantifiers(question.formula)) > 1:
            return "a formula that mixes claims of all paths and of some path"
        if question.system.enabled is not TRUE and decisions([question.system.step.enabled]):
            return "a guard that depends on a choice"
        return None

    def check(self, question: Question, budget: Budget) -> Result:
        """Violated with an exact trace, holds where there is none, or unknown with the reason."""
        if horizon(question.formula) is None:
            reason = "the formula has no bound, and this engine decides bounded formulas; bound it, as in G[0,20] p"
            return unknown(question, self.name, reason)
        refusal = self.refusal(question)
        if refusal is not None:
            return unknown(question, self.name, f"{UNSUPPORTED}: {refusal}; try --engine auto")
        return deepened(self._check, question, budget) if self.deepen else self._check(question, budget)

    def _check(self, question: Question, budget: Budget) -> Result:
        reach = horizon(question.formula)
        assert reach is not None
        some = Quantifier.SOME in quantifiers(question.formula)
        path = strip_quantifiers(question.formula)
        goal = Not(path) if some else path
        unrolling = self.unrolling(question.system)
        solving = self.asking(unrolling, question.system, goal, reach, budget)
        try:
            condition = refuting_condition(question.system, goal, budget.check, unrolling)
            asked = _Asked(question, solving, condition, self.encoding)
            return asked.some() if some else asked.every()
        except UnsupportedFormula as error:
            return unknown(question, self.name, f"{UNSUPPORTED}: {error.message}")
        except Stopped as stop:
            return unknown(question, self.name, stop.reason, statistics=solving.tally.statistics())


class Milp(Refuter):
    """The engine `milp`."""

    name = "milp"

    def __init__(
        self,
        encoding: str = "monolithic",
        solver: str | MilpSolver = registry.DEFAULT,
        unroll: str = "recursive",
        tighten: str = "yes",
        deepen: str = "no",
    ) -> None:
        self.encoding = listed("encoding", encoding, get_args(Encoding))
        self.unroll = listed("unrolling", unroll, get_args(Unroll))
        self.tighten, self.deepen = answered("tightening", tighten), answered("deepening", deepen)
        needed = Capabilities(integers=True, incremental=False)
        self.solver = registry.find(solver, needed) if isinstance(solver, str) else solver

    def asking(self, unrolling: Unrolling, system: System, goal: Formula, steps: int, budget: Budget) -> Asking:
        twins = unrolling.twins if isinstance(unrolling, history.HistoryUnrolling) else {}
        return Solving(self.name, system, goal, steps, budget, self.solver, tighten=self.tighten, twins=twins)

    def unrolling(self, system: System) -> Unrolling:
        if self.unroll == "recursive":
            return Unrolling(system.step)
        return history.HistoryUnrolling(system, "ios" if self.unroll == "ios" else "iod")

    def refusal(self, question: Question) -> str | None:
        own = None if self.unroll == "recursive" else history.refusal(question.system)
        return super().refusal(question) or own


@dataclass(frozen=True)
class _Asked:
    """A question, and the condition under which a path decides it."""

    question: Question
    solving: Asking
    condition: Expr
    encoding: str

    def every(self) -> Result:
        """A claim of all paths: one path that fails refutes it, that there is none proves it."""
        summary = _search(self.solving, self.condition, self.encoding, all_starts(self.question.system))
        report = _Report(self.question, self.solving)
        if summary.trace is not None:
            return report.found(VIOLATED, summary.trace)
        if summary.doubt is not None:
            return report.unknown(summary.doubt)
        if on_paths(self.question.formula) is None:
            reason = "every path keeps it, but CTL asks states to: of some alternatives one has to hold for all paths"
            return report.unknown(f"{UNSUPPORTED}: {reason}")
        return report.holds(summary.by_solver)

    def some(self) -> Result:
        """A claim of some path: a witness proves it of its own first state, and a state without any refutes it."""
        report = _Report(self.question, self.solving)
        starts = all_starts(self.question.system)
        alone = split_starts(starts)
        if not all(map(is_point, alone)):
            alone = [starts]
        witness: Trace | None = None
        for one in alone:
            summary = _search(self.solving, self.condition, self.encoding, one)
            if summary.doubt is not None and summary.trace is None:
                return report.unknown(summary.doubt)
            if summary.trace is None and not _is_excluded(self.question.system, one):
                return report.refuted(Space(one), summary.by_solver)
            if summary.trace is not None and not is_only_position(
                self.question.system, self.question.formula, summary.trace
            ):
                return report.unknown(OPEN_ACTION)
            witness = witness or summary.trace
        if witness is None:
            return report.unknown("there is no initial state to look at; try --engine auto")
        if not all(map(is_point, alone)):
            reason = "a witness proves a claim of some path for one initial state only, and here are infinitely many"
            return report.unknown(f"{UNSUPPORTED}: {reason}; try --engine auto")
        return report.found(HOLDS, witness)


def _is_excluded(system: System, starts: Starts) -> bool:
    """Whether a single start is no initial state, by the constraints; of more than one nobody says so.

    A constraint without a defined truth value excludes nothing.
    """
    if not system.init.where or not is_point(starts):
        return False
    given = {var: entry[0].values[0] for var, entry in starts.items() if isinstance(entry[0], OneOf) and not var.shape}
    return any(truth is False for truth in exact.evaluate(system.init.where, given))


# The search -----------------------------------------------------------------------------------------------------------


@dataclass
class Summary:
    """What all programs together say: a path, a doubt, or that there is no path."""

    trace: Trace | None = None
    doubt: str | None = None
    by_solver: bool = False

    def add(self, answer: Answer) -> bool:
        """Whether this settles the question, or makes a proof impossible for good."""
        self.trace = answer.trace
        self.by_solver |= answer.end is End.INFEASIBLE
        if answer.end in (End.DOUBT, End.UNSUITABLE):
            self.doubt = answer.reason
        return answer.trace is not None or (answer.end is End.UNSUITABLE and answer.reason.startswith(UNSUPPORTED))


def _search(solving: Asking, condition: Expr, encoding: str, starts: Starts) -> Summary:
    """All programs of the encoding; a monolithic one that ends in doubt is split into a few cases."""
    if encoding == "compositional":
        return _each(solving, _all_cases(_spaces(solving, starts), condition))
    space = solving.space(starts)
    if not space.may_be(condition):
        return Summary()
    whole = Summary()
    whole.add(solving.answer(space, Case(condition)))
    if whole.trace is not None or whole.doubt is None or encoding == WHOLE:
        return whole
    parts = list(islice(_all_cases(_spaces(solving, starts), condition), REFINED + 1))
    if len(parts) > REFINED:
        return whole
    return _each(solving, iter(parts))


def _spaces(solving: Asking, starts: Starts) -> list[Space]:
    return [solving.space(one) for one in split_starts(starts)]


def _all_cases(spaces: list[Space], condition: Expr) -> Iterator[tuple[Space, Case]]:
    return ((space, case) for space in spaces for case in cases(space, condition))


def _each(solving: Asking, every: Iterator[tuple[Space, Case]]) -> Summary:
    """Program after program, or several at a time, until one is a path."""
    summary = Summary()
    work = CaseWork(solving)
    with closing(carry_out((work.job(space, case) for space, case in every), solving.budget, is_decided)) as answers:
        for done in answers:
            solving.budget.progress(f"milp: {solving.tally.programs} programs", None)
            if summary.add(work.answer(done)):
                break
    return summary


# Results --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Report:
    """The answer to a question, with what it rests on."""

    question: Question
    solving: Asking

    def found(self, verdict: Verdict, trace: Trace) -> Result:
        """A path that refutes the claim, or a witness that proves it: exact evidence, whoever found it."""
        margin = confirm.margin(trace, self.solving.goal)
        if margin is not None:
            margin = (margin if verdict is VIOLATED else -margin) + 0.0
        left = first_range_exit(trace)
        notes = () if left is None else (f"{left[1]} leaves its range at step {left[0]} of the trace",)
        return replace(
            self._result(verdict, notes),
            assurance=confirm.assurance(trace, self.question.formula),
            margin=margin,
            evidence=Evidence.TRACE,
            trace=trace,
            step=len(trace) - 1 if verdict is VIOLATED else None,
            scope=f"up to step {self.solving.steps}" if verdict is HOLDS else None,
        )

    def holds(self, by_solver: bool) -> Result:
        """No path refutes the claim: bounds exclude it, or a solver does beyond the tolerance."""
        vacuous = self._has_no_start()
        notes = ["vacuous: there is no initial state"] if vacuous else _range_notes(self.solving)
        return replace(
            self._result(HOLDS, tuple(notes)),
            scope=f"up to step {self.solving.steps}",
            assurance=Assurance.SOLVER if by_solver else Assurance.RIGOROUS,
            vacuous=vacuous,
        )

    def refuted(self, space: Space, by_solver: bool) -> Result:
        """No path from these starts keeps a claim of some path; an initial state shows it, if one can be named."""
        shown = refuting_trace(self.question, space.box) if on_paths(Not(self.question.formula)) is not None else None
        if shown is None:
            return self.unknown(f"{UNSUPPORTED}: no single path is a witness, which alone does not refute this claim")
        note = "no path from this state keeps the claim: " + ("a solver excludes it" if by_solver else "by bounds")
        return replace(
            self._result(VIOLATED, (note,)),
            assurance=Assurance.SOLVER if by_solver else Assurance.RIGOROUS,
            evidence=Evidence.TRACE,
            trace=shown.trace,
            step=0,
        )

    def unknown(self, reason: str) -> Result:
        return unknown(self.question, self.solving.engine, reason, statistics=self.solving.tally.statistics())

    def _has_no_start(self) -> bool:
        """Whether the constraints on the initial states leave none."""
        if not self.question.system.init.where:
            return False
        answer = self.solving.answer(Space(all_starts(self.question.system)), Case(TRUE))
        return answer.end in (End.EXCLUDED, End.INFEASIBLE)

    def _result(self, verdict: Verdict, notes: tuple[str, ...]) -> Result:
        asked = self.question
        statistics = self.solving.tally.statistics()
        return Result(str(asked.formula), verdict, self.solving.engine, asked.name, notes=notes, statistics=statistics)


def _range_notes(solving: Asking) -> list[str]:
    """Which declared ranges may be left, and when."""
    levels = Levels(solving.system, list(initial_boxes(solving.system, 1).boxes), solving.budget, solving.steps)
    return [f"{name} may leave its range from step {step} on" for name, step in levels.range_exits().items()]
