"""The graph of sets of a search: every path runs along it, from a set that covers its start to an end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import vernal as vn
from tests import systems
from tests.sampled_loops import LOOPS, Loop, Numbers, simulated
from vernal.interpret.flow.integration import Pace
from vernal.interpret.flow.steps import TaylorStepper
from vernal.interpret.numbers.rounding import float_above, float_below
from vernal.interpret.sampled.plant import plant_of
from vernal.logic.formula import Always, Atom, Bound, Formula
from vernal.logic.normal import atoms
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.sorts import REAL
from vernal.model.system import System
from vernal.sets.flow_starts import start_boxes
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.pieces.positions import Position, StepGraph
from vernal.sets.pieces.space import AffineSpace, Cutting
from vernal.sets.regions.space import Measures, RegionSpace
from vernal.sets.sampled.loop_space import LoopFollower, LoopSpace, LoopStates
from vernal.sets.search import Search, Space, Stage, nothing_before
from vernal.sets.set_graph import Recorder, SetGraph, SetNode, T, TrailedSets

X, Y = (build.var(name, REAL) for name in "xy")
STEPS = 4


def spiral() -> System:
    """A rotation with a choice and a branch."""
    pushed = build.if_(build.compare("<=", X, build.const(Fraction(1, 2))), build.choose(0, Fraction(1, 4)), 0)
    return systems.make({"x": (0, 1), "y": (-1, 1)}, {"x": X * Fraction("0.8") - Y * Fraction("0.5") + pushed, "y": X})


def spiral_moves(x: float, y: float) -> Iterator[tuple[float, float]]:
    yield 0.8 * x - 0.5 * y, x
    if x <= 0.5:
        yield 0.8 * x - 0.5 * y + 0.25, x


def claim(limit: int) -> Formula:
    return Always(Atom(build.compare("<=", X, build.const(limit))), Bound(Fraction(0), Fraction(STEPS)))


@dataclass
class Listening:
    """A handler that lets the graph hear everything, and ends nothing."""

    record: Recorder
    done = False

    def reached(self, stage: Stage, states: Position[T]) -> None:
        self.record.reached(stage, states)

    def kept(self, stage: Stage, states: Position[T]) -> None:
        self.record.closed(states, states.batch.trail, True)

    def failed(self, stage: Stage, states: Position[T]) -> None:
        self.record.closed(states, states.batch.trail, False)

    def passed(self, t: int) -> None: ...


def searched(kind: str, path: Formula) -> SetGraph:
    system, found = spiral(), SetGraph(most=100_000)
    question, boxes = Question(system, path), initial_boxes(system).boxes
    graph = StepGraph(system.step, atoms(path), lambda: None)
    space: Space[Position[TrailedSets]]
    if kind == "pieces":
        space = AffineSpace(question, graph, boxes, Cutting.CUT, 1000, found)  # type: ignore[assignment]
    else:
        measures = Measures()
        measures.renew(2, 1)
        space = RegionSpace(graph, boxes, measures, {}, np.array([0.1, 0.1]), found)  # type: ignore[assignment]
    Search(path, space, Listening(found), total=True, tick=lambda: None).levels(STEPS)
    return found


def inside(node: SetNode, state: tuple[float, float]) -> bool:
    low, high = node.box
    return bool((low - 1e-9 <= state).all() and (state <= high + 1e-9).all())


@pytest.mark.parametrize("kind", ["pieces", "regions"])
@pytest.mark.parametrize("limit", [1, 9], ids=["violated", "kept"])
def test_every_path_runs_along_the_graph(kind: str, limit: int) -> None:
    graph = searched(kind, claim(limit))
    children: dict[int, list[SetNode]] = {}
    for step in graph.steps:
        children.setdefault(step.parent, []).append(graph.nodes[step.child])
    ends = {end.trail for end in graph.ends}
    rng = np.random.default_rng(1)
    for _ in range(50):
        state = (rng.uniform(0, 1), rng.uniform(-1, 1))
        at = [node for node in graph.initial if inside(node, state)]
        for t in range(STEPS):
            assert at, f"no set at step {t} holds a state that a path is in"
            assert {node.t for node in at} == {t}
            options = list(spiral_moves(*state))
            state = options[rng.integers(len(options))]
            if any(node.trail in ends for node in at):
                break
            at = [child for node in at for child in children.get(node.trail, []) if inside(child, state)]


@pytest.mark.parametrize("kind", ["pieces", "regions"])
def test_a_claim_that_is_kept_has_no_end_that_fails(kind: str) -> None:
    kept, broken = searched(kind, claim(9)), searched(kind, claim(1))
    assert kept.ends
    assert all(end.kept for end in kept.ends)
    assert not all(end.kept for end in broken.ends)
    assert {node.owed for node in kept.initial} == {kept.initial[0].owed}
    assert all(step.parent in kept.nodes and step.child in kept.nodes for step in kept.steps)


def test_what_was_decided_before_a_step_is_told() -> None:
    told = {decision for step in searched("pieces", claim(9)).steps for decision, _ in step.decided}
    assert any(X in decision.args for decision in told)


# Continuous time ------------------------------------------------------------------------------------------------------


@dataclass
class ListeningToTubes:
    """A handler of sets that flow; ends are where they are decided."""

    record: Recorder
    done = False

    def reached(self, stage: Stage, states: LoopStates) -> None: ...

    def kept(self, stage: Stage, states: LoopStates) -> None:
        self.record.closed(states, states.group.trail, True)

    def failed(self, stage: Stage, states: LoopStates) -> None:
        self.record.closed(states, states.group.trail, False)

    def passed(self, t: int) -> None: ...


def plain() -> Loop:
    """A flow that turns and shrinks."""
    turning = vn.Flow(
        state={"x": vn.real(-4, 4), "y": vn.real(-4, 4)},
        init={"x": vn.interval(1, "1.2"), "y": vn.interval(0, "0.1")},
        rates=lambda s: {"x": s.y - s.x, "y": -s.x},
    )
    corners = ({"x": 1.0, "y": 0.0}, {"x": 1.2, "y": 0.1}, {"x": 1.1, "y": 0.0})
    return Loop(turning, lambda s: {"x": s["y"] - s["x"], "y": -s["x"]}, {}, corners=corners)  # type: ignore[arg-type]


def tubes(loop: Loop, horizon: Fraction, path: Formula | None = None) -> tuple[SetGraph, LoopSpace]:
    plant, found = plant_of(loop.system), SetGraph(most=100_000)
    follower = LoopFollower(plant, np.eye(len(plant.flow.vars)), lambda flow, rows: TaylorStepper(flow, rows, 8, 2))
    boxes = start_boxes(plant.flow)
    pace = lambda length: Pace(length / 2, length / 64, 1e-9)  # noqa: E731
    space = LoopSpace(follower, boxes.lower, boxes.upper, horizon, pace, asked=path is not None, record=found)
    asked, steps = nothing_before(len(space.positions)) if path is None else path, len(space.positions)
    Search(asked, space, ListeningToTubes(found), total=False, tick=lambda: None).levels(steps)
    return found, space


def holds(node: SetNode, time: float, state: Numbers, names: list[str]) -> bool:
    assert node.span is not None
    low, high = node.box
    point = np.array([state[name] for name in names])
    there = node.span[0] - 1e-9 <= time <= node.span[1] + 1e-9
    return there and bool((low[: len(names)] - 1e-9 <= point).all() and (point <= high[: len(names)] + 1e-9).all())


@pytest.mark.parametrize("name", ["plain", "leaky", "late", "bang"])
def test_every_path_in_continuous_time_runs_along_the_graph(name: str) -> None:
    loop, horizon = plain() if name == "plain" else LOOPS[name](), Fraction(6, 5)
    graph, space = tubes(loop, horizon)
    children: dict[int, list[SetNode]] = {}
    for step in graph.steps:
        children.setdefault(step.parent, []).append(graph.nodes[step.child])
        assert graph.nodes[step.parent].span <= graph.nodes[step.child].span  # type: ignore[operator]
    names = [var.name for var in space.loop.plant.flow.vars if not var.name.endswith("'")]
    assert len(graph.nodes) >= len(space.segments().times)
    for first in loop.corners:
        at: list[SetNode] = graph.initial
        for time, state in simulated(loop, first, horizon, Fraction(1, 100))[len(loop.actors) > 0 :]:
            ahead = list(at)
            for node in ahead:  # all that follow
                ahead += [child for child in children.get(node.trail, ()) if child not in ahead]
            at = [node for node in ahead if holds(node, time, state, names)]
            assert at, (time, state)


@pytest.mark.parametrize(("limit", "kept"), [(3, True), (1, False)])
def test_what_is_decided_of_samples_is_an_end_at_its_position(limit: int, kept: bool) -> None:
    graph, space = tubes(LOOPS["decay"](), Fraction(1, 2), claim(limit))
    assert graph.ends
    assert all(end.kept for end in graph.ends) is kept
    (first,) = graph.initial
    assert first.span == (0.0, 0.0)
    last = {graph.nodes[end.trail].span for end in graph.ends if end.kept}
    assert last <= {(float_below(instant.time), float_above(instant.time)) for instant in space.instants}
