"""Branch and bound over boxes: right on networks whose least value is known exactly, whatever is asked of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from tests.polygons import PlainNetwork, least, random_network
from tests.portion import every, some
from tests.searches import branch_and_bound
from vernal.engines.check import asked_of, find_engine
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.formats.layers import dense, tanh
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
            x = ACTIVATIONS[network.activation](x)
    return build.component(x, 0)


def larger(x: Expr) -> Expr:
    """The larger of each two neighbours."""
    parts = [build.component(x, index) for index in range(x.size)]
    return build.concat(*(build.maximum(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)))


def jumping(x: Expr) -> Expr:
    """if(f > g, f + 1, -g) of each two neighbours."""
    parts = [build.component(x, index) for index in range(x.size)]
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return build.concat(*(build.if_(build.compare(">", f, g), f + 1, -g) for f, g in pairs))


def after_winner(x: Expr) -> Expr:
    """Of each three neighbours the one after the largest."""
    made = []
    for start in range(0, x.size, 3):
        own = build.gather(x, range(start, start + 3))
        parts = [build.component(own, index) for index in (1, 2, 0)]
        made.append(build.switch(build.argmax(own), [Fraction(0), Fraction(1), None], parts))
    return build.concat(*made)


ACTIVATIONS: dict[str, Callable[[Expr], Expr]] = {
    "relu": build.relu,
    "max": larger,
    "abs": build.absolute,
    "clip": lambda x: build.clip(x, 0, 1),
    "sign": build.sign,
    "if": jumping,
    "argmax": after_winner,
}


def over_a_box(network: PlainNetwork, box: list[tuple[Fraction, Fraction]]) -> tuple[System, Expr]:
    variables = tuple(Variable(name, REAL) for name in "xy")
    init = Init({name: Span(*ends) for name, ends in zip("xy", box, strict=True)})
    return System("plain", variables, init, {}), graph(network, [variable.var for variable in variables])


def ask(system: System, claim: Expr, engine: str = "split", seconds: float = 20) -> Result:
    return asked_of(find_engine(engine), Question(system, Atom(claim)), Budget(seconds))


def decides_the_least_value(network: PlainNetwork, box: list[tuple[Fraction, Fraction]]) -> None:
    """Claims below, at and above the least value, strictly and not."""
    value, _ = least(network, corners(box))
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


@pytest.mark.parametrize("activation", ["relu", "max"])
@pytest.mark.parametrize("widths", SHAPES, ids=str)
def test_the_least_value_of_random_networks(widths: tuple[int, ...], activation: str) -> None:
    """Below, at and above the least value, strictly and not."""
    draw = random.Random(str(widths))
    for _ in range(some(2, 1)):
        network = random_network(draw, widths, activation)
        box = random_box(draw)
        decides_the_least_value(network, box)


def random_box(draw: random.Random) -> list[tuple[Fraction, Fraction]]:
    ends = [sorted((Fraction(draw.randint(-8, 8), 4), Fraction(draw.randint(-8, 8), 4))) for _ in "xy"]
    return [(low, high + Fraction(1, 4)) for low, high in ends]


def corners(box: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    (a, b), (c, d) = box
    return [(a, c), (b, c), (b, d), (a, d)]


@pytest.mark.parametrize("seed", range(6))
def test_rows_on_the_inputs_count(seed: int) -> None:
    """Over a triangle: the least value there is another one than over the whole box."""
    draw = random.Random(seed)
    network, box = random_network(draw, (8, 8), "relu"), random_box(draw)
    (a, b), (c, d) = box
    value, _ = least(network, [(a, c), (b, c), (a, d)])
    whole, output = over_a_box(network, box)
    x, y = (variable.var for variable in whole.state)
    inside = build.compare("<=", (x - a) * (d - c) + (y - c) * (b - a), (b - a) * (d - c))
    system = whole.starting(Init(whole.init.starts, (inside,)))
    for claim, expected in (
        (build.compare("<=", value - EPSILON, output), HOLDS),
        (build.compare("<", value + EPSILON, output), VIOLATED),
        (build.compare("<=", value, output), HOLDS),
    ):
        result = ask(system, claim)
        assert result.verdict in (expected, UNKNOWN)
        if result.verdict is UNKNOWN:  # at margin zero along a line of triangles
            result = ask(system, claim, "auto")
        assert result.verdict is expected, result.reason


def test_no_initial_state_is_said() -> None:
    whole, output = over_a_box(random_network(random.Random(1), (4,), "relu"), [(Fraction(0), Fraction(1))] * 2)
    x, y = (variable.var for variable in whole.state)
    system = whole.starting(Init(whole.init.starts, (build.compare("<", x + y, -1),)))
    result = ask(system, build.compare("<", output, 0))
    assert (result.verdict, result.vacuous) == (HOLDS, True)


def smooth(draw: random.Random, widths: tuple[int, ...]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    sizes = (1, *widths, 1)
    weights = [np.array([[draw.randint(-4, 4) / 2 for _ in range(a)] for _ in range(b)]) for a, b in pairwise(sizes)]
    return weights, [np.array([draw.randint(-4, 4) / 4 for _ in range(b)]) for b in sizes[1:]]


@pytest.mark.parametrize("widths", [(4,), (8, 8), (20,)], ids=str)
def test_the_least_value_of_smooth_networks(widths: tuple[int, ...]) -> None:
    """tanh networks of one input: points on a grid and the largest slope enclose the least value."""
    draw = random.Random(str(widths))
    for _ in range(2):
        weights, biases = smooth(draw, widths)
        values = np.linspace(-1.0, 1.0, 400_001)[:, None]
        steepest = float(np.prod([np.abs(weight).sum(axis=1).max() for weight in weights]))
        x = build.concat(build.var("x"))
        for number, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            values, x = values @ weight.T + bias, dense(x, weight, bias)
            if number < len(weights) - 1:
                values, x = np.tanh(values), tanh(x)
        found = Fraction(float(values.min()))
        slack = Fraction(steepest * 2.5e-6) + EPSILON
        system = System("smooth", (Variable("x", REAL),), Init({"x": Span(Fraction(-1), Fraction(1))}), {})
        output = build.component(x, 0)
        for claim, expected in (
            (build.compare("<=", found - slack, output), HOLDS),
            (build.compare("<", found + slack, output), VIOLATED),
        ):
            result = ask(system, claim)
            assert result.verdict in (expected, UNKNOWN)
            assert result.verdict is expected, result.reason


@pytest.mark.parametrize("seed", range(3))
def test_a_stopped_search_knows_a_valid_bound(seed: int) -> None:
    """Whenever it is stopped, the least value over all that is open is not below what it says."""
    draw = random.Random(seed)
    network, box = random_network(draw, (20, 20), "relu"), random_box(draw)
    value, _ = least(network, corners(box))
    system, output = over_a_box(network, box)
    question = Question(system, Atom(build.compare("<=", value, output)))
    for batches in every(2, range(6)):
        search = branch_and_bound(question, Budget())
        assert search is not None
        search.size = 4
        for _ in range(batches):
            if search.stack:
                search.step()
        assert search.best_bound() <= 0
        assert not search.tally.traces


@pytest.mark.parametrize("activation", ["relu", "max"])
def test_bounds_hold_at_many_points(activation: str) -> None:
    """Every box of a search, closed or open, against points in it."""
    draw = random.Random(3)
    network, box = random_network(draw, (12, 12), activation), random_box(draw)
    value, _ = least(network, corners(box))
    system, output = over_a_box(network, box)
    search = branch_and_bound(Question(system, Atom(build.compare("<=", value + EPSILON / 100, output))), Budget())
    assert search is not None
    rng = np.random.default_rng(0)
    for _ in range(8):
        if not search.stack:
            break
        search.step()
        for part in search.stack:
            unit = rng.random((1000, len(part), 2))
            points = part.lower + unit * (part.upper - part.lower)
            known = search.clauses.at(search.frame.inputs(points.reshape(-1, 2)), 1000 * len(part))
            values = search.clauses.values(known)[:, search.clauses.root].reshape(1000, len(part))
            assert (values >= part.bound - 1e-9).all()


def test_a_column_without_slope_is_cut_too() -> None:
    """-min(|x|, 1/2) has flat lines below it over all of [-1, 1], and only cutting x shows that it is above -0.6."""
    variables = tuple(Variable(name, REAL) for name in "xy")
    x, y = (variable.var for variable in variables)
    half = build.const(Fraction(1, 2))
    outer = build.add(build.relu(build.sub(x, half)), build.relu(build.sub(build.neg(x), half)))
    value = build.sub(outer, build.add(build.relu(x), build.relu(build.neg(x))))
    claim = build.compare(
        ">", build.add(value, build.mul(build.const(Fraction(1, 100)), y)), build.const(Fraction(-3, 5))
    )
    system = System("tent", variables, Init({name: Span(Fraction(-1), Fraction(1)) for name in "xy"}), {})
    result = ask(system, claim)
    assert result.verdict is HOLDS
    assert int(result.statistics["boxes"]) < 1000
