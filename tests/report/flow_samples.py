"""Flows with stand-ins for what engines find: a network of random neurons, its regions, a pipe around simulated runs.

Nothing here is certified; pictures do not depend on who made what they draw.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tests.flow_runs import FlowRuns, simulated
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.neural import NeuralAbstraction
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import trailed
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import Always, Atom, Bound, Eventually, Formula
from vernal.model import build
from vernal.model.expr import Expr, Function, Matrix
from vernal.model.flow import Flow
from vernal.model.hybrid import Facets, HybridAutomaton, Location
from vernal.model.initial import Init, Span
from vernal.model.network import Network, network_input
from vernal.model.sorts import REAL
from vernal.model.system import Variable
from vernal.report.phase_parts import DrawnTrajectory

X, Y, Z = (build.var(name, REAL) for name in "xyz")


def flow(name: str, rates: dict[str, Expr], region: dict[str, str], init: dict[str, str]) -> Flow:
    """A flow from ends written as "lower upper"."""
    state = tuple(Variable(one, REAL, *_ends(ends)) for one, ends in region.items())
    return Flow(name, state, Init({one: Span(*_ends(ends)) for one, ends in init.items()}), rates)


def _ends(text: str) -> tuple[Fraction, Fraction]:
    low, high = map(Fraction, text.split())
    return low, high


def jet() -> Flow:
    rates = {"x": -Y - 1.5 * X**2 - 0.5 * X**3 - 0.1, "y": 3 * X - Y}
    return flow("jet", rates, {"x": "-1 1", "y": "-1 1"}, {"x": "0.45 0.5", "y": "-0.6 -0.55"})


def steam() -> Flow:
    sin, cos = build.apply(Function.SIN, X), build.apply(Function.COS, X)
    rates = {"x": Y, "y": Z**2 * sin * cos - sin - 3 * Y, "z": 1 - cos}
    start = {"x": "0.7 0.75", "y": "-0.05 0.05", "z": "0.7 0.75"}
    return flow("steam", rates, dict.fromkeys("xyz", "-1 1"), start)


def tank(leak: str = "0") -> Flow:
    """The water tank, with a leak up to that much."""
    rate = 1.5 - build.apply(Function.SQRT, X) - build.between(0, leak)
    return flow("tank", {"x": rate}, {"x": "0 2"}, {"x": "0 0.01"})


def inside(**ends: str) -> Expr:
    """A box, closed."""
    sides = [(build.var(name), *_ends(text)) for name, text in ends.items()]
    return build.conj(*(part for var, low, high in sides for part in (var >= low, var <= high)))


def never(bad: Expr, until: str) -> Formula:
    return Always(Atom(build.negate(bad)), Bound(Fraction(0), Fraction(until)))


def some_time(goal: Expr, until: str) -> Formula:
    return Eventually(Atom(goal), Bound(Fraction(0), Fraction(until)))


def region(of: Flow) -> tuple[Floats, Floats]:
    lower, upper = np.array([[float(low), float(high)] for low, high in of.region]).T
    return lower, upper


def abstraction(of: Flow, width: int = 10, seed: int = 0) -> NeuralAbstraction:
    """Random neurons and a least-squares output layer; the "certified" error is a little above the largest sampled."""
    rng, (lower, upper) = np.random.default_rng(seed), region(of)
    weights = np.round(rng.normal(size=(width, len(lower))) * 64) / 64
    through = rng.uniform(lower, upper, (width, len(lower)))
    biases = np.round(-(weights * through).sum(axis=1) * 64) / 64
    points = rng.uniform(lower, upper, (4000, len(lower)))
    rates = _rates(of, points)
    hidden = np.hstack([np.maximum(points @ weights.T + biases, 0), np.ones((len(points), 1))])
    solved = np.linalg.lstsq(hidden, rates, rcond=None)[0]
    last, offset = np.round(solved[:-1].T * 4096) / 4096, np.round(solved[-1] * 4096) / 4096
    worst = np.abs(hidden[:, :-1] @ last.T + offset - rates).max(axis=0)
    given = network_input(len(lower))
    inner = build.relu(build.affine(given, Matrix(weights), Matrix(biases)))
    network = Network("stand-in", given, build.affine(inner, Matrix(last), Matrix(offset)))
    layers = (weights, last), (biases, offset)
    found = automaton(of, layers[0], layers[1], 1.1 * worst)
    return NeuralAbstraction(network, *layers, lower, upper, 1.1 * worst, worst, found)


def _rates(of: Flow, points: Floats) -> Floats:
    from tests.flow_runs import Integrator

    return Integrator(of, 1.0, 1).rates(points, np.full((len(points), len(of.disturbances)), 0.5))


def automaton(of: Flow, weights: tuple[Floats, ...], biases: tuple[Floats, ...], radius: Floats) -> HybridAutomaton:
    """The regions of one hidden layer that a sample finds, redundant sides and all, without crossings."""
    lower, upper = region(of)
    points = np.random.default_rng(1).uniform(lower, upper, (20_000, len(lower)))
    patterns = np.unique(points @ weights[0].T + biases[0] >= 0, axis=0)
    places = tuple(_location(k, on, weights, biases, lower, upper) for k, on in enumerate(patterns))
    return HybridAutomaton(of.name, tuple(v.name for v in of.state), lower, upper, radius, places, ())


def _location(
    k: int, on: Floats, weights: tuple[Floats, ...], biases: tuple[Floats, ...], lower: Floats, upper: Floats
) -> Location:
    sign, axes = np.where(on, -1.0, 1.0), np.eye(len(lower))
    sides = np.vstack([sign[:, None] * weights[0], axes, -axes])
    invariant = Facets(sides, np.hstack([-sign * biases[0], upper, -lower]))
    matrix, drift = weights[1] * on @ weights[0], weights[1] * on @ biases[0] + biases[1]
    return Location(f"r{k}", invariant, matrix, drift)


def pipe(of: Flow, until: float, segments: int = 60, growth: float = 0.02) -> Flowpipe:
    """Octagons around simulated runs, a segment for each span of time, wider and wider."""
    made, count = simulated(of, until, runs=200, steps=segments * 4), len(of.state)
    plane = [[1.0, 1.0], [1.0, -1.0]]
    slants = [[*row, *[0.0] * (count - 2)] for row in plane] if count > 1 else []
    directions = np.vstack([np.eye(count), *slants])
    spans = [slice(4 * k, 4 * k + 5) for k in range(segments)]
    values = [(made.states[:, span] @ directions.T).reshape(-1, len(directions)) for span in spans]
    kept = [k for k, one in enumerate(values) if not np.isnan(one).all()]
    lower = np.array([np.nanmin(values[k], axis=0) for k in kept])
    upper = np.array([np.nanmax(values[k], axis=0) for k in kept])
    times = np.array([(made.times[spans[k].start], made.times[spans[k].stop - 1]) for k in kept])
    names, room = tuple(v.name for v in of.state), growth * times[:, 1:]
    return Flowpipe(names, trailed(Template(directions), lower - room, upper + room), times, until, until)


def trajectories(of: Flow, until: float, runs: int = 12) -> list[DrawnTrajectory]:
    """Some simulated runs, as pictures take them."""
    return drawn(simulated(of, until, runs=runs, seed=3))


def drawn(made: FlowRuns) -> list[DrawnTrajectory]:
    return [DrawnTrajectory(made.times[on], states[on]) for states, on in zip(made.states, made.inside, strict=True)]
