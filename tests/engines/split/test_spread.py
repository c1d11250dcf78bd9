"""Open boxes spread over processes: the answers are those of one process."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from tests.engines.split.test_split import EPSILON, corners, over_a_box, random_box
from tests.polygons import least, random_network
from vernal.engines.check import asked_of, find_engine
from vernal.engines.split import engine
from vernal.engines.split.spread import attempt_boxes
from vernal.evidence.knowledge import Known
from vernal.evidence.result import HOLDS, VIOLATED
from vernal.logic.formula import Atom
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.initial import Box
from vernal.run.budget import Budget


@pytest.mark.parametrize("workers", [1, 2])
def test_boxes_that_are_open_are_worked_off_by_processes(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right below and above the least value, which is known exactly; a search of no time leaves boxes to them."""
    monkeypatch.setattr(engine, "PAUSES", (0.001,))
    given: list[int] = []

    def noted(question: Question, boxes: Sequence[Box], *others: Any) -> Known:
        given.append(len(boxes))
        return attempt_boxes(question, boxes, *others)

    monkeypatch.setattr("vernal.engines.split.engine.attempt_boxes", noted)
    draw = random.Random(4)
    network, box = random_network(draw, (20, 20), "relu"), random_box(draw)
    value, _ = least(network, corners(box))
    system, output = over_a_box(network, box)
    for bound, expected in ((value - EPSILON / 100, HOLDS), (value + EPSILON, VIOLATED)):
        question = Question(system, Atom(build.compare("<=", bound, output)))
        result = asked_of(find_engine("split"), question, Budget(60, workers=workers))
        assert result.verdict is expected
        assert result.margin is None or result.margin <= float(EPSILON)
    assert bool(given) == (workers > 1)
