"""What predicate abstraction says of random planning systems, compared with all their concrete states."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import vernal as vn
from tests.planning_loops import PlanningCase, condition, planning_case, weighted_sum
from tests.planning_oracle import AbstractAnswer, PlanningOracle, number_of_states
from vernal.engines.composition import programs
from vernal.engines.options import PredicateOptions
from vernal.engines.predicates.abstraction import Abstraction
from vernal.engines.predicates.boxes import IntegerBoxes
from vernal.engines.predicates.integer_model import OperatorModel
from vernal.engines.predicates.policy import PointQuestion, PolicyBounds
from vernal.engines.predicates.program_tests import ProgramTests, said_by
from vernal.engines.predicates.witnesses import Existence, WitnessSearch
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import ALL_TIME, Always, Atom, Formula
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.expr import Expr
from vernal.run.budget import Budget

MAX_STATES = 60
TESTS = 40  # of one system
DEFAULT = PredicateOptions()


@cache
def drawn(seed: int, make: Callable[[random.Random], PlanningCase] = planning_case) -> PlanningCase:
    """A random case small enough to look at all its states."""
    rng = random.Random(seed)
    while True:
        case = make(rng)
        if number_of_states(case.system) <= MAX_STATES:
            return case


# Ways to search -------------------------------------------------------------------------------------------------------


class WithoutPoints(WitnessSearch):
    """Looks at no point before its box has no other, or a program proposes it: everything else is up to bounds.

    The usual search enumerates boxes of few points and is lucky in larger ones, and random systems are small.
    """

    _looking = False

    def _enumerate(self, *given: Any) -> Any:
        with self._look():
            return super()._enumerate(*given)

    def _ask_program(self, *given: Any) -> None:
        with self._look():
            super()._ask_program(*given)

    def _try(self, *given: Any) -> None:
        if self._looking:
            super()._try(*given)

    @contextmanager
    def _look(self) -> Iterator[None]:
        self._looking = True
        yield
        self._looking = False


@dataclass(frozen=True)
class Manner:
    """How tests are answered."""

    kind: type[WitnessSearch] = WithoutPoints
    few_points: int = 1
    most_boxes: int = 20_000
    with_programs: bool = False
    complete: bool = True  # whether every test is decided

    def search(self, model: OperatorModel, budget: Budget) -> WitnessSearch:
        """A search in this manner."""
        return self.kind(
            model.judge,
            PolicyBounds(model.variables, model.judge, budget.check),
            budget,
            few_points=self.few_points,
            most_boxes=self.most_boxes,
            programs=ProgramTests(model, budget, programs) if self.with_programs else None,
        )


USUAL = Manner(WitnessSearch, few_points=48)
MANNERS: Mapping[str, Manner] = {
    "usual": USUAL,
    "bounds": Manner(),
    "programs": Manner(most_boxes=0, with_programs=True, complete=False),
    "starved": Manner(most_boxes=0, complete=False),
}


@dataclass(frozen=True)
class Explored:
    """An abstraction as far as it is known, and how many of its starts and transitions are only possible."""

    answer: AbstractAnswer
    open_ones: int


def abstraction(
    case: PlanningCase, predicates: Sequence[Expr], options: PredicateOptions = DEFAULT, manner: Manner = USUAL
) -> Abstraction:
    """The abstraction over some predicates, not explored yet."""
    return _unexplored(case, predicates, options, manner, Budget(60))


def _unexplored(
    case: PlanningCase, predicates: Sequence[Expr], options: PredicateOptions, manner: Manner, budget: Budget
) -> Abstraction:
    model = OperatorModel(case.system, build.negate(case.unsafe))
    return Abstraction(model, predicates, manner.search(model, budget), options, budget)


def built(case: PlanningCase, predicates: Sequence[Expr], options: PredicateOptions, workers: int) -> Abstraction:
    """The abstraction over some predicates, explored by so many processes."""
    made = _unexplored(case, predicates, options, USUAL, Budget(60, workers=workers))
    try:
        made.explore()
    finally:
        made.dismiss()
    return made


def alike(one: Abstraction, other: Abstraction) -> bool:
    """Whether two abstractions have the same cells by the same numbers, the same graph, witnesses and tests."""
    cells = [[values.tolist() for values in made.cells.values] for made in (one, other)]
    graphs = [
        (
            {number: state.tolist() for number, state in made.graph.starts.items()},
            {pair: (why.operator, _listed(why.state)) for pair, why in made.graph.transitions.items()},
            {number: _listed(state) for number, state in made.graph.unsafe.items()},
            made.tests,
        )
        for made in (one, other)
    ]
    return cells[0] == cells[1] and graphs[0] == graphs[1]


def _listed(state: Floats | None) -> list[float] | None:
    return None if state is None else state.tolist()


def explored(
    case: PlanningCase, predicates: Sequence[Expr], options: PredicateOptions = DEFAULT, manner: Manner = USUAL
) -> Explored:
    """The abstraction over some predicates that the engine builds."""
    made = abstraction(case, predicates, options, manner)
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
    return all(mine >= theirs for mine, theirs in parts)


def never(unsafe: Expr) -> Formula:
    """That no unsafe state is met."""
    return Always(Atom(build.negate(unsafe)), ALL_TIME)


def ask(case: PlanningCase, predicates: tuple[Expr, ...] = (), **options: object) -> vn.Result:
    """What the engine says of a case."""
    task = Task(case.system, predicates=predicates)
    return vn.check(task, never(case.unsafe), engine="predicates", timeout=60, options=options)


def expected(oracle: PlanningOracle) -> vn.Verdict:
    return vn.HOLDS if oracle.is_safe else vn.VIOLATED


def mistakes(case: PlanningCase, seed: int) -> Iterator[str]:
    """Where the engine differs from what the states say: verdicts, abstractions and tests, in every manner."""
    oracle = case.oracle
    yield from _wrong_verdicts(case, oracle)
    yield from _wrong_abstractions(case, oracle)
    yield from _wrong_tests(case, oracle, random.Random(seed))


def _wrong_verdicts(case: PlanningCase, oracle: PlanningOracle) -> Iterator[str]:
    for predicates in ((), case.predicates):
        verdict = ask(case, predicates).verdict
        if verdict not in {expected(oracle), vn.UNKNOWN}:
            yield f"{verdict} from {len(predicates)} predicates"


def _wrong_abstractions(case: PlanningCase, oracle: PlanningOracle) -> Iterator[str]:
    for predicates in (case.finest, case.predicates, case.predicates[:1], ()):
        truth = oracle.abstraction(predicates)
        for name, manner in MANNERS.items():
            found = explored(case, predicates, manner=manner)
            if found.open_ones and manner.complete:
                yield f"open tests, {name}, {len(predicates)} predicates"
            if not (contains(found.answer, truth) if found.open_ones else found.answer == truth):
                yield f"another abstraction, {name}, {len(predicates)} predicates"


def _wrong_tests(case: PlanningCase, oracle: PlanningOracle, rng: random.Random) -> Iterator[str]:
    """Random boxes, with conditions and something the policy has to say, and whether there is such a state."""
    budget = Budget(60)
    model = OperatorModel(case.system, build.negate(case.unsafe))
    selections = list(dict.fromkeys(o.selection for o in model.operators if o.selection is not None))
    states = np.array([[float(value) for value in state] for state in oracle.states])
    searches = {name: manner.search(model, budget) for name, manner in MANNERS.items()}
    for _ in range(TESTS if selections else 0):
        said = [weighted_sum(rng, case.system.state)] * rng.randint(0, 1)
        said += [condition(rng, case.system.state, rng.choice([0, 1])) for _ in range(rng.randint(0, 2))]
        question = PointQuestion(tuple(map(model.table.condition, said)), rng.choice(selections))
        corners = np.sort(states[[rng.randrange(len(states)) for _ in range(2)]], axis=0)
        inside = np.flatnonzero(((corners[0] <= states) & (states <= corners[1])).all(axis=1)).tolist()
        asked = [*said, *said_by(model, question)]
        true = {row for row in inside if all(oracle.truths(asked, oracle.states[row]))}
        for name, search in searches.items():
            found = search.ask(IntegerBoxes(corners[:1], corners[1:]), [question])
            answer, point = Existence(int(found.answers[0])), found.points[0].tolist()
            shown = answer is not Existence.SOME or any(states[row].tolist() == point for row in true)
            if (
                (answer is Existence.NONE and true)
                or not shown
                or (answer is Existence.OPEN and MANNERS[name].complete)
            ):
                yield f"a test, {name}: {answer.name}, and {len(true)} of {len(inside)} states of the box count"
