"""Writing networks and converting between formats; every written file is read back, and by onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from onnx import checker, helper

from tests.formats.samples import compute, model, points, reference, relu_stack, save
from vernal.errors import FileMissing, FormatError, InputError
from vernal.formats import activations
from vernal.formats.convert import compare, convert, write_network
from vernal.formats.networks import read_network
from vernal.formats.onnx.writer import to_model, write_onnx
from vernal.model import build
from vernal.model.expr import Expr, Function, Matrix
from vernal.model.network import Network, network_input

X = network_input(3)
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)

BODIES: dict[str, Callable[[Expr], Expr]] = {
    "affine": lambda x: build.affine(x, Matrix(np.array([[1.0, 2.0, 0.5]])), Matrix(np.array([0.25]))),
    "doubles": lambda x: build.affine(x, Matrix(np.array([[0.1, 0.2, 0.3]])), Matrix(np.array([0.7]))),
    "thirds": lambda x: build.add(build.mul(x, THIRD), build.vector([THIRD, HALF, HALF])),
    "sum": lambda x: build.add(x, build.relu(x), build.neg(x), 2),
    "quotient": lambda x: build.div(x, build.vector([Fraction(3), HALF, Fraction(7)])),
    "abs": build.absolute,
    "max": lambda x: build.maximum(x, build.neg(x), HALF),
    "clip": lambda x: build.clip(x, -1, HALF),
    "leaky": lambda x: build.leaky_relu(x, (HALF,)),
    "prelu": lambda x: build.leaky_relu(x, (HALF, Fraction(-1), Fraction(1, 4))),
    "hard sigmoid": build.hard_sigmoid,
    "soft shrink": lambda x: build.soft_shrink(x, HALF),
    "hard shrink": lambda x: build.hard_shrink(x, HALF),
    "shrink": lambda x: build.relu(build.shrink(x, Fraction(1), Fraction(1, 4))),
    "gather": lambda x: build.gather(x, [2, 0, 0]),
    "concat": lambda x: build.concat(x[1], build.relu(x), x[0] + x[2]),
    "tanh": lambda x: build.apply(Function.TANH, x),
    "atan": lambda x: build.apply(Function.ATAN, x),
    "erf": lambda x: build.apply(Function.ERF, x),
    "sigmoid": lambda x: build.apply(Function.SIGMOID, x),
    "sine": lambda x: build.apply(Function.SIN, x),
    "elu": lambda x: activations.elu(x, HALF),
    "softplus": activations.softplus,
    "mish": activations.mish,
    "gelu": activations.gelu_tanh,
    "layer norm": lambda x: activations.layer_norm(x, 1, np.array([1.0, 2.0, -1.0]), None, Fraction(1, 64)),
    "input": lambda x: x,
}


@pytest.mark.parametrize("name", BODIES)
def test_written_networks_are_read_back_by_us_and_by_onnxruntime(name: str, tmp_path: Path) -> None:
    network = Network(name, X, BODIES[name](X))
    path = tmp_path / "out.onnx"
    write_onnx(network, path)
    checker.check_model(str(path), full_check=True)
    xs = points(3)
    again = read_network(path)
    np.testing.assert_allclose(compute(again, xs), compute(network, xs), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(reference(path, xs), compute(network, xs), rtol=2e-6, atol=2e-6)
    if name not in ("thirds", "hard sigmoid", "gelu"):  # the others hold what no double does
        assert compare(network, again) == 0


def test_float32_where_that_is_exact() -> None:
    assert to_model(Network("n", X, BODIES["affine"](X))).graph.input[0].type.tensor_type.elem_type == 1
    assert to_model(Network("n", X, BODIES["doubles"](X))).graph.input[0].type.tensor_type.elem_type == 11


@pytest.mark.parametrize("body", [build.sign, build.floor])
def test_what_onnx_files_do_not_hold_is_refused(body: Callable[[Expr], Expr], tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="not written to ONNX"):
        write_onnx(Network("n", X, body(X)), tmp_path / "out.onnx")


def test_there_and_back(tmp_path: Path) -> None:
    source = save(relu_stack(), tmp_path, "a.onnx")
    first = convert(source, tmp_path / "b.nnet")
    second = convert(tmp_path / "b.nnet", tmp_path / "c.onnx")
    assert first.identical
    assert second.identical
    assert (first.difference, first.exact) == (0.0, True)
    assert "weight by weight" in str(first)
    assert read_network(tmp_path / "c.onnx").output is read_network(source).output


def test_rounding_is_reported(tmp_path: Path) -> None:
    text = "1,1,1,1,\n1,1,\n0,\n0,\n0,\n0.1,0,\n3,1,\n1,\n0,\n"
    (tmp_path / "a.nnet").write_text(text)
    done = convert(tmp_path / "a.nnet", tmp_path / "b.onnx")
    assert (done.identical, done.exact) == (False, False)
    assert 0 < done.difference < 1e-15
    assert "largest difference" in str(done)


def test_a_last_relu_becomes_a_layer(tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "W"], ["z"]), helper.make_node("Relu", ["z"], ["y"])]
    source = save(model(nodes, {"W": np.ones((3, 2), np.float32)}), tmp_path)
    done = convert(source, tmp_path / "out.nnet")
    assert (done.identical, done.exact, done.difference) == (False, True, 0.0)


def test_softmax_is_written_again(tmp_path: Path) -> None:
    source = save(model([helper.make_node("LogSoftmax", ["x"], ["y"])]), tmp_path)
    done = convert(source, tmp_path / "out.onnx")
    assert done.notes == ("the file ends with LogSoftmax",)
    assert read_network(tmp_path / "out.onnx").dropped == "LogSoftmax"
    xs = points(3)
    np.testing.assert_allclose(reference(tmp_path / "out.onnx", xs), reference(source, xs), rtol=1e-6)
    with pytest.raises(FormatError, match="LogSoftmax"):
        convert(source, tmp_path / "out.nnet")


STACKLESS: dict[str, Callable[[Expr], Expr]] = {
    "no layer": lambda x: x,
    "relu first": lambda x: BODIES["affine"](build.relu(x)),
    "two affine": lambda x: BODIES["affine"](build.affine(x, Matrix(np.eye(3)), Matrix(np.ones(3)))),
    "abs": lambda x: build.absolute(BODIES["affine"](x)),
    "branching": lambda x: build.add(BODIES["affine"](x), BODIES["doubles"](x)),
    "thirds": lambda x: BODIES["affine"](build.div(x, build.vector([THIRD, THIRD, THIRD]))),
}


@pytest.mark.parametrize("name", STACKLESS)
def test_nnet_holds_plain_stacks_only(name: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"\.nnet"):
        write_network(Network("n", X, STACKLESS[name](X)), tmp_path / "out.nnet")
    assert not list(tmp_path.iterdir())


def test_a_failed_conversion_leaves_nothing_behind(tmp_path: Path) -> None:
    source = save(model([helper.make_node("Tanh", ["x"], ["y"])]), tmp_path)
    (tmp_path / "old.nnet").write_text("precious")
    for target, message in (
        ("old.nnet", "plain stack"),
        ("out.h5", "written as"),
        ("out", "written as"),
        ("nowhere/out.onnx", "cannot write"),
    ):
        with pytest.raises(InputError, match=message):
            convert(source, tmp_path / target)
    with pytest.raises(FileMissing):
        convert(tmp_path / "ghost.onnx", tmp_path / "out.onnx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.nnet", "sample.onnx"]
    assert (tmp_path / "old.nnet").read_text() == "precious"


def test_networks_that_differ_are_told_apart() -> None:
    one, other = (Network("n", X, build.add(X, step)) for step in (0, Fraction(1, 100)))
    with pytest.raises(FormatError, match="differs"):
        compare(one, other)
    with pytest.raises(FormatError, match="sizes"):
        compare(one, Network("n", X, BODIES["affine"](X)))


@pytest.mark.data
def test_published_networks_convert(data: Path, tmp_path: Path) -> None:
    for name in ("vcas/vcas_1.onnx", "archcomp/Single_Pendulum/controller_single_pendulum.h5", "guarding/agent.onnx"):
        assert convert(data / name, tmp_path / "out.nnet").identical
        assert convert(tmp_path / "out.nnet", tmp_path / "out.onnx").identical
