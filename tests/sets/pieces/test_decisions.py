"""Deciding cuts pieces until each goes one way: nothing is lost, and what stays open is tiny."""

from __future__ import annotations

import numpy as np
import pytest

from vernal.model import build as b
from vernal.sets.pieces.batches import Pieces
from vernal.sets.pieces.decisions import MAX_PARTS, MIN_WIDTH, Layout, decide

X = b.var("x")


def interval(lower: float, upper: float) -> Pieces:
    """x = p for p in an interval."""
    one = np.ones((1, 1, 1))
    return Pieces(np.array([[lower]]), np.array([[upper]]), one, np.zeros((1, 1)), np.zeros((1, 1)), np.arange(1))


def ends(pieces: Pieces) -> list[tuple[float, float]]:
    return sorted(zip(pieces.lower[:, 0].tolist(), pieces.upper[:, 0].tolist(), strict=True))


@pytest.mark.parametrize("threshold", [0.3, 1 / 3, 0.5, 2**-20, 1 - 2**-22, 0.8765432])
@pytest.mark.parametrize("width", [1.0, 2.0**5, 2.0**18])  # of the first piece: this one may be cut already
def test_a_threshold_is_found_to_the_last_halving(threshold: float, width: float) -> None:
    pieces, widths = interval(0.0, 1.0), np.array([width])
    found = dict(decide(b.compare("<", X, b.const(threshold)), Layout((X,)), pieces, widths, MAX_PARTS, lambda: None))
    (below,), (above,) = ends(found[1])[:1], ends(found[0])[-1:]
    assert below[0] == 0.0
    assert above[1] == 1.0
    reach_down = min(low for low, _ in ends(found[0]))
    reach_up = max(high for _, high in ends(found[1]))
    assert reach_down <= threshold <= reach_up
    assert reach_up - reach_down <= 2 * MIN_WIDTH * width


def test_without_cuts_an_open_piece_goes_both_ways() -> None:
    pieces = interval(0.0, 1.0)
    found = dict(decide(b.const(0.5) > X, Layout((X,)), pieces, np.ones(1), 0, lambda: None))
    assert ends(found[0]) == ends(found[1]) == [(0.0, 1.0)]


def test_what_is_decided_at_once_is_not_cut() -> None:
    found = dict(decide(b.const(2.0) > X, Layout((X,)), interval(0.0, 1.0), np.ones(1), MAX_PARTS, lambda: None))
    assert list(found) == [1]
    assert ends(found[1]) == [(0.0, 1.0)]
