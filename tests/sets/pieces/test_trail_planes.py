"""Planes of decisions: at most zero, in exact arithmetic, at the parameters of every state that decides so."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from vernal.interpret import exact
from vernal.model import build as b
from vernal.model.expr import Expr, Matrix
from vernal.model.partial_evaluation import specialise
from vernal.sets.pieces.batches import Pieces
from vernal.sets.pieces.decisions import Layout, decide
from vernal.sets.pieces.trail_planes import TrailPlanes

X = b.var("x", shape=(2,))
PIECES = 6


def pieces(rng: np.random.Generator) -> Pieces:
    """Affine images of boxes of three parameters, with an error."""
    lower = rng.normal(size=(PIECES, 3))
    A, c = rng.normal(size=(PIECES, 2, 3)), rng.normal(size=(PIECES, 2))
    error = np.full((PIECES, 2), 0.05)
    return Pieces(lower, lower + rng.uniform(0, 1.5, (PIECES, 3)), A, c, error, np.arange(PIECES))


def scores(rng: np.random.Generator, seen: Expr) -> Expr:
    hidden = b.relu(b.affine(seen, Matrix(rng.normal(size=(5, 2))), Matrix(rng.normal(size=5))))
    return b.affine(hidden, Matrix(rng.normal(size=(3, 5))), Matrix(rng.normal(size=3)))


def planes_of(decision: Expr, work: Pieces) -> dict[int, TrailPlanes]:
    """By outcome, the planes of pieces that went that way, their trails numbered from 100 times the outcome on."""
    layout = Layout((X,))
    found = decide(decision, layout, work, np.ones(3), 0, lambda: None)
    made = {}
    for outcome, part in found:
        planes = TrailPlanes()
        planes.note(decision, layout, found, len(work))
        planes.extend(part.trail, ((decision, outcome),), part.trail + 100 * outcome)
        planes.at(1)
        made[outcome] = planes
    return made


def at(work: Pieces, row: int, p: list[Fraction], error: list[Fraction]) -> list[Fraction]:
    """The state of a piece at parameters, with an error that it allows."""
    A, c = work.A[row].tolist(), work.c[row].tolist()
    images = [sum(Fraction(a) * v for a, v in zip(line, p, strict=True)) for line in A]
    return [value + Fraction(k) + e for value, k, e in zip(images, c, error, strict=True)]


def below_zero(planes: TrailPlanes, trail: int, p: list[Fraction]) -> bool:
    """Whether all planes of a trail are at most zero, exactly."""
    for part in planes.of(trail):
        for row, constant in zip(part.slopes.tolist(), part.constants.tolist(), strict=True):
            assert len(row) == len(p)
            if sum((Fraction(a) * v for a, v in zip(row, p, strict=True)), Fraction(constant)) > 0:
                return False
    return True


def points(rng: np.random.Generator, work: Pieces, row: int, count: int) -> list[list[Fraction]]:
    ends = zip(work.lower[row].tolist(), work.upper[row].tolist(), strict=True)
    pairs = [(Fraction(low), Fraction(high)) for low, high in ends]
    shares = [[Fraction(int(k), 8) for k in rng.integers(0, 9, 3)] for _ in range(count)]
    return [[low + (high - low) * s for (low, high), s in zip(pairs, own, strict=True)] for own in shares]


@pytest.mark.parametrize("noise", [False, True])
def test_planes_are_kept_where_a_score_wins(noise: bool) -> None:
    """Also with a draw in what is seen: the planes are over the parameters alone, and hold whatever is drawn."""
    said = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        drawn = b.between(Fraction(-1, 5), Fraction(3, 10))
        compared = scores(rng, X + drawn if noise else X)
        work = pieces(rng)
        made = planes_of(b.argmax(compared), work)
        for row in range(PIECES):
            for p in points(rng, work, row, 20):
                draw = Fraction(-1, 5) + Fraction(1, 2) * Fraction(int(rng.integers(0, 9)), 8)
                (node,) = specialise([compared], {drawn: b.const(draw)})
                error = [Fraction(int(k), 8) * Fraction(work.error[row, 0]) for k in rng.integers(-8, 9, 2)]
                (got,) = exact.evaluate([node], {X: tuple(at(work, row, p, error))})
                assert isinstance(got, tuple)
                for winner in [k for k, score in enumerate(got) if score == max(got)]:  # type: ignore[type-var]
                    assert below_zero(made[winner], row + 100 * winner, p)
                    said += len(made[winner].of(row + 100 * winner)) > 0
    assert said > 200


def test_a_comparison_says_which_side_and_a_tie_is_on_both() -> None:
    """x0 <= 0 for x0 = p: where it is true, p is at most 0; where false, at least 0; p = 0 has planes of both."""
    one, none = np.array([[[1.0], [0.0]]]), np.zeros((1, 2))
    work = Pieces(np.array([[-1.0]]), np.array([[1.0]]), one, none, none, np.arange(1))
    made = planes_of(b.compare("<=", b.component(X, 0), b.const(0)), work)
    for outcome, inside, outside in ((1, Fraction(-1, 2), Fraction(1, 2)), (0, Fraction(1, 2), Fraction(-1, 2))):
        planes, trail = made[outcome], 100 * outcome
        assert below_zero(planes, trail, [inside])
        assert below_zero(planes, trail, [Fraction(0)])
        assert not below_zero(planes, trail, [outside])


def both_sides() -> TrailPlanes:
    """Of two pieces x0 = p, trails 100 and 101 that went where x0 <= 0."""
    one, none = np.array([[[1.0], [0.0]]]), np.zeros((2, 2))
    work = Pieces(np.full((2, 1), -1.0), np.array([[1.0], [2.0]]), one, none, none, np.arange(2))
    return planes_of(b.compare("<=", b.component(X, 0), b.const(0)), work)[1]


def test_a_trail_that_stands_for_others_knows_nothing() -> None:
    planes = both_sides()
    assert planes.of(100)
    planes.merged((np.array([100]), np.array([7])))
    assert not planes.of(100)
    assert planes.of(101)


def test_planes_of_earlier_steps_go_along() -> None:
    planes = both_sides()
    before = list(planes.of(100))
    planes.extend(np.array([100]), (), np.array([500]))
    planes.at(2)
    assert list(planes.of(500)) == before
    assert not planes.of(100)
