"""torch modules as networks: a Sequential of the layers Vernal has exact expressions for.

The module is read as in eval mode. Only torch's own classes are accepted, since a subclass may compute anything; a
policy of your own class is read as `head(rnn(encoder(x)))`, and only after a run has shown that this is what it
computes (`policy`). In a Sequential, a recurrent layer passes on what it remembers next.
A parameter torch keeps as a Python number (the slope of a leaky ReLU) is what it becomes in the module's own precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats import layers
from vernal.formats.recurrent import Slots
from vernal.formats.torch.policy import RECURRENT, check_policy, policy_parts, read_recurrent
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.network import Network, network_input

if TYPE_CHECKING:
    from torch.nn import Module

LayerReader = Callable[[Any, Expr, "Rounding"], Expr]
Rounding = Callable[[float], Fraction]


def from_torch(module: Module, *, name: str = "network", input_size: int | None = None) -> Network:
    """The network a module computes in eval mode; `input_size` is needed where no layer says it."""
    children = policy_parts(module)
    parts = list(_unfold(children))
    size = input_size if input_size is not None else _input_size(parts)
    rounding = _rounding(module)
    variable = network_input(size)
    x: Expr = variable
    slots = Slots()
    dropped: str | None = None
    for place, part in parts:
        kind = type(part).__name__
        if dropped is not None and kind not in ("Identity", "Dropout", "Flatten"):
            raise UnsupportedOperator(f"{dropped} is read only as the last layer")
        if kind in ("Softmax", "LogSoftmax"):
            dropped = _softmax(part, kind)
        elif kind in RECURRENT:
            x = read_recurrent(part, kind, place, x, slots, _tensors(part, place))
        else:
            x = _apply(part, kind, place, x, rounding)
    network = slots.network(name, variable, x, dropped)
    if children[0][0]:
        check_policy(module, network)
    return network


def _unfold(modules: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The layers in order, nested Sequentials opened; each with its place."""
    from torch import nn

    stack: list[tuple[str, Any]] = list(reversed(modules))
    while stack:
        place, part = stack.pop()
        if type(part) is nn.Sequential:
            inner = [(f"{place}.{key}".lstrip("."), child) for key, child in part.named_children()]
            stack.extend(reversed(inner))
        elif type(part) is getattr(nn, type(part).__name__, None) and type(part).__name__ in KNOWN:
            yield place or type(part).__name__, part
        else:
            raise UnsupportedOperator(
                f"layer {place!r} is a {type(part).__name__}, which Vernal does not read; supported: Sequential of "
                f"{', '.join(sorted(KNOWN))}; or a module whose children are encoder, rnn and head"
            )


def _input_size(parts: list[tuple[str, Any]]) -> int:
    for _, part in parts:
        for attribute in ("in_features", "num_features", "input_size"):
            if hasattr(part, attribute):
                return int(getattr(part, attribute))
        if getattr(part, "num_parameters", 1) > 1:
            return int(part.num_parameters)
    raise FormatError("no layer says how many inputs there are; give input_size")


def _rounding(module: Module) -> Rounding:
    """What a Python number becomes in the precision the module computes with."""
    import torch

    kinds = {parameter.dtype for parameter in module.parameters()} or {torch.get_default_dtype()}
    if kinds == {torch.float64}:
        return Fraction
    if kinds == {torch.float32}:
        return layers.single
    raise FormatError(f"its parameters are {', '.join(sorted(map(str, kinds)))}; float32 or float64 throughout is read")


def _array(tensor: Any, what: str) -> Array:
    array: Array = tensor.detach().cpu().numpy()
    layers.check_finite(array, what)
    return array.astype(np.float64)


def _apply(part: Any, kind: str, place: str, x: Expr, rounding: Rounding) -> Expr:
    wanted = getattr(part, "in_features", getattr(part, "num_features", x.size))
    if wanted != x.size:
        raise FormatError(f"layer {place!r} takes {wanted} inputs, but is given {x.size}")
    named = _tensors(part, place)
    return LAYERS[kind](part, x, rounding) if not named else WEIGHTED[kind](part, x, named)


def _tensors(part: Any, place: str) -> dict[str, Array]:
    return {key: _array(tensor, f"{place}.{key}") for key, tensor in part.state_dict().items() if tensor.ndim > 0}


def _linear(part: Any, x: Expr, tensors: dict[str, Array]) -> Expr:
    return layers.dense(x, tensors["weight"], tensors.get("bias"))


def _prelu(part: Any, x: Expr, tensors: dict[str, Array]) -> Expr:
    return build.leaky_relu(x, layers.rationals(tensors["weight"]))


def _batch_norm(part: Any, x: Expr, tensors: dict[str, Array]) -> Expr:
    ones = np.ones(x.size)
    gain, offset = tensors.get("weight", ones), tensors.get("bias", 0 * ones)
    if "running_mean" not in tensors:
        raise UnsupportedOperator("BatchNorm1d without running statistics depends on the whole batch")
    return layers.normalise(x, gain, offset, tensors["running_mean"], tensors["running_var"], float(part.eps))


def _no_statistics(part: Any, x: Expr, rounding: Rounding) -> Expr:
    raise UnsupportedOperator("BatchNorm1d without running statistics depends on the whole batch")


def _flatten(part: Any, x: Expr, rounding: Rounding) -> Expr:
    if part.start_dim != 1 or part.end_dim != -1:
        raise UnsupportedOperator("Flatten is read only as Flatten(1, -1)")
    return x


def _hardtanh(part: Any, x: Expr, rounding: Rounding) -> Expr:
    return build.clip(x, rounding(part.min_val), rounding(part.max_val))


def _shrink(bias: bool) -> LayerReader:
    def layer(part: Any, x: Expr, rounding: Rounding) -> Expr:
        threshold = rounding(part.lambd)
        if threshold < 0:
            raise UnsupportedOperator("a shrinkage with a negative threshold is not read")
        return build.soft_shrink(x, threshold) if bias else build.hard_shrink(x, threshold)

    return layer


def _softmax(part: Any, kind: str) -> str:
    """Left out at the very end, where it keeps the order of the scores; the network remembers that."""
    if part.dim not in (1, -1):
        raise UnsupportedOperator(f"{kind} is read only with dim = 1 or -1")
    return kind


def _same(part: Any, x: Expr, rounding: Rounding) -> Expr:
    return x


LAYERS: dict[str, LayerReader] = {
    "BatchNorm1d": _no_statistics,
    "Dropout": _same,
    "Flatten": _flatten,
    "Hardshrink": _shrink(bias=False),
    "Hardtanh": _hardtanh,
    "Identity": _same,
    "LeakyReLU": lambda part, x, rounding: build.leaky_relu(x, (rounding(part.negative_slope),)),
    "ReLU": lambda part, x, rounding: build.relu(x),
    "Sigmoid": lambda part, x, rounding: layers.sigmoid(x),
    "Softshrink": _shrink(bias=True),
    "Tanh": lambda part, x, rounding: layers.tanh(x),
}
WEIGHTED: dict[str, Callable[[Any, Expr, dict[str, Array]], Expr]] = {
    "BatchNorm1d": _batch_norm,
    "Linear": _linear,
    "PReLU": _prelu,
}
KNOWN = {*LAYERS, *WEIGHTED, *RECURRENT, "Softmax", "LogSoftmax"}
