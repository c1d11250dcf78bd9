"""Random closed loops and random formulas about them, small enough for brute force."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import ParamSpec

import numpy as np

from vernal.errors import NoOption
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
from vernal.model.agent import make_agent
from vernal.model.expr import Expr, Function, Matrix, Var
from vernal.model.motion import Step
from vernal.model.network import Network, network_input
from vernal.model.sorts import BOOL, INT, REAL, Kind, Sort, enum
from vernal.model.system import Agent, Init, OneOf, Span, System, Variable

Rest = ParamSpec("Rest")

MODE = enum("IDLE", "GO", "STOP")


def number(rng: random.Random) -> Fraction:
    """A short decimal, now and then a very large or a very small one."""
    if rng.random() < 0.05:
        return Fraction(rng.choice([10**6, -(10**6)])) ** rng.choice([1, -1])
    return Fraction(rng.randint(-20, 20), rng.choice([1, 2, 5, 10]))


def network(rng: random.Random, inputs: int, outputs: int) -> Network:
    x = network_input(inputs)
    hidden = b.relu(b.affine(x, _matrix(rng, 3, inputs), _vector(rng, 3)))
    return Network("net", x, b.affine(hidden, _matrix(rng, outputs, 3), _vector(rng, outputs)))


def _matrix(rng: random.Random, rows: int, columns: int) -> Matrix:
    return Matrix(np.array([[rng.randint(-4, 4) / 2 for _ in range(columns)] for _ in range(rows)]))


def _vector(rng: random.Random, size: int) -> Matrix:
    return Matrix(np.array([rng.randint(-2, 2) / 2 for _ in range(size)]))


def legal(make: Callable[Rest, System]) -> Callable[Rest, System]:
    """Draw again where it would depend on a draw whether a choice has an option left."""

    @wraps(make)
    def made(*args: Rest.args, **named: Rest.kwargs) -> System:
        while True:
            system = make(*args, **named)
            try:
                system.step  # noqa: B018 - made once and kept
            except NoOption:
                continue
            return system

    return made


@legal
def closed_loop(rng: random.Random) -> System:
    """One to three state variables, perhaps an agent, perhaps an end."""
    state = tuple(Variable(name, rng.choice([REAL, REAL, INT, MODE, BOOL])) for name in "xyz"[: rng.randint(1, 3)])
    variables = [variable.var for variable in state]
    numbers = [var for var in variables if var.sort.is_number]
    agents = _agents(rng, numbers)
    seen: list[Expr] = [*variables, *(agent.var for agent in agents)]
    following = {variable.name: value(rng, variable.sort, seen, 2) for variable in state}
    starts = {v.name: OneOf(tuple(sorted({_start(rng, v.sort) for _ in range(rng.randint(1, 2))}))) for v in state}
    enabled = condition(rng, list(variables), 1) if rng.random() < 0.25 else b.TRUE
    return System("random", state, Init(starts), following, agents, enabled=enabled)


def disturbed_loop(rng: random.Random) -> System:
    """The same with intervals to start from, disturbances, and a nonlinear term now and then."""
    system = closed_loop(rng)
    starts, following = dict(system.init.starts), dict(system.next)
    for variable in system.state:
        if variable.sort != REAL:
            continue
        low = number(rng)
        starts[variable.name] = Span(low, low + Fraction(rng.randint(0, 20), 10))
        noise = b.between(Fraction(-rng.randint(0, 3), 10), Fraction(rng.randint(0, 3), 10))
        bent = b.apply(rng.choice(list(SMOOTH)), variable.var) if rng.random() < 0.3 else following[variable.name]
        following[variable.name] = rng.choice([bent, bent + noise, bent * b.clip(variable.var, -1, 1)])
    return replace(system, init=Init(starts), motion=Step(following, system.enabled))


SMOOTH = (Function.SIN, Function.COS, Function.TANH, Function.SIGMOID)


def nonlinear_loop(rng: random.Random) -> System:
    """Two real variables from a box, one or two nonlinear terms, perhaps an agent, perhaps a disturbance."""
    state = (Variable("x", REAL), Variable("y", REAL))
    x, y = (variable.var for variable in state)
    agents: tuple[Agent, ...] = ()
    if rng.random() < 0.7:
        act = rng.choice(["argmax", "raw"])
        agents = (make_agent("agent", [_bent_network(rng, 2 if act == "argmax" else 1)], [x, y], act),)
    seen: list[Expr] = [x, y, *(agent.var for agent in agents)]
    following = {variable.name: _mixture(rng, seen) for variable in state}
    bent = rng.choice(list(following))
    following[bent] = following[bent] + _share(rng) * _bent(rng, x, y)
    if rng.random() < 0.5:
        following["y"] = following["y"] + _share(rng) * _bent(rng, y, x)
    if rng.random() < 0.3:
        following["x"] = following["x"] + b.between(Fraction(-1, 20), Fraction(1, 10))
    lows = {variable.name: Fraction(rng.randint(-20, 20), 10) for variable in state}
    starts = {name: Span(low, low + Fraction(rng.randint(0, 10), 20)) for name, low in lows.items()}
    return System("nonlinear", state, Init(starts), following, agents)


def _share(rng: random.Random) -> Fraction:
    return Fraction(rng.choice([-1, 1]) * rng.randint(1, 10), 10)


def _mixture(rng: random.Random, seen: list[Expr]) -> Expr:
    return b.add(*(Fraction(rng.randint(-6, 6), 10) * node for node in seen))


def _bent(rng: random.Random, x: Expr, y: Expr) -> Expr:
    """One nonlinear term that is defined everywhere."""
    match rng.randrange(7):
        case 0:
            return x * y
        case 1:
            return x * x * x / 4
        case 2:
            return x / (1 + y * y)
        case 3:
            return b.apply(Function.EXP, -x * x)
        case 4:
            return b.apply(Function.SQRT, 1 + x * x)
    return b.apply(rng.choice(list(SMOOTH)), rng.choice([x, x + y, 2 * x]))


def _bent_network(rng: random.Random, outputs: int) -> Network:
    """One hidden layer of ReLUs, of hyperbolic tangents, or of both multiplied as gates do."""
    x = network_input(2)
    hidden = b.affine(x, _matrix(rng, 3, 2), _vector(rng, 3))
    kind = rng.randrange(3)
    if kind == 2:
        gate = b.affine(x, _matrix(rng, 3, 2), _vector(rng, 3))
        hidden = b.apply(Function.TANH, hidden) * b.apply(Function.SIGMOID, gate)
    else:
        hidden = b.relu(hidden) if kind else b.apply(Function.TANH, hidden)
    return Network("net", x, b.affine(hidden, _matrix(rng, outputs, 3), _vector(rng, outputs)))


def _agents(rng: random.Random, numbers: list[Var]) -> tuple[Agent, ...]:
    if not numbers or rng.random() < 0.4:
        return ()
    act, labels = rng.choice([("argmax", None), ("argmax", MODE), ("raw", None)])
    outputs = 1 if act == "raw" else 3 if labels else 2
    return (make_agent("agent", [network(rng, len(numbers), outputs)], numbers, act, labels=labels),)


def _start(rng: random.Random, sort: Sort) -> Fraction:
    match sort.kind:
        case Kind.REAL:
            return number(rng)
        case Kind.INT:
            return Fraction(rng.randint(-3, 3))
        case Kind.BOOL:
            return Fraction(rng.randint(0, 1))
    return Fraction(rng.randrange(3))


def value(rng: random.Random, sort: Sort, seen: list[Expr], depth: int) -> Expr:
    """A random expression of a sort."""
    if sort.is_number:
        return _number_value(rng, sort, seen, depth)
    leaves = [node for node in seen if node.sort == sort] + [_const(sort, _start(rng, sort))]
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(leaves)
    a, c = value(rng, sort, seen, depth - 1), value(rng, sort, seen, depth - 1)
    return rng.choice([b.if_(condition(rng, seen, 0), a, c), b.choose(a, c), guarded(rng, seen, a, c)])


def guarded(rng: random.Random, seen: list[Expr], a: Expr, c: Expr) -> Expr:
    """A choice of which only some options exist, and now and then none."""
    p, q = condition(rng, seen, 0), condition(rng, seen, 0)
    kinds: list[list[Expr | b.Guarded]] = [
        [b.when(a, p), c],
        [b.when(a, p), b.when(c, ~p)],
        [b.when(a, p), b.when(c, q)],
        [b.when(a, p)],
    ]
    return b.choose(*rng.choice(kinds))


def _const(sort: Sort, number: Fraction) -> Expr:
    return b.const(bool(number)) if sort == BOOL else b.label(sort, sort.labels[int(number)])


def _number_value(rng: random.Random, sort: Sort, seen: list[Expr], depth: int) -> Expr:
    fitting = [node for node in seen if node.sort == INT or (node.sort == REAL and sort == REAL)]
    literal = b.const(Fraction(rng.randint(-3, 3)) if sort == INT else number(rng))
    if depth == 0:
        return rng.choice([*fitting, literal])
    x, y = _number_value(rng, sort, seen, depth - 1), _number_value(rng, sort, seen, depth - 1)
    scale = b.const(Fraction(rng.randint(-2, 2)) if sort == INT else Fraction(rng.randint(-4, 4), 2))
    match rng.randrange(10):
        case 0 | 1:
            return x + y
        case 2:
            return scale * x
        case 3:
            return b.if_(condition(rng, seen, 0), x, y)
        case 4:
            return b.choose(x, y)
        case 5:
            return b.maximum(x, y)
        case 6:
            return abs(x)
        case 7:
            return b.floor(x)
        case 8:
            return guarded(rng, seen, x, y)
    return b.clip(x, -5, 5)


def condition(rng: random.Random, seen: list[Expr], depth: int) -> Expr:
    """A random Boolean expression: a comparison, or a few of them."""
    if depth and rng.random() < 0.5:
        p, q = condition(rng, seen, depth - 1), condition(rng, seen, depth - 1)
        return rng.choice([p & q, p | q, ~p])
    node = rng.choice(seen)
    if node.sort.is_number:
        other = rng.choice([b.const(rng.randint(-3, 3)), *(n for n in seen if n.sort.is_number)])
        return b.compare(rng.choice(["<", "<=", "==", "!=", ">", ">="]), node, other)
    return b.eq(node, _const(node.sort, _start(rng, node.sort)))


def formula(rng: random.Random, system: System, depth: int = 3) -> Formula:
    """A random bounded formula, LTL or CTL, with a horizon of at most four."""
    quantified = rng.random() < 0.6
    return _formula(rng, [variable.var for variable in system.state], depth, 4, quantified)


def _formula(rng: random.Random, seen: list[Expr], depth: int, budget: int, quantified: bool) -> Formula:
    if depth == 0 or rng.random() < 0.15:
        return _atom(rng, seen)
    quantifier = rng.choice(list(Quantifier)) if quantified else None
    low = rng.randint(0, min(1, budget))
    high = rng.randint(low, min(low + 2, budget))
    bound = Bound(Fraction(low), Fraction(high))

    def inner(left: int) -> Formula:
        return _formula(rng, seen, depth - 1, left, quantified)

    match rng.randrange(10):
        case 0:
            return Not(inner(budget))
        case 1:
            return And((inner(budget), inner(budget)))
        case 2:
            return Or((inner(budget), inner(budget)))
        case 3:
            return Implies(inner(budget), inner(budget))
        case 4:
            return Next(inner(budget - high), high, quantifier)
        case 5:
            return Eventually(inner(budget - high), bound, quantifier)
        case 6:
            return Always(inner(budget - high), bound, quantifier)
    return rng.choice([Until, Release, Weak])(inner(budget - high), inner(budget - high), bound, quantifier)


def _atom(rng: random.Random, seen: list[Expr]) -> Formula:
    atom = condition(rng, seen, 0)
    return Atom(atom)
