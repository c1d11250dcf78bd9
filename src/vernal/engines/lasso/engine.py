"""The engine `lasso`: a claim of all paths is refuted by one path that comes back to where it was (003, section 4.2).

A path whose state and memory at t are those at t' may go round for ever, and what it has not done by then it never
does. Such paths are looked for among simulated runs, by Newton's method, in the tree of exact sets, and around states
to which runs nearly come back. Each is replayed in rational arithmetic, so that the loop really closes, or proven to be
the only one in a box where its numbers are not rational, and judged by the claim on it. A claim of some path is proven
by one, from each of finitely many initial states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from vernal.engines.chain import Chain, Prover
from vernal.engines.lasso.newton import has_irrational_loops, periodic_point
from vernal.engines.lasso.path_equations import GuidedSearch
from vernal.engines.lasso.recurrences import hints, lasso_among, near_misses, periodic, simulated
from vernal.engines.lasso.tree import LassoTree
from vernal.engines.options import DepthOptions
from vernal.engines.refusals import in_steps
from vernal.errors import Stopped, TooLong, UnsupportedFormula
from vernal.evidence.knowledge import Counterexample, Known, Open
from vernal.evidence.trace import Trace
from vernal.interpret.geometry.polyhedra import TooManyRows
from vernal.interpret.symbolic.execute import NotPiecewiseLinear
from vernal.logic.formula import Formula
from vernal.logic.progress import waits
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.system import System
from vernal.reduce.initial_cover import SingleStarts
from vernal.reduce.universal_claims import KeptByOne
from vernal.run.budget import TIMEOUT, Budget
from vernal.sets.exact.space import TooMany
from vernal.simulate.runs import Runs
from vernal.simulate.starts import NoInitialState

MAX_STARTS = 64  # initial states of a claim of some path
SIMULATED_RUNS, LONGEST_RUN = 400, 120
VISITS = (1, 4, 16)  # how often equal sets are followed, round by round
FEW_SETS, MAX_SETS = 300, 3_000  # of the tree, in one round: at first, and at last
RADIUS = Fraction(1, 1000)  # relative, around a hint
MAX_HINTS = 8
MAX_MISSES = 12  # runs that nearly come back, along which equations are solved
OF_RUNS, POINT, TREE, ALONG_RUNS, NEIGHBOURHOOD_SHARE = 0.2, 0.6, 0.2, 0.6, 0.4  # shares of the time that is left
TRY_DEEPENING = "try --engine deepening"
OF_SOME = (SingleStarts(MAX_STARTS), KeptByOne())  # of a claim of some path: what is asked of all paths

WAITS_FOR_NOTHING = f"nothing is waited for, so that only a finite path can decide it; {TRY_DEEPENING}"


class Lasso:
    """The engine `lasso`."""

    name = "lasso"

    def __init__(self, options: DepthOptions = DepthOptions()) -> None:
        self.depth = options.depth

    def takes(self, question: Question) -> str | None:
        """Claims that wait for something: of all paths, or of some path from finitely many initial states."""
        if question.time is not Time.STEPS:
            return in_steps(question)
        claim = question.claim
        if len(claim.quantifiers) > 1:
            return "not supported by this engine: a formula that mixes claims of all paths and of some path"
        if claim.mentions_some:
            return OF_SOME[0].takes(question)
        return None if waits(claim.path) else WAITS_FOR_NOTHING

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A lasso that decides the claim, or that none was found."""
        if (refused := self.takes(question)) is not None:
            return Open(engine=self.name, reason=refused)
        if not question.claim.mentions_some:
            return self._refuted(question, budget)
        known = Chain(OF_SOME, Prover(self.name, self._refuted)).attempt(question, budget)
        return replace(known, statistics={**known.statistics, "depth": self.depth})

    def _refuted(self, question: Question, budget: Budget) -> Known:
        """A lasso that breaks a claim of all paths."""
        found = LassoSearch(question.system, question.claim.path, self.depth, budget)
        trace = found.run()
        if trace is not None:
            return Counterexample(engine=self.name, trace=trace, statistics=found.statistics)
        cut_short = any(reason.startswith(TIMEOUT) for reason in found.reasons)
        said = "lassos are not finished" if cut_short else "no lasso found"
        reason = "; ".join([f"{said} within {self.depth} steps", *dict.fromkeys(found.reasons)])
        return Open(engine=self.name, reason=reason, statistics=found.statistics)


@dataclass
class LassoSearch:
    """The search for a path of a system on which a formula is false: a lasso, or a prefix met on the way."""

    system: System
    goal: Formula
    depth: int
    budget: Budget
    statistics: dict[str, int | float | str] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    def run(self) -> Trace | None:
        """Runs first, then the tree, then hints."""
        self.statistics["depth"] = self.depth
        if not waits(self.goal):
            self.reasons.append(WAITS_FOR_NOTHING)
            return None
        try:
            runs = simulated(
                self.system, SIMULATED_RUNS, min(self.depth, LONGEST_RUN), self.budget.seed, self.budget.check
            )
        except NoInitialState as error:
            self.reasons.append(f"no initial state was found: {error.message}")
            return None
        ways: list[tuple[str, float, Callable[[Budget], Trace | None]]] = [
            ("a run that comes back", OF_RUNS, lambda budget: lasso_among(runs, self.goal, budget.check)),
            ("a periodic point", POINT, lambda budget: self._irrational(runs, budget)),
            ("equations along a path", TREE, lambda budget: self._in_tree(self.system, FEW_SETS, budget)),
            ("equations along a run", ALONG_RUNS, lambda budget: self._along(runs, budget)),
            ("a state around a run's end", NEIGHBOURHOOD_SHARE, lambda budget: self._around(runs, budget)),
            ("equations along a path", 1.0, lambda budget: self._in_tree(self.system, MAX_SETS, budget)),
        ]
        for method, share, way in ways:
            trace = self._tried(way, self.budget.part(share))
            if trace is not None:
                self.statistics["method"] = method
                return replace(trace, system=self.system)
        return None

    def _tried(self, way: Callable[[Budget], Trace | None], budget: Budget) -> Trace | None:
        """What one way finds within its share of the time; a reason where it cannot."""
        try:
            return way(budget)
        except NotPiecewiseLinear as error:
            self.reasons.append(f"not piecewise linear: {error}")
        except (TooManyRows, TooMany):
            self.reasons.append("the sets are too many")
        except TooLong as error:
            self.reasons.append(error.reason)
        except UnsupportedFormula as error:
            self.reasons.append(error.message)
        except Stopped as stop:
            self.budget.check()
            self.reasons.append(stop.reason)
        return None

    def _irrational(self, runs: Runs, budget: Budget) -> Trace | None:
        """A lasso through numbers that are not rational."""
        return periodic_point(runs, self.goal, budget.check) if has_irrational_loops(self.system) else None

    def _along(self, runs: Runs, budget: Budget) -> Trace | None:
        """A lasso with the decisions of a run that nearly comes back."""
        tree = LassoTree(self.system, self.goal, budget.check, depth=self.depth, most=MAX_SETS)
        guided = GuidedSearch(tree, runs)
        found = (guided.closed(miss) for miss in near_misses(runs, self.goal, budget.check)[:MAX_MISSES])
        return next((trace for trace in found if trace is not None), None)

    def _around(self, runs: Runs, budget: Budget) -> Trace | None:
        """A lasso from a state to which a run nearly comes back, late."""
        found = hints(runs)[:MAX_HINTS]
        simple = (periodic(runs, hint, self.goal, budget.check) for hint in found)
        trace = next((lasso for lasso in simple if lasso is not None), None)
        for hint in () if trace is not None else found:
            system = self.system.cut(hint.box(self.system, RADIUS))
            trace = trace or (None if system is None else self._in_tree(system, FEW_SETS, budget))
        return trace

    def _in_tree(self, system: System, most: int, budget: Budget) -> Trace | None:
        """The tree, equal sets followed more often from round to round."""
        tree = LassoTree(system, self.goal, budget.check, depth=self.depth, most=most)
        for visits in VISITS:
            trace = tree.search(visits)
            self.statistics["sets"] = int(self.statistics.get("sets", 0)) + tree.looked_at
            if trace is not None or tree.complete or tree.looked_at >= most:
                return trace
            budget.progress(f"lasso: {self.statistics['sets']} sets, to step {tree.reached}", None)
        return None
