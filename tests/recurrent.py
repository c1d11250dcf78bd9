"""Small recurrent networks, the weights of which can be followed with a pencil."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from tests.loops import number, value
from vernal.formats.layers import dense
from vernal.formats.recurrent import ACTIVATIONS, Gate, GruGates, LstmGates, Slots, rnn
from vernal.logic.formula import Always, Atom, Bound, Eventually, Formula, Next
from vernal.model import build as b
from vernal.model.agent import make_agent, remembered
from vernal.model.expr import Expr, Function, Role
from vernal.model.network import Network, network_input
from vernal.model.sorts import REAL
from vernal.model.system import Agent, Init, OneOf, Span, Start, System, Variable


def gate(w: float, r: float, b: float = 0.0) -> Gate:
    return Gate(np.array([[w]]), np.array([[r]]), np.array([b]))


def gated(name: str, layer: Callable[[Slots, Expr], Expr]) -> Network:
    """A gated layer of one unit and a plain readout."""
    slots, inputs = Slots(), network_input(1)
    return slots.network(name, inputs, dense(layer(slots, inputs), np.array([[0.5]])))


HELD = GruGates(update=gate(0, 0, 500), reset=gate(0, 0), new=gate(1, 0))


@cache
def recurrent_networks() -> dict[str, Network]:
    """By name: what they count, sum up or squash is said beside them."""
    one = ([[1.0]], [0.0])
    gru = GruGates(gate(0.5, 1), gate(-1, 0.5, 1), gate(1, 0.5, 0.25))
    lstm = LstmGates(gate(1, 0.5), gate(0.5, 0.5, 1), gate(1, -0.5, 0.25), gate(0.5, 0, 0.5))
    return {
        "count": rnn([([[0]], [[1]], [1])], [([[1]], [-5]), one]),  # how many steps beyond five
        "blink": rnn([([[0]], [[-1]], [1])], [one]),  # 1, 0, 1, 0, ...
        "sum": rnn([([[1]], [[1]], [0])], [one], activation="linear"),  # of all it has seen
        "never": rnn([([[-1, 1], [1, 1]], [[0, 0], [0, 0]], [0, 0]), ([[1, -1]], [[1]], [0])]),  # 0 on [0, 1]^2
        "late": rnn([([[1]], [[1]], [0])], [([[0], [1]], [3.5, 0])]),  # GO once the sum of what it saw is 3.5
        "squash": rnn([([[1]], [[1]], [0])], [([[0.5]], [0])], activation="tanh"),
        "gated": gated("gated", lambda slots, x: slots.gru(x, gru)),
        "wild": rnn([([[1], [-1]], [[1.5, 0], [0, 1.5]], [0, 0])], [([[1, -1]], [0])]),  # grows half as much again
        "apart": rnn([([[1e6]], [[1e-6]], [0])], [([[1e-6]], [0])]),  # what it sees, and a millionth of the last
        "hard": rnn([([[1e4]], [[0]], [0])], [one], activation="tanh"),  # the sign, but for less than any float
        "held": gated("held", lambda slots, x: slots.gru(x, HELD)),  # what it remembered at first, nearly
        "deep": gated("deep", lambda slots, x: slots.lstm(x, lstm)),
    }


# Random loops ---------------------------------------------------------------------------------------------------------


def random_network(
    rng: random.Random, inputs: int, outputs: int, smooth: bool, name: str, sizes: Sequence[float] = ()
) -> Network:
    """One or two recurrent layers of one to three units, and a readout; weights are scaled by one of the sizes each."""
    slots, variable = Slots(), network_input(inputs)
    x: Expr = variable
    for _ in range(rng.randint(1, 2)):
        kind = rng.choice(["gru", "lstm", "tanh"]) if smooth else rng.choice(["relu", "linear"])
        x = _random_layer(rng, slots, x, kind, sizes)
    readout = dense(x, _weights(rng, outputs, x.size, sizes), _weights(rng, 1, outputs)[0])
    return slots.network(name, variable, readout)


def _random_layer(rng: random.Random, slots: Slots, x: Expr, kind: str, sizes: Sequence[float]) -> Expr:
    units = rng.randint(1, 3)

    def gate() -> Gate:
        return Gate(_weights(rng, units, x.size, sizes), _weights(rng, units, units, sizes), _weights(rng, 1, units)[0])

    if kind == "gru":
        return slots.gru(x, GruGates(gate(), gate(), gate(), reset_after=rng.random() < 0.5))
    if kind == "lstm":
        return slots.lstm(x, LstmGates(gate(), gate(), gate(), gate()))
    return slots.rnn(x, gate(), ACTIVATIONS[kind])


def _weights(
    rng: random.Random, rows: int, columns: int, sizes: Sequence[float] = ()
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    made = np.array([[rng.randint(-4, 4) / 4 for _ in range(columns)] for _ in range(rows)])
    if sizes:
        made *= np.array([[rng.choice(sizes) for _ in range(columns)] for _ in range(rows)])
    return made


def recurrent_loop(rng: random.Random, *, spans: bool, smooth: bool, sizes: Sequence[float] = ()) -> System:
    """Two state variables, one or two agents that see one of them each, all memories with names."""
    state = tuple(Variable(name, REAL) for name in "xy")
    agents = tuple(
        _agent(rng, name, variable.var, spans, smooth, sizes) for name, variable in zip("ab", state, strict=True)
    )
    agents = agents[: rng.randint(1, 2)]
    seen: list[Expr] = [*(variable.var for variable in state), *(agent.var for agent in agents)]
    following = {variable.name: _following(rng, seen, smooth) for variable in state}
    starts = {variable.name: _start(rng, spans) for variable in state}
    return System("recurrent", state, Init(starts), following, agents, remembered(agents))


def _following(rng: random.Random, seen: list[Expr], smooth: bool) -> Expr:
    plain = rng.choice([rng.choice(seen) * Fraction(1, 2) + rng.choice(seen), value(rng, REAL, seen, 1)])
    if not smooth:
        return plain
    bent = [b.apply(rng.choice([Function.SIN, Function.TANH]), plain), b.clip(plain, -1, 1) * rng.choice(seen), plain]
    return rng.choice(bent)


def _agent(rng: random.Random, name: str, sees: Expr, spans: bool, smooth: bool, sizes: Sequence[float]) -> Agent:
    act = rng.choice(["raw", "argmax"])
    network = random_network(rng, 1, 1 if act == "raw" else 2, smooth, f"net{name}", sizes)
    memory = [_start(rng, spans) for _ in range(network.memory_size)]
    return make_agent(name, [network], [sees], act, memory=memory, remember=f"m{name}")


def _start(rng: random.Random, spans: bool) -> Start:
    low = Fraction(rng.randint(-8, 8), 4)
    if spans and rng.random() < 0.7:
        return Span(low, low + Fraction(rng.randint(0, 4), 4))
    return OneOf(tuple(sorted({low, low + 1}))) if rng.random() < 0.2 else OneOf((low,))


def recurrent_formula(rng: random.Random, system: System) -> Formula:
    """A comparison of a number (remembered ones among them) within a few steps."""
    numbers: Sequence[Expr] = [variable.var for variable in system.state]
    for agent in system.agents:
        memory = b.var(agent.remember or "", shape=(len(agent.starts),), role=Role.LET)
        numbers = [*numbers, memory[rng.randrange(memory.size)], agent.var]
    atom = b.compare(rng.choice(["<", "<=", ">", ">=", "!="]), rng.choice(numbers), number(rng))
    bound = Bound(Fraction(rng.randint(0, 1)), Fraction(rng.randint(1, 4)))
    return rng.choice([Always(Atom(atom), bound), Eventually(Atom(atom), bound), Next(Atom(atom), rng.randint(1, 4))])
