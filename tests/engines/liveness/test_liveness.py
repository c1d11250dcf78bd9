"""The engine `liveness`: known answers, and nothing false on random finite systems."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

import vernal as vn
from tests.brute import TooLarge, ValueUndefined
from tests.engines.liveness.naive import AllStates, GivenInvariant
from tests.explicit_oracle import FiniteOracle
from tests.graph_loops import SMALL, endless_formula, graph_loop
from tests.portion import seeds
from tests.work import budget_of_looks
from vernal.engines.base import Engine
from vernal.engines.check import asked_of, find_engine, parse_formula
from vernal.engines.composition import liveness
from vernal.engines.liveness.counting import Counting
from vernal.engines.liveness.engine import Liveness
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.evidence.result import HOLDS, UNKNOWN
from vernal.logic.formula import (
    And,
    Atom,
    Formula,
    Or,
)
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import build as b
from vernal.model.expr import Matrix
from vernal.model.network import Network, network_input
from vernal.model.system import OneOf, Span, System
from vernal.run.budget import Budget


def known(system: System, text: str, inner: Engine, timeout: float | None = None) -> Known:
    formula = parse_formula(Task(system), text)
    return Liveness([Counting([inner])]).attempt(Question(system, formula), Budget(timeout))


# Finite systems -------------------------------------------------------------------------------------------------------


def counter(modulus: int) -> System:
    return vn.System(
        state={"n": vn.integer()},
        init={"n": 0},
        step=lambda s: {"n": vn.if_(vn.eq(s.n, modulus - 1), 0, s.n + 1)},
    )


def ball() -> System:
    """A ball falls from height 6 by one more each step, and bounces back as it came."""
    return vn.System(
        state={"h": vn.integer(), "v": vn.integer()},
        init={"h": 6, "v": 0},
        step=lambda s: {
            "h": vn.if_(s.h + s.v - 1 <= 0, 0, s.h + s.v - 1),
            "v": vn.if_(s.h + s.v - 1 <= 0, 3, s.v - 1),
        },
    )


def chase() -> System:
    """A follower moves towards a leader who walks around a circle of six places, or rests."""
    ahead = vn.rnn([([[0]], [[0]], [0])], [([[0]], [1])])  # always one
    return vn.System(
        state={"leader": vn.integer(), "gap": vn.integer()},
        init={"leader": 0, "gap": [0, 1, 2, 3, 4, 5]},
        agents={"walk": vn.agent(ahead, observe=lambda s: [s.gap], act="raw")},
        lets={"rests": lambda s: vn.choose(0, 1)},
        step=lambda s: {
            "leader": vn.if_(
                vn.eq(s.rests, 1) | vn.eq(s.leader, 5), vn.if_(vn.eq(s.rests, 1), s.leader, 0), s.leader + 1
            ),
            "gap": vn.if_(s.gap > 1, s.gap - 1, vn.if_(vn.eq(s.rests, 1), 0, 1)),
        },
    )


def ending() -> System:
    """Counts down and ends at zero, or waits at one for ever."""
    return vn.System(
        state={"n": vn.integer()},
        init={"n": 3},
        step=lambda s: {"n": vn.choose(vn.when(s.n - 1, s.n > 0), vn.when(s.n, vn.eq(s.n, 1)))},
    )


def tied() -> System:
    """An agent whose two scores are always equal: its action is free, and moves the counter."""
    scores = Network("tie", network_input(1), b.affine(network_input(1), Matrix(np.zeros((2, 1))), Matrix(np.zeros(2))))
    return vn.System(
        state={"n": vn.integer()},
        init={"n": 0},
        agents={"agent": vn.agent(scores, observe=lambda s: [s.n], act="argmax")},
        step=lambda s: {"n": vn.clip(s.n + s.agent, 0, 2)},
    )


def alternating() -> System:
    """An agent that remembers whether it acted: its memory and its action alternate between 0 and 1."""
    toggle = vn.rnn([([[0]], [[-1]], [1])])
    return vn.System(
        state={"n": vn.integer()},
        init={"n": 0},
        agents={"agent": vn.agent(toggle, observe=lambda s: [s.n], act="raw", remember="m")},
        step=lambda s: {"n": vn.if_(s.agent >= 1, 1, 0)},
    )


HOLDING: list[tuple[System, str]] = [
    (counter(5), "G F (n == 0)"),
    (counter(5), "G (n == 2 -> F (n == 1))"),
    (counter(5), "G F[0,4] (n == 0)"),
    (counter(5), "(n < 4) U (n == 4)"),
    (counter(5), "F (n == 3) & G (n <= 4)"),
    (counter(5), "G F (n == 0) -> G F (n == 4)"),
    (counter(40), "G F (n == 0)"),
    (ball(), "G F (h == 0)"),
    (ball(), "G (h == 0 -> F (h > 2))"),
    (chase(), "F G (gap <= 1)"),
    (chase(), "G F (leader == 3) & G F (leader == 4) -> G F (leader == 0)"),
    (ending(), "F G (n <= 1)"),
    (ending(), "F (n == 1)"),
    (ending(), "G (n == 0 -> !X true)"),
    (ending(), "X true"),
    (tied(), "G F (agent == 1) -> F (n == 2)"),
    (tied(), "G (agent == 1 & n == 0 -> X (n == 1))"),
    (tied(), "F G (agent == 0) | F (n > 1)"),
    (alternating(), "G F (agent == 0) & G F (agent == 1)"),
    (alternating(), "G (m[0] == 0 -> X (m[0] == 1))"),
    (alternating(), "G (agent == 1 <-> X (n == 1))"),
]

BREAKING: list[tuple[System, str]] = [
    (counter(5), "F G (n == 0)"),
    (counter(5), "F G (n != 0)"),
    (counter(5), "G F (n == 7)"),
    (counter(5), "G F[0,3] (n == 0)"),
    (counter(5), "G (n <= 3)"),
    (ball(), "F G (h == 0)"),
    (chase(), "G F (leader == 3)"),
    (chase(), "F G (gap == 1)"),
    (chase(), "G F (leader == 3) -> G F (leader == 0)"),
    (ending(), "G F (n == 0)"),
    (ending(), "F (n == 0)"),
    (ending(), "G X true"),
    (ending(), "G (n == 1 -> X (n == 1))"),
    (tied(), "F (n == 2)"),
    (tied(), "G F (agent == 1)"),
    (tied(), "G (agent == 0)"),
    (alternating(), "F G (agent == 1)"),
    (alternating(), "G (agent == 1 -> X (agent == 1))"),
]


@pytest.mark.parametrize(("system", "text"), HOLDING, ids=lambda value: value if isinstance(value, str) else "")
def test_what_holds_is_proven(system: System, text: str) -> None:
    found = known(system, text, AllStates())
    assert isinstance(found, Proof), found


@pytest.mark.parametrize(("system", "text"), BREAKING, ids=lambda value: value if isinstance(value, str) else "")
def test_what_does_not_hold_is_not_proven(system: System, text: str) -> None:
    assert not FiniteOracle(system, parse_formula(Task(system), text)).holds()
    assert isinstance(known(system, text, AllStates()), Open)


# Infinite systems -----------------------------------------------------------------------------------------------------


def halving() -> System:
    return vn.System(state={"x": vn.real()}, init={"x": vn.interval(-1, 1)}, step=lambda s: {"x": s.x / 2})


def up_to(system: System, bounds: list[Fraction]) -> Formula:
    """x is at least -1, and at most one of these numbers, by how many marked edges were taken."""
    x, marked = system.variable("x").var, system.variable("marked")
    cases = (
        And(
            (
                Atom(b.eq(marked.var, b.label(marked.sort, f"marked_{n}"))),
                Atom(b.compare("<=", x, bound)),
                Atom(b.compare("<=", -1, x)),
            )
        )
        for n, bound in enumerate(bounds)
    )
    return Or(tuple(cases))


@pytest.mark.parametrize(
    ("text", "most"), [("F G (x <= 0.1)", 4), ("G F (x < 0.5)", 2), ("F G (x < 0.5)", 2), ("F (x <= 0.3)", 2)]
)
def test_a_contracting_loop_comes_below_a_bound_and_stays(text: str, most: int) -> None:
    bounds = [Fraction(1, 2**n) for n in range(most + 1)]
    inner = GivenInvariant(lambda made: up_to(made, bounds), {"x": Span(Fraction(-1), Fraction(1)), **counted(most)})
    found = known(halving(), text, inner)
    assert isinstance(found, Proof), found
    assert found.statistics["marked edges"] == most


def counted(most: int) -> dict[str, OneOf]:
    return {"marked": OneOf(tuple(Fraction(n) for n in range(most + 1)))}


@pytest.mark.parametrize("text", ["F G (x <= -0.01)", "G F (x >= 0.5)", "F G (x < 0) | F G (x > 0)", "G (x <= 0.5)"])
def test_what_a_contracting_loop_does_not_do_is_not_proven(text: str) -> None:
    bounds = [Fraction(1, 2**n) for n in range(12)]
    inner = GivenInvariant(lambda made: up_to(made, bounds), {"x": Span(Fraction(-1), Fraction(1)), **counted(11)})
    assert isinstance(known(halving(), text, inner), Open)


# Random finite systems ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(60))
def test_nothing_false_is_proven_of_a_finite_system(seed: int) -> None:
    rng = random.Random(seed)
    system = graph_loop(rng, SMALL)
    formula = endless_formula(rng, system, (None,))
    try:
        found = Liveness([Counting([AllStates()])]).attempt(Question(system, formula), Budget(20))
        truth = FiniteOracle(system, formula).holds()
    except (TooLarge, ValueUndefined):
        pytest.skip("too many states for the naive checker")
    assert isinstance(found, Proof) == truth, (str(formula), found)  # k-liveness is complete on finite systems


# Claims with a bound --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "text", "holds"),
    [
        (counter(5), "F[0,4] (n == 4)", True),
        (counter(5), "F[0,3] (n == 4)", False),
        (halving(), "G[0,6] (x <= 1 & X (x <= 0.5))", True),
        (halving(), "G[0,6] (x <= 0.5)", False),
        (tied(), "G[0,3] (agent == 1 & n == 0 -> X (n == 1))", True),
        (tied(), "G[0,3] (agent == 1 -> X (n == 1))", False),
        (ending(), "F[0,3] (n == 1) & G[0,4] (n >= 0)", True),
        (ending(), "X[4] (n >= 0)", False),  # a path ends before
        (ending(), "G[4,4] (n >= 0)", True),
        (alternating(), "G[0,4] (agent == 1 <-> X (n == 1))", True),
    ],
)
def test_a_claim_with_a_bound_is_asked_up_to_it(system: System, text: str, holds: bool) -> None:
    result = vn.check(system, text, engine="liveness", timeout=30)
    assert result.verdict is (HOLDS if holds else UNKNOWN), result.reason


# Limits ---------------------------------------------------------------------------------------------------------------


def test_claims_of_states_stay_open() -> None:
    found = known(counter(5), "AG (EF (n == 0) | EG (n == 1))", AllStates())
    assert isinstance(found, Open)
    assert "not supported" in found.reason


def test_a_claim_in_ctl_that_paths_decide_is_proven() -> None:
    for text in ("AG AF (n == 0)", "AG EF (n == 0)"):
        assert isinstance(known(counter(5), text, AllStates()), Proof)


def test_names_of_the_system_stay_its_own() -> None:
    system = vn.System(
        state={"automaton": vn.integer(), "marked": vn.integer()},
        init={"automaton": 0, "marked": 0},
        lets={"edge": lambda s: vn.choose(0, 1)},
        step=lambda s: {"automaton": 1 - s.automaton, "marked": s.edge},
    )
    assert isinstance(known(system, "G F (automaton == 0)", AllStates()), Proof)
    assert isinstance(known(system, "G F (marked == 0)", AllStates()), Open)


def test_a_timeout_ends_it() -> None:
    budget, clock = budget_of_looks(50)
    system = halving()
    asked = Question(system, parse_formula(Task(system), "F G (x <= 0.1)"))
    result = asked_of(liveness(), asked, budget)
    assert result.verdict in (UNKNOWN, HOLDS)
    assert clock.count < 100


def test_it_is_an_engine_of_its_own() -> None:
    assert isinstance(find_engine("liveness"), Liveness)
    assert vn.check(counter(3), "G F (n == 0) | !(G F (n == 0))", engine="liveness").verdict is HOLDS
