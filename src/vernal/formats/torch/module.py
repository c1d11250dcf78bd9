"""torch modules as networks: a Sequential of the layers Vernal has exact expressions for, or whatever torch can export.

The module is read as in eval mode. Only torch's own classes are read layer by layer, since a subclass may compute
anything; a policy of your own class with a recurrent layer is read as its children one after the other, and only after
a run has shown that this is what it computes (`policy`). Everything else goes through torch's exporter, and is compared
with the module, too (`export`), with the memory of recurrent layers outside (`sequences`). In a Sequential, a recurrent
layer passes on what it remembers next.
A parameter torch keeps as a Python number (the slope of a leaky ReLU) is what it becomes in the module's own precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats import activations, layers
from vernal.formats.recurrent import Slots
from vernal.formats.torch.export import first_size, read_exported
from vernal.formats.torch.policy import RECURRENT, is_chain, policy_parts, read_recurrent
from vernal.formats.torch.sequences import read_remembering, remembers
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.network import Network, network_input

if TYPE_CHECKING:
    from torch.nn import Module

LayerReader = Callable[[Any, Expr, "Rounding"], Expr]
Rounding = Callable[[float], Fraction]


SELU = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)  # alpha and scale, as torch has them
SMOOTH = 20.0  # torch computes softplus(x) as x beyond a threshold; from this one on that is a matter of rounding


def from_torch(module: Module, *, name: str = "network", input_size: int | None = None, example: Any = None) -> Network:
    """The network a module computes in eval mode; `input_size` is needed where no layer says it.

    A module that is no Sequential of known layers is exported by torch and compared with what was read. `example` is
    what it is exported with, where one vector does not do: a tensor, or a tuple of what it sees and what it remembers.

    Example: `vn.from_torch(nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)))`
    """
    children = policy_parts(module)
    parts = list(_unfold(children))
    foreign = next(((place, part) for place, part in parts if not _is_known(part)), None)
    if example is not None:
        return read_exported(module, name, input_size, example, foreign)
    if foreign is None and not children[0][0]:
        return _read(module, name, parts, input_size)
    if foreign is None:
        with suppress(FormatError, UnsupportedOperator):  # they are no chain, and are read in another way
            network = _read(module, name, parts, input_size)
            if is_chain(module, network):
                return network
    if hasattr(module, "named_modules") and remembers(module):
        return read_remembering(module, name, input_size, foreign)
    return read_exported(module, name, input_size, example, foreign)


def _read(module: Module, name: str, parts: list[tuple[str, Any]], input_size: int | None) -> Network:
    """Layer by layer."""
    size = input_size if input_size is not None else first_size(part for _, part in parts)
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
    return slots.network(name, variable, x, dropped)


def _unfold(modules: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The layers in order, nested Sequentials opened; each with its place."""
    from torch import nn

    stack: list[tuple[str, Any]] = list(reversed(modules))
    while stack:
        place, part = stack.pop()
        if type(part) is nn.Sequential:
            inner = [(f"{place}.{key}".lstrip("."), child) for key, child in part.named_children()]
            stack.extend(reversed(inner))
        else:
            yield place or type(part).__name__, part


def _is_known(part: Any) -> bool:
    """Whether it is a layer of torch itself that is read as what it is."""
    from torch import nn

    return type(part).__name__ in KNOWN and type(part) is getattr(nn, type(part).__name__)


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
    return LAYERS[kind](part, x, rounding) if not named else WEIGHTED[kind](part, x, named, rounding)


def _tensors(part: Any, place: str) -> dict[str, Array]:
    return {key: _array(tensor, f"{place}.{key}") for key, tensor in part.state_dict().items() if tensor.ndim > 0}


def _linear(part: Any, x: Expr, tensors: dict[str, Array], rounding: Rounding) -> Expr:
    return layers.dense(x, tensors["weight"], tensors.get("bias"))


def _prelu(part: Any, x: Expr, tensors: dict[str, Array], rounding: Rounding) -> Expr:
    return build.leaky_relu(x, layers.rationals(tensors["weight"]))


def _batch_norm(part: Any, x: Expr, tensors: dict[str, Array], rounding: Rounding) -> Expr:
    ones = np.ones(x.size)
    gain, offset = tensors.get("weight", ones), tensors.get("bias", 0 * ones)
    if "running_mean" not in tensors:
        raise UnsupportedOperator("BatchNorm1d without running statistics depends on the whole batch")
    return layers.normalise(x, gain, offset, tensors["running_mean"], tensors["running_var"], float(part.eps))


def _layer_norm(part: Any, x: Expr, tensors: dict[str, Array], epsilon: Fraction) -> Expr:
    if tuple(part.normalized_shape) != (x.size,):
        raise FormatError(f"LayerNorm over {tuple(part.normalized_shape)} is given {x.size} inputs")
    return activations.layer_norm(x, 1, tensors.get("weight"), tensors.get("bias"), epsilon)


def _no_statistics(part: Any, x: Expr, rounding: Rounding) -> Expr:
    raise UnsupportedOperator("BatchNorm1d without running statistics depends on the whole batch")


def _flatten(part: Any, x: Expr, rounding: Rounding) -> Expr:
    if part.start_dim != 1 or part.end_dim != -1:
        raise UnsupportedOperator("Flatten is read only as Flatten(1, -1)")
    return x


def _hardtanh(part: Any, x: Expr, rounding: Rounding) -> Expr:
    return build.clip(x, rounding(part.min_val), rounding(part.max_val))


def _celu(part: Any, x: Expr, rounding: Rounding) -> Expr:
    alpha = rounding(part.alpha)
    if alpha <= 0:
        raise UnsupportedOperator("CELU with an alpha that is not positive is not read")
    return activations.celu(x, alpha)


def _gelu(part: Any, x: Expr, rounding: Rounding) -> Expr:
    return activations.gelu_tanh(x) if part.approximate == "tanh" else activations.gelu(x)


def _softplus(part: Any, x: Expr, rounding: Rounding) -> Expr:
    """log(1 + exp(beta x)) / beta."""
    beta = rounding(part.beta)
    if beta <= 0 or part.threshold < SMOOTH:
        raise UnsupportedOperator(f"Softplus is read with a positive beta and a threshold of at least {SMOOTH:g}")
    if beta == 1:
        return activations.softplus(x)
    return build.mul(activations.softplus(build.mul(x, build.const(beta))), build.const(1 / beta))


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
    "CELU": _celu,
    "Dropout": _same,
    "ELU": lambda part, x, rounding: activations.elu(x, rounding(part.alpha)),
    "Flatten": _flatten,
    "GELU": _gelu,
    "Hardshrink": _shrink(bias=False),
    "Hardsigmoid": lambda part, x, rounding: build.hard_sigmoid(x, Fraction(1, 6)),
    "Hardswish": lambda part, x, rounding: activations.hard_swish(x),
    "Hardtanh": _hardtanh,
    "Identity": _same,
    "LayerNorm": lambda part, x, rounding: _layer_norm(part, x, {}, rounding(part.eps)),
    "LeakyReLU": lambda part, x, rounding: build.leaky_relu(x, (rounding(part.negative_slope),)),
    "Mish": lambda part, x, rounding: activations.mish(x),
    "ReLU": lambda part, x, rounding: build.relu(x),
    "ReLU6": lambda part, x, rounding: build.clip(x, 0, 6),
    "SELU": lambda part, x, rounding: activations.selu(x, *map(rounding, SELU)),
    "SiLU": lambda part, x, rounding: activations.silu(x),
    "Sigmoid": lambda part, x, rounding: layers.sigmoid(x),
    "Softplus": _softplus,
    "Softshrink": _shrink(bias=True),
    "Softsign": lambda part, x, rounding: activations.softsign(x),
    "Tanh": lambda part, x, rounding: layers.tanh(x),
}
WEIGHTED: dict[str, Callable[[Any, Expr, dict[str, Array], Rounding], Expr]] = {
    "BatchNorm1d": _batch_norm,
    "LayerNorm": lambda part, x, tensors, rounding: _layer_norm(part, x, tensors, rounding(part.eps)),
    "Linear": _linear,
    "PReLU": _prelu,
}
KNOWN = {*LAYERS, *WEIGHTED, *RECURRENT, "Softmax", "LogSoftmax"}
