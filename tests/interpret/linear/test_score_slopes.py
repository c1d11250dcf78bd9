"""Winners with better slopes: never fewer exclusions than without, and none that a point contradicts."""

from __future__ import annotations

import numpy as np
import pytest

from vernal.formats.layers import dense
from vernal.interpret.concrete import compile as compiled
from vernal.interpret.linear import score_slopes
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.score_slopes import Sloped
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.interpret.value_sets import Finite, Range
from vernal.model import build
from vernal.model.expr import Expr

BOXES, INPUTS, LABELS = 60, 3, 4
X = build.var("x", shape=(INPUTS,))


def policy(seed: int, width: int) -> Expr:
    """The scores of a random policy, twice: what the first pass chose moves the input of the second."""
    rng = np.random.default_rng(seed)

    def network(seen: Expr) -> Expr:
        hidden = seen
        for size in (width, width):
            hidden = build.relu(dense(hidden, rng.normal(size=(size, hidden.size)), rng.normal(size=size)))
        return dense(hidden, rng.normal(size=(LABELS, width)) / width, np.zeros(LABELS))

    first = build.argmax(network(X))
    pushed = build.if_(build.eq(first, 0), build.const(0), build.const(1))
    return network(X + pushed / 8)


def boxes(seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed + 100)
    middle, radius = rng.uniform(-1, 1, (BOXES, INPUTS)), rng.uniform(0.02, 0.25, (BOXES, 1))
    return middle - radius, middle + radius


def winners(method: type[Linear], scores: Expr, low: Floats, high: Floats) -> Mask:
    linear = method({X: Range(low, high)})
    value = linear.value(build.argmax(scores))
    assert isinstance(value, Finite)
    return np.asarray(value.mask).reshape(BOXES, LABELS)


@pytest.mark.parametrize("width", [16, 64])
@pytest.mark.parametrize("seed", range(4))
def test_better_slopes_only_exclude_what_never_wins(seed: int, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with everything open counting as nearly decided."""
    monkeypatch.setattr(score_slopes, "MAX_GAP", 1.0)
    monkeypatch.setattr(score_slopes, "MIN_LAYER_WIDTH", 16)
    scores, (low, high) = policy(seed, width), boxes(seed)
    plain, tuned = winners(Linear, scores, low, high), winners(Sloped, scores, low, high)
    assert not (tuned & ~plain).any()
    run, rng = compiled([scores]), np.random.default_rng(seed)
    for _ in range(300):
        (found,) = run({X: rng.uniform(low, high)}, BOXES)
        assert tuned[np.arange(BOXES), found.argmax(axis=1)].all()


@pytest.mark.parametrize("seed", range(3))
def test_bounds_are_no_worse_and_mostly_better(seed: int) -> None:
    """Of every difference of scores in every box; and no point is below them."""
    scores, (low, high) = policy(seed, 32), boxes(seed)
    linear = Sloped({X: Range(low, high)})
    linear.need(scores)
    unit = np.eye(LABELS)
    rows, index = np.repeat(unit - unit[[1, 2, 3, 0]], BOXES, axis=0), np.tile(np.arange(BOXES), LABELS)
    before = linear.lower({scores: rows[:, None, :]}, np.zeros((len(rows), 1)), index)[:, 0]
    with np.errstate(all="ignore"):
        after = linear._best(scores, rows, index, linear._free_slopes(scores))
    assert (after >= before - 1e-9).all()
    assert (after > before + 1e-6).mean() > 0.3
    run, rng = compiled([scores]), np.random.default_rng(seed)
    for _ in range(200):
        (found,) = run({X: rng.uniform(low, high)}, BOXES)
        assert ((rows * found[index]).sum(axis=1) >= np.maximum(before, after) - 1e-9).all()


def test_what_is_far_from_decided_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    scores, (low, high) = policy(0, 64), boxes(0)
    monkeypatch.setattr(Sloped, "_best", never)
    monkeypatch.setattr(score_slopes, "MAX_GAP", 0.0)
    assert np.array_equal(winners(Sloped, scores, low, high), winners(Linear, scores, low, high))
    monkeypatch.setattr(score_slopes, "MAX_GAP", 1.0)
    monkeypatch.setattr(score_slopes, "MIN_LAYER_WIDTH", 65)
    assert np.array_equal(winners(Sloped, scores, low, high), winners(Linear, scores, low, high))
