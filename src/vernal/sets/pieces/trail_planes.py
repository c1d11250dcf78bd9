"""What the decisions of a trail say of its parameters: planes that are at most zero on every execution that took them.

A piece that goes several ways uncut is the same set of states on each of them, but not the same executions: where one
score wins, its differences to the others are at least zero. Linear bounds of these differences over the parameters are
necessary conditions on them (OVER) and go along with the trail, to be used as rows with multipliers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers.rounding import TINY, Floats, gamma
from vernal.model import build
from vernal.model.expr import Argmax, Expr
from vernal.sets.core.cases import WinnerPivot, is_inequality, winner_pivot
from vernal.sets.core.planes import HalfSpaces
from vernal.sets.pieces.batches import Indices, Pairs, Pieces
from vernal.sets.pieces.decisions import Layout
from vernal.sets.pieces.samples import Assumptions

SidesOfPivot = tuple[HalfSpaces, HalfSpaces]  # where a pivot is at most zero, and where it is at least zero

MAX_SCORES = 12  # of an argmax: every pair of them is bounded


class TrailPlanes:
    """The planes of the trails of two steps: the one that is looked at, and the next."""

    def __init__(self) -> None:
        self._t = 0
        self._here: dict[int, list[HalfSpaces]] = {}
        self._next: dict[int, list[HalfSpaces]] = {}
        self._open: dict[Expr, dict[int, SidesOfPivot]] = {}  # of decisions of this step that stay open, by trail

    def at(self, t: int) -> None:
        """Go on to a step, if that is not the one already."""
        if t > self._t:
            self._t, self._here, self._next, self._open = t, self._next, {}, {}

    def of(self, trail: int) -> Sequence[HalfSpaces]:
        """The planes of a trail that has come to this step."""
        return self._here.get(trail, ())

    def merged(self, pairs: Pairs) -> None:
        """Trails that stand for others from now on: what is known of them is not known of those."""
        for trail in np.unique(pairs[0]).tolist():
            self._here.pop(trail, None)

    def note(self, decision: Expr, layout: Layout, found: Sequence[tuple[int, Pieces]], count: int) -> None:
        """Keep the planes of a decision that was just asked of so many pieces and left some of them open."""
        if sum(len(pieces) for _, pieces in found) == count or not layout.memo or not _has_pivot(decision):
            return
        pieces, linear = layout.memo[0]
        several = np.concatenate([part.trail for _, part in found])
        trails, often = np.unique(several, return_counts=True)
        rows = np.flatnonzero(np.isin(pieces.trail, trails[often > 1]))
        sides = sides_of_pivot(decision, linear, pieces.parameters, rows)
        self._open.setdefault(decision, {}).update(zip(pieces.trail[rows].tolist(), sides, strict=True))

    def extend(self, parents: Indices, asked: Assumptions, trails: Indices) -> None:
        """Trails one step longer: what their parents knew, and what these decisions say."""
        said = [(decision, outcome, self._open[decision]) for decision, outcome in asked if decision in self._open]
        if not self._here and not said:
            return
        for parent, trail in zip(parents.tolist(), trails.tolist(), strict=True):
            planes = list(self._here.get(parent, ()))
            for decision, outcome, known in said:
                if (own := known.get(parent)) is not None:
                    planes += _side(decision, outcome, *own)
            if planes:
                self._next[trail] = planes


@lru_cache(maxsize=256)
def _pivot(decision: Expr) -> tuple[Expr, WinnerPivot | None]:
    """A number, or one for each pair of scores, whose signs say how the decision comes out."""
    if isinstance(decision, Argmax):
        made = winner_pivot(decision.args[0])
        return made.pivot, made
    return build.sub(*decision.args[::-1]), None


def _has_pivot(decision: Expr) -> bool:
    if isinstance(decision, Argmax):
        return 1 < decision.args[0].size <= MAX_SCORES
    return is_inequality(decision) and not decision.shape


def sides_of_pivot(decision: Expr, linear: Linear, parameters: int, rows: Indices) -> list[SidesOfPivot]:
    """For some boxes planes below the pivot of a decision, and below its negation, over the first inputs only."""
    bounds = linear.form(_pivot(decision)[0])

    def taken(array: Floats) -> Floats:
        return np.broadcast_to(array, (linear.batch, *array.shape[1:]))[rows]

    lower, upper = taken(linear.box.lower)[:, None], taken(linear.box.upper)[:, None]
    A, a, B, b = bounds.lower_coefficients, bounds.lower_constants, bounds.upper_coefficients, bounds.upper_constants
    low, high = (_projected(taken(M), taken(c), lower, upper, parameters) for M, c in ((A, a), (-B, -b)))
    pairs = zip(zip(*low, strict=True), zip(*high, strict=True), strict=True)
    return [(HalfSpaces(*below), HalfSpaces(*above)) for below, above in pairs]


def _projected(A: Floats, c: Floats, lower: Floats, upper: Floats, parameters: int) -> tuple[Floats, Floats]:
    """Planes without the inputs after the parameters, which are draws of this step: their least value counts."""
    rest, low, high = A[..., parameters:], lower[..., parameters:], upper[..., parameters:]
    if not rest.shape[-1]:
        return A, c
    size = np.abs(rest) * np.maximum(np.abs(low), np.abs(high))
    least = c + np.where(rest > 0, rest * low, rest * high).sum(axis=-1)
    slack = 4.0 * gamma(rest.shape[-1] + 8) * (size.sum(axis=-1) + np.abs(c)) + TINY
    return A[..., :parameters], least - slack


def _side(decision: Expr, outcome: int, below: HalfSpaces, above: HalfSpaces) -> Iterator[HalfSpaces]:
    """What is at most zero where a decision comes out so: of pivots above zero their negations, else the pivots."""
    _, winner = _pivot(decision)
    if winner is None:
        yield above if outcome else below
        return
    yield above.rows(np.array(winner.first) == outcome)
    yield below.rows(np.array(winner.second) == outcome)
