"""Taylor coefficients of the solutions of x' = f(x) through a point, or through every point of a ball, enclosed.

If x(t) = x0 + x1 t + x2 t^2 + ... solves the equation, then so does the series of f(x(t)), integrated. Beginning with
x0 alone, every pass over the graph of f in the arithmetic of power series yields one more coefficient. With a ball
for x0 the coefficients enclose those of the solutions through all of its points.

There is no series at a kink (`relu`, `abs`, `max`), at a jump, or at a singularity such as sqrt at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flint import arb, arb_series, ctx, fmpq

from vernal.interpret.demand import Given, Walk, taken
from vernal.interpret.derivative import is_given
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.calculus import CALCULUS
from vernal.model import expr as e
from vernal.model.expr import Expr, Var
from vernal.model.sorts import BOOL
from vernal.model.tick import Tick, idle

PowerSeries = arb_series | arb  # a constant is a ball
Coefficients = list[list[arb]]  # of each variable, from the constant one on


class NoSeries(Exception):
    """The field is not known to be smooth on these balls."""


def taylor(
    roots: Sequence[Expr],
    state: Mapping[Var, arb],
    decisions: Mapping[Expr, Given],
    order: int,
    tick: Tick = idle,
) -> Coefficients:
    """The coefficients 0 to `order` of the solutions through a state; the caller has set the working precision.

    `roots` are the rates of change of the state's variables, in their order; `decisions` the disturbances' values.
    """
    code = SeriesCode(roots, state, decisions, tick)
    start = list(state.values())
    found = [arb_series([value], prec=1) for value in start]
    before, ctx.cap = ctx.cap, order + 1
    try:
        for length in range(1, order + 1):
            rates = code.rates([arb_series(x.coeffs(), prec=length) for x in found], length)
            found = [value + rate.integral() for value, rate in zip(start, rates, strict=True)]
    finally:
        ctx.cap = before
    return [_finite([series[k] for k in range(order + 1)]) for series in found]


def _finite(coefficients: list[arb]) -> list[arb]:
    if not all(coefficient.is_finite() for coefficient in coefficients):
        raise NoSeries
    return coefficients


class SeriesCode:
    """The graph of a field as far as its taken branches go, decided on balls; run in power series of any length."""

    def __init__(
        self, roots: Sequence[Expr], state: Mapping[Var, arb], decisions: Mapping[Expr, Given], tick: Tick
    ) -> None:
        self.roots, self.vars = roots, tuple(state)
        inputs: dict[Expr, Given] = {}
        inputs.update(state.items())
        self.walk = Walk(inputs, decisions, False, tick)
        for root in roots:
            self.walk.visit(root)
        self.known: dict[Expr, list[PowerSeries]] = {}
        self.moving: list[Expr] = []  # what depends on the state, arguments first
        dependent: set[Expr] = set(self.vars)
        for node in self.walk.values:
            if node not in dependent and node.sort != BOOL:
                if is_given(node) or not any(arg in dependent for arg in node.args):
                    continue
                dependent.add(node)
                self.moving.append(node)

    def rates(self, state: Sequence[arb_series], length: int) -> list[arb_series]:
        """The roots along these series of the state."""
        self.known = {var: [series] for var, series in zip(self.vars, state, strict=True)}
        for node in self.moving:
            self.walk.tick()
            try:
                self.known[node] = RULES[type(node)](node, self)
            except (ValueError, ZeroDivisionError):  # a divisor that may be 0
                raise NoSeries from None
        return [self._root(root, length) for root in self.roots]

    def _root(self, root: Expr, length: int) -> arb_series:
        (value,) = self.series(root)
        return arb_series([value], prec=length) if isinstance(value, arb) else value

    def series(self, node: Expr) -> list[PowerSeries]:
        """The components of a node; constants as balls."""
        if node not in self.known:
            self.known[node] = [_ball(value) for value in self.values(node)]
        return self.known[node]

    def values(self, node: Expr) -> list[Any]:
        """What the walk knows of each component on all of the balls."""
        value = self.walk.values[node]
        return value if isinstance(value, list) else [value] * node.size


def _ball(value: object) -> arb:
    if isinstance(value, fmpq | arb) and not isinstance(value, bool):
        return arb(value)
    raise NoSeries


SeriesRule = Callable[[Any, SeriesCode], list[PowerSeries]]


def _elementwise(function: Callable[..., PowerSeries]) -> SeriesRule:
    """The rule of an operator that works component by component: function(node, arguments, their values)."""

    def rule(node: Expr, code: SeriesCode) -> list[PowerSeries]:
        series = zip(*(_spread(code.series(arg), node.size) for arg in node.args), strict=True)
        values = list(zip(*(_spread(code.values(arg), node.size) for arg in node.args), strict=True))
        if not all(isinstance(value, fmpq | arb) for row in values for value in row):
            raise NoSeries
        return [function(node, index, x, v) for index, (x, v) in enumerate(zip(series, values, strict=True))]

    return rule


def _spread(items: list[Any], size: int) -> list[Any]:
    return items * size if len(items) == 1 else items


# Operators ------------------------------------------------------------------------------------------------------------


def _sum(node: Expr, index: int, xs: Sequence[PowerSeries], values: Sequence[Any]) -> PowerSeries:
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return total


def _pow(node: e.Pow, index: int, xs: Sequence[PowerSeries], values: Sequence[Any]) -> PowerSeries:
    exponent = node.exponent
    if exponent.denominator == 1:
        power = xs[0] ** abs(int(exponent))
        return power if exponent >= 0 else 1 / power
    if reals.sign_of(values[0]) != 1:
        raise NoSeries
    return (xs[0].log() * arb(reals.rational(exponent))).exp()


def _is_positive(value: Any) -> bool:
    """Which side of a kink at zero the argument is on; at the kink there is no series."""
    found = reals.sign_of(value)
    if not found:
        raise NoSeries
    return found > 0


def _leaky(node: e.LeakyRelu, index: int, xs: Sequence[PowerSeries], values: Sequence[Any]) -> PowerSeries:
    slope = node.slopes[index if len(node.slopes) > 1 else 0]
    return xs[0] if _is_positive(values[0]) else xs[0] * arb(reals.rational(slope))


def _extremum(side: int) -> Callable[..., PowerSeries]:
    def winner(node: Expr, index: int, xs: Sequence[PowerSeries], values: Sequence[Any]) -> PowerSeries:
        for number, x in enumerate(xs):
            others = [*values[:number], *values[number + 1 :]]
            if all(reals.less(side * other, side * values[number]) for other in others):
                return x
        raise NoSeries

    return winner


def _function(node: e.Nonlinear, index: int, xs: Sequence[PowerSeries], values: Sequence[Any]) -> PowerSeries:
    entry = CALCULUS[node.function]
    made: PowerSeries = (entry.series or entry.ball)(xs[0])
    return made


def _atan2(node: e.Atan2, index: int, args: Sequence[PowerSeries], values: Sequence[Any]) -> PowerSeries:
    """The angle now, and the integral of its rate of change, (x y' - y x') / (x^2 + y^2)."""
    length = max(one.prec for one in args if isinstance(one, arb_series))
    y, x = (one if isinstance(one, arb_series) else arb_series([one], prec=length) for one in args)
    start = reals.atan2(*values)
    turn = ((x * y.derivative() - y * x.derivative()) / (x * x + y * y)).integral() if length > 1 else 0 * x
    return _ball(start) + turn


# Vectors and control --------------------------------------------------------------------------------------------------


def _gather(node: e.Gather, code: SeriesCode) -> list[PowerSeries]:
    items = code.series(node.args[0])
    return [items[index] for index in node.indices]


def _concat(node: e.Concat, code: SeriesCode) -> list[PowerSeries]:
    return [item for arg in node.args for item in code.series(arg)]


def _affine(node: e.Affine, code: SeriesCode) -> list[PowerSeries]:
    items = code.series(node.args[0])
    made: list[PowerSeries] = []
    for weights, bias in zip(node.weight.array.tolist(), node.bias.array.ravel().tolist(), strict=True):
        total: PowerSeries = arb(bias)
        for weight, item in zip(weights, items, strict=True):
            total = total + arb(weight) * item
        made.append(total)
    return made


def _if(node: e.If, code: SeriesCode) -> list[PowerSeries]:
    branches = {True: node.args[1], False: node.args[2]}
    made: list[PowerSeries] = []
    for index, truth in enumerate(_spread(code.values(node.args[0]), node.size)):
        if not isinstance(truth, bool):
            raise NoSeries
        made.append(_spread(code.series(branches[truth]), node.size)[index])
    return made


def _switch(node: e.Switch, code: SeriesCode) -> list[PowerSeries]:
    branches = taken(node, code.walk.values[node.args[0]])
    if not branches:
        raise NoSeries
    return _spread(code.series(branches[0]), node.size)


RULES: dict[type[Expr], SeriesRule] = {
    e.Add: _elementwise(_sum),
    e.Neg: _elementwise(lambda node, index, xs, values: -xs[0]),
    e.Mul: _elementwise(lambda node, index, xs, values: xs[0] * xs[1]),
    e.Div: _elementwise(lambda node, index, xs, values: xs[0] / xs[1]),
    e.Pow: _elementwise(_pow),
    e.Relu: _elementwise(lambda node, index, xs, values: xs[0] if _is_positive(values[0]) else arb(0)),
    e.LeakyRelu: _elementwise(_leaky),
    e.Abs: _elementwise(lambda node, index, xs, values: xs[0] if _is_positive(values[0]) else -xs[0]),
    e.Max: _elementwise(_extremum(1)),
    e.Min: _elementwise(_extremum(-1)),
    e.Nonlinear: _elementwise(_function),
    e.Atan2: _elementwise(_atan2),
    e.Affine: _affine,
    e.Gather: _gather,
    e.Concat: _concat,
    e.If: _if,
    e.Switch: _switch,
}
