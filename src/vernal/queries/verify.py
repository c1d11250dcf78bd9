"""Answering a network query: its alternatives are questions, which the engines decide.

All alternatives of a query are asked in common batches of boxes first; those that stay open are asked one by one, each
with its share of the time. What the engines refute is confirmed by an assignment that is checked twice
(`witness_points`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from vernal.engines.answers import answer
from vernal.engines.split.question_batch import Decided, decide_together, decide_with_trees
from vernal.errors import Stopped
from vernal.evidence.result import UNKNOWN, VIOLATED, Result
from vernal.formats.vnnlib.query import Query
from vernal.logic.question import Question
from vernal.queries.answer import Answer, QueryStatus
from vernal.queries.model import NetworkModel
from vernal.queries.question import Conjunction, QueryQuestions, cases
from vernal.queries.witness_points import PointSearch, asked_of_engine
from vernal.run.budget import Budget
from vernal.sets.core.cut_trees import Item

SHARE_TOGETHER = 0.5  # of the time, for all alternatives of a query at once
SHARE_WITH_TREES = 0.8  # likewise where a certificate is asked for: what that leaves open is asked of all engines
SCRAPS = 0.05  # of the time: an engine's last share may end by itself
LEAST_SECONDS = 1.0  # for one that is open, as long as there is time


def verify(query: Query, model: NetworkModel, budget: Budget, engine: str = "auto") -> Answer:
    """Is there an input for which everything the query asserts is true?"""
    try:
        alternatives = cases(query, budget.check)
        if not alternatives:
            return Answer(QueryStatus.UNSAT, notes=("vacuous: no input is within the stated bounds",), trees=())
        return Alternatives(query, alternatives, model, budget, engine).answer()
    except Stopped as stop:
        return stopped(budget, stop)


def stopped(budget: Budget, stop: Stopped) -> Answer:
    """The answer where a limit was reached before any question was asked."""
    status = QueryStatus.TIMED_OUT if budget.left <= 0 else QueryStatus.UNKNOWN
    return Answer(status, reason=stop.reason)


class Alternatives:
    """The alternatives of a query: first all of them in common batches, then each that is open, for a while."""

    def __init__(
        self, query: Query, cases: Sequence[Conjunction], model: NetworkModel, budget: Budget, engine: str
    ) -> None:
        self.query, self.cases, self.model, self.budget, self.engine = query, cases, model, budget, engine
        self.questions = QueryQuestions(query, model.network)
        self.undecided: dict[int, Answer] = {}  # by number of the case
        self.trees: dict[int, list[Item]] = {}  # likewise, for a certificate

    def answer(self) -> Answer:
        """Sat by the first input that passes both checks, unsat if every alternative is, else what is open."""
        asked = [self.questions.question(case) for case in self.cases]
        together = self._together(asked)
        for number, decided in together.items():
            found = self._judged(number, answer(asked[number], decided.known, self.budget))
            if found is not None:
                return found
        waiting = deque(number for number in range(len(asked)) if number not in together)
        while waiting and self.budget.left > 0:
            number = waiting.popleft()
            part = self._share(len(waiting) + 1)
            found = self._judged(number, asked_of_engine(asked[number], self.engine, part))
            if found is not None:
                return found
            if number in self.undecided and self.budget.timeout is not None and part.left <= 0:
                waiting.append(number)  # once more, with the time that others leave
        return self._rest(len(waiting))

    def _together(self, asked: Sequence[Question]) -> dict[int, Decided]:
        """What common batches decide; nothing of a single question, nor where an engine is asked for by name."""
        if self.budget.keeps_sets and self.engine == "auto":
            decided, self.trees = decide_with_trees(asked, self.budget.part(SHARE_WITH_TREES))
            return decided
        if len(asked) == 1 or self.engine != "auto":
            return {}
        return decide_together(asked, self.budget.part(SHARE_TOGETHER), first=True)

    def _share(self, count: int) -> Budget:
        """The time of one of so many alternatives."""
        left = self.budget.left
        return self.budget if count == 1 else self.budget.part(min(1.0, max(1 / count, LEAST_SECONDS / left)))

    def _judged(self, number: int, result: Result) -> Answer | None:
        """The answer if an input is a solution; else it is noted whether the alternative is open."""
        self.undecided.pop(number, None)
        if result.verdict is VIOLATED:
            case = self.cases[number]
            search = PointSearch(self.query, case, self.model, self.budget, self.engine, self.questions)
            found = search.confirmed(result)
            if found.status is QueryStatus.SAT:
                return found
            self.undecided[number] = found
        elif result.verdict is UNKNOWN:
            self.undecided[number] = Answer(QueryStatus.UNKNOWN, reason=result.reason, notes=result.notes)
        return None

    def _rest(self, not_asked: int) -> Answer:
        """The answer where no input was found."""
        undecided = list(self.undecided.values())
        if not undecided and not not_asked:
            return Answer(QueryStatus.UNSAT, trees=tuple(self.trees.get(n, [None]) for n in range(len(self.cases))))
        if self.budget.timeout is not None and self.budget.left <= SCRAPS * self.budget.timeout:
            notes = undecided[-1].notes if len(self.cases) == 1 and undecided else ()
            return Answer(QueryStatus.TIMED_OUT, reason=f"timeout after {self.budget.timeout:g} s", notes=notes)
        several = f" ({len(undecided)} of {len(self.cases)} alternatives are open)" if len(self.cases) > 1 else ""
        return replace(undecided[0], reason=f"{undecided[0].reason}{several}")
