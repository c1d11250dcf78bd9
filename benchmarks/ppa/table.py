"""Measurements of one policy: predicate abstraction set by set, and the paper's competitors beside it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.ppa.generate import named
from benchmarks.ppa.jani import Instance
from benchmarks.ppa.policy import read_policy
from vernal.engines.check import ask
from vernal.evidence.result import Result
from vernal.formats.jani.planning_task import load_jani
from vernal.logic.task import Task
from vernal.run.budget import Budget

QUESTION = ("instance", "policy", "method", "predicates")
ANSWER = ("verdict", "seconds", "CPU", "states", "unsafe", "starts", "starts safe", "steps")
HEADER = (*QUESTION, *ANSWER)
STATISTICS = ("unsafe", "abstract_starts", "safe_starts")


@dataclass(frozen=True)
class Limits:
    """Of one question: seconds of the processor, and GiB of the process."""

    seconds: float
    memory: float


@dataclass(frozen=True)
class Asked:
    """A policy of an instance, in a folder of generated files."""

    name: str
    policy: str
    instance: Instance
    folder: Path

    @property
    def stem(self) -> Path:
        return self.folder / f"{self.name}_{self.policy}"

    def task(self, share: int | None) -> Task:
        """With this share of all predicates; without predicates where none is given."""
        which = f"{self.folder / 'property.jani'}#{_property(share)}"
        return load_jani(self.folder / "model.jani", policy=f"{self.stem}.jani2nnet", property=which)


def _property(share: int | None) -> str:
    return "safe" if share is None else named(share)


# Methods --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EngineMethod:
    """An engine with its options, and whether predicates are given to it."""

    engine: str
    options: Mapping[str, Any]
    abstracts: bool = False

    def answer(self, asked: Asked, share: int | None, limits: Limits) -> tuple[str, ...]:
        task, name, begun = asked.task(share), _property(share), time.monotonic()
        started = time.process_time()
        budget = Budget(memory=limits.memory).of_work(limits.seconds)
        result = ask(task, task.properties[name], name, self.engine, budget, self.options)
        return described(result, time.monotonic() - begun, time.process_time() - started)


@dataclass(frozen=True)
class BoundedChecking:
    """A growing query to Z3; `steps` is the length of the path found, or the greatest length that was answered."""

    abstracts: bool = False

    def answer(self, asked: Asked, share: int | None, limits: Limits) -> tuple[str, ...]:
        from benchmarks.ppa import bmc  # needs Z3

        started = time.monotonic()
        found = bmc.check(asked.instance, read_policy(asked.stem), limits.seconds)
        verdict = "unknown" if found.unsafe is None else "violated"
        spent = (f"{time.monotonic() - started:.2f}", f"{found.seconds:.2f}")
        return (verdict, *spent, "", "", "", "", "" if found.checked is None else str(found.checked))


Method = EngineMethod | BoundedChecking
METHODS: Mapping[str, Method] = {
    "policy abstraction": EngineMethod("predicates", {"refine": False}, abstracts=True),
    "plain abstraction": EngineMethod("predicates", {"refine": False, "policy": False}, abstracts=True),
    "refinement": EngineMethod("predicates", {"refine": True}),
    "explicit": EngineMethod("explicit", {}),
    "bounded model checking": BoundedChecking(),
}


def described(result: Result, seconds: float, processor: float) -> tuple[str, ...]:
    """Verdict, seconds of clock and processor, states, those unsafe, starts, starts proved safe, steps known of."""
    found = result.statistics
    steps = result.step if result.step is not None else result.proven_steps
    numbers = [found.get("reachable", found.get("states", "")), *(found.get(key, "") for key in STATISTICS)]
    spent = (f"{seconds:.2f}", f"{processor:.2f}")
    return (result.verdict.value, *spent, *map(_digits, numbers), "" if steps is None else str(steps))


def _digits(number: int | float | str) -> str:
    return number if isinstance(number, str) else f"{number:,}"


def rows(asked: Asked, names: Sequence[str], shares: Sequence[int], limits: Limits) -> Iterator[tuple[str, ...]]:
    """A row for each method, and of those that abstract for each set of predicates."""
    for name in names:
        for share in shares if METHODS[name].abstracts else [None]:
            given = "" if share is None else f"{share} %"
            yield (asked.name, asked.policy, name, given, *METHODS[name].answer(asked, share, limits))
