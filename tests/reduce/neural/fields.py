"""Flows with a network that stands in for each: what tests of neural abstractions certify."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from tests.six_models import NAMES, model
from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats
from vernal.model.expr import Expr
from vernal.model.flow import Flow
from vernal.model.initial import Init
from vernal.model.sorts import REAL
from vernal.model.system import Variable

Network = tuple[tuple[Floats, ...], tuple[Floats, ...]]
SQUARE: dict[str, tuple[int, int]] = {"x": (-1, 1), "y": (-1, 1)}


def flow(region: Mapping[str, tuple[int | Fraction, int | Fraction]], rates: Callable[..., Sequence[Expr]]) -> Flow:
    """A flow whose rates are functions of its variables."""
    state = tuple(Variable(name, REAL, Fraction(low), Fraction(high)) for name, (low, high) in region.items())
    written = rates(*(variable.var for variable in state))
    return Flow("field", state, Init({}), dict(zip(region, written, strict=True)))


def region_of(field: Flow) -> tuple[Floats, Floats]:
    """The region's ends, which are floats here."""
    lower, upper = zip(*((float(low), float(high)) for low, high in field.region), strict=True)
    return np.array(lower), np.array(upper)


SIX = {name: model(name) for name in NAMES}


def fitted(field: Flow, widths: Sequence[int], seed: int = 0) -> Network:
    """A network of random ReLU features whose last layer is fitted by least squares; weights are short dyadic numbers.

    As many neurons as there are variables are active on the whole region, so that linear rates are passed through.
    """
    random = np.random.default_rng(seed)
    lower, upper = region_of(field)
    points = random.uniform(lower, upper, (2000, len(lower)))
    weights: list[Floats] = []
    biases: list[Floats] = []
    h, n = points, len(lower)
    for width in widths:
        weight = np.zeros((n + width, h.shape[1]))
        bias = np.zeros(n + width)
        weight[:n, :n] = np.eye(n)
        bias[:n] = 0.0 if weights else -lower
        weight[n:, -min(width, h.shape[1]) :] = random.normal(size=(width, min(width, h.shape[1])))
        bias[n:] = -np.vecdot(weight[n:], h[random.integers(len(h), size=width)])
        weights.append(np.round(weight * 256) / 256)
        biases.append(np.round(bias * 256) / 256)
        h = np.maximum(h @ weights[-1].T + biases[-1], 0.0)
    rates = np.stack(concrete.compile(field.vector_field)(dict(zip(field.vars, points.T, strict=True)), len(points)), 1)
    solved = np.linalg.lstsq(np.concatenate([h, np.ones((len(h), 1))], 1), rates, rcond=1e-8)[0]
    solved = np.round(solved * 2**20) / 2**20
    return (*weights, solved[:-1].T.copy()), (*biases, solved[-1].copy())
