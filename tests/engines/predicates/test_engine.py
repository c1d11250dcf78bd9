"""Verdicts of the engine: those of an explicit search, whatever it begins with and however little it may follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import vernal as vn
from tests.planning_answers import ask, drawn, never
from tests.planning_answers import expected as expected_of
from tests.planning_loops import LabelledEdge, PlanningCase, noisy_case, planning_system, relu_network
from tests.portion import pairs, seeds
from vernal.engines.predicates import abstraction, danger, engine
from vernal.errors import InputError
from vernal.evidence.result import Assurance
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.agent import make_agent
from vernal.model.network import Network, network_input
from vernal.model.sorts import INT
from vernal.model.system import Init, OneOf, Span, System, Variable
from vernal.model.system_arguments import Declaration


def expected(case: PlanningCase) -> vn.Verdict:
    return expected_of(case.oracle)


@pytest.mark.parametrize("seed", seeds(12))
def test_verdicts_are_those_of_the_states(seed: int) -> None:
    case = drawn(300 + seed)
    assert ask(case, case.predicates).verdict is expected(case)


@pytest.mark.parametrize("seed", seeds(12))
def test_a_policy_may_see_draws(seed: int) -> None:
    """Scores that are compared, and not by an argmax, are more than the engine takes then, which it says."""
    case = drawn(seed, noisy_case)
    result = ask(case, case.predicates)
    if result.verdict is vn.UNKNOWN:
        assert case.system.agents[0].act == "raw"
        assert result.reason is not None
        assert result.reason.startswith("not supported by this engine: a guard compares")
    else:
        every_state = vn.check(case.system, never(case.unsafe), engine="explicit")
        assert result.verdict is every_state.verdict


@pytest.mark.parametrize("seed", seeds(12))
def test_refinement_decides_what_following_states_does_not(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(danger, "MAX_STARTS", 2)
    monkeypatch.setattr(danger, "MAX_STATES", 3)
    case = drawn(600 + seed)
    result = ask(case)
    assert result.verdict in {expected(case), vn.UNKNOWN}
    if expected(case) is vn.HOLDS:
        assert result.verdict is vn.HOLDS


@pytest.mark.parametrize("seed", [607, 635, 693, 765, 841])  # in which that happens
def test_abstract_states_that_no_path_meets_are_divided(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few abstract states are explored before that, a proof is of all of them."""
    monkeypatch.setattr(danger, "MAX_STARTS", 2)
    monkeypatch.setattr(danger, "MAX_STATES", 3)
    monkeypatch.setattr(engine, "MAX_CELLS_UNDIVIDED", 0)
    monkeypatch.setattr(abstraction, "FIRST_AT_ONCE", 1)
    case = drawn(seed)
    assert ask(case).verdict is expected(case)


@pytest.mark.parametrize("seed", seeds(10))
def test_without_refinement_it_may_stay_open_and_is_never_wrong(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(danger, "MAX_STARTS", 2)
    monkeypatch.setattr(danger, "MAX_STATES", 3)
    case = drawn(900 + seed)
    assert ask(case, case.predicates, refine=False).verdict in {expected(case), vn.UNKNOWN}


@pytest.mark.parametrize("seed", seeds(8))
def test_the_abstraction_alone_follows_no_states(seed: int) -> None:
    case = drawn(40 + seed)
    alone, followed = (ask(case, case.predicates, follow=follow, refine=False) for follow in (False, True))
    counts = ("abstract_starts", "reachable", "transitions", "unsafe")
    assert [alone.statistics[key] for key in counts] == [followed.statistics[key] for key in counts]
    assert alone.verdict in {vn.UNKNOWN, expected(case)} - {vn.VIOLATED}
    assert alone.statistics["unsafe_starts"] == alone.statistics["refinements"] == 0
    assert int(alone.statistics["safe_starts"]) <= int(followed.statistics["safe_starts"])


@pytest.mark.parametrize("test", ["relaxed+branching", "relaxed"])
def test_other_tests_give_the_same_abstraction_or_a_larger_one(test: str) -> None:
    for seed in range(40, 44):
        case = drawn(seed)
        ours, theirs = (ask(case, case.predicates, follow=False, test=one).statistics for one in ("own", test))
        if test == "relaxed":
            assert int(theirs["reachable"]) >= int(ours["reachable"])
        else:
            assert [ours[key] for key in ("reachable", "transitions")] == [
                theirs[key] for key in ("reachable", "transitions")
            ]


def test_options_of_other_tests_are_refused() -> None:
    for given in ({"relaxation": "marabou"}, {"relaxation": "marabou", "test": "solver"}, {"solver": "cvc5"}):
        with pytest.raises(InputError, match=f"the option {next(iter(given))} is for"):
            ask(drawn(40), (), **given)


def test_a_proof_by_a_solver_says_so() -> None:
    pytest.importorskip("z3")
    case = next(
        case for case in map(drawn, range(40, 80)) if ask(case, case.predicates, follow=False).verdict is vn.HOLDS
    )
    assert ask(case, case.predicates, test="solver").assurance is Assurance.SOLVER
    assert ask(case, case.predicates).assurance is Assurance.RIGOROUS


def test_every_start_is_safe_unsafe_or_undecided() -> None:
    for seed in range(12):
        counts = ask(drawn(40 + seed), drawn(40 + seed).predicates).statistics
        parts = [counts[f"{kind}_starts"] for kind in ("safe", "unsafe", "undecided")]
        assert sum(int(part) for part in parts) == counts["abstract_starts"]


# A corridor: the policy walks right until x reaches a threshold of its network, then left -----------------------------


def corridor(turn: float, top: int = 9, *, starts: Mapping[str, OneOf | Span] | None = None) -> System:
    x = Variable("x", INT, Fraction(0), Fraction(top))
    right = LabelledEdge(0, build.TRUE, {"x": x.var + 1})
    left = LabelledEdge(1, build.TRUE, {"x": x.var - 1})
    network = relu_network([(np.array([[-1.0], [1.0]]), np.array([turn, -turn])), (np.eye(2), np.zeros(2))])
    init = Init(dict(starts or {"x": Span(Fraction(0), Fraction(2))}))
    return planning_system([x], [right, left], network, init)


def test_a_policy_that_turns_is_proven_safe_from_no_predicates() -> None:
    system = corridor(5.5)
    x = system.state[0].var
    result = vn.check(system, never(build.compare("<=", 7, x)), engine="predicates")
    assert result.verdict is vn.HOLDS


def test_an_unsafe_policy_has_a_shortest_path() -> None:
    system = corridor(5.5)
    x = system.state[0].var
    result = vn.check(system, never(build.compare("<=", 6, x)), engine="predicates")
    assert result.verdict is vn.VIOLATED
    assert result.step == 4  # from x = 2
    assert result.statistics["unsafe_starts"] == 1


def decided_beforehand(actions: int, layers: int) -> System:
    """A policy that looks at nothing: one score is larger than the others, or as large as the first."""
    x = Variable("x", INT, Fraction(0), Fraction(9))
    edges = [LabelledEdge(number, build.TRUE, {"x": x.var + number - 1}) for number in range(actions)]
    scores = np.array([1.0 if number in (0, 2) else 0.0 for number in range(actions)])
    first = (scores[:, None], np.zeros(actions))
    network = relu_network([first, *[(np.eye(actions), np.zeros(actions))] * (layers - 1)])
    if not layers:
        seen = network_input(actions)
        network = Network("seen", seen, seen)
    system = planning_system(
        [x], edges, network, Init({"x": Span(Fraction(2), Fraction(4))}), ["x"] * (1 if layers else actions)
    )
    observed = [build.const(1)] if layers else [build.const(Fraction(score)) for score in scores]
    agent = make_agent("policy", [network], observed, labels=system.agents[0].var.sort)
    return replace(system, agents=(agent,))


@pytest.mark.parametrize("test", ["own", "relaxed", "relaxed+branching"])
@pytest.mark.parametrize(("actions", "layers"), pairs(2, [1, 2, 3, 4], [0, 1, 2]))
def test_a_policy_that_looks_at_nothing(actions: int, layers: int, test: str) -> None:
    system = decided_beforehand(actions, layers)
    x = system.state[0].var
    for unsafe in (build.compare("<=", 5, x), build.compare("<=", x, 0), build.eq(x, 20)):
        found = vn.check(system, never(unsafe), engine="predicates", options={"test": test}).verdict
        every_state = vn.check(system, never(unsafe), engine="explicit").verdict
        assert found in ({every_state} if test == "own" and layers else {every_state, vn.UNKNOWN})


def test_a_tie_counts_for_every_action() -> None:
    system = corridor(5.0)  # at x = 5 both scores are zero
    x = system.state[0].var
    assert vn.check(system, never(build.eq(x, 6)), engine="predicates").verdict is vn.VIOLATED
    assert vn.check(system, never(build.eq(x, 7)), engine="predicates").verdict is vn.HOLDS


def test_without_the_policy_everything_is_reachable() -> None:
    system = corridor(5.5)
    unsafe = build.compare("<=", 7, system.state[0].var)
    result = vn.check(Task(system, predicates=(unsafe,)), never(unsafe), engine="predicates", options={"policy": False})
    assert result.verdict is vn.UNKNOWN
    assert "without the policy" in (result.reason or "")
    never_reached = build.compare("<=", 10, system.state[0].var)
    held = vn.check(system, never(never_reached), engine="predicates", options={"policy": False})
    assert held.verdict is vn.HOLDS


def test_no_initial_state_is_vacuous() -> None:
    system = corridor(5.5)
    x = system.state[0].var
    empty = system.starting(Init(system.init.starts, (build.compare("<=", 3, x),)))
    result = vn.check(empty, never(build.eq(x, 1)), engine="predicates")
    assert result.verdict is vn.HOLDS
    assert result.vacuous


# What it is not for ---------------------------------------------------------------------------------------------------


def still(kind: Declaration) -> vn.System:
    return vn.System("still", state={"x": kind}, init={"x": 0}, step=lambda names: {"x": names.x})


@pytest.mark.parametrize(
    ("kind", "formula", "reason"),
    [
        (vn.real(0, 1), "G (x <= 1)", "real variable"),
        (vn.integer(), "G (x <= 1)", "no declared range"),
        (vn.integer(0, 3), "F (x >= 1)", "kept for all time"),
        (vn.integer(0, 3), "EG (x <= 1)", "kept for all time"),
        (vn.integer(0, 3), "G (x * x <= 1)", "not piecewise linear"),
    ],
)
def test_other_questions_are_left_open_with_the_reason(kind: Declaration, formula: str, reason: str) -> None:
    result = vn.check(still(kind), formula, engine="predicates")
    assert result.verdict is vn.UNKNOWN
    assert reason in (result.reason or "")


def test_a_range_that_can_be_left_is_not_taken_for_granted() -> None:
    system = vn.System("up", state={"x": vn.integer(0, 3)}, init={"x": 0}, step=lambda names: {"x": names.x + 1})
    result = vn.check(system, "G (x <= 7)", engine="predicates")
    assert result.verdict is vn.UNKNOWN
    assert "declared range" in (result.reason or "")
