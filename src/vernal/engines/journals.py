"""Which questions keep a journal, and what makes two of them the same; and the journal of a sweep, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from vernal.engines.options import Encoding
from vernal.engines.outcomes import reading
from vernal.errors import InputError
from vernal.evidence.result import UNKNOWN, Result
from vernal.evidence.result_data import result_data, result_of
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.run.journal import Journal, Occasion, Record, digest, task_digest
from vernal.sets.wider_region import IN_RANGE

KEEPERS = ("auto", "milp", "paths", "flowpipe")


def refuse_journal(engine: str, options: Mapping[str, object]) -> None:
    """An error unless the engine has finished sub-problems to write down."""
    if engine not in KEEPERS:
        raise InputError(f"the engine {engine!r} keeps no journal; leave out --journal, or use {', '.join(KEEPERS)}")
    if engine == "milp" and options.get("encoding") != Encoding.COMPOSITIONAL:
        raise InputError("a monolithic program is never half finished; a journal goes with --encoding compositional")


def open_journal(
    file: str | Path, task: Task, formulas: Iterable[Formula], engine: str, options: Mapping[str, object]
) -> Journal:
    """The journal of these questions: a new one, or what an earlier run of the same questions has left."""
    refuse_journal(engine, options)
    return Journal(Path(file), Occasion(_digest(task), _said(engine, options), frozenset(map(str, formulas))))


def _digest(task: Task) -> str:
    if task.source is None:
        raise InputError("a journal tells tasks apart by their files; this task was read from none")
    given = {**task.parameters, **{f"--{name}": text for name, text in task.options.items()}}
    return task_digest(task.source.sha256, given, (network.sha256 for network in task.networks))


def _said(engine: str, options: Mapping[str, object]) -> str:
    said = [engine, *(f"{name}={value}" for name, value in sorted(options.items()))]
    return f"{' '.join(said)} of Vernal {metadata.version('vernal')}"


# Sweeps ---------------------------------------------------------------------------------------------------------------


def _asked(question: Question) -> str:
    """What is asked of a cell; a formula over samples, or that all ranges are kept, is another than in seconds."""
    other = IN_RANGE if question.name == IN_RANGE else question.counts
    return f"{other}: {question.formula}" if other else str(question.formula)


def cell_key(task: Task, questions: Iterable[Question], number: int) -> str:
    """What a cell is known by in every run: its task and what is asked; of a task without a file, its place."""
    name = str(number) if task.source is None else _digest(task)
    return digest([name, *map(_asked, questions)])


class KnownCells:
    """The cells of a sweep that an earlier run has left in its journal, and room for those of this one.

    A cell is known by the hash of its task with all its parameters and by its formula, so that a sweep over more values
    goes on from the journal of a smaller one.
    """

    def __init__(self, journal: Journal | None) -> None:
        self.journal = journal

    def has(self, task: Task, question: Question) -> bool:
        """Whether a cell is known."""
        return self._entry(task, question) is not None

    def get(self, task: Task, question: Question) -> Result | None:
        """The answer for a cell, if it is known."""
        known = self._entry(task, question)
        if known is None:
            return None
        with reading(_digest(task)):
            return result_of(known, question)

    def _entry(self, task: Task, question: Question) -> Record | None:
        if self.journal is None or not self.journal.outcomes:
            return None
        return self.journal.of(_asked(question)).get(_digest(task))

    def add(self, task: Task, question: Question, result: Result) -> None:
        """Write an answer down, unless it is unknown: behind that may stand a limit."""
        if self.journal is not None and result.verdict is not UNKNOWN:
            self.journal.of(_asked(question)).add(_digest(task), result_data(result, question.model))


def sweep_subject(base: Task, engine: str, options: Mapping[str, object]) -> Occasion:
    """What a sweep is about, for its journal and its folder of jobs; `base` is without the parameters swept over."""
    return Occasion(_digest(base), f"a sweep by {_said(engine, options)}", None)


def map_subject(task: Task, engine: str, options: Mapping[str, object], claim: str, region: str) -> Occasion:
    """What a map is about, for its folder of jobs."""
    return Occasion(_digest(task), f"a map by {_said(engine, options)} of {claim} over {region}", None)


@contextmanager
def keeping_cells(file: Path | None, base: Task, engine: str, options: Mapping[str, object]) -> Iterator[KnownCells]:
    """Keep a journal of a sweep, where a file for it is named; `base` is the task without the parameters swept over."""
    if file is None:
        yield KnownCells(None)
        return
    with Journal(file, sweep_subject(base, engine, options)) as journal:
        yield KnownCells(journal)
