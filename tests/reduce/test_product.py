"""The product with an automaton: its two claims hold exactly where no path of the system is accepted."""

from __future__ import annotations

import random

import pytest

import vernal as vn
from tests.brute import TooLarge, ValueUndefined
from tests.engines.liveness.naive import AllStates
from tests.explicit_oracle import FiniteOracle
from tests.graph_loops import SMALL, endless_formula, graph_loop
from tests.portion import seeds
from vernal.engines.check import parse_formula
from vernal.evidence.knowledge import Proof
from vernal.logic.automaton import Automaton, Edge, automaton, degeneralised
from vernal.logic.formula import Formula, Not
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.system import System
from vernal.reduce.product import Product, product
from vernal.run.budget import Budget

LIMIT = 12


def refuting(system: System, formula: Formula, limit: int) -> Product | None:
    """The product with the automaton of the negated formula; None where that accepts nothing."""
    wrong = degeneralised(automaton(Not(formula), total=Question(system, formula).is_total))
    return product(system, wrong, limit) if wrong.edges else None


def holds(made: Product) -> bool:
    """Whether both claims about the product are true, by visiting all of its states."""
    asked = (Question(made.system, made.is_kept), Question(made.system, made.ends_well))
    return all(isinstance(AllStates().attempt(question, Budget()), Proof) for question in asked)


@pytest.mark.parametrize("seed", seeds(60))
def test_a_bound_on_marked_edges_and_good_ends_leave_no_counterexample(seed: int) -> None:
    rng = random.Random(seed)
    system = graph_loop(rng, SMALL)
    formula = endless_formula(rng, system, (None,))
    made = refuting(system, formula, LIMIT)
    try:
        kept = made is None or holds(made)
        truth = FiniteOracle(system, formula).holds()
    except (TooLarge, ValueUndefined):
        pytest.skip("too many states for the naive checker")
    assert kept == truth, str(formula)


def test_the_number_of_marked_edges_is_the_longest_delay() -> None:
    falling = vn.System(state={"n": vn.integer()}, init={"n": [3, 7]}, step=lambda s: {"n": vn.clip(s.n - 1, 0, 9)})
    formula = parse_formula(Task(falling), "F (n == 0)")
    bounds = [limit for limit in range(10) if (made := refuting(falling, formula, limit)) and holds(made)]
    assert bounds == [7, 8, 9]


def test_an_edge_to_where_a_path_may_end_is_taken_beside_one_to_where_it_may_not() -> None:
    ending = vn.System(
        state={"n": vn.integer()}, init={"n": 2}, step=lambda s: {"n": s.n - 1}, enabled=lambda s: s.n > 0
    )
    edges = [
        Edge(source, target, (), frozenset(), may_end)
        for source, target, may_end in ((0, 1, False), (0, 2, False), (1, 1, False), (2, 2, True))
    ]
    made = product(ending, Automaton(0, 3, tuple(edges), 1), 0)
    assert not isinstance(AllStates().attempt(Question(made.system, made.ends_well), Budget()), Proof)


def test_the_product_keeps_agents_and_their_memory() -> None:
    counts = vn.rnn([([[0]], [[1]], [1])])
    system = vn.System(
        state={"n": vn.integer()},
        init={"n": 0},
        agents={"agent": vn.agent(counts, observe=lambda s: [s.n], act="raw", remember="m")},
        step=lambda s: {"n": s.n + 1},
    )
    made = refuting(system, parse_formula(Task(system), "F (m[0] == 3 & agent == 4)"), 3)
    assert made is not None
    assert made.system.agents == system.agents
    assert holds(made)
