"""What the engine `liveness` is held against: all states of finite systems, all short paths, and given invariants."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from tests.brute import Brute, State
from tests.loops import condition, legal, value
from vernal.engines.check import find_engine
from vernal.engines.knowledge import Known, Open, Proof
from vernal.evidence.result import Assurance
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
    Release,
    Until,
    Weak,
)
from vernal.logic.question import Question
from vernal.logic.semantics import evaluate
from vernal.model import build as b
from vernal.model.agent import make_agent
from vernal.model.expr import Expr, Matrix
from vernal.model.initial import Start
from vernal.model.network import Network, network_input
from vernal.model.sorts import BOOL, INT
from vernal.model.system import Agent, Init, OneOf, System, Variable
from vernal.reduce.base import Direction
from vernal.run.budget import Budget

MAX_STATES = 3000


# Engines for `G p` ----------------------------------------------------------------------------------------------------


class AllStates:
    """Decides `G p` on a finite system by visiting every position that can be reached."""

    name = "all states"

    def attempt(self, question: Question, budget: Budget) -> Known:
        claimed = question.formula
        assert isinstance(claimed, Always)
        assert claimed.bound.lower == 0  # a proof for all time is one up to every bound
        return self._visit(Brute(question.system, claimed, limit=400_000), claimed.arg)

    def _visit(self, brute: Brute, kept: Formula) -> Known:
        found = set(brute.starts())
        waiting = list(found)
        while waiting:
            state = waiting.pop()
            if not is_true(brute, kept, state):
                return Open(engine=self.name, reason="a state breaks it")
            fresh = set(brute.successors(state)) - found
            found |= fresh
            waiting.extend(fresh)
            if len(found) > MAX_STATES:
                return Open(engine=self.name, reason="too many states")
        return Proof(engine=self.name, direction=Direction.EXACT, assurance=Assurance.EXACT)


def is_true(brute: Brute, formula: Formula, state: State) -> bool:
    """A formula without temporal operators at a position."""
    value = evaluate(formula, lambda atom, _: brute.truth(atom, state), 1, complete=True)
    assert value is not None
    return value


@dataclass
class GivenInvariant:
    """Proves `G p` by an invariant that it is given: the initial states are in it, a step stays in it, it implies p.

    All three are asked of `paths`, about systems that begin anywhere in the invariant, inside a box.
    """

    invariant: Callable[[System], Formula]
    box: Mapping[str, Start]
    name: str = "given invariant"

    def attempt(self, question: Question, budget: Budget) -> Known:
        system, kept = question.system, question.formula
        assert isinstance(kept, Always)
        inside = self.invariant(system)
        inner = system.starting(Init({**system.init.starts, **self.box}, (_expression(inside),)))
        one_step = Bound(Fraction(0), Fraction(1))
        questions = [
            Question(system, inside),
            Question(inner, Always(And((inside, kept.arg)), Bound(Fraction(0), Fraction(0)))),
            Question(inner, Always(inside, one_step)),
        ]
        for asked in questions:
            known = find_engine("paths").attempt(asked, budget)
            if not isinstance(known, Proof):
                return Open(engine=self.name, reason=f"{asked.formula}: {known}")
        return Proof(engine=self.name, direction=Direction.OVER, assurance=Assurance.RIGOROUS)


def _expression(formula: Formula) -> Expr:
    match formula:
        case Atom(expr):
            return expr
        case Not(arg):
            return b.negate(_expression(arg))
        case And(args):
            return b.conj(*map(_expression, args))
        case Or(args):
            return b.disj(*map(_expression, args))
    raise AssertionError(formula)


# All short paths ------------------------------------------------------------------------------------------------------


def lassos(brute: Brute, longest: int, most: int) -> Iterator[tuple[list[State], int | None]]:
    """Lassos, and finite maximal paths (None), of at most so many positions."""
    waiting = [[start] for start in brute.starts()]
    for _ in range(most):
        if not waiting:
            return
        path = waiting.pop(0)
        after = brute.successors(path[-1])
        if not after:
            yield path, None
        for state in after:
            yield from ((path, loop) for loop, earlier in enumerate(path) if earlier == state)
            if len(path) < longest:
                waiting.append([*path, state])


def short_counterexample(system: System, formula: Formula, longest: int = 9, most: int = 600) -> list[State] | None:
    """A short path on which an LTL formula is false, by looking at all of them."""
    brute = Brute(system, formula, limit=400_000)
    for path, loop in itertools.islice(lassos(brute, longest, most), 4 * most):
        truth = partial(_truth, brute, path)
        if evaluate(formula, truth, len(path), loop=loop, complete=loop is None) is False:
            return path
    return None


def _truth(brute: Brute, path: list[State], atom: Expr, t: int) -> bool:
    return brute.truth(atom, path[t])


# Random finite systems ------------------------------------------------------------------------------------------------


@legal
def finite_loop(rng: random.Random) -> System:
    """One or two variables of few values, choices, perhaps an agent with many ties, perhaps an end."""
    state = tuple(Variable(name, rng.choice([INT, INT, BOOL])) for name in "xy"[: rng.randint(1, 2)])
    variables: list[Expr] = [variable.var for variable in state]
    numbers = [var for var in variables if var.sort == INT]
    agents = (_agent(rng, numbers),) if numbers and rng.random() < 0.5 else ()
    seen = [*variables, *(agent.var for agent in agents)]
    following = {v.name: _kept(v, value(rng, v.sort, seen, 2)) for v in state}
    starts = {v.name: OneOf(tuple(map(Fraction, sorted(rng.sample(range(2), rng.randint(1, 2)))))) for v in state}
    enabled = condition(rng, list(variables), 1) if rng.random() < 0.25 else b.TRUE
    return System("finite", state, Init(starts), following, agents, enabled=enabled)


def _agent(rng: random.Random, numbers: list[Expr]) -> Agent:
    x = network_input(len(numbers))
    weight = Matrix(np.array([[float(rng.randint(-1, 1)) for _ in numbers] for _ in range(2)]))
    bias = Matrix(np.array([float(rng.randint(-1, 1)) for _ in range(2)]))
    return make_agent("agent", [Network("net", x, b.affine(x, weight, bias))], numbers, "argmax")


def _kept(variable: Variable, after: Expr) -> Expr:
    return b.clip(after, 0, 3) if variable.sort == INT else after


def endless_formula(rng: random.Random, system: System, depth: int) -> Formula:
    """A random LTL formula about state and actions."""
    seen: list[Expr] = [*(variable.var for variable in system.state), *(agent.var for agent in system.agents)]

    def made(left: int) -> Formula:
        if left == 0 or rng.random() < 0.1:
            return Atom(condition(rng, seen, 0))
        args = made(left - 1), made(left - 1)
        kinds = [Not(args[0]), And(args), Or(args), Implies(*args), Next(args[0]), Eventually(args[0])]
        more = [Always(args[0]), Always(args[1]), Until(*args), Release(*args), Weak(*args)]
        return rng.choice([*kinds, *more])

    return made(depth)
