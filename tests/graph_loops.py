"""Random systems with finitely many states: bounded integers, labels, ties, choices, memories, and paths that end."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tests.loops import MODE, condition, legal, value
from vernal.formats.recurrent import rnn
from vernal.logic.formula import (
    ALL_TIME,
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
from vernal.model.expr import Expr, Matrix, Role
from vernal.model.network import Network, network_input
from vernal.model.sorts import BOOL, INT, REAL, Kind
from vernal.model.system import Agent, Init, OneOf, Span, Start, System, Variable

KINDS = ((None,), (None,), (Quantifier.ALL,), (Quantifier.SOME,), tuple(Quantifier), tuple(Quantifier))


# Systems --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Size:
    """What a system is drawn from: how many variables and agents it has, and how far an integer goes from 0."""

    variables: tuple[int, ...]
    agents: tuple[int, ...]
    highs: tuple[int, ...]


LARGE = Size(variables=(1, 2, 2, 3, 3), agents=(0, 1, 1, 2), highs=(1, 2, 3, 4, 6, 9, 20))
SMALL = Size(variables=(1, 2), agents=(0, 0, 1), highs=(1, 2))  # a few dozen states: for products, and slow engines


@legal
def graph_loop(rng: random.Random, size: Size = LARGE) -> System:
    """A few discrete variables (now and then a real one that takes few values), perhaps agents."""
    sorts = [INT, INT, INT, MODE, BOOL, *([REAL] if rng.random() < 0.2 else [])]
    state = tuple(Variable(name, rng.choice(sorts)) for name in "xyz"[: rng.choice(size.variables)])
    variables: list[Expr] = [variable.var for variable in state]
    numbers = [var for var in variables if var.sort.is_number]
    agents = tuple(_agent(rng, f"agent{i}", numbers) for i in range(rng.choice(size.agents) if numbers else 0))
    seen = [*variables, *(agent.var for agent in agents if not agent.var.shape)]
    lets = {"shared": b.choose(*(value(rng, INT, seen, 0) for _ in range(2)))} if rng.random() < 0.3 else {}
    drawn = [*seen, *(b.var(name, body.sort, body.shape, Role.LET) for name, body in lets.items())]
    following = {variable.name: _following(rng, variable, drawn, size.highs) for variable in state}
    starts = {variable.name: _start(rng, variable) for variable in state}
    where = (condition(rng, variables, 1),) if rng.random() < 0.2 else ()
    enabled = condition(rng, seen, 1) if rng.random() < 0.35 else b.TRUE
    return System("graph", state, Init(starts, where), following, agents, lets, enabled)


def _following(rng: random.Random, variable: Variable, seen: list[Expr], highs: tuple[int, ...]) -> Expr:
    """Something of the variable's sort that stays within a few values."""
    x = variable.var
    if variable.sort == REAL:
        return rng.choice([b.choose(x, 1 - x), b.if_(condition(rng, seen, 0), b.const(Fraction(1, 3)), x), -x])
    if variable.sort != INT:
        return value(rng, variable.sort, seen, 2)
    high = rng.choice(highs)
    match rng.randrange(4):
        case 0:
            return b.if_(x < high, x + 1, b.const(-high))  # a clock
        case 1:
            return b.clip(x + b.choose(-1, 0, 1), -high, high)  # a walk
        case 2:
            return b.choose(
                b.when(x + 1, x < high), b.when(x - 1, x > -high), b.when(b.const(0), condition(rng, seen, 0))
            )
    return b.clip(value(rng, INT, seen, 2), -high, high)


def _start(rng: random.Random, variable: Variable) -> Start:
    match variable.sort.kind:
        case Kind.REAL:
            return OneOf((Fraction(rng.randint(-3, 3), rng.choice([1, 2, 3])),))
        case Kind.INT:
            low = rng.randint(-2, 2)
            return Span(Fraction(low), Fraction(low + rng.randint(0, 2)))
    values = range(2 if variable.sort == BOOL else len(variable.sort.labels))
    return OneOf(tuple(Fraction(value) for value in rng.sample(values, rng.randint(1, 2))))


def _agent(rng: random.Random, name: str, numbers: list[Expr]) -> Agent:
    """An argmax with ties, with memory now and then: of the last thing it saw, or of what alternates."""
    labels, outputs = rng.choice([(None, 2), (MODE, 3)])
    observe = [rng.choice([x, b.choose(x, x + 1)]) if rng.random() < 0.15 else x for x in numbers]
    if rng.random() < 0.3:
        readout = [[rng.randint(-1, 1)] for _ in range(outputs)]
        cell = ([[rng.randint(-1, 1) for _ in numbers]], [[rng.choice([0, 0, -1])]], [rng.randint(0, 1)])
        network = rnn([cell], [(readout, [rng.randint(-1, 1) for _ in range(outputs)])])
        memory = [Span(Fraction(0), Fraction(0))]
        return make_agent(name, [network], observe, "argmax", labels=labels, memory=memory)
    return make_agent(name, [integer_network(rng, len(numbers), outputs)], observe, "argmax", labels=labels)


def integer_network(rng: random.Random, inputs: int, outputs: int) -> Network:
    """Small integers, so that scores tie; now and then thirds and tenths, so that they nearly do."""
    x = network_input(inputs)
    unit = rng.choice([1.0, 1.0, 0.1, 1 / 3])
    weight = np.array([[rng.randint(-1, 1) * unit for _ in range(inputs)] for _ in range(3)])
    hidden = b.relu(b.affine(x, Matrix(weight), Matrix(np.array([rng.randint(-1, 1) * unit for _ in range(3)]))))
    second = np.array([[float(rng.randint(-1, 1)) for _ in range(3)] for _ in range(outputs)])
    return Network("net", x, b.affine(hidden, Matrix(second), Matrix(np.zeros(outputs))))


# Formulas -------------------------------------------------------------------------------------------------------------


def graph_formula(rng: random.Random, system: System, depth: int = 4) -> Formula:
    """Depth up to four, bounded or not; LTL, or CTL with any alternation. Atoms are about states, actions at times."""
    return _Formulas(rng, _atoms(system), rng.choice(KINDS), _bound, compared=1).formula(rng.randint(1, depth))


def endless_formula(
    rng: random.Random, system: System, kinds: tuple[Quantifier | None, ...] | None = None, depth: int = 3
) -> Formula:
    """The same without bounds, with these quantifiers; half of them begin with F or G."""
    kinds = rng.choice(KINDS) if kinds is None else kinds
    drawn = _Formulas(rng, _atoms(system), kinds, lambda _: ALL_TIME, compared=2)
    if rng.random() < 0.5:
        return rng.choice([Eventually, Always])(drawn.formula(depth - 1), quantifier=rng.choice(kinds))
    return drawn.formula(depth)


def _atoms(system: System) -> list[Expr]:
    """What atoms are about: variables three times as often as actions."""
    states: list[Expr] = [variable.var for _ in range(3) for variable in system.state]
    return [*states, *(agent.var for agent in system.agents if not agent.var.shape)]


@dataclass(frozen=True)
class _Formulas:
    """What formulas are drawn from."""

    rng: random.Random
    atoms: list[Expr]
    quantifiers: tuple[Quantifier | None, ...]
    bound: Callable[[random.Random], Bound]
    compared: int  # how many variables and actions an atom may be about

    def formula(self, depth: int) -> Formula:
        rng = self.rng
        if depth == 0 or rng.random() < 0.1:
            return Atom(condition(rng, [rng.choice(self.atoms) for _ in range(self.compared)], 0))
        quantifier = rng.choice(self.quantifiers)

        def inner() -> Formula:
            return self.formula(depth - 1)

        match rng.randrange(13):
            case 0 | 1:
                return Not(inner())
            case 2:
                return And((inner(), inner()))
            case 3:
                return Or((inner(), inner()))
            case 4:
                return rng.choice([Implies, Iff])(inner(), inner())
            case 5 | 6:
                return Next(inner(), rng.randint(0, 2), quantifier)
            case 7 | 8:
                return Eventually(inner(), self.bound(rng), quantifier)
            case 9 | 10:
                return Always(inner(), self.bound(rng), quantifier)
        return rng.choice([Until, Release, Weak])(inner(), inner(), self.bound(rng), quantifier)


def _bound(rng: random.Random) -> Bound:
    lower = rng.choice([0, 0, 0, 1, 2])
    return Bound(Fraction(lower), rng.choice([None, None, Fraction(lower + rng.randint(0, 3))]))
