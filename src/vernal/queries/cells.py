"""Cells of a sweep as sub-problems for any process: several together, or each alone.

What common work decides of a batch comes back first; what it leaves open is asked cell by cell. Both are functions of
plain data, so that a pool, a folder of jobs and a cluster give the rows that one process gives.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from vernal.engines import check
from vernal.engines.question_batches import Common, ask_together
from vernal.engines.time_shares import FairShares
from vernal.errors import InputError, Stopped
from vernal.evidence.result import UNKNOWN, Result
from vernal.evidence.result_data import result_data
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.logic.times import Time
from vernal.model.lazy import cached_property
from vernal.model.portable import Portable
from vernal.run.budget import Budget
from vernal.run.worker import Job, Worked, inherited, named


@dataclass(frozen=True, slots=True)
class SweepCell(Portable):
    """One combination of values, the task made with them, and what is asked of it."""

    point: Mapping[str, str]
    task: Task
    questions: tuple[Question, ...]

    @property
    def made(self) -> SweepCell:
        return self


CellMaker = Callable[[Mapping[str, str]], SweepCell]


@dataclass(eq=False)
class PlannedCell(Portable):
    """A cell that is made where it is asked: by a process that has inherited how."""

    point: Mapping[str, str]
    maker: int  # the number under which a `CellMaker` is shared

    @cached_property
    def made(self) -> SweepCell:
        make: CellMaker = inherited(self.maker)
        return make(self.point)


AnyCell = SweepCell | PlannedCell


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

    cells: tuple[AnyCell, ...]
    seconds: tuple[tuple[float, ...], ...] = ()
    chosen: tuple[tuple[int, ...] | None, ...] = ()  # of each cell the questions that are asked, if not all

    def made(self, number: int) -> SweepCell:
        """One of the cells, with the questions that are asked of it."""
        cell = self.cells[number].made
        chosen = self.chosen[number] if self.chosen else None
        return cell if chosen is None else replace(cell, questions=tuple(cell.questions[place] for place in chosen))


def share_cells(job: Job, budget: Budget) -> Worked:
    """What common work finds out of several cells: for each cell and question a result, or none, and its seconds."""
    order, part = _given(job)
    cells, bad = _until_bad(part)
    asked = [question for cell in cells for question in cell.questions]
    common = ask_together(asked, order.engine, order.budget(), order.patience)
    found: list[Any] = [[_shared(cell, question, common, order) for question in cell.questions] for cell in cells]
    seconds = [[common.seconds(question) for question in cell.questions] for cell in cells]
    return Worked({"found": found + bad, "seconds": seconds, "asked": len(common.each), "final": False})


def _until_bad(part: CellPart) -> tuple[list[SweepCell], list[dict[str, str]]]:
    """The cells up to the first that cannot be made, and what is said of that."""
    cells: list[SweepCell] = []
    for number in range(len(part.cells)):
        try:
            cells.append(part.made(number))
        except (InputError, Stopped) as error:
            return cells, [failure_data(error)]
    return cells, []


def failure_data(error: InputError | Stopped) -> dict[str, str]:
    """Why a cell cannot be asked, as plain data."""
    return {"stopped": error.reason} if isinstance(error, Stopped) else {"bad": str(error)}


def _shared(cell: SweepCell, question: Question, common: Common, order: CellOrder) -> dict[str, Any] | None:
    result = common.result(question, order.budget(common.seconds(question)))
    return None if result is None else cell_data(check.stated(cell.task, result), question)


def cell_data(result: Result, question: Question) -> dict[str, Any]:
    """A result as plain data; where no question is needed to read it again, with what was asked."""
    data = result_data(result, question.model)
    if question.time is Time.STEPS and result.evidence is None:
        data |= {"asked": [question.claim.text, question.name]}
    return data


def ask_cells(job: Job, budget: Budget) -> Worked:
    """The results of each cell by itself, question by question, up to the first cell that is bad input."""
    order, part = _given(job)
    found: list[Any] = []
    final = True
    for number, seconds in enumerate(part.seconds):
        try:
            cell = part.made(number)
        except (InputError, Stopped) as error:
            found.append(failure_data(error))
            break
        spent = dict(zip(map(id, cell.questions), seconds or (0.0,) * len(cell.questions), strict=True))
        try:
            results = list(alone(cell, order, spent))
        except InputError as error:
            found.append(failure_data(error))
            break
        pairs = zip(results, cell.questions, strict=True)
        found.append([cell_data(result, question) for result, question in pairs])
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
