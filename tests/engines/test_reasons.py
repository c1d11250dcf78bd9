"""Reasons are true: an engine that is cut short, at any look at the clock, says so and claims nothing it did not try.

The clock jumps to the end of the time at a look that is drawn at random: no seconds, and the same on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tests.available import engines_of_steps, is_here
from tests.cases import CASES, Case
from tests.flow_cases import FLOW_CLAIMS, FLOW_ENGINES, FlowClaim
from tests.portion import ALL
from vernal.engines.base import within
from vernal.engines.check import find_engine, parse_formula, question_of
from vernal.evidence.knowledge import Open
from vernal.logic.question import Question
from vernal.run.budget import TIMEOUT, Budget

EXHAUSTED = (
    "no step of at most",
    "no invariant found",
    "no set was proposed",
    "too loose to decide",
    "no bounded formula decides",
    "does not help",
    "rounds of cutting",
    "no loop was found",
)  # how reasons say that everything was tried
MAX_LOOKS = 2000  # before the clock jumps
CASES_OF_ENGINE = 5
CUTS = 2  # of each question to each engine


class JumpingClock:
    """A clock that stands at zero, and jumps beyond every limit after so many looks."""

    def __init__(self, jumps_after: int) -> None:
        self.jumps_after, self.looks = jumps_after, 0

    def __call__(self) -> float:
        self.looks += 1
        return 1e6 if self.has_jumped else 0.0

    @property
    def has_jumped(self) -> bool:
        return self.looks > self.jumps_after


def false_reasons(engine: str, question: Question, rng: random.Random) -> list[str]:
    """What an engine said that was cut short a few times, and should not have said."""
    found = []
    for _ in range(CUTS):
        clock = JumpingClock(int(MAX_LOOKS ** rng.random()) + 1)
        known = within(find_engine(engine), question, Budget(timeout=1000.0, started=0.0, clock=clock))
        if isinstance(known, Open) and clock.has_jumped:
            says_so, claims = TIMEOUT in known.reason, any(text in known.reason for text in EXHAUSTED)
            is_false = not says_so or (claims and engine != "auto")  # some of its engines may have come to their end
            found += [f"{clock.jumps_after}: {known.reason}"] if is_false else []
    return found


def false_of(engine: str, cases: Sequence[Case | FlowClaim]) -> dict[str, list[str]]:
    """The same of some of the cases that the engine takes."""
    rng, false = random.Random(engine), dict[str, list[str]]()
    for case in rng.sample(cases, len(cases)):
        asked = question_of(case.task, parse_formula(case.task, case.formula))
        if len(false) < (len(cases) if ALL else CASES_OF_ENGINE) and find_engine(engine).takes(asked) is None:
            false[str(case)] = false_reasons(engine, asked, rng)
    assert false
    return {case: said for case, said in false.items() if said}


@pytest.mark.parametrize("engine", [one.name for one in engines_of_steps() if is_here(one.name)])
def test_who_is_cut_short_says_so(engine: str) -> None:
    assert not false_of(engine, CASES)


@pytest.mark.parametrize("engine", FLOW_ENGINES)
def test_who_is_cut_short_in_continuous_time_says_so(engine: str) -> None:
    assert not false_of(engine, FLOW_CLAIMS)
