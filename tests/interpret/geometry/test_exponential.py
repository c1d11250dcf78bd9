"""Matrix exponentials against Arb's: the errors that are stated contain the true ones, and are small."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, arb_mat, ctx

from vernal.interpret.geometry.exponential import exponential

MATRICES = {
    "zero": np.zeros((2, 2)),
    "nilpotent": np.array([[0.0, 1.0], [0.0, 0.0]]),
    "rotation": np.array([[0.0, -3.0], [3.0, 0.0]]),
    "stiff": np.array([[-40.0, 1.0], [2.0, -0.5]]),
    "one": np.array([[0.7]]),
    "random": np.random.default_rng(0).normal(size=(4, 4)),
    "singular": np.outer([1.0, -2.0, 3.0], [0.5, 1.0, 2.0]),
}


def true_values(matrix: np.ndarray, time: float) -> tuple[list[list[arb]], list[list[arb]]]:
    """e^{At} and its integral, as blocks of the exponential of ((A, 1), (0, 0))."""
    n = len(matrix)
    whole = np.zeros((2 * n, 2 * n))
    whole[:n, :n], whole[:n, n:] = matrix, np.eye(n)
    found = (arb_mat(2 * n, 2 * n, [arb(x) for x in whole.ravel()]) * arb(time)).exp()
    flow = [[found[i, j] for j in range(n)] for i in range(n)]
    return flow, [[found[i, n + j] for j in range(n)] for i in range(n)]


@pytest.mark.parametrize("time", [0.0, 2.0**-8, 0.3, 2.5])
@pytest.mark.parametrize("name", MATRICES)
def test_errors_are_bounded(name: str, time: float) -> None:
    matrix = MATRICES[name]
    found = exponential(matrix, time)
    with ctx.workprec(200):
        flow, integral = true_values(matrix, time)
        for i, j in np.ndindex(*matrix.shape):
            assert abs(flow[i][j] - arb(float(found.flow[i, j]))) <= arb(float(found.flow_error[i, j]))
            assert abs(integral[i][j] - arb(float(found.integral[i, j]))) <= arb(float(found.integral_error[i, j]))
    large = np.abs(found.majorant).max()
    assert found.flow_error.max() <= 1e-12 * large
    assert found.integral_error.max() <= 1e-12 * large


@pytest.mark.parametrize("name", MATRICES)
def test_the_majorant_bounds_all_times_of_the_step(name: str) -> None:
    matrix = MATRICES[name]
    found = exponential(matrix, 0.5)
    for time in np.linspace(0.0, 0.5, 11):
        assert np.all(np.abs(exponential(matrix, float(time)).flow) <= found.majorant * (1 + 1e-12) + 1e-12)


def test_a_matrix_beyond_all_measure_is_refused() -> None:
    with pytest.raises(OverflowError):
        exponential(np.array([[1e30]]), 1.0)
