"""Products of float weights with integers: exact for weights of any size, and of a large matrix block by block."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpz_mat
from numpy.typing import NDArray

from vernal.interpret.numbers import integers as module
from vernal.interpret.numbers.integers import integers, times
from vernal.model.expr import Matrix

RNG = np.random.default_rng(0)
MATRICES = {
    "small whole numbers": RNG.integers(-9, 9, (7, 5)).astype(float),
    "single precision": RNG.normal(size=(6, 4)).astype(np.float32).astype(float),
    "double precision": RNG.normal(size=(6, 4)),
    "of all sizes": RNG.normal(size=(5, 6)) * 10.0 ** RNG.integers(-300, 300, (5, 6)),
    "below the least normal": np.array([[5e-324, -1e-310], [0.0, 2.0**-1074]]),
    "large powers of two": np.array([[2.0**1000, -(2.0**900)], [0.0, 2.0**60]]),
    "mostly zeros": np.where(RNG.random((9, 8)) < 0.1, RNG.normal(size=(9, 8)), 0.0),
    "zeros": np.zeros((3, 2)),
    "a vector": RNG.normal(size=5),
}


def exactly(array: NDArray[np.float64], right: fmpz_mat) -> list[list[Fraction]]:
    table = array if array.ndim == 2 else array[:, None]
    columns = [[int(entry) for entry in row] for row in right.tolist()]
    return [[_dot(line, [row[k] for row in columns]) for k in range(right.ncols())] for line in table.tolist()]


def _dot(weights: list[float], column: list[int]) -> Fraction:
    return sum((Fraction(w) * n for w, n in zip(weights, column, strict=True)), Fraction(0))


@pytest.mark.parametrize("array", MATRICES.values(), ids=MATRICES)
def test_weights_of_any_size_are_exact(array: NDArray[np.float64]) -> None:
    whole, below = integers(Matrix(array))
    assert [Fraction(int(n), int(below)) for n in whole.entries()] == [Fraction(w) for w in array.ravel().tolist()]


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize(("matrix", "product"), [(100_000, 100_000), (100_000, 0), (0, 0), (12, 100_000)])
@pytest.mark.parametrize("array", MATRICES.values(), ids=MATRICES)
def test_products_are_exact_however_they_are_divided(
    array: NDArray[np.float64], matrix: int, product: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SMALL_MATRIX", matrix)
    monkeypatch.setattr(module, "SMALL_PRODUCT", product)
    module.is_sparse.cache_clear()
    inner = array.shape[1] if array.ndim == 2 else 1
    right = fmpz_mat(inner, columns, [int(n) ** 5 for n in RNG.integers(-(10**6), 10**6, inner * columns)])
    rows, below = times(Matrix(array.copy()), right)
    assert [[Fraction(int(p), int(below)) for p in row] for row in rows] == exactly(array, right)
    module.is_sparse.cache_clear()


@pytest.mark.parametrize("share", [1.0, 0.05], ids=["dense", "sparse"])
def test_a_large_matrix_is_never_integers_as_a_whole(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    whole = module._whole_numbers

    def counted(array: NDArray[np.float64], lowest: int) -> list[int]:
        made.append(array.size)
        return whole(array, lowest)

    monkeypatch.setattr(module, "_whole_numbers", counted)
    array = np.where(RNG.random((500, 600)) < share, RNG.normal(size=(500, 600)).astype(np.float32), 0.0).astype(float)
    ticks: list[None] = []
    rows, _ = times(Matrix(array), fmpz_mat(600, 1, range(600)), lambda: ticks.append(None))
    assert len(list(rows)) == 500
    assert max(made) <= module.SMALL_MATRIX < array.size
    assert len(ticks) == len(made) >= 3
