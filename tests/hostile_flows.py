"""Random flows that are made to be wrong about: kinks, roots, steep and fast fields, disturbances whose ends depend on
the state, regions far away or wide, and initial states at the very edge of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction

from tests.wild_flows import FlowCase, claim
from vernal.logic.formula import Always, And, Bound, Formula, Or
from vernal.logic.normal import order
from vernal.model import build as b
from vernal.model.expr import Expr, Function, Role
from vernal.model.flow import Flow
from vernal.model.initial import Init, OneOf, Span, Start
from vernal.model.sorts import REAL
from vernal.model.system import Variable

SPEEDS = (Fraction(1), Fraction(1), Fraction(1), Fraction(10), Fraction(1, 10), Fraction(1000))
SMOOTH = (Function.SIN, Function.COS, Function.TANH, Function.ATAN, Function.SIGMOID, Function.ERF)
WIDTHS = (Fraction(0), Fraction(1, 1000), Fraction(1, 100), Fraction(1, 20), Fraction(1, 8))  # of initial sets


def hostile_flow(seed: int) -> Flow:
    """The same for the same seed."""
    return Drawn(random.Random(seed)).flow(f"hostile {seed}")


def hostile_case(seed: int) -> FlowCase:
    """A flow with a claim; now and then one condition is asked about two spans of time."""
    rng = random.Random(seed)
    flow = Drawn(rng).flow(f"hostile {seed}")
    made = claim(rng, flow)
    return FlowCase(seed, "hostile", flow, _twice(rng, made) if rng.random() < 0.3 else made)


def _twice(rng: random.Random, formula: Formula) -> Formula:
    """The same claim about the beginning alone and about all of its time, in either order."""
    node = next((one for one in order(formula) if isinstance(one, Always)), None)
    if node is None or node.bound.upper is None:
        return formula
    short = Bound(Fraction(0), node.bound.upper / 16)
    parts = [Always(node.arg, short), Always(node.arg, node.bound)]
    rng.shuffle(parts)
    return rng.choice((And, And, Or))(tuple(parts))


class Drawn:
    """What one generator of random numbers makes."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def flow(self, name: str) -> Flow:
        """A flow in one to three variables."""
        state = tuple(self.variable(one) for one in "xyz"[: self.rng.choice((1, 1, 2, 2, 2, 3))])
        variables = [one.var for one in state]
        count = self.rng.randint(1, 2) if self.rng.random() < 0.5 else 0
        lets = {f"d{k}": self.disturbance(f"d{k}", variables) for k in range(count)}
        free = [b.var(one, REAL, (), Role.LET) for one in lets]
        speed = self.rng.choice(SPEEDS)
        rates = {one.name: speed * self.rate(variables, free) for one in state}
        return Flow(name, state, Init({one.name: self.start(one) for one in state}), rates, lets)

    def number(self, low: int, high: int, parts: int) -> Fraction:
        return Fraction(self.rng.randint(low * parts, high * parts), parts)

    def variable(self, name: str) -> Variable:
        """Its ends are rarely floats, and sometimes far away or far apart."""
        middle, radius = self.number(-1, 1, 6), self.number(1, 2, 3)
        middle *= 100 if self.rng.random() < 0.1 else 1
        radius *= 20 if self.rng.random() < 0.1 else 1
        return Variable(name, REAL, middle - radius, middle + radius)

    def start(self, variable: Variable) -> Start:
        """Often at the edge of the region, and often a point."""
        assert variable.lower is not None
        assert variable.upper is not None
        width = variable.upper - variable.lower
        low = variable.lower + width * Fraction(self.rng.randint(0, 20), 20)
        high = min(variable.upper, low + width * self.rng.choice(WIDTHS))
        return OneOf((low,)) if low == high else Span(low, high)

    def disturbance(self, name: str, variables: Sequence[Expr]) -> Expr:
        """Constant ends, or ends that depend on the state; sometimes they are the same."""
        low: Expr | Fraction = self.number(-1, 1, 5)
        width: Expr | Fraction = self.rng.choice((Fraction(0), self.number(0, 1, 10), self.number(0, 1, 5)))
        if self.rng.random() < 0.35:
            x = self.rng.choice(variables)
            low, width = low * self.rng.choice((x, b.absolute(x), b.apply(Function.SIN, x))), width + x * x / 10
        return b.between(low, low + width, name=name)

    def rate(self, variables: Sequence[Expr], free: Sequence[Expr]) -> Expr:
        terms = [self.number(-3, 3, 8) * self.term(variables) for _ in range(self.rng.randint(0, 3))]
        for d in free:
            if self.rng.random() < 0.6:
                x = self.rng.choice(variables)
                terms.append(self.rng.choice((d, d * x, b.apply(Function.SIN, d + x), d * d, b.absolute(d - x))))
        return b.add(b.const(self.number(-1, 1, 8)), *terms)

    def linear(self, variables: Sequence[Expr]) -> Expr:
        other = self.rng.choice((b.const(1), self.rng.choice(variables)))
        return self.number(-2, 2, 4) * self.rng.choice(variables) + self.number(-1, 1, 4) * other

    def term(self, variables: Sequence[Expr]) -> Expr:
        """One of many functions of a linear one."""
        x, u, v = self.rng.choice(variables), self.linear(variables), self.linear(variables)
        square = b.power(u, Fraction(2))
        made: Callable[[], Expr] = self.rng.choice(
            (
                lambda: x * self.rng.choice(variables),
                lambda: b.power(x, Fraction(self.rng.choice((2, 3, 4)))),
                lambda: b.apply(self.rng.choice(SMOOTH), 2 * u),
                lambda: b.apply(Function.EXP, u / 2),
                lambda: b.apply(Function.LOG, square + Fraction(1, 10)),
                lambda: b.apply(Function.SQRT, b.absolute(u)),
                lambda: b.apply(Function.SQRT, square + Fraction(1, 100)),
                lambda: 1 / (square + Fraction(1, 4)),
                lambda: b.power(square, Fraction(1, 3)),
                lambda: b.power(square + Fraction(1, 10), Fraction(self.rng.choice((-1, 1, 5)), 3)),
                lambda: b.relu(u) * v,
                lambda: b.absolute(u),
                lambda: b.maximum(u, v),
                lambda: b.minimum(u, square),
            )
        )
        return made()
