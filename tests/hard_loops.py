"""Random closed loops made of what verifiers get wrong: ties, equalities, open ends, and numbers of every size.

Everything is piecewise linear. Without intervals all starts and draws are finite, so that brute force is an oracle.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from tests.loops import MODE, condition, guarded, legal, number, value
from vernal.evidence.replay import NotAPath, Undecided, run
from vernal.evidence.trace import Trace
from vernal.logic.formula import (
    Always,
    And,
    Atom,
    Bound,
    Eventually,
    Formula,
    Iff,
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
from vernal.model.expr import Argmax, Between, Choose, Expr, Matrix, Role, Var
from vernal.model.graph import order, substitute
from vernal.model.motion import Step
from vernal.model.network import Network, network_input
from vernal.model.sorts import BOOL, INT, REAL, Kind, Sort
from vernal.model.system import Agent, Init, OneOf, Span, Start, System, Variable

OPERATORS = ("<", "<=", "==", "!=", ">", ">=")
HORIZON = 4
FAR = Fraction(10) ** 1000  # a draw beyond an end is the end


# Systems --------------------------------------------------------------------------------------------------------------


@legal
def hard_loop(rng: random.Random, intervals: bool) -> System:
    """One to three state variables, up to two agents, draws, constraints, sometimes an end."""
    state = tuple(
        Variable(name, rng.choice([REAL, REAL, REAL, INT, MODE, BOOL])) for name in "xyz"[: rng.randint(1, 3)]
    )
    variables: list[Expr] = [variable.var for variable in state]
    agents = _agents(rng, [var for var in variables if var.sort.is_number])
    seen = [*variables, *(part for agent in agents for part in _parts(agent))]
    lets = {"shared": _draw(rng, REAL, seen, intervals)} if rng.random() < 0.3 else {}
    seen += [b.var(name, body.sort, body.shape, Role.LET) for name, body in lets.items()]
    following = {variable.name: _following(rng, variable, seen, intervals) for variable in state}
    starts = {variable.name: _start(rng, variable.sort, intervals) for variable in state}
    where = tuple(condition(rng, variables, 1) for _ in range(rng.choice([0, 0, 0, 1, 2])))
    guarded = rng.random() < 0.25
    enabled = condition(rng, [*variables, *(agent.var for agent in agents if not agent.var.shape)], 1)
    return System("hard", state, Init(starts, where), following, agents, lets, enabled if guarded else b.TRUE)


def _start(rng: random.Random, sort: Sort, intervals: bool) -> Start:
    if sort != REAL or not intervals or rng.random() < 0.2:
        return OneOf(tuple(sorted({_value(rng, sort) for _ in range(rng.randint(1, 2))})))
    low = rng.choice([Fraction(0), Fraction(-1), number(rng)])
    return Span(low, low + Fraction(rng.choice([0, 0, 1, 10, 20]), 10))  # a span of no width is a point


def _value(rng: random.Random, sort: Sort) -> Fraction:
    match sort.kind:
        case Kind.REAL:
            return rng.choice([number(rng), Fraction(rng.randint(-2, 2))])
        case Kind.INT:
            return Fraction(rng.randint(-3, 3))
        case Kind.BOOL:
            return Fraction(rng.randint(0, 1))
    return Fraction(rng.randrange(3))


def _following(rng: random.Random, variable: Variable, seen: list[Expr], intervals: bool) -> Expr:
    x = variable.var
    if variable.sort != REAL or rng.random() < 0.4:
        return value(rng, variable.sort, seen, 2)
    kinds: list[Callable[[], Expr]] = [
        lambda: b.if_(x > rng.randint(-1, 1), x - 1, rng.choice([x, x + 1, b.const(0)])),  # a jump
        lambda: b.floor(x) + Fraction(rng.randint(0, 1), 2),  # a supremum that is not attained
        lambda: x - b.floor(x),
        lambda: b.choose(x, -x) + b.choose(x, -x),  # two equal choices are two
        lambda: guarded(rng, seen, x - 1, x + Fraction(1, 2)),  # what exists jumps
        lambda: _draw(rng, REAL, seen, intervals) - _draw(rng, REAL, seen, intervals),
        lambda: x * Fraction(10) ** rng.choice([6, -6]) + rng.choice([0, 1]) * x,
        lambda: x + _draw(rng, REAL, seen, intervals),
        lambda: b.minimum(b.maximum(x, -1), value(rng, REAL, seen, 1)),
    ]
    return rng.choice(kinds)()


def _draw(rng: random.Random, sort: Sort, seen: list[Expr], intervals: bool) -> Expr:
    if intervals and rng.random() < 0.6:
        low = rng.choice([b.const(0), b.const(Fraction(-1, 10)), value(rng, REAL, seen, 0)])
        return b.between(low, low + Fraction(rng.choice([0, 1, 10]), 10))
    return b.choose(value(rng, sort, seen, 0), value(rng, sort, seen, 0))


def _agents(rng: random.Random, numbers: list[Expr]) -> tuple[Agent, ...]:
    if not numbers:
        return ()
    return tuple(_agent(rng, f"agent{i}", numbers) for i in range(rng.choice([0, 1, 1, 2])))


def _agent(rng: random.Random, name: str, numbers: list[Expr]) -> Agent:
    act, labels, outputs = rng.choice([("argmax", None, 2), ("argmax", MODE, 3), ("raw", None, 1), ("raw", None, 2)])
    return make_agent(name, [_network(rng, len(numbers), outputs)], numbers, act, labels=labels)


def _network(rng: random.Random, inputs: int, outputs: int) -> Network:
    """Three hidden neurons; often two equal outputs, which tie everywhere, and sizes far apart."""
    x = network_input(inputs)
    sizes = rng.choice([[1.0], [1.0], [1e-6, 1e6]])
    first = np.array([[rng.randint(-4, 4) / 2 * rng.choice(sizes) for _ in range(inputs)] for _ in range(3)])
    second = np.array([[rng.randint(-4, 4) / 2 * rng.choice(sizes) for _ in range(3)] for _ in range(outputs)])
    bias = np.array([rng.randint(-2, 2) / 2 for _ in range(outputs)])
    if outputs > 1 and rng.random() < 0.4:
        second[1], bias[1] = second[0], bias[0]
    hidden = b.relu(b.affine(x, Matrix(first), Matrix(np.array([rng.randint(-2, 2) / 2 for _ in range(3)]))))
    return Network("net", x, b.affine(hidden, Matrix(second), Matrix(bias)))


def _parts(agent: Agent) -> list[Expr]:
    return [agent.var[i] for i in range(agent.var.size)] if agent.var.shape else [agent.var]


# Paths ----------------------------------------------------------------------------------------------------------------


def walk(rng: random.Random, system: System, steps: int, first: dict[str, Fraction] | None = None) -> Trace | None:
    """A random path in exact numbers, ends of intervals preferred; None where the first state is not an initial one."""
    taken: list[dict[Expr, int | Fraction]] = []
    taken += [{node: _taken(rng, node) for node in system.step.names} for _ in range(steps + 1)]
    try:
        return run(system, first or any_start(rng, system), taken, steps)
    except (NotAPath, Undecided):
        return None


def any_start(rng: random.Random, system: System) -> dict[str, Fraction]:
    """A value for each variable; constraints are not looked at."""
    return {variable.name: _point(rng, system.init.starts[variable.name]) for variable in system.state}


def _point(rng: random.Random, start: Start) -> Fraction:
    if isinstance(start, OneOf):
        return rng.choice(start.values)
    grid = start.lower + (start.upper - start.lower) * Fraction(rng.randint(0, 20), 20)
    return rng.choice([start.lower, start.upper, grid, grid])


def _taken(rng: random.Random, node: Choose | Between | Argmax) -> int | Fraction:
    match node:
        case Choose():
            return rng.randrange(len(node.options))
        case Argmax():
            return rng.randrange(node.args[0].size)
    return rng.choice([-FAR, FAR, Fraction(rng.randint(-10, 10), 10)])


def gridded(system: System) -> System:
    """The system with its intervals replaced by both ends and the middle, as a choice: some of its paths."""
    roots = [*system.next.values(), *system.lets.values()]
    while draws := [node for node in order(roots) if isinstance(node, Between)]:
        node = draws[0]
        low, high = node.args
        options = b.choose(low, (low + high) * Fraction(1, 2), high)
        roots = list(substitute(roots, {node: replace(options, sort=node.sort)}))  # whole ends do not make it whole
    following = dict(zip(system.next, roots, strict=False))
    return replace(
        system,
        motion=Step(following, system.enabled),
        lets=dict(zip(system.lets, roots[len(system.next) :], strict=True)),
    )


# Formulas -------------------------------------------------------------------------------------------------------------


def hard_formula(rng: random.Random, system: System) -> Formula:
    """Depth up to four, LTL or CTL with any alternation; many atoms are met with equality by some path."""
    met = [trace for trace in (walk(rng, system, HORIZON) for _ in range(4)) if trace is not None]
    atoms = [variable.var for variable in system.state]
    actions = [part for agent in system.agents for part in _parts(agent)]
    seen: list[Expr] = [*atoms, *atoms, *actions]
    kinds = rng.choice([(None,), (Quantifier.ALL,), (Quantifier.SOME,), tuple(Quantifier), tuple(Quantifier)])
    return _formula(rng, seen, met, kinds, rng.randint(1, 4), HORIZON)


def _formula(
    rng: random.Random,
    seen: list[Expr],
    met: list[Trace],
    kinds: tuple[Quantifier | None, ...],
    depth: int,
    budget: int,
) -> Formula:
    if depth == 0 or rng.random() < 0.1:
        return Atom(_atom(rng, seen, met))
    quantifier = rng.choice(kinds)
    low = rng.randint(0, min(1, budget))
    high = rng.randint(low, min(low + 2, budget))
    bound = Bound(Fraction(low), Fraction(high))

    def inner(left: int) -> Formula:
        return _formula(rng, seen, met, kinds, depth - 1, left)

    match rng.randrange(12):
        case 0:
            return Not(inner(budget))
        case 1:
            return And((inner(budget), inner(budget)))
        case 2 | 3:
            return Or((inner(budget), inner(budget)))
        case 4:
            return rng.choice([Implies, Iff])(inner(budget), inner(budget))
        case 5 | 6:
            return Next(inner(budget - high), high, quantifier)
        case 7:
            return Eventually(inner(budget - high), bound, quantifier)
        case 8:
            return Always(inner(budget - high), bound, quantifier)
    return rng.choice([Until, Release, Weak])(inner(budget - high), inner(budget - high), bound, quantifier)


def _atom(rng: random.Random, seen: list[Expr], met: list[Trace]) -> Expr:
    """A comparison; half of the time with a value that some path has there."""
    node = rng.choice(seen)
    if met and isinstance(node, Var) and node.sort.is_number and node.role is Role.STATE and rng.random() < 0.6:
        reached = rng.choice(rng.choice(met).steps).state[node.name]
        if isinstance(reached, Fraction):
            return b.compare(rng.choice(OPERATORS), node, b.const(reached))
    return condition(rng, [node], 0)
