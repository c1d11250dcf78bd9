"""Cells of a sweep as sub-problems for any process: several together, or each alone.

What common work decides of a batch comes back first; what it leaves open is asked cell by cell. Both are functions of
plain data, so that a pool, a folder of jobs and a cluster give the rows that one process gives.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from vernal.engines import check
from vernal.engines.question_batches import Common, ask_together
from vernal.engines.time_shares import FairShares
from vernal.errors import InputError
from vernal.evidence.result import UNKNOWN, Result
from vernal.evidence.result_data import result_data
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.portable import Portable
from vernal.run.budget import Budget
from vernal.run.worker import Job, Worked, named


@dataclass(frozen=True, slots=True)
class SweepCell(Portable):
    """One combination of values, the task made with them, and what is asked of it."""

    point: Mapping[str, str]
    task: Task
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class CellOrder(Portable):
    """How cells are asked: by which engine, with what options, and with the limits of one cell."""

    engine: str
    options: Mapping[str, Any]
    limits: Budget
    patience: float = 0.0  # seconds of common work for each question, at most

    def budget(self, spent: float = 0.0) -> Budget:
        """That of a cell whose turn it is now, and for which so many seconds were spent before."""
        return replace(self.limits, started=time.monotonic() - spent, stops=[])


@dataclass(frozen=True)
class CellPart(Portable):
    """Cells to ask, and the seconds that common work has taken for each question of those that are asked alone."""

    cells: tuple[SweepCell, ...]
    seconds: tuple[tuple[float, ...], ...] = ()


def share_cells(job: Job, budget: Budget) -> Worked:
    """What common work finds out of several cells: for each cell and question a result, or none, and its seconds."""
    order, part = _given(job)
    asked = [question for cell in part.cells for question in cell.questions]
    common = ask_together(asked, order.engine, order.budget(), order.patience)
    found = [[_shared(cell, question, common, order) for question in cell.questions] for cell in part.cells]
    seconds = [[common.seconds(question) for question in cell.questions] for cell in part.cells]
    return Worked({"found": found, "seconds": seconds, "asked": len(common.each), "final": False})


def _shared(cell: SweepCell, question: Question, common: Common, order: CellOrder) -> dict[str, Any] | None:
    result = common.result(question, order.budget(common.seconds(question)))
    return None if result is None else result_data(check.stated(cell.task, result), question.model)


def ask_cells(job: Job, budget: Budget) -> Worked:
    """The results of each cell by itself, question by question, up to the first cell that is bad input."""
    order, part = _given(job)
    found: list[Any] = []
    final = True
    for cell, seconds in zip(part.cells, part.seconds, strict=True):
        spent = dict(zip(map(id, cell.questions), seconds, strict=True))
        try:
            results = list(alone(cell, order, spent))
        except InputError as error:
            found.append(str(error))
            break
        pairs = zip(results, cell.questions, strict=True)
        found.append([result_data(result, question.model) for result, question in pairs])
        final = final and all(result.verdict is not UNKNOWN for result in results)
    return Worked({"results": found, "final": final})


def alone(cell: SweepCell, order: CellOrder, spent: Mapping[int, float]) -> Iterator[Result]:
    """Every question of a cell by itself; `spent` are the seconds of common work, by the identity of the question."""

    def answer(question: Question, budget: Budget) -> Result:
        found = check.ask(cell.task, question.formula, question.name, order.engine, budget, order.options)
        found = replace(found, seconds=found.seconds + spent.get(id(question), 0.0))
        return check.stated(cell.task, found)

    asks = [partial(answer, question) for question in cell.questions]
    yield from FairShares(asks, order.budget(sum(spent.values())))


def _given(job: Job) -> tuple[CellOrder, CellPart]:
    if not isinstance(job.question, CellOrder) or not isinstance(job.part, CellPart):
        raise InputError("this sub-problem is not about cells of a sweep")
    return job.question, job.part


FUNCTIONS = (named(share_cells), named(ask_cells))  # what workers on other machines do
