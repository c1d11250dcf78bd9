"""Pipes against exact solutions and thousands of simulated trajectories: inside at all times, and not much wider."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import expm

from tests.interpret.flow.models import cube_root, exponential, flow_of, jet, state, steam, van_der_pol
from tests.interpret.flow.simulation import Simulation, escapes
from tests.portion import ALL, seeds
from vernal.interpret.flow.integration import Pace, Segments, horizon_on_grid
from vernal.interpret.flow.polynomials import CONSTANT, Monomials, monomials
from vernal.interpret.flow.steps import TaylorStepper
from vernal.interpret.flow.zonotope_batches import boxes
from vernal.interpret.numbers.rounding import Array, Floats, float_above, float_below
from vernal.interpret.sampled.plant import plant_of
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.flow import Flow
from vernal.model.functions import cos, exp, sin, sqrt
from vernal.model.initial import Span
from vernal.sets.sampled.loop_space import LoopFollower

HORIZON = 1.25
Cut = tuple[Floats, Floats]


def parts(flow: Flow, count: int) -> Cut:
    """The initial box cut into so many parts along each axis."""
    spans = [flow.init.starts[variable.name] for variable in flow.state]
    lower = np.array([float_below(span.ends[0]) for span in spans])
    upper = np.array([float_above(span.ends[1]) for span in spans])
    assert all(isinstance(span, Span) for span in spans)
    grid = np.stack(np.meshgrid(*[np.arange(count)] * len(spans), indexing="ij"), -1).reshape(-1, len(spans))
    return lower + (upper - lower) * grid / count, lower + (upper - lower) * (grid + 1) / count


def directions(n: int) -> Floats:
    more = np.random.default_rng(n).integers(-3, 4, (4, n)).astype(np.float64)
    return np.concatenate([np.eye(n), more[np.abs(more).sum(1) > 0]])


def followed(flow: Flow, starts: Cut, horizon: float = HORIZON, degree: int = 8, *, curved: bool = False) -> Segments:
    loop = LoopFollower(
        plant_of(flow), directions(len(flow.state)), lambda of, rows: TaylorStepper(of, rows, degree, 3)
    )
    pace = Pace(horizon / 4, horizon / 128, 1e-8)
    return loop.follow(*starts, Fraction(horizon_on_grid(horizon)), lambda length: pace, curved=curved)


def assert_contained(flow: Flow, found: Segments, starts: Cut, horizon: float, seed: int, each: int = 60) -> None:
    rng = np.random.default_rng(seed)
    origins: Array = np.repeat(np.arange(len(starts[0])), each)
    shares = np.clip(rng.uniform(-0.3, 1.3, (len(origins), len(flow.state))), 0, 1)  # corners and edges, too
    lower, upper = starts[0][origins], starts[1][origins]
    times, states = Simulation(flow, seed).run(lower + shares * (upper - lower), horizon)
    region = [(float(low), float(high)) for low, high in flow.region]
    assert escapes(found, directions(len(flow.state)), region, times, states, origins) == []


def test_a_variable_that_nothing_disturbs_beside_one_that_something_does() -> None:
    x, y = state("x", "y")
    for rate in (build.const(0), -y):
        flow = flow_of({x: build.between(-1, 1, name="d"), y: rate}, [(0, 1), (1, 2)], [(-9, 9), (-9, 9)])
        starts = parts(flow, 1)
        found = followed(flow, starts)
        assert np.isinf(found.rough).all()  # a smooth field needs no step of first order
        assert_contained(flow, found, starts, HORIZON, seed=0)


# Exact solutions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_linear_systems_are_as_tight_as_their_exponential(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 2 + seed % 3
    matrix = rng.integers(-16, 17, (n, n)) / 8
    variables = state(*"uvwxyz"[:n])
    rates: dict[object, Expr] = {}
    for row, var in zip(matrix, variables, strict=True):
        rates[var] = build.add(*(Fraction(float(a)) * other for a, other in zip(row, variables, strict=True)))
    flow = flow_of(rates, [("0.5", "0.625")] * n, [(-1000, 1000)] * n)  # type: ignore[arg-type]
    sets, stepper = boxes(*parts(flow, 1)), TaylorStepper(flow, np.eye(n), 10, 2)
    time = 0.0
    while time < 2:
        moves = stepper.step(sets, np.array([min(0.125, 2 - time)]), 1e-12)
        assert moves.found.all()
        sets, time = moves.sets, time + float(moves.steps[0])
    flown = expm(matrix * 2)
    exact = np.abs(flown) @ np.full(n, 1 / 16)
    low, high = sets.lower, sets.upper
    assert (low[0] <= flown @ np.full(n, 9 / 16) - exact + 1e-9).all()
    assert (high[0] >= flown @ np.full(n, 9 / 16) + exact - 1e-9).all()
    assert ((high - low)[0] <= 2 * exact * (1 + 1e-6)).all()


def test_a_cubic_and_the_logistic_equation_follow_their_formulas() -> None:
    x, y = state("x", "y")
    flow = flow_of({x: 0 * x - x**3, y: y * (1 - y)}, [(1, "1.1"), ("0.1", "0.15")], [(0, 2), (0, 2)])
    found = followed(flow, parts(flow, 1), 4.0)
    assert found.until.tolist() == [4.0]
    assert found.inside.tolist() == [4.0]
    for (begin, end), low, high in zip(found.times, found.sets.lower, found.sets.upper, strict=True):
        for time in np.linspace(begin, end, 5):
            for a in (1.0, 1.05, 1.1):
                assert low[0] <= a / np.sqrt(1 + 2 * a * a * time) <= high[0]
            for b in (0.1, 0.12, 0.15):
                assert low[1] <= 1 / (1 + (1 / b - 1) * np.exp(-time)) <= high[1]
    spread = 1 / (1 + (1 / 0.15 - 1) * np.exp(-4)) - 1 / (1 + (1 / 0.1 - 1) * np.exp(-4))
    assert found.sets.upper[-1, 1] - found.sets.lower[-1, 1] < 2.5 * spread


def test_segments_cover_all_of_the_time_without_a_gap() -> None:
    flow = van_der_pol()
    starts = parts(flow, 2)
    found = followed(flow, starts)
    for origin in range(len(starts[0])):
        own = found.times[found.sets.trail == origin]
        own = own[np.lexsort(own.T[::-1])]
        assert own[0, 0] == 0
        assert own[-1, 1] >= HORIZON
        assert (own[1:, 0] == own[:-1, 1]).all()


# Simulated trajectories -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flow", "horizon", "count"),
    [(jet(), 1.5, 3), (steam(), 2.0, 2), (exponential(), 1.0, 6), (van_der_pol(), 3.0, 5), (cube_root(), 1.5, 2)],
    ids=["jet", "steam", "exponential", "van der Pol", "cube root"],
)
def test_known_models(flow: Flow, horizon: float, count: int) -> None:
    starts = parts(flow, count)
    found = followed(flow, starts, horizon)
    assert (found.until >= horizon).all()
    assert_contained(flow, found, starts, horizon, seed=1)


def test_one_curved_set_goes_where_many_zonotopes_do() -> None:
    """Van der Pol's oscillator from a wide box: the image under a polynomial needs no cut, and is not much too wide."""
    x, y = state("x", "y")
    flow = flow_of({x: 1 * y, y: (1 - x**2) * y - x}, [("1.25", "1.55"), ("2.35", "2.45")], [(-5, 5), (-5, 5)])
    starts = parts(flow, 1)
    assert followed(flow, starts, 7.0).until[0] < 4
    found = followed(flow, starts, 7.0, curved=True)
    assert found.until[0] == 7.0
    assert found.sets.upper[:, 1].max() < 2.75
    assert_contained(flow, found, starts, 7.0, seed=3, each=400)
    last = found.times[:, 1].argmax()
    assert (found.sets.upper[last] - found.sets.lower[last])[0] < 0.2


def random_rates(rng: np.random.Generator, n: int, disturbed: bool) -> dict[object, Expr]:
    """Polynomials of degree 3 with a few elementary terms; disturbances added, multiplied, and with moving ends."""
    variables = state(*"uvwxyz"[:n])
    rates: dict[object, Expr] = {}
    for var in variables:
        rate: Expr = build.const(Fraction(int(rng.integers(-4, 5)), 4))
        for _ in range(4):
            term: Expr = build.const(Fraction(int(rng.integers(-8, 9)), 8))
            for factor in rng.integers(0, n, rng.integers(1, 4)):
                term = term * variables[factor]
            rate = rate + term
        a, b = (variables[i] for i in rng.integers(0, n, 2))
        rate = rate + [sin(a * b), cos(a), exp(0 - a * a), sqrt(1 + b * b), a / (2 + b * b), 0 * a][rng.integers(6)]
        if disturbed:
            noise = build.between(Fraction(-1, 8), Fraction(1, 4))
            moving = build.between(b * b / -8, Fraction(1, 16) + a * a / 8)
            rate = rate + [noise, noise * a, moving][rng.integers(3)]
        rates[var] = rate
    return rates


@pytest.mark.parametrize("curved", [False, True], ids=["zonotopes", "polynomials"])
@pytest.mark.parametrize("disturbed", [False, True], ids=["exact", "disturbed"])
@pytest.mark.parametrize("seed", seeds(2, 1))
def test_random_fields(seed: int, disturbed: bool, curved: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    rates = random_rates(rng, n, disturbed)
    centre = rng.integers(-4, 5, n) / 8
    flow = flow_of(rates, [(c - 0.0625, c + 0.0625) for c in centre], [(-2, 2)] * n)  # type: ignore[arg-type]
    starts = parts(flow, 2)
    horizon = 1.0 if ALL else 0.5
    found = followed(flow, starts, horizon, curved=curved)
    assert found.until.min() > 0.05
    assert_contained(flow, found, starts, horizon, seed, each=40)


def test_a_disturbance_of_one_rate_alone_leaves_steps_smooth() -> None:
    x, y = state("x", "y")
    wind = build.between(Fraction(-1, 20), Fraction(1, 20))
    rates = {x: -y - Fraction(3, 2) * x**2 - Fraction(1, 2) * x**3 - Fraction(1, 10) + wind, y: 3 * x - y}
    flow = flow_of(rates, [("0.45", "0.5"), ("-0.6", "-0.55")], [(-1, 1), (-1, 1)])
    starts = parts(flow, 1)
    found = followed(flow, starts, 1.5)
    assert np.isinf(found.rough).all()
    assert found.inside.min() >= 1.5
    assert_contained(flow, found, starts, 1.5, 0, each=200)
    last = found.times[:, 1].argmax()
    assert (found.sets.upper[last] - found.sets.lower[last])[0] < 0.25


@pytest.mark.parametrize("ring", [CONSTANT, monomials((1,), 2)], ids=["zonotope", "polynomial"])
def test_a_centre_that_a_cut_left_outside_is_a_centre_all_the_same(ring: Monomials) -> None:
    """Between it and the states slopes are others than among the states: x' = (y - 1)^4 where y is at least 1/2."""
    x, y = state("x", "y")
    flow = flow_of({x: (y - 1) ** 4, y: build.const(0)}, [(0, 0), (0, 1)], [(-9, 9), (-9, 9)])
    whole = boxes(np.array([[0.0, -1.0]]), np.array([[0.0, 1.0]]), ring)
    moves = TaylorStepper(flow, np.eye(2), 4, 2).step(replace(whole, lower=np.array([[0.0, 0.5]])), np.ones(1), 1.0)
    assert moves.found.all()
    assert moves.sets.lower[0, 0] <= 0
    assert (moves.lower[:, 0, 0] <= 0).all()


# Where it is not smooth -----------------------------------------------------------------------------------------------


def test_a_kink_is_crossed_and_all_solutions_beside_a_root_are_followed() -> None:
    x, y = state("x", "y")
    kink = flow_of({x: abs(y) - build.relu(x), y: 0 * x - 1}, [("-0.1", "0.1"), ("0.4", "0.5")], [(-2, 2), (-2, 2)])
    starts = parts(kink, 2)
    found = followed(kink, starts)
    assert (found.until >= HORIZON).all()
    assert np.isinf(found.rough).all()  # linear steps, no steps of first order
    assert (found.sets.upper - found.sets.lower)[found.times[:, 1] >= HORIZON, 0].max() < 0.16  # 0.1 to 0.11
    assert_contained(kink, found, starts, HORIZON, seed=2)
    root = flow_of({x: 1 * y, y: sqrt(x)}, [(0, "0.05"), (0, "0.1")], [(0, 1), (-1, 1)])
    starts = parts(root, 4)
    found = followed(root, starts)
    assert np.isfinite(found.rough).any()
    own = found.sets.trail == 0  # the box of (0, 0), from which x is 0 for a while, and then (t - s)^4 / 144
    for wait in (0.0, 0.3, 2.0):
        for (begin, end), low, high in zip(found.times[own], found.sets.lower[own], found.sets.upper[own], strict=True):
            since = max(0.0, (begin + end) / 2 - wait)
            assert low[0] <= since**4 / 144 <= high[0]
            assert low[1] <= since**3 / 36 <= high[1]


def test_what_leaves_the_region_is_dropped_and_known_to_leave() -> None:
    x, y = state("x", "y")
    flow = flow_of({x: build.const(1), y: build.const(0)}, [("0", "0.1"), ("0.5", "0.5")], [(0, "0.7"), (0, 1)])
    found = followed(flow, parts(flow, 1), 2.0)
    assert 0.5 <= found.inside[0] <= 0.6  # the first leave at 0.6, the last at 0.7
    assert found.until[0] == 2.0
    assert 0.7 <= found.times.max() < 0.9
    assert found.sets.upper[:, 0].max() <= np.nextafter(0.7, 1)


def test_what_explodes_ends_before_it_does() -> None:
    (x,) = state("x")
    flow = flow_of({x: x**2}, [(1, 1)], [(-1000, 1000)])
    found = followed(flow, parts(flow, 1), 2.0)
    assert 0.9 < found.inside[0] < 1.0  # it leaves the region before it explodes
    before = found.times[:, 1] < 0.999
    middles = found.times[before].mean(1)
    assert (found.sets.lower[before, 0] <= 1 / (1 - middles)).all()
    assert (found.sets.upper[before, 0] >= 1 / (1 - middles)).all()
    assert found.sets.upper[:, 0].max() >= 1000
