"""Falsify: batched simulation and local search; a cheap way to refute a claim.

Thousands of runs in floating point look for one on which the formula is false. Only a run that is also an exact path
of the system, on which the formula is exactly false, is a violation. For claims of all paths that suffices: if a state
satisfies a formula in which every path quantifier is A (negations pushed inside), then every path from it satisfies
the formula read along the path; so one path that does not refutes it. Dually, one path proves a claim of some path, of
the state it starts from. In continuous time a run is a trajectory, and a violation one that provably fails whatever
solution is taken.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vernal.engines.chain import Chain, Prover
from vernal.engines.falsify.earlier_times import earlier
from vernal.engines.falsify.hunt import Hunt, Quarry
from vernal.engines.falsify.paths import MAX_RUNS, FailingPaths
from vernal.engines.falsify.trajectories import FailingTrajectories
from vernal.engines.refusals import OF_SOME_SAMPLES, in_seconds
from vernal.errors import Stopped
from vernal.evidence import confirm, single_path
from vernal.evidence.candidates import witnessed
from vernal.evidence.confirm import close_atom
from vernal.evidence.knowledge import NO_STATISTICS, Counterexample, Known, Open, Statistics
from vernal.logic.formula import Formula, Not, Quantifier
from vernal.logic.normal import atoms, horizon
from vernal.logic.prefix import refutable, says_something
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.expr import Expr, Role, Var
from vernal.model.graph import order
from vernal.reduce.backward import Backward
from vernal.reduce.universal_claims import KeptByOne
from vernal.run.budget import Budget
from vernal.simulate.starts import NoInitialState

MAX_RUN_STEPS = 50_000  # steps
SHARE_FROM_BEHIND = 0.3  # of the time, for initial states that one step may take to what must not happen
MAX_FIRST_BATCHES = 50  # of runs of one step


class Falsify:
    """Searches for a run on which the formula is false (or, for a claim of some path, true)."""

    name = "falsify"

    def __init__(self, generations: int | None = None) -> None:
        """How often to breed from the best runs: 0 is one batch of simulations, None as often as is usual."""
        self.generations = generations

    def takes(self, question: Question) -> str | None:
        """Claims of all paths; any claim, if there is one initial state: one path may decide it."""
        if question.time is Time.SECONDS:
            return in_seconds(question)
        length = horizon(refutable(question.claim.path))
        if length is not None and length > MAX_RUN_STEPS:
            return f"a horizon of {length:,} steps is too long to simulate; at most {MAX_RUN_STEPS:,} are"
        alone = question.model.initial.is_point
        alone &= question.time is Time.STEPS or question.claim.quantifiers == {Quantifier.SOME}
        if question.claim.mentions_some and not alone:
            return _not_of_some(question)
        return None

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A counterexample, a witness where one suffices for a proof, or that neither was found."""
        if (refused := self.takes(question)) is not None:
            return _open(refused)
        if question.time is not Time.STEPS and question.claim.mentions_some:
            return Chain((KeptByOne(),), Prover(self.name, self.attempt)).attempt(question, budget)
        if question.time is not Time.STEPS:
            for asked in earlier(question):
                sooner = hunted(FailingTrajectories(asked, budget), budget, 0)
                if isinstance(sooner, Counterexample):
                    return sooner
            return hunted(FailingTrajectories(question, budget), budget, self.generations)
        claim = question.claim
        length = horizon(refutable(claim.path))
        assert length is not None
        alone = _only_path(question, length, budget)
        if alone is not None:
            return alone
        if not claim.mentions_some:
            found = self._from_behind(question, budget)
            return found or _search(question, claim.path, budget, self.generations)
        if claim.quantifiers == {Quantifier.SOME} and question.system.initial.is_point:
            return _search(question, Not(claim.path), budget, self.generations)
        return _open(_not_of_some(question))

    def _from_behind(self, question: Question, budget: Budget) -> Known | None:
        """A first step that breaks what is claimed of integers and labels, from where one may; None where none does.

        Among millions of initial states these may be few. One batch of simulations is for what is found at once.
        """
        if self.generations == 0 or Backward().takes(question) is not None:
            return None
        part = budget.part(SHARE_FROM_BEHIND)
        try:
            found = Chain((Backward(),), Prover(self.name, _first_steps)).attempt(question, part)
        except Stopped:
            return None
        return found if isinstance(found, Counterexample) else None


def _first_steps(question: Question, budget: Budget) -> Known:
    """Runs of one step, batch after batch from fresh starts, the more the more there are: little to breed from."""
    count = question.system.initial.count
    batches = min(MAX_FIRST_BATCHES, 1 + count // MAX_RUNS)
    for seed in range(batches):
        found = _search(question, question.claim.path, replace(budget, seed=budget.seed + seed), 0)
        if isinstance(found, Counterexample):
            break
    return found


def _not_of_some(question: Question) -> str:
    """Why a claim of some path is not taken."""
    if question.time is not Time.STEPS:
        return OF_SOME_SAMPLES
    if question.claim.quantifiers == {Quantifier.SOME}:
        reason = "a witness proves a claim of some path for one initial state only, and here are several"
    else:
        reason = "a formula that mixes claims of all paths and of some path"
    return f"not supported by this engine: {reason}; try --engine bounds"


def _open(reason: str, statistics: Statistics = NO_STATISTICS) -> Open:
    return Open(engine=Falsify.name, reason=reason, statistics=statistics)


def _search(question: Question, goal: Formula, budget: Budget, generations: int | None) -> Known:
    """Look for a path on which the goal is false: the claim, or the negation of a claim of some path."""
    window = refutable(goal)
    if not says_something(window) and question.is_total:
        return _open("not supported by this engine: no finite path decides this formula; give the operators bounds")
    found = hunted(FailingPaths(question, goal, window, budget), budget, generations)
    if not isinstance(found, Counterexample) or not question.claim.mentions_some:
        return found
    if not single_path.is_only_position(question.system, question.formula, found.trace):
        return _open(single_path.OPEN_ACTION, found.statistics)
    return witnessed(question, found.trace, Falsify.name, found.statistics)


def hunted(quarry: Quarry, budget: Budget, generations: int | None) -> Counterexample | Open:
    """The run that a search finds, or why it finds none."""
    hunt = Hunt(quarry, budget, generations)
    try:
        with np.errstate(all="ignore"):  # what overflows in floats is no candidate
            trace = hunt.go()
    except NoInitialState as error:
        return _open(f"no initial state was found: {error.message}")
    if trace is None:
        return _open(quarry.missed(hunt.simulated), hunt.statistics())
    return Counterexample(engine=Falsify.name, trace=trace, statistics=hunt.statistics())


def _only_path(question: Question, length: int, budget: Budget) -> Known | None:
    """What a system with a single path shows: quantifiers do not matter, and the exact path decides."""
    system, path = question.system, question.claim.path
    asks_actions = any(_is_action(node) for atom in atoms(path) for node in order([close_atom(system, atom)]))
    trace = single_path.only_path(system, length, budget.check, last_action=asks_actions)
    truth = None if trace is None else confirm.truth(trace, path)
    if trace is None or truth is None:
        return None
    statistics: Statistics = {"runs": 1, "steps": length}
    if truth:
        return witnessed(question, trace, Falsify.name, statistics, single_path.OF_ONLY_PATH)
    last = confirm.decided_at(trace, path)
    if last < len(trace) - 1:
        trace = single_path.only_path(system, last, budget.check, last_action=asks_actions) or trace
    return Counterexample(engine=Falsify.name, trace=trace, direction=single_path.OF_ONLY_PATH, statistics=statistics)


def _is_action(node: Expr) -> bool:
    return isinstance(node, Var) and node.role is Role.ACTION
