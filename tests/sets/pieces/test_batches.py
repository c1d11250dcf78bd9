"""Merging must lose nothing: whatever a batch contained before, the merged one contains."""

from __future__ import annotations

import numpy as np
import pytest

from tests.portion import seeds
from vernal.sets.pieces.batches import Pieces, join, merge


def intervals(ends: list[tuple[float, float]], c: list[float]) -> Pieces:
    """Images p + c of intervals."""
    lower, upper = (np.array([end[side] for end in ends])[:, None] for side in (0, 1))
    A = np.ones((1, 1, 1))
    constants = np.array(c)[:, None]
    return Pieces(lower, upper, A, constants, np.zeros_like(constants), np.arange(len(ends)))


def test_touching_and_overlapping_intervals_with_one_image_become_one() -> None:
    merged, pairs = merge(intervals([(2, 3), (0, 1), (1, 2.5), (4, 5)], [7.0] * 4))
    assert sorted(zip(merged.lower[:, 0], merged.upper[:, 0], strict=True)) == [(0, 3), (4, 5)]
    assert pairs is not None
    kept, given_up = pairs
    assert set(kept.tolist()) | set(given_up.tolist()) | set(merged.trail.tolist()) == {0, 1, 2, 3}


def test_a_long_interval_reaches_over_short_ones_inside_it() -> None:
    merged, _ = merge(intervals([(0, 10), (1, 2), (5, 6), (9, 12)], [0.0] * 4))
    assert (merged.lower.tolist(), merged.upper.tolist()) == ([[0.0]], [[12.0]])


def test_different_images_stay_apart() -> None:
    merged, pairs = merge(intervals([(0, 1), (0, 1), (1, 2)], [0.0, 1.0, 2.0]))
    assert len(merged) == 3
    assert pairs is None


def test_constants_that_nearly_agree_are_both_contained() -> None:
    merged, _ = merge(intervals([(0, 1), (0, 1)], [0.1 * 3, 0.3]))
    assert len(merged) == 1
    assert merged.c[0, 0] - merged.error[0, 0] <= 0.3 <= 0.1 * 3 <= merged.c[0, 0] + merged.error[0, 0]


@pytest.mark.parametrize("seed", seeds(20))
def test_every_point_stays_covered(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = 1 + seed % 2
    lower = rng.integers(0, 6, (60, m)).astype(float)
    upper = lower + rng.integers(0, 3, (60, m)).astype(float)
    c = rng.integers(0, 3, (60, 2)).astype(float)
    pieces = Pieces(lower, upper, np.ones((1, 2, m)), c, np.zeros_like(c), np.arange(60))
    merged, _ = merge(pieces)
    for row in range(60):
        point = rng.uniform(lower[row], upper[row])
        inside = (merged.lower <= point).all(axis=1) & (point <= merged.upper).all(axis=1)
        assert (inside & (np.abs(merged.c - c[row]) <= merged.error + 1e-12).all(axis=1)).any()
    for row in range(len(merged)):  # and nothing was made up: with one parameter every point comes from somewhere
        point = rng.uniform(merged.lower[row], merged.upper[row])
        inside = (lower <= point).all(axis=1) & (point <= upper).all(axis=1)
        assert (inside & np.isclose(c, merged.c[row]).all(axis=1)).any()


def test_a_matrix_of_all_is_given_to_each_when_others_differ() -> None:
    one, two = intervals([(0, 1), (2, 3)], [0.0, 1.0]), intervals([(0, 1)], [0.0])
    both = join([one, Pieces(two.lower, two.upper, 2 * two.A, two.c, two.error, two.trail)])
    assert both.A[:, 0, 0].tolist() == [1.0, 1.0, 2.0]
    assert both.ranges()[1][2, 0] == pytest.approx(2.0)
    assert len(join([one, two]).A) == 1
