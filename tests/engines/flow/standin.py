"""Engines of flows that know what a test tells them: to see what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

import numpy as np
import pytest

from vernal.engines import registry
from vernal.engines.flow.abstract import NeuralEngine
from vernal.engines.options import DepthOptions
from vernal.engines.portfolio import Portfolio
from vernal.engines.registry import EngineEntry
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.evidence.result import Assurance
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import trailed
from vernal.logic.direction import Direction
from vernal.logic.question import Question
from vernal.run.budget import Budget

Knows = Callable[[Question], Known]


class StandIn:
    """An engine that says what it is told to, and remembers what it was asked."""

    name = "stand-in"
    knows: Knows = staticmethod(lambda question: Open(engine="stand-in", reason="nobody said anything"))
    asked: ClassVar[list[Question]] = []

    def __init__(self, options: object = None) -> None:
        """It takes the options of the engine in whose place it is."""

    def takes(self, question: Question) -> str | None:
        return None

    def attempt(self, question: Question, budget: Budget) -> Known:
        StandIn.asked.append(question)
        return StandIn.knows(question)


class FewVariables(StandIn):
    """In the place of an engine that takes few variables."""

    def takes(self, question: Question) -> str | None:
        return NeuralEngine().takes(question)


class TimedPortfolio(StandIn):
    """In the place of `auto`."""

    def __init__(self, options: DepthOptions = DepthOptions()) -> None:
        self.options = options

    def takes(self, question: Question) -> str | None:
        return Portfolio(self.options).takes(question)


STAND_INS = {"auto": "TimedPortfolio", "falsify": "StandIn", "flowpipe": "StandIn", "abstraction": "FewVariables"}


def _in_place_of(entry: EngineEntry) -> EngineEntry:
    if entry.name not in STAND_INS:
        return entry
    return EngineEntry(entry.name, f"tests.engines.flow.standin:{STAND_INS[entry.name]}", entry.about, entry.options)


@contextmanager
def standing_in(monkeypatch: pytest.MonkeyPatch, knows: Knows | None = None) -> Iterator[list[Question]]:
    """All engines of flows are stand-ins; what they are asked is listed."""
    made = tuple(_in_place_of(one) for one in registry.ENGINES)
    with monkeypatch.context() as patch:
        patch.setattr(registry, "ENGINES", made)
        patch.setattr(StandIn, "asked", [])
        if knows is not None:
            patch.setattr(StandIn, "knows", staticmethod(knows))
        yield StandIn.asked


def pipe(inside_until: float, until: float, variables: tuple[str, ...] = ("x", "y")) -> Flowpipe:
    """A flowpipe of one segment."""
    size = len(variables)
    low, high = np.full((1, size), -1.0), np.full((1, size), 1.0)
    times = np.array([[0.0, until]])
    return Flowpipe(variables, trailed(Template(np.eye(size)), low, high), times, inside_until, until)


def proof(evidence: Flowpipe | None = None, direction: Direction = Direction.OVER) -> Knows:
    """A proof, with a pipe if one is given."""
    return lambda question: Proof(
        engine="stand-in",
        direction=direction,
        assurance=Assurance.RIGOROUS,
        evidence=evidence,
        statistics={"segments": 1},
    )
