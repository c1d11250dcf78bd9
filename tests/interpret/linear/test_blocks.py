"""Layers in blocks, taken as one sparse layer: the bounds of their blocks one by one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from vernal.formats.layers import Block, blockwise
from vernal.interpret import blocks, concrete, exact
from vernal.interpret.blocks import block_layer, block_matrix
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.tuned_bounds import TunedRows, Tuning, behind
from vernal.interpret.numbers.rounding import Array
from vernal.interpret.value_sets import Range
from vernal.model import build
from vernal.model.expr import Expr, Matrix

SIZE = 6  # of a line of numbers, and of a window 3


def windows(x: Expr, weight: Array, bias: Array) -> Expr:
    """A convolution over a line, a block for each window, with zeros beyond its ends."""
    outputs, channels, wide = weight.shape
    numbers = np.arange(x.size).reshape(channels, -1)
    length = numbers.shape[1]
    parts = []
    for at in range(length):
        inside = [k for k in range(wide) if 0 <= at + k - 1 < length]
        read = numbers[:, [at + k - 1 for k in inside]].ravel()
        made = np.arange(outputs) * length + at
        parts.append(Block(made, read, Matrix(weight[:, :, inside].reshape(outputs, -1))))
    return blockwise(x, parts, np.repeat(bias, length))


def network(rng: np.random.Generator) -> tuple[Expr, Expr, list[Expr]]:
    x = build.var("x", shape=(SIZE,))
    one = windows(x, rng.normal(size=(2, 1, 3)), rng.normal(size=2))
    two = windows(build.relu(one), rng.normal(size=(2, 2, 3)), rng.normal(size=2))
    three = windows(build.relu(two), rng.normal(size=(1, 2, 3)), rng.normal(size=1))
    return x, three, [one, two, three]


@pytest.mark.parametrize("radius", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("boxes", [1, 3])
def test_bounds_are_those_of_blocks_one_by_one(radius: float, boxes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(int(1e3 * radius) + boxes)
    for _ in range(6):
        x, root, layers = network(rng)
        centre = rng.normal(size=(boxes, SIZE))
        box = {x: Range(centre - radius, centre + radius)}
        whole, apart = Linear(box), Linear(box)
        ranges, form = whole.range(root), whole.form(root)
        with monkeypatch.context() as patch:
            patch.setattr("vernal.interpret.linear.bounds.block_layer", lambda node: None)
            other, other_form = apart.range(root), apart.form(root)
        assert set(layers) == set(whole.graph.blocks)
        assert not apart.graph.blocks
        for mine, its in ((ranges, other), (form, other_form)):
            np.testing.assert_allclose(mine.lower, its.lower, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(mine.upper, its.upper, rtol=1e-10, atol=1e-10)
        for share in (np.zeros(SIZE), np.ones(SIZE), rng.random(SIZE)):
            point = np.clip(centre[0] - radius + 2 * radius * share, (centre - radius)[0], (centre + radius)[0])
            (values,) = exact.evaluate([root], {x: tuple(map(Fraction, point.tolist()))})
            assert isinstance(values, tuple)
            for low, value, high in zip(ranges.lower[0], values, ranges.upper[0], strict=True):
                assert isinstance(value, Fraction)
                assert Fraction(float(low)) <= value <= Fraction(float(high))


def test_every_entry_is_in_its_place() -> None:
    rng = np.random.default_rng(1)
    x, _, (one, *_) = network(rng)
    matrix, bias = block_matrix(one)
    found = block_layer(one)
    assert found is not None
    assert found.base is x
    run = concrete.compile([one])
    for point in (*np.eye(SIZE), rng.normal(size=SIZE)):
        (value,) = run({x: point[None]}, 1)
        np.testing.assert_allclose(matrix.dense() @ point + bias, value[0], rtol=1e-12)


def test_what_is_read_twice_is_no_layer_in_blocks() -> None:
    """Two weights of one component would be added, which may round."""
    x = build.var("x", shape=(3,))
    twice = Block(np.array([0]), np.array([1, 1]), Matrix(np.array([[0.1, 0.2]])))
    once = Block(np.array([1]), np.array([0, 1]), Matrix(np.array([[0.1, 0.2]])))
    assert block_layer(blockwise(x, [twice, once])) is None
    assert block_layer(blockwise(x, [once, Block(np.array([0]), once.inputs, once.weight)])) is not None


def test_blocks_with_much_to_multiply_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_COST", 0)
    x = build.var("x", shape=(8,))
    dense = [Block(np.array([i]), np.arange(4) + 4 * i, Matrix(np.ones((1, 4)))) for i in range(2)]
    assert block_layer(blockwise(x, dense)) is None


def test_a_block_that_was_asked_before_keeps_its_bounds() -> None:
    """Given bounds of a block stay in use: then the layer is taken block by block."""
    rng = np.random.default_rng(2)
    x, _, (one, *_) = network(rng)
    block = one.args[0].args[0]
    linear = Linear({x: Range(np.full((1, SIZE), -1.0), np.full((1, SIZE), 1.0))})
    linear.need(block)
    linear.need(one)
    assert one not in linear.graph.blocks


def test_values_behind_a_bound_pass_blocks() -> None:
    """What gradients are made of: the point of a tuned bound, through a layer in blocks."""
    rng = np.random.default_rng(4)
    x, root, _ = network(rng)
    linear = Linear({x: Range(np.full((1, SIZE), -1.0), np.full((1, SIZE), 1.0))})
    linear.need(root)
    rows = TunedRows(linear.graph, None, np.zeros((1, 1)), Tuning({}, {}, np.ones((1, 1))), {})
    rows.push(root, np.ones((1, 1, root.size)))
    rows.run()
    point, values = behind(rows)
    assert point.shape == (1, SIZE)
    assert np.isfinite(values[root]).all()
