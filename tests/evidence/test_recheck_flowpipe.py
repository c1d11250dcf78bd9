"""Flowpipes are checked again by another computation: true ones are accepted, forged ones never."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.cases import read
from tests.flow_cases import DECAY, FLOW_CLAIMS, OSCILLATOR, PUSHED, FlowClaim
from vernal.engines.check import check, parse_formula
from vernal.errors import FormatError
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.flowpipe_file import MAX_SEGMENTS, flowpipe_json, flowpipe_of, thinned
from vernal.evidence.judgement import Judgement, Recheck
from vernal.evidence.recheck_flowpipe import recheck_flowpipe
from vernal.interpret.geometry.template_sets import joined
from vernal.logic.question import Question

SHOWN = [one for one in FLOW_CLAIMS if "flowpipe" in one.decided_by and one.margin is not None]
KEPT = "G[0,2] (x <= 1.5)"


@cache
def pipe_of(model: str, formula: str, engine: str = "flowpipe") -> Flowpipe:
    found = check(read(model), formula, engine=engine).flowpipe
    assert found is not None
    return found


def checked(model: str, formula: str, pipe: Flowpipe) -> Recheck:
    task = read(model)
    return recheck_flowpipe(Question(task.model, parse_formula(task, formula)), pipe)


def moved(pipe: Flowpipe, by: float) -> Flowpipe:
    return replace(pipe, sets=replace(pipe.sets, lower=pipe.lower + by, upper=pipe.upper + by))


@pytest.mark.parametrize("claim", SHOWN, ids=str)
def test_what_a_flowpipe_proves_is_found_again(claim: FlowClaim) -> None:
    found = checked(claim.model, claim.formula, pipe_of(claim.model, claim.formula))
    assert found.judgement == Judgement.ACCEPTED, found.reason


def test_a_flowpipe_through_a_network_is_checked_without_the_network() -> None:
    found = checked(DECAY, KEPT, pipe_of(DECAY, KEPT, "abstraction"))
    assert found.judgement == Judgement.ACCEPTED, found.reason


@pytest.mark.parametrize("by", [0.4, -0.4])
def test_segments_that_lose_a_trajectory_are_rejected(by: float) -> None:
    found = checked(DECAY, KEPT, moved(pipe_of(DECAY, KEPT), by))
    assert found.judgement == Judgement.REJECTED
    assert "in none of the segments" in found.reason


def test_a_flowpipe_without_its_end_is_rejected() -> None:
    pipe = pipe_of(DECAY, KEPT)
    found = checked(DECAY, KEPT, pipe.part(pipe.times[:, 1] < 1.5))
    assert found.judgement == Judgement.REJECTED


def test_boxes_that_leave_out_initial_states_are_rejected() -> None:
    pipe = pipe_of(DECAY, KEPT)
    middle = pipe.starts.mean(axis=1)
    for starts in (pipe.starts[:0], np.stack([pipe.starts[:, 0], middle], axis=1)):
        found = checked(DECAY, KEPT, replace(pipe, starts=starts))
        assert found.judgement == Judgement.REJECTED
        assert "starts from" in found.reason


@pytest.mark.parametrize(
    ("model", "formula"),
    [
        (DECAY, "G[0,2] (x <= 0.9)"),  # at first it is 1
        (DECAY, "F[0,2] (x <= 0.05)"),
        (OSCILLATOR, "G[0,6] (x <= 0.9)"),
        (PUSHED, "G[0,3] (x <= 0.4)"),  # of which only some disturbances are the end
    ],
)
def test_what_is_false_is_never_accepted(model: str, formula: str) -> None:
    true = {DECAY: KEPT, OSCILLATOR: "G[0,6] (x <= 1.1)", PUSHED: "G[0,3] (abs(x) <= 0.5)"}[model]
    assert checked(model, formula, pipe_of(model, true)).judgement != Judgement.ACCEPTED


def test_what_is_not_found_again_is_said_not_to_be_checked() -> None:
    """The margin is 1e-9, and the check is of low order."""
    formula = "F[0,2] (x <= 0.135335284)"
    found = checked(DECAY, formula, pipe_of(DECAY, KEPT))
    assert found.judgement == Judgement.UNDECIDED
    assert "stays open" in found.reason


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["flowpipe", "abstraction"])
def test_a_flowpipe_comes_back_as_it_was(engine: str) -> None:
    pipe = pipe_of(DECAY, KEPT, engine)
    assert flowpipe_of(json.loads(json.dumps(flowpipe_json(pipe))), read(DECAY).model) == pipe


def test_a_flowpipe_of_very_many_segments_is_written_with_fewer() -> None:
    pipe = pipe_of(DECAY, KEPT)
    count = 1 + MAX_SEGMENTS // len(pipe.times)
    many = replace(pipe, times=np.tile(pipe.times, (count, 1)), sets=joined([pipe.sets] * count))
    fewer = thinned(many)
    assert len(fewer.times) <= MAX_SEGMENTS < len(many.times)
    assert checked(DECAY, KEPT, fewer).judgement == Judgement.ACCEPTED


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variables": ["y"]}, "not those of the flow"),
        ({"directions": [[2.0]]}, "the axes"),
        ({"until": -1}, "not before 0"),
        ({"until": "soon"}, "finite number"),
        ({"starts": [{"lower": [1.0], "upper": [0.5]}]}, "above the upper end"),
        ({"segments": 3}, "expected a list"),
        ({"segments": [{"times": [1, 0], "lower": [0], "upper": [1], "location": None}]}, "ascends"),
        ({"segments": [{"times": [0, 1], "lower": [0], "upper": [1], "location": True}]}, "location"),
        ({"segments": [{"times": [0, 1], "lower": [0, 0], "upper": [1], "location": None}]}, "entries"),
        ({"segments": [{}] * (MAX_SEGMENTS + 1)}, "more than"),
        ({"more": 1}, "not known here"),
    ],
)
def test_what_is_no_flowpipe_is_refused(change: dict[str, object], message: str) -> None:
    document = {**flowpipe_json(pipe_of(DECAY, KEPT)), **change}
    with pytest.raises(FormatError, match=message):
        flowpipe_of(document, read(DECAY).model)
