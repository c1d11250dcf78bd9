"""Attacks on what proofs about flows rest on: sets that contain trajectories, errors that are certified, enclosures.

Each attack draws a case by its seed, computes what the package claims, and looks for what contradicts it in floats. It
returns whether there was a claim at all, and raises `Contradicted` where that is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import arb

from tests.checked_runs import TOLERANCE, Contradicted, Rates, checked_runs, contained
from tests.flow_runs import Integrator, positions_of, starts_of
from tests.hostile_flows import hostile_flow
from vernal.engines.flow.template import octagon
from vernal.errors import Stopped
from vernal.evidence.flowpipe import Flowpipe, joined
from vernal.evidence.neural import NeuralAbstraction
from vernal.evidence.recheck_flowpipe import cut_pipe
from vernal.evidence.trajectory import Trajectory, trajectory
from vernal.evidence.walk import NotAPath
from vernal.interpret import concrete
from vernal.interpret.demand import Given
from vernal.interpret.flow.deviations import DeviationFollower
from vernal.interpret.flow.integration import Pace, horizon_on_grid
from vernal.interpret.flow.picard import on_grid
from vernal.interpret.flow.steps import TaylorStepper
from vernal.interpret.numbers.rounding import Floats, float_above, float_below
from vernal.interpret.sampled.plant import plant_of
from vernal.model.expr import Between, Expr
from vernal.model.flow import Flow
from vernal.model.tick import Tick
from vernal.reduce.neural.abstraction import network_of
from vernal.reduce.neural.certifier import certify
from vernal.reduce.neural.difference import ErrorField
from vernal.reduce.neural.partition import automaton_of
from vernal.sets.flow_starts import cut, start_boxes
from vernal.sets.sampled.loop_space import LoopFollower
from vernal.sets.zonotopes.pipe import pipe

SAMPLES, RUNS = 48, 120
POINTS = 20_000  # at which an error is looked at


def within(seconds: float) -> Tick:
    """A tick that stops after some time."""
    last = time.monotonic() + seconds

    def tick() -> None:
        if time.monotonic() > last:
            raise Stopped(f"timeout after {seconds:g} s")

    return tick


def directions(n: int, rng: np.random.Generator) -> Floats:
    """The axes, an octagon, and some others."""
    return np.concatenate([np.eye(n), octagon(n), rng.normal(size=(2, n))])


# Attacks --------------------------------------------------------------------------------------------------------------


def on_taylor_pipes(seed: int, tick: Tick) -> bool:
    """Flowpipes of the flow itself, by Taylor steps and by steps of first order."""
    flow, rng = hostile_flow(seed), np.random.default_rng(seed)
    until = float(rng.choice([0.05, 0.3, 1.0])) / min(10.0, max(0.1, _speed(flow)))
    n, fine = len(flow.state), float(rng.choice([1, 1, 4]))
    rows, degree, parts = directions(n, rng), int(rng.choice([2, 4, 8])), int(rng.choice([1, 2, 4]))
    loop = LoopFollower(plant_of(flow), rows, lambda of, some: TaylorStepper(of, some, degree, parts), tick)
    longest, tolerance = until / 4 / fine, float(rng.choice([1e-3, 1e-7]))
    stiff = int(rng.choice([1000, 1]))  # 1: nearly all flows are followed as if they were
    pace = Pace(longest, longest / 16, tolerance, longest * 2.0**-16, 400, stiff)
    boxes = start_boxes(flow)
    boxes = cut(flow, boxes, np.ones(boxes.lower.shape)) if rng.random() < 0.5 else boxes
    curved = rng.random() < 0.6  # images under polynomials, or zonotopes
    horizon = Fraction(horizon_on_grid(until))
    found = loop.follow(boxes.lower, boxes.upper, horizon, lambda length: pace, curved=curved)
    known, inside = float(found.until.min()), float(min(found.until.min(), found.inside.min()))
    names = tuple(variable.name for variable in flow.state)
    made = Flowpipe(names, found.sets, found.times, inside, known)
    _against_flow(made, flow, min(until, known), rng)
    return known > 0


def on_deviations(seed: int, tick: Tick) -> bool:
    """Flowpipes around the trajectories of centres, by which evidence is checked again."""
    flow, rng = hostile_flow(seed), np.random.default_rng(seed)
    until = float(rng.choice([0.05, 0.3, 1.0])) / min(10.0, max(0.1, _speed(flow)))
    rows, horizon = directions(len(flow.state), rng), horizon_on_grid(until)
    longest, turn = float(on_grid(np.array(horizon / rng.choice([8, 64, 256])))), float(rng.choice([0.0625, 0.25]))
    follower = DeviationFollower(flow, rows, horizon, longest, turn, 2000, tick)
    boxes = start_boxes(flow)
    made = [
        cut_pipe(flow, rows, follower.follow(low, high)) for low, high in zip(boxes.lower, boxes.upper, strict=True)
    ]
    whole = joined(made)
    if whole is None:
        return False
    _against_flow(whole, flow, min(until, whole.until), rng)
    return whole.until > 0


def _against_flow(found: Flowpipe, flow: Flow, until: float, rng: np.random.Generator) -> None:
    lower, upper = _region(flow)
    starts = starts_of(flow, RUNS, rng)
    given = positions_of(flow, SAMPLES, len(starts), rng)
    rates = Integrator(flow, until, 1).rates
    size = np.maximum(np.abs(lower), np.abs(upper))
    contained(found, checked_runs(rates, starts, given, until, lower, upper), size)


def _region(flow: Flow) -> tuple[Floats, Floats]:
    lower, upper = np.array([[float_below(low), float_above(high)] for low, high in flow.region]).T
    return lower, upper


def _speed(flow: Flow) -> float:
    """About the largest rate, relative to the region."""
    lower, upper = _region(flow)
    points = np.random.default_rng(0).uniform(lower, upper, (200, len(lower)))
    found = Integrator(flow, 1.0, 1).rates(points, np.full((200, len(flow.disturbances)), 0.5))
    return float(np.nanmax(np.abs(found) / (upper - lower)))


@dataclass(frozen=True, eq=False)
class RandomNetwork:
    """A ReLU network with a disturbance, over a box; often many hyperplanes meet in one point."""

    weights: list[Floats]
    biases: list[Floats]
    lower: Floats
    upper: Floats
    radius: Floats

    def rates(self, states: Floats, disturbances: Floats) -> Floats:
        """The network plus the disturbance."""
        x = states
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = np.maximum(x @ weight.T + bias, 0.0)
        return np.asarray(x @ self.weights[-1].T + self.biases[-1] + disturbances)


def random_network(rng: np.random.Generator, lower: Floats, upper: Floats, speed: float) -> RandomNetwork:
    """Weights on a coarse grid, or not."""
    n, depth = len(lower), int(rng.choice([1, 1, 2]))
    widths = [n, *rng.integers(1, 7 if n < 3 else 5, depth).tolist(), n]
    weights = [rng.normal(size=(wide, below)) for below, wide in pairwise(widths)]
    weights[0] = weights[0] / ((upper - lower) / 2)
    through = rng.uniform(lower, upper, size=weights[0].shape) * float(rng.choice([0.0, 0.3, 1.0]))
    biases = [-(weights[0] * through).sum(axis=1), *(rng.normal(size=wide) / 2 for wide in widths[2:])]
    weights[-1], biases[-1] = weights[-1] * speed, biases[-1] * speed
    if rng.random() < 0.5:
        weights, biases = ([np.round(x * 64) / 64 for x in part] for part in (weights, biases))
    radius = float(rng.choice([0.0, 1e-3, 0.05, 0.3])) * speed * rng.uniform(0.2, 1.0, n)
    return RandomNetwork(weights, biases, lower, upper, radius)


def on_affine_pipes(seed: int, tick: Tick) -> bool:
    """Flowpipes of the automaton of a random network, under disturbances that are as large as its error."""
    rng = np.random.default_rng(seed)
    n, speed = int(rng.choice([1, 2, 2, 2, 3])), float(rng.choice([0.3, 1.0, 1.0, 3.0, 30.0]))
    lower, upper = -rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 1.5, n)
    net = random_network(rng, lower, upper, speed)
    made = network_of("random", net.weights, net.biases)
    parts = tuple(net.weights), tuple(net.biases), lower, upper, net.radius, net.radius
    kind = str(rng.choice(["facet", "facet", "vertex"]))
    automaton = automaton_of(NeuralAbstraction(made, *parts), name="n", variables=tuple("xyz"[:n]), transitions=kind)
    middle = np.where(rng.random(n) < 0.3, rng.choice([0.0, 1.0]) * lower, rng.uniform(lower, upper))
    width = float(rng.choice([0.0, 0.001, 0.05, 0.3])) * (upper - lower)
    first, last = np.clip(middle - width / 2, lower, upper), np.clip(middle + width / 2, lower, upper)
    until = float(rng.choice([0.1, 0.37, 1.0, 2.3])) / max(1.0, speed)
    step = until / float(rng.choice([1, 3, 10, 25, 40]))
    found = pipe(automaton, (first, last), until, directions(n, rng), tick, step=step, parts=int(rng.choice([1, 1, 3])))
    if found.until <= 0:
        return False
    corners = rng.uniform(size=(RUNS, n))
    corners[: RUNS // 2] = np.round(corners[: RUNS // 2])
    signs = np.where(rng.random((1, RUNS, 1)) < 0.5, rng.integers(2, size=(1, RUNS, n)), 0.0)
    pushes = np.where(signs != 0, signs, rng.integers(2, size=(SAMPLES, RUNS, n))) * 2.0 - 1.0
    starts = first + corners * (last - first)
    runs = checked_runs(net.rates, starts, pushes * net.radius, min(until, found.until), lower, upper)
    contained(found, runs, np.maximum(np.abs(lower), np.abs(upper)))
    return True


def on_certified_errors(seed: int, tick: Tick) -> bool:
    """Errors of random networks at many points: corners, kinks, the certifier's own, and near the worst of them."""
    flow, rng = hostile_flow(seed), np.random.default_rng(seed)
    lower, upper = _region(flow)
    net = random_network(rng, lower, upper, _speed(flow))
    found = certify(flow, net.weights, net.biases, lower, upper, tick, tightness=float(rng.choice([1.01, 1.1, 1.5])))
    difference = ErrorField.of(flow, net.weights, net.biases)
    low, high = difference.region(lower, upper)
    points = rng.uniform(low, high, size=(POINTS, len(low)))
    points = np.where(rng.random(points.shape) < 0.2, np.where(rng.random(points.shape) < 0.5, low, high), points)
    half, n = POINTS // 2, len(lower)
    rows = rng.integers(0, len(net.weights[0]), half)
    normal = net.weights[0][rows]
    heights = (points[:half, :n] * normal).sum(axis=1) + net.biases[0][rows]
    points[:half, :n] -= heights[:, None] * normal / np.maximum((normal**2).sum(axis=1), 1e-300)[:, None]
    points = np.concatenate([np.clip(points, low, high), np.concatenate([found.points, found.positions], axis=1)])
    for _ in range(4):
        worst = points[np.nan_to_num(np.abs(difference.at(points))).argsort(axis=0)[-50:].ravel()]
        near = 10.0 ** rng.uniform(-7, -1, (len(worst), 1)) * rng.normal(size=worst.shape) * (high - low)
        points = np.concatenate([points, np.clip(worst + near, low, high)])
    errors, rates = np.abs(difference.at(points)), np.abs(difference.rates_at(points)).max(axis=0)
    sizes = rates + errors.max(axis=0) + 1.0  # of what was subtracted: the flow's rates and the network's
    if not (errors <= found.error + 1e-11 * sizes).all():
        raise Contradicted(f"errors of {errors.max(axis=0)} where {found.error} are certified")
    return True


def on_enclosures(seed: int, tick: Tick) -> bool:
    """Trajectories from one state, enclosed in balls, under disturbances that are constant for a while."""
    flow, rng = hostile_flow(seed), np.random.default_rng(seed)
    last = Fraction(int(rng.choice([1, 3, 8])), 8) / (4 * (1 + int(_speed(flow))))
    times = [last * k / 4 for k in range(5)]
    ends = [flow.init.starts[variable.name].ends for variable in flow.state]
    first = {
        v.name: low + (high - low) * int(rng.integers(3)) / 2 for v, (low, high) in zip(flow.state, ends, strict=True)
    }
    start = np.array([[float(value) for value in first.values()]])
    given = [_constants(flow, start, rng) for _ in times[1:]]
    try:
        made = trajectory(flow, first, times, given, tick=tick)
    except NotAPath:
        return False
    _against_enclosure(made, flow, start, given)
    return made.until > 0


def _constants(flow: Flow, start: Floats, rng: np.random.Generator) -> dict[Expr, Given]:
    """Values well between the ends that disturbances have in a state."""
    inputs: dict[Expr, Floats] = {var: start[:, i] for i, var in enumerate(flow.vars)}
    found: dict[Expr, Given] = {}
    for node in flow.disturbances:
        low, high = (Fraction(float(end[0])) for end in concrete.evaluate(list(node.args), inputs))
        found[node] = low + (high - low) * int(rng.integers(1, 4)) / 4
    return found


def _against_enclosure(made: Trajectory, flow: Flow, start: Floats, given: list[dict[Expr, Given]]) -> None:
    lower, upper = _region(flow)
    size, here = np.maximum(np.abs(lower), np.abs(upper)), start
    for (begin, end), values in zip(pairwise(made.times), given, strict=True):
        rates = _driven(flow, values)
        runs = checked_runs(rates, here, np.zeros((SAMPLES, 1, 0)), float(end - begin), lower, upper)
        if end > made.until or runs.doubt[0, -1] > TOLERANCE / 100:  # the next leg would begin elsewhere
            break
        for k in range(1, SAMPLES + 1):
            now = begin + (end - begin) * k / SAMPLES
            balls = [x for x in made.states(now)[-1] if isinstance(x, arb)]
            mid, rad = np.array([(float(x.mid()), float(x.rad())) for x in balls]).T
            apart = np.abs(runs.states[0, k] - mid) - rad
            if (apart > TOLERANCE * size).any():
                raise Contradicted(f"a trajectory is {apart.max():.2g} outside its enclosure at time {float(now):g}")
            if now <= made.inside_until and runs.outside[0, k]:
                raise Contradicted(f"a trajectory leaves the region before {float(made.inside_until):g}")
        here = runs.states[:, -1]


def _driven(flow: Flow, values: Mapping[Expr, Given]) -> Rates:
    """The rates under disturbances of given values."""
    floats = {k: float(v) for k, v in values.items() if isinstance(k, Between) and isinstance(v, Fraction)}
    rates = Integrator(flow, 1.0, 1).driven
    return lambda states, _: rates(states, floats)


ATTACKS: Mapping[str, Callable[[int, Tick], bool]] = {
    "Taylor flowpipes": on_taylor_pipes,
    "flowpipes around centres": on_deviations,
    "affine flowpipes": on_affine_pipes,
    "certified errors": on_certified_errors,
    "enclosed trajectories": on_enclosures,
}
