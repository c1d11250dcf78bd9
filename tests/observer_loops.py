"""Random loops whose agent sees where a chain of integrators is, and has to remember what it needs to know of speed.

What it remembers are linear filters of what it saw. A neuron with a bias that keeps it on holds one, or a pair of which
one is always off; so the loop is a stable linear one, but its policy is a ReLU network with a memory.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from vernal.formats.recurrent import rnn
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import Always, Atom, Formula
from vernal.model import build as b
from vernal.model.agent import make_agent
from vernal.model.expr import Compare, Const, Expr
from vernal.model.initial import Init, OneOf, Span
from vernal.model.network import Network
from vernal.model.sorts import REAL
from vernal.model.system import System, Variable
from vernal.simulate.runs import simulate

DT = Fraction(1, 10)
DECAYS = (0.25, 0.5, 0.75)  # how much of a filter a step keeps; one more filter holds what is seen
BIAS = 8.0  # of a neuron that stays on
STABLE = 0.95  # spectral radius, at most
RUNS, STEPS, FEW_STEPS = 300, 300, 60
CLEAR = 1e-6  # beyond which floats may say that a claim is broken


def observer_loop(rng: random.Random) -> System:
    """One or two integrators, and two or three filters."""
    plant, decays = rng.choice([1, 2, 2]), (0.0, *rng.sample(DECAYS, rng.randint(1, 2)))
    leak = rng.choice([1.0, 1.0, 0.95])
    biases = [BIAS if rng.random() < 0.5 else 0.0 for _ in decays]
    network = _network(decays, biases, _gains(rng, plant, decays, leak))
    variables = tuple(Variable(f"x{i}", REAL) for i in range(plant))
    x: list[Expr] = [variable.var for variable in variables]
    starts = [OneOf((Fraction(bias),)) for bias in biases for _ in range(1 if bias else 2)]
    agent = make_agent("push", [network], [x[0]], "raw", memory=starts)
    fed = [*x[1:], agent.var]
    after = {f"x{i}": b.add(b.mul(Fraction(str(leak)), x[i]), b.mul(DT, fed[i])) for i in range(plant)}
    return System("observer", variables, Init({v.name: Span(-DT, DT) for v in variables}), after, (agent,))


def _gains(rng: random.Random, plant: int, decays: Sequence[float], leak: float) -> list[float]:
    """What a push is of each filter, so that the loop is stable."""
    n, dt = plant, float(DT)
    while True:
        gains = [round(rng.uniform(-12, 12), 1) for _ in decays]
        A = np.zeros((n + len(decays), n + len(decays)))
        A[:n, :n] = leak * np.eye(n) + dt * np.eye(n, k=1)
        for place, (decay, gain) in enumerate(zip(decays, gains, strict=True), n):
            A[place, place], A[place, 0] = decay, 1 - decay
            A[n - 1, place], A[n - 1, 0] = dt * gain * decay, A[n - 1, 0] + dt * gain * (1 - decay)
        if np.abs(np.linalg.eigvals(A)).max() < STABLE:
            return gains


def _network(decays: Sequence[float], biases: Sequence[float], gains: Sequence[float]) -> Network:
    """Filters f' = decay f + (1 - decay) seen in ReLU neurons, and the sum of their gains."""
    signs = [[1.0] if bias else [1.0, -1.0] for bias in biases]
    owner = [place for place, own in enumerate(signs) for _ in own]
    sign = np.concatenate(signs)
    decay, bias, gain = (np.array(values)[owner] for values in (decays, biases, gains))
    recurrent = np.where(np.equal.outer(owner, owner), np.outer(sign * decay, sign), 0.0)
    offset = bias - sign * decay * bias  # what is remembered has the bias in it
    held = float(sum(own * bias for own, bias in zip(gains, biases, strict=True)))
    return rnn([((sign * (1 - decay))[:, None], recurrent, offset)], [((gain * sign)[None], [-held])])


def observer_formula(rng: random.Random, system: System) -> Formula:
    """`G (abs(x0) <= c)` with c around the most that runs reach, or several times that."""
    limit = _rounded(most_reached(system, FEW_STEPS) * rng.choice([0.8, 1.1, 1.3, 2.0, 5.0]) + 0.01)
    return Always(Atom(b.compare("<=", b.absolute(system.state[0].var), limit)))


def _rounded(value: float) -> Fraction:
    return Fraction(round(value * 1000), 1000)


def is_exceeded(system: System, formula: Formula) -> bool:
    """Whether long runs break the claim, by a margin."""
    assert isinstance(formula, Always)
    assert isinstance(formula.arg, Atom)
    assert isinstance(formula.arg.expr, Compare)
    limit = formula.arg.expr.args[1]
    assert isinstance(limit, Const)
    return most_reached(system, STEPS) > float(limit.value) * (1 + CLEAR)


def most_reached(system: System, steps: int) -> float:
    """How far runs go, with the corners of the initial box among their starts."""
    runs = simulate(system, RUNS, steps, np.random.default_rng(0), corners=True)
    states: Floats = runs.state[system.state[0].name]
    return float(np.abs(states).max())
