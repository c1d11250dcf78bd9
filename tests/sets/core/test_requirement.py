"""Conditions as rows: true at a point exactly where the condition is, and impossible only where it is true nowhere."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

from tests.portion import seeds
from vernal.interpret import exact
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Argmax, Expr
from vernal.model.graph import order
from vernal.sets.core.clauses import Clauses
from vernal.sets.core.requirement import requirement

X, Y = build.var("x"), build.var("y")
GRID = [Fraction(i, 2) for i in range(-4, 5)]


THIRD = Fraction(1, 3)  # no float


def term(draw: random.Random, odd: Fraction) -> Expr:
    factors = [draw.choice([Fraction(-2), Fraction(-1), Fraction(0), Fraction(2), odd]) for _ in range(3)]
    inner = draw.choice([X, Y, build.relu(build.sub(X, Y)), build.maximum(X, Y), build.absolute(Y)])
    return build.add(build.mul(factors[0], X), build.mul(factors[1], Y), build.mul(factors[2], inner))


def condition(draw: random.Random, depth: int, odd: Fraction) -> Expr:
    if depth == 0:
        scores = build.concat(term(draw, odd), term(draw, odd), term(draw, odd))
        if draw.random() < 0.3:
            return build.compare(draw.choice(["==", "!=", "<", "<="]), build.argmax(scores), draw.randint(0, 2))
        return build.compare(draw.choice(["<", "<=", "==", "!="]), term(draw, odd), draw.randint(-2, 2))
    parts = [condition(draw, depth - 1, odd) for _ in range(2)]
    match draw.randint(0, 3):
        case 0:
            return build.conj(*parts)
        case 1:
            return build.disj(*parts)
        case 2:
            return build.negate(parts[0])
    return build.if_(condition(draw, 0, odd), *parts)


def values(points: list[tuple[Fraction, ...]]) -> dict[Expr, Array]:
    return {var: np.array([float(point[i]) for point in points]) for i, var in enumerate((X, Y))}


@pytest.mark.parametrize("seed", seeds(60))
def test_rows_say_what_the_condition_says(seed: int) -> None:
    """At points that floats compute exactly; where an argmax ties, rows may be satisfied though its value differs."""
    draw = random.Random(seed)
    asked = condition(draw, draw.randint(0, 3), Fraction(3, 8))
    clauses = Clauses(requirement(asked))
    points = list(itertools.product(GRID, repeat=2))
    satisfied = ~clauses.impossible(clauses.at(values(points), len(points)))[:, clauses.root]
    truths = [exact.evaluate([asked], {X: x, Y: y})[0] for x, y in points]
    ties = any(isinstance(node, Argmax) for node in order([asked]))
    for true, found in zip(truths, satisfied, strict=True):
        assert bool(found) or not true, asked
        assert ties or bool(found) == bool(true), asked


@pytest.mark.parametrize("seed", seeds(60))
def test_nothing_that_happens_is_impossible(seed: int) -> None:
    draw = random.Random(seed)
    asked = condition(draw, draw.randint(0, 3), THIRD)
    clauses = Clauses(requirement(asked))
    ends = np.array([sorted(draw.sample(range(-4, 5), 2)) for _ in range(40)]) / 2
    boxes: dict[Expr, tuple[Array, Array]] = {X: (ends[:20, 0], ends[:20, 1]), Y: (ends[20:, 0], ends[20:, 1])}
    known, _ = clauses.bounded(Linear(boxes))
    impossible = clauses.impossible(known)[:, clauses.root]
    for row in np.flatnonzero(impossible):
        (a, b), (c, d) = ends[row], ends[20 + row]
        inside = [(x, y) for x, y in itertools.product(GRID, repeat=2) if a <= x <= b and c <= y <= d]
        assert not any(exact.evaluate([asked], {X: x, Y: y})[0] for x, y in inside), asked
