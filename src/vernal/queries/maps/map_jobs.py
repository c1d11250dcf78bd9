"""Cells of a map as sub-problems for any process: chunks go out, and what comes back is cut further by the run.

A pool that was forked inherits the questions about cells, and its workers keep what they compile; other workers are
sent the question with every chunk, as plain data. A path that comes back is recomputed by the run before it counts.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vernal.errors import InputError
from vernal.evidence.belief import is_refuted
from vernal.evidence.codec import encoded, restored
from vernal.evidence.trace import Trace
from vernal.logic.question import Question
from vernal.model.held_loop import as_written
from vernal.model.portable import Portable
from vernal.queries.maps.axes import MapAxis
from vernal.queries.maps.cell_answers import CellAnswer
from vernal.queries.maps.cell_questions import CellQuestions
from vernal.queries.maps.cell_tree import CellKind
from vernal.queries.maps.map_run import MapRun, WaitingCell
from vernal.run.budget import Budget
from vernal.run.executor import Finished, start_method
from vernal.run.journal import Occasion
from vernal.run.places import CPU, WorkPlace
from vernal.run.worker import Job, Worked, inherited, named, shared, unshare

MIN_CHUNK = 16  # cells that share an exploration
PER_SLOT = 2  # chunks for each worker
UNKNOWN_WORKERS = 8  # assumed where others work
MAX_KEPT = 4  # sheets that a worker keeps


@dataclass(frozen=True)
class MapSheet(Portable):
    """What a worker needs to ask about cells of one sheet; `name` is that of no other sheet."""

    name: str
    question: Question
    axes: tuple[MapAxis, ...]
    engine: str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class InheritedSheet(Portable):
    """A sheet of the run that a worker was forked from."""

    number: int  # under which all of them are shared
    sheet: int


@dataclass(frozen=True)
class MapOrder(Portable):
    """How cells are asked: of which sheet, and with what limits."""

    sheet: MapSheet | InheritedSheet
    limits: Budget
    cell_seconds: float


_KEPT: dict[str, CellQuestions] = {}  # by the name of the sheet


def questions_of(sheet: MapSheet | InheritedSheet) -> CellQuestions:
    """The questions about cells of a sheet; a worker keeps them, with what was compiled for them."""
    if isinstance(sheet, InheritedSheet):
        found: Sequence[CellQuestions] = inherited(sheet.number)
        return found[sheet.sheet]
    if sheet.name not in _KEPT:
        while len(_KEPT) >= MAX_KEPT:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[sheet.name] = CellQuestions(sheet.question, sheet.axes, sheet.engine, sheet.options)
    return _KEPT[sheet.name]


def ask_map_cells(job: Job, budget: Budget) -> Worked:
    """What is found of some cells: of each its kind, margin and reason, and paths that fail by its place."""
    order, boxes = job.question, job.part
    if not isinstance(order, MapOrder) or not isinstance(boxes, tuple):
        raise InputError("this sub-problem is not about cells of a map")
    questions = questions_of(order.sheet)
    limits = replace(order.limits, started=time.monotonic(), stops=[])
    questions.rng = np.random.default_rng([limits.seed, len(boxes), *job.key.encode()[-8:]])
    if questions.in_batches:
        answers = questions.together(boxes, limits)
    else:
        seconds = min(order.cell_seconds, limits.left)
        answers = [
            questions.alone(box, replace(limits, timeout=seconds, started=time.monotonic()).apart()) for box in boxes
        ]
    model = questions.question.model
    traces = {
        str(place): encoded(one.trace, as_written(model)) for place, one in enumerate(answers) if one.trace is not None
    }
    return Worked({"cells": [_data(one) for one in answers], "traces": traces})


def _data(answer: CellAnswer) -> list[Any]:
    margin = answer.margin
    found = None if margin is None or not math.isfinite(margin) else margin
    return [answer.kind.value, found, answer.reason, None if answer.slopes is None else list(answer.slopes)]


FUNCTIONS = (named(ask_map_cells),)  # what workers on other machines do


@dataclass
class MapSpread:
    """A map under way in other processes: which chunks are out, and what becomes of answers."""

    run: MapRun
    place: WorkPlace
    subject: Callable[[], Occasion]
    name: str  # of the map, for its sheets
    out: dict[str, list[WaitingCell]] = field(default_factory=dict)  # by the key of the sub-problem
    again: deque[WaitingCell] = field(default_factory=deque)  # asked one by one, since a worker ended over them
    number: int | None = None  # under which a forked pool finds the sheets
    count: int = 0

    def go(self) -> None:
        """Until the rule is met, nothing is left to ask, or a limit is reached."""
        own = not self.place.is_remote and start_method() == "fork"
        self.number = shared(self.run.questions) if own else None
        limits = replace(self.run.budget, workers=max(1, self.place.workers), device=CPU)
        try:
            with self.place.executor(self.subject) as executor, closing(executor.run(self, limits)) as finished:
                for done in finished:
                    self._take(done)
        finally:
            if self.number is not None:
                unshare(self.number)

    def __iter__(self) -> Iterator[Job]:
        return self

    def __next__(self) -> Job:
        """What can be asked now; the end of it is not the end, as long as chunks are out."""
        if self.run.is_met:
            raise StopIteration
        if self.again:
            cells = [self.again.popleft()]
        elif self.run.waiting:
            slots = PER_SLOT * (self.place.workers or UNKNOWN_WORKERS)
            cells = self.run.taken(max(MIN_CHUNK, len(self.run.waiting) // slots))
        else:
            raise StopIteration
        self.count += 1
        key = f"{self.name} {self.count:08d}"
        self.out[key] = cells
        order = MapOrder(self._sheet(cells[0].sheet), self._limits, self.run.cell_seconds)
        boxes = tuple(cell.box for cell in cells)
        return Job(key, named(ask_map_cells), order, boxes, light=self.number is not None)

    @property
    def _limits(self) -> Budget:
        """Those of one chunk: a worker has a share of the memory."""
        budget, workers = self.run.budget, max(1, self.place.workers)
        memory = None if budget.memory is None else budget.memory / workers
        left = None if budget.timeout is None else max(budget.left, 0.0)
        return Budget(left, memory, seed=budget.seed)

    def _sheet(self, sheet: int) -> MapSheet | InheritedSheet:
        if self.number is not None:
            return InheritedSheet(self.number, sheet)
        asked = self.run.questions[sheet]
        axes = tuple(asked.axes)
        return MapSheet(f"{self.name} sheet {sheet}", asked.question, axes, asked.engine, dict(asked.options))

    def _take(self, done: Finished) -> None:
        cells = self.out.pop(done.key)
        if done.outcome is None:
            self._lost(cells, done.lost)
            return
        traces = done.outcome["traces"]
        answers = [
            self._answer(cell, said, traces.get(str(place)))
            for place, (cell, said) in enumerate(zip(cells, done.outcome["cells"], strict=True))
        ]
        self.run.answered(cells, answers)

    def _answer(self, cell: WaitingCell, said: Sequence[Any], record: Any) -> CellAnswer:
        """An answer as it came back; a path counts if it is one, and refutes the claim."""
        kind, margin, reason, slopes = said
        trace = None if record is None else self._replayed(cell, record)
        if record is not None and trace is None and CellKind(kind) is not CellKind.WHOLLY_UNSAFE:
            return CellAnswer(reason="a path came back that does not replay")
        return CellAnswer(CellKind(kind), margin, trace, str(reason), None if slopes is None else tuple(slopes))

    def _replayed(self, cell: WaitingCell, record: Any) -> Trace | None:
        question = self.run.questions[cell.sheet].of(cell.box)
        found = restored(record, as_written(question.model))
        return found if isinstance(found, Trace) and is_refuted(question, found) else None

    def _lost(self, cells: Sequence[WaitingCell], why: str) -> None:
        """Workers ended over a chunk again and again: its cells are asked one by one, and one alone stays open."""
        if len(cells) > 1:
            self.again.extend(cells)
        else:
            self.run.leave(cells[0].node, CellAnswer(reason=f"{why}, whenever it was asked; try --memory"))
