"""One small graph for every operator and every elementary function, and the points at which it is looked at."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tests.interpret.sets import Ends
from vernal.interpret import exact
from vernal.model import build, graph
from vernal.model import expr as e
from vernal.model.expr import Expr, Function, Matrix
from vernal.model.sorts import BOOL

Kind = type[Expr] | Function

X, Y, P = build.var("x"), build.var("y"), build.var("p", BOOL)
V = build.var("v", shape=(2,))
HALF, QUARTER, THIRD = Fraction(1, 2), Fraction(1, 4), Fraction(1, 3)
BOX: Ends = {
    X: [(QUARTER, Fraction(1))],
    Y: [(Fraction(1), Fraction(2))],
    P: [(Fraction(0), Fraction(1))],
    V: [(Fraction(0), Fraction(1)), (-HALF, HALF)],
}
SHARES = (Fraction(0), THIRD, Fraction(1))

SAMPLES: dict[Kind, Expr] = {
    e.Const: build.const(THIRD),
    e.Pi: build.PI,
    e.Var: X,
    e.Add: build.add(X, Y, THIRD),
    e.Neg: build.neg(X),
    e.Mul: build.mul(X, Y),
    e.Div: build.div(X, Y),
    e.Pow: build.power(X, 3),
    e.Relu: build.relu(X - HALF),
    e.LeakyRelu: build.leaky_relu(X - HALF, [THIRD]),
    e.Abs: build.absolute(X - HALF),
    e.Max: build.maximum(X, Y - 1),
    e.Min: build.minimum(X, Y - 1),
    e.Sign: build.sign(X - HALF),
    e.Floor: build.floor(3 * X),
    **{function: build.apply(function, X) for function in Function},
    e.Atan2: build.atan2(X - HALF, Y),
    e.Affine: build.affine(V, Matrix(np.array([[0.5, -1.0], [3.0, 0.25]])), Matrix(np.array([0.1, -2.0]))),
    e.Gather: build.gather(V, [1, 0]),
    e.Concat: build.concat(X, V),
    e.Compare: build.compare("<", X, Y - HALF),
    e.Not: build.negate(P),
    e.And: build.conj(P, X < HALF),
    e.Or: build.disj(P, X < HALF),
    e.If: build.if_(P, X, Y),
    e.Switch: build.switch(build.floor(3 * X), [Fraction(1), None], [X, Y]),
    e.Argmax: build.argmax(V),
    e.Choose: build.choose(X, Y),
    e.Between: build.between(X, X + 1),
}


@dataclass(frozen=True)
class Sample:
    """What the inputs and the decisions are, and what the node is then, exactly."""

    inputs: dict[Expr, Any]
    taken: dict[Expr, Any]
    value: exact.ExactValue


def samples(node: Expr) -> Iterator[Sample]:
    """The node at corners and inner points of the box, under some decisions."""
    variables = graph.variables([node])
    for number, shares in enumerate(itertools.product(SHARES, repeat=sum(var.size for var in variables))):
        point = _point(variables, shares)
        decided: dict[Expr, Any] = {}
        for draw in graph.draws([node]):
            decided[draw] = Fraction(number % len(draw.args)) if isinstance(draw, e.Choose) else Fraction(number, 8)
        outcome = exact.run([node], point, decided, lenient=True)
        options: dict[Any, Any] = {draw: which for draw, which in decided.items() if isinstance(draw, e.Choose)}
        yield Sample(point, dict(outcome.reached.items()) | options, outcome.values[0])


def _point(variables: list[e.Var], shares: tuple[Fraction, ...]) -> dict[Expr, Any]:
    left = list(shares)
    point: dict[Expr, Any] = {}
    for var in variables:
        values = [low + left.pop() * (high - low) for low, high in BOX[var]]
        if var.sort == BOOL:
            values = [Fraction(value > HALF) for value in values]
        point[var] = tuple(values) if var.shape else values[0]
    return point
