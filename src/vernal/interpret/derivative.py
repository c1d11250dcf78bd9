"""Enclosures of values and of derivatives together: forward differentiation of what an exact evaluation computed.

Inputs may be balls. Then every branch is decided for all points of them, and the derivatives enclose those at all these
points; at a kink (`relu`, `max`, `abs`) they enclose every slope beside it. So between any two points a and b of the
inputs, f(a) - f(b) = M (a - b) for some matrix M of the enclosure: the mean value theorem that interval Newton needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, arb_mat, ctx, fmpq

from vernal.interpret import exact
from vernal.interpret.demand import Given, Walk, option, taken
from vernal.interpret.exact import PRECISION, Evaluation
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.calculus import CALCULUS
from vernal.interpret.numbers.reals import ExactNumber
from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.tick import Tick, idle
from vernal.model.traits import traits

Gradient = Sequence[arb]  # of one number, by each of the unknowns
Gradients = list[Gradient | None]  # of each component; None where there is no bounded derivative
UNIT = arb(0.5, 0.5)  # [0, 1]
ZERO, ONE = arb(0), arb(1)


@dataclass(frozen=True, slots=True)
class Derivatives:
    """An evaluation, and the derivatives of each component of each root by the unknowns."""

    evaluation: Evaluation
    gradients: list[Gradients]


def differentiate(
    roots: Sequence[Expr],
    inputs: Mapping[Expr, Given],
    decisions: Mapping[Expr, Given],
    seeds: Mapping[Expr, Gradients],
    unknowns: int,
    precision: int = PRECISION,
    tick: Tick = idle,
) -> Derivatives:
    """Values and derivatives of the roots by so many unknowns.

    `seeds` has the derivatives of inputs, and of disturbances, by the unknowns, for each component; an input without an
    entry does not depend on them. Decisions are those of `exact.run`, none of them lenient.
    """
    with ctx.workprec(precision):
        walk = Walk(inputs, decisions, False, tick)
        for root in roots:
            walk.visit(root)
        found = Differentiation(walk, seeds, unknowns)
        for node in walk.values:  # in the order in which they were computed, arguments first
            tick()
            found.enter(node)
        return Derivatives(exact.evaluation(walk, roots), [found.gradients(root) for root in roots])


def is_given(node: Expr) -> bool:
    """Whether a node is constant where it is decided for all points of the inputs: a label, a truth value, what jumps.

    A disturbance that is no unknown is a given number, whatever its ends depend on.
    """
    return traits(node).stepwise or isinstance(node, e.Between)


class Differentiation:
    """The derivatives of the nodes of a walk, those that depend on an unknown."""

    def __init__(self, walk: Walk, seeds: Mapping[Expr, Gradients], size: int) -> None:
        self.walk, self.seeds, self.size = walk, seeds, size
        self.known: dict[Expr, Gradients] = {}

    def enter(self, node: Expr) -> None:
        """Add a node whose arguments are known."""
        if node in self.seeds and isinstance(node, e.Var | e.Between):
            self.known[node] = list(self.seeds[node])
        elif any(arg in self.known for arg in node.args) and not is_given(node):
            self.known[node] = RULES[type(node)](node, self)

    def gradients(self, node: Expr) -> Gradients:
        """The derivatives of each component; zeros where the node does not depend on an unknown."""
        return self.known.get(node) or [[ZERO] * self.size for _ in range(node.size)]

    def component(self, node: Expr, index: int) -> Gradient | None:
        """The derivatives of a component; a scalar stands for each."""
        rows = self.gradients(node)
        return rows[index if len(rows) > 1 else 0]

    def values(self, node: Expr) -> list[Any]:
        """The components of a node."""
        value = self.walk.values[node]
        return value if isinstance(value, list) else [value] * node.size

    def combined(self, node: Expr, index: int, factors: Sequence[arb | None]) -> Gradient | None:
        """The sum of the arguments' derivatives with these factors; a factor of zero needs none."""
        total = [ZERO] * self.size
        for arg, factor in zip(node.args, factors, strict=True):
            if arg not in self.known or (factor is not None and factor.is_zero()):
                continue
            row = self.component(arg, index)
            if row is None or factor is None or not factor.is_finite():
                return None
            total = [old + factor * item for old, item in zip(total, row, strict=True)]
        return total


DerivativeRule = Callable[[Any, Differentiation], Gradients]
Partials = Callable[..., Sequence[ExactNumber | None]]  # of an operator on numbers, by each argument


def _elementwise(partials: Partials) -> DerivativeRule:
    """The rule of an operator that works component by component: partials(node, index, *arguments)."""

    def rule(node: Expr, walk: Differentiation) -> Gradients:
        columns = [_spread(walk.values(arg), node.size) for arg in node.args]
        made: Gradients = []
        for index, numbers in enumerate(zip(*columns, strict=True)):
            if all(isinstance(number, fmpq | arb) for number in numbers):
                factors = [None if one is None else arb(one) for one in partials(node, index, *numbers)]
                made.append(walk.combined(node, index, factors))
            else:
                made.append(None)
        return made

    return rule


def _spread(items: list[Any], size: int) -> list[Any]:
    return items * size if len(items) == 1 else items


def _number(value: object) -> ExactNumber | None:
    return value if isinstance(value, fmpq | arb) else None


# Partial derivatives --------------------------------------------------------------------------------------------------


def _mul(node: e.Mul, index: int, x: ExactNumber, y: ExactNumber) -> Sequence[ExactNumber | None]:
    return y, x


def _div(node: e.Div, index: int, x: ExactNumber, y: ExactNumber) -> Sequence[ExactNumber | None]:
    if reals.sign_of(y) in (None, 0):
        return None, None
    return 1 / arb(y), -arb(x) / arb(y) ** 2


def _pow(node: e.Pow, index: int, x: ExactNumber) -> Sequence[ExactNumber | None]:
    below = _number(reals.power(x, node.exponent - 1)) if node.exponent else fmpq(0)
    return (None if below is None else arb(reals.rational(node.exponent)) * below,)


def _step(x: ExactNumber, below: ExactNumber, above: ExactNumber) -> arb:
    """A slope that is one number below zero and another above; all between at zero, and where it is not known."""
    match reals.sign_of(x):
        case 1:
            return arb(above)
        case -1:
            return arb(below)
    return arb(below).union(arb(above))


def _leaky(node: e.LeakyRelu, index: int, x: ExactNumber) -> Sequence[ExactNumber | None]:
    slope = node.slopes[index if len(node.slopes) > 1 else 0]
    return (_step(x, reals.rational(slope), fmpq(1)),)


def _extremum(side: int) -> Partials:
    def partials(node: Expr, index: int, *xs: ExactNumber) -> Sequence[ExactNumber | None]:
        signed = [side * x for x in xs]
        return [_share(signed, number) for number in range(len(signed))]

    return partials


def _share(xs: Sequence[ExactNumber], number: int) -> arb:
    """How much of the maximum an argument may be: 1, nothing, or something between."""
    others = [*xs[:number], *xs[number + 1 :]]
    if any(reals.less(xs[number], other) for other in others):
        return ZERO
    return ONE if all(reals.less(other, xs[number]) for other in others) else UNIT


class BallAlgebra:
    """Balls of Arb, which have operators of their own."""

    @property
    def bell(self) -> arb:
        return 2 / arb.pi().sqrt()

    def apply(self, function: Function, x: arb) -> arb:
        found: arb = CALCULUS[function].ball(x)
        return found


def slope(function: Function, x: arb) -> arb:
    """The derivative of an elementary function on a ball."""
    entry = CALCULUS[function]
    found: arb = entry.slope(x, lambda: entry.ball(x), BallAlgebra())
    return found


def _function(node: e.Nonlinear, index: int, x: ExactNumber) -> Sequence[ExactNumber | None]:
    return (slope(node.function, arb(x)),)


def _atan2(node: e.Atan2, index: int, y: ExactNumber, x: ExactNumber) -> Sequence[ExactNumber | None]:
    square = arb(x) ** 2 + arb(y) ** 2
    return arb(x) / square, -arb(y) / square


# Vectors and control --------------------------------------------------------------------------------------------------


def _gather(node: e.Gather, walk: Differentiation) -> Gradients:
    rows = walk.gradients(node.args[0])
    return [rows[index] for index in node.indices]


def _concat(node: e.Concat, walk: Differentiation) -> Gradients:
    return [row for arg in node.args for row in walk.gradients(arg)]


def _affine(node: e.Affine, walk: Differentiation) -> Gradients:
    rows = [row for row in walk.gradients(node.args[0]) if row is not None]
    if len(rows) < node.args[0].size:
        return [None] * node.size
    made: Gradients = []
    for weights in node.weight.array.tolist():
        walk.walk.tick()
        made += (arb_mat([weights]) * arb_mat(rows)).tolist()
    return made


def _if(node: e.If, walk: Differentiation) -> Gradients:
    conditions = _spread(walk.values(node.args[0]), node.size)
    branches = {True: node.args[1], False: node.args[2]}
    return [
        walk.component(branches[truth], index) if isinstance(truth, bool) else None
        for index, truth in enumerate(conditions)
    ]


def _switch(node: e.Switch, walk: Differentiation) -> Gradients:
    branches = taken(node, walk.walk.values[node.args[0]])
    return _of_branch(branches[0] if branches else None, node, walk)


def _choose(node: e.Choose, walk: Differentiation) -> Gradients:
    return _of_branch(node.options[option(node, walk.walk)], node, walk)


def _of_branch(branch: Expr | None, node: Expr, walk: Differentiation) -> Gradients:
    return [None if branch is None else walk.component(branch, index) for index in range(node.size)]


RULES: dict[type[Expr], DerivativeRule] = {
    e.Add: _elementwise(lambda node, index, *xs: [ONE] * len(xs)),
    e.Neg: _elementwise(lambda node, index, x: [-ONE]),
    e.Mul: _elementwise(_mul),
    e.Div: _elementwise(_div),
    e.Pow: _elementwise(_pow),
    e.Relu: _elementwise(lambda node, index, x: [_step(x, fmpq(0), fmpq(1))]),
    e.LeakyRelu: _elementwise(_leaky),
    e.Abs: _elementwise(lambda node, index, x: [_step(x, fmpq(-1), fmpq(1))]),
    e.Max: _elementwise(_extremum(1)),
    e.Min: _elementwise(_extremum(-1)),
    e.Nonlinear: _elementwise(_function),
    e.Atan2: _elementwise(_atan2),
    e.Affine: _affine,
    e.Gather: _gather,
    e.Concat: _concat,
    e.If: _if,
    e.Switch: _switch,
    e.Choose: _choose,
}
