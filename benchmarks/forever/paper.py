"""The unbounded algorithms of "LTL Verification of Memoryful Neural Agents" (AAMAS 2025), set right, as a baseline.

Bounded paths with growing depth, lassos (Algorithm 3) and inductive invariants (Algorithm 4), for the operators of the
paper's Table 1: each step is first tried by bound propagation, then by mixed-integer programs over the recursive
unrolling. Bounds and encodings are Vernal's own, so what is compared is the flow. Where the paper is wrong, this does
what it should have done:

- a lasso is one path whose state and memory return, not two sets of states that intersect; and it is replayed exactly;
- invariants are checked at step 0, and their sets are boxes, each around the image of the one before, so that they
  really are inductive;
- the maximal invariant begins with the declared ranges of the state and a range of the memory, and only if a step
  provably leads from them into them;
- `p R q` is refuted by one path and its prefix, never by a lasso of one path and a prefix of another;
- nonlinear functions are enclosed, not fitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from benchmarks.forever.boxes import Images, Programs, Propagation
from benchmarks.forever.invariants import Maximal, Minimal, closed_range
from benchmarks.ladder import AskedOnce
from vernal.engines.options import MilpOptions
from vernal.engines.programs.milp import Milp
from vernal.engines.programs.program import Solving
from vernal.evidence import confirm
from vernal.evidence.candidates import failing_state, path_of
from vernal.evidence.knowledge import Candidate, Counterexample, FailingState, Known, Open, Proof, Statistics
from vernal.evidence.replay import NodeDecisions, verify
from vernal.evidence.result import Assurance
from vernal.evidence.trace import Trace
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.logic.direction import Direction
from vernal.logic.formula import ALL_TIME, Always, And, Bound, Eventually, Formula, Not, Or, Release, Until, Weak
from vernal.logic.normal import Logic, classify
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.initial import Valuation
from vernal.run.budget import Budget
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.refutation import Case, refuting_condition
from vernal.solvers.highs import Highs

DEPTH = 20
UNSUPPORTED = "the paper's algorithms are for one temporal operator of all paths, without a bound"

Operator = Always | Eventually | Until | Release | Weak


class Paper:
    """The engine `paper`: bounded paths, lassos and invariants up to a depth."""

    name = "paper"

    def __init__(self, depth: int = DEPTH) -> None:
        self.depth = depth

    def takes(self, question: Question) -> str | None:
        return None

    def attempt(self, question: Question, budget: Budget) -> Known:
        formula = question.claim.linear
        if not _is_supported(formula):
            return Open(engine=self.name, reason=UNSUPPORTED)
        assert isinstance(formula, Operator)
        asked = replace(question, formula=formula)
        search = Search(asked, formula, budget, self.depth)
        known = search.eventually() if isinstance(formula, Eventually | Until) else search.always()
        return known or Open(engine=self.name, reason=f"nothing was found up to depth {self.depth}")


def _is_supported(formula: Formula | None) -> bool:
    match formula:
        case Always(arg, bound) | Eventually(arg, bound):
            return bound == ALL_TIME and classify(arg) is Logic.STATE
        case Until(p, q, bound) | Release(p, q, bound) | Weak(p, q, bound):
            return bound == ALL_TIME and classify(p) is Logic.STATE is classify(q)
    return False


def safe_part(formula: Always | Release | Weak) -> Formula:
    """What makes the formula true if it is true for ever."""
    match formula:
        case Always(arg):
            return arg
        case Release(_, q):
            return q
        case Weak(p, q):
            return Or((p, q))


@dataclass(frozen=True)
class Search:
    """One question, asked with growing depth."""

    question: Question
    formula: Operator
    budget: Budget
    depth: int
    milp: Milp = field(default_factory=lambda: Milp(MilpOptions(solver=AskedOnce())))

    # F and U: Algorithm 3 and bounded paths ---------------------------------------------------------------------------

    def eventually(self) -> Known | None:
        assert isinstance(self.formula, Eventually | Until)
        goal = self.formula.arg if isinstance(self.formula, Eventually) else self.formula.right
        found = self.invariant(Not(goal), self.propagation)
        if found is not None:
            return self._never(found)
        for t in range(self.depth + 1):
            known = self.bounded(t) or (self.lasso(goal, t) if t else None)
            if known is not None:
                return known
        found = self.invariant(Not(goal), self.programs)
        return None if found is None else self._never(found)

    def _never(self, statistics: Statistics) -> Known | None:
        """The goal is never reached, from no start: any of them shows it."""
        shown = failing_state(self.question, self.question.system.initial.hull, self.budget.check)
        if shown is None:
            return None
        excluded = "an inductive invariant excludes the goal for ever"
        return FailingState(
            engine=Paper.name,
            trace=shown,
            direction=Direction.TWO_SIDED,
            assurance=Assurance.SOLVER,
            excluded_by=excluded,
            statistics=statistics,
        )

    def lasso(self, goal: Formula, t: int) -> Known | None:
        """A path on which the goal is false at 0, ..., t - 1 and that is back at an earlier position at t."""
        system = self.question.system
        unrolling = Unrolling(system.step)
        without = Eventually(goal, _up_to(t - 1))
        never = refuting_condition(system, without, self.budget.check, unrolling)
        for back in range(t):
            self.budget.check()
            conditions = [never, *self._returns(unrolling, t, back)]
            solving = Lassos(Paper.name, system, self.formula, t, self.budget, self.milp.solver, back=back)
            space = solving.space(system.initial)
            condition = build.conj(*conditions)
            if not space.may_be(condition):
                continue
            answer = solving.answer(space, Case(condition))
            if answer.trace is not None:
                return Counterexample(engine=Paper.name, trace=answer.trace, statistics={"method": "lasso", "depth": t})
        return None

    def _returns(self, unrolling: Unrolling, t: int, back: int) -> Iterator[Expr]:
        """That t transitions are possible and that state and memory at t are those of an earlier position."""
        yield from (unrolling.enabled(i, self.budget.check) for i in range(t))
        here, there = unrolling.position(t, self.budget.check), unrolling.position(back)
        for var in unrolling.step.inputs:
            for i in range(var.size):
                yield build.eq(_part(here[var], i), _part(there[var], i))

    # G, R and W: Algorithm 4 ------------------------------------------------------------------------------------------

    def always(self) -> Known | None:
        assert isinstance(self.formula, Always | Release | Weak)
        safe = safe_part(self.formula)
        found = self.invariant(safe, self.propagation)
        if found is not None:
            return self._proof(found)
        growing = self.growing(safe, self.programs)
        for t in range(self.depth + 1):
            known = self.bounded(t)
            if known is not None:
                return known
            found = next(growing, None)
            if found:
                return self._proof(found)
        return None

    def _proof(self, statistics: Statistics) -> Known:
        return Proof(engine=Paper.name, direction=Direction.OVER, assurance=Assurance.SOLVER, statistics=statistics)

    # Bounded paths ----------------------------------------------------------------------------------------------------

    def bounded(self, t: int) -> Known | None:
        """What the question with the bound t says of the question without one."""
        self.budget.check()
        only_here = Bound(Fraction(t), Fraction(t))  # earlier positions were asked before
        shorter = replace(self.formula, bound=only_here if isinstance(self.formula, Always) else _up_to(t))
        known = self._ask(shorter)
        statistics: Statistics = {"method": "bounded paths", "depth": t}
        if isinstance(known, Proof) and isinstance(self.formula, Eventually | Until):
            return replace(known, engine=Paper.name, statistics=statistics)
        if isinstance(known, Counterexample) and confirm.truth(known.trace, self.formula) is False:
            return replace(known, engine=Paper.name, statistics=statistics)
        released = self._released(t)
        if released is not None and isinstance(known := self._ask(released), Proof):
            return replace(known, engine=Paper.name, statistics=statistics)
        return None

    def _released(self, t: int) -> Formula | None:
        """That what releases the right side, or ends the left one, comes within t steps."""
        match self.formula:
            case Release(p, q):
                return Until(q, And((p, q)), _up_to(t))
            case Weak(p, q):
                return Until(p, q, _up_to(t))
        return None

    def _ask(self, formula: Formula) -> Known:
        known = self.milp.attempt(replace(self.question, formula=formula), self.budget)
        self.budget.check()
        return known

    # Invariants -------------------------------------------------------------------------------------------------------

    @property
    def propagation(self) -> Images:
        return Propagation(self.question.system, self.budget)

    @property
    def programs(self) -> Images:
        return Programs(self.question.system, self.budget, Highs())

    def invariant(self, safe: Formula, images: Images) -> Statistics | None:
        """An invariant in which a condition is true, found up to the depth."""
        return next((found for found in self.growing(safe, images) if found), None)

    def growing(self, safe: Formula, images: Images) -> Iterator[Statistics]:
        """Depth after depth: what was found, or nothing. Ends where an image has no bounds.

        It also ends at a box in which the condition is not true everywhere: no invariant contains that box.
        """
        system = self.question.system
        condition = refuting_condition(system, Not(safe), self.budget.check)
        method = "BPT" if isinstance(images, Propagation) else "RMILP"
        minimal = Minimal(images, condition, [list(initial_boxes(system).boxes)])
        maximal = Maximal(images, condition, closed_range(system, images))
        for t in range(1, self.depth + 1):
            self.budget.check()
            if not minimal.keeps():
                return
            if maximal.keeps():
                yield {"method": f"maximal invariant, {method}", "depth": t}
            if not minimal.grow():
                return
            yield {"method": f"minimal invariant, {method}", "depth": t} if minimal.found else {}
            maximal.shrink()


def _up_to(t: int) -> Bound:
    return Bound(Fraction(0), Fraction(t))


def _part(node: Expr, i: int) -> Expr:
    return build.component(node, i) if node.shape else node


@dataclass(frozen=True)
class Lassos(Solving):
    """Programs whose points are paths that return to position `back`; the loop has to close exactly."""

    back: int = field(kw_only=True)

    def path(self, values: Valuation, taken: Sequence[NodeDecisions]) -> Trace | None:
        candidate = Candidate(*self.system.pack(values), taken, self.steps)
        trace = path_of(self.system, candidate, self.budget.check)
        if trace is None or len(trace) != self.steps + 1:
            return None
        closed = replace(trace, steps=trace.steps[:-1], loop=self.back, complete=False)
        accepted = verify(self.system, closed).accepted
        return closed if accepted and confirm.truth(closed, self.goal) is False else None
