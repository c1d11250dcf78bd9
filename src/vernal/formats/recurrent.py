"""Recurrent cells as expressions, in one place: ONNX, torch, Keras and Python all build theirs here.

A cell takes what is seen and what is remembered, and gives what is remembered next; that is also what the layers above
it see at this step (M. E. Akintunde et al., AAAI 2019, Def. 4). Formats differ in the order of their gates and in where
they put biases, so a cell takes its gates by name and each with both of its biases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from vernal.errors import FormatError
from vernal.formats.layers import check_finite, check_width, dense, shift, sigmoid, tanh
from vernal.interpret.concrete import evaluate
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Expr, Var
from vernal.model.network import Network, memory_var, network_input

Activation = Callable[[Expr], Expr]
MAX_SLOTS = 1000

ACTIVATIONS: dict[str, Activation] = {
    "linear": lambda x: x,
    "relu": build.relu,
    "sigmoid": sigmoid,
    "tanh": tanh,
}


@dataclass(frozen=True, slots=True)
class Gate:
    """W x + b + R h + c, the affine part of a gate; both biases are kept apart until their sum is known to be exact."""

    input_weight: Array
    memory_weight: Array
    input_bias: Array | None = None
    memory_bias: Array | None = None

    def __call__(self, x: Expr, h: Expr) -> Expr:
        both = np.hstack([self.input_weight, self.memory_weight])
        total = dense(build.concat(x, h), both, self.input_bias)
        return total if self.memory_bias is None else shift(total, self.memory_bias)

    def from_input(self, x: Expr) -> Expr:
        return dense(x, self.input_weight, self.input_bias)

    def from_memory(self, h: Expr) -> Expr:
        return dense(h, self.memory_weight, self.memory_bias)


def split_gates(w: Array, r: Array, b: Array | None, c: Array | None) -> list[Gate]:
    """The gates whose weights a format keeps on top of each other, in the order of the format."""
    hidden = r.shape[1]

    def rows(array: Array | None, index: int) -> Array | None:
        return None if array is None else array[index * hidden : (index + 1) * hidden]

    count = len(r) // hidden
    weights = zip(np.split(w, count), np.split(r, count), strict=True)
    return [Gate(own, memory, rows(b, i), rows(c, i)) for i, (own, memory) in enumerate(weights)]


# Cells ----------------------------------------------------------------------------------------------------------------


def rnn_cell(x: Expr, h: Expr, gate: Gate, f: Activation) -> Expr:
    """h' = f(W x + R h + b), the plain (Elman) cell; linear in both if f is the identity."""
    return f(gate(x, h))


@dataclass(frozen=True, slots=True)
class GruGates:
    """Gates of a gated recurrent unit, and their activations: f for the gates, g for the candidate.

    `reset_after`: the reset gate is applied to R h + c instead of to h (torch, and Keras since version 2.1).
    """

    update: Gate
    reset: Gate
    new: Gate
    f: Activation = sigmoid
    g: Activation = tanh
    reset_after: bool = True


def gru_cell(x: Expr, h: Expr, gates: GruGates) -> Expr:
    """h' = (1 - z) n + z h, between the candidate and what was remembered (K. Cho et al., 2014).

    Written with two products: n + z (h - n) has one, but its bounds were found to be several times as wide.
    """
    z, r = gates.f(gates.update(x, h)), gates.f(gates.reset(x, h))
    if gates.reset_after:
        n = gates.g(build.add(gates.new.from_input(x), build.mul(r, gates.new.from_memory(h))))
    else:
        n = gates.g(gates.new(x, build.mul(r, h)))
    kept = shift(build.neg(z), np.ones(1))
    return build.add(build.mul(kept, n), build.mul(z, h))


@dataclass(frozen=True, slots=True)
class LstmGates:
    """Gates of a long short-term memory; f for the gates, g for the candidate, k for what leaves the cell."""

    input: Gate
    forget: Gate
    cell: Gate
    output: Gate
    f: Activation = sigmoid
    g: Activation = tanh
    k: Activation = tanh


def lstm_cell(x: Expr, h: Expr, c: Expr, gates: LstmGates) -> tuple[Expr, Expr]:
    """h' = o k(c') with c' = f c + i g (S. Hochreiter and J. Schmidhuber, 1997; F. Gers et al., 2000)."""
    i, o = gates.f(gates.input(x, h)), gates.f(gates.output(x, h))
    kept = build.mul(gates.f(gates.forget(x, h)), c)
    after = build.add(kept, build.mul(i, gates.g(gates.cell(x, h))))
    return build.mul(o, gates.k(after)), after


# What a network under construction remembers -------------------------------------------------------------------------


@dataclass(slots=True)
class Slots:
    """The memory of a network under construction: vectors, each with its start and, later, its next value.

    Layers see one step of a sequence, or `steps` of them, to compare.
    """

    steps: int = 1
    starts: dict[Var, tuple[Fraction, ...]] = field(default_factory=dict)
    updates: dict[Var, Expr] = field(default_factory=dict)

    def fresh(self, size: int, letter: str = "h", start: Sequence[Fraction] | None = None) -> Var:
        """One more vector, zero at first unless said otherwise; `h1`, `c1`, `h2`, ..."""
        if len(self.starts) >= MAX_SLOTS:
            raise FormatError(f"it has more than {MAX_SLOTS} recurrent layers, more than Vernal reads")
        check_width((size,))
        number = 1 + sum(var.name.startswith(letter) for var in self.starts)
        made = memory_var(size, f"{letter}{number}")
        self.starts[made] = tuple(start or (Fraction(0),) * size)
        return made

    def network(self, name: str, inputs: Var, output: Expr, dropped: str | None = None) -> Network:
        """The finished network."""
        pairs = tuple((var, self.updates[var]) for var in self.starts)
        starts = tuple(value for values in self.starts.values() for value in values)
        return Network(name, inputs, output, pairs, dropped=dropped, starts=starts if any(starts) else ())

    def rnn(self, x: Expr, gate: Gate, f: Activation) -> Expr:
        h = self.fresh(len(gate.memory_weight))
        self.updates[h] = rnn_cell(x, h, gate, f)
        return self.updates[h]

    def gru(self, x: Expr, gates: GruGates) -> Expr:
        h = self.fresh(len(gates.update.memory_weight))
        self.updates[h] = gru_cell(x, h, gates)
        return self.updates[h]

    def lstm(self, x: Expr, gates: LstmGates) -> Expr:
        size = len(gates.input.memory_weight)
        h, c = self.fresh(size), self.fresh(size, "c")
        self.updates[h], self.updates[c] = lstm_cell(x, h, c, gates)
        return self.updates[h]


# From weight matrices ------------------------------------------------------------------------------------------------

Weights = ArrayLike | Sequence[float] | Sequence[Sequence[float]]
CellWeights = tuple[Weights, Weights, Weights]
Dense = tuple[Weights, Weights]


def rnn(
    cells: Sequence[CellWeights], head: Sequence[Dense] = (), *, activation: str = "relu", name: str = "network"
) -> Network:
    """A recurrent network from its weights: `cells` are (W, R, b), one below the other, `head` is (V, c), ...

    Each cell remembers h' = f(W x + R h + b) and passes it on; the head is affine layers with a ReLU between any two.
    With `activation="linear"` a cell is a linear state space, h' = A h + B o. Weights are the doubles given, exactly.

    Example: `vn.rnn([(W, R, b)], head=[(V, c)], name="memory")`
    """
    if activation not in ACTIVATIONS:
        raise FormatError(f"activation is one of {', '.join(ACTIVATIONS)}, not {activation!r}")
    if not cells:
        raise FormatError("a recurrent network needs at least one cell (W, R, b)")
    gates = list(_gates(cells))
    inputs = network_input(gates[0].input_weight.shape[1])
    slots = Slots()
    x: Expr = inputs
    for gate in gates:
        x = slots.rnn(x, gate, ACTIVATIONS[activation])
    for number, (weight, bias) in enumerate(head):
        matrix, offset = _matrix(weight, f"head {number}"), _vector(bias, f"head {number}")
        if matrix.shape != (len(offset), x.size):
            shapes = f"V {matrix.shape}, c {offset.shape}"
            raise FormatError(f"head {number} has shapes that do not fit: {shapes} on {x.size} inputs")
        x = dense(x if number == 0 else build.relu(x), matrix, offset)
    return slots.network(name, inputs, x)


def _gates(cells: Sequence[CellWeights]) -> Iterator[Gate]:
    width: int | None = None
    for number, (w, r, b) in enumerate(cells):
        what = f"cell {number}"
        weight, memory, bias = _matrix(w, what), _matrix(r, what), _vector(b, what)
        size = len(bias)
        if weight.shape[0] != size or memory.shape != (size, size) or width not in (None, weight.shape[1]):
            shapes = f"W {weight.shape}, R {memory.shape}, b {bias.shape}"
            below = "" if width is None else f" on {width} inputs"
            raise FormatError(f"{what} has shapes that do not fit: {shapes}{below}")
        width = size
        yield Gate(weight, memory, bias)


def _matrix(values: Weights, what: str) -> Array:
    return _array(values, 2, what)


def _vector(values: Weights, what: str) -> Array:
    return _array(values, 1, what)


def _array(values: Weights, rank: int, what: str) -> Array:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise FormatError(f"{what} has weights that are not an array of numbers") from None
    if array.ndim != rank or array.size == 0:
        wanted = "a matrix" if rank == 2 else "a vector"
        raise FormatError(f"{what} wants {wanted}, not an array of shape {array.shape}")
    check_finite(array, what)
    return array


# Running --------------------------------------------------------------------------------------------------------------


def walked(network: Network, seen: Array) -> Array:
    """The outputs for observations one after the other, a row each, from what the network remembers at first."""
    starts = iter(np.array(network.starts or [0] * network.memory_size, dtype=np.float64))
    memory: dict[Expr, Array] = {var: np.array([[next(starts) for _ in range(var.size)]]) for var, _ in network.memory}
    rows = []
    for x in seen:
        output, *after = evaluate(network.roots, {network.inputs: x[None, :], **memory})
        memory = dict(zip(memory, after, strict=True))
        rows.append(output[0])
    return np.array(rows)
