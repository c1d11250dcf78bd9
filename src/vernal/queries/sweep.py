"""Sweeps: the same questions over a grid of parameters. Cells that differ only in where they start share work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from vernal.engines import check
from vernal.engines.check import NO_OPTIONS, Options
from vernal.engines.journals import KnownCells, keeping_cells
from vernal.engines.question_batches import Common, CommonWork
from vernal.engines.time_shares import FairShares
from vernal.errors import InputError, Stopped, VernalError
from vernal.evidence.result import UNKNOWN, Result
from vernal.formats.loading import Tasks
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.hooks import hook
from vernal.queries.grid import Grid
from vernal.run.budget import Budget, Progress, silent


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


@dataclass(frozen=True, slots=True)
class SweepCell:
    """One combination of values, the task made with them, and what is asked of it."""

    point: dict[str, str]
    task: Task
    questions: list[Question]


class SweepRun:
    """The cells of one sweep, answered one after the other; what was found so far survives an interruption."""

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
    ) -> None:
        """`questions` are those of a cell, `budget` is that of a cell whose clock started then."""
        self.tasks, self.grid, self.fixed, self.questions, self.budget = tasks, grid, dict(fixed), questions, budget
        self.engine, self.options, self.journal, self.progress = engine, options, journal, progress
        self.rows: list[SweepRow] = []
        self.failure: VernalError | None = None
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
        work = CommonWork(self.engine, shared=not self.options)
        points = self.grid.points()
        with keeping_cells(self.journal, self.base, self.engine, self.options) as journal:
            while batch := self._taken(points, work.size):
                self._batch(batch, work, journal)

    def _taken(self, points: Iterator[dict[str, str]], count: int) -> list[SweepCell]:
        """The next cells, up to the first that is bad input."""
        made: list[SweepCell] = []
        while self.failure is None and len(made) < count and (point := next(points, None)):
            try:
                made.append(self._cell(point))
            except InputError as error:
                self.failure = _bad(point, error)
            except Stopped as stop:
                self.failure = stop
        return made

    def _cell(self, point: dict[str, str]) -> SweepCell:
        """One combination: the task is made with these values."""
        task = self.tasks.task(self.fixed | point)
        return SweepCell(point, task, self.questions(task))

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
                    values = {name: cell.task.parameters[name] for name in cell.point}
                    self.rows.append(SweepRow(values, result, cell.point))
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


def _bad(point: dict[str, str], error: InputError) -> InputError:
    return InputError(f"in the cell {_where(point)}: {error}")


def _where(point: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())
