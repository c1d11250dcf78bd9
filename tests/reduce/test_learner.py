"""Networks in the place of vector fields: known least errors, widths, determinism, exact products, any flow."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from tests.reduce.neural_flows import HALF, JET, NON_LIPSCHITZ_2, PLANE, STEAM, UNIT, flow, x, y, z
from vernal.errors import InputError
from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.flow import Flow
from vernal.model.functions import exp, sin, sqrt
from vernal.reduce.neural.learner import LearnedNetwork, Learner
from vernal.reduce.neural.parts import parts

TENTH = Fraction(1, 10)


def learner(of: Flow, seed: int = 0) -> Learner:
    lower, upper = (np.array([float(ends[side]) for ends in of.region]) for side in (0, 1))
    return Learner(of, lower, upper, seed=seed)


def network(found: LearnedNetwork, states: Floats) -> Floats:
    values = states
    for weight, bias in zip(found.weights[:-1], found.biases[:-1], strict=True):
        values = np.maximum(values @ weight.T + bias, 0)
    return np.asarray(values @ found.weights[-1].T + found.biases[-1])


def largest_errors(of: Flow, found: LearnedNetwork, count: int = 100_000, seed: int = 7) -> Floats:
    """The largest errors at random states and disturbances."""
    random = np.random.default_rng(seed)
    lower, upper = (np.array([float(ends[side]) for ends in of.region]) for side in (0, 1))
    states = random.uniform(lower, upper, size=(count, len(lower)))
    inputs: dict[Expr, Floats] = {variable: states[:, j] for j, variable in enumerate(of.vars)}
    inputs |= {draw: random.integers(0, 2, size=count).astype(float) for draw in of.disturbances}
    rates = np.stack([np.broadcast_to(rate, count) for rate in concrete.evaluate(of.vector_field, inputs)], axis=1)
    return np.asarray(np.abs(network(found, states) - rates).max(axis=0))


# Parts ----------------------------------------------------------------------------------------------------------------


def test_a_field_is_taken_apart_by_what_its_terms_look_at() -> None:
    found = parts(JET)
    assert found.linear.tolist() == [[0, -1], [3, -1]]
    assert found.constant.tolist() == [-0.1, 0]
    (part,) = found.nonlinear
    assert part.directions.tolist() == [[1, 0]]
    assert part.outputs == [0]


def test_terms_with_common_variables_are_one_part() -> None:
    (part,) = parts(STEAM).nonlinear
    assert part.directions.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert part.outputs == [1, 2]


def test_a_function_of_a_sum_looks_in_one_direction() -> None:
    kuramoto = flow({**PLANE, "z": UNIT}, x=sin(y - x), y=sin(2 * x - 2 * y) + sin(z - y), z=z**2)
    directions = [part.directions.tolist() for part in parts(kuramoto).nonlinear]
    assert sorted(directions) == [[[0, 0, 1]], [[0, 1, -1]], [[1, -1, 0]]]


def test_what_is_affine_on_the_region_is_no_part() -> None:
    assert parts(flow({"x": (1, 2), "y": (1, 2)}, x=abs(x) + build.maximum(y, 0), y=x / 3)).nonlinear == ()


def test_terms_that_share_a_disturbance_stay_together() -> None:
    draw = build.between(-1, 1)
    apart = parts(flow(PLANE, x=x * build.between(-1, 1) - y * build.between(-1, 1)))
    assert len(apart.nonlinear) == 2
    (part,) = parts(flow(PLANE, x=x * draw - y * draw)).nonlinear
    assert part.directions.shape == (2, 2)


# Known least errors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("ends", [(-1, 1), (2, 5), (0, 1000)])
def test_the_least_error_of_a_square(pieces: int, ends: tuple[int, int]) -> None:
    """x^2 is off a line by (b-a)^2/8 at most on [a, b], at best; m equal pieces make it (b-a)^2/(8 m^2)."""
    least = (ends[1] - ends[0]) ** 2 / 8 / pieces**2
    found = learner(flow({"x": ends}, x=x**2)).learn(np.array([least]), widths=[pieces], enough=0.0)
    assert found.regions == pieces
    assert least * 0.999 <= largest_errors(flow({"x": ends}, x=x**2), found)[0] <= 1.02 * least


def test_the_least_error_of_a_root() -> None:
    """On [a, b] the best line is (sqrt b - sqrt a)^2 / (8 (sqrt a + sqrt b)) off sqrt(x)."""
    tank = flow({"x": (0, 1)}, x=sqrt(x))
    one = learner(tank).learn(np.array([1.0]), widths=[1], enough=0.0)
    assert largest_errors(tank, one)[0] == pytest.approx(1 / 8, rel=1e-3)
    two = learner(tank).learn(np.array([1.0]), widths=[2], enough=0.0)  # (1 - s)^2 / (8 (1 + s)) = s / 8 at s = 1/3
    assert largest_errors(tank, two)[0] == pytest.approx(1 / 24, rel=1e-2)


def test_a_piecewise_linear_field_is_learned_without_error() -> None:
    bent = flow(PLANE, x=abs(x - TENTH) + y, y=build.relu(y + Fraction(1, 3)) - 2 * x)
    found = learner(bent).learn(np.full(2, 0.01))
    assert (largest_errors(bent, found) < 1e-4).all()
    assert found.regions == 4


def test_outputs_share_breaks() -> None:
    both = flow({"x": UNIT, "y": UNIT}, x=x**2 + y, y=3 * x**2 - x)
    found = learner(both).learn(np.array([1 / 32, 3 / 32]) * 1.03)
    assert found.regions == 4  # |x|: pieces of length 1/2 leave 1/32


def test_as_few_pieces_as_the_error_asks_for() -> None:
    square = flow({"x": UNIT}, x=x**2)
    for pieces in (1, 2, 4, 6):
        assert learner(square).learn(np.array([1.03 / 2 / pieces**2])).hyperplanes == pieces - 1


def test_errors_of_parts_add_up() -> None:
    of = flow(PLANE, x=x**2 + y**2)
    found = learner(of).learn(np.array([0.05, 1.0]))
    assert largest_errors(of, found)[0] <= found.error[0] * 1.001
    assert found.error[0] <= 0.05


# Networks -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("widths", [[10], [10, 16], [7, 2, 5]])
def test_widths_are_honoured(widths: Sequence[int]) -> None:
    found = learner(JET).learn(np.full(2, 0.04), widths)
    assert [len(bias) for bias in found.biases] == [*widths, 2]
    assert (largest_errors(JET, found) <= found.error * 1.001 + 1e-5).all()


def test_networks_that_are_too_narrow_are_refused() -> None:
    with pytest.raises(InputError, match="needs at least 2"):
        learner(JET).learn(np.full(2, 0.04), [1])
    with pytest.raises(InputError, match="any other 2"):
        learner(JET).learn(np.full(2, 0.04), [9, 1])


def test_the_seed_decides_everything() -> None:
    first, again, other = (learner(STEAM, seed).learn(np.array([1.0, 0.3, 0.2])) for seed in (1, 1, 2))
    for mine, same in zip(first.weights + first.biases, again.weights + again.biases, strict=True):
        assert np.array_equal(mine, same)
    assert not all(np.array_equal(a, b) for a, b in zip(first.weights, other.weights, strict=True))


@pytest.mark.parametrize("widths", [None, [12], [12, 4, 4]], ids=str)
@pytest.mark.parametrize("of", [JET, NON_LIPSCHITZ_2], ids=["jet", "non-Lipschitz 2"])
def test_products_of_layers_are_exact(of: Flow, widths: Sequence[int] | None) -> None:
    """In float64 as in rationals, for random activation patterns."""
    found = learner(of).learn(np.full(2, 0.01), widths)
    random = np.random.default_rng(3)
    for _ in range(20):
        patterns = [random.integers(0, 2, size=len(bias)).astype(float) for bias in found.biases[:-1]]
        assert _affine_map(found, patterns, exact=False) == _affine_map(found, patterns, exact=True)


def _affine_map(found: LearnedNetwork, patterns: Sequence[Floats], exact: bool) -> list[list[Fraction]]:
    """The last layer's affine map of the input, with its constant as the last column."""
    entry = np.vectorize(Fraction, otypes=[object]) if exact else np.asarray
    size = found.weights[0].shape[1]
    rows = entry(np.eye(size, size + 1))
    for weight, bias, pattern in zip(found.weights, found.biases, [np.ones(0), *patterns], strict=True):
        rows = rows if not len(pattern) else entry(pattern)[:, None] * rows
        rows = entry(weight) @ rows
        rows[:, -1] += entry(bias)
    return [[Fraction(value) for value in row] for row in rows.tolist()]


@pytest.mark.parametrize("scale", [Fraction(1, 10**6), Fraction(1), Fraction(10**6)], ids=["micro", "one", "mega"])
def test_units_do_not_matter(scale: Fraction) -> None:
    """x = scale u has x' = scale u'."""
    of = flow({"x": (-scale, scale)}, x=scale * (x / scale) ** 2)
    found = learner(of).learn(np.array([float(scale) / 30]))
    assert found.hyperplanes == 3
    assert largest_errors(of, found)[0] == pytest.approx(float(scale) / 32, rel=0.03)


# Any flow -------------------------------------------------------------------------------------------------------------

DRAW = build.between(-TENTH, TENTH)
WILD = {
    "constant": flow(PLANE, x=build.const(2), y=build.const(0)),
    "only a disturbance": flow(PLANE, x=DRAW, y=x),
    "disturbed": flow(PLANE, x=x**2 + x * DRAW, y=y * build.between(0, HALF)),
    "van der Pol": flow(PLANE, x=y, y=(1 - x**2) * y - x),
    "rotated": flow(PLANE, x=sin(x + y) + exp(x - y), y=(x + 2 * y) ** 2 * x),
    "three": flow({**PLANE, "z": (0, 2)}, x=x * y * z, y=-x, z=1 / (1 + z)),
    "one state": flow({"x": (1, 1), "y": UNIT}, x=x**2, y=x * y**2),
    "not smooth": flow(PLANE, x=build.if_(x < 0, x, 2 * x) + y, y=build.minimum(x, y)),
}


@pytest.mark.parametrize("name", WILD)
def test_any_flow_is_learned(name: str) -> None:
    found = learner(WILD[name]).learn(np.full(len(WILD[name].vars), 0.6))
    assert (found.error <= 0.6).all()
    assert (largest_errors(WILD[name], found) <= 1.05 * found.error + 1e-4).all()


def test_a_disturbance_is_halved_by_the_network_in_its_middle() -> None:
    of = flow({"x": UNIT}, x=build.between(0, 1))
    assert largest_errors(of, learner(of).learn(np.array([1.0])))[0] == pytest.approx(0.5, abs=1e-5)
