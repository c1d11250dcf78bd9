"""Programs that grow: every answer is that of a new program with the same rows."""

from __future__ import annotations

import numpy as np

from vernal.interpret.geometry.float_program import minimise
from vernal.solvers.growing_program import GrowingProgram


def test_rows_that_are_added_count() -> None:
    random = np.random.default_rng(0)
    cost = random.normal(size=4)
    program = GrowingProgram(cost, np.full(4, -1.0), np.full(4, 2.0))
    rows, ends = np.zeros((0, 4)), np.zeros(0)
    for _ in range(5):
        more, limits = random.normal(size=(3, 4)), random.uniform(0.1, 1.0, size=3)
        rows, ends = np.vstack([rows, more]), np.concatenate([ends, limits])
        program.add(more, limits)
        point, expected = program.minimise(), minimise(cost, rows, ends, [(-1.0, 2.0)] * 4)
        assert point is not None
        assert expected is not None
        assert (rows @ point <= ends + 1e-6).all()
        np.testing.assert_allclose(cost @ point, cost @ expected.point, atol=1e-6)


def test_what_has_no_answer_has_none() -> None:
    unbounded = GrowingProgram(np.ones(1), np.array([-np.inf]), np.array([np.inf]))
    unbounded.add(np.array([[1.0]]), np.array([0.0]))
    assert unbounded.minimise() is None
    contradictory = GrowingProgram(np.ones(1), np.array([0.0]), np.array([1.0]))
    contradictory.add(np.array([[1.0], [-1.0]]), np.array([0.25, -0.75]))
    assert contradictory.minimise() is None


def test_another_cost_and_its_multipliers() -> None:
    random = np.random.default_rng(1)
    rows, ends = random.normal(size=(6, 3)), random.uniform(0.1, 1.0, size=6)
    program = GrowingProgram(np.zeros(3), np.full(3, -1.0), np.full(3, 1.0))
    program.add(rows, ends)
    for cost in random.normal(size=(5, 3)):
        point = program.minimise(cost)
        assert point is not None
        multipliers = program.multipliers()
        assert (multipliers >= 0).all()
        least = -multipliers @ ends - np.abs(cost + multipliers @ rows).sum()  # weak duality over the box
        np.testing.assert_allclose(cost @ point, least, atol=1e-6)
