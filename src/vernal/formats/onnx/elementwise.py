"""ONNX operators that work entry by entry: activations, elementary functions, comparisons and choices.

Truth values are data, too: they come from comparisons and go into `Where`, or become 0 and 1 by a `Cast`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import prod

import numpy as np

from vernal.errors import TypeClash
from vernal.formats import activations, layers
from vernal.formats.onnx.call import NodeCall, OnnxValue, Tensor
from vernal.model import build
from vernal.model.expr import Expr, Function
from vernal.model.sorts import BOOL

LARGEST_FLOAT32 = float(np.finfo(np.float32).max)  # a Clip bound no float32 exceeds: no bound


def _elementwise(function: Callable[[NodeCall, Expr], Expr]) -> Callable[[NodeCall], OnnxValue]:
    def read(call: NodeCall) -> OnnxValue:
        x = call.data()
        call.allowance.take(prod(x.shape))
        return Tensor(function(call, x.expr), x.shape)

    return read


def _prelu(call: NodeCall) -> OnnxValue:
    x, slope = call.data(0), call.constant(1)
    if call.opset < 7 and slope.ndim == 1 and slope.size > 1 and len(x.shape) > 2:
        slope = slope.reshape(-1, *(1 for _ in x.shape[2:]))  # one for each channel
    shape, (_, slopes) = call.broadcast([x, slope])
    if shape != x.shape or isinstance(slopes, Tensor):
        raise call.wrong(f"has slopes of shape {slope.shape}, which do not fit data of shape {x.shape}")
    return Tensor(build.leaky_relu(x.expr, layers.rationals(slopes)), shape)


def _shrink(call: NodeCall, x: Expr) -> Expr:
    threshold = call.rational("lambd", 0.5)
    if threshold < 0:
        raise call.unsupported("has a negative threshold")
    return build.shrink(x, threshold, call.rational("bias", 0.0))


def _clip(call: NodeCall, x: Expr) -> Expr:
    low, high = (_bound(call, name, position) for position, name in ((1, "min"), (2, "max")))
    if low is not None:
        x = build.relu(x) if low == 0 else build.maximum(x, low)
    return x if high is None else build.minimum(x, high)


def _bound(call: NodeCall, name: str, position: int) -> Fraction | None:
    """An end of Clip: an attribute before opset 11, an input since; None where it is open."""
    if call.opset < 11:
        number = call.attributes.get(name)
    elif call.input(position) is None:
        number = None
    elif (given := call.constant(position)).size == 1:
        number = given.ravel().tolist()[0]
    else:
        raise call.wrong(f"wants one number as its {name}")
    if number is None:
        return None
    if not isinstance(number, float | int | Fraction) or number != number:
        raise call.wrong(f"wants a number as its {name}")
    outside = number <= -LARGEST_FLOAT32 if name == "min" else number >= LARGEST_FLOAT32
    if not outside and abs(number) == float("inf"):
        raise call.wrong(f"has an infinite {name} on the wrong side")
    return None if outside else Fraction(number)


def _function(function: Function) -> Callable[[NodeCall], OnnxValue]:
    return _elementwise(lambda call, x: build.apply(function, x))


def _pow(call: NodeCall) -> OnnxValue:
    """x to a constant; one that is no fraction of small numbers, or differs from entry to entry, is refused."""
    x, exponents = call.data(0), set(layers.rationals(call.constant(1)))
    if len(exponents) != 1:
        raise call.unsupported("has several exponents; only one constant is read")
    try:
        return Tensor(build.power(x.expr, exponents.pop()), x.shape)
    except TypeClash as problem:
        raise call.unsupported(f"has an exponent that is not read: {problem}") from None


def nearest_even(x: Expr) -> Expr:
    """To the nearest integer, and to the even one of two."""
    nearest = build.floor(build.add(x, Fraction(1, 2)))
    half = build.mul(nearest, Fraction(1, 2))
    tie = build.conj(
        build.compare("==", build.add(x, Fraction(1, 2)), nearest), build.compare("!=", build.floor(half), half)
    )
    return build.if_(tie, build.sub(nearest, 1), nearest)


def _celu(call: NodeCall, x: Expr) -> Expr:
    alpha = call.rational("alpha", 1.0)
    if alpha <= 0:
        raise call.unsupported("has an alpha that is not positive")
    return activations.celu(x, alpha)


def _selu(call: NodeCall, x: Expr) -> Expr:
    alpha, gamma = activations.SELU_ALPHA, activations.SELU_GAMMA
    return activations.selu(x, call.rational("alpha", float(alpha)), call.rational("gamma", float(gamma)))


def _gelu(call: NodeCall, x: Expr) -> Expr:
    form = call.attributes.get("approximate", b"none")
    if form == b"none":
        return activations.gelu(x)
    if form != b"tanh":
        raise call.wrong("wants none or tanh as its attribute 'approximate'")
    return activations.gelu_tanh(x)


def _thresholded(call: NodeCall, x: Expr) -> Expr:
    return build.if_(build.compare(">", x, build.const(call.rational("alpha", 1.0))), x, 0)


# Truth ----------------------------------------------------------------------------------------------------------------


def _pair(call: NodeCall) -> tuple[tuple[int, ...], Expr, Expr]:
    shape, (a, b) = call.broadcast([call.value(0), call.value(1)])
    return shape, call.operand(a), call.operand(b)


def _compare(op: str) -> Callable[[NodeCall], OnnxValue]:
    def read(call: NodeCall) -> OnnxValue:
        shape, a, b = _pair(call)
        return Tensor(build.compare(op, a, b), shape)

    return read


def _junction(join: Callable[..., Expr]) -> Callable[[NodeCall], OnnxValue]:
    def read(call: NodeCall) -> OnnxValue:
        shape, a, b = _pair(call)
        return Tensor(join(a, b), shape)

    return read


def _where(call: NodeCall) -> OnnxValue:
    """The second input where the first is true, else the third."""
    shape, (condition, then, otherwise) = call.broadcast([call.value(place) for place in range(3)])
    if isinstance(condition, Tensor):
        return Tensor(build.if_(condition.expr, call.operand(then), call.operand(otherwise)), shape)
    first, second, size = call.as_data(then), call.as_data(otherwise), prod(shape)
    both = build.concat(*(layers.pick(part.expr, np.arange(size) % part.expr.size) for part in (first, second)))
    chosen = np.where(np.broadcast_to(condition.astype(bool), shape).ravel(), np.arange(size), size + np.arange(size))
    return Tensor(layers.pick(both, chosen), shape)


def as_truth(x: Expr) -> Expr:
    """What a `Cast` to truth values makes of a number."""
    return x if x.sort == BOOL else build.compare("!=", x, 0)


def as_number(x: Expr) -> Expr:
    """What a `Cast` to numbers makes of a truth value: 1 or 0."""
    return build.if_(x, 1, 0) if x.sort == BOOL else x


OLD = ("consumed_inputs",)
BROADCAST = ("axis", "broadcast")
ELEMENTWISE: dict[str, tuple[Callable[[NodeCall], OnnxValue], tuple[str, ...]]] = {
    "Abs": (_elementwise(lambda call, x: build.absolute(x)), OLD),
    "And": (_junction(build.conj), BROADCAST),
    "Atan": (_function(Function.ATAN), ()),
    "Erf": (_function(Function.ERF), ()),
    "Ceil": (_elementwise(lambda call, x: build.neg(build.floor(build.neg(x)))), OLD),
    "Celu": (_elementwise(_celu), ("alpha",)),
    "Clip": (_elementwise(_clip), ("min", "max")),
    "Cos": (_function(Function.COS), ()),
    "Elu": (_elementwise(lambda call, x: activations.elu(x, call.rational("alpha", 1.0))), ("alpha", *OLD)),
    "Equal": (_compare("=="), BROADCAST),
    "Exp": (_function(Function.EXP), OLD),
    "Floor": (_elementwise(lambda call, x: build.floor(x)), OLD),
    "Gelu": (_elementwise(_gelu), ("approximate",)),
    "Greater": (_compare(">"), BROADCAST),
    "GreaterOrEqual": (_compare(">="), ()),
    "HardSigmoid": (
        _elementwise(lambda call, x: build.hard_sigmoid(x, call.rational("alpha", 0.2), call.rational("beta", 0.5))),
        ("alpha", "beta", *OLD),
    ),
    "HardSwish": (_elementwise(lambda call, x: activations.hard_swish(x)), ()),
    "LeakyRelu": (_elementwise(lambda call, x: build.leaky_relu(x, (call.rational("alpha", 0.01),))), ("alpha", *OLD)),
    "Less": (_compare("<"), BROADCAST),
    "LessOrEqual": (_compare("<="), ()),
    "Log": (_function(Function.LOG), OLD),
    "Mish": (_elementwise(lambda call, x: activations.mish(x)), ()),
    "Not": (_elementwise(lambda call, x: build.negate(x)), ()),
    "Or": (_junction(build.disj), BROADCAST),
    "PRelu": (_prelu, OLD),
    "Pow": (_pow, BROADCAST),
    "Reciprocal": (_elementwise(lambda call, x: build.div(1, x)), OLD),
    "Relu": (_elementwise(lambda call, x: build.relu(x)), OLD),
    "Round": (_elementwise(lambda call, x: nearest_even(x)), ()),
    "Selu": (_elementwise(_selu), ("alpha", "gamma", *OLD)),
    "Shrink": (_elementwise(_shrink), ("bias", "lambd")),
    "Sigmoid": (_elementwise(lambda call, x: layers.sigmoid(x)), OLD),
    "Sign": (_elementwise(lambda call, x: build.sign(x)), ()),
    "Sin": (_function(Function.SIN), ()),
    "Softplus": (_elementwise(lambda call, x: activations.softplus(x)), ()),
    "Softsign": (_elementwise(lambda call, x: activations.softsign(x)), ()),
    "Sqrt": (_function(Function.SQRT), OLD),
    "Swish": (_elementwise(lambda call, x: activations.silu(x, call.rational("alpha", 1.0))), ("alpha",)),
    "Tan": (_function(Function.TAN), ()),
    "Tanh": (_elementwise(lambda call, x: layers.tanh(x)), OLD),
    "ThresholdedRelu": (_elementwise(_thresholded), ("alpha",)),
    "Where": (_where, ()),
}
