"""Recurrent networks, unrolled, in every meaning: exact where ReLUs are all that bends, enclosed where gates are."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.interpret.milp.test_encode import best, encoder_of, pin
from tests.interpret.sets import Ends, abstract, contains, items
from tests.interpret.symbolic.test_affine import value_of
from tests.interpret.symbolic.test_execute import agrees, lies_on, pieces
from tests.recurrent import random_network
from vernal.interpret import concrete, exact, interval
from vernal.interpret.geometry.affine_form import AffineForm
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.symbolic.affine import Forms
from vernal.model import build
from vernal.model.expr import Expr, Var
from vernal.model.network import Network

STEPS = 4
SEEDS = range(12)


def unrolled(network: Network) -> tuple[list[Var], Expr]:
    """What is seen at each step and remembered at first, and the output of the last step."""
    seen = [build.var(f"o{t}", shape=(network.input_size,)) for t in range(STEPS)]
    first = [build.var(f"first{i}", shape=var.shape) for i, (var, _) in enumerate(network.memory)]
    memory: tuple[Expr, ...] = tuple(first)
    for observation in seen:
        output, memory = network.apply([observation], memory)
    return [*seen, *first], output


def box(rng: random.Random, variables: list[Var], width: Fraction) -> Ends:
    ends: Ends = {}
    for var in variables:
        lows = [Fraction(rng.randint(-8, 8), 4) for _ in range(var.size)]
        ends[var] = [(low, low + width) for low in lows]
    return ends


def point(rng: random.Random, ends: Ends) -> dict[Expr, Any]:
    return {var: tuple(low + Fraction(rng.randint(0, 4), 4) * (high - low) for low, high in pairs)
            for var, pairs in ends.items()}  # fmt: skip


def random_case(seed: int, smooth: bool, width: Fraction = Fraction(1)) -> tuple[random.Random, Ends, Expr]:
    rng = random.Random(seed)
    variables, output = unrolled(random_network(rng, 1, 2, smooth, "net"))
    return rng, box(rng, variables, width), output


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_floats_are_close_and_sets_contain_what_happens(seed: int, smooth: bool) -> None:
    rng, ends, output = random_case(seed, smooth)
    (wide,) = interval.evaluate([output], abstract([ends]))
    bounds = Linear(abstract([ends])).value(output)
    for _ in range(5):
        at = point(rng, ends)
        (result,) = exact.evaluate([output], at)
        floats = {var: np.array([[float(x) for x in values]]) for var, values in at.items()}
        (close,) = concrete.evaluate([output], floats)
        assert close[0].tolist() == pytest.approx([float(x) for x in items(result)], rel=1e-9, abs=1e-9)
        assert contains(wide, 0, result)
        assert contains(bounds, 0, result)


@pytest.mark.parametrize("seed", SEEDS)
def test_symbolic_pieces_are_exact(seed: int) -> None:
    """Every point lies on a piece, and that piece says its very value."""
    rng, ends, output = random_case(seed, False)
    parts = pieces(ends, output)
    for _ in range(5):
        at = point(rng, ends)
        (result,) = exact.evaluate([output], at)
        own = [part for part in parts if lies_on(part, at)]
        assert own
        for part in own:
            assert all(agrees(v, x, part, at) for v, x in zip(part.known[output], items(result), strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_affine_forms_are_exact_where_phases_are_settled(seed: int) -> None:
    rng, ends, output = random_case(seed, False, Fraction(0))
    known = Forms(ends, Linear(abstract([ends]))).values(output)
    (result,) = exact.evaluate([output], point(rng, ends))
    assert known is not None
    assert [value_of(x, {}) if isinstance(x, AffineForm) else x for x in known] == list(items(result))


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_of_a_program_leave_no_room(seed: int) -> None:
    """With the inputs fixed, the largest and the least output of the program are the exact one."""
    rng, ends, output = random_case(seed, False)
    at = point(rng, ends)
    (result,) = exact.evaluate([output], at)
    encoder = encoder_of(ends)
    form = encoder.need(output)[0]
    for var, values in at.items():
        pin(encoder, encoder.need(var), values)
    minus = encoder.sheet.combine([(-1.0, form)])
    wanted = float(items(result)[0])
    assert best(encoder, form) == pytest.approx(wanted, rel=1e-4, abs=1e-4)
    assert -best(encoder, minus) == pytest.approx(wanted, rel=1e-4, abs=1e-4)
