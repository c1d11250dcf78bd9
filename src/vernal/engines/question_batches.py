"""Many questions at once: what common batches decide is not asked again, and the rest is asked one by one.

Questions about initial states share batches of boxes (`split.question_batch`), also where their formulas differ;
questions about paths that differ in their initial sets only are bounded together (`bounds.question_batch`) and explored
together (`paths.many_starts`). A map of a thousand cells costs little more than its border.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from vernal.engines.answers import answered
from vernal.engines.base import Engine, within
from vernal.engines.bounds.engine import Effort, effort
from vernal.engines.bounds.question_batch import known_by_bounds
from vernal.engines.paths.many_starts import kept_together
from vernal.engines.placement import device_for
from vernal.engines.split.question_batch import Decided, decide_together
from vernal.errors import Stopped
from vernal.evidence.knowledge import Known, Proof
from vernal.evidence.result import Result
from vernal.interpret.linear.interval_bounds import Plain
from vernal.interpret.numbers.device import using
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.run.alarm import in_time
from vernal.run.budget import Budget
from vernal.run.threads import one_blas_thread

FIRST_BATCH, MAX_BATCH = 16, 64  # questions that are asked together at first, and at most
MAX_ON_CARD = 512  # at most, where a card bounds them
SECONDS_PER_QUESTION = 0.2  # of the processor, for common work, at most
MAX_WAITING = 5.0  # as many seconds of the wall as of the processor, at most
COMMON_SHARE = 0.5  # of the time that each question has, at most, for common work
PAYS = 0.25  # the share of the questions that common work should decide


def check_questions(questions: Sequence[Question], engine: Engine, budget: Budget) -> list[Result]:
    """A result for each question, with the verdict the engine would give; `seconds` has its share of common work.

    The budget is that of each question that is asked by itself, and of what is done together.
    """
    began = time.monotonic()
    known = known_together(questions, budget)
    common = time.monotonic() - began - sum(decided.seconds for decided in known.values())
    results = []
    for number, question in enumerate(questions):
        own = time.monotonic()
        alone = replace(budget, started=own)
        found = known[number] if number in known else Decided(within(engine, question, alone))
        seconds = common / len(questions) + found.seconds
        results.append(replace(answered(question, found.known, alone), seconds=seconds + time.monotonic() - own))
    return results


# Methods --------------------------------------------------------------------------------------------------------------

KnownTogether = Callable[[Sequence[Question], Budget], dict[int, Decided]]
FromStarts = Callable[[Sequence[Question], Budget], dict[int, Known]]  # of questions that differ in initial sets only


def known_together(questions: Sequence[Question], budget: Budget, engine: str = "auto") -> dict[int, Decided]:
    """What common work finds out of the questions, by their place; each way has its share of the time."""
    found: dict[int, Decided] = {}
    methods = METHODS.get(engine, ())
    for number, method in enumerate(methods):
        rest = [place for place in range(len(questions)) if place not in found]
        if not rest:
            break
        made = method([questions[place] for place in rest], budget.part(1 / (len(methods) - number)))
        found |= {rest[place]: decided for place, decided in made.items()}
    return found


def of_starts(known: FromStarts) -> KnownTogether:
    """The same for any questions: those about paths are asked with those that differ in their initial sets only."""

    def ask(questions: Sequence[Question], budget: Budget) -> dict[int, Decided]:
        found: dict[int, Decided] = {}
        for places in _differing_in_starts(questions):
            made = known([questions[place] for place in places], budget)
            found |= {places[number]: Decided(proof) for number, proof in made.items()}
        return found

    return ask


def _differing_in_starts(questions: Sequence[Question]) -> list[list[int]]:
    """The places of questions about paths, those with one graph, one claim and the same constraints in one list."""
    made: dict[Hashable, list[int]] = {}
    for place, question in enumerate(questions):
        if question.claim.horizon:
            key = (id(question.system.step), question.formula, question.system.init.where)
            made.setdefault(key, []).append(place)
    return [places for places in made.values() if len(places) > 1]


def intervals(questions: Sequence[Question], budget: Budget) -> dict[int, Known]:
    """Intervals of a nonlinear loop: where a claim has room, they show it in no time; others are cheap to bound."""
    quick = effort(questions[0].system) == Effort()
    found = {} if quick else known_by_bounds(questions, budget, Plain)
    return {place: known for place, known in found.items() if isinstance(known, Proof)}


def proofs_by_bounds(questions: Sequence[Question], budget: Budget) -> dict[int, Known]:
    """Only what holds: alone, `auto` simulates first, and finds a path that fails by more."""
    return {place: known for place, known in known_by_bounds(questions, budget).items() if isinstance(known, Proof)}


METHODS: Mapping[str, tuple[KnownTogether, ...]] = {
    "auto": (decide_together, of_starts(intervals), of_starts(proofs_by_bounds), of_starts(kept_together)),
    "split": (decide_together,),
    "bounds": (of_starts(known_by_bounds),),
    "paths": (of_starts(kept_together),),
}  # of each engine, what it does for many questions at once, cheapest first


# One after the other --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Common:
    """What common work has found of some questions."""

    found: Mapping[int, Decided]  # by the identity of the question
    each: Mapping[int, float]  # by the same: seconds of the common work

    def seconds(self, question: object) -> float:
        """The share of a question in common work, and what was spent on it alone there."""
        own = self.found[id(question)].seconds if id(question) in self.found else 0.0
        return self.each.get(id(question), 0.0) + own

    def result(self, question: Question, budget: Budget) -> Result | None:
        """The result that follows for a question; None if nothing is known of it."""
        decided = self.found.get(id(question))
        if decided is None:
            return None
        began = time.monotonic()
        result = answered(question, decided.known, budget)
        return replace(result, seconds=self.seconds(question) + time.monotonic() - began)


NOTHING = Common({}, {})


def ask_together(asked: Sequence[Question], engine: str, budget: Budget, patience: float) -> Common:
    """What common work finds out of some questions; the budget is that of one of them. Only steps are shared.

    It takes `patience` seconds for each, at most, and no more than a share of the time that each has. These are seconds
    of the processor: what is found must not depend on what else the machine does, or on how many work beside it.
    """
    questions = [question for question in asked if question.time is Time.STEPS]
    if len(questions) < 2 or engine not in METHODS:
        return NOTHING
    began = time.monotonic()
    whole = COMMON_SHARE * len(questions) * (inf if budget.timeout is None else budget.timeout)
    found = _found(questions, engine, budget, min(patience * len(questions), whole), whole)
    spent = time.monotonic() - began - sum(decided.seconds for decided in found.values())
    share = max(0.0, spent) / len(questions)
    known = {id(questions[place]): decided for place, decided in found.items()}
    return Common(known, {id(question): share for question in questions})


def _found(
    questions: Sequence[Question], engine: str, budget: Budget, seconds: float, whole: float
) -> dict[int, Decided]:
    limits = replace(budget, timeout=seconds, started=time.process_time(), clock=time.process_time).apart()
    wall = Budget(min(MAX_WAITING * seconds, whole))  # whatever looks at no clock is interrupted by this one
    try:
        with one_blas_thread(), using(device_for(budget.device, questions[0])):
            return in_time(lambda: known_together(questions, limits, engine), wall)
    except (Stopped, MemoryError):  # each has a limit of its own when it is asked alone
        return {}


class CommonWork:
    """Common work for questions that come one after the other: where it decides few, for less and less time.

    How many are asked together depends on nothing but their number: then they are the same wherever they are asked.
    """

    def __init__(self, engine: str, *, shared: bool = True, most: int = MAX_BATCH) -> None:
        """Not every engine shares work, and none that is told how to work: then every question is asked alone."""
        self.engine, self.shared, self.most = engine, shared and engine in METHODS, most
        self.size = FIRST_BATCH if self.shared else 1
        self.patience = SECONDS_PER_QUESTION

    def take(self) -> int:
        """How many come next; afterwards more."""
        size = self.size
        self.size = min(2 * size, self.most) if self.shared else 1
        return size

    def ask(self, asked: Sequence[Question], budget: Budget) -> Common:
        """What is found out of some questions."""
        if not self.shared:
            return NOTHING
        common = ask_together(asked, self.engine, budget, self.patience)
        self.learn(len(common.each), len(common.found))
        return common

    def learn(self, asked: int, decided: int) -> None:
        """So many were asked together, and so many decided so."""
        if asked:
            pays = decided >= PAYS * asked
            self.patience = min(2 * self.patience, SECONDS_PER_QUESTION) if pays else 0.5 * self.patience
