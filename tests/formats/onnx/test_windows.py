"""Convolutions, pooling, sums and means: every operator against onnxruntime, padding and strides among them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from tests.formats.onnx.test_ops import Case, f32, i64
from tests.formats.samples import compute, model, points, reference, save
from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.networks import read_network
from vernal.formats.onnx.convolutions import CONVOLUTIONS
from vernal.formats.onnx.windows import WINDOW_OPERATORS
from vernal.interpret import exact

IMAGE = ("N", 2, 5, 6)
LINE = ("N", 4, 9)
KERNEL = {"W": f32(3, 2, 3, 2), "b": f32(3)}
GROUPS = {"W": f32(6, 2, 3), "b": f32(6)}


def pool(op: str, opset: int = 13, *, shape: tuple[int | str, ...] = IMAGE, **attributes: object) -> Case:
    return Case(op, opset, shape, attributes={"kernel_shape": [3, 2], **attributes}, rank=len(shape))


CASES = [
    Case("Conv", 11, IMAGE, tensors=KERNEL, more=("W", "b"), rank=4),
    Case("Conv", 22, IMAGE, tensors=KERNEL, more=("W",), attributes={"strides": [2, 3], "pads": [1, 0, 2, 1]}, rank=4),
    Case("Conv", 11, IMAGE, tensors=KERNEL, more=("W",), attributes={"dilations": [2, 3], "pads": [2] * 4}, rank=4),
    Case("Conv", 11, LINE, tensors=GROUPS, more=("W", "b"), attributes={"group": 2, "kernel_shape": [3]}, rank=3),
    Case("Conv", 11, LINE, tensors={"W": f32(4, 1, 3)}, more=("W",), attributes={"group": 4, "strides": [2]}, rank=3),
    *(
        Case("Conv", 11, IMAGE, tensors=KERNEL, more=("W",), attributes={"auto_pad": pad, "strides": [2, 1]}, rank=4)
        for pad in ("SAME_UPPER", "SAME_LOWER", "VALID")
    ),
    *(
        Case(
            "ConvTranspose", 11, IMAGE, tensors={"W": f32(2, 3, 3, 2), "b": f32(3)}, more=more, attributes=given, rank=4
        )
        for more, given in (
            (("W", "b"), {}),
            (("W",), {"strides": [2, 3], "pads": [1, 0, 2, 1]}),
            (("W", "b"), {"strides": [3, 2], "output_padding": [2, 1], "dilations": [2, 1]}),
        )
    ),
    Case("ConvTranspose", 22, LINE, tensors={"W": f32(4, 2, 3)}, more=("W",), attributes={"group": 2}, rank=3),
    pool("MaxPool", 8),
    pool("MaxPool", 12, strides=[2, 2], pads=[1, 1, 2, 0]),
    pool("MaxPool", 12, dilations=[1, 3], pads=[0, 1, 0, 1]),
    pool("MaxPool", 12, strides=[2, 2], auto_pad="SAME_UPPER"),
    pool("AveragePool", 11, strides=[2, 2], auto_pad="SAME_LOWER"),
    Case("MaxPool", 22, LINE, attributes={"kernel_shape": [2], "strides": [2], "ceil_mode": 0}, rank=3),
    pool("AveragePool", 7),
    pool("AveragePool", 11, strides=[2, 1], pads=[1, 1, 1, 0]),
    pool("AveragePool", 11, strides=[2, 1], pads=[1, 1, 1, 0], count_include_pad=1),
    pool("AveragePool", 19, kernel_shape=[2, 2], dilations=[2, 1]),
    Case("GlobalAveragePool", 13, IMAGE, rank=4),
    Case("ReduceMean", 13, IMAGE, attributes={"axes": [-1, 2], "keepdims": 0}),
    Case("ReduceMean", 18, IMAGE, tensors={"a": i64(2, 3)}, more=("a",), rank=4),
    Case("ReduceMean", 20, tensors={"a": i64(-1)}, more=("a",)),
    Case("ReduceMean", 13),
    Case("GlobalMaxPool", 13, IMAGE, rank=4),
    Case("ReduceMax", 13, IMAGE, attributes={"axes": [1, 3], "keepdims": 0}),
    Case("ReduceMax", 18, IMAGE, tensors={"a": i64(2)}, more=("a",), rank=4),
    Case("ReduceMin", 18, LINE, tensors={"a": i64(-1, 1)}, more=("a",), attributes={"keepdims": 0}, rank=1),
    Case("ReduceSum", 11, LINE, attributes={"axes": [1]}, rank=3),
    Case("ReduceSum", 13, LINE, tensors={"a": i64(2)}, more=("a",), attributes={"keepdims": 0}),
]


def saved(case: Case, folder: Path) -> Path:
    node = helper.make_node(case.op, [*case.first, *case.more], ["y"], name="it", **case.attributes)
    return save(model([node], case.tensors, opset=case.opset, shape=case.shape, rank=case.rank), folder)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_windows_agree_with_onnxruntime(case: Case, tmp_path: Path) -> None:
    path = saved(case, tmp_path)
    network = read_network(path)
    xs = points(network.input_size)
    expected = reference(path, xs)
    assert network.output_size == expected.shape[1]
    np.testing.assert_allclose(compute(network, xs), expected, rtol=3e-6, atol=3e-6)


def test_every_operator_has_a_case() -> None:
    assert {case.op for case in CASES} == set(WINDOW_OPERATORS) | set(CONVOLUTIONS)


def test_a_mean_of_three_is_a_third(tmp_path: Path) -> None:
    network = read_network(saved(Case("ReduceMean"), tmp_path))
    (mean,) = exact.evaluate([network.output], {network.inputs: tuple(map(Fraction, (1, 0, 0)))})
    assert mean == (Fraction(1, 3),)


def test_a_small_convolutional_network(tmp_path: Path) -> None:
    """As torch exports it: convolutions, pooling, a flat end."""
    made = helper.make_node
    tensors = {"W": f32(3, 1, 3, 3), "b": f32(3), "V": f32(2, 12), "c": f32(2)}
    nodes = [
        made(
            "Conv", ["x", "W", "b"], ["z"], pads=[1] * 4, strides=[1, 1], dilations=[1, 1], group=1, auto_pad="NOTSET"
        ),
        made("Relu", ["z"], ["a"]),
        made("MaxPool", ["a"], ["p"], kernel_shape=[2, 2], strides=[2, 2], storage_order=0, ceil_mode=0),
        made("Flatten", ["p"], ["f"], axis=1),
        made("Gemm", ["f", "V", "c"], ["y"], transB=1),
    ]
    path = save(model(nodes, tensors, opset=20, shape=("N", 1, 4, 4)), tmp_path)
    network, xs = read_network(path), points(16)
    np.testing.assert_allclose(compute(network, xs), reference(path, xs), rtol=3e-6, atol=3e-6)


WRONG = [
    (Case("Conv", 11, IMAGE, tensors={"W": f32(3, 2, 7, 2)}, more=("W",)), FormatError, "larger than its data"),
    (Case("Conv", 11, IMAGE, tensors={"W": f32(3, 3, 2, 2)}, more=("W",)), FormatError, "does not fit data"),
    (Case("Conv", 11, IMAGE, tensors=KERNEL, more=("W",), attributes={"group": 2}), FormatError, "does not fit data"),
    (Case("Conv", 11, IMAGE, tensors=KERNEL, more=("W",), attributes={"pads": [1]}), FormatError, "4 integers"),
    (Case("Conv", 11, IMAGE, tensors=KERNEL, more=("W",), attributes={"strides": [0, 1]}), FormatError, "window of"),
    (Case("Conv", 11, IMAGE, tensors=KERNEL, more=("W",), attributes={"auto_pad": "MORE"}), FormatError, "padding"),
    (Case("Conv", 11, IMAGE, tensors=KERNEL, more=("W",), attributes={"kernel_shape": [2, 2]}), FormatError, "another"),
    (
        Case("Conv", 11, IMAGE, tensors=KERNEL, more=("W",), attributes={"pads": [10**6] * 4}),
        FormatError,
        "too large",
    ),
    (
        Case("Conv", 11, (1, 4, 450, 450), tensors={"W": f32(8, 4, 3, 3)}, more=("W",)),
        FormatError,
        "too large",
    ),
    (pool("MaxPool", 12, dilations=[1, 3], auto_pad="SAME_UPPER"), UnsupportedOperator, "export with pads"),
    (pool("AveragePool", 12, strides=[1, 3], auto_pad="SAME_UPPER"), UnsupportedOperator, "export with pads"),
    (pool("MaxPool", 12, ceil_mode=1), UnsupportedOperator, "ceil_mode=False"),
    (pool("MaxPool", 12, pads=[3, 0, 3, 0]), FormatError, "nothing but padding"),
    (Case("MaxPool", 12, IMAGE), FormatError, "kernel_shape"),
    (pool("AveragePool", 11, shape=("N", 6)), FormatError, "pools data"),
    (Case("GlobalAveragePool", 13), FormatError, "behind its channels"),
    (Case("ReduceSum", 13, attributes={"noop_with_empty_axes": 1}), UnsupportedOperator, "noop"),
    (Case("ReduceMean", 13, attributes={"axes": [5]}), FormatError, "axis 5"),
]


@pytest.mark.parametrize(("case", "error", "message"), WRONG, ids=str)
def test_what_does_not_fit_is_refused(case: Case, error: type[FormatError], message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=f"'it'.*{message}|{message}"):
        read_network(saved(case, tmp_path))
