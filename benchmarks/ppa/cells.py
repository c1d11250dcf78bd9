"""Measurements as data: cells of Figure 1 and what its competitors achieve, in a file that a later run goes on with."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.ppa.policy import read_policy
from benchmarks.ppa.table import Asked
from vernal.engines.check import ask
from vernal.run.budget import Budget

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "policy abstraction": {"follow": False},
    "plain abstraction": {"follow": False, "policy": False},
    "explicit": {},
}
ENGINES = {"explicit": "explicit"}
BOUNDED = "bounded model checking"
PLAIN = "any"  # the policy of plain abstraction


@dataclass(frozen=True)
class MeasuredCell:
    """One question to one method; what it does not say is None. Seconds are of the processor."""

    instance: str
    policy: str
    method: str
    share: int | None  # of all predicates, in percent
    verdict: str
    seconds: float
    states: int | None = None
    starts: int | None = None
    safe: int | None = None
    unsafe: int | None = None
    length: int | None = None  # of an unsafe path, or what was checked

    @property
    def key(self) -> tuple[str, str, str, int | None]:
        return self.instance, self.policy, self.method, self.share

    @property
    def is_complete(self) -> bool:
        """Whether the abstraction was built to its end."""
        return self.states is not None


def by_engine(asked: Asked, method: str, share: int | None, seconds: float, memory: float) -> MeasuredCell:
    """An engine within so many seconds of the processor."""
    task = asked.task(share)
    name = next(iter(task.properties))
    started = time.process_time()
    budget = Budget(memory=memory).of_work(seconds)
    engine = ENGINES.get(method, "predicates")
    result = ask(task, task.properties[name], name, engine, budget, OPTIONS[method])
    found = result.statistics
    complete = "reachable" in found or result.verdict.value != "unknown"
    counts = ("abstract_starts", "safe_starts", "unsafe")
    states, *others = (_whole(found.get(key)) for key in ("reachable" if share else "states", *counts))
    spent = time.process_time() - started
    policy = PLAIN if method == "plain abstraction" else asked.policy
    measured = MeasuredCell(asked.name, policy, method, share, result.verdict.value, spent, length=result.step)
    return _with_counts(measured, states, others) if complete else measured


def _with_counts(cell: MeasuredCell, states: int | None, others: list[int | None]) -> MeasuredCell:
    starts, safe, unsafe = others
    return MeasuredCell(**{**asdict(cell), "states": states, "starts": starts, "safe": safe, "unsafe": unsafe})


def _whole(number: int | float | str | None) -> int | None:
    return number if isinstance(number, int) else None


def bounded(asked: Asked, seconds: float) -> MeasuredCell:
    """A growing query to Z3; the length of the path found, or the greatest that was answered."""
    from benchmarks.ppa import bmc  # needs Z3

    started = time.process_time()
    found = bmc.check(asked.instance, read_policy(asked.stem), seconds)
    verdict = "unknown" if found.unsafe is None else "violated"
    spent = time.process_time() - started
    return MeasuredCell(asked.name, asked.policy, BOUNDED, None, verdict, spent, length=found.checked)


# Files ----------------------------------------------------------------------------------------------------------------


def load(file: Path) -> list[MeasuredCell]:
    lines = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return [MeasuredCell(**line) for line in lines]


def save(file: Path, cells: list[MeasuredCell]) -> None:
    """A line for each cell."""
    lines = [json.dumps({**asdict(cell), "seconds": round(cell.seconds, 3)}) for cell in cells]
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
