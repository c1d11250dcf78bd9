"""The graph of sets of a search: every path runs along it, from a set that covers its start to an end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from tests import systems
from vernal.logic.formula import Always, Atom, Bound, Formula
from vernal.logic.normal import atoms
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.sorts import REAL
from vernal.model.system import System
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.pieces.positions import Position, StepGraph
from vernal.sets.pieces.space import AffineSpace, Cutting
from vernal.sets.regions.space import Measures, RegionSpace
from vernal.sets.search import Search, Space, Stage
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
