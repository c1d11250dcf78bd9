"""Sparse layers: the bounds of dense ones, less rounding, and never less than what rounding may have cost."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from vernal.interpret import concrete, layers
from vernal.interpret.interval import affine
from vernal.interpret.layers import layer
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers import sparse
from vernal.interpret.numbers.backends import NUMPY
from vernal.interpret.numbers.rounding import Array, Backend
from vernal.interpret.numbers.sparse import Sparse
from vernal.interpret.value_sets import Range
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Matrix


def forget() -> None:
    """Look again at which layers are sparse."""
    layers._sparse.clear()
    NUMPY.kept.clear()


@pytest.fixture(autouse=True)
def small_ones(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small layers are sparse as well, and none of another test."""
    monkeypatch.setattr(sparse, "MIN_ENTRIES", 0)
    monkeypatch.setattr(sparse, "MAX_DENSITY", 0.5)
    forget()
    yield
    forget()


def exact(array: Array) -> list[Fraction]:
    return [Fraction(float(value)) for value in np.ravel(array)]


def thin(rng: np.random.Generator, m: int, n: int, share: float = 0.25) -> Array:
    """A matrix with few entries, one at least."""
    W = rng.normal(size=(m, n)) * (rng.random((m, n)) < share)
    W[rng.integers(m), rng.integers(n)] = 1.0
    return W * (rng.random((m, n)) < 0.9)


def sparse_layer(rng: np.random.Generator, m: int, n: int, scale: float) -> e.Affine:
    while True:
        weight = scale * thin(rng, m, n)
        bias = rng.normal(size=m) * 10.0 ** rng.integers(-9, 9, m)
        node = build.affine(build.var("v", shape=(n,)), Matrix(weight), Matrix(bias))
        assert isinstance(node, e.Affine)
        if isinstance(layer(Backend(), node).weight, Sparse):
            return node


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1.0, 1e30])
def test_rounding_of_sparse_layers_is_paid_for(scale: float) -> None:
    """Ranges, sizes, and rows on their way back, in exact arithmetic over entries of all sizes."""
    rng = np.random.default_rng(7)
    for _ in range(15):
        m, n = (int(size) for size in rng.integers(3, 30, 2))
        node, backend = sparse_layer(rng, m, n, scale), Backend()
        own, size = layer(backend, node), np.abs(rng.normal(size=(1, n)))
        W, b = [exact(row) for row in node.weight.array], exact(node.bias.array)
        most, x = exact(own.most(backend, size)), Range(size - 1e-3, size + 1e-3)
        ends = affine(backend, x, own)
        for row, constant, bound, low, high in zip(W, b, most, exact(ends.lower), exact(ends.upper), strict=True):
            assert bound >= sum((abs(w) * s for w, s in zip(row, exact(size), strict=True)), abs(constant)) * (
                1 + 5 * Fraction(own.slack)
            )
            inside = list(zip(row, exact(x.lower), exact(x.upper), strict=True))
            assert low <= sum((min(w * a, w * c) for w, a, c in inside), constant)
            assert high >= sum((max(w * a, w * c) for w, a, c in inside), constant)
        L = rng.normal(size=(1, m)) * 10.0 ** rng.integers(-8, 8, m)
        back, cost = exact(backend.product(L, own.weight)), exact(own.rounding(backend, size))
        lost = sum(
            abs(sum(r * row[j] for r, row in zip(exact(L), W, strict=True)) - back[j]) * s
            for j, s in enumerate(exact(size))
        )
        lost += abs(sum(r * c for r, c in zip(exact(L), b, strict=True)) - Fraction(float(L[0] @ node.bias.array)))
        assert lost <= sum(abs(r) * c for r, c in zip(exact(L), cost, strict=True))


def network(rng: np.random.Generator) -> tuple[list[Expr], Expr]:
    """Scalars, and a network of sparse layers over them."""
    widths = (3, 9, 12, 8, 3)
    inputs: list[Expr] = [build.var(f"x{index}") for index in range(widths[0])]
    x: Expr = build.concat(*inputs)
    for number, (n, m) in enumerate(pairwise(widths)):
        x = build.affine(x, Matrix(thin(rng, m, n, 0.4)), Matrix(0.3 * rng.normal(size=m)))
        x = build.relu(x) if number < len(widths) - 2 else x
    return inputs, x


@pytest.mark.parametrize("boxes", [1, 4])
@pytest.mark.parametrize("radius", [1e-3, 0.1, 1.0])
def test_bounds_are_those_of_dense_layers(boxes: int, radius: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(int(1e4 * radius) + boxes)
    for _ in range(8):
        inputs, root = network(rng)
        centre = rng.normal(size=(boxes, len(inputs)))
        box = {var: Range(centre[:, i] - radius, centre[:, i] + radius) for i, var in enumerate(inputs)}
        found = []
        for density in (0.7, -1.0):
            with monkeypatch.context() as patch:
                patch.setattr(sparse, "MAX_DENSITY", density)
                forget()
                linear = Linear(box)
                found.append((linear.range(root), linear.form(root)))
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one.lower, other.lower, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(one.upper, other.upper, rtol=1e-12, atol=1e-12)
        run = concrete.compile([root])
        for share in rng.random((20, boxes, len(inputs))):
            points = centre - radius + 2 * radius * share
            (value,) = run({var: points[:, i] for i, var in enumerate(inputs)}, boxes)
            x = found[0][0]
            assert (x.lower - 1e-9 <= value).all()
            assert (value <= x.upper + 1e-9).all()


def test_an_entry_of_zero_meets_what_is_unbounded() -> None:
    """0 times any number is 0, so the component that does not see the unbounded one has a range."""
    W = np.zeros((4, 4))
    W[0, 0] = W[1, 1] = 1.0
    v = build.var("v", shape=(4,))
    linear = Linear({v: Range(np.array([[0.0, -np.inf, 0, 0]]), np.array([[1.0, np.inf, 0, 0]]))})
    x = linear.range(build.relu(build.affine(v, Matrix(W), Matrix(np.zeros(4)))))
    assert x.upper[0, 0] == pytest.approx(1.0)
    assert x.upper[0, 1] == np.inf
