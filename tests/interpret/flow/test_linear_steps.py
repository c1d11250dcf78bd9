"""Linear steps: their matrices against exponentials, and their sets against simulated trajectories."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.integrate._ivp.ivp import OdeResult
from scipy.linalg import expm

from tests.interpret.flow.models import flow_of, state
from vernal.interpret.flow.balls import points
from vernal.interpret.flow.integration import Pace, Segments
from vernal.interpret.flow.linear_steps import LinearStepper, propagators
from vernal.interpret.flow.steps import TaylorStepper
from vernal.interpret.flow.zonotope_batches import boxes
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.sampled.plant import plant_of
from vernal.model import build
from vernal.model.flow import Flow
from vernal.sets.flow_starts import start_boxes
from vernal.sets.sampled.loop_space import LoopFollower


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0, 1000.0])
def test_propagators_contain_exponentials_and_their_integrals(scale: float) -> None:
    rng, n = np.random.default_rng(3), 3
    for _ in range(4):
        matrix = rng.normal(size=(n, n)) * scale
        matrix -= np.eye(n) * max(0.0, float(np.linalg.eigvals(matrix).real.max()))
        h, rate = float(rng.uniform(0.1, 2)), rng.normal(size=n)
        made = propagators(matrix[None], points(rate[None]), np.array([h]))
        block = np.block([[matrix, np.eye(n)], [np.zeros((n, 2 * n))]])
        sizes = np.zeros((n, n))
        for time in np.linspace(0, h, 41):
            both = expm(block * time)
            flow, integral = both[:n, :n], both[:n, n:]
            sizes += np.abs(flow) * h / 41
            assert (np.abs(integral @ rate - made.path.mid[0]) <= made.path.rad[0] + 1e-9).all()
        assert (np.abs(flow - made.flow.mid[0]) <= made.flow.rad[0] + 1e-9).all()
        assert (np.abs(integral - made.integral.mid[0]) <= made.integral.rad[0] + 1e-9).all()
        assert (sizes <= made.size[0] + h * np.eye(n) / 20 + np.abs(np.linalg.norm(matrix)) * h * h / 800).all()


def followed(flow: Flow, horizon: float, pace: Pace) -> Segments:
    loop = LoopFollower(plant_of(flow), np.eye(len(flow.vars)), lambda of, rows: TaylorStepper(of, rows, 8, 4))
    starts = start_boxes(flow)
    return loop.follow(starts.lower, starts.upper, Fraction(horizon), lambda length: pace)


def at(solution: OdeResult, times: Floats) -> Floats:
    assert solution.sol is not None
    return np.asarray(solution.sol(times))


def robertson(middle: int, last: int) -> Flow:
    """Three reactions, the slowest of which has rate 0.4."""
    x, y, z = state("x", "y", "z")
    slow, back, fast = Fraction(2, 5) * x, middle * y * z, last * y * y
    return flow_of({x: back - slow, y: slow - back - fast, z: 1 * fast}, [(1, 1), (0, 0), (0, 0)], [(-1, 2)] * 3)


def test_stiff_reactions_are_followed_in_long_steps() -> None:
    """Smooth steps would be some 0.0002 long."""
    found = followed(robertson(1000, 10**7), 2.0, Pace(0.5, 0.03, 1e-7, 1e-7))
    assert found.until.tolist() == [2.0]
    assert len(found.times) < 1500
    rates = lambda _, s: (  # noqa: E731
        1e3 * s[1] * s[2] - 0.4 * s[0],
        0.4 * s[0] - 1e3 * s[1] * s[2] - 1e7 * s[1] ** 2,
        1e7 * s[1] ** 2,
    )
    true = solve_ivp(rates, (0, 2), [1, 0, 0], method="Radau", rtol=1e-10, atol=1e-14, dense_output=True)
    for (begin, end), low, high in zip(found.times, found.sets.lower, found.sets.upper, strict=True):
        there = at(true, np.linspace(begin, end, 5))
        assert (low[:, None] - 1e-8 <= there).all()
        assert (there <= high[:, None] + 1e-8).all()
    assert (found.sets.upper - found.sets.lower)[-1].max() < 0.01


def test_a_network_in_a_rate_is_followed_over_its_kinks() -> None:
    """x' = y, y' = -relu(x) + relu(-2x) - y: a spring that is stiffer on one side; many sets are at the kink."""
    x, y = state("x", "y")
    flow = flow_of({x: 1 * y, y: build.relu(-2 * x) - build.relu(x) - y}, [("0.4", "0.5"), (-1, "-0.9")], [(-9, 9)] * 2)
    found = followed(flow, 4.0, Pace(1.0, 1 / 32, 1e-7, 1e-6))
    assert found.until.tolist() == [4.0]
    assert np.isinf(found.rough).all()
    rates = lambda _, s: (s[1], max(-2 * s[0], 0) - max(s[0], 0) - s[1])  # noqa: E731
    for start in ((0.4, -1), (0.5, -0.9), (0.4, -0.9), (0.5, -1), (0.45, -0.95)):
        true = solve_ivp(rates, (0, 4), start, rtol=1e-9, atol=1e-12, dense_output=True, max_step=0.05)
        for (begin, end), low, high in zip(found.times, found.sets.lower, found.sets.upper, strict=True):
            there = at(true, np.linspace(begin, end, 4))
            assert (low[:, None] - 1e-6 <= there).all()
            assert (there <= high[:, None] + 1e-6).all()
    assert (found.sets.upper - found.sets.lower)[-1].max() < 0.15


def test_where_solutions_leave_every_box_there_is_no_step() -> None:
    (x,) = state("x")
    flow = flow_of({x: x**2}, [(1, 1)], [(-1000, 1000)])
    sets = boxes(np.array([[1.0]]), np.array([[1.0]]))
    assert not LinearStepper(flow).step(sets, np.array([1.5])).found.any()  # it explodes at 1
    assert LinearStepper(flow).step(sets, np.array([0.1])).found.all()
