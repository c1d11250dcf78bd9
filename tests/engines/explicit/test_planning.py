"""Choices with many options: every option by itself, and networks asked once for what they cannot tell apart."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import vernal as vn
from tests.portion import seeds
from vernal.engines.explicit.enumeration import Enumeration
from vernal.interpret import exact
from vernal.interpret.exact import Given
from vernal.logic.elaboration import formula, system_scope
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.agent import make_agent
from vernal.model.expr import Expr, Matrix
from vernal.model.network import Network, network_input
from vernal.model.partial_evaluation import specialise
from vernal.model.sorts import INT
from vernal.model.system import Init, OneOf, System, Variable
from vernal.run.budget import Budget
from vernal.sets.finite import observations

OPTIONS = 12


def counting(seed: int) -> System:
    """Two counters; what a policy sees of one decides, with many options, what becomes of both."""
    state = tuple(Variable(name, INT) for name in ("seen", "unseen"))
    seen, unseen = (variable.var for variable in state)
    rng = np.random.default_rng(seed)
    inputs = network_input(1)
    scores = build.affine(inputs, Matrix(rng.integers(-2, 3, (3, 1)) / 2), Matrix(rng.integers(-1, 2, 3) / 2))
    agent = make_agent("policy", (Network("scores", inputs, scores),), (seen,))
    moves = rng.integers(-2, 3, (OPTIONS, 2)).tolist()
    options = [
        build.when(
            number,
            build.conj(
                build.eq(agent.var, number % 3),
                *(
                    build.conj(build.compare("<=", -4, v + d), build.compare("<=", v + d, 4))
                    for v, d in zip((seen, unseen), move, strict=True)
                ),
            ),
        )
        for number, move in enumerate(moves)
    ]
    edge = build.choose(*options, name="edge")
    following = {
        variable.name: build.switch(
            edge, [Fraction(n) for n in range(OPTIONS - 1)] + [None], [variable.var + move[place] for move in moves]
        )
        for place, variable in enumerate(state)
    }
    starts = {variable.name: OneOf((Fraction(0),)) for variable in state}
    return System("counting", state, Init(starts), following, (agent,))


def successors(system: System, state: tuple[int, int]) -> set[tuple[int, int]]:
    """By the same graph in rationals, one option at a time."""
    (agent,) = system.agents
    given: dict[Expr, Given] = {
        variable.var: Fraction(value) for variable, value in zip(system.state, state, strict=True)
    }
    (scores,) = exact.evaluate([agent.action.args[0]], given)
    assert isinstance(scores, tuple)
    winners = [index for index, score in enumerate(scores) if score == max(scores)]  # type: ignore[type-var]
    choice = next(node for node in system.step.names if node.occurrence.name == "edge")
    found: set[tuple[int, int]] = set()
    for winner in winners:
        known = {agent.action: build.const(winner)}
        for option, guard in enumerate(choice.guards):  # type: ignore[union-attr]
            decided = specialise([guard, *system.step.next_state], {**known, choice: build.const(option)})
            truth, *after = exact.evaluate(decided, given)
            if truth is True:
                found.add(tuple(int(value) for value in after))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("remembered", [0, observations.MAX_OBSERVATIONS])
@pytest.mark.parametrize("seed", seeds(6, 2))
def test_all_transitions_are_found(seed: int, remembered: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observations, "MAX_OBSERVATIONS", remembered)
    system = counting(seed)
    claim = formula("G (seen < 100)", system_scope(system))
    graph = Enumeration(Question(system, claim), Budget()).run()
    states = [tuple(row) for row in graph.rows.tolist()]
    edges = {
        (states[a], states[b])
        for a, b in zip(graph.state[graph.successors.owners], graph.state[graph.successors.others], strict=True)
    }
    expected = {(state, after) for state in states for after in successors(system, state)}
    assert edges == expected
    assert len(states) == len(set(states))


def test_the_engine_says_so() -> None:
    assert vn.check(counting(3), "G (unseen <= 4 & seen >= -4)", engine="explicit").verdict is vn.HOLDS
