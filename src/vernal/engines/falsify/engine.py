"""Falsify: batched simulation and local search; a cheap first answer for the wrong.

Thousands of runs in floating point look for one on which the formula is false. Only a run that is also an exact path
of the system, on which the formula is exactly false, is a violation. For claims of all paths that suffices: if a state
satisfies a formula in which every path quantifier is A (negations pushed inside), then every path from it satisfies
the formula read along the path; so one path that does not refutes it. Dually, one path proves a claim of some path, of
the state it starts from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from vernal.engines import single_path
from vernal.engines.base import Question, unknown
from vernal.engines.falsify.lift import violation
from vernal.engines.falsify.search import Population, Target, children, first_plan, freedom
from vernal.evidence import confirm
from vernal.evidence.confirm import close_atom
from vernal.evidence.replay import first_range_exit
from vernal.evidence.result import HOLDS, VIOLATED, Evidence, Result, Verdict
from vernal.evidence.trace import Trace
from vernal.logic.formula import Always, Bound, Eventually, Formula, Not, Quantifier, Release, Temporal, Until, Weak
from vernal.logic.normal import TRUTH, atoms, fold, horizon, nnf, quantifiers, rebuild, steps, strip_quantifiers
from vernal.model.build import TRUE
from vernal.model.expr import Const, Expr, Role, Var
from vernal.model.graph import order
from vernal.run.budget import Budget
from vernal.simulate.runs import Plan, Runs, Simulator
from vernal.simulate.starts import Array, NoInitialState

WINDOW = 50  # how many steps are searched where a formula has no bound
CELLS = 400_000  # run-steps of one batch
GENERATIONS = 25
PATIENCE = 8  # generations without progress
TOLERANCE = 1e-9  # relative; a margin this close to zero is decided by exact replay
TRIES = 4  # exact replays per batch, of clear violations and of those at zero each
LONGEST = 50_000  # steps
UNDEFINED = "a quotient by 0, or log, sqrt or tan outside its domain; begin elsewhere, or say what is meant there"

Statistics = dict[str, int | float]


class Falsify:
    """Searches for a path on which the formula is false (or, for a claim of some path, true)."""

    name = "falsify"

    def __init__(self, generations: int = GENERATIONS) -> None:
        """How often to breed from the best runs: 0 is one batch of simulations."""
        self.generations = generations

    def check(self, question: Question, budget: Budget) -> Result:
        """Violated with an exact trace, holds with a witness where one suffices, else unknown."""
        path = strip_quantifiers(question.formula)
        window = refutable(path)
        length = horizon(window)
        assert length is not None
        if length > LONGEST:
            reason = f"a horizon of {length:,} steps is too long to simulate; at most {LONGEST:,} are"
            return unknown(question, self.name, reason)
        alone = _single(question, path, length, budget)
        if alone is not None:
            return alone
        match quantifiers(question.formula):
            case kinds if kinds <= {Quantifier.ALL}:
                goal, verdict = path, VIOLATED
            case kinds if kinds == {Quantifier.SOME} and single_path.has_one_start(question.system):
                goal, verdict = Not(path), HOLDS
            case kinds if kinds == {Quantifier.SOME}:
                reason = "a witness proves a claim of some path for one initial state only, and here are several"
                return unknown(question, self.name, f"not supported by this engine: {reason}; try --engine bounds")
            case _:
                reason = "a formula that mixes claims of all paths and of some path"
                return unknown(question, self.name, f"not supported by this engine: {reason}; try --engine bounds")
        return _search(question, goal, verdict, budget, self.generations)


def _search(question: Question, goal: Formula, verdict: Verdict, budget: Budget, generations: int) -> Result:
    """Look for a path on which the goal is false."""
    window = refutable(goal)
    if not _claims(window) and question.system.enabled is TRUE:
        reason = "no finite path decides this formula, and this engine looks at finite paths only"
        return unknown(question, Falsify.name, f"{reason}; give the operators bounds")
    hunt = Hunt(question, goal, window, budget, generations)
    try:
        with np.errstate(all="ignore"):  # what overflows in floats is no candidate
            trace = hunt.go()
    except NoInitialState as error:
        return unknown(question, Falsify.name, f"no initial state was found: {error.message}")
    if (
        trace is not None
        and verdict is HOLDS
        and not single_path.is_only_position(question.system, question.formula, trace)
    ):
        return unknown(question, Falsify.name, single_path.OPEN_ACTION, statistics=hunt.statistics())
    if trace is not None:
        return _decided(question, goal, window, verdict, trace, hunt.statistics())
    what = "violation" if verdict is VIOLATED else "witness"
    reason = f"no {what} found in {hunt.simulated:,} runs of {hunt.length} steps"
    if hunt.undefined:
        reason += f"; in {hunt.undefined:,} of them a state is not defined: {UNDEFINED}"
    return unknown(question, Falsify.name, reason, statistics=hunt.statistics())


# Results --------------------------------------------------------------------------------------------------------------


def _decided(
    question: Question,
    goal: Formula,
    window: Formula,
    verdict: Verdict,
    trace: Trace,
    statistics: dict[str, int | float],
) -> Result:
    margin = confirm.margin(trace, goal if trace.complete else window)
    if margin is not None:
        margin = (margin if verdict is VIOLATED else -margin) + 0.0
    result = Result(str(question.formula), verdict, Falsify.name, question.name, margin=margin, statistics=statistics)
    return replace(_with_trace(result, question, trace), step=len(trace) - 1 if verdict is VIOLATED else None)


def _with_trace(result: Result, question: Question, trace: Trace) -> Result:
    """The trace as evidence, what it rests on, and where it leaves the declared ranges."""
    left = first_range_exit(trace)
    notes = () if left is None else (f"{left[1]} leaves its range at step {left[0]} of the trace",)
    return replace(
        result,
        assurance=confirm.assurance(trace, question.formula),
        evidence=Evidence.TRACE,
        trace=trace,
        notes=notes,
        scope=_scope(question.formula) if result.verdict is HOLDS else None,
    )


def _scope(formula: Formula) -> str:
    reach = horizon(formula)
    return "for all time" if reach is None else f"up to step {reach}"


def _single(question: Question, path: Formula, length: int, budget: Budget) -> Result | None:
    """The answer for a system with a single path: quantifiers do not matter, and the exact path decides."""
    asks_actions = any(_is_action(node) for atom in atoms(path) for node in order([close_atom(question.system, atom)]))
    trace = single_path.only_path(question.system, length, budget.check, last_action=asks_actions)
    answer = None if trace is None else confirm.truth(trace, path)
    if trace is None or answer is None:
        return None
    last = confirm.decided_at(trace, path)
    if not answer and last < len(trace) - 1:
        trace = single_path.only_path(question.system, last, budget.check, last_action=asks_actions) or trace
    goal = Not(path) if answer else path
    verdict = HOLDS if answer else VIOLATED
    return _decided(question, goal, refutable(goal), verdict, trace, {"runs": 1, "steps": length})


def _is_action(node: Expr) -> bool:
    return isinstance(node, Var) and node.role is Role.ACTION


# What a prefix can refute ---------------------------------------------------------------------------------------------


def refutable(formula: Formula) -> Formula:
    """A bounded formula that follows from this one: whatever path refutes it, refutes the formula.

    Operators without an end get a window. That something happens at last is no claim about a window, so `F p` becomes
    true and `p U q` becomes `p W q`. A formula that is bounded already only comes in negation normal form.
    """
    if horizon(formula) is not None:
        return formula
    normal = nnf(formula)
    depth = fold(normal, lambda node, args: _is_endless(node) + max(args, default=0))
    return fold(normal, lambda node, args: _windowed(node, args, max(5, WINDOW // depth)))


def _claims(formula: Formula) -> bool:
    """Whether the formula says anything about a state."""
    return any(not isinstance(atom, Const) for atom in atoms(formula))


def _is_endless(node: Formula) -> bool:
    return isinstance(node, Eventually | Always | Until | Release | Weak) and node.bound.upper is None


def _windowed(node: Formula, args: tuple[Formula, ...], width: int) -> Formula:
    made = rebuild(node, args)
    if not _is_endless(made) or not isinstance(made, Temporal):
        return made
    match made:
        case Eventually():
            return TRUTH
        case Until(left, right, bound):
            return Weak(left, right, _window(bound, width))
        case Always() | Release() | Weak():
            return replace(made, bound=_window(made.bound, width))
    return made


def _window(bound: Bound, width: int) -> Bound:
    return Bound(bound.lower, Fraction(steps(bound)[0] + width))


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
        # A formula that only the end of a path can refute still wants a path.
        self.length = reach if _claims(self.window) or horizon(self.goal) is not None else WINDOW
        self.size = int(np.clip(CELLS // (self.length + 1), 50, 2000)) if freedom(system) else 1
        self.rng = np.random.default_rng(self.budget.seed)
        self.simulator = Simulator(system, self.length)
        self.target = Target(system, self.goal, self.window)

    def go(self) -> Trace | None:
        """The first exact path found on which the goal is false."""
        system = self.question.system
        plan = first_plan(system, self.size, self.length, self.rng)
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
            if waited == PATIENCE:
                break
        return None

    def batch(self, plan: Plan) -> tuple[Trace | None, Array]:
        """Simulate a plan; the exact violation it contains, if any, and its margins."""
        self.budget.check()
        runs = self.simulator.run(plan, self.budget.check)
        margins = self.target.margins(runs)
        self.simulated += plan.runs
        self.undefined += int(runs.undefined.sum())
        self.best = min(self.best, float(margins.min(initial=np.inf)))
        return self.confirm(runs, margins), margins

    def confirm(self, runs: Runs, margins: Array) -> Trace | None:
        """Replay the best few clear violations, then a few at zero: exact arithmetic tells these apart."""
        slack = TOLERANCE * (1 + _size(runs))
        clear = np.flatnonzero(margins < -slack)
        zero = np.flatnonzero(np.abs(margins) <= slack) if self.at_zero < 6 * TRIES else np.empty(0, np.intp)
        self.at_zero += min(len(zero), TRIES)
        for rows in (clear, zero):
            for row in rows[np.argsort(margins[rows], kind="stable")][:TRIES]:
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
        made: Statistics = {"runs": self.simulated, "steps": self.length, "replayed": self.replayed}
        return {**made, "best_margin": self.best} if np.isfinite(self.best) else made


def _size(runs: Runs) -> Array:
    """The largest number of each run: what rounding is relative to."""
    largest = np.zeros(runs.plan.runs)
    for values in runs.state.values():
        finite = np.where(np.isfinite(values), np.abs(values), 0)
        largest = np.maximum(largest, finite.max(axis=1))
    return largest
