"""Which questions keep a journal, and what makes two of them the same; and the journal of a sweep, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
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
from vernal.run.journal import Entries, Journal, Occasion, task_digest

KEEPERS = ("auto", "milp", "paths")


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
    return task_digest(task.source.sha256, task.parameters, (network.sha256 for network in task.networks))


def _said(engine: str, options: Mapping[str, object]) -> str:
    said = [engine, *(f"{name}={value}" for name, value in sorted(options.items()))]
    return f"{' '.join(said)} of Vernal {metadata.version('vernal')}"


# Sweeps ---------------------------------------------------------------------------------------------------------------

Recall = Callable[[Task, Question, Callable[[], Result]], Result]  # the answer for a cell; asked for if it is not known


@contextmanager
def keeping_cells(file: Path | None, base: Task, engine: str, options: Mapping[str, object]) -> Iterator[Recall]:
    """Keep a journal of a sweep, where a file for it is named; `base` is the task without the parameters swept over.

    A cell is known by the hash of its task with all its parameters and by its formula, so that a sweep over more values
    goes on from the journal of a smaller one.
    """
    if file is None:
        yield lambda task, question, ask: ask()
        return
    with Journal(file, Occasion(_digest(base), f"a sweep by {_said(engine, options)}", None)) as journal:
        yield lambda task, question, ask: _recalled(journal.of(str(question.formula)), _digest(task), question, ask)


def _recalled(entries: Entries, key: str, question: Question, ask: Callable[[], Result]) -> Result:
    known = entries.get(key)
    if known is not None:
        with reading(key):
            return result_of(known, question)
    result = ask()
    if result.verdict is not UNKNOWN:  # behind an unknown may stand a limit
        entries.add(key, result_data(result, question.system))
    return result
