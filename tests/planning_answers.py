"""What predicate abstraction says of random planning systems, compared with all their concrete states."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import vernal as vn
from tests.planning_loops import PlanningCase, planning_case
from tests.planning_oracle import AbstractAnswer, PlanningOracle, number_of_states
from vernal.engines.options import PredicateOptions
from vernal.engines.predicates.abstraction import Abstraction
from vernal.engines.predicates.last_resort import ProgramTests
from vernal.engines.predicates.model import OperatorModel
from vernal.engines.predicates.policy import PolicyBounds
from vernal.engines.predicates.witnesses import WitnessSearch
from vernal.logic.formula import ALL_TIME, Always, Atom, Formula
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.expr import Expr
from vernal.run.budget import Budget

MAX_STATES = 60
DEFAULT = PredicateOptions()


def drawn(seed: int, make: Callable[[random.Random], PlanningCase] = planning_case) -> PlanningCase:
    """A random case small enough to look at all its states."""
    rng = random.Random(seed)
    while True:
        case = make(rng)
        if number_of_states(case.system) <= MAX_STATES:
            return case


# Ways to search -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Manner:
    """How tests are answered. The usual way enumerates boxes of few points, and random systems have few."""

    first_points: int = 16
    points: int = 2
    few_points: int = 48
    most_boxes: int = 20_000
    with_programs: bool = False
    complete: bool = True  # whether every test is decided

    def search(self, model: OperatorModel, budget: Budget) -> WitnessSearch:
        return WitnessSearch(
            model.judge,
            PolicyBounds(model.variables, model.judge, budget.check),
            budget,
            first_points=self.first_points,
            points=self.points,
            few_points=self.few_points,
            most_boxes=self.most_boxes,
            programs=ProgramTests(model, budget) if self.with_programs else None,
        )


USUAL = Manner()
MANNERS: Mapping[str, Manner] = {
    "usual": USUAL,
    "bounds": Manner(first_points=0, points=0, few_points=1),
    "programs": Manner(first_points=0, points=0, few_points=1, most_boxes=0, with_programs=True, complete=False),
    "starved": Manner(first_points=0, points=0, few_points=1, most_boxes=0, complete=False),
}


@dataclass(frozen=True)
class Explored:
    """An abstraction as far as it is known, and how many of its starts and transitions are only possible."""

    answer: AbstractAnswer
    open_ones: int


def explored(
    case: PlanningCase, predicates: Sequence[Expr], options: PredicateOptions = DEFAULT, manner: Manner = USUAL
) -> Explored:
    """The abstraction over some predicates that the engine builds."""
    budget = Budget(60)
    model = OperatorModel(case.system, build.negate(case.unsafe))
    made = Abstraction(model, predicates, manner.search(model, budget), options, budget)
    graph = made.explore()
    cells = [tuple(bool(value) for value in values) for values in made.cells.values]
    shown = [*(transition.state for transition in graph.transitions.values()), *graph.unsafe.values()]
    answer = AbstractAnswer(
        frozenset(cells[number] for number in (*graph.starts, *graph.open_starts)),
        frozenset(cells),
        frozenset((cells[one], cells[other]) for one, other in graph.transitions),
        frozenset(cells[number] for number in graph.unsafe),
    )
    return Explored(answer, len(graph.open_starts) + sum(state is None for state in shown))


# Comparing ------------------------------------------------------------------------------------------------------------


def contains(one: AbstractAnswer, other: AbstractAnswer) -> bool:
    """Whether everything that is in the other is in the first."""
    parts = zip(
        (one.starts, one.reachable, one.transitions, one.unsafe),
        (other.starts, other.reachable, other.transitions, other.unsafe),
        strict=True,
    )
    return all(mine >= theirs for mine, theirs in parts)  # type: ignore[operator]


def never(unsafe: Expr) -> Formula:
    """That no unsafe state is met."""
    return Always(Atom(build.negate(unsafe)), ALL_TIME)


def ask(case: PlanningCase, predicates: tuple[Expr, ...] = (), **options: object) -> vn.Result:
    """What the engine says of a case."""
    task = Task(case.system, predicates=predicates)
    return vn.check(task, never(case.unsafe), engine="predicates", timeout=60, options=options)


def expected(oracle: PlanningOracle) -> vn.Verdict:
    return vn.HOLDS if oracle.is_safe else vn.VIOLATED


def mistakes(case: PlanningCase) -> Iterator[str]:
    """Where the engine differs from what the states say: verdicts, and abstractions in every manner."""
    oracle = PlanningOracle(case.system, case.unsafe)
    for predicates in ((), case.predicates):
        verdict = ask(case, predicates).verdict
        if verdict not in {expected(oracle), vn.UNKNOWN}:
            yield f"{verdict} from {len(predicates)} predicates"
    for predicates in (case.finest, case.predicates, case.predicates[:1], ()):
        truth = oracle.abstraction(predicates)
        for name, manner in MANNERS.items():
            found = explored(case, predicates, manner=manner)
            if found.open_ones and manner.complete:
                yield f"open tests, {name}, {len(predicates)} predicates"
            if not (contains(found.answer, truth) if found.open_ones else found.answer == truth):
                yield f"another abstraction, {name}, {len(predicates)} predicates"
