"""Batches of abstract states, expanded by several processes: each has portions of them, and sends back plain data.

Workers are forked, so that they inherit the predicates, the policy and all tests that were answered so far. What is
found does not depend on the portions, and comes back in their order: the abstraction is the one that a single process
makes. Where processes cannot be forked there is one.
"""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from vernal.engines.options import TransitionTest
from vernal.engines.predicates.atoms import NotLinear
from vernal.engines.predicates.expansion import AbstractStep, AbstractTransition, CellExpander, CellExpansion
from vernal.errors import Stopped
from vernal.evidence.result import Assurance
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.run.budget import Budget
from vernal.run.executor import Finished, Pool, carry_out, executor
from vernal.run.journal import Record
from vernal.run.worker import Job, Worked, inherited, named, shared, unshare

MIN_SHARED = 0.25  # seconds of work, below which a batch takes about as long as starting workers
MIN_PORTION = 0.1  # seconds of work: each portion goes through all operators once more
PORTIONS = 3  # for each worker: nobody knows which of them take long
SECONDS_EACH = 0.001  # for an abstract state, before any was expanded
NO_WORKER = "a process that expanded abstract states was lost"


class Portions:
    """Expands batches of cells of one abstraction, with workers that stay for as long as it is explored.

    They are forked at the first batch that is worth it, and learn from one to the next as a single process does.
    """

    def __init__(self, expander: CellExpander, budget: Budget) -> None:
        self.expander, self.budget = expander, budget
        self._waiting: deque[Job] = deque()
        self._answers: Generator[Finished, None, None] | None = None
        self._shared: int | None = None
        self._seconds_each = SECONDS_EACH

    def expanded(self, values: Mask) -> Iterator[tuple[int, CellExpansion]]:
        """What is beyond some cells, by portions in their order: how many cells, and what was found out of them."""
        if not self._pays(len(values)):
            began = time.process_time()
            found = self.expander.expanded(values)
            self._seconds_each = (time.process_time() - began) / len(values)
            yield len(values), found
            return
        workers, worth = self.budget.workers, int(len(values) * self._seconds_each / MIN_PORTION)
        parts = np.array_split(values, min(PORTIONS * workers, max(workers, worth)))
        outcomes = self._carried_out(parts)
        self._seconds_each = sum(own["seconds"] for own in outcomes) / len(values)
        for part, own in zip(parts, outcomes, strict=True):
            yield len(part), _read(own, self.expander)

    def dismiss(self) -> None:
        """End the workers."""
        if self._answers is not None and self._shared is not None:
            self._answers.close()
            unshare(self._shared)
        self._answers = self._shared = None

    def _pays(self, cells: int) -> bool:
        """Whether so many cells are spread; tests by solvers, which are there for comparison, are not.

        That depends on the seconds the last ones took. What is found does not depend on who finds it.
        """
        budget, own = self.budget, self.expander.options.test is TransitionTest.OWN
        if budget.workers == 1 or not own or cells < budget.workers or cells * self._seconds_each < MIN_SHARED:
            return False
        place = executor(budget)
        return isinstance(place, Pool) and place.method == "fork"

    def _carried_out(self, parts: Sequence[Mask]) -> list[Record]:
        """The outcomes of all portions."""
        if self._answers is None:
            self._shared = shared(partial(_answer, self.expander))
            self._answers = carry_out(Refilled(self._waiting), replace(self.budget, journal=None))
        self._waiting.extend(
            Job(str(number), named(expand_portion), self._shared, _bits(part), light=True)
            for number, part in enumerate(parts)
        )
        found: dict[int, Record] = {}
        for done in islice(self._answers, len(parts)):
            if done.outcome is None:
                raise Stopped(f"{NO_WORKER}: {done.lost}")
            found[int(done.key)] = done.outcome
        return [found[number] for number in range(len(parts))]


@dataclass(frozen=True, eq=False)
class Refilled:
    """The jobs there are; when they are done it goes on with those that were added meanwhile."""

    jobs: deque[Job]

    def __iter__(self) -> Iterator[Job]:
        return self

    def __next__(self) -> Job:
        if not self.jobs:
            raise StopIteration
        return self.jobs.popleft()


def expand_portion(job: Job, budget: Budget) -> Worked:
    """The answer of a worker to one portion, by what it has inherited."""
    answer: partial[Record] = inherited(job.question)
    return Worked(answer(job.part))


def _answer(expander: CellExpander, values: str) -> Record:
    search = expander.search
    before, began = search.counts.copy(), time.process_time()
    try:
        found = expander.expanded(_truths(values, len(expander.predicates)))
    except NotLinear as error:
        return {"refused": error.reason, "seconds": 0.0}
    spent = {"counts": dict(search.counts - before), "seconds": time.process_time() - began}
    return {**_written(found), **spent, "assurance": int(search.assurance)}


# As plain data --------------------------------------------------------------------------------------------------------


def _written(found: CellExpansion) -> Record:
    steps, states = found.steps, [step.why.state for step in found.steps if step.why.state is not None]
    return {
        "unsafe": [[row, None if state is None else state.tolist()] for row, state in found.unsafe.items()],
        "tests": dict(found.tests),
        "sources": [step.source for step in steps],
        "operators": [step.why.operator for step in steps],
        "known": [step.why.state is not None for step in steps],
        "after": _bits(np.stack([step.after for step in steps])) if steps else "",
        "states": _packed(np.stack(states)) if states else "",
    }


def _read(record: Record, expander: CellExpander) -> CellExpansion:
    """What a worker found; the counts of its tests are added to ours."""
    if "refused" in record:
        raise NotLinear(record["refused"])
    search = expander.search
    search.counts.update(record["counts"])
    search.assurance = min(search.assurance, Assurance(record["assurance"]))
    states: Iterator[Floats] = iter(
        np.frombuffer(b64decode(record["states"])).reshape(-1, len(expander.model.variables))
    )
    after = _truths(record["after"], len(expander.predicates))
    rows = zip(record["sources"], record["operators"], record["known"], after, strict=True)
    steps = [
        AbstractStep(source, own, AbstractTransition(operator, next(states) if known else None))
        for source, operator, known, own in rows
    ]
    unsafe = {row: None if state is None else np.array(state) for row, state in record["unsafe"]}
    return CellExpansion(unsafe, steps, Counter(record["tests"]))


def _bits(values: Mask) -> str:
    """Rows of truth values."""
    return _packed(np.packbits(values, axis=1))


def _truths(text: str, count: int) -> Mask:
    """The same, of so many values each."""
    bits = np.frombuffer(b64decode(text), np.uint8).reshape(-1, -(-count // 8))
    return np.unpackbits(bits, axis=1, count=count).astype(bool)


def _packed(array: np.ndarray[Any, Any]) -> str:
    return b64encode(array.tobytes()).decode()
