"""Reasons are true: an engine that is cut short, at any look at the clock, says so and claims nothing it did not try.

The clock is one that jumps to the end of the time, or that moves on with every look so that the times of parts of the
work run out one after the other; at which look is drawn at random. No seconds are measured: it is the same everywhere.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import vernal as vn
from tests.available import is_here
from tests.cases import CASES
from tests.engines.flow.test_automata import CASES as AUTOMATA
from tests.engines.flow.test_loops import CASES as LOOP_CLAIMS
from tests.flow_cases import FLOW_CLAIMS
from tests.portion import ALL
from tests.sampled_loops import LOOPS
from vernal.engines.base import within
from vernal.engines.check import find_engine, parse_formula, question_of
from vernal.engines.registry import engine_names, engines_for
from vernal.evidence.knowledge import Known, Open
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.run.budget import TIMEOUT, Budget

EXHAUSTED = (
    "does, from any state (k-induction)",
    "no invariant found",
    "no set was proposed",
    "too loose to decide",
    "no bounded formula decides",
    "does not help",
    "rounds of cutting",
    "no lasso found",
    "provably do",
)  # how reasons say that everything was tried
UNFINISHED, UNSUPPORTED = "not finished", "not supported"
MAX_LOOKS = 1000  # of the run that is cut short
SECONDS = 1000.0  # of each question, by a clock of ours
QUESTIONS = 3  # of each kind of model, to each engine


class OwnClock:
    """A clock that moves on by `tick` seconds at each look, and beyond every limit after so many looks."""

    def __init__(self, jumps_after: float = inf, tick: float = 0.0) -> None:
        self.jumps_after, self.tick, self.looks = jumps_after, tick, 0

    def __call__(self) -> float:
        self.looks += 1
        return 1e3 * SECONDS if self.looks > self.jumps_after else self.tick * self.looks


@cache
def questions(kind: str) -> Sequence[tuple[str, Question]]:
    """The questions with known answers about models of a kind."""
    return [(f"{kind}, {claim}", question_of(task, parse_formula(task, claim))) for task, claim in KINDS[kind]()]


def _of_automata() -> Iterator[tuple[Task, str]]:
    with TemporaryDirectory() as folder:
        for made, claim, *_ in AUTOMATA:
            file = Path(folder) / "made.json"
            file.write_text(json.dumps(made))
            yield vn.load(file), claim


KINDS = {
    "steps": lambda: ((case.task, case.formula) for case in CASES),
    "flows": lambda: ((case.task, case.formula) for case in FLOW_CLAIMS),
    "loops": lambda: ((Task(LOOPS[case.loop]().system), case.formula) for case in LOOP_CLAIMS),
    "automata": _of_automata,
}
PAIRS = [(kind, entry.name) for kind in KINDS for entry in engines_for(questions(kind)[0][1]) if is_here(entry.name)]


def asked(engine: str, question: Question, clock: OwnClock) -> tuple[Known, Budget]:
    """What an engine knows when this clock says that its time is over."""
    budget = Budget(timeout=SECONDS, started=0.0, clock=clock)
    return within(find_engine(engine), question, budget), budget


def is_false(engine: str, known: Known, *, is_over: bool) -> bool:
    """Whether one that was cut short claims to have tried everything, or does not say that its time was over."""
    if not isinstance(known, Open) or known.reason.startswith(UNSUPPORTED):
        return False
    says_so = TIMEOUT in known.reason or UNFINISHED in known.reason
    if engine == "auto":
        return is_over and not says_so  # some of its engines may have come to their end
    return (is_over and not says_so) or any(text in known.reason for text in EXHAUSTED)


def hides_its_end(engine: str, known: Known, whole: Known) -> bool:
    """Whether what more time decided is left open without a word of the time."""
    decided = not isinstance(whole, Open)
    return engine != "auto" and decided and isinstance(known, Open) and not _says_so(known)


def _says_so(known: Open) -> bool:
    return TIMEOUT in known.reason or UNFINISHED in known.reason or known.reason.startswith(UNSUPPORTED)


def false_reasons(engine: str, question: Question, rng: random.Random) -> tuple[int, list[str]]:
    """How often an engine was cut short with the question left open, and what it should not have said then."""
    whole = OwnClock(MAX_LOOKS)
    unhurried, _ = asked(engine, question, whole)
    looks, cut, false = min(whole.looks, MAX_LOOKS), 0, list[str]()
    if looks < 2:
        return 0, []
    for clock in (OwnClock(rng.randrange(1, looks)), OwnClock(tick=SECONDS / rng.randrange(1, 2 * looks))):
        known, budget = asked(engine, question, clock)
        is_over = clock.looks > clock.jumps_after
        if budget.stops or is_over:
            cut += isinstance(known, Open)
            wrong = is_false(engine, known, is_over=is_over) or hides_its_end(engine, known, unhurried)
            false += [f"{vars(clock)}: {known}"] if wrong else []
    return cut, false


@pytest.mark.parametrize(("kind", "engine"), PAIRS)
def test_who_is_cut_short_says_so(kind: str, engine: str) -> None:
    rng, cut, false, count = random.Random(f"{kind} {engine}"), 0, dict[str, list[str]](), 0
    many = questions(kind)
    for label, question in rng.sample(many, len(many)):
        if (count < QUESTIONS or ALL or not cut) and find_engine(engine).takes(question) is None:
            more, false[label] = false_reasons(engine, question, rng)
            count, cut = count + 1, cut + more
    assert not {label: said for label, said in false.items() if said}
    assert cut, "none of its questions was cut short"


def test_every_engine_is_cut_short() -> None:
    assert {engine for _, engine in PAIRS} == set(filter(is_here, engine_names()))


@pytest.mark.parametrize("text", EXHAUSTED)
def test_these_are_the_words_of_engines(text: str) -> None:
    folder = Path(vn.__file__).parent
    assert any(text in file.read_text(encoding="utf-8") for file in folder.rglob("*.py"))
