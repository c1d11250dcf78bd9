"""Small recurrent networks, the weights of which can be followed with a pencil."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from vernal.formats.layers import dense
from vernal.formats.recurrent import Gate, GruGates, LstmGates, Slots, rnn
from vernal.model.expr import Expr
from vernal.model.network import Network, network_input


def gate(w: float, r: float, b: float = 0.0) -> Gate:
    return Gate(np.array([[w]]), np.array([[r]]), np.array([b]))


def gated(name: str, layer: Callable[[Slots, Expr], Expr]) -> Network:
    """A gated layer of one unit and a plain readout."""
    slots, inputs = Slots(), network_input(1)
    return slots.network(name, inputs, dense(layer(slots, inputs), np.array([[0.5]])))


@cache
def recurrent_networks() -> dict[str, Network]:
    """By name: what they count, sum up or squash is said beside them."""
    one = ([[1.0]], [0.0])
    gru = GruGates(gate(0.5, 1), gate(-1, 0.5, 1), gate(1, 0.5, 0.25))
    lstm = LstmGates(gate(1, 0.5), gate(0.5, 0.5, 1), gate(1, -0.5, 0.25), gate(0.5, 0, 0.5))
    return {
        "count": rnn([([[0]], [[1]], [1])], [([[1]], [-5]), one]),  # how many steps beyond five
        "sum": rnn([([[1]], [[1]], [0])], [one], activation="linear"),  # of all it has seen
        "never": rnn([([[-1, 1], [1, 1]], [[0, 0], [0, 0]], [0, 0]), ([[1, -1]], [[1]], [0])]),  # 0 on [0, 1]^2
        "late": rnn([([[1]], [[1]], [0])], [([[0], [1]], [3.5, 0])]),  # GO once the sum of what it saw is 3.5
        "squash": rnn([([[1]], [[1]], [0])], [([[0.5]], [0])], activation="tanh"),
        "gated": gated("gated", lambda slots, x: slots.gru(x, gru)),
        "deep": gated("deep", lambda slots, x: slots.lstm(x, lstm)),
    }
