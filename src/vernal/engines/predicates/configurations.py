"""The configurations of the ICAPS 2022 paper: other ways to answer the tests of an abstraction, for comparison.

The solver alone (`SOLVER`); a relaxed test first (`RELAXED_SOLVER`), and its signs of ReLUs fixed in the solver's
script (`FIXED_SOLVER`); the relaxed test with branch and bound around it (`BRANCHING`); the relaxed test alone
(`RELAXED`), which leaves open what it does not exclude. A relaxed test is one of our bounds, or of a solver made for
ReLU networks. A question that does not ask the policy is answered by our own search, as base tests are in the paper.

A search that is given a recorder writes down every test it answers as a `RecordedTest`, so that configurations can be
compared test by test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vernal.engines.options import BOUNDS, WITH_SOLVER, PredicateOptions, TransitionTest
from vernal.engines.predicates.boxes import IntegerBoxes
from vernal.engines.predicates.cells import tightened
from vernal.engines.predicates.integer_model import OperatorModel
from vernal.engines.predicates.policy import PointQuestion, PolicyBounds
from vernal.engines.predicates.relaxed_tests import BoundsRelaxation, RelaxedTest, SolverRelaxation, branch
from vernal.engines.predicates.witnesses import Existence, Found, WitnessSearch
from vernal.evidence.result import Assurance
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.smt import Script
from vernal.interpret.value_sets import Range
from vernal.model import build
from vernal.model.expr import Expr, Relu
from vernal.model.graph import order, substitute
from vernal.model.initial import Start, start_among
from vernal.run.budget import Budget
from vernal.solvers import registry
from vernal.solvers.base import Satisfiable, SmtSolver


@dataclass(frozen=True, eq=False)
class RecordedTest:
    """A test that was answered."""

    box: IntegerBoxes  # one
    question: PointQuestion
    answer: Existence


@dataclass(frozen=True, slots=True, eq=False)
class PointAnswer:
    """Whether there is a point, and one if so."""

    existence: Existence
    point: Floats | None = None


NO_POINT, OPEN = PointAnswer(Existence.NONE), PointAnswer(Existence.OPEN)


class ConfiguredTests:
    """Answers tests one by one in a configuration, and remembers the answers; asked as a `WitnessSearch` is."""

    def __init__(self, model: OperatorModel, policy: PolicyBounds, options: PredicateOptions, budget: Budget) -> None:
        self.model, self.policy, self.budget = model, policy, budget
        self.test = options.test
        self.assurance = Assurance.SOLVER if options.trusts_a_solver else Assurance.RIGOROUS
        self.counts: Counter[str] = Counter()
        self.own = WitnessSearch(model.judge, policy, budget, points=0)
        self.solver = _solver(options) if options.test in WITH_SOLVER else None
        self.relaxed, self.by_bounds = self._relaxed(options), options.relaxation == BOUNDS
        self._known: dict[Hashable, PointAnswer] = {}

    def _relaxed(self, options: PredicateOptions) -> RelaxedTest:
        if options.relaxation == BOUNDS:
            return BoundsRelaxation(self.model, self.policy)
        given = options.relaxation
        solver = registry.find_relus(given) if isinstance(given, str) else given
        return SolverRelaxation(self.model, solver, self.budget)

    # Questions --------------------------------------------------------------------------------------------------------

    def ask(self, boxes: IntegerBoxes, questions: Sequence[PointQuestion], relaxed: bool = False) -> Found:
        """For each box and its question whether there is a point; `relaxed` is content with the relaxed test."""
        answers, points = np.empty(len(questions), np.int64), boxes.lower.copy()
        for row, question in enumerate(questions):
            self.budget.check()
            found = self._remembered(boxes.take(slice(row, row + 1)), question, relaxed)
            answers[row] = found.existence
            if found.point is not None:
                points[row] = found.point
        self.counts["asked"] += len(questions)
        return Found(answers, points)

    def _remembered(self, box: IntegerBoxes, question: PointQuestion, relaxed: bool) -> PointAnswer:
        key = question, relaxed, box.lower.tobytes(), box.upper.tobytes()
        if key not in self._known:
            self.counts["searched"] += 1
            self._known[key] = self._simplified(box, question, relaxed)
        return self._known[key]

    def _simplified(self, box: IntegerBoxes, question: PointQuestion, relaxed: bool) -> PointAnswer:
        """Without conditions that the box decides, once it is tightened by them."""
        if question.selection is None:
            found = self.own.ask(box, [question])
            existence = Existence(int(found.answers[0]))
            return PointAnswer(existence, found.points[0] if existence is Existence.SOME else None)
        if question.conditions:
            box = tightened(self.model.judge, box, question.conditions)
            if box.empty[0]:
                return NO_POINT
            question = PointQuestion(self.model.judge.simplified(question.conditions, box)[0], question.selection)
        if relaxed:
            return NO_POINT if self.relaxed.ask(box, question).excluded else OPEN
        return self.answer(box, question)

    def answer(self, box: IntegerBoxes, question: PointQuestion) -> PointAnswer:
        """What this configuration says of one box; open where it cannot tell."""
        match self.test:
            case TransitionTest.SOLVER:
                return self._solved(box, question, fixed=False)
            case TransitionTest.BRANCHING if not self.by_bounds:
                return self._branched(box, question)
            case TransitionTest.OWN | TransitionTest.BRANCHING:
                found = self.own.ask(box, [question])
                return PointAnswer(Existence(int(found.answers[0])), found.points[0])
        if self.relaxed.ask(box, question).excluded:
            return NO_POINT
        if self.test is TransitionTest.RELAXED:
            return OPEN
        return self._solved(box, question, fixed=self.test is TransitionTest.FIXED_SOLVER)

    def _checked(self, box: IntegerBoxes, question: PointQuestion, point: Floats) -> bool:
        """Whether an integer point is one that is asked for, exactly."""
        here = IntegerBoxes.points(point[None, :])
        inside = bool((box.lower[0] <= point).all() and (point <= box.upper[0]).all())
        must, _ = self.model.judge.decide(question.conditions, here)
        selection = question.selection
        return inside and bool(must.all()) and (selection is None or bool(self.policy.says(selection, point[None])[0]))

    # Branch and bound -------------------------------------------------------------------------------------------------

    def _branched(self, box: IntegerBoxes, question: PointQuestion) -> PointAnswer:
        """Around relaxed tests of a solver: their points are cut off until one is integral, or none is left."""
        depends = self.own.columns(question)
        waiting = [IntegerBoxes(box.lower, np.where(depends, box.upper, box.lower))]
        while waiting:
            self.budget.check()
            self.counts["boxes"] += 1
            part = waiting.pop()
            found = self.relaxed.ask(part, question)
            if found.excluded:
                continue
            point = part.lower[0] if found.point is None else found.point
            if self._checked(part, question, np.round(point)):
                return PointAnswer(Existence.SOME, np.round(point))
            if (part.upper > part.lower).any():
                waiting += branch(part, point)
        return NO_POINT

    # The solver -------------------------------------------------------------------------------------------------------

    def _solved(self, box: IntegerBoxes, question: PointQuestion, fixed: bool) -> PointAnswer:
        assert self.solver is not None, "this configuration needs a solver"
        script = Script(self._starts(box), self.budget.check)
        for condition in self._conditions(box, question, fixed):
            script.require(condition)
        outcome = self.solver.check(script.text, script.unknowns, self.budget.left, self.budget.check)
        if outcome.status is not Satisfiable.YES:
            return NO_POINT if outcome.status is Satisfiable.NO else OPEN
        point = box.lower[0].copy()
        for column, var in enumerate(self.model.variables):
            if var in script.names:
                point[column] = float(outcome.values[script.names[var][0]])
        return PointAnswer(Existence.SOME, point) if self._checked(box, question, point) else OPEN

    def _starts(self, box: IntegerBoxes) -> Mapping[Expr, list[Start]]:
        ends = zip(self.model.variables, self.model.exact(box.lower[0]), self.model.exact(box.upper[0]), strict=True)
        return {var: [start_among(range(int(low), int(high) + 1), var.sort)] for var, low, high in ends}

    def _conditions(self, box: IntegerBoxes, question: PointQuestion, fixed: bool) -> list[Expr]:
        """Everything a test asks, as expressions over the state."""
        made = [self.model.table.expression(condition) for condition in question.conditions]
        selection = question.selection
        for row in selection.rows if selection is not None else ():
            made.append(build.disj(self.model.table.expression(row.unless), row.said))
        return substitute(made, self._phases(box, question)) if fixed and selection is not None else made

    def _phases(self, box: IntegerBoxes, question: PointQuestion) -> dict[Expr, Expr]:
        """ReLUs of which the relaxed test knows that they pass their argument, or stop it, component by component."""
        assert question.selection is not None
        known = self.relaxed.signs(box, question)
        found: dict[Expr, Expr] = {}
        for node in order(question.selection.nodes):
            if isinstance(node, Relu) and node in known:
                found[node] = _fixed(substitute([node.args[0]], found)[0], known[node])
        return found


def _solver(options: PredicateOptions) -> SmtSolver:
    return registry.find_smt(options.solver) if isinstance(options.solver, str) else options.solver


def _fixed(argument: Expr, known: Range) -> Expr:
    """max(x, 0) with the components of which the sign is known written without it."""
    if not argument.shape:
        lower, upper = (float(np.asarray(end).reshape(-1)[0]) for end in (known.lower, known.upper))
        return argument if lower >= 0 else build.const(0) if upper <= 0 else build.relu(argument)
    lowers, uppers = (np.asarray(end)[0] for end in (known.lower, known.upper))
    parts = [build.component(argument, place) for place in range(argument.size)]
    signs = zip(parts, lowers.tolist(), uppers.tolist(), strict=True)
    return build.concat(*(p if low >= 0 else build.const(0) if up <= 0 else build.relu(p) for p, low, up in signs))
