"""Queries of a list as sub-problems for a pool on this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from vernal.errors import VernalError
from vernal.model.portable import Portable
from vernal.queries.answer import Answer, QueryStatus
from vernal.queries.files import QueryInstance, answer_files
from vernal.run.budget import Budget
from vernal.run.executor import Finished, executor
from vernal.run.worker import Job, Worked, named


@dataclass(frozen=True)
class QueryOrder(Portable):
    """One line of a list: its files, the engine, and its limits."""

    network: str
    query: str
    engine: str
    limits: Budget


@dataclass(frozen=True)
class ListedAnswer:
    """The answer to a line of a list, or what is wrong with it, and the seconds it took."""

    answer: Answer | None
    error: str
    seconds: float


def answer_line(job: Job, budget: Budget) -> Worked:
    """The answer to one line; a query or network that cannot be read is no fault of the list."""
    order: QueryOrder = job.part
    began = time.monotonic()
    own = replace(order.limits, started=began, stops=[])
    try:
        answer = answer_files(Path(order.query), lambda _: order.network, own, order.engine).answer
    except VernalError as error:
        return Worked({"error": str(error), "seconds": time.monotonic() - began})
    said = {"status": answer.status.value, "reason": answer.reason, "notes": list(answer.notes)}
    return Worked({**said, "seconds": time.monotonic() - began})


def answer_list(instances: Sequence[QueryInstance], engine: str, limits: Budget) -> Iterator[ListedAnswer]:
    """The answers in the order of the list, each as soon as those before it are there."""
    workers = limits.workers
    share = None if limits.memory is None else limits.memory / workers
    own = replace(limits, workers=1, memory=share, device="cpu")
    jobs = (_job(number, instance, engine, own) for number, instance in enumerate(instances))
    found: dict[int, ListedAnswer] = {}
    told = 0
    pool = Budget(workers=workers)
    with closing(executor(pool).run(jobs, pool)) as finished:
        for done in finished:
            found[int(done.key)] = _listed(done)
            while told in found:
                yield found.pop(told)
                told += 1


def _job(number: int, instance: QueryInstance, engine: str, limits: Budget) -> Job:
    given = [seconds for seconds in (instance.limit, limits.timeout) if seconds is not None]
    own = replace(limits, timeout=min(given, default=None))
    return Job(
        str(number), named(answer_line), None, QueryOrder(str(instance.network), str(instance.query), engine, own)
    )


def _listed(done: Finished) -> ListedAnswer:
    said = done.outcome
    if said is None:
        return ListedAnswer(Answer(QueryStatus.UNKNOWN, reason=f"{done.lost}, whenever it was asked"), "", 0.0)
    if "error" in said:
        return ListedAnswer(None, said["error"], said["seconds"])
    status = QueryStatus(said["status"])
    return ListedAnswer(Answer(status, reason=said["reason"], notes=tuple(said["notes"])), "", said["seconds"])
