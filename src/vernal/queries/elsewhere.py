"""Questions about one task, each asked as a whole by whoever works there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from vernal.engines.check import Options
from vernal.engines.journals import KnownCells, sweep_subject
from vernal.engines.question_batches import CommonWork
from vernal.evidence.result import Result
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.queries.cells import CellOrder, SweepCell
from vernal.queries.spread import NumberedCell, SpreadCells
from vernal.run.budget import Budget
from vernal.run.places import WorkPlace


def ask_elsewhere(
    task: Task, questions: Sequence[Question], engine: str, options: Options, limits: Budget, place: WorkPlace
) -> list[Result]:
    """The results in the order of the questions; each has the whole time of the limits, from when it is begun."""
    waiting = [SweepCell({}, task, (question,)) for question in questions]
    found: dict[int, Result] = {}

    def taken(count: int) -> list[SweepCell]:
        return [waiting.pop(0) for _ in range(min(count, len(waiting)))]

    def tell(one: NumberedCell) -> None:
        found.update((one.number, result) for result in one.answers)

    order = CellOrder(engine, dict(options), limits)
    cells = SpreadCells(taken, order, CommonWork(engine, shared=False), KnownCells(None), tell)
    with place.executor(partial(sweep_subject, task, engine, options)) as executor:
        cells.go(executor)
    if cells.failure is not None:
        raise cells.failure[1]
    return [found[number] for number in range(len(questions))]
