"""`auto` uses the time it is given, and says of what it leaves open the best that is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from tests import systems
from tests.engines.test_time_shares import Hours
from vernal.engines.attempts import Attempts
from vernal.engines.check import asked_of, find_engine, parse_formula
from vernal.engines.portfolio import decided, further
from vernal.engines.turns import Turn
from vernal.errors import Stopped
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.evidence.result import HOLDS, UNKNOWN, Assurance
from vernal.logic.direction import Direction
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import build
from vernal.run.budget import Budget


class Needing:
    """An engine that needs some seconds to find a proof, or to come to its end without one."""

    def __init__(
        self, name: str, clock: Hours, seconds: float, *, proves: bool = False, known: Open | None = None
    ) -> None:
        self.name, self.clock, self.seconds, self.proves = name, clock, seconds, proves
        self.known = known or Open(engine=name, reason="nothing was found")
        self.given: list[float] = []

    def takes(self, question: Question) -> str | None:
        return None

    def attempt(self, question: Question, budget: Budget) -> Known:
        self.given.append(round(budget.left, 6))
        self.clock.now += min(self.seconds, budget.left)
        budget.check()
        proof = Proof(engine=self.name, direction=Direction.OVER, assurance=Assurance.RIGOROUS)
        return proof if self.proves else self.known


def claim(text: str = "G[0,3] (x <= 9)") -> Question:
    system = systems.counter()
    return Question(system, parse_formula(Task(system), text))


def attempts(clock: Hours, timeout: float | None) -> Attempts:
    return Attempts(claim(), Budget(timeout, started=0.0, clock=clock))


def with_further(tried: Attempts, turns: Sequence[Turn]) -> Iterator[Turn]:
    yield from turns
    yield from further(tried)


# The time -------------------------------------------------------------------------------------------------------------


def test_an_engine_that_was_cut_short_goes_on_with_what_others_left() -> None:
    """Half of the time was not enough, and the second engine ended at once: the first has the rest."""
    clock = Hours()
    tried = attempts(clock, 60)
    first, second = Needing("paths", clock, 35, proves=True), Needing("bounds", clock, 1)
    known = decided(tried, with_further(tried, [Turn(first, 0.3), Turn(second, 0.5)]))
    assert isinstance(known, Proof)
    assert first.given == [18, 41]


def test_engines_that_came_to_their_end_are_not_asked_again() -> None:
    clock = Hours()
    tried = attempts(clock, 60)
    engine = Needing("paths", clock, 3)
    known = decided(tried, with_further(tried, [Turn(engine, 0.5), Turn(engine, 0.5)]))
    assert isinstance(known, Open)
    assert (engine.given, clock.now) == ([30], 3)


def test_one_that_is_asked_once_has_no_further_turn() -> None:
    clock = Hours()
    tried = attempts(clock, 60)
    engine = Needing("bounds", clock, 1000)
    decided(tried, with_further(tried, [Turn(engine, 0.1, once=True)]))
    assert engine.given == [6]


class Dividing:
    """An engine that gives half of its time to a part of its work, which is not enough, and ends early."""

    name = "invariants"

    def __init__(self, clock: Hours) -> None:
        self.clock = clock
        self.given: list[float] = []

    def takes(self, question: Question) -> str | None:
        return None

    def attempt(self, question: Question, budget: Budget) -> Known:
        self.given.append(round(budget.left, 6))
        part = budget.part(0.5)
        self.clock.now += part.left
        with pytest.raises(Stopped):
            part.check()
        return Open(engine=self.name, reason="no set was proposed")


def test_an_engine_of_which_a_part_was_cut_short_did_not_come_to_its_end() -> None:
    clock = Hours()
    tried = attempts(clock, 60)
    engine = Dividing(clock)
    decided(tried, with_further(tried, [Turn(engine, 0.1)]))
    assert engine.given == [6, 57]


@pytest.mark.parametrize("formula", ["G[0,30] (x < 0.99999999 | x > 1)", "G (x < 0.99999999 | x > 1)", "F (x > 1)"])
def test_auto_ends_when_the_time_does_or_when_all_came_to_their_end(formula: str) -> None:
    """A chaotic map, of which nobody knows in a second."""
    x = build.var("x")
    system = systems.make({"x": (0, 1)}, {"x": 4 * x * (1 - x)})
    budget = Budget(timeout=1.5)
    asked = Question(system, parse_formula(Task(system), formula))
    result = asked_of(find_engine("auto"), asked, budget)
    if result.verdict is UNKNOWN:
        assert "timeout after 1.5 s" in (result.reason or "") or not budget.is_cut_short


# What is left open ----------------------------------------------------------------------------------------------------


def left_open(*known: Open, seconds: float = 1.0, timeout: float = 60) -> Open:
    clock = Hours()
    tried = attempts(clock, timeout)
    for one in known:
        tried.ask(Needing(one.engine, clock, seconds, known=one), tried.budget)
    return tried.open()


def test_each_engine_is_named_once_with_its_best_reason() -> None:
    found = left_open(
        Open(engine="deepening", reason="not supported by this engine: it takes formulas about every path (LTL)"),
        Open(engine="invariants", reason="no invariant found with boxes; timeout after 0.4 s, its share of the time"),
        Open(
            engine="deepening",
            reason="timeout after 0.1 s, its share of the time; no bounded formula decides it up to step 100",
        ),
        Open(engine="invariants", reason="no invariant found with boxes, octagons", proven_steps=37),
    )
    assert found.reason == (
        "holds up to step 37; deepening (2 s): no bounded formula decides it up to step 100; "
        "invariants (2 s): no invariant found with boxes, octagons"
    )
    assert found.proven_steps == 37


def test_that_engines_do_not_take_a_claim_is_said_only_where_nothing_else_is() -> None:
    unsupported = Open(engine="falsify", reason="not supported by this engine: a formula that mixes claims")
    assert left_open(unsupported).reason == f"falsify (1 s): {unsupported.reason}"
    other = Open(engine="bounds", reason="the bounds are too loose to decide")
    assert left_open(unsupported, other).reason == f"bounds (1 s): {other.reason}"


def test_an_engine_that_says_nothing_but_that_its_time_was_up() -> None:
    found = left_open(Open(engine="paths", reason="timeout after 0.5 s, its share of the time"), seconds=60, timeout=60)
    assert found.reason == "timeout after 60 s; paths (60 s): not finished"


def test_a_hint_alone_is_no_reason() -> None:
    loose = Open(engine="bounds", reason="the bounds are too loose to decide; try a smaller initial set")
    cut = Open(engine="bounds", reason="timeout after 8.3 s, its share of the time; try a smaller initial set")
    assert left_open(loose, cut).reason == f"bounds (2 s): {loose.reason}"


def test_one_thing_to_try_is_said_once() -> None:
    loose = Open(engine="bounds", reason="the bounds are too loose to decide; try a smaller initial set")
    other = Open(engine="paths", reason="2,048 sets stay open; try more room")
    found = left_open(loose, other).reason
    assert found == "bounds (1 s): the bounds are too loose to decide; paths (1 s): 2,048 sets stay open; try more room"


def test_statistics_say_how_long_each_engine_took() -> None:
    clock = Hours()
    tried = attempts(clock, 60)
    paths, bounds = Needing("paths", clock, 2.5), Needing("bounds", clock, 1.25)
    for engine in (paths, bounds, paths):
        tried.ask(engine, tried.budget)
    statistics = tried.open().statistics
    assert (statistics["paths seconds"], statistics["bounds seconds"]) == (5.0, 1.25)


def test_a_verdict_of_a_part_is_a_verdict() -> None:
    clock = Hours()
    tried = attempts(clock, 10)
    known = decided(tried, [Turn(Needing("bounds", clock, 1, proves=True), 0.5)])
    assert isinstance(known, Proof)
    assert asked_of(find_engine("auto"), claim(), Budget(timeout=10)).verdict is HOLDS
