"""Learning and certifying in turns: published errors with fewer regions, certified at random points, tighter again."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice, pairwise

import numpy as np
import pytest

from tests.reduce.neural_flows import JET, PUBLISHED, UNIT, WATER_TANK, flow, x
from vernal.evidence.neural import NeuralAbstraction
from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.task import AbstractionSettings
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.flow import Flow
from vernal.reduce.neural.abstraction import abstract, abstractions

ROUNDING = 1e-14  # of rates and networks in floating point: certified errors are those over the reals
BLOCK = 100_000


def largest_errors(of: Flow, found: NeuralAbstraction, count: int = 1_000_000) -> Floats:
    """At random states, with disturbances at random places."""
    random, worst = np.random.default_rng(11), np.zeros(len(of.vars))
    for _ in range(count // BLOCK):
        states = random.uniform(found.lower, found.upper, size=(BLOCK, len(worst)))
        inputs: dict[Expr, Floats] = {variable: states[:, j] for j, variable in enumerate(of.vars)}
        inputs |= {draw: random.uniform(size=BLOCK) for draw in of.disturbances}
        rates = concrete.evaluate(of.vector_field, inputs)
        (values,) = concrete.evaluate([found.network.output], {found.network.inputs: states})
        worst = np.maximum(worst, [np.abs(rate - values[:, i]).max() for i, rate in enumerate(rates)])
    return worst


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_errors_with_fewer_regions(name: str) -> None:
    of, errors, modes = PUBLISHED[name]
    wanted = tuple(map(Fraction, errors))
    found = abstract(of, AbstractionSettings(error=wanted))
    assert (found.error <= [float(error) for error in wanted]).all()
    assert int(found.statistics["regions seen"]) <= modes // 2 + 1
    assert (largest_errors(of, found) <= found.error + ROUNDING).all()
    assert (found.error <= 1.011 * found.worst + 1e-4).all()


def test_widths_alone_are_filled() -> None:
    found = abstract(JET, AbstractionSettings(widths=(10, 16)))
    assert [len(bias) for bias in found.biases] == [10, 16, 2]
    assert found.statistics["widths"] == "10, 16"
    assert found.statistics["hyperplanes"] == 8
    assert found.error[0] < 0.01


def test_an_engine_may_ask_for_less_error_than_the_settings() -> None:
    settings = AbstractionSettings(error=(Fraction(1, 10),))
    assert abstract(WATER_TANK, settings, error=[0.02]).error[0] <= 0.02


def test_ever_tighter() -> None:
    errors = [found.error[0] for found in islice(abstractions(JET), 4)]
    assert all(after < 0.9 * before for before, after in pairwise(errors))


def test_a_sequence_ends_where_widths_do() -> None:
    settings = AbstractionSettings(widths=(4,), error=(Fraction(1, 5), Fraction(1)))
    found = list(abstractions(JET, settings))
    assert 1 <= len(found) <= 4
    assert found[-1].error[0] > 0.05


def test_disturbances_are_part_of_the_error() -> None:
    of = flow({"x": UNIT}, x=x**2 + build.between(-Fraction(1, 10), Fraction(1, 10)))
    found = abstract(of, AbstractionSettings(error=(Fraction(15, 100),)))
    assert 0.1 < found.error[0] <= 0.15
    assert largest_errors(of, found, BLOCK)[0] <= found.error[0]


def test_ends_of_the_region_are_rounded_outward() -> None:
    found = abstract(flow({"x": (Fraction(1, 10), Fraction(1, 3))}, x=x**2))
    assert Fraction(found.lower.item()) <= Fraction(1, 10)
    assert Fraction(found.upper.item()) >= Fraction(1, 3)


def test_the_same_seed_the_same_network() -> None:
    one, other = (abstract(JET, AbstractionSettings(seed=3)) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one.weights, other.weights, strict=True))
    assert np.array_equal(one.error, other.error)


def test_counterexamples_are_fed_back() -> None:
    """Too few samples to see the narrow bump: the certifier's worst points show it."""
    of = flow({"x": UNIT}, x=200 * build.relu(Fraction(1, 1000) - abs(x - Fraction(1, 7))))
    found = abstract(of, AbstractionSettings(error=(Fraction(1, 20),)))
    assert int(found.statistics["rounds"]) > 1
    assert int(found.statistics["counterexamples"]) > 0
    assert (largest_errors(of, found, BLOCK) <= found.error + ROUNDING).all()


def test_a_tick_may_stop_the_work() -> None:
    def stop() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        abstract(JET, tick=stop)
