"""Flowpipes that serve several claims about one flow.

A pipe from all initial states says of every claim what it says of the one that it was followed for, as far as that
looks: its sets contain all states at their times, whatever is asked of them. A claim that looks less far is judged by
its beginning. What was cut for one claim alone, and what was followed no further, is no such pipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vernal.interpret.flow.integration import Segments
from vernal.interpret.numbers.rounding import Floats
from vernal.model.system import Model
from vernal.run.joint_questions import JointQuestions
from vernal.sets.flow_starts import StartBoxes

MOST_PIPES = 4  # that are kept; older ones are forgotten
MOST_NUMBERS = 1 << 24  # bounds of the sets of a pipe that is kept

FollowedBoxes = tuple[StartBoxes, Segments]  # boxes of initial states, and what was followed from them


@dataclass(frozen=True, eq=False)
class CompletePipe:
    """Parts that cover the initial states of a flow, all followed up to a horizon; and how short steps were then."""

    model: Model
    horizon: float
    parts: Sequence[FollowedBoxes]
    finer: int
    curved: bool

    @property
    def directions(self) -> Floats:
        """Along which its sets have bounds."""
        return self.parts[0][1].sets.template.rows

    @property
    def numbers(self) -> int:
        """How many bounds it has."""
        return sum(2 * segments.sets.lower.size for _, segments in self.parts)

    def until(self, horizon: float) -> CompletePipe:
        """Its beginning."""
        parts = [(boxes, segments.before(horizon)) for boxes, segments in self.parts]
        return CompletePipe(self.model, horizon, parts, self.finer, self.curved)


class CommonPipes:
    """The pipes that the questions of one check have left, the last one first."""

    def __init__(self) -> None:
        self.pipes: list[CompletePipe] = []

    @classmethod
    def of(cls, together: JointQuestions) -> CommonPipes:
        """Those of the questions that are asked together."""
        found = together.found.setdefault(cls, cls())
        assert isinstance(found, CommonPipes)
        return found

    def keep(self, pipe: CompletePipe) -> None:
        """Leave a pipe to others."""
        if pipe.parts and pipe.numbers <= MOST_NUMBERS:
            self.pipes = [pipe, *self.pipes[: MOST_PIPES - 1]]

    def reaching(self, model: Model, directions: Floats, horizon: float) -> Iterator[CompletePipe]:
        """Pipes of the model up to a horizon, with bounds along these directions, the last one first.

        Time 0 alone is no horizon: the boxes of initial states are all that a pipe has there.
        """
        for pipe in self.pipes:
            if pipe.horizon >= horizon > 0 and np.array_equal(pipe.directions, directions) and pipe.model == model:
                yield pipe.until(horizon)
