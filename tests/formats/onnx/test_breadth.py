"""The breadth of ONNX: functions, comparisons, choices, products of data, resizing, folding, and large convolutions.

Every operator is compared with onnxruntime on random inputs twice: in floating point, and in exact arithmetic.
"""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from flint import arb
from onnx import TensorProto, helper, numpy_helper

from tests.formats.onnx.test_ops import BREADTH, CUBE, Case, f32, i64, scalar
from tests.formats.samples import Array, compute, model, points, reference, relu_stack, save
from vernal.errors import FormatError, Stopped, UnsupportedOperator
from vernal.formats.limits import DEFAULT, ReadLimits, limits_for
from vernal.formats.networks import read_network
from vernal.formats.onnx import convolutions, products
from vernal.formats.onnx.ops import OPERATORS
from vernal.interpret import exact, interval
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.value_sets import Range
from vernal.model.expr import Affine, Const, Gather, Matrix
from vernal.model.graph import order
from vernal.model.network import Network
from vernal.report.explain import network_text

PICTURE = ("N", 4, 2, 3)


def node(op: str, given: Sequence[str], made: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, list(given), [made], name=made, **attributes)


def exactly(network: Network, x: Array) -> Array:
    """What the graph is worth in exact arithmetic at a point, as doubles."""
    (values,) = exact.evaluate([network.output], {network.inputs: tuple(map(Fraction, x.tolist()))})
    assert isinstance(values, tuple)
    return np.array(
        [float(v.mid()) if isinstance(v, arb) else float(v) for v in values if isinstance(v, arb | Fraction)]
    )


def agree(path: Path, xs: Array, tolerance: float = 3e-6) -> Network:
    """onnxruntime, floating point and exact arithmetic say the same."""
    network = read_network(path)
    expected = reference(path, xs)
    assert network.output_size == expected.shape[1]
    np.testing.assert_allclose(compute(network, xs), expected, rtol=tolerance, atol=tolerance)
    for x, wanted in list(zip(xs, expected, strict=True))[:6]:
        np.testing.assert_allclose(exactly(network, x), wanted, rtol=tolerance, atol=tolerance)
    return network


# One node -------------------------------------------------------------------------------------------------------------

POSITIVE = {"Log", "Sqrt", "Reciprocal"}
CASES = [
    *(Case(op, opset) for op in ("Sin", "Cos", "Tan") for opset in (7, 22)),
    *(Case(op, opset) for op in ("Floor", "Ceil", "Exp", "Log", "Sqrt", "Reciprocal") for opset in (6, 13)),
    Case("Round", 11),
    Case("Sign", 9),
    Case("Softsign", 1 + 5),
    Case("Selu", 6),
    Case("Selu", 22, attributes={"alpha": 1.5, "gamma": 2.0}),
    Case("Celu", 12, attributes={"alpha": 0.5}),
    Case("ThresholdedRelu", 10, attributes={"alpha": 0.75}),
    *(Case("Pow", 13, tensors={"c": scalar(power)}, more=("c",)) for power in (0.0, 1.0, 2.0, 3.0)),
    Case("Pow", 7, tensors={"c": np.full(3, 2.0, np.float32)}, more=("c",)),
    Case("Sum", 8, more=("x", "c"), tensors={"c": f32(3)}),
    Case("Sum", 13),
    Case("Mean", 13, more=("c", "d"), tensors={"c": f32(3), "d": scalar(0.5)}),
    Case("Tile", 13, CUBE, tensors={"r": i64(1, 2, 3)}, more=("r",), rank=3),
    Case("Pad", 10, CUBE, attributes={"pads": [0, 1, 0, 0, 0, 2], "value": 1.5}, rank=3),
    Case("Pad", 13, CUBE, tensors={"p": i64(0, 0, 1, 0, 2, 0)}, more=("p",), rank=3),
    Case("Pad", 13, CUBE, tensors={"p": i64(0, 0, 1, 0, 2, 0), "v": scalar(-2.0)}, more=("p", "v"), rank=3),
    *(
        Case("Pad", 13, CUBE, tensors={"p": i64(0, 1, 2, 0, 0, 1)}, more=("p",), attributes={"mode": mode}, rank=3)
        for mode in ("edge", "reflect")
    ),
    Case("DepthToSpace", 13, PICTURE, attributes={"blocksize": 2}, rank=4),
    Case("DepthToSpace", 13, PICTURE, attributes={"blocksize": 2, "mode": "CRD"}, rank=4),
    Case("SpaceToDepth", 13, ("N", 2, 4, 6), attributes={"blocksize": 2}, rank=4),
    Case("Upsample", 9, PICTURE, tensors={"s": np.array([1, 1, 2, 3], np.float32)}, more=("s",), rank=4),
    Case("Upsample", 7, PICTURE, attributes={"scales": [1.0, 1.0, 2.0, 3.0]}, rank=4),
    Case("Resize", 10, PICTURE, tensors={"s": np.array([1, 1, 2, 3], np.float32)}, more=("s",), rank=4),
    Case("Resize", 13, PICTURE, tensors={"n": i64(1, 4, 4, 9)}, more=("", "", "n"), rank=4),
    *(
        Case(
            "Resize", 13, PICTURE, tensors={"s": np.array([1, 1, 2, 4], np.float32)}, more=("", "s"),
            attributes={"coordinate_transformation_mode": first, "nearest_mode": then}, rank=4,
        )
        for first in ("asymmetric", "half_pixel", "pytorch_half_pixel")
        for then in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    ),
    Case("MatMul", 13, ("N", 3, 3), more=("x",), rank=3),
    Case("Mul", 13, ("N", 3, 3), more=("x",), rank=3),
    Case("Gemm", 13, (1, 3), tensors={"W": f32(1, 4)}, more=("W",), attributes={"transA": 1}),
    Case("Gemm", 13, (1, 3), tensors={"W": f32(4, 1)}, first=("W",), more=("x",), attributes={"alpha": 0.5}),
    Case("Gemm", 13, (1, 3), more=("x",), attributes={"transB": 1}),
    Case("MatMul", 13, (1, 3, 2), tensors={"W": f32(5, 2, 4)}, more=("W",), rank=3),
]  # fmt: skip


def saved(case: Case, folder: Path) -> Path:
    return save(
        model(
            [helper.make_node(case.op, [*case.first, *case.more], ["y"], name="it", **case.attributes)],
            case.tensors,
            opset=case.opset,
            shape=case.shape,
            rank=case.rank,
        ),
        folder,
    )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_operator_agrees_with_onnxruntime(case: Case, tmp_path: Path) -> None:
    xs = points(read_network(saved(case, tmp_path)).input_size, spread=1.4)
    agree(saved(case, tmp_path), abs(xs) + 0.25 if case.op in POSITIVE else xs)


def test_rounding_takes_the_even_neighbour_of_a_half(tmp_path: Path) -> None:
    xs = np.array([[-2.5, -1.5, -0.5], [0.5, 1.5, 2.5], [0.49, 3.51, -7.0]])
    agree(saved(Case("Round", 11), tmp_path), xs)


def test_division_by_data(tmp_path: Path) -> None:
    """As a layer normalisation has it; where the divisor is 0 there is no value."""
    nodes = [node("Abs", ["x"], "a"), node("Add", ["a", "c"], "b"), node("Div", ["x", "b"], "y")]
    agree(save(model(nodes, {"c": scalar(0.5)}), tmp_path), points(3))


@pytest.mark.parametrize("op", ["Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"])
def test_comparisons_and_choices(op: str, tmp_path: Path) -> None:
    """A comparison chooses between data and data, data and a constant; truth values are joined, and become numbers."""
    nodes = [
        node(op, ["x", "c"], "p"),
        node("Less", ["x", "d"], "q"),
        node("Not", ["q"], "n"),
        node("And", ["p", "n"], "both"),
        node("Or", ["p", "q"], "either"),
        node("Where", ["both", "x", "d"], "w"),
        node("Cast", ["either"], "number", to=TensorProto.FLOAT),
        node("Cast", ["x"], "truth", to=TensorProto.BOOL),
        node("Where", ["truth", "x", "number"], "v"),
        node("Where", ["fixed", "w", "e"], "u"),
        node("Sum", ["w", "number", "u", "v"], "y"),
    ]
    tensors = {"c": np.array([0.5, 0, 1], np.float32), "d": scalar(1.0), "e": f32(3)}
    made = model(nodes, {**tensors, "fixed": np.array([True, False, True])}, opset=16)
    xs = np.array(list(itertools.product([-1.0, 0.0, 0.5, 1.0], repeat=3)))
    agree(save(made, tmp_path), xs)


def test_every_operator_has_a_case() -> None:
    compared = {"DequantizeLinear", "QuantizeLinear"}  # test_quantised.py
    compared |= {"And", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not", "Or", "Where"}
    assert {case.op for case in CASES} | compared >= BREADTH
    assert set(OPERATORS) >= BREADTH


WRONG = [
    (Case("Resize", 13, PICTURE, tensors={"s": np.array([1, 1, 1.5, 1], np.float32)}, more=("", "s")), "whole"),
    (Case("Resize", 13, PICTURE, tensors={"n": i64(1, 4, 3, 3)}, more=("", "", "n")), "multiples"),
    (
        Case("Resize", 13, PICTURE, tensors={"s": f32(4)}, more=("", "s"), attributes={"mode": "linear"}),
        "nearest neighbour",
    ),
    (
        Case(
            "Resize",
            13,
            PICTURE,
            tensors={"s": np.ones(4, np.float32)},
            more=("", "s"),
            attributes={"coordinate_transformation_mode": "align_corners"},
        ),
        "align_corners",
    ),
    (Case("Upsample", 9, PICTURE, tensors={"s": f32(4)}, more=("s",), attributes={"mode": "linear"}), "nearest"),
    (Case("Pad", 13, CUBE, tensors={"p": i64(0, 0, -1, 0, 0, 0)}, more=("p",)), "at least 0"),
    (Case("Celu", 12, attributes={"alpha": -0.5}), "not positive"),
    (Case("And", 13, more=("x",)), "'it'.*does not go together: .*truth values"),
]


@pytest.mark.parametrize(("case", "words"), WRONG, ids=str)
def test_what_is_not_read_is_refused_with_a_reason(case: Case, words: str, tmp_path: Path) -> None:
    with pytest.raises((UnsupportedOperator, FormatError), match=words):
        read_network(saved(case, tmp_path))


# Constants ------------------------------------------------------------------------------------------------------------


def test_a_matrix_product_of_constants_is_folded_exactly(tmp_path: Path) -> None:
    """Products of float32 numbers, summed, are no doubles: the layer is a sum of layers, and nothing is rounded."""
    nodes = [node("MatMul", ["A", "B"], "W"), node("MatMul", ["x", "W"], "y")]
    first, second = f32(3, 4), f32(4, 2)
    path = save(model(nodes, {"A": first, "B": second}), tmp_path)
    network = agree(path, points(3))
    x = tuple(map(Fraction, (1.5, -0.25, 3)))
    inner = [sum(v * Fraction(float(w)) for v, w in zip(x, column, strict=True)) for column in first.T]
    wanted = [sum(v * Fraction(float(w)) for v, w in zip(inner, column, strict=True)) for column in second.T]
    assert exact.evaluate([network.output], {network.inputs: x}) == [tuple(wanted)]


@pytest.mark.parametrize(("rows", "entries"), [(1, 2**22), (5, 2**22), (5, 0)])
def test_constants_that_are_no_sums_of_doubles(
    rows: int, entries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A third of a matrix, times another: nothing is rounded, for one row, for many in one matrix, and in blocks."""
    monkeypatch.setattr(products, "MAX_DENSE_ENTRIES", entries)
    nodes = [
        node("Div", ["A", "three"], "third"),
        node("MatMul", ["third", "B"], "W"),
        node("MatMul", ["x", "W"], "z"),
        node("MatMul", ["z", "third"], "v"),
        node("Add", ["v", "c"], "y"),
    ]
    first, second = f32(3, 4), f32(4, 3)
    tensors = {"A": first, "B": second, "three": scalar(3), "c": f32(4)}
    path = save(
        model(nodes, tensors, shape=("N", rows, 3) if rows > 1 else ("N", 3), rank=3 if rows > 1 else 2), tmp_path
    )
    network = agree(path, points(3 * rows, count=4))
    x = [[Fraction(1 + row, 7), Fraction(-row, 3), Fraction(row)] for row in range(rows)]
    third, other = [[[Fraction(float(w)) for w in row] for row in part] for part in (first, second)]
    third = [[w / 3 for w in row] for row in third]

    def product(a: list[list[Fraction]], b: list[list[Fraction]]) -> list[list[Fraction]]:
        return [
            [sum((v * w for v, w in zip(row, column, strict=True)), Fraction()) for column in zip(*b, strict=True)]
            for row in a
        ]

    made = product(product(x, product(third, other)), third)
    wanted = [v + Fraction(float(c)) for row in made for v, c in zip(row, tensors["c"], strict=True)]
    flat = tuple(v for row in x for v in row)
    assert exact.evaluate([network.output], {network.inputs: flat}) == [tuple(wanted)]


def test_whatever_is_computed_from_constants_is_constant(tmp_path: Path) -> None:
    """Functions, comparisons, choices, sums: here they make a shape, an index and weights."""
    nodes = [
        node("Sqrt", ["four"], "two"),
        node("Pow", ["two", "three"], "eight"),
        node("ReduceSum", ["ones"], "count", keepdims=0),
        node("Greater", ["eight", "count"], "larger"),
        node("Where", ["larger", "W", "zeros"], "V"),
        node("Relu", ["V"], "R"),
        node("Gemm", ["x", "R", "count"], "z", transB=1),
        node("Shape", ["z"], "shape"),
        node("Gather", ["shape", "one"], "width"),
        node("Div", ["width", "half"], "part"),
        node("Concat", ["one", "part", "rest"], "wanted", axis=0),
        node("Reshape", ["z", "wanted"], "y"),
    ]
    tensors = {
        "four": np.array([4.0], np.float32),
        "three": scalar(3),
        "ones": np.ones(5, np.float32),
        "W": f32(4, 3),
        "zeros": np.zeros((4, 3), np.float32),
        "one": i64(1),
        "half": i64(2),
        "rest": i64(-1),
    }
    network = agree(save(model(nodes, tensors, rank=3), tmp_path), points(3))
    (layer,) = [made for made in order([network.output]) if isinstance(made, Affine)]
    np.testing.assert_array_equal(layer.weight.array, np.maximum(tensors["W"], 0).astype(np.float64))
    np.testing.assert_array_equal(layer.bias.array, np.full(4, 5.0))


def test_a_constant_that_is_no_rational_stays_what_it_is(tmp_path: Path) -> None:
    nodes = [node("Sin", ["c"], "s"), node("Add", ["x", "s"], "y")]
    network = agree(save(model(nodes, {"c": np.ones(3, np.float32)}), tmp_path), points(3))
    assert any(isinstance(made, Const) for made in order([network.output]))


def test_operator_sets_named_twice_are_one(tmp_path: Path) -> None:
    made = relu_stack()
    made.opset_import.append(helper.make_opsetid("ai.onnx", made.opset_import[0].version))
    assert read_network(save(made, tmp_path)).output_size == 2
    made.opset_import.append(helper.make_opsetid("", 12))
    with pytest.raises(FormatError, match="operator set 12, 13"):
        read_network(save(made, tmp_path))


# Branches -------------------------------------------------------------------------------------------------------------


def test_a_residual_network(tmp_path: Path) -> None:
    """Branches that are added, subtracted and multiplied, batch normalisation, a sum at the end."""
    tensors = {
        "K": f32(2, 2, 3, 3),
        "k": f32(2),
        "g": f32(2),
        "b": f32(2),
        "m": f32(2),
        "v": abs(f32(2)),
        "axes": i64(2, 3),
    }
    nodes = [
        node("Conv", ["x", "K", "k"], "c", pads=[1] * 4),
        node("BatchNormalization", ["c", "g", "b", "m", "v"], "n"),
        node("Relu", ["n"], "r"),
        node("Conv", ["r", "K"], "d", pads=[1] * 4),
        node("Add", ["d", "x"], "s"),
        node("Sub", ["s", "r"], "t"),
        node("Mul", ["t", "s"], "u"),
        node("ReduceSum", ["u", "axes"], "y", keepdims=0),
    ]
    agree(save(model(nodes, tensors, shape=("N", 2, 3, 3)), tmp_path), points(18), 2e-5)


# Large convolutions ---------------------------------------------------------------------------------------------------

TILED = [
    Case("Conv", 11, ("N", 2, 9, 8), tensors={"W": f32(3, 2, 3, 3), "b": f32(3)}, more=("W", "b"), rank=4),
    Case("Conv", 11, ("N", 2, 9, 8), tensors={"W": f32(3, 2, 3, 3)}, more=("W",), attributes={"pads": [1] * 4}, rank=4),
    Case(
        "Conv",
        11,
        ("N", 4, 9, 8),
        tensors={"W": f32(6, 2, 2, 3), "b": f32(6)},
        more=("W", "b"),
        attributes={"pads": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2], "group": 2},
        rank=4,
    ),
    Case("Conv", 11, ("N", 4, 6, 5), tensors={"W": f32(3, 4, 1, 1)}, more=("W",), rank=4),
    Case("Conv", 11, ("N", 4, 11), tensors={"W": f32(4, 1, 3)}, more=("W",), attributes={"group": 4}, rank=3),
    *(
        Case(
            "ConvTranspose",
            11,
            ("N", 4, 5, 6),
            tensors={"W": f32(4, 3, 3, 2), "b": f32(3 * group)},
            more=("W", "b"),
            attributes={**given, "group": group},
            rank=4,
        )
        for group, given in (
            (1, {}),
            (1, {"strides": [2, 3], "pads": [1, 0, 2, 1]}),
            (2, {"strides": [3, 4], "output_padding": [2, 1], "dilations": [2, 1]}),
        )
    ),
    Case("MatMul", 13, ("N", 6, 3), tensors={"W": f32(3, 4)}, more=("W",), rank=3),
    Case("MatMul", 13, ("N", 2, 6, 3), tensors={"W": f32(5, 6)}, first=("W",), more=("x",), rank=4),
    Case("AveragePool", 11, ("N", 2, 5, 6), attributes={"kernel_shape": [3, 2], "pads": [1, 1, 1, 0]}, rank=4),
    Case("ReduceSum", 11, ("N", 4, 9), attributes={"axes": [1]}, rank=3),
]


@pytest.mark.parametrize("case", TILED, ids=str)
def test_tiles_are_the_same_map_as_the_matrix(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(case, tmp_path)
    whole = read_network(path)
    for module in (convolutions, products, "vernal.formats.onnx.windows"):
        monkeypatch.setattr(
            f"{module}.MAX_DENSE_ENTRIES" if isinstance(module, str) else f"{module.__name__}.MAX_DENSE_ENTRIES", 0
        )
    tiled = agree_again(path)
    assert tiled.output is not whole.output
    xs = points(whole.input_size, 5)
    for x in xs:
        given = tuple(map(Fraction, x.tolist()))
        (a,), (b,) = (exact.evaluate([net.output], {net.inputs: given}) for net in (whole, tiled))
        assert a == b


def agree_again(path: Path) -> Network:
    """Read anew: small files are remembered by their content."""
    from vernal.formats.networks import _remembered

    _remembered.cache_clear()
    network = agree(path, points(read_network(path).input_size))
    _remembered.cache_clear()
    return network


def test_a_generator_is_counted_by_what_is_stored(tmp_path: Path) -> None:
    """An image of 32 x 32 from 8 numbers: 40 million entries as matrices; a few as tiles, and bounded as a whole."""
    tensors = {"G": f32(8, 512) / 8, "W": f32(32, 16, 4, 4) / 16, "V": f32(16, 3, 4, 4) / 16}
    twice = {"strides": [2, 2], "pads": [1] * 4}
    nodes = [
        node("MatMul", ["x", "G"], "g"),
        node("Relu", ["g"], "h"),
        node("Reshape", ["h", "shape"], "i"),
        node("ConvTranspose", ["i", "W"], "a", **twice),
        node("Relu", ["a"], "b"),
        node("ConvTranspose", ["b", "V"], "c", **twice),
        node("Relu", ["c"], "d"),
        node("ConvTranspose", ["d", "U"], "y", **twice),
    ]
    more = {"shape": np.array([1, 32, 4, 4]), "U": f32(3, 3, 4, 4) / 4}
    path = save(model(nodes, {**tensors, **more}, shape=("N", 8), rank=4), tmp_path)
    network = read_network(path, limits=replace(DEFAULT, entries=2**22))
    xs = points(8, 3)
    np.testing.assert_allclose(compute(network, xs), reference(path, xs).reshape(3, -1), rtol=1e-5, atol=1e-5)
    x = Linear({network.inputs: Range(xs[:1], xs[:1] + 0.01)}).range(network.output)
    assert (x.lower <= compute(network, xs[:1])).all()
    assert (compute(network, xs[:1]) <= x.upper).all()


def test_a_convolution_whose_matrix_nobody_could_hold(tmp_path: Path) -> None:
    """16 channels of 48 x 48 into as many: 1.4 billion entries as a matrix; the tiles share nine small ones."""
    tensors = {"W": f32(16, 16, 3, 3) / 12, "b": f32(16), "V": f32(16, 16, 3, 3) / 12}
    nodes = [
        node("Conv", ["x", "W", "b"], "z", pads=[1] * 4),
        node("Relu", ["z"], "r"),
        node("Conv", ["r", "V"], "c", pads=[1] * 4, strides=[2, 2]),
        node("Add", ["c", "one"], "s"),
        node("GlobalAveragePool", ["s"], "y"),
    ]
    path = save(model(nodes, {**tensors, "one": scalar(1)}, shape=("N", 16, 48, 48), rank=4), tmp_path)
    network = read_network(path)
    xs = points(network.input_size, 3)
    np.testing.assert_allclose(compute(network, xs), reference(path, xs), rtol=1e-5, atol=1e-5)
    layers = [made for made in order([network.output]) if isinstance(made, Affine)]
    matrices: set[Matrix] = {layer.weight for layer in layers}
    assert sum(matrix.array.size for matrix in matrices) < 2**23
    assert network_text(network).startswith(f"{path}: 36864-({len(layers)} layers)-16, ")
    (bounds,) = interval.evaluate([network.output], {network.inputs: Range(xs[:1], xs[:1] + 0.01)})
    assert isinstance(bounds, Range)
    assert (bounds.lower <= compute(network, xs[:1])).all()
    assert (compute(network, xs[:1]) <= bounds.upper).all()


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["policy.onnx.gz", "policy.ONNX.GZ"])
def test_compressed_networks(name: str, tmp_path: Path) -> None:
    plain = save(relu_stack(), tmp_path)
    packed = tmp_path / name
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    network = read_network(packed)
    assert network.name == "policy"
    assert replace(network, name="sample", file=str(plain), sha256=None) == replace(read_network(plain), sha256=None)
    packed.write_bytes(gzip.compress(plain.read_bytes())[:-9])
    with pytest.raises(FormatError, match="damaged gzip"):
        read_network(packed)


def test_a_small_file_unpacks_to_a_bearable_size(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.onnx.gz"
    bomb.write_bytes(gzip.compress(bytes(DEFAULT.bytes + 1), 9))
    with pytest.raises(FormatError, match="64 MiB when unpacked, more than Vernal reads; --memory"):
        read_network(bomb)


def test_memory_says_how_large_a_network_may_be(tmp_path: Path) -> None:
    """70 MiB of weights, of which the network uses few."""
    made = model([node("Relu", ["x"], "y")])
    made.graph.initializer.append(numpy_helper.from_array(np.zeros((70, 2**18), np.float32), "spare"))
    path = save(made, tmp_path)
    with pytest.raises(FormatError, match="larger than 64 MiB, more than Vernal reads; --memory allows more"):
        read_network(path)
    assert read_network(path, limits=limits_for(2.0)).output_size == 3
    assert limits_for(None).bytes == limits_for(0.1).bytes == DEFAULT.bytes


def test_reading_looks_at_the_clock(tmp_path: Path) -> None:
    """Before a network is parsed, and at each of its nodes; only small ones are parsed in one go, and remembered."""
    looks = itertools.count()

    def late() -> None:
        if next(looks) > 2:
            raise Stopped("timeout")

    path = save(relu_stack(), tmp_path)
    with pytest.raises(Stopped):
        read_network(path, limits=ReadLimits(entries=DEFAULT.entries + 1, tick=late))
    with pytest.raises(Stopped):
        read_network(path, limits=ReadLimits(tick=late))
    looks = itertools.count()
    assert read_network(path, limits=ReadLimits(tick=late)) == read_network(path)


def test_moves_are_still_moves(tmp_path: Path) -> None:
    """Padding by nothing, tiling once and resizing by one leave the data alone."""
    nodes = [node("Tile", ["x", "r"], "t"), node("Pad", ["t", "p"], "y")]
    network = read_network(save(model(nodes, {"r": i64(1, 2), "p": i64(0, 0, 0, 0)}), tmp_path))
    assert isinstance(network.output, Gather)
    assert network.output.args == (network.inputs,)
