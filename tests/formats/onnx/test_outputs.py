"""ONNX files with several outputs: one is chosen by its name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto, helper

from tests.formats.onnx.test_ops import f32
from tests.formats.samples import compute, model, points, save, walk
from vernal.errors import FormatError
from vernal.formats.convert import convert
from vernal.formats.networks import read_network
from vernal.formats.task.blueprint import load

W, V = f32(3, 2), f32(3, 1)


def actor_critic(folder: Path, *more: NodeProto, outputs: tuple[str, ...] = ("scores", "value")) -> Path:
    """Scores and a value of three inputs."""
    nodes = [helper.make_node("MatMul", ["x", "W"], ["scores"]), helper.make_node("MatMul", ["x", "V"], ["value"])]
    return save(model([*nodes, *more], {"W": W, "V": V}, outputs=outputs), folder)


def test_one_output_is_read_by_its_name(tmp_path: Path) -> None:
    path, xs = actor_critic(tmp_path), points(3)
    for output, weight in (("scores", W), ("value", V)):
        np.testing.assert_allclose(compute(read_network(path, output=output), xs), xs @ weight, atol=1e-6)


def test_without_a_name_the_message_lists_them(tmp_path: Path) -> None:
    path = actor_critic(tmp_path)
    with pytest.raises(FormatError, match=r"2 outputs \('scores', 'value'\).*output = \"NAME\" in the agent's table"):
        read_network(path)
    with pytest.raises(FormatError, match=r"no output 'score'; did you mean 'scores'\?"):
        read_network(path, output="score")
    (tmp_path / "net.nnet").write_text("")
    with pytest.raises(FormatError, match="other formats have no use for it"):
        read_network(tmp_path / "net.nnet", output="scores")


def test_what_the_others_need_is_not_read(tmp_path: Path) -> None:
    """An index of the best action, and probabilities, which could not be read."""
    more = [
        helper.make_node("Softmax", ["scores"], ["odds"]),
        helper.make_node("ArgMax", ["odds"], ["action"]),
        helper.make_node("Softmax", ["odds"], ["twice"]),
    ]
    path = actor_critic(tmp_path, *more, outputs=("scores", "value", "odds", "action", "twice"))
    assert read_network(path, output="scores").dropped is None
    assert read_network(path, output="odds").dropped == "Softmax"
    with pytest.raises(FormatError, match="let the network end with the scores"):
        read_network(path, output="action")


def test_memories_stay(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Add", ["obs", "h_in"], ["h_out"]),
        helper.make_node("Relu", ["h_out"], ["scores"]),
        helper.make_node("Neg", ["h_out"], ["value"]),
    ]
    made = model(nodes, shape=(1, 2), inputs=("obs", "h_in"), outputs=("scores", "value", "h_out"))
    path, xs = save(made, tmp_path), points(2, count=5)
    with pytest.raises(FormatError, match="value"):
        read_network(path)
    network = read_network(path, output="value")
    assert network.memory_size == 2
    np.testing.assert_allclose(walk(network, xs), -np.cumsum(xs, axis=0), atol=1e-5)
    carried = read_network(path, output="value", carry={"h_in": "h_out"})
    np.testing.assert_allclose(walk(carried, xs), -np.cumsum(xs, axis=0), atol=1e-5)


def test_converted(tmp_path: Path) -> None:
    path, target = actor_critic(tmp_path), tmp_path / "value.onnx"
    assert convert(path, target, output="value").identical
    assert read_network(target).output_size == 1


TASK = """
vernal = 1
[state]
x = "real"
[init]
x = "[0, 1]"
[agents.push]
policy = "sample.onnx"
observe = ["x", 0, 0]
act = "raw"
{output}
[environment.next]
x = "x / 2 + push / 100"
[properties]
small = "G[0,3] (x <= 2)"
"""


def test_in_a_task(tmp_path: Path) -> None:
    actor_critic(tmp_path)
    task = tmp_path / "task.toml"
    task.write_text(TASK.format(output='output = "value"'))
    (agent,) = load(task).system.agents
    assert agent.networks[0].output_size == 1
    for wrong, message in (("", "'scores', 'value'"), ('output = "valve"', "did you mean 'value'")):
        task.write_text(TASK.format(output=wrong))
        with pytest.raises(FormatError, match=message):
            load(task)
