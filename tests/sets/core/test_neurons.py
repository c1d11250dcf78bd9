"""Cuts at neurons: right on networks whose least value is known by going through all patterns of phases."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.engines.split.test_split import ask, decides_the_least_value, random_box
from tests.polygons import random_network
from tests.portion import pairs
from tests.searches import branch_and_bound, cut_neurons_only
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED
from vernal.formats.layers import dense
from vernal.interpret.numbers.rounding import Array
from vernal.logic.formula import Atom
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.initial import Init, Span
from vernal.model.sorts import REAL
from vernal.model.system import System, Variable
from vernal.run.budget import Budget
from vernal.sets.core.clauses import Clauses
from vernal.sets.core.companions import companions
from vernal.sets.core.requirement import requirement

EPSILON = Fraction(1, 1000)


@pytest.fixture
def only_neurons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neurons are cut however few inputs there are."""
    cut_neurons_only(monkeypatch)


@pytest.mark.usefixtures("only_neurons")
@pytest.mark.parametrize("widths", [(4,), (8, 8), (5, 5), (3, 3, 3)], ids=str)
def test_the_least_value_of_networks_of_two_inputs(widths: tuple[int, ...]) -> None:
    """Against all their linear pieces, exactly; at a margin of zero an engine may leave it open, but not be wrong."""
    draw = random.Random(str(widths))
    for _ in range(2):
        network, box = random_network(draw, widths, "relu"), random_box(draw)
        decides_the_least_value(network, box)


@dataclass
class Wide:
    """A network of many inputs and few neurons over a box, with rows on the inputs."""

    weights: list[Array]
    biases: list[Array]
    lower: Array
    upper: Array
    rows: Array  # rows . x <= ends
    ends: Array

    @classmethod
    def drawn(cls, rng: np.random.Generator, inputs: int, widths: tuple[int, ...], rows: int) -> Wide:
        sizes = (inputs, *widths, 2)
        weights = [rng.integers(-8, 9, (b, a)) / 8 for a, b in itertools.pairwise(sizes)]
        biases = [rng.integers(-8, 9, b) / 8 for b in sizes[1:]]
        lower = rng.integers(-8, 0, inputs) / 8
        upper = lower + rng.integers(1, 9, inputs) / 8
        matrix = rng.integers(-2, 3, (rows, inputs)).astype(float)
        middle = matrix @ (lower + upper) / 2
        return cls(weights, biases, lower, upper, matrix, np.floor(middle * 8) / 8)

    def least(self) -> float:
        """The least of the larger of the two outputs: a linear program for every pattern of phases that is possible."""
        best = np.inf
        waiting = [(0, np.eye(len(self.lower)), np.zeros(len(self.lower)), self.rows, self.ends)]
        while waiting:
            layer, A, c, rows, ends = waiting.pop()
            A, c = self.weights[layer] @ A, self.weights[layer] @ c + self.biases[layer]
            if layer == len(self.weights) - 1:
                best = min(best, self._program(A, c, rows, ends))
                continue
            for signs in itertools.product((0.0, 1.0), repeat=len(c)):
                on = np.array(signs)
                side = np.where(on > 0, -1.0, 1.0)
                there = np.concatenate([rows, side[:, None] * A]), np.concatenate([ends, -side * c])
                if self._program(0 * A[:1], 0 * c[:1] - 1, *there) < np.inf:
                    waiting.append((layer + 1, on[:, None] * A, on * c, *there))
        return best

    def _program(self, A: Array, c: Array, rows: Array, ends: Array) -> float:
        """The least of the largest of A x + c, infinite where the rows leave nothing."""
        result = linprog(
            np.append(np.zeros(len(self.lower)), 1.0),
            A_ub=np.vstack([np.hstack([rows, np.zeros((len(rows), 1))]), np.hstack([A, -np.ones((len(A), 1))])]),
            b_ub=np.concatenate([ends, -c]),
            bounds=[*zip(self.lower, self.upper, strict=True), (None, None)],
        )
        return np.inf if result.fun is None or result.status else float(result.fun)

    def system(self) -> tuple[System, list[Expr]]:
        variables = tuple(Variable(f"x{i}", REAL) for i in range(len(self.lower)))
        inputs = [variable.var for variable in variables]
        x = build.concat(*inputs)
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = dense(x, weight, bias)
            x = build.relu(x) if number < len(self.weights) - 1 else x
        starts = {
            f"x{i}": Span(Fraction(a), Fraction(b)) for i, (a, b) in enumerate(zip(self.lower, self.upper, strict=True))
        }
        where = [
            build.compare("<=", build.add(*(Fraction(a) * v for a, v in zip(row, inputs, strict=True))), Fraction(end))
            for row, end in zip(self.rows, self.ends, strict=True)
        ]
        return System("wide", variables, Init(starts, tuple(where)), {}), [build.component(x, k) for k in range(2)]


@pytest.mark.parametrize(("shape", "rows"), pairs(2, [(20, (5, 3)), (30, (7,)), (12, (3, 3, 3))], [0, 2]), ids=str)
def test_the_least_value_of_networks_with_many_inputs(shape: tuple[int, tuple[int, ...]], rows: int) -> None:
    """The larger of two outputs, so that it takes both of their rows, and rows on the inputs."""
    inputs, widths = shape
    rng = np.random.default_rng([inputs, rows])
    wide = Wide.drawn(rng, inputs, widths, rows)
    value = Fraction(wide.least())
    system, outputs = wide.system()
    for bound, expected in ((value - EPSILON, HOLDS), (value + EPSILON, VIOLATED)):
        below = [build.compare("<=", output, bound) for output in outputs]
        result = ask(system, build.negate(build.conj(*below)))
        assert result.verdict in (expected, UNKNOWN), (wide, bound)
        assert result.verdict is expected, result.reason
        if expected is HOLDS and result.margin is not None:
            assert result.margin <= float(EPSILON) + 1e-6


@pytest.mark.usefixtures("only_neurons")
@pytest.mark.parametrize("seed", range(2))
def test_bounds_hold_at_the_points_of_each_part(seed: int) -> None:
    """Every open part of a search, against the points of its box that have its phases; none is lost."""
    rng = np.random.default_rng(seed)
    wide = Wide.drawn(rng, 3, (6, 6), 0)
    system, outputs = wide.system()
    below = [build.compare("<=", output, Fraction(wide.least()) + EPSILON / 100) for output in outputs]
    search = branch_and_bound(Question(system, Atom(build.negate(build.conj(*below)))), Budget())
    assert search is not None
    search.size = 4
    points = wide.lower + rng.random((20_000, 3)) * (wide.upper - wide.lower)
    hidden = [points @ wide.weights[0].T + wide.biases[0]]
    hidden.append(np.maximum(hidden[0], 0) @ wide.weights[1].T + wide.biases[1])
    inner = np.concatenate(hidden, axis=1)
    known = search.clauses.at(search.frame.inputs(points), len(points))
    values = search.clauses.values(known)[:, search.clauses.root]
    for _ in range(12):
        if not search.stack or search.tally.traces:
            break
        search.step()
        for part in search.stack:
            for row in range(len(part)):
                has_phases = (inner * part.phases[row] >= 0).all(axis=1)
                assert (values[has_phases] >= part.bound[row] - 1e-9).all()
                ranges = (inner >= part.least[row] - 1e-9) & (inner <= part.most[row] + 1e-9)
                assert ranges[has_phases].all()


def test_companions_are_what_is_satisfied_together() -> None:
    a, b, c, d = (build.compare("<=", build.var(name), 0) for name in "abcd")

    def found(asked: Expr, *where: Expr) -> list[tuple[list[str], list[str]]]:
        clauses = Clauses(requirement(asked), tuple(map(requirement, where)))
        names = [next(iter(leaf.terms))[0].name for leaf in clauses.differences]  # type: ignore[attr-defined]
        return sorted(
            (sorted(names[k] for k in own.members), sorted(names[k] for k in own.together))
            for own in companions(clauses)
        )

    assert found(build.conj(a, b)) == [(["a", "b"], ["a", "b"])]
    assert found(build.disj(a, b), d) == [(["a"], ["a", "d"]), (["b"], ["b", "d"])]
    assert found(build.conj(a, build.disj(b, c))) == [(["a"], ["a"]), (["b"], ["a", "b"]), (["c"], ["a", "c"])]
    assert found(build.disj(build.conj(a, b), build.conj(c, d))) == [(["a", "b"], ["a", "b"]), (["c", "d"], ["c", "d"])]
