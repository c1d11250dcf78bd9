"""Memory in task files and in Python: where it starts, what properties say about it, what is shown of it."""

from __future__ import annotations

import csv
import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.recurrent import recurrent_networks
from vernal.cli.main import main
from vernal.engines.check import check
from vernal.errors import TypeClash
from vernal.evidence.result import HOLDS, VIOLATED
from vernal.formats.onnx.writer import write_onnx
from vernal.formats.recurrent import rnn
from vernal.formats.task.blueprint import load
from vernal.model import declare
from vernal.model.graph import order
from vernal.model.network import Network
from vernal.model.system import OneOf, Span, Start, System

Said = pytest.CaptureFixture[str]

TASK = """\
vernal = 1
name = "drift"

[parameters]
start = 1

[state]
x = "real"

[init]
x = "[0, 1]"

[agents.pilot]
policy = "net.onnx"
observe = ["x"]
act = "raw"
MORE
[environment.next]
x = "x + pilot"

[properties]
slow = "G[0,3] (x <= 100)"
"""
TWO = rnn([([[1], [0]], [[0, 1], [1, 0]], [0, 1])], [([[1, -1]], [0])])  # two units that change places
OWN = Network(TWO.name, TWO.inputs, TWO.output, TWO.memory, starts=(Fraction(1), Fraction(2)))


def task(folder: Path, more: str = "", network: Network = TWO) -> Path:
    write_onnx(network, folder / "net.onnx")
    file = folder / "drift.toml"
    file.write_text(TASK.replace("MORE", more))
    return file


def starts(system: System) -> list[Start]:
    return [start for agent in system.agents for start in agent.starts]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", [0, 0]),
        ("memory = 0.1", [Fraction(1, 10)] * 2),
        ('memory = "start / 3"', [Fraction(1, 3)] * 2),
        ('memory = "[-1, start]"', [(-1, 1), (-1, 1)]),
        ('memory = [0.5, "[0, 2 * start]"]', [Fraction(1, 2), (0, 2)]),
        ('memory = ["[3, 3]", "start"]', [3, 1]),
    ],
)
def test_where_the_memory_starts(more: str, expected: list[Any], tmp_path: Path) -> None:
    wanted = [Span(*map(Fraction, s)) if isinstance(s, tuple) else OneOf((Fraction(s),)) for s in expected]
    assert starts(load(task(tmp_path, more)).system) == wanted


def test_a_network_may_say_where_it_starts() -> None:
    def system(memory: Any) -> System:
        return System(
            state={"x": declare.real()},
            init={"x": 0},
            agents={"pilot": declare.agent(OWN, lambda s: [s.x], "raw", memory=memory)},
            step=lambda s: {"x": s.x + s.pilot},
        )

    assert starts(system(None)) == [OneOf((Fraction(1),)), OneOf((Fraction(2),))]
    assert starts(system(0)) == [OneOf((Fraction(0),))] * 2
    assert starts(system([0, declare.interval(0, 1)])) == [OneOf((Fraction(0),)), Span(Fraction(0), Fraction(1))]
    with pytest.raises(TypeClash, match="remembers 2 numbers, but 1 starts"):
        system([0])


def test_python_and_the_file_say_the_same(tmp_path: Path) -> None:
    made = System(
        "drift",
        state={"x": declare.real()},
        init={"x": declare.interval(0, 1)},
        agents={
            "pilot": declare.agent(
                load(task(tmp_path)).system.agents[0].networks[0],
                lambda s: [s.x],
                "raw",
                memory=[0, declare.interval(0, 1)],
                remember="m",
            )
        },
        step=lambda s: {"x": s.x + s.pilot},
    )
    read = load(task(tmp_path, 'memory = [0, "[0, 1]"]\nremember = "m"')).system
    assert (read.step.roots, read.init, read.agents, read.lets) == (made.step.roots, made.init, made.agents, made.lets)


def test_a_name_is_given_once() -> None:
    with pytest.raises(TypeClash, match="'x' is already the name"):
        System(
            state={"x": declare.real()},
            init={"x": 0},
            agents={"pilot": declare.agent(TWO, lambda s: [s.x], "raw", remember="x")},
            step=lambda s: {"x": s.x + s.pilot},
        )
    plain = Network("plain", TWO.inputs, TWO.inputs)
    with pytest.raises(TypeClash, match="has no memory"):
        System(
            state={"x": declare.real()},
            init={"x": 0},
            agents={"pilot": declare.agent(plain, lambda s: [s.x], "raw", remember="m")},
            step=lambda s: {"x": s.x + s.pilot},
        )


def test_properties_over_memories(tmp_path: Path) -> None:
    """At position t the memory is what the agent brings there; its action uses what it becomes there."""
    loaded = load(task(tmp_path, 'memory = [0, 5]\nremember = "m"'))
    formulas = {
        "m[0] == 0 & m[1] == 5": HOLDS,
        "pilot >= 4 & pilot <= 5": HOLDS,  # relu(x + 5) - relu(0 + 1)
        "X (m[0] >= 5 & m[0] <= 6 & m[1] == 1)": HOLDS,
        "X (m[0] - m[1] < 5)": VIOLATED,
    }
    for formula, expected in formulas.items():
        assert check(loaded, formula).verdict is expected, formula


def test_carry_says_which_output_goes_where(tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("Add", ["p", "r"], ["s"]),
        helper.make_node("Neg", ["s"], ["q"]),
    ]
    ends = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1]) for name in "pqrs"}
    graph = helper.make_graph(nodes, "net", [ends["p"], ends["r"]], [ends["q"], ends["s"]])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    file = task(tmp_path, 'carry = { r = "s" }\nremember = "m"')
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    loaded = load(file)
    assert check(loaded, "m[0] == 0 & X (m[0] >= 0 & m[0] <= 1)").verdict is HOLDS
    assert check(loaded, "pilot <= 0").verdict is HOLDS


def test_agents_that_share_a_file_do_not_share_a_memory(tmp_path: Path) -> None:
    write_onnx(recurrent_networks()["sum"], tmp_path / "net.onnx")
    file = tmp_path / "two.toml"
    agent = '[agents.{0}]\npolicy = "net.onnx"\nobserve = ["{1}"]\nact = "raw"\nremember = "m{0}"\n'
    state = '[state]\nx = "real"\ny = "real"\n[init]\nx = 1\ny = "[-2, 2]"\n'
    file.write_text(f"vernal = 1\n{state}{agent.format('a', 'x')}{agent.format('b', 'y')}")
    loaded = load(file)
    one, other = loaded.system.step.memory
    assert one is not other
    assert other not in order([loaded.system.step.next_memory[0]])
    assert check(loaded, "G[0,5] (ma[0] >= 0) & X[3] (ma[0] == 3)").verdict is HOLDS
    result = check(loaded, "X[3] (mb[0] < 6)")
    assert result.verdict is VIOLATED
    assert result.trace is not None
    assert result.trace.steps[3].memory == {"a": (3,), "b": (6,)}


# What is shown --------------------------------------------------------------------------------------------------------


def test_traces_show_memories_and_replay_checks_them(tmp_path: Path, capsys: Said) -> None:
    file, trace = task(tmp_path, 'memory = [0, "[0, 1]"]\nremember = "m"'), tmp_path / "drift.trace.json"
    assert main(["check", str(file), "--spec", "X[2] (m[0] < 2)", "--trace", str(trace)]) == 10
    head = capsys.readouterr().out.splitlines()[1]
    assert head.split() == ["step", "x", "pilot", "m[0]", "m[1]"]
    assert main(["replay", str(trace)]) == 0
    document = json.loads(trace.read_text())
    recorded = [step["memory"]["pilot"] for step in document["trace"]["steps"]]
    assert [len(memory) for memory in recorded] == [2, 2, 2]
    document["trace"]["steps"][1]["memory"]["pilot"][0] += 1
    trace.write_text(json.dumps(document))
    assert main(["replay", str(trace)]) == 1


def test_a_changed_memory_is_not_a_path(tmp_path: Path) -> None:
    from vernal.evidence.replay import verify
    from vernal.evidence.trace import Trace, TraceStep

    loaded = load(task(tmp_path, 'remember = "m"'))
    result = check(loaded, "X[2] (m[0] < 1)")
    assert result.trace is not None
    steps = list(result.trace.steps)
    wrong = TraceStep(steps[1].state, steps[1].actions, memory={"pilot": (Fraction(7), Fraction(7))})
    edited = Trace((steps[0], wrong, *steps[2:]), system=loaded.system)
    problem = verify(loaded.system, edited).problem
    assert problem is not None
    assert problem.step == 1
    assert "memory of pilot[0]" in str(problem)


def test_explain_says_what_is_remembered(tmp_path: Path, capsys: Said) -> None:
    assert main(["explain", str(task(tmp_path, 'memory = [0, "[0, 1]"]\nremember = "m"'))]) == 0
    said = capsys.readouterr().out
    assert "remembers  2 numbers from step to step, at first 0, [0, 1]; properties call them m[0] to m[1]" in said
    assert main(["explain", str(task(tmp_path))]) == 0
    assert "remembers  2 numbers from step to step, at first 0\n" in capsys.readouterr().out


def test_explain_says_which_number_is_which(tmp_path: Path, capsys: Said) -> None:
    file = task(tmp_path, 'remember = "m"', recurrent_networks()["deep"])
    assert main(["explain", str(file)]) == 0
    assert "properties call them m[0] to m[1], in the order h1 (1), c1 (1)\n" in capsys.readouterr().out


def test_runs_as_csv_have_memories(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "runs.csv"
    assert main(["simulate", str(task(tmp_path)), "--runs", "3", "--steps", "2", "--csv", str(file)]) == 0
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert list(rows[0])[-2:] == ["memory of pilot[0]", "memory of pilot[1]"]
    for now, after in itertools.pairwise(rows):
        if now["run"] == after["run"]:
            seen = max(float(now["x"]) + float(now["memory of pilot[1]"]), 0)
            assert float(after["memory of pilot[0]"]) == pytest.approx(seen)
