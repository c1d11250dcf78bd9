"""Agents with memory in every engine: a paper's example, random loops, long horizons, and onnxruntime beside traces."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.available import engines_of_steps, is_here
from tests.brute import Brute
from tests.cases import DEEP, GATED, LATE, NEVER, PAIR, SQUASHED, read
from tests.engines.test_truth import ENDLESS_ONLY, INTEGERS_ONLY, check_evidence
from tests.formats.samples import session
from tests.portion import seeds, some
from tests.recurrent import recurrent_formula, recurrent_loop, recurrent_networks
from tests.work import processor
from vernal.engines.check import ask, asked_of, find_engine, parse_formula
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Assurance
from vernal.evidence.trace import Enclosure, Trace, TraceValue
from vernal.formats.onnx.writer import write_onnx
from vernal.formats.recurrent import rnn
from vernal.interpret import interval
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.interpret.value_sets import Range
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.agent import make_agent, remembered
from vernal.model.expr import Between
from vernal.model.graph import draws
from vernal.model.network import Network
from vernal.model.sorts import BOOL, REAL
from vernal.model.system import Init, OneOf, Span, Start, System, Variable
from vernal.run.budget import Budget
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import abstract_box

NAMES = [entry.name for entry in engines_of_steps() if is_here(entry.name)]
NOT_REFUTING = ("ends", "explicit", "liveness", "invariants")  # the first takes no intervals of reals, the others prove


def test_intervals_alone_prove_two_steps_of_example_1_but_not_three() -> None:
    """003: the interval of z grows by one a step, though z is always 0."""
    system = read(NEVER).system
    unrolling = Unrolling(system.step)
    box = abstract_box(initial_boxes(system).boxes)
    upper = {}
    for t in (1, 2, 3):
        z = unrolling.position(t)[build.var("z")]
        assert all(isinstance(draw, Between) for draw in draws([z]))
        (value,) = interval.evaluate([z], box)
        assert isinstance(value, Range)
        assert value.lower.item() == 0
        upper[t] = value.upper.item()
    assert upper == pytest.approx({1: 1.0, 2: 2.0, 3: 3.0}, abs=1e-12)


@pytest.mark.parametrize("model", [SQUASHED, GATED, DEEP], ids=["tanh", "gru", "lstm"])
def test_what_is_said_about_gates_is_rigorous_at_most(model: str) -> None:
    task = read(model)
    for formula, expected in (("G[0,2] (abs(x) <= 3)", HOLDS), ("X (abs(x) < 0.1)", VIOLATED)):
        for engine in NAMES:
            result = ask(task, parse_formula(task, formula), None, engine, processor(1))
            assert result.verdict in (expected, UNKNOWN)
            assert result.assurance is not Assurance.EXACT
        assert ask(task, parse_formula(task, formula), None, "auto", Budget(timeout=20)).verdict is expected


# Random loops ---------------------------------------------------------------------------------------------------------


MEMORYLESS = ("bmc",)  # its steps are operators over the state alone


@cache
def random_question(seed: int) -> tuple[System, Formula, bool]:
    """A loop with memory and a claim, and whether it is true by brute force: the same for every engine."""
    rng = random.Random(seed)
    system = recurrent_loop(rng, spans=False, smooth=False)
    asked = recurrent_formula(rng, system)
    return system, asked, Brute(system, asked).holds(asked)


@pytest.mark.parametrize(
    "engine", [name for name in NAMES if name not in (*ENDLESS_ONLY, *INTEGERS_ONLY, *MEMORYLESS, "invariants")]
)
def test_random_recurrent_loops_agree_with_brute_force(engine: str) -> None:
    decided = 0
    for seed in seeds(25):
        system, asked, is_true = random_question(seed)
        result = asked_of(find_engine(engine), Question(system, asked), Budget(timeout=20))
        if result.verdict is not UNKNOWN:
            decided += 1
            assert (result.verdict is HOLDS) == is_true, f"seed {seed}: {asked}"
            check_evidence(system, asked, result)
    assert decided > (0 if engine == "ends" else some(25) / 4), "an engine that decides nothing is tested for nothing"


@pytest.mark.parametrize("smooth", [False, True])
def test_proofs_and_counterexamples_never_meet(smooth: bool) -> None:
    """From intervals of states and memories: what one engine proves no other refutes, and all evidence replays."""
    proved = refuted = 0
    for seed in seeds(20, 10):
        rng = random.Random(1000 + seed)
        system = recurrent_loop(rng, spans=True, smooth=smooth)
        asked = recurrent_formula(rng, system)
        engines = ["bounds", "falsify"] if smooth else ["bounds", "falsify", "paths"]
        answers = [asked_of(find_engine(name), Question(system, asked), processor(2)) for name in engines]
        verdicts = {answer.verdict for answer in answers} - {UNKNOWN}
        assert len(verdicts) < 2, f"seed {seed}: {asked}"
        proved, refuted = proved + (HOLDS in verdicts), refuted + (VIOLATED in verdicts)
        for answer in answers:
            check_evidence(system, asked, answer)
    assert proved > 2
    assert refuted > 2


# Long and wild --------------------------------------------------------------------------------------------------------


def loop(network: Network, start: tuple[int, int], memory: Any = None) -> System:
    x = build.var("x")
    agent = make_agent("agent", [network], [x], "raw", memory=memory, remember="m")
    starts = Span(*map(Fraction, start)) if start[0] < start[1] else OneOf((Fraction(start[0]),))
    following = {"x": x * Fraction(1, 2) + agent.var}
    return System("loop", (Variable("x", REAL),), Init({"x": starts}), following, (agent,), remembered([agent]))


def verdict(system: System, formula: str, engine: str = "auto") -> Any:
    task = Task(system)
    return ask(task, parse_formula(task, formula), None, engine, Budget(timeout=30))


@pytest.mark.parametrize("engine", ["auto", "bounds"])
def test_fifty_steps(engine: str) -> None:
    damped = rnn([([[0.5]], [[0.25]], [0.0])], [([[0.25]], [0.0])])
    assert verdict(loop(damped, (-1, 1)), "G[0,50] (abs(x) <= 1.5)", engine).verdict is HOLDS


def test_an_exploding_recurrence_is_finite_or_unknown() -> None:
    """Spectral radius 1.5: wide after fifty steps, but never wrong."""
    wild = rnn([([[1.0], [-1.0]], [[1.5, 0.0], [0.0, 1.5]], [0.0, 0.0])], [([[1.0, -1.0]], [0.0])])
    for engine in NAMES:
        expected = UNKNOWN if engine in (*ENDLESS_ONLY, *INTEGERS_ONLY, *MEMORYLESS, *NOT_REFUTING) else VIOLATED
        assert verdict(loop(wild, (-1, 1)), "G[0,8] (abs(x) <= 1)", engine).verdict is expected
    assert verdict(loop(wild, (-1, 1)), "G[0,50] (abs(x) <= 1)").verdict is VIOLATED
    assert verdict(loop(wild, (-1, 1)), "G[0,50] (abs(x) <= 10^40)").verdict is HOLDS
    assert verdict(loop(wild, (0, 0)), "G[0,50] (x == 0)", "bounds").verdict is HOLDS


def test_a_memory_of_two_units_starts_where_it_is_told() -> None:
    network = rnn([([[0], [0]], [[1, 0], [0, 1]], [0, 0])], [([[1, -1]], [0])], activation="linear")
    starts = [OneOf((Fraction(2),)), Span(Fraction(-1), Fraction(1))]
    system = loop(network, (0, 0), starts)
    for engine in ("auto", "bounds", "paths", "milp"):
        assert verdict(system, "G[0,2] (m[0] == 2 & m[1] <= 1)", engine).verdict is HOLDS
    for engine in ("auto", "falsify", "paths", "milp"):
        result = verdict(system, "X[2] (x > 1.5)", engine)
        assert result.verdict is VIOLATED
        assert result.trace is not None
        assert result.trace.steps[0].memory["agent"] == (2, 1)
        assert verify(system, result.trace).accepted


@pytest.mark.parametrize("names", [("even", "odd"), ("same", "same")])
def test_a_network_that_is_not_in_charge_remembers(names: tuple[str, str]) -> None:
    """Two counters take turns: each counts its own steps only, even if they are one network."""
    counter = recurrent_networks()["sum"]
    x, turn = build.var("x"), build.var("turn", BOOL)
    networks = [replace(counter, name=name) for name in names]
    agent = make_agent("agent", networks, [build.const(1)], "raw", select=turn, remember="m")
    state = (Variable("x", REAL), Variable("turn", BOOL))
    starts: dict[str, Start] = {"x": Span(Fraction(0), Fraction(1)), "turn": OneOf((Fraction(0),))}
    following = {"x": x + agent.var, "turn": build.negate(turn)}
    system = System("turns", state, Init(starts), following, (agent,), remembered([agent]))
    for engine in ("auto", "bounds", "paths", "milp"):
        assert verdict(system, "X (m[0] == 1 & m[1] == 0) & X[5] (m[0] == 3 & m[1] == 2)", engine).verdict is HOLDS
    for engine in ("auto", "falsify", "paths", "milp"):
        assert verdict(system, "X[5] (m[0] < 3)", engine).verdict is VIOLATED


# Scores ---------------------------------------------------------------------------------------------------------------


def number(value: TraceValue) -> float:
    assert not isinstance(value, tuple)
    return float(value.middle if isinstance(value, Enclosure) else value)


def scores_agree(trace: Trace, observed: Mapping[str, str], networks: Mapping[str, Path]) -> None:
    """Along a trace onnxruntime, stepped beside it from the recorded first memory, acts and remembers alike."""
    for agent, variable in observed.items():
        running = session(networks[agent])
        kind = np.float64 if "double" in running.get_inputs()[0].type else np.float32
        first = trace.steps[0].memory[agent]
        assert isinstance(first, tuple)
        memory = np.array([[number(item) for item in first]], dtype=kind)
        for step in trace.steps:
            recorded = step.memory[agent]
            assert isinstance(recorded, tuple)
            assert np.allclose([number(item) for item in recorded], memory[0], rtol=1e-5, atol=1e-5)
            given = {"input": np.array([[number(step.state[variable])]], dtype=kind), "h1_in": memory}
            scores, memory = running.run(["output", "h1_out"], given)
            taken = number(step.actions[agent])
            if scores.shape[1] > 1:
                assert scores[0].max() - scores[0][int(taken)] < 1e-4
            else:
                assert scores[0, 0] == pytest.approx(taken, rel=1e-5, abs=1e-5)


TRACES = [
    (LATE, "X[3] (pilot == WAIT)", {"pilot": "x"}, {"pilot": "late"}),
    (LATE, "G[0,9] (x <= 2)", {"pilot": "x"}, {"pilot": "late"}),
    (PAIR, "G[0,6] (x < 2.5)", {"a": "x", "b": "y"}, {"a": "sum", "b": "sum"}),
    (SQUASHED, "G[1,6] (x < 0.94)", {"agent": "x"}, {"agent": "squash"}),
]


@pytest.mark.parametrize(("model", "formula", "observed", "networks"), TRACES)
@pytest.mark.parametrize("engine", ["auto", "falsify", "paths"])
def test_recorded_actions_and_memories_agree_with_onnxruntime(
    model: str, formula: str, observed: dict[str, str], networks: dict[str, str], engine: str, tmp_path: Path
) -> None:
    paths = {agent: tmp_path / f"{name}.onnx" for agent, name in networks.items()}
    for agent, name in networks.items():
        write_onnx(recurrent_networks()[name], paths[agent])
    result = ask(read(model), parse_formula(read(model), formula), None, engine, Budget(timeout=30))
    if engine == "paths" and model == SQUASHED:
        assert result.verdict in (VIOLATED, UNKNOWN)
    else:
        assert result.verdict is VIOLATED
    if result.trace is not None:
        scores_agree(result.trace, observed, paths)
