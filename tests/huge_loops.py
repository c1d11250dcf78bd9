"""Random loops of numbers from 1e-330 to 1e400: what overflows, underflows, or meets only to cancel.

Draws and starts are intervals or finite; everything is rational, so that sampled paths are exact. Thresholds are taken
from what paths really reach, so that most claims are close.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tests.hard_loops import walk
from vernal.evidence.trace import Trace
from vernal.logic.formula import Always, And, Atom, Bound, Eventually, Formula, Next, Or, Quantifier, Until
from vernal.model import build as b
from vernal.model.agent import make_agent
from vernal.model.expr import Expr, Matrix
from vernal.model.network import Network, network_input
from vernal.model.sorts import REAL
from vernal.model.system import Agent, Init, OneOf, Span, Start, System, Variable

EXPONENTS = (-330, -308, -300, -160, -20, 20, 150, 200, 280, 300, 307, 308, 309, 400)
HORIZON = 3
LONG = (12, 40, 200)  # steps of a doubling


def magnitude(rng: random.Random, often: float = 0.4) -> Fraction:
    """A short decimal, often of a size that floats hardly have or do not have."""
    short = Fraction(rng.choice([-1, 1]) * rng.randint(1, 19), 10)
    return short * Fraction(10) ** rng.choice(EXPONENTS) if rng.random() < often else short


# Systems --------------------------------------------------------------------------------------------------------------


def huge_loop(rng: random.Random) -> System:
    """One or two real variables, perhaps an agent with very large or very small weights."""
    state = tuple(Variable(name, REAL) for name in "xy"[: rng.randint(1, 2)])
    variables: list[Expr] = [variable.var for variable in state]
    agents = (_agent(rng, variables),) if rng.random() < 0.2 else ()
    seen = [*variables, *(agent.var for agent in agents)]
    starts = {variable.name: _start(rng) for variable in state}
    following = {variable.name: _following(rng, variable.var, seen) for variable in state}
    return System("huge", state, Init(starts), following, agents)


def _start(rng: random.Random) -> Start:
    low = rng.choice([Fraction(0), Fraction(1), magnitude(rng, 0.5)])
    width = rng.choice([Fraction(0), Fraction(1), Fraction(1), abs(magnitude(rng, 0.5))])
    return Span(low, low + width) if rng.random() < 0.7 else OneOf(tuple(sorted({low, low + width})))


def _following(rng: random.Random, x: Expr, seen: list[Expr]) -> Expr:
    other = rng.choice(seen)
    kinds: list[Callable[[], Expr]] = [
        lambda: x + magnitude(rng) * _draw(rng),
        lambda: magnitude(rng) * x + _draw(rng),
        lambda: magnitude(rng) * x + magnitude(rng) * other + magnitude(rng),
        lambda: x / magnitude(rng, 0.8) + other,
        lambda: _clipped(rng, rng.choice([x, _draw(rng), x + _draw(rng)])) + rng.choice([other, -x, b.const(0)]),
        lambda: b.if_(x > magnitude(rng), other, magnitude(rng) * x),
        lambda: b.if_(_draw(rng) * x <= other, x + 1, b.choose(magnitude(rng), x)),
        lambda: b.maximum(x, magnitude(rng) * other) - b.minimum(other, magnitude(rng)),
        lambda: abs(x + magnitude(rng, 0.8)) - magnitude(rng, 0.8),
        lambda: (x + magnitude(rng, 1)) - magnitude(rng, 1) * b.const(1),
        lambda: b.relu(magnitude(rng) * x) - b.relu(magnitude(rng) * other),
        lambda: b.clip(x, -2, 2) * b.clip(other, -3, magnitude(rng)),
        lambda: magnitude(rng, 0.8) * (magnitude(rng, 0.8) * x) + _draw(rng),
        lambda: 2 * x,
        lambda: x + b.between(Fraction(-1), Fraction(2)),
    ]
    return rng.choice(kinds)()


def _draw(rng: random.Random) -> Expr:
    low, high = sorted([magnitude(rng, 0.3), magnitude(rng, 0.3)])
    return b.between(low, high) if rng.random() < 0.7 else b.choose(low, high)


def _clipped(rng: random.Random, value: Expr) -> Expr:
    """Often one end is so far away that nothing ever comes there."""
    low, high = sorted([magnitude(rng, 0.6), magnitude(rng, 0.6)])
    return b.clip(value, low, high)


def _agent(rng: random.Random, numbers: list[Expr]) -> Agent:
    """Weights as floats have them, the largest and the smallest among them."""
    x = network_input(len(numbers))
    sizes = [1.0, 1.0, 1.0, 1e-300, 1e-160, 1e150, 1e300]

    def matrix(*shape: int) -> Matrix:
        entries = [rng.randint(-4, 4) / 2 * rng.choice(sizes) for _ in range(int(np.prod(shape)))]
        return Matrix(np.array(entries).reshape(shape))

    act, outputs = rng.choice([("argmax", 2), ("raw", 1)])
    hidden = b.relu(b.affine(x, matrix(2, len(numbers)), matrix(2)))
    network = Network("net", x, b.affine(hidden, matrix(outputs, 2), matrix(outputs)))
    return make_agent("agent", [network], numbers, act)


# Formulas -------------------------------------------------------------------------------------------------------------


def huge_formula(rng: random.Random, system: System) -> Formula:
    """A claim of all paths, now and then of some path, close to what paths reach; a few look very far ahead."""
    steps = rng.choice(LONG) if rng.random() < 0.08 else rng.randint(1, HORIZON)
    walks = (walk(rng, system, min(steps, HORIZON)) for _ in range(3))
    met = [trace for trace in walks if trace is not None]
    quantifier = rng.choice([None, Quantifier.ALL, Quantifier.ALL, Quantifier.SOME])
    if steps > HORIZON:
        return Next(_claim(rng, system, met, steps), steps, quantifier)
    bound = Bound(Fraction(rng.randint(0, 1)), Fraction(steps))
    p = _claim(rng, system, met, steps)
    match rng.randrange(6):
        case 0 | 1 | 2:
            return Next(p, steps, quantifier)
        case 3:
            return Always(p, bound, quantifier)
        case 4:
            return Eventually(p, bound, quantifier)
    return Until(_claim(rng, system, met, 0), p, bound, quantifier)


def _claim(rng: random.Random, system: System, met: list[Trace], t: int) -> Formula:
    atoms = tuple(Atom(_atom(rng, system, met, t)) for _ in range(rng.choice([1, 1, 2])))
    return atoms[0] if len(atoms) == 1 else rng.choice([And, Or])(atoms)


def _atom(rng: random.Random, system: System, met: list[Trace], t: int) -> Expr:
    """A comparison with a number that a path has there, or with one far from it."""
    variable = rng.choice(system.state)
    number = magnitude(rng)
    if met and rng.random() < 0.7:
        reached = rng.choice(met).steps[min(t, HORIZON)].state[variable.name]
        if isinstance(reached, Fraction):
            number = reached + rng.choice([Fraction(0), Fraction(1), Fraction(-1), abs(reached) / 10, magnitude(rng)])
    return b.compare(rng.choice(["<", "<=", ">", ">=", "==", "!="]), variable.var, b.const(number))
