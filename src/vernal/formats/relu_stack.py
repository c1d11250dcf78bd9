"""Networks recognised as plain ReLU stacks, for formats that can say nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from vernal.errors import FormatError
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Affine, Expr, Matrix
from vernal.model.network import Network


@dataclass(frozen=True, slots=True)
class Stack:
    """Affine layers with a ReLU between any two, from (x - means) / ranges to out * output_range + output_mean."""

    layers: tuple[Affine, ...]
    means: tuple[Fraction, ...]
    ranges: tuple[Fraction, ...]
    output_mean: Fraction = Fraction(0)
    output_range: Fraction = Fraction(1)


def as_stack(network: Network, target: str) -> Stack:
    """The layers of a network, from its output down to its input."""
    if network.memory:
        raise FormatError(f"network {network.name!r} has memory, which {target} cannot say")
    node, output_mean = _peel(network.output, e.Add, Fraction(0))
    node, output_range = _peel(node, e.Mul, Fraction(1))
    layers: list[Affine] = []
    if isinstance(node, e.Relu):  # a last layer that is the identity
        layers.append(_identity(node))
        (node,) = node.args
    while isinstance(node, Affine):
        layers.append(node)
        (node,) = node.args
        if isinstance(node, e.Relu) and isinstance(node.args[0], Affine):
            (node,) = node.args
        else:
            break
    ranges, means, node = _normalisation(node, network.input_size)
    if node is not network.inputs or not layers:
        raise FormatError(
            f"network {network.name!r} is not a plain stack of affine layers and ReLUs, all {target} can say"
        )
    return Stack(tuple(reversed(layers)), means, ranges, output_mean, output_range)


def _identity(node: Expr) -> Affine:
    layer = build.affine(node, Matrix(np.eye(node.size)), Matrix(np.zeros(node.size)))
    assert isinstance(layer, Affine)
    return layer


def _peel(node: Expr, kind: type[Expr], neutral: Fraction) -> tuple[Expr, Fraction]:
    """`x op constant` as x and the constant, if the constant is one number; else the node and the neutral element."""
    if isinstance(node, kind) and len(node.args) == 2:
        inner, constant = node.args
        if isinstance(constant, e.Const) and len(set(constant.values)) == 1:
            return inner, constant.values[0]
    return node, neutral


def _normalisation(node: Expr, size: int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...], Expr]:
    """(x - means) / ranges at the input, or neither."""
    ranges, means = (Fraction(1),) * size, (Fraction(0),) * size
    if isinstance(node, e.Div) and isinstance(node.args[1], e.Const):
        ranges, node = _spread(node.args[1], size), node.args[0]
    elif isinstance(node, e.Mul) and isinstance(node.args[1], e.Const) and 0 not in node.args[1].values:
        ranges, node = tuple(1 / value for value in _spread(node.args[1], size)), node.args[0]
    if isinstance(node, e.Add) and len(node.args) == 2 and isinstance(node.args[1], e.Const):
        means, node = tuple(-value for value in _spread(node.args[1], size)), node.args[0]
    return ranges, means, node


def _spread(constant: e.Const, size: int) -> tuple[Fraction, ...]:
    return constant.values * size if len(constant.values) == 1 else constant.values
