"""The recurrent operators of ONNX, one step at a time: RNN, GRU and LSTM, forward, for a batch of one.

Their weights are rows for one gate after the other: of an LSTM input, output, forget and cell, of a GRU update, reset
and hidden. What a gate is given is an affine map of what is seen, x, and of what is remembered, h.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

from vernal_check.errors import Unreadable

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": ["tanh"], "GRU": ["sigmoid", "tanh"], "LSTM": ["sigmoid", "tanh", "tanh"]}
KNOWN = {"tanh", "sigmoid", "relu"}
READ = {"hidden_size", "linear_before_reset", "activations", "direction", "layout"}
ONE = Fraction(1)


class Cell:
    """One such operator; `emit` adds an instruction to a network and tells its vector and shape."""

    def __init__(self, op: str, weights: Sequence[Any], more: Mapping[str, Any], emit: Any) -> None:
        w, r = weights[0], weights[1]
        self.op, self.emit, self.size, self.inputs = op, emit, r.shape[-1], w.shape[-1]
        rows = GATES[op] * self.size
        if w.shape != (1, rows, self.inputs) or r.shape != (1, rows, self.size) or set(more) - READ:
            raise Unreadable(f"a {op} of this kind is not read")
        if more.get("direction", "forward") != "forward" or more.get("layout", 0) not in (0, 1):
            raise Unreadable(f"a {op} in another direction than forward is not read")
        self.functions = [name.lower() for name in more.get("activations", FUNCTIONS[op])]
        if len(self.functions) != len(FUNCTIONS[op]) or not set(self.functions) <= KNOWN:
            raise Unreadable(f"the activations of a {op} are not read")
        bias = (Fraction(0),) * (2 * rows) if len(weights) < 3 else weights[2].values
        if len(bias) != 2 * rows:
            raise Unreadable(f"the biases of a {op} are not read")
        self.seen, self.kept = w.values, r.values
        self.bias, self.other_bias = bias[:rows], bias[rows:]
        self.linear_before_reset = bool(more.get("linear_before_reset", 0))

    def affine(self, gate: int, x: int | None, h: int | None) -> int:
        """What a gate is given, of what is seen and of what is remembered, or of one of them alone."""
        vectors = [(x, self.inputs, self.seen, self.bias), (h, self.size, self.kept, self.other_bias)]
        used = [(vector, width, table, bias) for vector, width, table, bias in vectors if vector is not None]
        rows, shift = [], []
        for row in range(gate * self.size, (gate + 1) * self.size):
            numbers = [a for _, width, table, _ in used for a in table[row * width : (row + 1) * width]]
            rows.append(tuple((column, a) for column, a in enumerate(numbers) if a))
            shift.append(sum((bias[row] for *_, bias in used), Fraction(0)))
        columns = sum(width for _, width, _, _ in used)
        given = self.made("join", [vector for vector, *_ in used]) if len(used) > 1 else used[0][0]
        return self.made("affine", [given], rows=tuple(rows), shift=tuple(shift), columns=columns)

    def made(self, kind: str, inputs: Sequence[Any], **more: Any) -> int:
        vector: int = self.emit(kind, inputs, (1, 1, self.size), **more)[0]
        return vector

    def gate(self, gate: int, function: int, x: int, h: int) -> int:
        return self.made(self.functions[function], [self.affine(gate, x, h)])

    def after(self, x: int, h: int, c: int | None) -> list[int]:
        """What is remembered next."""
        if self.op == "RNN":
            return [self.gate(0, 0, x, h)]
        if self.op == "GRU":
            return [self.gru(x, h)]
        i, o, f, g = (self.gate(gate, int(gate == 3), x, h) for gate in range(4))
        cell = self.made("add", [self.made("times", [f, c]), self.made("times", [i, g])], scale=ONE)
        return [self.made("times", [o, self.made(self.functions[2], [cell])]), cell]

    def gru(self, x: int, h: int) -> int:
        z, r = self.gate(0, 0, x, h), self.gate(1, 0, x, h)
        if self.linear_before_reset:
            kept = self.made("times", [r, self.affine(2, None, h)])
            given = self.made("add", [self.affine(2, x, None), kept], scale=ONE)
        else:
            given = self.affine(2, x, self.made("times", [r, h]))
        new = self.made(self.functions[1], [given])
        rest = self.made("add", [h, new], scale=-ONE)  # (1 - z) new + z h = new + z (h - new)
        return self.made("add", [new, self.made("times", [z, rest])], scale=ONE)


def width(shape: Sequence[int]) -> int:
    """How many numbers one element of a sequence of length one has, for a batch of one."""
    if prod(shape[:-1]) != 1:
        raise Unreadable("a sequence of several elements, or a batch of several, is not read")
    return shape[-1]
