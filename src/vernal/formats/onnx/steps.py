"""A network that reads sequences acts at their end as it does when it is fed one step at a time, or is refused.

What recurrent operators carry along a sequence is the memory of an agent. But a graph may do more with a sequence: take
the first of its outputs, subtract the mean, read it backwards. One step of it shows nothing of that; two steps do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.recurrent import Slots
from vernal.interpret.concrete import evaluate
from vernal.interpret.numbers.rounding import Array
from vernal.model.expr import Expr
from vernal.model.network import Network

COMPARED_POINTS = 8
TOLERANCE = 1e-9  # in proportion to the largest score; both sides are computed in float64

SequenceReader = Callable[[tuple[int, ...], Slots], Network]


def check_steps(made: Network, name: str, shape: tuple[int, ...], axes: Sequence[int], read: SequenceReader) -> None:
    """Compare with the graph on sequences of two steps, along the axis that is open and turns out to be time."""
    first, last = np.random.default_rng(0).normal(size=(2, COMPARED_POINTS, *shape))
    for axis in axes:
        try:
            twice = read((*shape[:axis], 2, *shape[axis + 1 :]), Slots(steps=2))
        except FormatError:
            continue  # an axis of the batch, or a graph that takes one step only
        _, *memory = _values(made, first, _starts(made))
        wanted, *_ = _values(made, last, memory)
        found, *_ = _values(twice, np.concatenate([first, last], axis + 1), _starts(made))
        if not np.allclose(
            found[:, -wanted.shape[1] :], wanted, rtol=TOLERANCE, atol=TOLERANCE * (1 + np.abs(wanted).max())
        ):
            raise UnsupportedOperator(
                f"input {name!r} is a sequence, and what the network says at its end does not follow step by step from "
                "what it sees and remembers; export one step, its memory as inputs and outputs (say h_in and h_out)"
            )


def _starts(network: Network) -> list[Array]:
    """Where the memory starts, for every point."""
    flat = np.array([float(value) for value in network.starts] or [0.0] * network.memory_size)
    parts = np.split(flat, np.cumsum([var.size for var, _ in network.memory])[:-1])
    return [np.tile(part, (COMPARED_POINTS, 1)) for part in parts]


def _values(network: Network, seen: Array, memory: Sequence[Array]) -> list[Array]:
    """The output, and what is remembered next."""
    remembered: dict[Expr, Array] = dict(zip((var for var, _ in network.memory), memory, strict=True))
    return evaluate(network.roots, {network.inputs: seen.reshape(COMPARED_POINTS, -1), **remembered})
