"""Many runs as a table: numbers one below the other, and shares that do not exaggerate."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vernal.model.sorts import BOOL
from vernal.report.run_table import Quantity, decimals, most_frequent


@pytest.mark.parametrize(
    ("figures", "texts"),
    [
        ([0.0007926, 0.5124, -1.07], ["0.001", "0.512", "-1.070"]),
        ([25, 24.0], ["25", "24"]),
        ([-0.0, 133.25], ["0.0", "133.2"]),
        ([1e-9, 1.0, math.inf], ["1e-09", "1", "inf"]),
        ([], []),
    ],
)
def test_the_numbers_of_a_column_have_equally_many_decimals(figures: list[float], texts: list[str]) -> None:
    assert decimals(figures) == texts


def test_nearly_all_runs_are_not_all_of_them() -> None:
    warm = Quantity("warm", BOOL, np.ones((1, 1)))
    assert most_frequent(warm, np.array([1.0] * 399 + [0.0])) == "true 99%"
    assert most_frequent(warm, np.ones(400)) == "true"
    assert most_frequent(warm, np.empty(0)) == ""
