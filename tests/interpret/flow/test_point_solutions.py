"""Solutions from a point, enclosed: known solutions, every operator against a numerical one, several solutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from tests.portion import seeds
from vernal.interpret import concrete
from vernal.interpret.flow.point_solutions import Leg, SolutionPiece, follow
from vernal.interpret.flow.series import RULES
from vernal.model import build, functions
from vernal.model import expr as e
from vernal.model.expr import Expr, Var
from vernal.model.sorts import REAL
from vernal.model.traits import OPERATORS

X, Y = build.var("x", REAL), build.var("y", REAL)
HALF = Fraction(1, 2)


def at_end(
    rates: Sequence[Expr], first: Sequence[Fraction | int], until: Fraction | int, precision: int = 128
) -> tuple[list[SolutionPiece], tuple[arb, ...]]:
    start: Mapping[Var, Fraction] = {v: Fraction(x) for v, x in zip((X, Y), first, strict=False)}
    pieces = follow(rates, start, [Leg(Fraction(until), {})], precision)
    return pieces, pieces[-1].states(pieces[-1].end, pieces[-1].end) if pieces else ()


KNOWN: dict[str, tuple[list[Expr], list[Fraction | int], Fraction | int, list[float]]] = {
    "growth": ([X], [1], 1, [math.e]),
    "decay": ([-X], [1], 10, [math.exp(-10)]),
    "rotation": ([Y, -X], [1, 0], 10, [math.cos(10), -math.sin(10)]),
    "constant": ([build.const(1)], [0], 3, [3.0]),
    "logistic": ([X * (1 - X)], [Fraction(1, 10)], 5, [1 / (1 + 9 * math.exp(-5))]),
    "square root": ([2 * build.power(X, HALF)], [1], 2, [9.0]),
    "across a kink": ([abs(X) + 1], [-1], 2, [math.exp(2 - math.log(2)) - 1]),
    "at rest at a kink": ([build.relu(X)], [0], 5, [0.0]),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_solutions_are_enclosed_tightly(name: str) -> None:
    rates, first, until, expected = KNOWN[name]
    pieces, states = at_end(rates, first, until)
    assert pieces[-1].end == until
    for state, value in zip(states, expected, strict=True):
        assert abs(float(state.mid()) - value) <= 1e-9 * (1 + abs(value))
        assert float(state.rad()) <= 1e-9 * (1 + abs(value))


def test_pieces_join_and_contain_the_solution_at_all_their_times() -> None:
    pieces, _ = at_end([Y, -X], [1, 0], 3)
    assert [piece.start for piece in pieces[1:]] == [piece.end for piece in pieces[:-1]]
    for piece in pieces:
        for share in (Fraction(0), Fraction(1, 3), HALF, Fraction(1)):
            time = piece.start + share * piece.length
            exactly = arb(float(time)).cos()  # within rounding of the true time
            (x, _), whole = piece.states(time, time), piece.states(piece.start, piece.end)
            assert abs(float((x - exactly).mid())) < 1e-15
            assert float(x.rad()) < 1e-15
            assert whole[0].overlaps(x)
            assert piece.box[0].overlaps(x)


SMOOTH: dict[str, Callable[[], list[Expr]]] = {
    "sin": lambda: [functions.sin(X) + Y, functions.cos(Y) - X],
    "tan": lambda: [functions.tan(X) / 4, -Y],
    "atan": lambda: [functions.atan(Y), -X],
    "tanh": lambda: [functions.tanh(Y) + 1, -functions.tanh(X)],
    "exp": lambda: [functions.exp(-X), Y * X],
    "log": lambda: [functions.log(X + 2), -Y],
    "log1p": lambda: [functions.log1p(X + 1), -Y],
    "expm1": lambda: [functions.expm1(-X), -Y],
    "sqrt": lambda: [functions.sqrt(X + 1), build.power(X + 2, Fraction(2, 3))],
    "erf": lambda: [functions.erf(Y) + 1, -X],
    "sigmoid": lambda: [functions.sigmoid(Y), -X],
    "powers": lambda: [build.power(X + 2, -2), build.power(Y, 3) - X / (2 + Y)],
    "atan2": lambda: [build.atan2(Y + 2, X), -X],
    "largest": lambda: [build.maximum(X, Y, build.const(-1)), build.minimum(-X, Y)],
    "if": lambda: [build.if_(X < 3, Y, X), -build.relu(X) + build.leaky_relu(Y - 5, [Fraction(1, 10)])],
}


@pytest.mark.parametrize("name", SMOOTH)
def test_every_operator_agrees_with_a_numerical_solution(name: str) -> None:
    rates = SMOOTH[name]()
    first = [Fraction(1, 2), Fraction(-3, 10)]
    program = concrete.compile(rates)

    def field(_: float, state: NDArray[np.float64]) -> list[float]:
        values = program({X: np.array([state[0]]), Y: np.array([state[1]])}, 1)
        return [float(value[0]) for value in values]

    expected = solve_ivp(field, (0, 1), [float(x) for x in first], rtol=1e-11, atol=1e-12, method="DOP853").y[:, -1]
    pieces, states = at_end(rates, first, 1)
    assert pieces[-1].end == 1
    for state, value in zip(states, expected, strict=True):
        assert abs(float(state.mid()) - value) <= 1e-7
        assert float(state.rad()) <= 1e-8


def test_every_operator_has_a_series() -> None:
    """Besides leaves, draws, truth values and what is constant where it is decided."""
    others = {e.Const, e.Pi, e.Var, e.Choose, e.Between, *(kind for kind, t in OPERATORS.items() if t.stepwise)}
    assert set(RULES) == set(OPERATORS) - others


def test_no_solution_is_followed_from_where_there_are_several() -> None:
    root = functions.sqrt(X)
    assert at_end([Y, root], [0, 0], 1)[0] == []
    pieces, _ = at_end([Y, root], [Fraction(1, 100), 0], 1)
    assert pieces[-1].end == 1


def test_a_solution_that_ends_is_followed_until_then_at_most() -> None:
    pieces, _ = at_end([X * X], [1], 2)  # 1 / (1 - t)
    assert Fraction(99, 100) < pieces[-1].end < 1


def test_a_jump_ends_it() -> None:
    pieces, _ = at_end([build.if_(X < 1, build.const(1), build.const(-1))], [0], 2)
    assert Fraction(99, 100) < pieces[-1].end <= 1


def test_disturbances_change_between_legs() -> None:
    d = build.between(build.const(-1), build.const(1), "d")
    legs = [Leg(Fraction(1), {d: Fraction(1)}), Leg(Fraction(2), {d: Fraction(-1, 2)})]
    pieces = follow([d], {X: Fraction(0)}, legs, 128)
    (x,) = pieces[-1].states(Fraction(2), Fraction(2))
    assert x.contains(arb(0.5))
    assert float(x.rad()) < 1e-15
    assert follow([d], {X: Fraction(0)}, [Leg(Fraction(1), {d: Fraction(2)})], 128) == []  # outside its interval


@pytest.mark.parametrize("seed", seeds(8))
def test_random_fields_with_disturbances_agree_with_numerical_solutions(seed: int) -> None:
    """Quadratic fields, two legs; numerical solutions are as accurate as floats allow."""
    rng = np.random.default_rng(seed)
    d = build.between(build.const(-1), build.const(1), "d")
    terms = [X, Y, X * Y, X**2, functions.sin(Y), d]
    weights = rng.integers(-8, 9, (2, len(terms)))
    rates = [build.add(*(Fraction(int(w), 8) * t for w, t in zip(row, terms, strict=True))) for row in weights]
    given = [Fraction(int(v), 8) for v in rng.integers(-8, 9, 2)]
    first = [Fraction(int(v), 8) for v in rng.integers(-4, 5, 2)]
    legs = [Leg(Fraction(1, 3), {d: given[0]}), Leg(Fraction(1), {d: given[1]})]
    pieces = follow(rates, dict(zip((X, Y), first, strict=True)), legs, 128)

    def field(time: float, state: NDArray[np.float64]) -> list[float]:
        value = float(given[0] if time < 1 / 3 else given[1])
        features = np.array([state[0], state[1], state[0] * state[1], state[0] ** 2, np.sin(state[1]), value])
        return [float(row @ features / 8) for row in weights]

    state = np.array([float(x) for x in first])
    for start, end in ((0.0, 1 / 3), (1 / 3, 1.0)):
        solved = solve_ivp(field, (start, end), state, rtol=1e-12, atol=1e-13, method="DOP853", dense_output=True)
        assert solved.sol is not None
        for piece in pieces:
            if start - 1e-9 <= float(piece.start) and float(piece.end) <= end + 1e-9:
                time = piece.start + piece.length * Fraction(int(rng.integers(1, 9)), 8)
                found, whole = piece.states(time, time), piece.states(piece.start, piece.end)
                for ball, wide, value in zip(found, whole, solved.sol(float(time)), strict=True):
                    assert abs(float(ball.mid()) - value) < 1e-7
                    assert float(wide.lower()) - 1e-7 <= value <= float(wide.upper()) + 1e-7
        state = solved.y[:, -1]
    assert pieces[-1].end == 1
