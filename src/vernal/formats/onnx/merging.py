"""Whether a node is read as the operation that a runtime computes, so that its roundings can be told from the graph.

Exact constants are folded, and a scaling or a second shift goes into an affine layer where nothing is lost: in real
numbers that is the same, in floats it is not.
"""

from __future__ import annotations

from vernal.formats.onnx.call import NodeCall, OnnxValue, Tensor
from vernal.model.expr import Affine

COMPUTING = {"Abs", "Add", "Clip", "Div", "Exp", "Gemm", "MatMul", "Max", "Min", "Mul", "Neg", "Pow", "Sub", "Sum"}


def is_merged(call: NodeCall, made: OnnxValue) -> bool:
    """Whether the value of a node was made in another way than by its own operation."""
    given = [value for value in call.inputs if isinstance(value, Tensor)]
    if not given or not isinstance(made, Tensor):
        return call.op in COMPUTING  # a constant of constants
    if call.op == "Gemm":
        return call.real("alpha", 1.0) != 1.0 or call.real("beta", 1.0) != 1.0
    layers = [value.expr for value in given if isinstance(value.expr, Affine)]
    if not isinstance(made.expr, Affine) or made.expr in layers:
        return False
    if call.op in ("Mul", "Div", "Neg"):
        return True
    return call.op in ("Add", "Sub", "Sum") and any(layer.bias.array.any() for layer in layers)
