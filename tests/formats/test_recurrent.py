"""Recurrent networks from weight matrices, written to ONNX and read back."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.formats.samples import graph, save, sequence, stepped, walk
from tests.recurrent import recurrent_networks
from vernal.errors import FormatError
from vernal.formats.convert import compare, convert
from vernal.formats.networks import read_network
from vernal.formats.onnx.writer import write_onnx
from vernal.formats.recurrent import rnn


def test_a_network_from_weights() -> None:
    network = rnn([([[1, -1]], [[1]], [0.5])], [([[1], [-1]], [0, 0]), ([[1, 2]], [1])])
    xs = np.array([[1.0, 0.0], [0.0, 3.0], [2.0, 0.0]])
    # h = 1.5, 0, 2.5 and relu(h) + 2 relu(-h) + 1
    assert walk(network, xs).ravel().tolist() == [2.5, 1.0, 3.5]


def test_a_linear_state_space_from_weights() -> None:
    network = rnn(
        [([[1], [0]], [[0.5, 0.0], [1.0, 0.0]], [0, 0])], [([[1, -1]], [0]), ([[1]], [0])], activation="linear"
    )
    # h = A h + B o with a ReLU on what is read: (1, 0), (0.5, 1), (0.25, 0.5)
    assert walk(network, np.array([[1.0], [0.0], [-4.0]])).ravel().tolist() == [1.0, 0.0, 0.0]
    assert walk(network, np.array([[-4.0], [0.0], [0.0]])).ravel().tolist() == [0.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("cells", "head", "words"),
    [
        ([], [], "at least one cell"),
        ([([[1, 2]], [[1, 2]], [0])], [], r"cell 0.*R \(1, 2\)"),
        ([([1], [[1]], [0])], [], "cell 0 wants a matrix"),
        ([([[1]], [[1]], [0]), ([[1, 2]], [[1]], [0])], [], "cell 1.*on 1 inputs"),
        ([([[1]], [[1]], [0])], [([[1, 2]], [0])], "head 0.*on 1 inputs"),
        ([([[1]], [["x"]], [0])], [], "not an array of numbers"),
        ([([[1]], [[float("nan")]], [0])], [], "NaN"),
    ],
)
def test_weights_that_do_not_fit_are_refused(cells: Any, head: Any, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        rnn(cells, head)


# There and back -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", recurrent_networks())
def test_written_networks_are_the_same_and_run_step_by_step(name: str, tmp_path: Path) -> None:
    network = recurrent_networks()[name]
    path = tmp_path / "out.onnx"
    write_onnx(network, path)
    again = read_network(path)
    assert again.roots == network.roots
    assert [var for var, _ in again.memory] == [var for var, _ in network.memory]
    assert compare(network, again) == 0
    xs = sequence(network.input_size) / 4
    carry = {f"{var.name}_in": f"{var.name}_out" for var, _ in network.memory}
    theirs = stepped(path, xs, carry, "input", "output")
    np.testing.assert_allclose(walk(network, xs), theirs, rtol=2e-5, atol=2e-5)


def test_convert_says_where_the_memory_starts(tmp_path: Path) -> None:
    """An operator may start anywhere; memory as an input starts where the task says."""
    from onnx import helper

    tensors = {name: np.full(shape, 0.5, dtype=np.float32) for name, shape in
               (("W", (1, 6, 2)), ("R", (1, 6, 2)), ("h0", (1, 1, 2)))}  # fmt: skip
    node = helper.make_node("GRU", ["x", "W", "R", "", "", "h0"], ["", "y"], hidden_size=2)
    path = save(graph([node], tensors, {"x": ["T", 1, 2]}, {"y": [1, 1, 2]}), tmp_path)
    done = convert(path, tmp_path / "b.onnx")
    assert done.identical
    assert "the memory starts at [0.5, 0.5]" in done.notes[1]
    again = read_network(tmp_path / "b.onnx")
    assert (again.starts, read_network(path).starts) == ((), (Fraction(1, 2),) * 2)


def test_convert_says_how_the_memory_goes_round(tmp_path: Path) -> None:
    write_onnx(recurrent_networks()["deep"], tmp_path / "a.onnx")
    done = convert(tmp_path / "a.onnx", tmp_path / "b.onnx")
    assert done.identical
    assert done.notes == ("the memory goes through h1_in -> h1_out, c1_in -> c1_out",)
    with pytest.raises(FormatError, match="has memory, which"):
        convert(tmp_path / "a.onnx", tmp_path / "b.nnet")
