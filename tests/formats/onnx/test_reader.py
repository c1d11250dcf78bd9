"""ONNX files: hostile, damaged, oversized, and the published ones."""

from __future__ import annotations

import hashlib
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.formats.samples import compute, model, points, reference, relu_stack, save
from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.networks import read_network


def test_a_network_knows_where_it_comes_from(tmp_path: Path) -> None:
    path = save(relu_stack(), tmp_path, "stack.onnx")
    network = read_network(path)
    assert (network.name, network.file) == ("stack", str(path))
    assert network.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert read_network(path, name="policy").name == "policy"
    xs = points(3)
    np.testing.assert_allclose(compute(network, xs), reference(path, xs), rtol=1e-5, atol=1e-5)


def relu() -> onnx.NodeProto:
    return helper.make_node("Relu", ["x"], ["y"], name="it")


def test_several_inputs_or_outputs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"2 inputs \('x', 'u'\)"):
        read_network(save(model([relu()], inputs=("x", "u")), tmp_path))
    with pytest.raises(FormatError, match="2 outputs"):
        read_network(save(model([relu()], outputs=("y", "x")), tmp_path))
    with pytest.raises(FormatError, match="no node computes the output 'w'"):
        read_network(save(model([relu()], outputs=("w",)), tmp_path))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("raw", [True, False])
def test_weights_that_are_no_numbers_are_named(bad: float, raw: bool, tmp_path: Path) -> None:
    made = relu_stack()
    tensor = made.graph.initializer[2]
    values = np.ones(20, dtype=np.float32)
    values[7] = bad
    if raw:
        tensor.raw_data = values.tobytes()
    else:
        tensor.ClearField("raw_data")
        tensor.float_data.extend(values.tolist())
    with pytest.raises(FormatError, match=r"'W1' holds NaN or infinite"):
        read_network(save(made, tmp_path))


def test_claims_are_checked_before_they_are_believed(tmp_path: Path) -> None:
    made = relu_stack()
    made.graph.initializer[0].dims[:] = [2**14, 2**14]
    with pytest.raises(FormatError, match=r"'W0' claims 268435456 entries .* but has 15"):
        read_network(save(made, tmp_path))
    made.graph.initializer[0].dims[:] = [-5, -3]
    with pytest.raises(FormatError, match="'W0'"):
        read_network(save(made, tmp_path))


def test_tensors_outside_the_file_are_not_followed(tmp_path: Path) -> None:
    made = relu_stack()
    tensor = made.graph.initializer[0]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../secret")
    with pytest.raises(FormatError, match="outside the folder"):
        read_network(save(made, tmp_path))


def test_a_small_file_cannot_grow_large(tmp_path: Path) -> None:
    names = ["x", *(f"t{number}" for number in range(40)), "y"]
    doubling = [helper.make_node("Concat", [a, a], [b], axis=1) for a, b in pairwise(names)]
    with pytest.raises(FormatError, match="too large"):
        read_network(save(model(doubling), tmp_path))
    squaring = [helper.make_node("Mul", [a, a], [b]) for a, b in zip(["c", *names[1:-2]], names[1:-1], strict=True)]
    last = helper.make_node("Add", ["x", names[-2]], ["y"])
    with pytest.raises(FormatError, match="bounds"):
        read_network(save(model([*squaring, last], {"c": np.array([1.1], np.float32)}), tmp_path))


def test_own_operators_and_functions_are_refused(tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["x"], ["y"], name="it", domain="my.domain")
    with pytest.raises(UnsupportedOperator, match=r"my\.domain\.Relu"):
        read_network(save(model([node]), tmp_path))


def test_messages_are_safe_to_print(tmp_path: Path) -> None:
    node = helper.make_node("Hardmax", ["x"], ["y"], name="\x1b[2Jgone\n")
    with pytest.raises(UnsupportedOperator) as caught:
        read_network(save(model([node]), tmp_path))
    assert str(caught.value).isprintable()


def test_results_may_not_be_overwritten(tmp_path: Path) -> None:
    nodes = [relu(), helper.make_node("Neg", ["x"], ["y"], name="again")]
    with pytest.raises(FormatError, match="there already"):
        read_network(save(model(nodes), tmp_path))


def test_a_thousand_nodes_are_no_problem(tmp_path: Path) -> None:
    names = ["x", *(f"t{number}" for number in range(1000)), "y"]
    chain = [helper.make_node("Neg", [a], [b]) for a, b in pairwise(names)]
    network = read_network(save(model(chain), tmp_path))
    xs = points(3)
    np.testing.assert_array_equal(compute(network, xs), -xs)


# Damage: a FormatError that names the file, or a network; never anything else ----------------------------------------


def survive(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    try:
        read_network(path)
    except FormatError as error:
        assert path.name in str(error)  # noqa: PT017 - success is fine as well


def test_random_bytes(tmp_path: Path) -> None:
    dice = random.Random(1)
    for size in [*range(40), *(dice.randrange(4000) for _ in range(200))]:
        path = tmp_path / "random.onnx"
        path.write_bytes(dice.randbytes(size))
        with pytest.raises(FormatError, match=r"random\.onnx"):
            read_network(path)


def test_truncations(tmp_path: Path) -> None:
    whole = relu_stack().SerializeToString()
    for end in range(0, len(whole), 3):
        survive(whole[:end], tmp_path / "cut.onnx")


def test_flipped_bits(tmp_path: Path) -> None:
    made = relu_stack()
    made.graph.node.append(helper.make_node("Reshape", ["y", "s"], ["w"], name="end"))
    made.graph.initializer.append(helper.make_tensor("s", 7, [2], [1, -1]))
    made.graph.output[0].name = "w"
    whole = made.SerializeToString()
    dice = random.Random(5)
    for _ in range(500):
        damaged = bytearray(whole)
        for _ in range(dice.choice([1, 1, 4])):
            damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
        survive(bytes(damaged), tmp_path / "flip.onnx")


# Published networks ---------------------------------------------------------------------------------------------------


@pytest.mark.data
def test_published_networks_agree_with_onnxruntime(data: Path) -> None:
    files = sorted(data.rglob("*.onnx"))
    assert len(files) > 20
    for file in files:
        network = read_network(file)
        if file.name == "controller_5_20.onnx":
            continue  # Gemm of rank 4, which onnxruntime refuses; see below
        xs = points(network.input_size, count=5, spread=1.0)
        np.testing.assert_allclose(compute(network, xs), reference(file, xs), rtol=1e-4, atol=1e-5, err_msg=str(file))


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "point", "value"),
    [
        ("Single_Pendulum/controller_single_pendulum.onnx", (1.1, 0.1), (-0.6618839,)),
        ("Benchmark9-TORA/controllerTora.onnx", (0.65, -0.65, -0.35, 0.55), (10.022442,)),
        ("Docking2D/model.onnx", (88, 88, 0, 0.1), (-0.99494357, -0.94715587)),
        ("ACC/controller_5_20.onnx", (31, 2.4, 31.1, 90.5, 3.0), (-0.34959009,)),  # this export subtracts 1 first
    ],
)
def test_published_reference_values(data: Path, file: str, point: tuple[float, ...], value: tuple[float, ...]) -> None:
    network = read_network(data / "archcomp" / file)
    np.testing.assert_allclose(compute(network, np.array([point]))[0], value, rtol=2e-6)
