"""Loops that sample in task files: what they mean, and what is refused at its place."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from vernal.errors import InputError
from vernal.formats.task.blueprint import load
from vernal.logic.times import Time
from vernal.model.motion import Sampled

TANK = """vernal = 1
name = "tank"
[parameters]
T = 0.1
[state]
x = "real [-4, 4]"
n = "int [0, 9]"
mode = "enum {LOW, HIGH}"
[agents.u]
policy = "gain.onnx"
observe = ["seen"]
act = "raw"
every = "T"
[environment]
every = 0.5
[environment.let]
seen = "x + between(-0.01, 0.01)"
[environment.next]
n = "n + 1"
[flow]
x = "match(mode, LOW: u, HIGH: 2*u) + wind"
[flow.let]
wind = "between(-0.1, 0.1)"
[init]
x = "[1, 2]"
n = 0
mode = "LOW"
[properties]
low = "G[0, 1] (x <= 3 & u <= 4)"
often = { formula = "G[0, 4] (n <= 1)", time = "samples" }
"""


def written(folder: Path, text: str = TANK) -> Path:
    """The task with its network, u = -x, beside it."""
    weights = [numpy_helper.from_array(np.array([[-1.0]], np.float32), "W")]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 1]) for name in ("input", "output")]
    node = helper.make_node("Gemm", ["input", "W"], ["output"], transB=1)
    graph = helper.make_graph([node], "gain", ports[:1], ports[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, folder / "gain.onnx")
    file = folder / "task.toml"
    file.write_text(text)
    return file


def test_a_loop_that_samples_is_read(tmp_path: Path) -> None:
    task = load(written(tmp_path))
    motion = task.model.motion
    assert isinstance(motion, Sampled)
    assert (motion.every, task.model.grid) == (Fraction(1, 2), Fraction(1, 10))
    assert (list(motion.rates), list(motion.next), list(motion.signals)) == (["x"], ["n"], ["wind"])
    assert task.times == {"often": Time.SAMPLES}
    assert task.properties.keys() == {"low", "often"}


def test_periods_may_be_parameters(tmp_path: Path) -> None:
    assert load(written(tmp_path), {"T": "1/4"}).model.agents[0].every == Fraction(1, 4)


def test_an_agent_acts_as_often_as_the_environment_unless_it_says(tmp_path: Path) -> None:
    assert load(written(tmp_path, TANK.replace('every = "T"\n', ""))).model.agents[0].every == Fraction(1, 2)


def test_an_action_may_be_late(tmp_path: Path) -> None:
    late = TANK.replace('every = "T"\n', 'every = "T"\ndelay = 0.02\nstart = 1\n')
    agent = load(written(tmp_path, late)).model.agents[0]
    assert (agent.delay, agent.start) == (Fraction(1, 50), (Fraction(1),))


@dataclass(frozen=True)
class Wrong:
    """An edit of the tank, where it is wrong, and words of the message."""

    what: str
    old: str
    new: str
    place: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return self.what


WRONG = [
    Wrong("no period", 'every = "T"', "every = 0", "13:9", ("positive number of seconds",)),
    Wrong("no period of the environment", "every = 0.5", "every = -1", "15:9", ("positive number of seconds",)),
    Wrong("a delay without a start", 'every = "T"', 'every = "T"\ndelay = 0.01', "9:9", ("needs `start`",)),
    Wrong("a start without a delay", 'every = "T"', 'every = "T"\nstart = 1', "14:9", ("no `start`",)),
    Wrong("too late", 'every = "T"', 'every = "T"\ndelay = 0.1\nstart = 0', "14:9", ("shorter than the period",)),
    Wrong("two starts", 'every = "T"', 'every = "T"\ndelay = 0.01\nstart = [0, 1]', "15:9", ("2 numbers",)),
    Wrong("a rate of a counter", 'x = "match', 'n = "1"\nx = "match', "21:5", ("has no rate", "it jumps")),
    Wrong("a choice in a rate", "+ wind", "+ choose(0, 1)", "21:5", ("`choose`",)),
    Wrong("a jump in a rate", "+ wind", "+ if(x > 0, 1, 0)", "21:5", ("`if` may jump",)),
    Wrong("a counter without a range", '"int [0, 9]"', '"int"', "7:5", ("has no range", "int [lower, upper]")),
    Wrong("a real without a range", '"real [-4, 4]"', '"real"', "6:5", ("has no range",)),
    Wrong("a signal that is seen", '"x + between', '"wind + between', "17:9", ("wind",)),
    Wrong("predicates", 'name = "tank"', 'name = "tank"\npredicates = ["x > 0"]', "3:1", ("a flow takes none",)),
    Wrong("a grid too fine", "every = 0.5", "every = 1000.0001", "20:2", ("more than 10,000 instants",)),
    Wrong("a jump of nothing", 'n = "n + 1"', 'm = "n + 1"', "19:1", ("no state variable 'm'",)),
    Wrong("steps", '"samples"', '"steps"', "30:48", ("seconds or samples",)),
    Wrong("a fraction of a sample", "G[0, 4] (n", "G[0, 0.5] (n", "30:27", ("fractional",)),
    Wrong("for ever", "G[0, 1] (x", "F (x", "29:8", ("needs a last time",)),
]


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_what_is_wrong_is_said_at_its_place(case: Wrong, tmp_path: Path) -> None:
    assert TANK.count(case.old) == 1
    with pytest.raises(InputError) as caught:
        load(written(tmp_path, TANK.replace(case.old, case.new)))
    message = str(caught.value)
    assert f"task.toml:{case.place}" in message, message
    for word in case.words:
        assert word in message, message


@pytest.mark.parametrize("key", ["every", "delay", "start"])
def test_seconds_have_no_place_in_steps(key: str, tmp_path: Path) -> None:
    text = TANK.split("[flow]")[0] + "[init]" + TANK.split("[init]")[1].split("[properties]")[0]
    text = text.replace('every = "T"\n', f"{key} = 1\n").replace("[environment]\nevery = 0.5\n", "")
    with pytest.raises(InputError, match="beside \\[flow\\]"):
        load(written(tmp_path, text))


def test_who_acts_says_how_often(tmp_path: Path) -> None:
    text = TANK.replace('every = "T"\n', "").replace("[environment]\nevery = 0.5\n", "")
    with pytest.raises(InputError, match="needs `every`"):
        load(written(tmp_path, text))
