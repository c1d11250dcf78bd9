"""Branch and bound over boxes: right on networks whose least value is known exactly, whatever is asked of it."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from tests.polygons import PlainNetwork, least, random_network
from vernal.engines.check import asked_of, find_engine
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.formats.layers import dense
from vernal.logic.formula import Atom
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.initial import Init, Span
from vernal.model.sorts import REAL
from vernal.model.system import System, Variable
from vernal.run.budget import Budget

SHAPES = [(4,), (8, 8), (6, 6, 6), (20, 20), (12, 12, 12)]
EPSILON = Fraction(1, 1000)


def graph(network: PlainNetwork, inputs: list[Expr]) -> Expr:
    """The network as an expression."""
    x = build.concat(*inputs)
    for number, (weight, bias) in enumerate(network.layers):
        x = dense(x, np.array(weight) / network.divisor, np.array(bias) / network.divisor)
        if number < len(network.layers) - 1:
            x = build.relu(x) if network.activation == "relu" else larger(x)
    return build.component(x, 0)


def larger(x: Expr) -> Expr:
    """The larger of each two neighbours."""
    parts = [build.component(x, index) for index in range(x.size)]
    return build.concat(*(build.maximum(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)))


def over_a_box(network: PlainNetwork, box: list[tuple[Fraction, Fraction]]) -> tuple[System, Expr]:
    variables = tuple(Variable(name, REAL) for name in "xy")
    init = Init({name: Span(*ends) for name, ends in zip("xy", box, strict=True)})
    return System("plain", variables, init, {}), graph(network, [variable.var for variable in variables])


def ask(system: System, claim: Expr, engine: str = "split", seconds: float = 20) -> Result:
    return asked_of(find_engine(engine), Question(system, Atom(claim)), Budget(seconds))


@pytest.mark.parametrize("activation", ["relu", "max"])
@pytest.mark.parametrize("widths", SHAPES, ids=str)
def test_the_least_value_of_random_networks(widths: tuple[int, ...], activation: str) -> None:
    """Below, at and above the least value, strictly and not."""
    draw = random.Random(str(widths))
    for _ in range(3):
        network = random_network(draw, widths, activation)
        ends = [tuple(sorted((Fraction(draw.randint(-8, 8), 4), Fraction(draw.randint(-8, 8), 4)))) for _ in "xy"]
        box = [(low, high + Fraction(1, 4)) for low, high in ends]
        (a, b), (c, d) = box
        value, _ = least(network, [(a, c), (b, c), (b, d), (a, d)])
        system, output = over_a_box(network, box)
        for claim, expected in (
            (build.compare("<=", value - EPSILON, output), HOLDS),
            (build.compare("<", value + EPSILON, output), VIOLATED),
            (build.compare("<=", value, output), HOLDS),
            (build.compare("<", value, output), VIOLATED),
        ):
            result = ask(system, claim)
            assert result.verdict in (expected, UNKNOWN), (network, box, claim)
            assert result.verdict is expected, result.reason
