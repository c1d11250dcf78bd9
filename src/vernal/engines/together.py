"""Many questions at once: what common batches decide is not asked again, and the rest is asked one by one.

Questions about initial states share batches of boxes (`split.many`), also where their formulas differ; questions about
paths that differ in their initial sets only are explored together (`paths.together`). A map of a thousand cells costs
little more than its border.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import replace

from vernal.engines.answers import answer
from vernal.engines.base import Engine, within
from vernal.engines.paths.together import kept_together
from vernal.engines.split.many import Decided, decide_together
from vernal.evidence.result import Result
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.model.system import Init, System
from vernal.run.budget import Budget


def check_together(
    system: System, starts: Sequence[Init], formula: Formula, engine: Engine, budget: Budget
) -> list[Result]:
    """A result for each initial set of a system."""
    asked = Question(system, formula)
    return check_questions([asked.starting(init) for init in starts], engine, budget)


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
        results.append(replace(answer(question, found.known, alone), seconds=seconds + time.monotonic() - own))
    return results


def known_together(questions: Sequence[Question], budget: Budget) -> dict[int, Decided]:
    """What common work finds out of the questions, by their place."""
    found = decide_together(questions, budget)
    for places in _differing_in_starts(questions):
        kept = kept_together([questions[place] for place in places], budget)
        found |= {places[number]: Decided(proof) for number, proof in kept.items()}
    return found


def _differing_in_starts(questions: Sequence[Question]) -> list[list[int]]:
    """The places of questions about paths, those with one graph and one claim in one list."""
    made: dict[Hashable, list[int]] = {}
    for place, question in enumerate(questions):
        if question.claim.horizon:
            made.setdefault((id(question.system.step), id(question.claim)), []).append(place)
    return [places for places in made.values() if len(places) > 1]
