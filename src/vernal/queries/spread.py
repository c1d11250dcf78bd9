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
from vernal.errors import InputError, Stopped, VernalError
from vernal.evidence.knowledge import Open
from vernal.evidence.result import Result
from vernal.evidence.result_data import result_of, result_without_question
from vernal.queries.cells import AnyCell, CellOrder, CellPart, SweepCell, ask_cells, failure_data, share_cells
from vernal.run.budget import Budget
from vernal.run.executor import CHUNK_SECONDS, Executor, Finished
from vernal.run.worker import Job, named

MAX_CHUNK = 64  # cells of one sub-problem
UNKNOWN_WORKERS = 8  # assumed where others work
QUICK = 0.5  # seconds of a cell below which what it takes to begin counts


@dataclass
class NumberedCell:
    """A cell, its place in the grid, and what is known of its questions so far, with the seconds of common work."""

    number: int
    planned: AnyCell
    count: int | None = None  # of its questions, once somebody has made it
    results: dict[int, Result] = field(default_factory=dict)  # by the place of the question
    seconds: dict[int, float] = field(default_factory=dict)
    lost: bool = False  # with others, by a worker that ended over them

    @property
    def cell(self) -> SweepCell:
        """The cell with its task, which is made where it is needed."""
        made = self.planned.made
        self.count = len(made.questions)
        return made

    @property
    def open(self) -> list[int]:
        """The questions that nobody has answered."""
        count = len(self.cell.questions) if self.count is None else self.count
        return [place for place in range(count) if place not in self.results]

    @property
    def rest(self) -> SweepCell:
        """The cell with its open questions only."""
        cell = self.cell
        return replace(cell, questions=tuple(cell.questions[place] for place in self.open))

    @property
    def is_fresh(self) -> bool:
        """Whether nothing is known of it, not even its questions."""
        return self.count is None

    @property
    def spent(self) -> list[float]:
        """The seconds of common work for each open question; of a fresh cell nothing."""
        return [] if self.is_fresh else [self.seconds.get(place, 0.0) for place in self.open]

    @property
    def answers(self) -> list[Result]:
        """The results, in the order of the questions."""
        return [self.results[place] for place in sorted(self.results)]


@dataclass
class SpreadCells:
    """Cells on their way: batches that share work, cells that are asked alone, and what came back.

    Common work is asked for first; cells that it leaves open come before further batches, so that few are on their way.
    """

    batches: Callable[[int], Sequence[AnyCell]]  # the next so many cells; none at the end
    order: CellOrder
    work: CommonWork
    journal: KnownCells
    tell: Callable[[NumberedCell], None]  # of every cell that is answered
    workers: int = 1
    inherits: bool = False  # whether workers begin with what this process knows
    is_own: bool = False  # whether they are processes of ours, whose replays are believed
    plans: bool = False  # whether they make the tasks of cells, since they have inherited how
    failure: tuple[int, VernalError] | None = None  # the first cell, by its place, that is bad input
    _taken: int = 0
    _is_quick: bool = False
    _each: float = CHUNK_SECONDS  # that a cell takes alone, of late
    _alone: deque[NumberedCell] = field(default_factory=deque)
    _asked: dict[str, list[NumberedCell]] = field(default_factory=dict)  # by the key of the sub-problem

    def go(self, executor: Executor) -> None:
        """Until every cell is answered; what was answered before an interruption was told."""
        with closing(executor.run(self, Budget(workers=self.workers))) as finished:
            for done in finished:
                self._take(done)

    def __iter__(self) -> Iterator[Job]:
        return self

    def __next__(self) -> Job:
        """What can be asked now; the end of it is not the end, as long as sub-problems are under way."""
        while True:
            if self._alone and self.inherits and self._is_quick:
                self.inherits = False
                self._here(self._job(ask_cells, [self._alone.popleft()]))
            elif self._alone:
                return self._job(ask_cells, self._chunk())
            elif not (batch := self._next_batch()):
                raise StopIteration
            elif self.work.shared and len(batch) > 1:
                job = self._job(share_cells, batch)
                if not (self.inherits and batch[0].number == 0):
                    return job
                self._here(job)
            else:
                self._alone.extend(batch)

    def _here(self, job: Job) -> None:
        """Answer it in this process: what is loaded and prepared for it, workers that are forked later inherit."""
        self._take(Finished(job.key, job.work(Budget()).outcome))

    def _chunk(self) -> list[NumberedCell]:
        """Cells that take about a second together, and no more than a share of those that wait."""
        wanted = min(
            CHUNK_SECONDS / max(self._each, 1e-6), len(self._alone) / (2 * (self.workers or UNKNOWN_WORKERS)), MAX_CHUNK
        )
        chunk = [self._alone.popleft()]
        while len(chunk) < wanted and self._alone and not (chunk[0].lost or self._alone[0].lost):
            chunk.append(self._alone.popleft())
        return chunk

    def _next_batch(self) -> list[NumberedCell]:
        """The next cells that are not in the journal."""
        while self.failure is None and (cells := self.batches(self.work.take())):
            made = [NumberedCell(self._taken + place, cell) for place, cell in enumerate(cells)]
            self._taken += len(made)
            if not self.plans:
                made = self._known(made)
            waiting = [one for one in made if one.is_fresh or one.open]
            for one in made:
                if not one.is_fresh and not one.open:
                    self.tell(one)
            if waiting:
                return waiting
        return []

    def _known(self, fresh: list[NumberedCell]) -> list[NumberedCell]:
        """Cells with what the journal knows of them, up to the first that cannot be made."""
        for place, one in enumerate(fresh):
            try:
                cell = one.cell
            except (InputError, Stopped) as error:
                self._bad(one, failure_data(error))
                return fresh[:place]
            found = (self.journal.get(cell.task, question) for question in cell.questions)
            one.results = {number: result for number, result in enumerate(found) if result is not None}
        return fresh

    def _job(self, kind: Callable[[Job, Budget], Any], asked: list[NumberedCell]) -> Job:
        """A sub-problem; one that travels has cells with their tasks, and a key that is the same in every run."""
        shares = kind is share_cells
        order = replace(self.order, patience=self.work.patience if shares else 0.0)
        chosen: tuple[tuple[int, ...] | None, ...] = ()
        if self.plans:
            chosen = tuple(None if one.is_fresh else tuple(one.open) for one in asked)
            cells: list[AnyCell] = [one.planned for one in asked]
            keys = [str(one.number) for one in asked]
        else:
            cells = [one.rest for one in asked]
            keys = [cell_key(one.rest.task, one.rest.questions, one.number) for one in asked]
        spent = () if shares else tuple(tuple(one.spent) for one in asked)
        key = f"{kind.__name__} {' '.join(keys)}"
        self._asked[key] = asked
        return Job(key, named(kind), order, CellPart(tuple(cells), spent, chosen), light=self.plans)

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
        for one, found, seconds in zip(asked, outcome["found"], [*outcome["seconds"], []], strict=False):
            if isinstance(found, Mapping):
                self._bad(one, found)
                break
            places = self._places(one, found)
            one.seconds = {place: float(spent) for place, spent in zip(places, seconds, strict=True)}
            for place, data in zip(places, found, strict=True):
                if data is not None:
                    decided += 1
                    self._keep(one, place, data)
            if one.open:
                self._alone.append(one)
            else:
                self.tell(one)
        self.work.learn(int(outcome["asked"]), decided)

    def _answered(self, asked: list[NumberedCell], results: Sequence[Any]) -> None:
        for one, found in zip(asked, results, strict=False):
            if isinstance(found, Mapping):
                self._bad(one, found)
                return
            before = sum(result.seconds for result in one.answers)
            for place, data in zip(self._places(one, found), found, strict=True):
                self._keep(one, place, data)
            self.tell(one)
            taken = sum(result.seconds for result in one.answers) - before
            self._is_quick = taken < QUICK
            self._each = 0.5 * self._each + 0.5 * max(taken, 0.0)

    def _places(self, one: NumberedCell, found: Sequence[Any]) -> list[int]:
        """The questions that were asked: those that were open, or all of a cell that was made elsewhere."""
        if one.is_fresh:
            one.count = len(found)
        return one.open

    def _keep(self, one: NumberedCell, place: int, data: Any) -> None:
        """A result as it came back, written down if it is decided; of others than ours a path is replayed here."""
        if self.plans and data.get("asked"):  # no need to make the task here
            one.results[place] = result_without_question(data, *data["asked"])
            return
        question = one.cell.questions[place]
        result = result_of(data, question, recompute=not self.is_own)
        self.journal.add(one.cell.task, question, result)
        one.results[place] = result

    def _bad(self, one: NumberedCell, why: Mapping[str, str]) -> None:
        """The first cell that cannot be asked ends the sweep: an error in it, or a limit of time."""
        if self.failure is None or one.number < self.failure[0]:
            where = ", ".join(f"{name}={value}" for name, value in one.planned.point.items())
            stopped = why.get("stopped")
            error = InputError(f"in the cell {where}: {why.get('bad')}") if stopped is None else Stopped(stopped)
            self.failure = one.number, error

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
