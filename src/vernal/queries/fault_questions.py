"""The questions behind faults: about the same model, from one position of a path, with other actions.

What a policy did at a position is replaced once (`DirectedSystem`) and what the claim still asks there (`residual`) is
asked of all paths: an engine proves it or finds a path that violates it. Whether a position is lost is asked of the
system in which actions are free (`FreeSystem`): does the negation of what is left hold of all its paths?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vernal.engines.check import NO_OPTIONS, Options, asked_of, question_of
from vernal.engines.registry import engine_for
from vernal.engines.time_shares import Ask, FairShares
from vernal.errors import InputError
from vernal.evidence.confirm import Facts
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.evidence.trace import Trace
from vernal.evidence.walk import PRECISIONS, NotAPath, ReplayWalk, Undecided
from vernal.logic.formula import Formula, Not
from vernal.logic.question import Question
from vernal.logic.residual import residual
from vernal.logic.task import Task
from vernal.logic.times import Time
from vernal.model.expr import Expr
from vernal.model.graph import order
from vernal.model.lazy import cached_property
from vernal.model.system import System
from vernal.queries.faults import AgentDecision, Effect, Faults, OtherAction, Prospect
from vernal.reduce.free_actions import DirectedSystem, FreeSystem, deciders, directed, free, is_exact
from vernal.run.alarm import in_time
from vernal.run.budget import Budget
from vernal.run.threads import one_blas_thread

DECISIONS_SHARE = 0.7  # of the time that is left, for other actions; the rest is for what could still be done
PROSPECT_SHARE = 0.5  # of what is left then, for one position
INEXACT = "the state is known within an enclosure only: that a path from one of its points fails says nothing"


@dataclass(frozen=True)
class BadPath:
    """A path of a task that violates a formula, replayed."""

    task: Task
    formula: Formula
    name: str | None  # of the property
    trace: Trace

    @cached_property
    def question(self) -> Question:
        """What was asked."""
        return question_of(self.task, self.formula, self.name)


@dataclass(frozen=True, slots=True)
class FaultCase:
    """One question: another action of an agent at a position, or (without an agent) whether the position is lost."""

    position: int
    agent: str | None = None
    action: int = 0


def faults_of(path: BadPath, budget: Budget, engine: str = "auto", options: Options = NO_OPTIONS) -> Faults:
    """The faults along a path; what there is no time for is unknown."""
    questions = FaultQuestions(path, budget, engine, options)
    questions.refuse()
    with one_blas_thread():
        asks = in_time(lambda: questions.asks, budget)
        decisions = questions.decided(list(FairShares(asks, budget.part(DECISIONS_SHARE))))
        return Faults(path.task, path.formula, path.name, path.trace, decisions, questions.prospects())


@dataclass(frozen=True)
class FaultQuestions:
    """All questions about one path; the later decisions are asked about first, where time may be short."""

    path: BadPath
    budget: Budget
    engine: str
    options: Options

    def refuse(self) -> None:
        """An error where nothing can be asked."""
        question = self.path.question
        if question.time is not Time.STEPS:
            raise InputError("faults are found in systems that move in steps; this claim counts seconds or samples")
        if question.claim.linear is None:
            raise InputError(f"faults are found of claims about all paths; {question.claim.text} asks about states")
        if not deciders(question.system):
            raise InputError('no agent takes one of finitely many actions (act = "argmax"): there is no other to try')

    @property
    def system(self) -> System:
        return self.path.question.system

    @cached_property
    def directed(self) -> DirectedSystem:
        return directed(self.system)

    @cached_property
    def free(self) -> FreeSystem:
        return free(self.system)

    @cached_property
    def positions(self) -> range:
        """Those at which an action matters: the last one only if it leads on, or if the claim speaks of actions."""
        trace, question = self.path.trace, self.path.question
        asked = set(order([*question.atoms.values()]))
        last = trace.loop is not None or any(action in asked for action in self.system.step.actions.values())
        return range(len(trace) if last else len(trace) - 1)

    @cached_property
    def residuals(self) -> list[Formula]:
        """What the claim still asks at each position."""
        claim, facts = self.path.question.claim, Facts(self.path.trace, self.system)
        assert claim.linear is not None
        left = [claim.linear]
        for position in range(len(self.path.trace) - 1):
            self.budget.check()
            left.append(residual(left[-1], _truths(facts, position)))
        return left

    @cached_property
    def cases(self) -> list[FaultCase]:
        """What is asked of decisions, in order; what is left of the claim is worked out before."""
        assert self.residuals
        return [one for t in reversed(self.positions) for one in self.others(t) if self.leads_on(one)]

    def others(self, position: int) -> list[FaultCase]:
        """All other actions at a position, agent by agent."""
        step = self.path.trace.steps[position]
        return [
            FaultCase(position, agent, action)
            for agent, winner in deciders(self.system).items()
            for action in range(winner.args[0].size)
            if action != int(step.actions[agent])
        ]

    def leads_on(self, case: FaultCase) -> bool:
        """Whether there is a step after another action; where that is not known, the question itself will tell."""
        assert case.agent is not None
        step = self.path.trace.steps[case.position]
        if not is_exact(step):
            return True
        system = self.directed.told(step, {case.agent: case.action})
        inputs = {var: value if var.shape else value[0] for var, value in system.initial.first.items()}
        decided = dict.fromkeys(system.step.names.values(), 0)
        try:
            return ReplayWalk(system, [decided], PRECISIONS[-1], self.budget.check).enabled(inputs, 0)
        except (NotAPath, Undecided):
            return True

    @property
    def asks(self) -> list[Ask]:
        return [self._asking(case) for case in self.cases]

    def _asking(self, case: FaultCase) -> Ask:
        return lambda budget: self.ask(case, budget)

    def ask(self, case: FaultCase, budget: Budget) -> Result:
        """The answer to one question; from a position that is known within enclosures only, nothing is refuted."""
        whose = "what is left" if case.agent is None else case.agent
        budget.progress(f"step {case.position}: {whose}", None)
        question = self.question(case)
        result = asked_of(engine_for(self.engine, question, self.options), question, budget)
        if result.verdict is VIOLATED and not is_exact(self.path.trace.steps[case.position]):
            return replace(result, verdict=UNKNOWN, reason=INEXACT)
        return result

    def question(self, case: FaultCase) -> Question:
        """What is left of the claim, of the paths that begin with another action; or its negation, of free ones."""
        step, left = self.path.trace.steps[case.position], self.residuals[case.position]
        if case.agent is None:
            return Question(self.free.starting(step), Not(left))
        return Question(self.directed.told(step, {case.agent: case.action}), left)

    # What was found ---------------------------------------------------------------------------------------------------

    def prospects(self) -> tuple[Prospect, ...]:
        """What could still be done at each position: where it is lost, so are all that follow, and hope goes back.

        So a few positions are asked about, in the middle of those that are left.
        """
        count, found = len(self.path.trace), dict[int, Prospect]()
        first, last = 0, count - 1  # between them nothing is known
        while first <= last:
            asked = [position for position in range(first, last + 1) if position not in found]
            if not asked:
                break
            middle = asked[len(asked) // 2]
            found[middle] = self._prospect(middle)
            if found[middle].effect is Effect.KEPT:
                first = middle + 1
            elif found[middle].effect is Effect.BROKEN:
                last = middle - 1
        kept = [found.get(position) or self._going_on(position) for position in range(first)]
        lost = [found.get(position) or Prospect(position, Effect.BROKEN) for position in range(last + 1, count)]
        return (*kept, *(found[position] for position in range(first, last + 1)), *lost)

    def _going_on(self, position: int) -> Prospect:
        """Before a position with hope there is hope, too: by what was done."""
        return Prospect(position, Effect.KEPT, self._taken(self.path.trace.steps[position].actions))

    def _prospect(self, position: int) -> Prospect:
        """What is known of the negation, the other way round; a path that violates it shows what to do first."""
        answer = self.ask(FaultCase(position), self.budget.part(PROSPECT_SHARE))
        first = answer.trace.steps[0].actions if answer.verdict is VIOLATED else {}
        return Prospect(position, HOPES[answer.verdict], self._taken(first), answer.reason)

    def _taken(self, actions: Mapping[str, Any]) -> dict[str, int]:
        return {name: int(actions[name]) for name in deciders(self.system) if name in actions}

    def decided(self, found: Sequence[Result]) -> tuple[AgentDecision, ...]:
        """The answers by position and agent, in the order of the path."""
        return tuple(self._decisions(dict(zip(self.cases, found, strict=True))))

    def _decisions(self, answers: Mapping[FaultCase, Result]) -> Iterator[AgentDecision]:
        for position in self.positions:
            step, others = self.path.trace.steps[position], self.others(position)
            for agent in deciders(self.system):
                found = tuple(_alternative(case, answers.get(case)) for case in others if case.agent == agent)
                yield AgentDecision(position, agent, int(step.actions[agent]), found)


EFFECTS = {HOLDS: Effect.KEPT, VIOLATED: Effect.BROKEN, UNKNOWN: Effect.UNKNOWN}
HOPES = {HOLDS: Effect.BROKEN, VIOLATED: Effect.KEPT, UNKNOWN: Effect.UNKNOWN}  # of the negation


def _alternative(case: FaultCase, answer: Result | None) -> OtherAction:
    if answer is None:
        return OtherAction(case.action, Effect.STOPPED)
    return OtherAction(case.action, EFFECTS[answer.verdict], answer.reason, answer.engine)


def _truths(facts: Facts, position: int) -> Callable[[Expr], bool]:
    """The truth of atoms at one position of a path."""

    def truth(atom: Expr) -> bool:
        known = facts.truth(atom, position)
        if known is None:
            raise InputError(f"at step {position} of the path the truth of an atom of the claim is not known")
        return known

    return truth
