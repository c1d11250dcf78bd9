"""The difference between a vector field and a network that stands in for it: at points, and as an expression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, product

import numpy as np

from vernal.errors import BeyondFloats, InputError
from vernal.interpret import concrete, exact, interval
from vernal.interpret.demand import Given
from vernal.interpret.numbers.backends import NUMPY
from vernal.interpret.numbers.reals import Undefined
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.value_sets import Range, as_range
from vernal.model import build
from vernal.model.expr import Between, Expr, Matrix, Role, Var
from vernal.model.graph import rewrite
from vernal.model.system import Model

MAX_CORNERS = 6  # disturbances of which all combinations of ends are tried
POINTS_PER_BLOCK = 1 << 14  # points that are evaluated together


class ErrorField:
    """f - N over coordinates: the state variables, and where each disturbance is between its ends, from 0 to 1.

    f may be a part of a vector field: some of its rates, of some of the variables.
    """

    def __init__(
        self,
        variables: Sequence[Var],
        rates: Mapping[str, Expr],
        weights: Sequence[Floats],
        biases: Sequence[Floats],
    ) -> None:
        """Rates by the names of the variables that have them."""
        self.variables, self.names = tuple(variables), tuple(rates)
        self.weights, self.biases = tuple(weights), tuple(biases)
        self.size, self.outputs = len(self.variables), len(self.names)
        self._check()
        self.positions: dict[Between, Var] = {}
        self.rates = tuple(rewrite(tuple(rates.values()), self._placed))
        self.coordinates: tuple[Var, ...] = (*self.variables, *self.positions.values())
        self.hidden: list[Expr] = []  # what each ReLU is applied to, layer by layer
        self.network = self._network()
        self._rates = concrete.compile(self.rates)

    @classmethod
    def of(cls, flow: Model, weights: Sequence[Floats], biases: Sequence[Floats]) -> ErrorField:
        """The whole vector field of a flow and a network that stands in for it."""
        names = (variable.name for variable in flow.state)
        return cls(flow.vars, dict(zip(names, flow.vector_field, strict=True)), weights, biases)

    def _check(self) -> None:
        widths = [self.size, *(len(bias) for bias in self.biases)]
        expected, shapes = [(m, n) for n, m in pairwise(widths)], [weight.shape for weight in self.weights]
        if widths[-1] != self.outputs or shapes != expected:
            raise ValueError(f"a network of shapes {shapes} does not fit a flow of {self.size} variables")

    def _placed(self, node: Expr) -> Expr | None:
        """A disturbance as low + position * (high - low)."""
        if not isinstance(node, Between):
            return None
        place = build.var(f"position {len(self.positions)}", role=Role.INPUT)
        self.positions[node] = place
        low, high = node.args
        return low + place * (high - low)

    def _network(self) -> Expr:
        x = build.concat(*self.variables)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            self.hidden.append(build.affine(x, Matrix(weight), Matrix(bias)))
            x = build.relu(self.hidden[-1])
        return build.affine(x, Matrix(self.weights[-1]), Matrix(self.biases[-1]))

    def region(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """A box of states, with all positions of the disturbances."""
        count = len(self.positions)
        return np.concatenate([lower, np.zeros(count)]), np.concatenate([upper, np.ones(count)])

    def inputs(self, lower: Floats, upper: Floats) -> dict[Expr, Range]:
        """Boxes (boxes, coordinates) as ranges of variables."""
        return {
            var: Range(np.ascontiguousarray(lower[:, i]), np.ascontiguousarray(upper[:, i]))
            for i, var in enumerate(self.coordinates)
        }

    # At points --------------------------------------------------------------------------------------------------------

    def at(self, points: Floats) -> Floats:
        """f - N in floating point at points (points, coordinates); nan where f has no value."""
        blocks = [
            self._at(points[start : start + POINTS_PER_BLOCK]) for start in range(0, len(points), POINTS_PER_BLOCK)
        ]
        return np.concatenate(blocks) if blocks else np.zeros((0, self.outputs))

    def rates_at(self, points: Floats) -> Floats:
        """f in floating point."""
        return np.stack(self._rates(dict(zip(self.coordinates, points.T, strict=True)), len(points)), axis=1)

    def _at(self, points: Floats) -> Floats:
        with np.errstate(all="ignore"):
            x = points[:, : self.size]
            for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
                x = np.maximum(x @ weight.T + bias, 0.0)
            return self.rates_at(points) - (x @ self.weights[-1].T + self.biases[-1])

    def enclosed(self, points: Floats) -> Range:
        """f - N at points, enclosed: (points, variables)."""
        nodes = [build.sub(rate, build.component(self.network, i)) for i, rate in enumerate(self.rates)]
        found = [as_range(NUMPY, value) for value in interval.evaluate(nodes, self.inputs(points, points))]
        return Range(np.stack([x.lower for x in found], 1), np.stack([x.upper for x in found], 1))

    def refuse(self, point: Floats) -> None:
        """Raise where a rate has no value at a point, or none that is certainly a float."""
        given: dict[Expr, Given] = {v: Fraction(x) for v, x in zip(self.coordinates, point.tolist(), strict=True)}
        for name, value in zip(self.names, exact.evaluate(self.rates, given), strict=True):
            if isinstance(value, Undefined):
                raise InputError(f"the rate of {name!r} is undefined at {self.place(point)}: {value.why}")
        found = self.enclosed(point[None])
        for name, low, high in zip(self.names, found.lower[0], found.upper[0], strict=True):
            if not np.isfinite([low, high]).all():
                raise BeyondFloats(self.no_bound(name, point))

    def no_bound(self, name: str, point: Floats) -> str:
        """What to say where a rate has no finite bound around a point."""
        return f"the rate of {name!r} may be undefined at {self.place(point)}, or is too large there for a float"

    def place(self, point: Floats) -> str:
        """A point as text."""
        return ", ".join(f"{v.name} = {x:.6g}" for v, x in zip(self.variables, point.tolist(), strict=False))


def errors_at(flow: Model, weights: Sequence[Floats], biases: Sequence[Floats], points: Floats) -> Floats:
    """|f - N| at states (points, variables) in floating point, the largest over the ends of the disturbances."""
    difference = ErrorField.of(flow, weights, biases)
    found = np.zeros((len(points), difference.outputs))
    for corner in _corners(len(difference.positions)):
        places = np.broadcast_to(corner, (len(points), len(corner)))
        found = np.maximum(found, abs(difference.at(np.concatenate([points, places], axis=1))))
    return found


def _corners(count: int) -> list[tuple[float, ...]]:
    """The ends of each of several disturbances, in all combinations; of very many all low and all high."""
    return list(product((0.0, 1.0), repeat=count)) if count <= MAX_CORNERS else [(0.0,) * count, (1.0,) * count]
