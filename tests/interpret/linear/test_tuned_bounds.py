"""Bounds with free choices hold whatever is chosen, and their gradients are right."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from tests.portion import seeds
from vernal.formats.layers import dense
from vernal.interpret.concrete import compile as compiled
from vernal.interpret.linear.ascent import Ascent, WeightedRows
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.tuned_bounds import Tuning
from vernal.interpret.numbers.rounding import Array, torch_tensor
from vernal.interpret.value_sets import Range
from vernal.model import build
from vernal.model.expr import Expr

ACTIVATIONS: dict[str, Callable[[Expr], Expr]] = {
    "relu": build.relu,
    "leaky": lambda x: build.leaky_relu(x, [Fraction(1, 4)]),
    "abs": build.absolute,
    "mixed": lambda x: build.sub(build.relu(x), build.absolute(x)),
}
BOXES, GROUPS, INPUTS, CONDITIONS = 5, 40, 4, 3
EXTREMES = np.array([np.nan, np.inf, -np.inf, -3.0, 0.0, 1e-300, 0.5, 1.0, 1.0 + 2**-52, 7.0, 1e30, 1e300])


class Case:
    """A network with short weights (so that floats compute it exactly), boxes, and phases met at one of its points."""

    def __init__(
        self, seed: int, activation: str, share: float = 0.5, array: Callable[[Array], Array] = np.asarray
    ) -> None:
        rng = self.rng = np.random.default_rng(seed)
        self.x = build.var("x", shape=(INPUTS,))
        arguments = [dense(self.x, short(rng, (8, INPUTS), 4), short(rng, (8,), 4))]
        for _ in range(2):
            after = ACTIVATIONS[activation](arguments[-1])
            arguments.append(dense(after, short(rng, (8, 8), 4), short(rng, (8,), 4)))
        self.output = dense(
            ACTIVATIONS[activation](arguments[-1]), short(rng, (CONDITIONS, 8), 4), short(rng, (CONDITIONS,), 4)
        )
        self.arguments = arguments
        self.lower = short(rng, (BOXES, INPUTS), 8)
        self.upper = self.lower + abs(short(rng, (BOXES, INPUTS), 8))
        points = self.points(300)
        self.at = [self.values(points[:, box]) for box in range(BOXES)]
        self.phases = {node: self._phases(rng, number, share) for number, node in enumerate(arguments)}
        known = {
            node: Range(array(np.where(phase > 0, 0.0, -np.inf)), array(np.where(phase < 0, 0.0, np.inf)))
            for node, phase in self.phases.items()
        }
        self.linear = Linear({self.x: (array(self.lower), array(self.upper))}, known=known)
        self.linear.need(self.output)
        self.index = rng.integers(0, BOXES, GROUPS)
        phases = {node: array(phase) for node, phase in self.phases.items()}
        self.matrix, self.constants = short(rng, (CONDITIONS, CONDITIONS), 4), short(rng, (CONDITIONS,), 4)
        self.rows = WeightedRows(
            self.linear, {self.output: array(self.matrix[None])}, array(self.constants[None]), array(self.index), phases
        )

    def points(self, count: int) -> Array:
        unit = self.rng.integers(0, 9, (count, BOXES, INPUTS)) / 8
        return np.asarray(self.lower + unit * (self.upper - self.lower))

    def values(self, points: Array) -> list[Array]:
        return list(compiled([*self.arguments, self.output])({self.x: points}, len(points)))

    def _phases(self, rng: np.random.Generator, number: int, share: float) -> Array:
        """Of some neurons the side on which the first point of each box is."""
        met = np.stack([np.sign(values[number][0]) for values in self.at])
        return np.where(rng.random(met.shape) < share, met, 0.0)

    def satisfying(self, box: int) -> Array:
        """The values of the conditions at the points of a box that have its phases."""
        values = self.at[box]
        fits = np.ones(len(values[0]), dtype=bool)
        for number, phase in enumerate(self.phases.values()):
            fits &= (values[number] * phase[box] >= 0).all(axis=1)
        assert fits[0]
        return np.asarray(values[-1][fits] @ self.matrix.T + self.constants)

    def tuning(self, draw: Callable[[tuple[int, int]], Array], array: Callable[[Array], Array] = np.asarray) -> Tuning:
        return Tuning(
            {node: array(draw((GROUPS, node.size))) for node in self.arguments},
            {node: array(draw((GROUPS, node.size))) for node in self.arguments},
            array(draw((GROUPS, CONDITIONS))),
        )


def short(rng: np.random.Generator, shape: tuple[int, ...], divisor: int) -> Array:
    return rng.integers(-8, 9, shape) / divisor


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("seed", seeds(12))
def test_any_choice_gives_a_bound(seed: int, activation: str) -> None:
    """Drawn from the unit interval, over many magnitudes, and from what is not allowed at all."""
    case = Case(seed, activation)
    rng = case.rng
    for draw in (
        rng.random,
        lambda shape: 10.0 ** rng.uniform(-6, 6, shape),
        lambda shape: rng.choice(EXTREMES, shape),
    ):
        tuning = case.tuning(draw)
        low = case.rows.bound(tuning).low
        weights = tuning.admitted(case.linear.backend).weights
        for group, box in enumerate(case.index):
            sums = [sum(map(float.__mul__, weights[group].tolist(), row)) for row in case.satisfying(box).tolist()]
            assert low[group] <= min(sums) + 1e-12 * abs(min(sums))


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("seed", range(4))
def test_ascent_improves_bounds_that_hold(seed: int, activation: str) -> None:
    case = Case(seed, activation, share=0.2)
    weights = np.eye(CONDITIONS)[case.rng.integers(0, CONDITIONS, GROUPS)]
    zeros = {node: np.zeros((GROUPS, node.size)) for node in case.arguments}
    halves = {node: np.full((GROUPS, node.size), 0.5) for node in case.arguments}
    ascent = Ascent(case.rows, Tuning(halves, zeros, weights), np.ones((GROUPS, CONDITIONS), dtype=bool))
    first = ascent.best.low
    for _ in range(15):
        ascent.step()
    assert (ascent.best.low >= first).all()
    assert (ascent.best.low > first).any()
    assert (ascent.best_tuning.weights == weights).all()
    assert np.allclose(case.rows.bound(ascent.best_tuning).low, ascent.best.low)
    for group, box in enumerate(case.index):
        assert ascent.best.low[group] <= (case.satisfying(box) @ weights[group]).min() + 1e-12


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("seed", range(6))
def test_gradients_are_those_of_differences(seed: int, activation: str) -> None:
    """Where a small step changes the bound smoothly, it does so as the gradient says."""
    case = Case(seed, activation)
    tuning = case.tuning(lambda shape: case.rng.uniform(0.2, 0.8, shape))
    found = case.rows.bound(tuning)
    for kind in ("shares", "multipliers", "weights"):
        for node in case.arguments if kind != "weights" else [None]:
            compare(case, tuning, found.low, kind, node, getattr(found.gradient, kind))


def compare(case: Case, tuning: Tuning, low: Array, kind: str, node: Expr | None, gradient: object) -> None:
    step = 1e-7
    for place in range(3):

        def moved(amount: float, place: int = place) -> Array:
            parts = {name: getattr(tuning, name) for name in ("shares", "multipliers", "weights")}
            array = np.array(parts[kind] if node is None else parts[kind][node])
            array[:, place] += amount
            parts[kind] = array if node is None else {**parts[kind], node: array}
            return case.rows.bound(Tuning(**parts)).low

        up, down = (moved(step) - low) / step, (low - moved(-step)) / step
        smooth = np.isclose(up, down, rtol=1e-3, atol=1e-5)
        said = gradient if node is None else gradient.get(node, np.zeros((GROUPS, 8)))  # type: ignore[attr-defined]
        assert smooth.mean() > 0.7
        assert np.allclose(np.asarray(said)[smooth, place], up[smooth], rtol=1e-3, atol=1e-4), (kind, place)


@pytest.mark.torch
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_torch_agrees_with_numpy(activation: str) -> None:
    import torch

    here, there = Case(1, activation), Case(1, activation, array=torch.asarray)
    tuning = here.tuning(here.rng.random)
    same = Tuning(
        {node: torch.asarray(x) for node, x in tuning.shares.items()},
        {node: torch.asarray(x) for node, x in tuning.multipliers.items()},
        torch.asarray(tuning.weights),
    )
    one, other = here.rows.bound(tuning), there.rows.bound(same)
    assert np.allclose(one.low, torch_tensor(other.low).numpy(), rtol=1e-9, atol=1e-9)
    assert np.allclose(one.gradient.weights, torch_tensor(other.gradient.weights).numpy(), rtol=1e-7, atol=1e-7)
    ascent = Ascent(there.rows, same, torch.zeros((GROUPS, CONDITIONS), dtype=torch.bool))
    for _ in range(5):
        ascent.step()
    assert (torch_tensor(ascent.best.low).numpy() >= torch_tensor(other.low).numpy()).all()
    weights = torch_tensor(ascent.best_tuning.weights).numpy()
    for group, box in enumerate(here.index):
        assert ascent.best.low[group] <= (here.satisfying(box) @ weights[group]).min() + 1e-9
