"""Flowpipes without a claim: which parts of the initial set are followed again, and which are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tests.interpret.flow.models import flow_of, state
from vernal.engines.flow.divisions import DividedPipes
from vernal.evidence.flowpipe import Flowpipe
from vernal.interpret.flow.integration import Segments
from vernal.model import build
from vernal.sets.flow_starts import StartBoxes, cut_widest
from vernal.sets.sampled.box_rounds import BoxRounds
from vernal.sets.sampled.loop_space import LoopStates, Spoiling, spoils_nothing
from vernal.sets.search import Handler

(X,) = state("x")
FLOW = flow_of({X: build.const(0)}, [(0, 2)], [(0, 2)])


class NarrowRounds(BoxRounds):
    """Follows to the end what is in [0, 1], and what is narrow enough."""

    def __init__(self, narrow: float) -> None:
        super().__init__(FLOW, 1.0, np.eye(1), lambda: None)
        self.narrow, self.followed = narrow, list[StartBoxes]()

    def follow(
        self,
        boxes: StartBoxes,
        spoils: Spoiling = spoils_nothing,
        horizon: float | None = None,
        handler: Handler[LoopStates] | None = None,
    ) -> Iterator[Segments]:
        """As segments of two boxes at a time."""
        self.followed.append(boxes)
        for found in list(super().follow(boxes, spoils, horizon, handler)):
            for first in range(0, len(boxes), 2):
                own = np.arange(first, min(first + 2, len(boxes)))
                good = (boxes.upper[own, 0] <= 1) | ((boxes.upper - boxes.lower)[own, 0] <= self.narrow)
                yield replace(found.of(own), until=np.where(good, 1.0, 0.5))


def covered(pipe: Flowpipe) -> list[tuple[float, float]]:
    return sorted((float(low), float(high)) for (low,), (high,) in pipe.starts)


def test_parts_that_are_followed_to_the_end_are_kept() -> None:
    rounds = NarrowRounds(0.25)
    pipes = DividedPipes(FLOW, rounds, 1024, 10).found()
    first, whole = next(pipes).pipe, next(pipes).pipe
    assert (first.until, covered(first)) == (0.5, [(0.0, 2.0)])
    assert whole.until == 1.0
    assert covered(whole) == [(0, 1), (1, 1.25), (1.25, 1.5), (1.5, 1.75), (1.75, 2)]
    assert [len(boxes) for boxes in rounds.followed] == [1, 2, 2, 4]
    tighter = next(pipes).pipe  # then every part is halved
    assert len(covered(tighter)) == 10


def test_the_last_one_is_told_where_parts_would_be_too_many() -> None:
    pipes = [found.pipe for found in DividedPipes(FLOW, NarrowRounds(0.1), 6, 10).found()]
    assert [pipe.until for pipe in pipes] == [0.5, 0.5]
    assert covered(pipes[-1]) == [(0, 1), (1, 1.25), (1.25, 1.5), (1.5, 1.75), (1.75, 2)]


def test_boxes_are_halved_where_they_are_relatively_widest_of_what_matters() -> None:
    u, v, w = state("u", "v", "w")
    flow = flow_of({u: build.const(0), v: build.const(0), w: build.const(0)}, [(0, 8)] * 3, [(0, 8), (0, 4), (0, 1)])
    boxes = StartBoxes(np.zeros((3, 3)), np.array([[2.0, 2.0, 1.0], [2.0, 2.0, 1.0], [0.0, 0.0, 0.0]]))
    influence = np.array([[1.0, 0.5, 0.1], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    parts = cut_widest(flow, boxes, influence, np.array([8.0, 4.0, 1.0]))
    found = sorted((tuple(low), tuple(high)) for low, high in zip(parts.lower, parts.upper, strict=True))
    assert found == [
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),  # a point
        ((0.0, 0.0, 0.0), (2.0, 1.0, 1.0)),  # w matters less, and v is wider than u, compared with what they were
        ((0.0, 0.0, 0.0), (2.0, 2.0, 0.5)),  # where nothing is known to matter, everything does
        ((0.0, 0.0, 0.5), (2.0, 2.0, 1.0)),
        ((0.0, 1.0, 0.0), (2.0, 2.0, 1.0)),
    ]
