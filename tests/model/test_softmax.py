"""Softmax as an expression: right at points; bounds of it hold and stay within 0 and 1, however large scores are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_softmax as logarithms
from scipy.special import softmax as shares

import vernal as vn
from tests.portion import every
from vernal.formats.networks import read_network
from vernal.interpret.concrete import evaluate
from vernal.interpret.linear.bounds import bounds
from vernal.interpret.value_sets import Range, Value
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.softmax import log_softmax, softmax

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("scale", every(2, [1.0, 30.0, 1e4]))
def test_values_and_bounds(size: int, scale: float) -> None:
    x = build.var("x", shape=(size,))
    rng = np.random.default_rng([size, int(scale)])
    for _ in range(3):
        centre, width = rng.normal(size=size) * scale, rng.uniform(0, 0.2, size) * scale
        points = rng.uniform(centre - width, centre + width, (300, size))
        box: dict[Expr, Value] = {x: Range((centre - width)[None], (centre + width)[None])}
        for node, wanted in ((softmax(x), shares(points, axis=1)), (log_softmax(x), logarithms(points, axis=1))):
            (found,), (bound,) = evaluate([node], {x: points}), bounds([node], box)
            assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12)
            assert (found >= bound.lower[0] - 1e-12 * abs(bound.lower[0])).all()
            assert (found <= bound.upper[0] + 1e-12).all()
        (bound,) = bounds([softmax(x)], box)
        assert (bound.lower[0] >= -1e-9).all()
        assert (bound.upper[0] <= 1 + 1e-9).all()


def test_a_head_of_attention_in_a_loop() -> None:
    """Three steps of the example, and of simulated paths none gets nearer than what is proven."""
    task = vn.load(ROOT / "examples" / "flock" / "flock.toml")
    proven = vn.check(task, property="apart", engine="bounds", timeout=60)["apart"]
    assert proven.verdict is vn.Verdict.HOLDS
    network = read_network(ROOT / "examples" / "flock" / "keeper.onnx")
    rng = np.random.default_rng(0)
    x, a, b = (rng.uniform(*ends, 20_000) for ends in ((-0.1, 0.1), (0.7, 0.8), (-1.3, -1.2)))
    for _ in range(4):
        least = min((a - x).min(), (x - b).min()) - 0.3
        assert least >= (proven.margin or 0.0)
        speed = np.asarray(network(np.stack([a - x, b - x], axis=1))).ravel()
        x, a, b = x + 0.3 * speed, a - rng.uniform(0.05, 0.1, x.size), b + rng.uniform(-0.02, 0.02, x.size)
    assert vn.check(task, property="closer", timeout=60)["closer"].verdict is vn.Verdict.VIOLATED
