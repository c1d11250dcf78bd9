"""Random finite systems, and random formulas without a bound about them."""

from __future__ import annotations

import random
from fractions import Fraction

from tests.loops import MODE, condition, legal, value
from vernal.logic.formula import (
    Always,
    And,
    Atom,
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
from vernal.model.sorts import BOOL, INT
from vernal.model.system import Init, OneOf, System, Variable


@legal
def finite_loop(rng: random.Random) -> System:
    """One or two variables, integers kept between 0 and 3; choices, and now and then an end."""
    state = tuple(Variable(name, rng.choice([INT, INT, MODE, BOOL])) for name in "xy"[: rng.randint(1, 2)])
    seen: list[Expr] = [variable.var for variable in state]
    following = {v.name: _kept(v, value(rng, v.sort, seen, 2)) for v in state}
    starts = {
        v.name: OneOf(tuple(Fraction(n) for n in sorted(rng.sample(_values(v), rng.randint(1, 2))))) for v in state
    }
    enabled = condition(rng, list(seen), 1) if rng.random() < 0.25 else b.TRUE
    return System("finite", state, Init(starts), following, enabled=enabled)


def _kept(variable: Variable, after: Expr) -> Expr:
    return b.clip(after, 0, 3) if variable.sort == INT else after


def _values(variable: Variable) -> list[int]:
    return list(range(4 if variable.sort == INT else 2 if variable.sort == BOOL else 3))


def endless_formula(
    rng: random.Random, system: System, kinds: tuple[Quantifier | None, ...], depth: int = 3
) -> Formula:
    """A random formula without a bound, with these quantifiers."""
    seen: list[Expr] = [variable.var for variable in system.state]

    def made(left: int) -> Formula:
        if left == 0 or rng.random() < 0.1:
            return Atom(condition(rng, seen, 0))
        quantifier = rng.choice(kinds)
        match rng.randrange(10):
            case 0:
                return Not(made(left - 1))
            case 1:
                return And((made(left - 1), made(left - 1)))
            case 2:
                return Or((made(left - 1), made(left - 1)))
            case 3:
                return Implies(made(left - 1), made(left - 1))
            case 4:
                return Next(made(left - 1), 1, quantifier)
            case 5 | 6:
                return rng.choice([Eventually, Always])(made(left - 1), quantifier=quantifier)
        return rng.choice([Until, Release, Weak])(made(left - 1), made(left - 1), quantifier=quantifier)

    return (
        rng.choice([Eventually, Always])(made(depth - 1), quantifier=rng.choice(kinds))
        if rng.random() < 0.5
        else made(depth)
    )
