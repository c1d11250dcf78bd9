"""Forms in floats contain what exact ones are, whatever was rounded on the way."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from vernal_check import curves
from vernal_check.directed import Rounded, spanned
from vernal_check.evaluation import Run
from vernal_check.forms import Exact, Form
from vernal_check.networks import computed
from vernal_check.onnx import Instruction, Network

RANGES = {0: (-1.0, 1.0), 1: (-1.0, 1.0)}


def value(form: Form, at: dict[int, Fraction]) -> tuple[Fraction, Fraction]:
    """What a form says of the point at which its symbols are these."""
    if isinstance(form, Rounded):
        middle = Fraction(form.const) + sum(Fraction(a) * at[symbol] for symbol, a in form.terms.items())
        return middle - Fraction(form.error), middle + Fraction(form.error)
    assert isinstance(form, Exact)
    return form.const + form.low, form.const + form.high


@pytest.mark.parametrize("seed", range(20))
def test_sums_products_and_curves_contain_their_values(seed: int) -> None:
    draw = random.Random(seed)
    at = {symbol: Fraction(draw.randrange(-8, 9), 8) for symbol in RANGES}
    forms: list[Form] = []
    truths: list[Fraction] = []
    for symbol in RANGES:
        made = spanned(symbol, *sorted(Fraction(draw.randrange(-99, 99), 70) for _ in range(2)))
        forms.append(made)
        truths.append(value(made, at)[0])
    for _ in range(12):
        i, j, factor = draw.randrange(len(forms)), draw.randrange(len(forms)), Fraction(draw.randrange(-9, 9), 7)
        a, b, x, y = forms[i], forms[j], truths[i], truths[j]
        kind = draw.randrange(5)
        made_form, truth = (
            (a.plus(b), x + y) if kind == 0
            else (a.times(factor), x * factor) if kind == 1
            else (a.product(b, RANGES), x * y) if kind == 2
            else (a.rectified(RANGES), max(x, Fraction(0))) if kind == 3
            else (a.widened(Fraction(0), Fraction(1, 3)), x + Fraction(1, 5))
        )  # fmt: skip
        low, high = value(made_form, at)
        assert low <= truth <= high
        around = made_form.range(RANGES)
        assert around[0] <= truth <= around[1]
        if abs(truth) < 1000:
            forms.append(made_form)
            truths.append(truth)
    for name in ("cos", "sin", "exp", "tanh", "sigmoid", "atan"):
        exact = curves.apply(name, Exact(truths[0]), {})
        least, most = exact.range({})
        low, high = value(curves.apply(name, forms[0], RANGES), at)
        assert low <= most
        assert high >= least


def test_networks_in_arrays_contain_their_values() -> None:
    draw = random.Random(1)
    rows = tuple(tuple((j, Fraction(draw.uniform(-2, 2))) for j in range(2)) for _ in range(6))
    last = (tuple((j, Fraction(draw.uniform(-2, 2))) for j in range(6)),)
    network = Network(
        2,
        (
            Instruction("affine", (0,), rows=rows, shift=tuple(Fraction(i, 7) for i in range(6)), columns=2),
            Instruction("relu", (1,)),
            Instruction("affine", (2,), rows=last, shift=(Fraction(1, 3),), columns=6),
        ),
    )
    inputs = [spanned(0, Fraction(-1, 3), Fraction(2, 3)), spanned(1, Fraction(0), Fraction(1, 7))]
    (out,) = computed(network, inputs, Run((), dict(RANGES), True))
    for _ in range(50):
        at = {symbol: Fraction(draw.randrange(-16, 17), 16) for symbol in RANGES}
        points = [Exact(value(one, at)[0]) for one in inputs]
        (truth,) = computed(network, points, Run((), {}))
        low, high = value(out, at)
        assert low <= truth.value <= high


@pytest.mark.parametrize("seed", range(20))
def test_a_coarse_form_is_around_its_form(seed: int) -> None:
    draw = random.Random(seed)
    terms = {n: draw.uniform(-1, 1) * 10.0 ** draw.randrange(-20, 5) for n in range(draw.randrange(4))}
    form = Rounded(draw.uniform(-1, 1) * 10.0 ** draw.randrange(-3, 6), terms, 10.0 ** draw.randrange(-18, 1))
    made = form.coarse()
    for _ in range(20):
        point = {n: Fraction(draw.choice([-1.0, 1.0, draw.uniform(-1, 1)])) for n in terms}
        exact, other = (
            Fraction(one.const) + sum(Fraction(a) * point[n] for n, a in one.terms.items()) for one in (form, made)
        )
        assert abs(exact - other) + Fraction(form.error) <= Fraction(made.error)
    again = Rounded(form.const * (1 + 2**-52), form.terms, form.error).coarse()
    assert made.key == again.key or made.const != again.const  # mostly the same one
