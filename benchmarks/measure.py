"""One question, one engine, one measurement: verdict, seconds, and the memory it took in a process of its own."""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from vernal.engines.base import Engine
from vernal.engines.check import ask, asked_of, find_engine
from vernal.engines.question_batches import check_questions
from vernal.evidence.result import Result
from vernal.evidence.trace import Trace
from vernal.formats.task.blueprint import load
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.run.budget import Budget
from vernal.run.threads import one_blas_thread

MARKS = {"holds": "T", "violated": "F", "unknown": "?"}


@dataclass(frozen=True)
class Method:
    """An engine, and how it is told to work."""

    name: str
    engine: str
    options: Mapping[str, Any] = field(default_factory=dict)
    workers: int = 1


AUTO = Method("auto", "auto")


@dataclass(frozen=True)
class Measured:
    """What came out, and what it cost."""

    verdict: str
    seconds: float
    margin: float | None = None
    step: int | None = None
    pieces: int | None = None
    processor: float = 0.0  # seconds of all threads; on a shared machine the better measure
    peak: float | None = None  # GiB
    reason: str | None = None
    engine: str = ""  # which decided it
    statistics: Mapping[str, int | float | str] = field(default_factory=dict)
    trace: Trace | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{MARKS[self.verdict]} {self.seconds:.2f}"

    @property
    def timed_out(self) -> bool:
        return "timeout" in (self.reason or "")


def times_ours(pairs: Iterable[tuple[Measured, Measured]]) -> str:
    """How many times our seconds of the processor another method takes, over the questions that both decide.

    A question at which the other one meets its cap counts with the cap: then the ratio is at least that.
    """
    both = [(theirs, ours) for theirs, ours in pairs if ours.verdict != "unknown"]
    asked = [(theirs, ours) for theirs, ours in both if theirs.verdict != "unknown" or theirs.timed_out]
    own = sum(ours.processor for _, ours in asked)
    if not own:
        return ""
    least = ">= " if any(theirs.timed_out for theirs, _ in asked) else ""
    return f"{least}{sum(theirs.processor for theirs, _ in asked) / own:.1f}"


def measure(file: Path, method: Method, cap: float, **parameters: float) -> Measured:
    """The only property of a task file, by one method; reading the file is not counted."""
    task = load(file, **parameters)
    (name,) = task.properties
    return measure_task(task, name, method, cap)


def measure_task(
    task: Task, name: str, method: Method, cap: float, clock: Callable[[], float] = time.monotonic
) -> Measured:
    """A property of a task, by one method; by the clock of the processor the cap and the seconds are its own."""
    started = _processor()
    budget = Budget(timeout=cap, workers=method.workers, started=clock(), clock=clock)
    result = ask(task, task.properties[name], name, method.engine, budget, method.options)
    done = _measured(result, _processor() - started)
    return replace(done, seconds=done.processor) if clock is time.process_time else done


def measure_map(tasks: Sequence[Task], cap: float) -> list[Measured]:
    """The only property of each task, all of them together; processor time is shared out as the seconds are."""
    started = _processor()
    asked = [Question(task.system, formula, name) for task in tasks for name, formula in task.properties.items()]
    with one_blas_thread():
        results = check_questions(asked, find_engine("auto"), Budget(timeout=cap))
    worked = (_processor() - started) / sum(result.seconds for result in results)
    return [_measured(result, worked * result.seconds) for result in results]


def measure_engine(
    task: Task, name: str, engine: Engine, cap: float, clock: Callable[[], float] = time.monotonic
) -> Measured:
    """A property of a task, by an engine that is not among the registered ones."""
    started = _processor()
    budget = Budget(timeout=cap, started=clock(), clock=clock)
    with one_blas_thread():
        result = asked_of(engine, Question(task.system, task.properties[name], name), budget)
    return _measured(replace(result, seconds=budget.elapsed), _processor() - started)


def _processor() -> float:
    """Seconds of processor time of this process and the workers it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _measured(result: Result, processor: float) -> Measured:
    pieces = result.statistics.get("pieces")
    return Measured(
        result.verdict.value,
        result.seconds,
        result.margin,
        result.step,
        pieces if isinstance(pieces, int) else None,
        processor,
        reason=result.reason,
        engine=result.engine,
        statistics=result.statistics,
        trace=result.trace,
    )


def measure_apart(file: Path, method: Method, cap: float, **parameters: float) -> Measured:
    """The same in a fresh process, with its peak memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_with_peak, file, method, cap, parameters).result()


def _with_peak(file: Path, method: Method, cap: float, parameters: Mapping[str, float]) -> Measured:
    done = measure(file, method, cap, **parameters)
    return replace(done, trace=None, peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table whose columns line up."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    text = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    return "\n".join([text[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *text[1:]])


def setting() -> str:
    """When and on what this was measured."""
    python = platform.python_version()
    return f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} cores, Python {python}"
