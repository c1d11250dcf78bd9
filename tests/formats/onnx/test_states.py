"""Memory as inputs and outputs of an ONNX graph: how they are paired, and the loop against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.formats.samples import Array, graph, model, save, sequence, stepped, walk
from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.networks import read_network

RANDOM = np.random.default_rng(11)


def f32(*shape: int, scale: float = 0.6) -> Array:
    return (scale * RANDOM.normal(size=shape)).astype(np.float32)


def i64(*values: int) -> Array:
    return np.array(values, dtype=np.int64)


# Memory as inputs and outputs -----------------------------------------------------------------------------------------


def paired(old: Sequence[str] = ("h", "c"), new: Sequence[str] = ("hn", "cn"), *, softmax: bool = False) -> Any:
    """Two LSTM layers whose memory comes in and goes out; cut and joined as torch does."""
    tensors = {
        **{f"W{i}": f32(1, 16, size) for i, size in enumerate((3, 4))},
        **{f"R{i}": f32(1, 16, 4) for i in range(2)},
        **{f"B{i}": f32(1, 32) for i in range(2)},
        "V": f32(2, 4),
        "v": f32(2),
        "axes": np.array([0, 1], dtype=np.int64),
        "one": np.array([1], dtype=np.int64),
    }
    h, c = old
    made = helper.make_node
    nodes = [
        made("Unsqueeze", ["obs", "one"], ["x"]),
        made("Split", [h], ["h0", "h1"], axis=0),
        made("Split", [c], ["c0", "c1"], axis=0),
        made("LSTM", ["x", "W0", "R0", "B0", "", "h0", "c0"], ["y0", "h0n", "c0n"], hidden_size=4),
        made("Squeeze", ["y0", "one"], ["z0"]),
        made("LSTM", ["z0", "W1", "R1", "B1", "", "h1", "c1"], ["y1", "h1n", "c1n"], hidden_size=4),
        made("Concat", ["h0n", "h1n"], [new[0]], axis=0),
        made("Concat", ["c0n", "c1n"], [new[1]], axis=0),
        made("Squeeze", ["y1", "axes"], ["z1"]),
        made("Gemm", ["z1", "V", "v"], ["scores" if softmax else "action"], transB=1),
    ]
    if softmax:
        nodes.append(made("Softmax", ["scores"], ["action"], axis=1))
    states = {name: [2, 1, 4] for name in old}
    return graph(nodes, tensors, {"obs": [1, 3], **states}, {"action": [1, 2], **{name: [2, 1, 4] for name in new}})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("h", "c"), ("hn", "cn")),
        (("h0", "c0_"), ("hn", "c0__out")),
        (("state_in", "cell_in"), ("state_out", "cell_out")),
        (("prev_h", "prev_c"), ("h", "c")),
        (("h", "c"), ("next_h", "c_next")),
    ],
    ids=lambda names: "-".join(names),
)
def test_states_are_paired_by_name(old: tuple[str, str], new: tuple[str, str], tmp_path: Path) -> None:
    if "h0" in old:  # the graph has tensors called so
        made = paired(("ha", "ca"), ("hz", "cz"))
        text = {"ha": "hidden0", "ca": "cell_0", "hz": "hiddenn", "cz": "cell_n"}
        for node in made.graph.node:
            for names in (node.input, node.output):
                names[:] = [text.get(name, name) for name in names]
        for item in (*made.graph.input, *made.graph.output):
            item.name = text.get(item.name, item.name)
        old, new = ("hidden0", "cell_0"), ("hiddenn", "cell_n")
    else:
        made = paired(old, new)
    path = save(made, tmp_path)
    network = read_network(path)
    assert (network.input_size, network.output_size, network.memory_size) == (3, 2, 16)
    xs = sequence(3)
    expected = stepped(path, xs, dict(zip(old, new, strict=True)))
    np.testing.assert_allclose(walk(network, xs), expected, rtol=2e-5, atol=2e-5)


def elman(inputs: Mapping[str, int], outputs: Mapping[str, int], *, tensors: Mapping[str, Array] | None = None) -> Any:
    """h' = relu(W o + R h), a = V h', written out in plain operators; inputs and outputs in any order and name."""
    (seen, size), (old, hidden) = inputs.items()
    (acts, count), (new, _) = outputs.items()
    weights = tensors or {"W": f32(size, hidden), "R": f32(hidden, hidden), "V": f32(hidden, count)}
    nodes = [
        helper.make_node("MatMul", [seen, "W"], ["wx"]),
        helper.make_node("MatMul", [old, "R"], ["rh"]),
        helper.make_node("Add", ["wx", "rh"], ["sum"]),
        helper.make_node("Relu", ["sum"], [new]),
        helper.make_node("MatMul", [new, "V"], [acts]),
    ]
    return graph(nodes, weights, {n: ["N", s] for n, s in inputs.items()}, {n: ["N", s] for n, s in outputs.items()})


def test_states_are_paired_by_shape_where_that_is_clear(tmp_path: Path) -> None:
    path = save(elman({"a": 3, "b": 5}, {"c": 2, "d": 5}), tmp_path)
    network = read_network(path)
    assert (network.input_size, network.output_size, network.memory_size) == (3, 2, 5)
    xs = sequence(3)
    np.testing.assert_allclose(walk(network, xs), stepped(path, xs, {"b": "d"}, "a", "c"), rtol=1e-4, atol=1e-3)


def bare(op: str, states: Sequence[str], given: bool) -> Any:
    """One recurrent layer and a head, as torch exports them without names: every size is 1 or 3."""
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op] * 3
    tensors = {"W": f32(1, gates, 3), "R": f32(1, gates, 3), "B": f32(1, 2 * gates), "V": f32(3, 3)}
    tensors["one"] = np.array([1], dtype=np.int64)
    made = helper.make_node
    starts = ["", *(f"in{name}" for name in states)] if given else []
    nodes = [
        made(op, ["7", "W", "R", "B", *starts], ["y", *states], hidden_size=3),
        made("Squeeze", ["y", "one"], ["z"]),
        made("MatMul", ["z", "V"], ["9"]),
    ]
    inputs = {"7": [1, 1, 3], **{f"in{name}": [1, 1, 3] for name in states if given}}
    return graph(nodes, tensors, inputs, {**{name: [1, 1, 3] for name in states}, "9": [1, 1, 3]})


@pytest.mark.parametrize(("op", "states"), [("RNN", ["11"]), ("GRU", ["11"]), ("LSTM", ["11", "12"])])
def test_states_are_paired_by_the_operator_they_pass_through(op: str, states: list[str], tmp_path: Path) -> None:
    path = save(bare(op, states, given=True), tmp_path)
    network = read_network(path)
    assert [var.name for var, _ in network.memory] == [f"in{name}" for name in states]
    xs = sequence(3)
    expected = stepped(path, xs, {f"in{name}": name for name in states}, "7", "9")
    np.testing.assert_allclose(walk(network, xs), expected, rtol=2e-5, atol=2e-5)


def test_states_that_are_cut_into_layers_and_joined_again_are_paired(tmp_path: Path) -> None:
    path = save(paired(("5", "6"), ("17", "18")), tmp_path)
    assert [var.name for var, _ in read_network(path).memory] == ["5", "6"]
    xs = sequence(3)
    expected = stepped(path, xs, {"5": "17", "6": "18"})
    np.testing.assert_allclose(walk(read_network(path), xs), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("op", "states"), [("RNN", ["11"]), ("GRU", ["11"]), ("LSTM", ["11", "12"])])
def test_final_memories_beside_the_action_are_no_second_action(op: str, states: list[str], tmp_path: Path) -> None:
    model = bare(op, states, given=False)
    path = save(model, tmp_path)
    found = walk(read_network(path), sequence(3))
    for item in [item for item in model.graph.output if item.name in states]:
        model.graph.output.remove(item)
    alone = tmp_path / "alone"
    alone.mkdir()
    np.testing.assert_array_equal(found, walk(read_network(save(model, alone)), sequence(3)))


def test_final_memories_of_several_layers_may_be_joined(tmp_path: Path) -> None:
    made = helper.make_node
    tensors = {f"{name}{i}": f32(1, 3, 3) for name in "WR" for i in range(2)}
    tensors["one"] = np.array([1], dtype=np.int64)
    nodes = [
        made("RNN", ["o", "W0", "R0"], ["y0", "h0"], hidden_size=3),
        made("Squeeze", ["y0", "one"], ["z0"]),
        made("RNN", ["z0", "W1", "R1"], ["y1", "h1"], hidden_size=3),
        made("Squeeze", ["y1", "one"], ["a"]),
        made("Concat", ["h0", "h1"], ["h"], axis=0),
    ]
    made_model = graph(nodes, tensors, {"o": [1, 1, 3]}, {"a": [1, 1, 3], "h": [2, 1, 3]})
    network = read_network(save(made_model, tmp_path))
    assert (network.output_size, network.memory_size) == (3, 6)


def test_states_can_be_said(tmp_path: Path) -> None:
    path = save(elman({"a": 3, "b": 3}, {"c": 3, "d": 3}), tmp_path)
    with pytest.raises(FormatError, match=r"not clear which are its memory.*carry = "):
        read_network(path)
    network = read_network(path, carry={"b": "d"})
    xs = sequence(3, 8)
    np.testing.assert_allclose(walk(network, xs), stepped(path, xs, {"b": "d"}, "a", "c"), rtol=1e-5, atol=1e-4)
    for wrong, words in (
        ({"q": "d"}, "no input 'q'"),
        ({"b": "q"}, "no output 'q'"),
        ({"a": "d", "b": "d"}, "two inputs"),
        ({"a": "c", "b": "d"}, "inputs none"),
    ):
        with pytest.raises(FormatError, match=words):
            read_network(path, carry=wrong)


@pytest.mark.parametrize(
    ("inputs", "outputs", "words"),
    [
        ({"o": 3, "h": 5}, {"a": 5, "b": 5}, "not clear"),
        ({"o": 3, "h": 5}, {"a": 2, "hn": 4}, "different shapes"),
        ({"o": 3, "p": 5}, {"a": 2, "q": 4}, "no inputs and outputs have equal shapes"),
        ({"o": 3, "h": 5}, {"h_out": 5, "hn": 5}, "several outputs"),
        ({"o": 3, "h": 5}, {"y": 3, "z": 5}, "not clear which are its memory.*name them obs"),
        ({"h": 5, "g": 5}, {"h_out": 5, "g_out": 5}, "inputs none and outputs none"),
    ],
)
def test_unclear_states_are_refused_with_advice(
    inputs: Mapping[str, int], outputs: Mapping[str, int], words: str, tmp_path: Path
) -> None:
    nodes = [
        helper.make_node("MatMul", [source, f"W{i}"], [name])
        for i, (source, name) in enumerate(zip(inputs, outputs, strict=True))
    ]
    tensors = {
        f"W{i}": f32(inputs[source], size)
        for i, (source, size) in enumerate(zip(inputs, outputs.values(), strict=True))
    }
    made = graph(nodes, tensors, {n: [1, s] for n, s in inputs.items()}, {n: [1, s] for n, s in outputs.items()})
    with pytest.raises(FormatError, match=words):
        read_network(save(made, tmp_path))


def test_a_softmax_on_the_action_is_left_out_and_one_on_the_memory_refused(tmp_path: Path) -> None:
    path = save(paired(softmax=True), tmp_path)
    assert read_network(path).dropped == "Softmax"
    nodes = [
        helper.make_node("MatMul", ["o", "W"], ["a"]),
        helper.make_node("MatMul", ["h", "R"], ["r"]),
        helper.make_node("Softmax", ["r"], ["hn"], axis=1),
    ]
    tensors = {"W": f32(3, 2), "R": f32(4, 4)}
    made = graph(nodes, tensors, {"o": [1, 3], "h": [1, 4]}, {"a": [1, 2], "hn": [1, 4]})
    with pytest.raises(UnsupportedOperator, match="not in the memory 'hn'"):
        read_network(save(made, tmp_path))


def test_a_hand_written_gated_cell(tmp_path: Path) -> None:
    """What torch makes of a GRUCell: one product with all gates, cut into three."""
    tensors = {"W": f32(12, 3), "R": f32(12, 4), "b": f32(12), "c": f32(12), "one": np.ones(1, dtype=np.float32)}
    made = helper.make_node
    nodes = [
        made("Gemm", ["o", "W", "b"], ["wx"], transB=1),
        made("Gemm", ["h", "R", "c"], ["rh"], transB=1),
        made("Split", ["wx"], ["wr", "wz", "wn"], axis=1),
        made("Split", ["rh"], ["rr", "rz", "rn"], axis=1),
        made("Add", ["wr", "rr"], ["r_"]),
        made("Sigmoid", ["r_"], ["r"]),
        made("Add", ["wz", "rz"], ["z_"]),
        made("Sigmoid", ["z_"], ["z"]),
        made("Mul", ["r", "rn"], ["m"]),
        made("Add", ["wn", "m"], ["n_"]),
        made("Tanh", ["n_"], ["n"]),
        made("Sub", ["h", "n"], ["d"]),
        made("Mul", ["z", "d"], ["e"]),
        made("Add", ["n", "e"], ["h_out"]),
        made("Relu", ["h_out"], ["a"]),
    ]
    made_model = graph(nodes, tensors, {"o": [1, 3], "h": [1, 4]}, {"a": [1, 4], "h_out": [1, 4]})
    path = save(made_model, tmp_path)
    xs = sequence(3)
    expected = stepped(path, xs, {"h": "h_out"}, "o", "a")
    np.testing.assert_allclose(walk(read_network(path), xs), expected, rtol=2e-5, atol=2e-5)


def test_an_observation_by_its_name_is_no_memory(tmp_path: Path) -> None:
    """As many scores as observations, and outputs whose names say nothing: as torch exports without names."""
    nodes = [
        helper.make_node("Gemm", ["h", "R"], ["add_3"]),
        helper.make_node("Gemm", ["obs", "W"], ["linear_2"]),
    ]
    tensors = {"R": f32(4, 4), "W": f32(3, 3)}
    outputs = {"linear_2": [1, 3], "add_3": [1, 4]}
    made = graph(nodes, tensors, {"obs": [1, 3], "h": [1, 4]}, outputs)
    network = read_network(save(made, tmp_path))
    assert (network.input_size, network.memory_size) == (3, 4)


# What torch's exporters make of recurrent modules ---------------------------------------------------------------------


def unrolled(layers: int = 2) -> Any:
    """nn.RNN(nonlinearity="relu", batch_first=True) and a head: torch's default exporter writes no RNN operator."""
    tensors: dict[str, Array] = {"c0": i64(0), "c1": i64(1), "c2": i64(2), "last": np.array(-1), "V": f32(2, 4)}
    made = helper.make_node
    nodes, below = [made("Transpose", ["obs"], ["t"], perm=[1, 0, 2])], "t"
    for i in range(layers):
        tensors |= {f"W{i}": f32(3 if i == 0 else 4, 4), f"R{i}": f32(4, 4), f"b{i}": f32(4), f"d{i}": f32(4)}
        nodes += [
            made("Slice", ["h", f"c{i}", f"c{i + 1}", "c0"], [f"s{i}"]),
            made("Squeeze", [f"s{i}", "c0"], [f"g{i}"]),
            made("Unsqueeze", [f"g{i}", "c0"], [f"u{i}"]),
            made("MatMul", [below, f"W{i}"], [f"w{i}"]),
            made("Add", [f"w{i}", f"b{i}"], [f"x{i}"]),
            made("Slice", [f"x{i}", "c0", "c1", "c0"], [f"y{i}"]),
            made("Squeeze", [f"y{i}", "c0"], [f"z{i}"]),
            made("MatMul", [f"u{i}", f"R{i}"], [f"r{i}"]),
            made("Add", [f"r{i}", f"d{i}"], [f"q{i}"]),
            made("Add", [f"q{i}", f"z{i}"], [f"a{i}"]),
            made("Relu", [f"a{i}"], [f"relu{i}"]),
        ]
        below = f"relu{i}"
    nodes += [
        made("Concat", [f"relu{i}" for i in range(layers)], ["stack"], axis=0),
        made("Transpose", [below], ["out"], perm=[1, 0, 2]),
        made("Gather", ["out", "last"], ["select"], axis=1),
        made("Gemm", ["select", "V"], ["linear"], transB=1, alpha=1.0, beta=1.0, transA=0),
    ]
    return graph(
        nodes,
        tensors,
        {"obs": ["N", 1, 3], "h": [layers, "N", 4]},
        {"linear": ["N", 2], "stack": [layers, "N", 4]},
        opset=20,
    )


@pytest.mark.parametrize("layers", [1, 2])
def test_a_recurrence_without_its_operator(layers: int, tmp_path: Path) -> None:
    path = save(unrolled(layers), tmp_path)
    network, xs = read_network(path), sequence(3)
    assert network.memory_size == 4 * layers
    expected = stepped(path, xs, {"h": "stack"}, acts="linear")
    np.testing.assert_allclose(walk(network, xs), expected, rtol=1e-5, atol=1e-5)


def test_an_input_that_nobody_reads_is_refused(tmp_path: Path) -> None:
    """What torch writes for cell(obs, h, c) if the example gives one tensor as both h and c."""
    nodes = [
        helper.make_node("MatMul", ["c", "R"], ["c_out"]),
        helper.make_node("Relu", ["c_out"], ["h_out"]),
        helper.make_node("Gemm", ["obs", "W", "h_out"], ["a"]),
    ]
    tensors = {"R": f32(4, 4), "W": f32(3, 4)}
    outputs = {"a": [1, 4], "h_out": [1, 4], "c_out": [1, 4]}
    made = graph(nodes, tensors, {"obs": [1, 3], "h": [1, 4], "c": [1, 4]}, outputs)
    with pytest.raises(FormatError, match=r"no node reads the input 'h'.*h\.clone\(\)"):
        read_network(save(made, tmp_path))


def forgetful(name: str, note: str = "", shape: Sequence[int | str] = (1, 1, 3)) -> Any:
    """A recurrent module whose memory became a constant."""
    nodes = [
        helper.make_node("MatMul", ["x", "W"], ["w"]),
        helper.make_node("Add", ["w", name], ["a"]),
        helper.make_node("Relu", ["a"], ["y"]),
    ]
    made = model(nodes, {"W": f32(3, 4), name: f32(4)}, opset=20, shape=shape, rank=len(shape))
    if note:
        for node in made.graph.node:
            node.metadata_props.add(key="namespace", value=note)
    return made


@pytest.mark.parametrize(
    ("name", "note", "words"),
    [
        ("b", ": policies.Policy/rnn: torch.nn.modules.rnn.RNN/add: aten.add.Tensor", "'rnn' is a RNN of torch"),
        (
            "b",
            ": Policy/core: Core/core.cell: torch.nn.modules.rnn.LSTMCell/add: aten.add",
            "'core.cell' is a LSTMCell",
        ),
        ("policy.rnn.bias_ih_l0", "", "'policy.rnn' is a recurrent module"),
        ("cell.bias_hh", "", "'cell' is a recurrent module"),
        ("weight_ih_l1", "", "it is a recurrent module"),
    ],
)
def test_a_module_that_forgot_its_memory_is_refused(name: str, note: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperator, match=rf"it forgets: {words}.*let forward\(obs, h\) return"):
        read_network(save(forgetful(name, note), tmp_path))


def test_a_window_may_begin_anew(tmp_path: Path) -> None:
    note = ": policies.Policy/rnn: torch.nn.modules.rnn.RNN/add: aten.add.Tensor"
    assert read_network(save(forgetful("rnn.bias_ih_l0", note, (1, 4, 3)), tmp_path)).input_size == 12


def test_operators_that_remember_are_no_modules_that_forgot(tmp_path: Path) -> None:
    made = bare("GRU", ["h"], given=False)
    for node in made.graph.node:
        node.metadata_props.add(key="namespace", value=": Policy/gru: torch.nn.modules.rnn.GRU/gru: aten.gru.input")
    assert read_network(save(made, tmp_path)).memory_size == 3
