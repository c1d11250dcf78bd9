"""Flows followed without a formula: what engines that make flowpipes have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.neural import NeuralAbstraction
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.question import Question
from vernal.logic.task import UNSAID, AbstractionSettings
from vernal.model.system import Model
from vernal.run.budget import Budget


@dataclass(frozen=True, eq=False)
class FollowedFlow:
    """A flow, to be followed from all initial states up to a horizon, by sets with bounds along directions.

    `parts`: in so many parts, at most, the initial set is cut.
    """

    flow: Model
    horizon: float
    directions: Floats
    settings: AbstractionSettings = UNSAID
    parts: int = 64


@dataclass(frozen=True, eq=False)
class FoundPipe:
    """A flowpipe, and the network that stood for the flow where one did."""

    pipe: Flowpipe
    abstraction: NeuralAbstraction | None = None


class PipeEngine(Protocol):
    """An engine that makes flowpipes whatever is asked of them."""

    name: str

    def takes(self, question: Question) -> str | None:
        """None where it follows such a model as far as the claim looks; else why not."""
        ...

    def flowpipes(self, asked: FollowedFlow, budget: Budget) -> Iterator[FoundPipe]:
        """One flowpipe after the other, each with more effort; `Stopped` where the engine does not take the flow."""
        ...
