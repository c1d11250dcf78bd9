"""Networks: functions from a vector to a vector, written in the same operators as everything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, overload

from vernal.errors import TypeClash
from vernal.model import build
from vernal.model import numpy_functions as numpy_functions  # expressions meet numpy by way of it
from vernal.model.arrays import is_listed
from vernal.model.expr import Affine, Expr, Operand, Role, Var
from vernal.model.graph import order, substitute
from vernal.model.hooks import hook
from vernal.model.portable import Portable
from vernal.model.softmax import log_softmax, softmax

MERGED = "several operators read as one"


@dataclass(frozen=True, slots=True)
class Network(Portable):
    """outputs = f(inputs), with memory where the network is recurrent.

    `inputs` is the vector variable the body is written over; `memory` pairs each memory variable with the expression
    of its next value. `file` and `sha256` say where the weights came from. `dropped` names a Softmax or LogSoftmax that
    the file ends with and `output` leaves out: the order of the scores is the same, their values are not (where these
    are asked about, see `with_values`). `starts` is
    what the memory starts with, component by component, where the network says it; empty for zeros. `operators` are
    those of the ONNX file, and MERGED where several of them are read as one; empty for what came from elsewhere.
    """

    name: str
    inputs: Var
    output: Expr
    memory: tuple[tuple[Var, Expr], ...] = ()
    file: str | None = None
    sha256: str | None = None
    dropped: str | None = None
    starts: tuple[Fraction, ...] = ()
    operators: tuple[str, ...] = ()

    @property
    def softmax_dropped(self) -> bool:
        """Whether only the order of the outputs means something, so that `act = "raw"` would be wrong."""
        return self.dropped is not None

    def with_values(self) -> Network:
        """The network with the Softmax or LogSoftmax that was left out: its values are asked about."""
        if self.dropped is None:
            return self
        put_back = log_softmax if self.dropped == "LogSoftmax" else softmax
        return replace(self, output=put_back(self.output), dropped=None)

    @property
    def input_size(self) -> int:
        return self.inputs.size

    @property
    def output_size(self) -> int:
        return self.output.size

    @property
    def memory_size(self) -> int:
        """How many numbers it remembers; 0 for a feed-forward network."""
        return sum(slot.size for slot, _ in self.memory)

    @property
    def roots(self) -> tuple[Expr, ...]:
        """Everything it computes: its output, then what it remembers next."""
        return (self.output, *(update for _, update in self.memory))

    @overload
    def __call__(self, *arguments: Operand) -> Expr: ...

    @overload
    def __call__(self, *arguments: Any) -> Any: ...

    def __call__(self, *arguments: Any) -> Any:
        """The output for these inputs (scalars or vectors, in order), for networks without memory.

        In a model it is an expression. A list or an array of numbers gives an array of numbers, in floating point:
        `network([0.5, 1])` of one observation, `network(observations)` row by row.
        """
        if self.memory:
            raise TypeClash(f"network {self.name!r} has memory and can only be an agent's policy")
        if self.softmax_dropped:
            return self.with_values()(*arguments)
        if len(arguments) == 1 and is_listed(arguments[0]) and not any(map(_is_symbolic, arguments[0])):
            return hook("evaluate_network")(self, arguments[0])
        listed = [part for one in arguments for part in (one if is_listed(one) else [one])]
        return self.apply(listed, ())[0]

    def __repr__(self) -> str:
        remembers = f", remembers {self.memory_size}" if self.memory else ""
        sizes = f"{self.input_size} to {self.output_size}{remembers}, {self.parameters:,} parameters"
        return f"<Network {self.name}: {sizes}>"

    def apply(self, arguments: Sequence[Operand], memory: Sequence[Expr]) -> tuple[Expr, tuple[Expr, ...]]:
        """Output and next memory for these inputs and this memory."""
        given = build.concat(*arguments)
        if not given.shape:
            given = build.concat(given)
        if given.size != self.input_size:
            raise TypeClash(f"network {self.name!r} takes {self.input_size} inputs, but is given {given.size}")
        values: dict[Expr, Expr] = {self.inputs: given}
        values.update(zip((slot for slot, _ in self.memory), memory, strict=True))
        output, *after = substitute(self.roots, values)
        return output, tuple(after)

    @property
    def parameters(self) -> int:
        """How many weights and biases it has."""
        layers = [node for node in order(self.roots) if isinstance(node, Affine)]
        return sum(layer.weight.array.size + layer.bias.array.size for layer in layers)


def _is_symbolic(given: object) -> bool:
    return isinstance(given, Expr)


def network_input(size: int, name: str = "input") -> Var:
    """The input variable of a network under construction."""
    return build.var(name, shape=(size,), role=Role.INPUT)


def memory_var(size: int, name: str = "h") -> Var:
    """A vector that a network under construction remembers."""
    return build.var(name, shape=(size,), role=Role.MEMORY)
