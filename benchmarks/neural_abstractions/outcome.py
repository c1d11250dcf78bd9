"""One question about a flow by one engine: the verdict, what it cost, and the abstraction it rests on."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import vernal as vn
from benchmarks.measure import MARKS
from vernal.engines import check
from vernal.evidence.neural import NeuralAbstraction
from vernal.evidence.result import Result
from vernal.logic.task import AbstractionSettings
from vernal.run.budget import Budget

STAGES = {  # how a stage is headed, and what the statistics call it
    "learn": "learning seconds",
    "certify": "certifying seconds",
    "regions": "partition seconds",
    "flowpipe": "propagation seconds",
}


@dataclass(frozen=True)
class Outcome:
    """What came out, and what it cost."""

    verdict: str
    seconds: float
    processor: float
    stages: Mapping[str, float] = field(default_factory=dict)  # seconds of each
    regions: int | None = None
    rounds: int | None = None
    counterexamples: int | None = None
    widths: tuple[int, ...] | None = None
    error: tuple[float, ...] | None = None  # certified, of each variable
    reason: str | None = None

    def __str__(self) -> str:
        return f"{MARKS[self.verdict]} {self.seconds:.2f}"

    @property
    def size(self) -> float | None:
        """The 2-norm of the certified errors."""
        return None if self.error is None else math.hypot(*self.error)


def ask(
    file: Path,
    engine: str,
    cap: float,
    *,
    parameters: Mapping[str, float] | None = None,
    widths: tuple[int, ...] | None = None,
    seed: int | None = None,
) -> Outcome:
    """The only property of a task file, by one engine within so many seconds of the processor, without reading it.

    Networks have the error that the file asks for, unless widths are given.
    """
    task = vn.load(file, **(parameters or {}))
    (name,) = task.properties
    if widths is not None:
        task = replace(task, settings=AbstractionSettings(widths))
    if seed is not None:
        task = replace(task, settings=replace(task.settings, seed=seed))
    began, worked = time.monotonic(), time.process_time()
    budget = Budget(seed=seed or 0).of_work(cap)
    result = check.ask(task, check.named_formula(task, name), name, engine, budget)
    return outcome_of(result, time.monotonic() - began, time.process_time() - worked)


def outcome_of(result: Result, seconds: float, processor: float) -> Outcome:
    """What a result says that goes into a table."""
    found: object = result.abstraction
    network = found if isinstance(found, NeuralAbstraction) else None
    return Outcome(
        result.verdict.value,
        seconds,
        processor,
        {stage: float(result.statistics[key]) for stage, key in STAGES.items() if key in result.statistics},
        _count(result, "regions"),
        _count(result, "rounds"),
        _count(result, "counterexamples"),
        None if network is None else tuple(len(bias) for bias in network.biases[:-1]),
        None if network is None else tuple(map(float, network.error)),
        result.reason,
    )


def _count(result: Result, key: str) -> int | None:
    value = result.statistics.get(key)
    return None if value is None else int(value)
