"""Many questions about initial states in common batches of boxes.

Questions whose requirements differ in numbers only (which score has to win, which threshold, which box) are bounded
together: a batch holds boxes of all of them, each with the rows of its own question. A question that takes many boxes,
or that only exact arithmetic can settle, is left to whoever asks it alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import NamedTuple

from vernal.engines.base import infinite_bounds
from vernal.engines.split.engine import not_asked, outcome
from vernal.errors import Stopped
from vernal.evidence.knowledge import Known
from vernal.interpret.numbers.memory_room import limited
from vernal.logic.question import Question
from vernal.run.budget import Budget
from vernal.sets.core.box_search import BoxSearch
from vernal.sets.core.clauses import Clauses
from vernal.sets.core.cut_trees import CutTrees, Item
from vernal.sets.core.inquiry import refuted_by, search_for
from vernal.sets.core.race import Race

MAX_SHARED_BOXES = 512  # of one question; one that needs more has time of its own

SLICE = 0.1  # seconds, after which it is asked whether the work may end


class Decided(NamedTuple):
    """What is known of a question, and the seconds that were spent on it alone."""

    known: Known
    seconds: float = 0.0


Numbered = list[tuple[int, Question, Clauses]]


def decide_together(
    questions: Sequence[Question], budget: Budget, *, most: float = MAX_SHARED_BOXES, first: bool = False
) -> dict[int, Decided]:
    """What is found out of the questions, by their place; those that stay open are not among them.

    With `first`, the first that is refuted ends the work.
    """
    found: dict[int, Decided] = {}
    with suppress(Stopped), infinite_bounds(), limited(budget.memory):  # what is decided by then stays decided
        for family in families(questions, budget):
            race, places = _race_of(family, budget, most)
            try:
                while not race.run(SLICE) and not (first and race.traces):
                    pass
            finally:
                found |= {places[number]: _decided(race.search_of(number), number) for number in race.answered()}
            if first and race.traces:
                break
    return found


def decide_with_trees(
    questions: Sequence[Question], budget: Budget
) -> tuple[dict[int, Decided], dict[int, list[Item]]]:
    """The same of each by itself, and the tree of its cuts; what is left to exact arithmetic are open leaves of it."""
    found, trees = dict[int, Decided](), dict[int, list[Item]]()
    with suppress(Stopped), infinite_bounds(), limited(budget.memory):
        for family in families(questions, budget):
            for place, question, clauses in family:
                race = search_for([question], [clauses], budget)
                race.run()
                search = race.search_of()
                if race.traces:
                    return {place: _decided(search, 0)}, {}
                trees[place] = tree_of(search)
                if not search.tally.left:
                    found[place] = _decided(search, 0)
    return found, trees


def tree_of(search: BoxSearch) -> list[Item]:
    """The cuts of a search from a single box that has closed all of it."""
    closed = search.tally.kept
    if not closed or len(search.frame.whole) != 1:
        return [None]
    return CutTrees(search.clauses, search.frame, closed, search.budget.check).tree(0)


def _race_of(family: Numbered, budget: Budget, most: float) -> tuple[Race, Sequence[int]]:
    """The searches for a family, and the places of its questions."""
    places, asked, clauses = zip(*family, strict=True)
    return search_for(asked, clauses, budget, most), places


def families(questions: Sequence[Question], budget: Budget) -> list[Numbered]:
    """The questions this can be asked of, with their clauses; those that differ in numbers only in one list."""
    made: dict[Hashable, Numbered] = {}
    known: dict[Hashable, Clauses | None] = {}
    for place, question in enumerate(questions):
        if not_asked(question) is not None or question.claim.horizon:
            continue
        key = (id(question.system.step), question.formula, question.system.init.where)
        if key not in known:
            known[key] = refuted_by(question, budget)
        clauses = known[key]
        if clauses is not None:
            made.setdefault(clauses.pattern, []).append((place, question, clauses))
    return list(made.values())


def _decided(search: BoxSearch, number: int) -> Decided:
    return Decided(outcome(search, number), float(search.replays.seconds[number]))
