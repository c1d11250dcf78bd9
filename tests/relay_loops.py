"""Random loops that push to and fro: a plant, steady or not, and pushes of one size by the sign of a feedback.

Nobody knows the most that they reach, but long runs tell when a claim is too small.
"""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import Always, Atom, Formula
from vernal.model import build as b
from vernal.model.expr import Expr
from vernal.model.initial import Init, Span
from vernal.model.sorts import REAL
from vernal.model.system import System, Variable

RUNS, STEPS, FEW_STEPS = 300, 400, 40
CLEAR = 1e-6  # beyond which floats may say that a claim is broken
PUSH = Fraction(1, 10)


def relay_loop(rng: random.Random) -> System:
    """A chain of two to four integrators that may leak or grow, fed by one relay, at once or one step late."""
    n, late = rng.randint(2, 4), rng.random() < 0.3
    variables = tuple(Variable(f"x{i}", REAL) for i in range(n + late))
    x = [variable.var for variable in variables]
    binomial = [1.0, 1.0, 1.0] if n == 2 else [1.0, 2.0, 1.5, 0.7]
    feedback = b.add(*(b.mul(_short(rng.uniform(0.6, 1.4) * binomial[i]), x[i]) for i in range(n)), Fraction(0))
    push = b.if_(b.compare(rng.choice(["<=", "<"]), 0, feedback), -PUSH, PUSH)
    after: dict[str, Expr] = {}
    for i in range(n):
        own = b.mul(_short(rng.choice([1, 1, 0.95, 1.02])), x[i])
        fed = b.mul(PUSH, x[i + 1]) if i + 1 < n else (x[n] if late else push)
        after[f"x{i}"] = b.add(own, fed)
    if late:
        after[f"x{n}"] = push
    starts = {variable.name: Span(Fraction(-1, 10), Fraction(1, 10)) for variable in variables}
    return System("relay", variables, Init(starts), after)


def _short(value: float) -> Fraction:
    return Fraction(round(value * 100), 100)


def relay_formula(rng: random.Random, system: System) -> Formula:
    """`G (abs(x0) <= c)` with c around the most that runs reach in a while, or several times that."""
    most = float(most_reached(system, FEW_STEPS)[0])
    limit = _short(min(most, 1e6) * rng.choice([0.8, 1.1, 1.5, 3.0, 6.0]) + 0.01)
    return Always(Atom(b.compare("<=", b.absolute(system.state[0].var), limit)))


def is_broken(system: System, formula: Formula) -> bool:
    """Whether long runs break the claim, by a margin."""
    assert isinstance(formula, Always)
    assert isinstance(formula.arg, Atom)
    limit = float(formula.arg.expr.args[1].value)  # type: ignore[attr-defined]
    return float(most_reached(system, STEPS)[0]) > limit * (1 + CLEAR)


def most_reached(system: System, steps: int) -> Floats:
    """The most that runs reach in every component, corners of the initial box among their starts."""
    rng, n = np.random.default_rng(0), len(system.state)
    states = rng.uniform(-1, 1, (RUNS, n))
    states[: RUNS // 2] = np.sign(states[: RUNS // 2])
    states *= np.array([float(system.init.starts[variable.name].ends[1]) for variable in system.state])
    compiled, most = concrete.compile(list(system.step.next_state)), np.abs(states).max(axis=0)
    for _ in range(steps):
        inputs: dict[Expr, Floats] = {variable.var: states[:, i] for i, variable in enumerate(system.state)}
        states = np.column_stack([np.broadcast_to(value, (RUNS,)) for value in compiled(inputs, RUNS)])
        most = np.maximum(most, np.abs(states).max(axis=0))
        if not (np.abs(states) < 1e9).all():
            break
    return np.asarray(most)
