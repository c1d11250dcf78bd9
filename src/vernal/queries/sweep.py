"""Sweeps: the same questions over a grid of parameters. Cells that differ only in where they start share work."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from vernal.engines import check
from vernal.engines.check import NO_OPTIONS, Options
from vernal.engines.journals import KnownCells, keeping_cells, sweep_subject
from vernal.engines.question_batches import MAX_BATCH, MAX_ON_CARD, Common, CommonWork
from vernal.engines.time_shares import FairShares
from vernal.errors import InputError, Stopped, VernalError
from vernal.evidence.result import UNKNOWN, Result
from vernal.formats.loading import Tasks
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.hooks import hook
from vernal.queries.cells import CellOrder, PlannedCell, SweepCell
from vernal.queries.grid import Grid
from vernal.queries.spread import NumberedCell, SpreadCells
from vernal.run.budget import Budget, Progress, silent
from vernal.run.executor import start_method
from vernal.run.places import CPU, HERE, WorkPlace
from vernal.run.worker import shared, unshare

NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One answer of a sweep: the values of the parameters, how they were written, and the result there."""

    parameters: Mapping[str, Fraction]
    result: Result
    written: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SweepTable(Sequence[SweepRow]):
    """The answers of a sweep, a row for each property of each cell; the last parameter varies fastest."""

    task: Task = field(repr=False)  # as it stands, without the parameters that are swept over
    rows: tuple[SweepRow, ...] = ()

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        verdicts = [row.result.verdict.value for row in self.rows]
        counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
        return f"<SweepTable of {len(self.rows)} rows: {counts}>"

    def to_dataframe(self) -> Any:
        """One row for each answer, as a data frame of pandas."""
        return hook("frame_sweep")(self)

    def plot(self, file: str | Path | None = None) -> Any:
        """Draw the verdicts over one or two parameters, with their margins; to a file if one is named."""
        return hook("plot_sweep")(self, file)

    def save(self, file: str | Path) -> None:
        """Write the rows as JSON, or as CSV where the file is called so, as `vernal sweep` does."""
        hook("save_sweep")(self, file)

    def _repr_html_(self) -> str:
        return str(hook("show_sweep")(self))


class SweepRun:
    """The cells of one sweep, answered here or elsewhere; what was found so far survives an interruption."""

    def __init__(
        self,
        tasks: Tasks,
        grid: Grid,
        fixed: Mapping[str, str],
        questions: Callable[[Task], list[Question]],
        budget: Callable[[float], Budget],
        engine: str = "auto",
        options: Options = NO_OPTIONS,
        journal: Path | None = None,
        progress: Progress = silent,
        place: WorkPlace = HERE,
    ) -> None:
        """`questions` are those of a cell, `budget` is that of a cell whose clock started then."""
        self.tasks, self.grid, self.fixed, self.questions, self.budget = tasks, grid, dict(fixed), questions, budget
        self.engine, self.options, self.journal, self.progress = engine, options, journal, progress
        self.place, self._points = place, grid.points()
        self.rows: list[SweepRow] = []
        self.failure: VernalError | None = None
        self._maker: int | None = None  # how workers that inherit it find what makes cells
        first = tasks.task(self.fixed | next(grid.points()))
        swept = {axis.name for axis in grid.axes}
        kept = {name: value for name, value in first.parameters.items() if name not in swept}
        self.base = replace(first, parameters=kept)  # what is swept has no one value there

    @property
    def table(self) -> SweepTable:
        """What was found so far."""
        return SweepTable(self.base, tuple(self.rows))

    @property
    def is_decided(self) -> bool:
        """Whether no cell is unknown, of those that were reached."""
        return all(row.result.verdict is not UNKNOWN for row in self.rows)

    @property
    def missing(self) -> int:
        """How many cells were not reached."""
        return self.grid.size - len({tuple(row.written.items()) for row in self.rows})

    def go(self) -> None:
        """Every cell; a bad cell ends the sweep, not what was found so far."""
        limits = self.budget(time.monotonic())
        most = MAX_BATCH if limits.device == CPU else MAX_ON_CARD
        work = CommonWork(self.engine, shared=not self.options, most=most)
        with keeping_cells(self.journal, self.base, self.engine, self.options) as journal:
            if self.place.spreads and self.grid.size > 1:
                self._spread(work, journal, limits)
            else:
                while batch := self._taken(work.take()):
                    self._batch(batch, work, journal)

    def _spread(self, work: CommonWork, journal: KnownCells, limits: Budget) -> None:
        """Cells in other processes, each with one worker and its share of the memory."""
        share = None if limits.memory is None else limits.memory / max(1, self.place.workers)
        order = CellOrder(self.engine, dict(self.options), replace(limits, workers=1, memory=share, device=CPU))
        answered: dict[int, list[SweepRow]] = {}

        def tell(one: NumberedCell) -> None:
            point = one.planned.point
            values = _numbers(point) or self._values(one.cell)
            answered[one.number] = [SweepRow(values, result, point) for result in one.answers]
            self.progress(_where(point), len(answered) / self.grid.size)

        own = not self.place.is_remote
        plans = own and journal.journal is None and start_method() == "fork"
        cells = SpreadCells(self._planned, order, work, journal, tell, self.place.workers, own, own, plans)
        self._maker = shared(self._cell)
        try:
            with self.place.executor(partial(sweep_subject, self.base, self.engine, self.options)) as executor:
                cells.go(executor)
        finally:
            unshare(self._maker)
            last = self.grid.size if cells.failure is None else cells.failure[0]
            self.rows = [row for number in sorted(answered) if number < last for row in answered[number]]
        if cells.failure is not None:
            self.failure = cells.failure[1]

    def _planned(self, count: int) -> list[PlannedCell]:
        """The next cells, not made yet."""
        assert self._maker is not None, "cells are planned while the sweep goes on"
        return [PlannedCell(point, self._maker) for point in islice(self._points, count)]

    def _taken(self, count: int) -> list[SweepCell]:
        """The next cells, up to the first that is bad input."""
        made: list[SweepCell] = []
        while self.failure is None and len(made) < count and (point := next(self._points, None)):
            try:
                made.append(self._cell(point))
            except InputError as error:
                self.failure = _bad(point, error)
            except Stopped as stop:
                self.failure = stop
        return made

    def _cell(self, point: Mapping[str, str]) -> SweepCell:
        """One combination: the task is made with these values."""
        task = self.tasks.task({**self.fixed, **point})
        return SweepCell(point, task, tuple(self.questions(task)))

    def _values(self, cell: SweepCell) -> dict[str, Fraction]:
        return {name: cell.task.parameters[name] for name in cell.point}

    def _row(self, cell: SweepCell, result: Result) -> SweepRow:
        return SweepRow(self._values(cell), result, cell.point)

    def _batch(self, cells: Sequence[SweepCell], work: CommonWork, journal: KnownCells) -> None:
        """Some cells: first what they have in common, then each by itself; its clock starts with its turn."""
        done = (self.grid.size - self.missing) / self.grid.size
        if len(cells) > 1:
            self.progress(f"{len(cells)} cells together", done)
        asked = [(cell.task, question) for cell in cells for question in cell.questions]
        waiting = [question for task, question in asked if not journal.has(task, question)]
        common = work.ask(waiting, self.budget(time.monotonic()))
        for number, cell in enumerate(cells):
            self.progress(_where(cell.point), done + number / self.grid.size)
            asks = [partial(self._answer, cell.task, question, common, journal) for question in cell.questions]
            spent = sum(map(common.seconds, cell.questions))
            try:
                for result in FairShares(asks, self.budget(time.monotonic() - spent)):
                    self.rows.append(self._row(cell, result))
            except InputError as error:
                self.failure = _bad(cell.point, error)
                return

    def _answer(self, task: Task, question: Question, common: Common, journal: KnownCells, budget: Budget) -> Result:
        """What is in the journal, what common work has found, or what the engine says of this question alone."""
        known = journal.get(task, question)
        if known is not None:
            return known
        known = common.result(question, budget)
        if known is None:
            known = check.ask(task, question.formula, question.name, self.engine, budget, self.options)
            known = replace(known, seconds=known.seconds + common.seconds(question))
        known = check.stated(task, known)
        journal.add(task, question, known)
        return known


def _bad(point: Mapping[str, str], error: InputError) -> InputError:
    return InputError(f"in the cell {_where(point)}: {error}")


def _numbers(point: Mapping[str, str]) -> dict[str, Fraction] | None:
    """The values of a cell, if all of them are written as plain numbers."""
    if not all(NUMBER.fullmatch(text) for text in point.values()):
        return None
    return {name: Fraction(text) for name, text in point.items()}


def _where(point: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())
