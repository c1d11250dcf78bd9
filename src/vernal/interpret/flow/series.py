"""Taylor coefficients of the solutions of x' = f(x) through a point, or through every point of a ball, enclosed.

If x(t) = x0 + x1 t + x2 t^2 + ... solves the equation, then (k + 1) x_(k+1) is the coefficient k of f(x(t)), and that
depends on x0 to x_k alone. So coefficient by coefficient, the graph of f is passed once for each: of a product it is a
sum of k + 1 products, of a quotient w = x / y it follows from w y = x, of functions from their equations, such as
s' = c x' for s = sin(x). With a ball for x0 the coefficients enclose those of the solutions through all of its points.

There is no series at a kink (`relu`, `abs`, `max`), at a jump, or at a singularity such as sqrt at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import mul
from typing import Any

from flint import arb, arb_series, ctx, fmpq

from vernal.interpret.demand import Given, Walk, taken
from vernal.interpret.derivative import is_given
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.calculus import CALCULUS
from vernal.model import expr as e
from vernal.model.expr import Expr, Function, Var
from vernal.model.sorts import BOOL
from vernal.model.tick import Tick, idle

Coefficients = list[list[arb]]  # of each variable, from the constant one on
NextCoefficient = Callable[..., arb]  # of the number k, what is known of the component, and of its arguments up to k


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
    code = SeriesCode(roots, state, decisions, order, tick)
    found = code.table[: len(state)]
    before, ctx.cap = ctx.cap, order + 1
    try:
        for k in range(order):
            for own, rate in zip(found, code.rates(k), strict=True):
                own.append(rate / (k + 1))
    except (ValueError, ZeroDivisionError):  # no value of a function
        raise NoSeries from None
    finally:
        ctx.cap = before
    if not all(coefficient.is_finite() for series in found for coefficient in series):
        raise NoSeries
    return found


@dataclass(frozen=True, slots=True)
class SeriesOperation:
    """One component of a node: how its next coefficient is found, and where it and its arguments are."""

    target: int
    function: NextCoefficient
    args: tuple[int, ...]


class SeriesCode:
    """The graph of a field as far as its taken branches go, decided on balls; run coefficient by coefficient."""

    def __init__(
        self, roots: Sequence[Expr], state: Mapping[Var, arb], decisions: Mapping[Expr, Given], order: int, tick: Tick
    ) -> None:
        inputs: dict[Expr, Given] = {}
        inputs.update(state.items())
        self.order, self.walk = order, Walk(inputs, decisions, False, tick)
        for root in roots:
            self.walk.visit(root)
        self.table: list[list[arb]] = [[value] for value in state.values()]  # the state, then constants and results
        self.operations: list[SeriesOperation] = []
        self.waves: dict[int, tuple[int, int]] = {}  # sine and cosine of a component
        self.moving: dict[Expr, list[int]] = {var: [place] for place, var in enumerate(state)}  # what depends on it
        self.constants: dict[Expr, list[int]] = {}
        self.known: set[int] = set()  # places of constants
        for node in list(self.walk.values):  # arguments first
            given = node in self.moving or node.sort == BOOL or is_given(node)
            if not given and any(arg in self.moving for arg in node.args):
                self.moving[node] = RULES[type(node)](node, self)
        self.roots = [self.places(root)[0] for root in roots]

    def rates(self, k: int) -> list[arb]:
        """The coefficients k of the roots, from those of the state up to k."""
        self.walk.tick()
        table = self.table
        for one in self.operations:
            own = table[one.target]
            own.append(one.function(k, own, *[table[place] for place in one.args]))
        return [table[place][k] for place in self.roots]

    def enter(self, function: NextCoefficient, *args: int) -> int:
        """A component that is computed from others; where it will be."""
        self.table.append([])
        self.operations.append(SeriesOperation(len(self.table) - 1, function, args))
        return len(self.table) - 1

    def constant(self, value: object) -> int:
        """A number, as a ball; where it is."""
        if not isinstance(value, fmpq | arb) or isinstance(value, bool):
            raise NoSeries
        self.table.append([arb(value), *[ZERO] * self.order])
        self.known.add(len(self.table) - 1)
        return len(self.table) - 1

    def number(self, place: int) -> arb | None:
        """The value of a constant."""
        return self.table[place][0] if place in self.known else None

    def places(self, node: Expr) -> list[int]:
        """Where the components of a node are."""
        if node in self.moving:
            return self.moving[node]
        if node not in self.constants:
            self.constants[node] = [self.constant(value) for value in self.values(node)]
        return self.constants[node]

    def values(self, node: Expr) -> list[Any]:
        """What the walk knows of each component on all of the balls."""
        value = self.walk.values[node]
        return value if isinstance(value, list) else [value] * node.size

    def product(self, x: int, y: int) -> int:
        """Of two components."""
        left, right = self.number(x), self.number(y)
        if left is not None:
            return self.enter(partial(_scaled, left), y)
        return self.enter(_product, x, y) if right is None else self.enter(partial(_scaled, right), x)

    def wave(self, x: int) -> tuple[int, int]:
        """Sine and cosine of a component."""
        if x not in self.waves:
            slope, cosine = self.enter(_slope, x), len(self.table) + 1
            self.waves[x] = self.enter(_sine, x, slope, cosine), cosine
            self.enter(_cosine, x, slope, cosine - 1)
        return self.waves[x]


# Coefficients ---------------------------------------------------------------------------------------------------------

ZERO, ONE = arb(0), arb(1)


def _dot(xs: Sequence[arb], ys: Sequence[arb]) -> arb:
    return sum(map(mul, xs, ys), ZERO)


def _total(k: int, own: list[arb], *terms: list[arb]) -> arb:
    return sum((term[k] for term in terms), ZERO)


def _opposite(k: int, own: list[arb], x: list[arb]) -> arb:
    return -x[k]


def _scaled(factor: arb, k: int, own: list[arb], x: list[arb]) -> arb:
    return factor * x[k]


def _product(k: int, own: list[arb], x: list[arb], y: list[arb]) -> arb:
    return _dot(x, y[k::-1])


def _quotient(k: int, own: list[arb], x: list[arb], y: list[arb]) -> arb:
    if k == 0 and y[0].contains(ZERO):
        raise NoSeries  # a divisor that may be 0
    return (x[k] - _dot(own, y[k:0:-1])) / y[0]


def _slope(k: int, own: list[arb], x: list[arb]) -> arb:
    """Of t x'(t)."""
    return x[k] * k


def _sine(k: int, own: list[arb], x: list[arb], slope: list[arb], cosine: list[arb]) -> arb:
    return _dot(slope[1:], cosine[k - 1 :: -1]) / k if k else x[0].sin()


def _cosine(k: int, own: list[arb], x: list[arb], slope: list[arb], sine: list[arb]) -> arb:
    return -_dot(slope[1:], sine[k - 1 :: -1]) / k if k else x[0].cos()


def _exponential(k: int, own: list[arb], x: list[arb], slope: list[arb]) -> arb:
    return _dot(slope[1:], own[::-1]) / k if k else x[0].exp()


def _anew(function: Callable[..., arb_series], k: int, own: list[arb], *args: list[arb]) -> arb:
    """From the whole series again."""
    return function(*(arb_series(arg[: k + 1], prec=k + 1) for arg in args))[k]


# Operators ------------------------------------------------------------------------------------------------------------

SeriesRule = Callable[[Any, SeriesCode], list[int]]
ElementRule = Callable[[Any, int, SeriesCode, tuple[int, ...], Sequence[Any]], int]


def _elementwise(element: ElementRule) -> SeriesRule:
    """The rule of an operator that works component by component: where one is, by its arguments' places and values."""

    def rule(node: Expr, code: SeriesCode) -> list[int]:
        values = list(zip(*(_spread(code.values(arg), node.size) for arg in node.args), strict=True))
        if not all(isinstance(value, fmpq | arb) for row in values for value in row):
            raise NoSeries
        places = zip(*(_spread(code.places(arg), node.size) for arg in node.args), strict=True)
        return [element(node, index, code, x, v) for index, (x, v) in enumerate(zip(places, values, strict=True))]

    return rule


def _computed(function: NextCoefficient) -> SeriesRule:
    """The same of one that is a function of its arguments alone."""
    return _elementwise(lambda node, index, code, places, values: code.enter(function, *places))


def _spread(items: list[Any], size: int) -> list[Any]:
    return items * size if len(items) == 1 else items


def _pow(node: e.Pow, index: int, code: SeriesCode, places: tuple[int, ...], values: Sequence[Any]) -> int:
    exponent = node.exponent
    if exponent.denominator != 1:
        if reals.sign_of(values[0]) != 1:
            raise NoSeries
        power = arb(reals.rational(exponent))
        return code.enter(partial(_anew, lambda x: (x.log() * power).exp()), *places)
    if exponent == 0:
        return code.constant(ONE)
    made = places[0]
    for digit in f"{abs(int(exponent)):b}"[1:]:
        made = code.product(made, made)
        made = code.product(made, places[0]) if digit == "1" else made
    return made if exponent > 0 else code.enter(_quotient, code.constant(ONE), made)


def _is_positive(value: Any) -> bool:
    """Which side of a kink at zero the argument is on; at the kink there is no series."""
    found = reals.sign_of(value)
    if not found:
        raise NoSeries
    return found > 0


def _relu(node: e.Relu, index: int, code: SeriesCode, places: tuple[int, ...], values: Sequence[Any]) -> int:
    return places[0] if _is_positive(values[0]) else code.constant(ZERO)


def _leaky(node: e.LeakyRelu, index: int, code: SeriesCode, places: tuple[int, ...], values: Sequence[Any]) -> int:
    if _is_positive(values[0]):
        return places[0]
    slope = arb(reals.rational(node.slopes[index if len(node.slopes) > 1 else 0]))
    return code.enter(partial(_scaled, slope), *places)


def _abs(node: e.Abs, index: int, code: SeriesCode, places: tuple[int, ...], values: Sequence[Any]) -> int:
    return places[0] if _is_positive(values[0]) else code.enter(_opposite, *places)


def _extremum(side: int) -> ElementRule:
    def winner(node: Expr, index: int, code: SeriesCode, places: tuple[int, ...], values: Sequence[Any]) -> int:
        for number, place in enumerate(places):
            others = [*values[:number], *values[number + 1 :]]
            if all(reals.less(side * other, side * values[number]) for other in others):
                return place
        raise NoSeries

    return winner


def _function(node: e.Nonlinear, index: int, code: SeriesCode, places: tuple[int, ...], values: Sequence[Any]) -> int:
    (x,), function = places, node.function
    if function in (Function.SIN, Function.COS):
        return code.wave(x)[0 if function is Function.SIN else 1]
    if function is Function.EXP:
        return code.enter(_exponential, x, code.enter(_slope, x))
    entry = CALCULUS[function]
    return code.enter(partial(_anew, entry.series or entry.ball), x)


def _atan2(node: e.Atan2, index: int, code: SeriesCode, places: tuple[int, ...], values: Sequence[Any]) -> int:
    """The angle now, and the integral of its rate of change, (x y' - y x') / (x^2 + y^2)."""
    start = reals.atan2(*values)
    if not isinstance(start, fmpq | arb):
        raise NoSeries

    def angle(y: arb_series, x: arb_series) -> arb_series:
        turn = ((x * y.derivative() - y * x.derivative()) / (x * x + y * y)).integral() if x.prec > 1 else 0 * x
        return arb(start) + turn

    return code.enter(partial(_anew, angle), *places)


# Vectors and control --------------------------------------------------------------------------------------------------


def _gather(node: e.Gather, code: SeriesCode) -> list[int]:
    items = code.places(node.args[0])
    return [items[index] for index in node.indices]


def _concat(node: e.Concat, code: SeriesCode) -> list[int]:
    return [item for arg in node.args for item in code.places(arg)]


def _affine(node: e.Affine, code: SeriesCode) -> list[int]:
    """Every row: what is constant, such as a neuron that is off, goes with the bias."""
    places = code.places(node.args[0])
    items = [(index, place) for index, place in enumerate(places) if place not in code.known]
    known = [(index, code.table[place][0]) for index, place in enumerate(places) if place in code.known]
    made = []
    for weights, bias in zip(node.weight.array.tolist(), node.bias.array.ravel().tolist(), strict=True):
        start = sum((weights[index] * value for index, value in known if value != 0), arb(bias))
        row = [(arb(weights[index]), place) for index, place in items if weights[index]]
        made.append(code.enter(_weighted([weight for weight, _ in row], start), *(place for _, place in row)))
    return made


def _weighted(weights: Sequence[arb], start: arb) -> NextCoefficient:
    def total(k: int, own: list[arb], *items: list[arb]) -> arb:
        found = _dot(weights, [item[k] for item in items])
        return found if k else found + start

    return total


def _if(node: e.If, code: SeriesCode) -> list[int]:
    branches = {True: node.args[1], False: node.args[2]}
    made: list[int] = []
    for index, truth in enumerate(_spread(code.values(node.args[0]), node.size)):
        if not isinstance(truth, bool):
            raise NoSeries
        made.append(_spread(code.places(branches[truth]), node.size)[index])
    return made


def _switch(node: e.Switch, code: SeriesCode) -> list[int]:
    branches = taken(node, code.walk.values[node.args[0]])
    if not branches:
        raise NoSeries
    return _spread(code.places(branches[0]), node.size)


RULES: dict[type[Expr], SeriesRule] = {
    e.Add: _computed(_total),
    e.Neg: _computed(_opposite),
    e.Mul: _elementwise(lambda node, index, code, places, values: code.product(*places)),
    e.Div: _computed(_quotient),
    e.Pow: _elementwise(_pow),
    e.Relu: _elementwise(_relu),
    e.LeakyRelu: _elementwise(_leaky),
    e.Abs: _elementwise(_abs),
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
