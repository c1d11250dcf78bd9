"""The cells of a sweep, spread over an executor: what comes back is kept in the order of the grid."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from vernal.engines.answers import answer
from vernal.engines.journals import KnownCells, cell_key
from vernal.engines.outcomes import reading
from vernal.engines.question_batches import CommonWork
from vernal.errors import InputError
from vernal.evidence.knowledge import Open
from vernal.evidence.result import Result
from vernal.evidence.result_data import result_of
from vernal.queries.cells import CellOrder, CellPart, SweepCell, ask_cells, share_cells
from vernal.run.budget import Budget
from vernal.run.executor import CHUNK_SECONDS, Executor, Finished
from vernal.run.worker import Job, named

MAX_CHUNK = 64  # cells of one sub-problem


@dataclass
class NumberedCell:
    """A cell, its place in the grid, and what is known of its questions so far, with the seconds of common work."""

    number: int
    cell: SweepCell
    results: list[Result | None]
    seconds: list[float]
    lost: bool = False  # with others, by a worker that ended over them

    @property
    def open(self) -> list[int]:
        """The questions that nobody has answered."""
        return [place for place, result in enumerate(self.results) if result is None]


@dataclass
class SpreadCells:
    """Cells on their way: batches that share work, cells that are asked alone, and what came back.

    Common work is asked for first; cells that it leaves open come before further batches, so that few are on their way.
    """

    batches: Callable[[int], Sequence[SweepCell]]  # the next so many cells; none at the end
    order: CellOrder
    work: CommonWork
    journal: KnownCells
    tell: Callable[[NumberedCell], None]  # of every cell that is answered
    workers: int = 1
    failure: tuple[int, InputError] | None = None  # the first cell, by its place, that is bad input
    _taken: int = 0
    _each: float = CHUNK_SECONDS  # that a cell takes alone, of late
    _alone: deque[NumberedCell] = field(default_factory=deque)
    _asked: dict[str, list[NumberedCell]] = field(default_factory=dict)  # by the key of the sub-problem

    def go(self, executor: Executor) -> None:
        """Until every cell is answered; what was answered before an interruption was told."""
        while True:
            jobs, asked = self._jobs(), 0
            with closing(executor.run(jobs, Budget(workers=self.workers))) as finished:
                for done in finished:
                    asked += 1
                    self._take(done)
            if not asked and not self._alone:
                return

    def _jobs(self) -> Iterator[Job]:
        """What can be asked now; the end of it is not the end, as long as batches are under way."""
        while True:
            if self._alone:
                yield self._job(ask_cells, self._chunk())
            elif not (batch := self._next_batch()):
                return
            elif self.work.shared and len(batch) > 1:
                yield self._job(share_cells, batch)
            else:
                self._alone.extend(batch)

    def _chunk(self) -> list[NumberedCell]:
        """Cells that take about a second together, no more than a share of those that wait: a graph is sent once."""
        wanted = min(CHUNK_SECONDS / max(self._each, 1e-6), len(self._alone) / (2 * max(self.workers, 4)), MAX_CHUNK)
        chunk = [self._alone.popleft()]
        while len(chunk) < wanted and self._alone and not (chunk[0].lost or self._alone[0].lost):
            chunk.append(self._alone.popleft())
        return chunk

    def _next_batch(self) -> list[NumberedCell]:
        """The next cells that are not in the journal."""
        while self.failure is None and (cells := self.batches(self.work.take())):
            made = [self._numbered(cell) for cell in cells]
            waiting = [one for one in made if one.open]
            for one in made:
                if not one.open:
                    self.tell(one)
            if waiting:
                return waiting
        return []

    def _numbered(self, cell: SweepCell) -> NumberedCell:
        self._taken += 1
        known = [self.journal.get(cell.task, question) for question in cell.questions]
        return NumberedCell(self._taken - 1, cell, known, [0.0] * len(known))

    def _job(self, kind: Callable[[Job, Budget], Any], asked: list[NumberedCell]) -> Job:
        cells = tuple(replace(one.cell, questions=_chosen(one)) for one in asked)
        spent = (tuple(one.seconds[place] for place in one.open) for one in asked)
        seconds = tuple(spent) if kind is ask_cells else ()
        keys = [cell_key(cell.task, cell.questions, one.number) for cell, one in zip(cells, asked, strict=True)]
        key = f"{kind.__name__} {' '.join(keys)}"
        self._asked[key] = asked
        order = replace(self.order, patience=self.work.patience if kind is share_cells else 0.0)
        return Job(key, named(kind), order, CellPart(cells, seconds))

    def _take(self, done: Finished) -> None:
        asked = self._asked.pop(done.key)
        with reading(done.key):
            if done.outcome is None:
                self._lost(asked, done.lost)
            elif "found" in done.outcome:
                self._shared(asked, done.outcome)
            else:
                self._answered(asked, done.outcome["results"])

    def _shared(self, asked: list[NumberedCell], outcome: Mapping[str, Any]) -> None:
        decided = 0
        for one, found, seconds in zip(asked, outcome["found"], outcome["seconds"], strict=True):
            for place, data, spent in zip(one.open, found, seconds, strict=True):
                one.seconds[place] = float(spent)
                if data is not None:
                    decided += 1
                    self._keep(one, place, data)
            if one.open:
                self._alone.append(one)
            else:
                self.tell(one)
        self.work.learn(int(outcome["asked"]), decided)

    def _answered(self, asked: list[NumberedCell], results: Sequence[Any]) -> None:
        for one, found in zip(asked, results, strict=len(results) == len(asked)):
            if isinstance(found, str):
                self._bad(one, found)
                return
            before = sum(one.seconds)
            for place, data in zip(one.open, found, strict=True):
                self._keep(one, place, data)
            self.tell(one)
            taken = sum(result.seconds for result in one.results if result is not None) - before
            self._each = 0.7 * self._each + 0.3 * max(taken, 0.0)

    def _keep(self, one: NumberedCell, place: int, data: Any) -> None:
        """A result as it came back: a path that refutes is replayed here, and what is decided is written down."""
        question = one.cell.questions[place]
        result = result_of(data, question)
        self.journal.add(one.cell.task, question, result)
        one.results[place] = result

    def _bad(self, one: NumberedCell, message: str) -> None:
        if self.failure is None or one.number < self.failure[0]:
            where = ", ".join(f"{name}={value}" for name, value in one.cell.point.items())
            self.failure = one.number, InputError(f"in the cell {where}: {message}")

    def _lost(self, asked: list[NumberedCell], why: str) -> None:
        """Workers ended over it again and again: cells that shared work are asked alone, one alone is unknown."""
        if len(asked) > 1:
            for one in asked:
                one.lost = True
            self._alone.extend(asked)
            return
        (one,) = asked
        reason = f"{why}, whenever it was asked; try --memory, or an engine by name"
        for place in one.open:
            question = one.cell.questions[place]
            one.results[place] = answer(question, Open(engine=self.order.engine, reason=reason), self.order.budget())
        self.tell(one)


def _chosen(one: NumberedCell) -> tuple[Any, ...]:
    return tuple(one.cell.questions[place] for place in one.open)
