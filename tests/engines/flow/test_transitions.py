"""`facet` and `vertex` prove the same on the six models: as many regions, the same flowpipe but for rounding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.portion import every
from vernal.engines.flow.template import directions_of
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.pipe_judge import judge
from vernal.formats.task.blueprint import load
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.question import Question
from vernal.logic.task import Transitions
from vernal.model.tick import idle
from vernal.reduce.neural.abstraction import abstract
from vernal.reduce.neural.learned_modes import abstract_automaton
from vernal.sets.flow_starts import start_boxes
from vernal.sets.zonotopes.pipe import pipe

MODELS = Path(__file__).parents[3] / "benchmarks" / "neural-abstractions"
SIX = ("jet", "steam", "exponential", "watertank", "nl1", "nl2")


def hulls(found: Flowpipe) -> Floats:
    """Both ends along every direction, at every step of time."""
    times = np.unique(found.times[:, 0])
    steps = [found.times[:, 0] == time for time in times]
    lower, upper = (
        [pick(end[step], axis=0) for step in steps] for pick, end in ((np.min, found.lower), (np.max, found.upper))
    )
    return np.array([lower, upper])


@pytest.mark.parametrize("name", every(2, SIX))
def test_both_have_the_same_reach_set(name: str) -> None:
    task = load(MODELS / f"{name}.toml")
    flow, question = task.flow, Question(task.flow, task.properties["safe"])
    abstraction, boxes = abstract(flow), start_boxes(flow)
    found = []
    for transitions in Transitions:
        automaton = abstract_automaton(flow, abstraction, transitions, idle)
        ends = boxes.lower[0], boxes.upper[0]
        found.append((automaton, pipe(automaton, ends, question.claim.last_time, directions_of(question))))
    (few, by_facet), (many, by_vertex) = found
    assert len(few.locations) == len(many.locations)
    pairs = [{(one.source, one.target) for one in automaton.crossings} for automaton in (few, many)]
    assert pairs[0] <= pairs[1]
    assert judge(question, by_facet) == judge(question, by_vertex)
    assert by_facet.inside_until == by_vertex.inside_until
    assert np.allclose(hulls(by_facet), hulls(by_vertex), rtol=0, atol=1e-9)
