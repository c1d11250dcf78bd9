"""The engine of neural abstractions: claims of which the truth is known, and statistics."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

import vernal as vn
from tests.flow_cases import FLOW_ENGINES
from tests.six_models import FOLDER
from tests.work import processor
from vernal.engines.check import parse_formula
from vernal.engines.flow.abstract import NeuralEngine
from vernal.engines.flow.modes import ModeEngine
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.evidence.neural import NeuralAbstraction
from vernal.formats.task.blueprint import load
from vernal.logic.question import Question
from vernal.model.hybrid import HybridAutomaton
from vernal.model.motion import Modes
from vernal.reduce.neural import learned_modes, partition
from vernal.reduce.neural.abstraction import abstractions
from vernal.reduce.neural.learned_modes import LearnedModes
from vernal.sets.flow_starts import halved, start_boxes

DECAY = vn.Flow(
    "decay",
    state={"x": vn.real(-2, 2)},
    init={"x": vn.interval(0.5, 1)},
    rates=lambda s: {"x": -s.x - s.x**3 / 4},
)
TURN = vn.Flow(
    "turn",
    state={"x": vn.real(-2, 2), "y": vn.real(-2, 2)},
    init={"x": vn.interval(0.9, 1), "y": vn.interval(-0.05, 0.05)},
    rates=lambda s: {"x": s.y, "y": -s.x},
)
PUSHED = vn.Flow(
    "pushed",
    state={"x": vn.real(-2, 2)},
    init={"x": 0},
    rates=lambda s: {"x": vn.between(-0.5, 0.5)},
)
ROOT = vn.Flow(  # solutions from (0, 0) are not unique: x = 0 for ever, or x = t^4 / 144
    "root",
    state={"x": vn.real(0, 1), "y": vn.real(-1, 1)},
    init={"x": 0, "y": 0},
    rates=lambda s: {"x": s.y, "y": vn.sqrt(s.x)},
)


def check(flow: vn.Flow, formula: str, timeout: float = 20.0) -> vn.Result:
    return vn.check(flow, formula, engine="abstraction", timeout=timeout)


@pytest.mark.parametrize(
    ("flow", "formula"),
    [
        (DECAY, "G[0,1] (x <= 1.001 & x >= 0)"),
        (DECAY, "F[0,3] (x <= 0.2)"),
        (DECAY, "G[1,2] (x <= 0.45)"),
        (TURN, "G[0,1.5] (x^2 + y^2 <= 1.2)"),
        (TURN, "F[0,2] (x <= 0.05) & G[0,1] (y <= 0.1)"),
        (PUSHED, "G[0,1] (abs(x) <= 0.501)"),
        (ROOT, "G[0,1] (x <= 0.1)"),
    ],
)
def test_claims_that_hold(flow: vn.Flow, formula: str) -> None:
    result = check(flow, formula)
    assert result.verdict is vn.HOLDS, result.reason
    assert isinstance(result.flowpipe, Flowpipe)
    assert isinstance(result.abstraction, NeuralAbstraction)
    assert result.assurance is vn.Assurance.RIGOROUS


@pytest.mark.parametrize(
    ("flow", "formula"),
    [
        (DECAY, "G[0,1] (x <= 0.99)"),
        (DECAY, "F[0,0.5] (x <= 0.2)"),
        (TURN, "G[0,1.5] (y >= -0.9)"),
        (PUSHED, "G[0,1] (x <= 0.499)"),
        (ROOT, "G[0,1] (x <= 0.0069)"),  # 1 / 144 is 0.00694...
        (ROOT, "F[0,1] (x > 0)"),
    ],
)
def test_claims_that_fail_are_never_proven(flow: vn.Flow, formula: str) -> None:
    result = check(flow, formula, timeout=0.4)
    assert result.verdict is vn.UNKNOWN
    assert result.reason


def test_what_was_done_is_told() -> None:
    result = check(DECAY, "G[0,1] (x <= 1.001)")
    wanted = {"rounds", "counterexamples", "regions", "transitions", "networks", "flowpipes", "error", "widths"}
    assert wanted <= result.statistics.keys()
    assert result.scope == "until t = 1, inside the region"


def test_how_far_it_is_proven_is_told() -> None:
    result = check(PUSHED, "G[0,3] (x <= 0.5)", timeout=30.0)
    assert result.verdict is vn.UNKNOWN
    assert result.proven_time is not None
    assert 0.8 <= result.proven_time <= 1.0


def test_initial_states_are_boxes_within_constraints() -> None:
    ring = vn.Flow(
        "ring",
        state={"x": vn.real(-1, 1), "y": vn.real(-1, 1)},
        init={"x": vn.one_of(-0.5, 0.5), "y": vn.interval(-1, 1)},
        where=lambda s: [s.x + s.y <= 0],
        rates=lambda s: {"x": -s.x, "y": -s.y},
    )
    boxes = start_boxes(ring)
    assert sorted(boxes.lower[:, 0]) == [-0.5, 0.5]
    for _ in range(3):
        boxes = halved(ring, boxes)
    assert (boxes.lower.sum(axis=1) <= 0).all()
    right = boxes.lower[:, 0] == 0.5
    assert 0.5 <= (boxes.upper - boxes.lower)[right, 1].sum() <= 0.8  # y <= -0.5, as far as boxes tell


def test_the_engine_stops_in_time() -> None:
    result = check(TURN, "G[0,1.5] (y >= -0.9)", timeout=0.3)
    assert result.verdict is vn.UNKNOWN
    assert NeuralEngine.name == "abstraction"


def test_regions_that_leave_a_gap_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = partition.automaton_of

    def with_a_gap(*given: object, **named: object) -> HybridAutomaton:
        made = whole(*given, **named)  # type: ignore[arg-type]
        return replace(made, locations=made.locations[1:], crossings=())

    monkeypatch.setattr(learned_modes, "automaton_of", with_a_gap)
    result = check(DECAY, "G[0,1] (x <= 1.001)")
    assert result.verdict is vn.UNKNOWN
    assert "do not cover the region" in str(result.reason)


def test_no_stage_is_called_like_an_engine() -> None:
    """`auto` tells the seconds of engines beside those of the stages of this one."""
    result = check(DECAY, "G[0,1] (x <= 1.001)")
    engines = {f"{name} seconds" for name in FLOW_ENGINES}
    assert not engines & result.statistics.keys()


def test_counterexamples_of_the_certifier_are_learned() -> None:
    """A gust in one narrow place, which the samples do not show: the benchmark in which the loop of rounds turns."""
    task = load(FOLDER / "gust.toml")
    found = next(abstractions(task.flow, task.settings))
    assert found.statistics["rounds"] == 2
    assert found.statistics["counterexamples"] == 2
    assert (found.error <= 0.1).all()


def of_modes(question: Question, seconds: float, **said: object) -> Known:
    """What `modes` knows of a reduced question that went to another process, with something else said of its modes."""
    travelled = pickle.loads(pickle.dumps(question.model))
    assert isinstance(travelled.motion, Modes)
    modes = replace(travelled.motion, **said)  # type: ignore[arg-type]
    return ModeEngine().attempt(replace(question, model=replace(travelled, motion=modes)), processor(seconds))


def test_the_reduced_question_says_all_that_is_known_of_the_flow() -> None:
    """x begins at its lower end, which it never leaves: so that it is small at some time is proven, and not without."""
    question = Question(ROOT, parse_formula(vn.Task(ROOT), "F[0.5,1] (x <= 0.1)"))
    asked = next(iter(LearnedModes().apply(question, processor(20.0)))).question
    assert isinstance(of_modes(asked, 20.0), Proof)
    assert isinstance(of_modes(asked, 0.3, kept=()), Open)
    assert isinstance(of_modes(asked, 0.3, may_block=True), Open)
