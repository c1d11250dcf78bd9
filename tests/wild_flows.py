"""Random flows and claims close to what their trajectories do: most are true or false by a little.

Fields are polynomials in one to three variables, some with disturbances; `rough` ones have square roots and kinks, too.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tests.flow_runs import FlowRuns, simulated
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import Always, And, Atom, Bound, Eventually, Formula, Or
from vernal.model import build as b
from vernal.model.expr import Expr, Function, Role
from vernal.model.flow import Flow
from vernal.model.initial import Init, OneOf, Span, Start
from vernal.model.sorts import REAL
from vernal.model.system import Variable

NAMES = "xyz"
KINDS = ("polynomial", "disturbed", "rough")
RUNS, STEPS = 200, 200  # simulated to place the claims
GAPS = (Fraction(-1, 20), Fraction(-1, 100), Fraction(1, 100), Fraction(1, 20), Fraction(1, 5))  # from what is reached


@dataclass(frozen=True)
class FlowCase:
    """A flow, a formula, and the seed that makes both again."""

    seed: int
    kind: str
    flow: Flow
    formula: Formula

    def __str__(self) -> str:
        return f"seed {self.seed} ({self.kind}): {self.formula}"


def flow_case(seed: int) -> FlowCase:
    """The same for the same seed."""
    rng = random.Random(seed)
    kind = rng.choice(KINDS)
    flow = wild_flow(rng, kind)
    return FlowCase(seed, kind, flow, claim(rng, flow))


# Flows ----------------------------------------------------------------------------------------------------------------


def wild_flow(rng: random.Random, kind: str) -> Flow:
    """A field of degree two or three on a box, from a small box inside."""
    state = tuple(_variable(rng, name) for name in NAMES[: rng.choice((1, 2, 2, 2, 3, 3))])
    lets = {f"d{k}": _disturbance(rng, f"d{k}") for k in range(rng.randint(1, 2))} if kind == "disturbed" else {}
    free = [b.var(name, REAL, (), Role.LET) for name in lets]
    rates = {one.name: _rate(rng, [v.var for v in state], kind == "rough") for one in state}
    for disturbance in free:
        name = rng.choice(state).name
        rates[name] = rates[name] + (disturbance * rng.choice(state).var if rng.random() < 0.3 else disturbance)
    return Flow("wild", state, Init({one.name: _start(rng, one) for one in state}), rates, lets)


def _variable(rng: random.Random, name: str) -> Variable:
    middle, radius = Fraction(rng.randint(-2, 2), 2), Fraction(rng.randint(2, 4), 2)
    return Variable(name, REAL, middle - radius, middle + radius)


def _disturbance(rng: random.Random, name: str) -> Expr:
    low = Fraction(rng.randint(-8, 2), 20)
    return b.between(low, low + Fraction(rng.randint(0, 6), 20), name=name)


def _rate(rng: random.Random, variables: list[Expr], rough: bool) -> Expr:
    """A sum of a few monomials; a rough one has a term that is not smooth."""
    terms = [_monomial(rng, variables) for _ in range(rng.randint(1, 4))]
    if rough and rng.random() < 0.7:
        terms.append(_rough_term(rng, rng.choice(variables)))
    return b.add(b.const(Fraction(rng.randint(-4, 4), 8)), *terms)


def _monomial(rng: random.Random, variables: list[Expr]) -> Expr:
    factors = [rng.choice(variables) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
    product = b.const(Fraction(rng.choice([k for k in range(-12, 13) if k]), 8))
    for factor in factors:
        product = product * factor
    return product


def _rough_term(rng: random.Random, x: Expr) -> Expr:
    made: Callable[[Expr], Expr] = rng.choice(
        [
            lambda y: b.apply(Function.SQRT, b.absolute(y)),
            lambda y: b.power(y * y, Fraction(1, 3)),
            b.relu,
            b.absolute,
            lambda y: b.apply(Function.SIN, 2 * y),
        ]
    )
    return Fraction(rng.choice((-3, -2, -1, 1, 2, 3)), 4) * made(x)


def _start(rng: random.Random, variable: Variable) -> Start:
    """An interval well inside the region, a point now and then."""
    assert variable.lower is not None
    assert variable.upper is not None
    width = variable.upper - variable.lower
    low = variable.lower + width * Fraction(rng.randint(5, 13), 20)
    if rng.random() < 0.15:
        return OneOf((low,))
    return Span(low, low + width * Fraction(rng.randint(1, 6), 100))


# Claims ---------------------------------------------------------------------------------------------------------------


def claim(rng: random.Random, flow: Flow) -> Formula:
    """One claim, or two of them."""
    until = Fraction(rng.randint(2, 12), 8)
    runs = simulated(flow, float(until), runs=RUNS, steps=STEPS, seed=rng.randrange(1 << 30))
    parts = [_part(rng, flow, runs, until) for _ in range(rng.choice((1, 1, 1, 2)))]
    return parts[0] if len(parts) == 1 else rng.choice((And, Or))(tuple(parts))


def _part(rng: random.Random, flow: Flow, runs: FlowRuns, until: Fraction) -> Formula:
    first = rng.choice((Fraction(0), until / 4, until / 2))
    bound = Bound(first, until)
    times = (runs.times >= float(first) - 1e-9)[: runs.states.shape[1]]
    reached = runs.states[:, times].reshape(-1, len(flow.state))
    reached = reached[~np.isnan(reached[:, 0])]
    if not len(reached):  # all have left before
        reached = runs.states[:, 0]
    kind = rng.random()
    if kind < 0.4:
        return Always(Atom(_side(rng, flow, reached)), bound)
    if kind < 0.8:
        return Always(Atom(b.negate(_box(rng, flow, reached))), bound)
    return Eventually(Atom(_box(rng, flow, reached, wide=True)), bound)


def _side(rng: random.Random, flow: Flow, reached: Floats) -> Expr:
    """A half-space with an edge near the last that is reached."""
    row = [rng.choice((-1, 0, 1, 1, 2)) for _ in flow.state]
    row[rng.randrange(len(row))] = 1
    most = float((reached @ np.array(row, dtype=np.float64)).max())
    linear = b.add(*(a * var if a != 1 else var for a, var in zip(row, flow.vars, strict=True) if a))
    edge = _short(most) + rng.choice(GAPS)
    return linear < edge if rng.random() < 0.5 else linear <= edge


def _box(rng: random.Random, flow: Flow, reached: Floats, *, wide: bool = False) -> Expr:
    """A box around a state that is reached, or beside all of them."""
    point = reached[rng.randrange(len(reached))]
    radius = Fraction(rng.randint(1, 4), 10 if wide else 40)
    away = rng.randrange(len(flow.state)) if rng.random() < 0.6 and not wide else None
    sides = []
    for place, (variable, value) in enumerate(zip(flow.state, point, strict=True)):
        low, high = _short(float(value)) - radius, _short(float(value)) + radius
        if place == away:
            low = _short(float(reached[:, place].max())) + rng.choice(GAPS)
            high = low + 2 * radius
        sides += [variable.var >= low, variable.var <= high]
    return b.conj(*sides)


def _short(value: float) -> Fraction:
    return Fraction(round(value * 1000), 1000)
