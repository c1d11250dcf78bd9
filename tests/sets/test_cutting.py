"""The loop that cuts boxes until they are decided: what it ends with, and that nothing is lost on the way."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from vernal.errors import Stopped
from vernal.sets.cutting import CuttingEnd, CuttingLimits, cut_until_decided

Interval = tuple[Fraction, Fraction]
UNIT = (Fraction(0), Fraction(1))


def halves(left: list[Interval]) -> list[Interval]:
    """Both halves of intervals."""
    middles = [(low + high) / 2 for low, high in left]
    return [half for (low, high), m in zip(left, middles, strict=True) for half in ((low, m), (m, high))]


class Squares:
    """Decides whether x * x < limit everywhere in an interval, and remembers what it was asked."""

    def __init__(self, limit: Fraction) -> None:
        self.limit, self.rounds, self.proven = limit, list[int](), list[Interval]()

    def decide(self, boxes: list[Interval]) -> list[Interval] | None:
        self.rounds.append(len(boxes))
        if any(low * low >= self.limit for low, _ in boxes):
            return None
        self.proven += [box for box in boxes if box[1] * box[1] < self.limit]
        return [box for box in boxes if box[1] * box[1] >= self.limit]


def test_what_is_decided_covers_the_whole() -> None:
    asked = Squares(Fraction(101, 100))
    assert cut_until_decided([(Fraction(-1, 2), Fraction(1))], asked.decide, halves).end is CuttingEnd.DECIDED
    asked = Squares(Fraction(1))
    found = cut_until_decided([UNIT], asked.decide, halves, CuttingLimits(rounds=5))
    assert found.end is CuttingEnd.ROUNDS
    parts = sorted([*asked.proven, *found.boxes])
    assert parts[0][0] == 0
    assert parts[-1][1] == 1
    assert all(before[1] == after[0] for before, after in pairwise(parts))


def test_a_box_that_fails_ends_it() -> None:
    asked = Squares(Fraction(1, 2))
    found = cut_until_decided([UNIT], asked.decide, halves)
    assert found.end is CuttingEnd.STOPPED
    assert any(low * low >= Fraction(1, 2) for low, _ in found.boxes)


@pytest.mark.parametrize(
    ("limits", "end", "rounds"),
    [
        (CuttingLimits(rounds=3), CuttingEnd.ROUNDS, [1, 2, 4]),
        (CuttingLimits(most=4), CuttingEnd.MANY, [1, 2, 4]),
        (CuttingLimits(patience=2), CuttingEnd.IDLE, [1, 2]),
        (CuttingLimits(trial=3), CuttingEnd.VAIN, [1, 2, 4, 8]),
    ],
    ids=lambda value: value.name if isinstance(value, CuttingEnd) else "",
)
def test_limits(limits: CuttingLimits, end: CuttingEnd, rounds: list[int]) -> None:
    """Where nothing is ever closed, each limit ends it on its own."""
    seen: list[int] = []

    def decide(boxes: list[Interval]) -> list[Interval]:
        seen.append(len(boxes))
        return boxes

    found = cut_until_decided([UNIT], decide, halves, limits)
    assert (found.end, seen) == (end, rounds)
    assert len(found.boxes) == (2 * rounds[-1] if end is CuttingEnd.ROUNDS else rounds[-1])


def test_patience_wants_a_share() -> None:
    """A round that closes one box of eight is idle where a quarter is wanted, and not where one box is enough."""
    boxes = [UNIT] * 8

    def one_less(some: list[Interval]) -> list[Interval]:
        return some[1:]

    for share, end in ((0.25, CuttingEnd.IDLE), (0.0, CuttingEnd.ROUNDS)):
        found = cut_until_decided(boxes, one_less, halves, CuttingLimits(rounds=3, patience=2, share=share))
        assert found.end is end


def test_points_are_not_cut_and_parts_may_vanish() -> None:
    def none(left: list[Interval]) -> None:
        return None

    def gone(left: list[Interval]) -> list[Interval]:
        return []

    assert cut_until_decided([UNIT], list, none).end is CuttingEnd.UNCUT
    assert cut_until_decided([UNIT], list, gone).end is CuttingEnd.DECIDED


def test_every_round_may_be_stopped() -> None:
    ticks = iter(range(3))

    def tick() -> None:
        if next(ticks, None) is None:
            raise Stopped("enough")

    with pytest.raises(Stopped):
        cut_until_decided([UNIT], list, halves, tick=tick)
