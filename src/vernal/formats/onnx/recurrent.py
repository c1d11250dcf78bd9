"""The recurrent operators of ONNX, one step at a time: RNN, GRU and LSTM, forward, for a batch of one.

A sequence axis of length 1, or of any length, is consumed one step at a time: what the operator would carry from one
element of the sequence to the next is the memory of the network. Where the graph takes its memory as an input, the
operator is a function of that input and carries nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from vernal.formats.layers import pick, rationals, sigmoid, single, tanh
from vernal.formats.onnx.call import NodeCall, OnnxValue, Tensor
from vernal.formats.recurrent import Activation, Gate, GruGates, LstmGates, gru_cell, lstm_cell, rnn_cell, split_gates
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Expr, Var

H, C = 5, 6  # the inputs initial_h and initial_c


@dataclass(frozen=True, slots=True)
class RecurrentLayer:
    """A checked recurrent node: what it sees step by step, its gates in the order of ONNX, its activations."""

    xs: list[Expr]
    gates: list[Gate]
    activations: list[Activation]

    @property
    def size(self) -> int:
        return len(self.gates[0].memory_weight)


def _layer(call: NodeCall, gates: int, defaults: tuple[str, ...]) -> RecurrentLayer:
    _refuse(call)
    x, w, r = call.data(0), call.weights(1), call.weights(2)
    hidden = r.shape[-1]
    if call.integer("hidden_size", hidden) != hidden:
        raise call.wrong(f"says hidden_size {call.attributes['hidden_size']}, but its weights have {hidden}")
    if len(x.shape) != 3 or w.shape != (1, gates * hidden, x.shape[-1]) or r.shape != (1, gates * hidden, hidden):
        raise call.wrong(f"has weights {w.shape} and {r.shape}, which do not fit data of shape {x.shape}")
    steps, batch = x.shape[:2] if call.integer("layout", 0) == 0 else x.shape[1::-1]
    if (steps, batch) != (_steps(call), 1):
        what = f"a sequence of {steps} steps" if batch == 1 else f"a batch of {batch}"
        raise call.unsupported(
            f"takes {what} at once; export with an open sequence axis, or one of 1, and a batch of 1"
        )
    call.allowance.take(w.size + r.size)
    biases = (None, None) if call.input(3) is None else _biases(call, gates * hidden)
    xs = [x.expr] if steps == 1 else [pick(x.expr, one) for one in np.arange(steps * x.shape[-1]).reshape(steps, -1)]
    return RecurrentLayer(xs, split_gates(w[0], r[0], *biases), list(_activations(call, defaults)))


def _steps(call: NodeCall) -> int:
    return 1 if call.slots is None else call.slots.steps


def _biases(call: NodeCall, size: int) -> tuple[Array, Array]:
    bias = call.weights(3)
    if bias.shape != (1, 2 * size):
        raise call.wrong(f"has biases of shape {bias.shape}, not {(1, 2 * size)}")
    return bias[0, :size], bias[0, size:]


def _refuse(call: NodeCall) -> None:
    """What would change the meaning of a step."""
    direction = call.attributes.get("direction", b"forward")
    if direction != b"forward":
        said = direction.decode("utf-8", "replace") if isinstance(direction, bytes) else str(direction)
        advice = "an agent cannot see the future; train and export a forward network"
        raise call.unsupported(f"has the direction {said!r}: {advice}")
    if "clip" in call.attributes:
        raise call.unsupported("clips its gates, which Vernal does not read; export without clip")
    if call.integer("input_forget", 0):
        raise call.unsupported("couples its input and forget gates (input_forget), which Vernal does not read")
    peepholes = call.input(7)
    if peepholes is not None and (isinstance(peepholes, Tensor) or peepholes.any()):
        raise call.unsupported("has peepholes (input 7), which Vernal does not read; train without them")
    if call.integer("layout", 0) not in (0, 1):
        raise call.wrong(f"has the layout {call.attributes['layout']}, which is neither 0 nor 1")
    lengths = call.input(4)
    if lengths is not None and (isinstance(lengths, Tensor) or lengths.tolist() != [_steps(call)]):
        raise call.unsupported("reads sequences of given lengths (input 4); export without sequence_lens")


# Activations ----------------------------------------------------------------------------------------------------------


def _activations(call: NodeCall, defaults: tuple[str, ...]) -> Iterator[Activation]:
    """The functions a node names, or the default ones; those with parameters take them from lists, in order."""
    named = call.attributes.get("activations", [name.encode() for name in defaults])
    if not isinstance(named, list) or len(named) != len(defaults):
        raise call.wrong(f"wants {len(defaults)} activations, one for each of its functions")
    alphas, betas = (_numbers(call, name) for name in ("activation_alpha", "activation_beta"))
    known = {name.lower(): made for name, made in FUNCTIONS.items()}  # in any case, says ONNX
    for name in named:
        word = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
        if word.lower() not in known:
            supported = ", ".join(FUNCTIONS)
            raise call.unsupported(f"has the activation {word!r}, which Vernal does not read; supported: {supported}")
        make, defaulted = known[word.lower()]
        yield make(*(next(values, default) for values, default in zip((alphas, betas), defaulted, strict=False)))
    if next(alphas, None) is not None or next(betas, None) is not None:
        raise call.wrong("has more parameters than its activations take")


def _numbers(call: NodeCall, name: str) -> Iterator[float]:
    values = call.attributes.get(name, [])
    if not isinstance(values, list) or not all(isinstance(v, float) and np.isfinite(v) for v in values):
        raise call.wrong(f"wants finite numbers as its attribute {name!r}")
    return iter(values)


def _leaky(alpha: float) -> Activation:
    return lambda x: build.leaky_relu(x, (single(alpha),))


def _hard_sigmoid(alpha: float, beta: float) -> Activation:
    return lambda x: build.hard_sigmoid(x, single(alpha), single(beta))


FUNCTIONS: dict[str, tuple[Callable[..., Activation], tuple[float, ...]]] = {
    "HardSigmoid": (_hard_sigmoid, (0.2, 0.5)),
    "LeakyRelu": (_leaky, (0.01,)),
    "Relu": (lambda: build.relu, ()),
    "Sigmoid": (lambda: sigmoid, ()),
    "Tanh": (lambda: tanh, ()),
}


# Memory ---------------------------------------------------------------------------------------------------------------


def _start(call: NodeCall, position: int, size: int) -> Expr:
    """What a node remembers at this step: the network's own memory, or what the graph was given as its memory."""
    given = call.input(position)
    if isinstance(given, Tensor):
        if call.slots is not None:
            raise call.unsupported(f"starts from a memory computed from data (input {position}); start from a constant")
        if given.shape != (1, 1, size):
            raise call.wrong(f"is given a memory of shape {given.shape}, not {(1, 1, size)}")
        return given.expr
    if call.slots is None:
        advice = "give it a memory of its own among the inputs and outputs, too"
        raise call.unsupported(f"starts anew at every step, though the graph takes its memory as an input; {advice}")
    if given is not None and given.shape != (1, 1, size):
        raise call.wrong(f"starts from a memory of shape {given.shape}, not {(1, 1, size)}")
    start = None if given is None else rationals(given)
    return call.slots.fresh(size, "h" if position == H else "c", start)


CellStep = Callable[..., tuple[Expr, ...]]  # from what is seen and remembered to what is remembered next


def _walk(call: NodeCall, layer: RecurrentLayer, befores: list[Expr], cell: CellStep) -> tuple[OnnxValue, ...]:
    """The outputs Y, Y_h (and Y_c) after all steps; what the network itself remembers is noted."""
    afters, seen = tuple(befores), []
    for x in layer.xs:
        afters = cell(x, *afters)
        seen.append(afters[0])
    if call.slots is not None:
        for before, after in zip(befores, afters, strict=True):
            assert isinstance(before, Var)
            call.slots.updates[before] = after
    size, steps = layer.size, len(seen)
    shape = (steps, 1, 1, size) if call.integer("layout", 0) == 0 else (1, steps, 1, size)
    return (Tensor(build.concat(*seen), shape), *(Tensor(after, (1, 1, size)) for after in afters))


def _rnn(call: NodeCall) -> tuple[OnnxValue, ...]:
    layer = _layer(call, 1, ("Tanh",))
    (gate,), (f,) = layer.gates, layer.activations
    return _walk(call, layer, [_start(call, H, layer.size)], lambda x, h: (rnn_cell(x, h, gate, f),))


def _gru(call: NodeCall) -> tuple[OnnxValue, ...]:
    layer = _layer(call, 3, ("Sigmoid", "Tanh"))
    (update, reset, new), (f, g) = layer.gates, layer.activations
    gates = GruGates(update, reset, new, f, g, bool(call.integer("linear_before_reset", 0)))
    return _walk(call, layer, [_start(call, H, layer.size)], lambda x, h: (gru_cell(x, h, gates),))


def _lstm(call: NodeCall) -> tuple[OnnxValue, ...]:
    layer = _layer(call, 4, ("Sigmoid", "Tanh", "Tanh"))
    i, o, f, g = layer.gates
    gates = LstmGates(i, f, g, o, *layer.activations)
    starts = [_start(call, H, layer.size), _start(call, C, layer.size)]
    return _walk(call, layer, starts, lambda x, h, c: lstm_cell(x, h, c, gates))


COMMON = (
    "activation_alpha",
    "activation_beta",
    "activations",
    "clip",
    "direction",
    "hidden_size",
    "layout",
    "output_sequence",
)
RECURRENT: dict[str, tuple[Callable[[NodeCall], tuple[OnnxValue, ...]], tuple[str, ...]]] = {
    "GRU": (_gru, (*COMMON, "linear_before_reset")),
    "LSTM": (_lstm, (*COMMON, "input_forget")),
    "RNN": (_rnn, COMMON),
}
