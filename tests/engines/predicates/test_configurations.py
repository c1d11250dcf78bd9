"""Tests answered in every configuration: the same answers, as far as a configuration can tell."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest

import vernal as vn
from tests.available import is_here
from tests.planning_answers import drawn
from tests.planning_loops import LabelledEdge, planning_system
from tests.solvers.test_relus import solved
from vernal.engines.options import BOUNDS, PredicateOptions, TransitionTest
from vernal.engines.predicates.abstraction import Abstraction
from vernal.engines.predicates.boxes import IntegerBoxes
from vernal.engines.predicates.configurations import ConfiguredTests, RecordedTest
from vernal.engines.predicates.integer_model import OperatorModel
from vernal.engines.predicates.policy import PolicyBounds
from vernal.engines.predicates.relaxed_tests import SolverRelaxation, branch
from vernal.engines.predicates.witnesses import Existence, WitnessSearch
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.relus import ReluProgram
from vernal.logic.formula import ALL_TIME, Always, Atom
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.expr import Matrix
from vernal.model.network import Network, network_input
from vernal.model.sorts import INT
from vernal.model.system import Init, Span, Variable
from vernal.model.tick import idle
from vernal.run.budget import Budget
from vernal.solvers.base import ReluBounds, ReluSolved, Satisfiable

MAX_TESTS = 12  # of one system


def recorded(seed: int) -> tuple[OperatorModel, list[RecordedTest]]:
    """The tests of a random abstraction."""
    case, budget, tests = drawn(seed), Budget(60), []
    model = OperatorModel(case.system, build.negate(case.unsafe))
    policy = PolicyBounds(model.variables, model.judge, budget.check)
    search = WitnessSearch(model.judge, policy, budget, recorder=lambda *test: tests.append(RecordedTest(*test)))
    Abstraction(model, case.predicates[:3], search, PredicateOptions(), budget).explore()
    return model, [test for test in tests if test.question.selection is not None][:MAX_TESTS]


def configured(model: OperatorModel, options: PredicateOptions) -> ConfiguredTests:
    budget = Budget(60)
    return ConfiguredTests(model, PolicyBounds(model.variables, model.judge, budget.check), options, budget)


class SamplingSolver:
    """Excludes nothing; its points are corners, centres and fractions of boxes, in turn."""

    name = "sampling"
    requires: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.programs: list[ReluProgram] = []

    def solve(self, program: ReluProgram, time_limit: float = np.inf, tick: Callable[[], object] = idle) -> ReluSolved:
        self.programs.append(program)
        lower, upper = program.lower[: program.inputs], program.upper[: program.inputs]
        return ReluSolved(Satisfiable.YES, lower + (upper - lower) * (len(self.programs) % 4) / 3)

    def bounds(
        self, program: ReluProgram, time_limit: float = np.inf, tick: Callable[[], object] = idle
    ) -> ReluBounds | None:
        return None


def agrees(configuration: TransitionTest, relaxation: str | SamplingSolver, seeds: range) -> int:
    """Tests that are answered, each as it was recorded, and each point is one."""
    known = 0
    for seed in seeds:
        model, tests = recorded(seed)
        asked = configured(model, PredicateOptions(test=configuration, relaxation=relaxation))
        found = [asked.ask(test.box, [test.question]) for test in tests]
        for test, one in zip(tests, found, strict=True):
            assert one.answers[0] in {test.answer, Existence.OPEN}
            known += int(one.answers[0] != Existence.OPEN)
            if one.answers[0] == Existence.SOME:
                assert asked._checked(test.box, test.question, one.points[0])
    return known


@pytest.mark.parametrize("configuration", TransitionTest)
def test_every_configuration_agrees(configuration: TransitionTest) -> None:
    if "solver" in configuration and not is_here("smt"):
        pytest.skip("pip install 'vernal[smt]'")
    assert agrees(configuration, BOUNDS, range(700, 706)) > 0


@pytest.mark.parametrize("configuration", [t for t in TransitionTest if "relaxed" in t and "solver" not in t])
def test_branch_and_bound_around_any_solver_is_exact(configuration: TransitionTest) -> None:
    known = agrees(configuration, SamplingSolver(), range(700, 703))
    assert (known > 0) is (configuration is TransitionTest.BRANCHING)


@pytest.mark.skipif(find_spec("maraboupy") is None, reason="pip install 'vernal[marabou]'")
@pytest.mark.parametrize("configuration", [t for t in TransitionTest if "relaxed" in t])
def test_marabou_agrees(configuration: TransitionTest) -> None:
    if "solver" in configuration and not is_here("smt"):
        pytest.skip("pip install 'vernal[smt]'")
    assert agrees(configuration, "marabou", range(700, 703)) > 0


def test_only_the_relaxed_configuration_leaves_tests_open() -> None:
    model, tests = recorded(701)
    assert tests
    asked = configured(model, PredicateOptions(test=TransitionTest.BRANCHING))
    assert all(asked.answer(test.box, test.question).existence is test.answer for test in tests)


def test_a_relaxed_program_has_every_point() -> None:
    """At integer points of the box that the question asks for, every row of the solver's program is true."""
    model, tests = recorded(702)
    some = [test for test in tests if test.answer is Existence.SOME]
    assert some
    for test in some:
        asked = configured(model, PredicateOptions(test=TransitionTest.BRANCHING))
        point = asked.answer(test.box, test.question).point
        assert point is not None
        solver = SamplingSolver()
        SolverRelaxation(model, solver, Budget(60)).ask(test.box, test.question)
        assert satisfied(solver.programs[0], point)


def satisfied(program: ReluProgram, inputs: Floats) -> bool:
    """Whether inputs satisfy the rows, the columns of which are filled in one after the other."""
    values = solved(program, inputs.tolist())
    rest = [row for row in program.rows if not row.equal]
    inside = all(program.lower[c] <= values[c] <= program.upper[c] for c in range(program.inputs))
    return inside and all(sum(f * values[c] for c, f in row.factors.items()) <= row.constant + 1e-9 for row in rest)


def test_branching_cuts_a_point_off_and_keeps_the_integers() -> None:
    box = IntegerBoxes(np.array([[0.0, -1.0]]), np.array([[3.0, 1.0]]))
    for point, left, right in (
        ([1.5, 0.2], [[0, 1], [-1, 1]], [[2, 3], [-1, 1]]),
        ([1.0, 0.2], [[0, 3], [-1, 0]], [[0, 3], [1, 1]]),
        ([1.0, 1.0], [[0, 1], [-1, 1]], [[2, 3], [-1, 1]]),
        ([3.0, 1.0], [[0, 2], [-1, 1]], [[3, 3], [-1, 1]]),
    ):
        first, second = branch(box, np.array(point))
        assert np.stack([first.lower[0], first.upper[0]], axis=1).tolist() == left
        assert np.stack([second.lower[0], second.upper[0]], axis=1).tolist() == right


def test_a_policy_that_a_test_cannot_express_is_an_unknown() -> None:
    x = Variable("x", INT, Fraction(0), Fraction(9))
    seen = network_input(1)
    scores = build.affine(build.absolute(seen), Matrix(np.array([[1.0], [-1.0]])), Matrix(np.array([-4.0, 4.0])))
    edges = [LabelledEdge(0, build.TRUE, {"x": x.var + 1}), LabelledEdge(1, build.TRUE, {"x": x.var - 1})]
    init = Init({"x": Span(Fraction(2), Fraction(4))})
    system = planning_system([x], edges, Network("net", seen, scores), init)
    claim = Always(Atom(build.negate(build.compare("<=", x.var, 0))), ALL_TIME)
    options = {"test": "relaxed", "relaxation": SamplingSolver()}
    result = vn.check(Task(system), claim, engine="predicates", timeout=60, options=options)
    assert result.verdict is vn.UNKNOWN
    assert result.reason is not None
    assert "abs is no part of a ReLU network" in result.reason
