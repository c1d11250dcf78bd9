"""Falsify: batched simulation and local search; a cheap way to refute a claim.

Thousands of runs in floating point look for one on which the formula is false. Only a run that is also an exact path
of the system, on which the formula is exactly false, is a violation. For claims of all paths that suffices: if a state
satisfies a formula in which every path quantifier is A (negations pushed inside), then every path from it satisfies
the formula read along the path; so one path that does not refutes it. Dually, one path proves a claim of some path, of
the state it starts from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.engines.falsify.search import Population, Target, children, first_plan, freedom
from vernal.evidence import confirm, single_path
from vernal.evidence.candidates import witnessed
from vernal.evidence.confirm import close_atom
from vernal.evidence.knowledge import NO_STATISTICS, Counterexample, Known, Open, Statistics
from vernal.evidence.trace import Trace
from vernal.evidence.uniqueness import uncertain
from vernal.interpret.numbers.memory_room import numbers_at_once
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import Formula, Not, Quantifier
from vernal.logic.normal import atoms, horizon
from vernal.logic.prefix import WINDOW, refutable, says_something
from vernal.logic.question import Question
from vernal.model.expr import Argmax, Expr, Role, Var
from vernal.model.graph import order
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.simulate.lift import violation
from vernal.simulate.runs import Plan, Runs, Simulator
from vernal.simulate.starts import NoInitialState

RUN_STEPS_PER_BATCH = 400_000  # run-steps of one batch
MIN_RUNS, MAX_RUNS = 50, 2000  # runs of a batch
GENERATIONS = 25
MAX_IDLE_GENERATIONS = 8  # generations without progress
TOLERANCE = 1e-9  # relative; a margin this close to zero is decided by exact replay
MAX_REPLAYS_PER_BATCH = 4  # exact replays per batch, of clear violations and of those at zero each
MAX_RUN_STEPS = 50_000  # steps
UNDEFINED = (
    "a quotient by 0, log, sqrt or tan outside its domain, or atan2(0, 0); begin elsewhere, or say what is meant there"
)


class Falsify:
    """Searches for a path on which the formula is false (or, for a claim of some path, true)."""

    name = "falsify"

    def __init__(self, generations: int = GENERATIONS) -> None:
        """How often to breed from the best runs: 0 is one batch of simulations."""
        self.generations = generations

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A counterexample, a witness where one suffices for a proof, or that neither was found."""
        claim = question.claim
        length = horizon(refutable(claim.path))
        assert length is not None
        if length > MAX_RUN_STEPS:
            return _open(f"a horizon of {length:,} steps is too long to simulate; at most {MAX_RUN_STEPS:,} are")
        alone = _only_path(question, length, budget)
        if alone is not None:
            return alone
        if not claim.mentions_some:
            return _search(question, claim.path, budget, self.generations)
        if claim.quantifiers == {Quantifier.SOME} and question.system.initial.is_point:
            return _search(question, Not(claim.path), budget, self.generations)
        if claim.quantifiers == {Quantifier.SOME}:
            reason = "a witness proves a claim of some path for one initial state only, and here are several"
        else:
            reason = "a formula that mixes claims of all paths and of some path"
        return _open(f"not supported by this engine: {reason}; try --engine bounds")


def _open(reason: str, statistics: Statistics = NO_STATISTICS) -> Open:
    return Open(engine=Falsify.name, reason=reason, statistics=statistics)


def _search(question: Question, goal: Formula, budget: Budget, generations: int) -> Known:
    """Look for a path on which the goal is false: the claim, or the negation of a claim of some path."""
    window = refutable(goal)
    if not says_something(window) and question.is_total:
        return _open("not supported by this engine: no finite path decides this formula; give the operators bounds")
    hunt = Hunt(question, goal, window, budget, generations)
    try:
        with np.errstate(all="ignore"):  # what overflows in floats is no candidate
            trace = hunt.go()
    except NoInitialState as error:
        return _open(f"no initial state was found: {error.message}")
    if trace is None:
        return _open(_not_found(question, hunt), hunt.statistics())
    if not question.claim.mentions_some:
        return Counterexample(engine=Falsify.name, trace=trace, statistics=hunt.statistics())
    if not single_path.is_only_position(question.system, question.formula, trace):
        return _open(single_path.OPEN_ACTION, hunt.statistics())
    return witnessed(question, trace, Falsify.name, hunt.statistics())


def _not_found(question: Question, hunt: Hunt) -> str:
    what = "witness" if question.claim.mentions_some else "violation"
    reason = f"no {what} found in {hunt.simulated:,} runs of {hunt.length} steps"
    if hunt.undefined:
        reason += f"; in {hunt.undefined:,} of them a state is not defined: {UNDEFINED}"
    return reason


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


# The search -----------------------------------------------------------------------------------------------------------


@dataclass
class Hunt:
    """One search: simulate, replay the promising, breed from the best."""

    question: Question
    goal: Formula
    window: Formula
    budget: Budget
    generations: int = GENERATIONS
    simulated: int = 0
    replayed: int = 0
    at_zero: int = 0
    undefined: int = 0
    best: float = float("inf")

    def __post_init__(self) -> None:
        reach = horizon(self.window)
        assert reach is not None
        system = self.question.system
        # A formula that only the end of a path can refute still needs a path.
        self.length = reach if says_something(self.window) or horizon(self.goal) is not None else WINDOW
        self.size = batch_size(system, self.length)
        self.rng = np.random.default_rng(self.budget.seed)
        self.simulator = Simulator(system, self.length)
        self.target = Target(system, self.goal, self.window)

    def go(self) -> Trace | None:
        """The first exact path found on which the goal is false."""
        system = self.question.system
        plan = first_plan(system, self.size, self.length, self.rng, self.budget.check)
        found, margins = self.batch(plan)
        if found is not None or self.size == 1:
            return found
        population = Population(plan.rows(np.arange(0)), np.empty(0)).merge(plan, margins)
        waited = 0
        for generation in range(self.generations):
            self.budget.progress(f"searching, best margin {self.best:.4g}", generation / self.generations)
            before = self.best
            plan = children(system, population.plan, self.size, self.length, self.rng)
            found, margins = self.batch(plan)
            if found is not None:
                return found
            population = population.merge(plan, margins)
            waited = 0 if self.best < before else waited + 1
            if waited == MAX_IDLE_GENERATIONS:
                break
        return None

    def batch(self, plan: Plan) -> tuple[Trace | None, Floats]:
        """Simulate a plan; the exact violation it contains, if any, and its margins."""
        self.budget.check()
        runs = self.simulator.run(plan, self.budget.check)
        margins = self.target.margins(runs)
        self.simulated += plan.runs
        self.undefined += int(runs.undefined.sum())
        self.best = min(self.best, float(margins.min(initial=np.inf)))
        return self.confirm(runs, margins), margins

    def confirm(self, runs: Runs, margins: Floats) -> Trace | None:
        """Replay the best few clear violations, then a few at zero: exact arithmetic tells these apart."""
        slack = TOLERANCE * (1 + _size(runs))
        clear = np.flatnonzero(margins < -slack)
        zero = (
            np.flatnonzero(np.abs(margins) <= slack)
            if self.at_zero < 6 * MAX_REPLAYS_PER_BATCH
            else np.empty(0, np.intp)
        )
        self.at_zero += min(len(zero), MAX_REPLAYS_PER_BATCH)
        for rows in (clear, zero):
            for row in rows[np.argsort(margins[rows], kind="stable")][:MAX_REPLAYS_PER_BATCH]:
                self.budget.check()
                self.replayed += 1
                trace = self.lift(runs, int(row), clear=rows is clear)
                if trace is not None:
                    return trace
        return None

    def lift(self, runs: Runs, row: int, clear: bool) -> Trace | None:
        """The run as an exact violation; a clear one may be rounded to numbers one can read."""
        short = violation(runs, row, self.goal, self.budget.check, short=True) if clear else None
        return short or violation(runs, row, self.goal, self.budget.check)

    def statistics(self) -> Statistics:
        """What the search did."""
        made: dict[str, int | float] = {"runs": self.simulated, "steps": self.length, "replayed": self.replayed}
        return {**made, "best_margin": self.best} if np.isfinite(self.best) else made


def batch_size(system: System, length: int, cells: int = RUN_STEPS_PER_BATCH) -> int:
    """How many runs are simulated at once: one where nothing varies, few where only ties do, which are rare.

    Where memory is limited, no more than there is room for.
    """
    if not freedom(system):
        return 1
    only_ties = system.initial.is_point and all(isinstance(node, Argmax) for node in uncertain(system))
    numbers = (length + 1) * (sum(var.size for var in system.step.inputs) + len(system.step.names))  # of one run
    fit = numbers_at_once(MAX_RUNS * numbers) // max(1, numbers)
    return MIN_RUNS if only_ties else int(np.clip(cells // (length + 1), MIN_RUNS, np.clip(fit, MIN_RUNS, MAX_RUNS)))


def _size(runs: Runs) -> Floats:
    """The largest number of each run: what rounding is relative to."""
    largest = np.zeros(runs.plan.runs)
    for values in runs.state.values():
        finite = np.where(np.isfinite(values), np.abs(values), 0)
        largest = np.maximum(largest, finite.max(axis=1))
    return largest
