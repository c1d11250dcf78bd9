"""Simulations and local search again and again, with other seeds: what is left to try when time is left."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from vernal.engines.falsify.engine import Falsify
from vernal.evidence.knowledge import Known, Open
from vernal.logic.question import Question
from vernal.run.budget import Budget


class Reseeded:
    """`falsify` with one seed after the other, until the time is up; only once where there is nothing to vary."""

    name = Falsify.name

    def takes(self, question: Question) -> str | None:
        """What a search with one seed takes."""
        return Falsify().takes(question)

    def attempt(self, question: Question, budget: Budget) -> Known:
        for number in count(1):
            known = Falsify().attempt(question, replace(budget, seed=budget.seed + number))
            if not isinstance(known, Open) or int(known.statistics.get("runs", 0)) <= 1:
                break
            budget.check()
        return known
