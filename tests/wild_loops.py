"""Random loops that no brute force can open: memories, gates, nonlinear terms, disturbances, and claims near the edge.

Thresholds are taken from what runs really reach, a little above or below, so that most claims are close.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from tests.loops import SMOOTH, nonlinear_loop
from tests.recurrent import recurrent_loop
from vernal.interpret import concrete
from vernal.logic.formula import (
    Always,
    And,
    Atom,
    Bound,
    Eventually,
    Formula,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Release,
    Until,
    Weak,
)
from vernal.model import build as b
from vernal.model.expr import Expr
from vernal.model.motion import Step
from vernal.model.system import Span, System
from vernal.simulate.runs import Runs, simulate
from vernal.simulate.starts import NoInitialState

HORIZON = 4
RUNS = 300
KINDS = ((None,), (None,), (Quantifier.ALL,), (Quantifier.SOME,))


# Systems --------------------------------------------------------------------------------------------------------------


def memory_loop(rng: random.Random) -> System:
    """One or two recurrent agents, up to two nonlinear terms, perhaps draws, an end, weights of very different size."""
    smooth = rng.random() < 0.5
    sizes = rng.choice([(), (), (), (1.0, 1e-6, 1e6), (1.5,)])
    system = recurrent_loop(rng, spans=rng.random() < 0.8, smooth=smooth, sizes=sizes)
    following = dict(system.next)
    for name in rng.sample(sorted(following), rng.randint(0, 2)):
        following[name] = _disturbed(rng, following[name], system, smooth)
    enabled = b.TRUE
    if rng.random() < 0.15:
        enabled = b.compare("<=", system.state[0].var, rng.randint(0, 3))
    return replace(system, motion=Step(following, enabled))


def _disturbed(rng: random.Random, value: Expr, system: System, smooth: bool) -> Expr:
    x, y = (variable.var for variable in system.state)
    kinds: list[Callable[[], Expr]] = [
        lambda: value + b.between(Fraction(-1, 10), Fraction(rng.randint(0, 2), 10)),
        lambda: value + b.choose(Fraction(-1, 2), Fraction(1, 4)),
        lambda: value + b.between(b.minimum(x, 0), b.maximum(y, 0)) * Fraction(1, 4),  # ends that move with the state
        lambda: b.if_(x > y, value, b.clip(value, -1, 1)),
        lambda: b.clip(value, -2, 2),
    ]
    if smooth:
        kinds += [
            lambda: value + Fraction(1, 2) * b.apply(rng.choice(list(SMOOTH)), x + y),
            lambda: Fraction(1, 2) * value + b.clip(x, -2, 2) * b.clip(y, -2, 2) * Fraction(1, 4),
        ]
    return rng.choice(kinds)()


def curved_loop(rng: random.Random) -> System:
    """A nonlinear loop; now and then from a single point."""
    system = nonlinear_loop(rng)
    if rng.random() < 0.9:
        return system
    starts = {n: Span(s.lower, s.lower) for n, s in system.init.starts.items() if isinstance(s, Span)}
    return system.starting(replace(system.init, starts={**system.init.starts, **starts}))


# Formulas -------------------------------------------------------------------------------------------------------------


def close_formula(rng: random.Random, system: System) -> Formula:
    """Depth up to three; LTL, or CTL with one kind of quantifier."""
    return _formula(rng, _atoms(system, rng), rng.choice(KINDS), rng.randint(1, 3), HORIZON)


def _formula(
    rng: random.Random, atom: Callable[[], Expr], kinds: tuple[Quantifier | None, ...], depth: int, budget: int
) -> Formula:
    if depth == 0:
        return Atom(atom())
    quantifier = rng.choice(kinds)
    low = rng.randint(0, min(1, budget))
    high = rng.randint(low, budget)
    bound = Bound(Fraction(low), Fraction(high))

    def inner(left: int) -> Formula:
        return _formula(rng, atom, kinds, depth - 1, left)

    match rng.randrange(11):
        case 0:
            return And((inner(budget), inner(budget)))
        case 1:
            return Or((inner(budget), inner(budget)))
        case 2:
            return Implies(Atom(atom()), inner(budget))
        case 3 | 4:
            return Next(inner(budget - high), high, quantifier)
        case 5 | 6:
            return Always(inner(budget - high), bound, quantifier)
        case 7:
            return Eventually(inner(budget - high), bound, quantifier)
        case 8 if quantifier is None:
            return Not(inner(budget))
    return rng.choice([Until, Release, Weak])(inner(budget - high), inner(budget - high), bound, quantifier)


def _atoms(system: System, rng: random.Random) -> Callable[[], Expr]:
    """Comparisons of states, actions and memories (sums of two at times) with what runs reach, or nearly."""
    try:
        with np.errstate(all="ignore"):
            runs = simulate(system, RUNS, HORIZON, np.random.default_rng(rng.randrange(10**6)), corners=True)
    except NoInitialState:
        runs = None
    numbers: list[Expr] = [variable.var for variable in system.state if variable.sort.is_number]
    numbers += numbers
    numbers += [agent.var for agent in system.agents if agent.var.sort.is_number and not agent.var.shape]
    numbers += [body[i] for body in system.lets.values() if body.shape for i in range(body.size)]

    def atom() -> Expr:
        node = rng.choice(numbers)
        if rng.random() < 0.2:
            node = node + rng.choice(numbers) * rng.choice([1, -1])
        return b.compare(rng.choice(["<", "<=", ">", ">=", "<", ">", "!=", "=="]), node, _edge(rng, node, runs))

    return atom


def _edge(rng: random.Random, node: Expr, runs: Runs | None) -> Expr:
    """A number that the node comes close to at some position."""
    if runs is None:
        return b.const(rng.randint(-2, 2))
    t = rng.randint(0, HORIZON)
    with np.errstate(all="ignore"):
        (values,) = concrete.evaluate([runs.system.step.resolve(node)], runs.inputs(t))
    reached = np.broadcast_to(np.asarray(values, dtype=float), (RUNS,))
    reached = reached[np.isfinite(reached)]
    if not len(reached):
        return b.const(rng.randint(-2, 2))
    end = float(rng.choice([reached.max(), reached.min(), rng.choice(list(reached))]))
    spread = float(np.ptp(reached)) or 1.0
    return b.const(Fraction(f"{end + rng.choice([0.3, 0.05, 0.01, 0, 0, -0.01, -0.05]) * spread:.6g}"))
