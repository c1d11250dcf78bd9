"""Networks as ONNX files: one operator a node, the numbers as float32 where that is exact, else as float64.

Only operators are written that `reader` reads back, so a file can always be checked against its source. A rational
constant that no double holds is rounded to the nearest one; `convert` says how much that matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.errors import FormatError
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.graph import order
from vernal.model.network import Network
from vernal.run.output import write_bytes

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto

OPSET = 15
IR_VERSION = 8
PLAIN: dict[type[Expr], str] = {e.Relu: "Relu", e.Abs: "Abs", e.Neg: "Neg", e.Mul: "Mul", e.Div: "Div"}
VARIADIC: dict[type[Expr], str] = {e.Max: "Max", e.Min: "Min"}


def write_onnx(network: Network, path: str | Path) -> None:
    """Write a network as an ONNX file with the input `input` [N, inputs] and the output `output` [N, outputs].

    What it remembers comes in as `h_in` [N, units] and goes out as `h_out`, under the names of its memories.
    """
    write_bytes(path, to_model(network).SerializeToString())


def to_model(network: Network) -> ModelProto:
    """A network as an ONNX model."""
    from onnx import helper

    writer = _Writer(network)
    final, *memories = writer.run()
    writer.emit(network.dropped or "Identity", [final], "output", **({"axis": 1} if network.dropped else {}))
    for (var, _), after in zip(network.memory, memories, strict=True):
        writer.emit("Identity", [after], f"{var.name}_out")

    def ends(first: str, size: int, mark: str) -> list[ValueInfoProto]:
        sizes = {first: size, **{f"{var.name}{mark}": var.size for var, _ in network.memory}}
        return [helper.make_tensor_value_info(name, writer.element, ["N", size]) for name, size in sizes.items()]

    inputs, outputs = ends("input", network.input_size, "_in"), ends("output", network.output_size, "_out")
    graph = helper.make_graph(writer.nodes, network.name, inputs, outputs, writer.tensors)
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="vernal")


class _Writer:
    """Nodes and tensors of a graph under construction; every expression node has a name of its own."""

    def __init__(self, network: Network) -> None:
        from onnx import TensorProto

        self.network = network
        self.nodes: list[NodeProto] = []
        self.tensors: list[TensorProto] = []
        self.names: dict[Expr, str] = {network.inputs: "input"}
        self.names.update({var: f"{var.name}_in" for var, _ in network.memory})
        self.shrinks = _shrinks(network.roots)
        self.walk = _needed(network.roots, self.shrinks)
        exact = all(_is_single(numbers) for node in self.walk for numbers in _numbers(node))
        self.kind: Any = np.float32 if exact else np.float64
        self.element = TensorProto.FLOAT if exact else TensorProto.DOUBLE

    def run(self) -> list[str]:
        """The names of the tensors that hold the network's output and what it remembers next."""
        for node in self.walk:
            if node not in self.names:
                self.names[node] = self.write(node)
        return [self.names[root] for root in self.network.roots]

    def emit(self, operator: str, inputs: Iterable[str], name: str | None = None, **attributes: Any) -> str:
        from onnx import helper

        output = name or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], name=f"n{len(self.nodes)}", **attributes))
        return output

    def tensor(self, values: Any, kind: Any = None) -> str:
        from onnx import numpy_helper

        name = f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.array(values, dtype=kind or self.kind), name))
        return name

    def write(self, node: Expr) -> str:
        """One expression node as an ONNX node."""
        inputs = [self.names[arg] for arg in node.args] if node not in self.shrinks else []
        match node:
            case e.Const():
                return self.tensor([[float(value) for value in node.values]])
            case e.Affine():
                tensors = [self.tensor(node.weight.array), self.tensor(node.bias.array)]
                return self.emit("Gemm", [*inputs, *tensors], transB=1)
            case e.Add():
                return self.sum(inputs)
            case e.LeakyRelu():
                return self.emit("PRelu", [*inputs, self.tensor([[float(slope) for slope in node.slopes]])])
            case e.Gather():
                return self.emit("Gather", [*inputs, self.tensor(list(node.indices), np.int64)], axis=1)
            case e.Concat() if not any(isinstance(arg, e.Const) for arg in node.args):
                return self.emit("Concat", inputs, axis=1)
            case e.Nonlinear(function=function) if _is_operator(function):
                return self.emit(function.value.capitalize(), inputs)
            case e.Pow():
                return self.emit("Pow", [*inputs, self.tensor(float(node.exponent))])
            case e.If() if node in self.shrinks:
                x, threshold, bias = self.shrinks[node]
                return self.emit("Shrink", [self.names[x]], lambd=float(threshold), bias=float(bias))
            case _ if type(node) in PLAIN:
                return self.emit(PLAIN[type(node)], inputs)
            case _ if type(node) in VARIADIC:
                return self.emit(VARIADIC[type(node)], inputs)
        used = node.function.value if isinstance(node, e.Nonlinear) else type(node).__name__
        raise FormatError(f"network {self.network.name!r} uses {used}, which is not written to ONNX")

    def sum(self, inputs: list[str]) -> str:
        total = inputs[0]
        for addend in inputs[1:]:
            total = self.emit("Add", [total, addend])
        return total


def _numbers(node: Expr) -> Iterable[Any]:
    """The constants of a node, as arrays or rationals."""
    if isinstance(node, e.Affine):
        return (node.weight.array, node.bias.array)
    if isinstance(node, e.Const):
        return (node.values,)
    return (node.slopes,) if isinstance(node, e.LeakyRelu) else ()


def _is_single(numbers: Any) -> bool:
    """Whether float32 holds all of these exactly."""
    if isinstance(numbers, np.ndarray):
        with np.errstate(over="ignore"):
            return bool((numbers.astype(np.float32) == numbers).all())
    return all(abs(number) < 3e38 and Fraction(float(np.float32(number))) == number for number in numbers)


# Shrinkage is two nested conditionals in the graph and one operator in ONNX ------------------------------------------

Shrinks = dict[Expr, tuple[Expr, Fraction, Fraction]]


def _shrinks(roots: Sequence[Expr]) -> Shrinks:
    """Conditionals that are a Shrink of x with this threshold and bias, found by building that and comparing."""
    found: Shrinks = {}
    for node in order(roots):
        if isinstance(node, e.If) and isinstance(node.args[0], e.Compare):
            x, low = node.args[0].args
            for guess in _guesses(x, low, node.args[1]):
                if build.shrink(x, *guess) is node and all(_is_single((number,)) for number in guess):
                    found[node] = (x, *guess)
    return found


def _guesses(x: Expr, low: Expr, below: Expr) -> list[tuple[Fraction, Fraction]]:
    """The threshold and bias that `if x < low: x + bias` may come from."""
    if not isinstance(low, e.Const) or low.shape or not isinstance(below, e.Add):
        return []
    bias = below.args[-1]
    return [(-low.value, bias.value)] if isinstance(bias, e.Const) and not bias.shape else []


def _needed(roots: Sequence[Expr], shrinks: Shrinks) -> list[Expr]:
    """The nodes to write, arguments first; a shrinkage needs nothing but its x."""
    seen: set[Expr] = set()
    result: list[Expr] = []
    stack: list[tuple[Expr, Callable[[Expr], None] | None]] = [(root, None) for root in reversed(roots)]
    while stack:
        node, done = stack.pop()
        if done is not None:
            done(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, result.append))
            args = (shrinks[node][0],) if node in shrinks else node.args
            stack.extend((arg, None) for arg in reversed(args))
    return result


def _is_operator(function: Function) -> bool:
    """Whether the standard has an operator of that name: Sin, Cos, Tan, Atan, Tanh, Exp, ..."""
    from onnx import defs

    return bool(defs.has(function.value.capitalize()))
