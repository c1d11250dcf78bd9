"""Networks of our own in the shapes of public suites, trained by plain numpy: `python -m benchmarks.queries.networks`.

`acas_*` (5-50x6-5 ReLU) and `turn_*` (4-64x64-4 ReLU) learn what an evasive manoeuvre costs in an encounter of two
aircraft, as the tables of ACAS Xu say it; `surface` (3-256x256-1 tanh) has random hidden layers and a last one fitted
to the depth of the closest approach by least squares. Trained weights are rounded to multiples of 1/64 and kept as
bytes (weights.npz beside this file), so that the same networks, and with them the known answers, come out on every
machine: what is trained anew is another network wherever sums are rounded differently. Hidden layers of `surface` come
from Python's own generator, which is the same everywhere. `swarm` (14-32x32-2) learns how near robots of a formation
come to each other: more inputs than can be cut one after the other. `keep_*` (4-46x46x46-1 and 4-100x100-1) learn how
far from its lane a vehicle gets: a barrier, whose neurons are too many to be cut. `formula_*` (30-99-1) are written,
not learnt: see `formulas`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.learning import Floats, Layers, Sample, Training, forward
from benchmarks.queries import formulas

HERE = Path(__file__).parent
WEIGHTS = HERE / "weights.npz"
GRID, FINE = 64, 1024  # weights are multiples of 1/64 within [-2, 2), biases of 1/1024
MOST = 127 / GRID

# Inputs of an encounter: distance (feet), bearing and relative heading (radians), both speeds (feet per second).
LEAST_INPUT = np.array([0.0, -np.pi, -np.pi, 100.0, 0.0])
MOST_INPUT = np.array([60000.0, np.pi, np.pi, 1200.0, 1200.0])
TURNS = np.radians([0.0, 1.5, -1.5, 3.0, -3.0])  # clear of conflict, weak left and right, strong left and right
ALERTS = np.array([0.0, 0.05, 0.05, 0.1, 0.1])
HORIZON, TICK = 40, 2.0  # seconds that are looked ahead
CLOSE = 4000.0  # feet


# What is learnt -------------------------------------------------------------------------------------------------------


def approach(states: Floats, before: float) -> Floats:
    """The least distance for each turn (states x turns), where the turn of before goes on for five seconds."""
    rho, theta, psi, own, intruder = states.T[:, :, None]
    other = np.stack([rho * np.cos(theta), rho * np.sin(theta)])
    mine, heading = np.zeros_like(other + TURNS), np.zeros_like(rho + TURNS)
    least = np.repeat(rho, len(TURNS), axis=1)
    for second in np.arange(0, HORIZON, TICK):
        heading = heading + TICK * (before if second < 5 else TURNS)
        mine = mine + TICK * own * np.stack([np.cos(heading), np.sin(heading)])
        other = other + TICK * intruder * np.stack([np.cos(psi), np.sin(psi)])
        least = np.minimum(least, np.hypot(*(other - mine)))
    return np.asarray(least)


def costs(states: Floats, before: int) -> Floats:
    """What each manoeuvre costs: coming close, an alert, and another turn than the one of before."""
    near = np.exp(-((approach(states, float(TURNS[before])) / CLOSE) ** 2))
    return np.asarray(near + ALERTS + 0.03 * (np.arange(len(TURNS)) != before))


def encounters(rng: np.random.Generator, count: int) -> Floats:
    """Normalised inputs (in [-0.5, 0.5]); near ones more often than far ones."""
    inputs: Floats = rng.uniform(-0.5, 0.5, (count, 5))
    inputs[:, 0] = rng.uniform(0, 1, count) ** 2 - 0.5
    return inputs


def states_of(inputs: Floats) -> Floats:
    return np.asarray(LEAST_INPUT + (inputs + 0.5) * (MOST_INPUT - LEAST_INPUT))


def acas_sample(before: int) -> Sample:
    """All five inputs and all five costs."""

    def sample(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        inputs = encounters(rng, count)
        return inputs, costs(states_of(inputs), before)

    return sample


def turn_sample(speed: float) -> Sample:
    """Four inputs, the intruder's speed being known; the costs of the four turns."""

    def sample(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        inputs = encounters(rng, count)
        inputs[:, 4] = speed
        return inputs[:, :4], costs(states_of(inputs), 0)[:, 1:]

    return sample


def depth_sample(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Three inputs, both speeds being known; the cost of no turn."""
    inputs = encounters(rng, count)
    inputs[:, 3:] = 0.0
    return inputs[:, :3], costs(states_of(inputs), 0)[:, :1]


def swarm_sample(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Where seven robots are in a square; the least distance between neighbours, and how far the last is from home."""
    inputs: Floats = rng.uniform(-0.5, 0.5, (count, 14))
    places = inputs.reshape(count, 7, 2)
    apart = np.hypot(*np.moveaxis(np.diff(places, axis=1), 2, 0))
    return inputs, np.stack([apart.min(axis=1), np.hypot(*places[:, -1].T)], axis=1)


def lane_sample(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Offset, its rate, heading and its rate of a vehicle that steers back to its lane; how far off it gets."""
    inputs: Floats = rng.uniform(-0.5, 0.5, (count, 4))
    offset, rate, heading, turn = inputs.T.copy()
    worst = np.abs(offset)
    for _ in range(30):
        steer = np.clip(-1.2 * offset - 0.8 * rate - 2.0 * heading - 0.4 * turn, -0.25, 0.25)
        turn = turn + 0.1 * (4.0 * steer - 1.5 * turn)
        rate = rate + 0.1 * (3.0 * heading + 2.0 * steer - rate)
        heading, offset = heading + 0.1 * turn, offset + 0.1 * rate
        worst = np.maximum(worst, np.abs(offset))
    return inputs, 1 - np.exp(-((worst / 0.6) ** 2))[:, None]


# The networks ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """A network by its name: layers, the function between them, and how it comes about."""

    sizes: tuple[int, ...]
    function: str  # the ONNX operator between layers
    sample: Sample | None = None  # what it is trained on; None: random hidden layers, the last one fitted
    training: Training | None = None
    formula: int | None = None  # the seed of the formula that it is written from; then nothing of it is kept


ACAS = (5, *(50,) * 6, 5)
TURN = (4, 64, 64, 4)
NETWORKS: dict[str, Shape] = {
    **{f"acas_{before}": Shape(ACAS, "Relu", acas_sample(before), Training(12_000, most=MOST)) for before in (0, 1, 4)},
    **{
        f"turn_{k}": Shape(TURN, "Relu", turn_sample(v), Training(8_000, most=MOST))
        for k, v in enumerate((-0.25, 0.25))
    },
    "surface": Shape((3, 256, 256, 1), "Tanh"),
    "swarm": Shape((14, 32, 32, 2), "Relu", swarm_sample, Training(12_000, most=MOST)),
    "keep_138": Shape((4, 46, 46, 46, 1), "Relu", lane_sample, Training(8_000, most=MOST)),
    "keep_200": Shape((4, 100, 100, 1), "Relu", lane_sample, Training(8_000, most=MOST)),
    **{f"formula_{seed}": Shape(formulas.SIZES, "Relu", formula=seed) for seed in formulas.SEEDS},
}
LEARNT = [name for name, shape in NETWORKS.items() if shape.formula is None]


def random_hidden(sizes: Sequence[int], seed: int) -> Layers:
    """All layers but the last, of multiples of 1/1024 that are the same on every machine."""
    rng = random.Random(seed)

    def draw(rows: int, columns: int, most: float) -> Floats:
        limit = round(most * FINE)
        return np.array([[rng.randint(-limit, limit) for _ in range(columns)] for _ in range(rows)]) / FINE

    pairs = list(pairwise(sizes))[:-1]
    return [(draw(m, n, 4.0 / np.sqrt(n)), draw(m, 1, 1.0)[:, 0]) for n, m in pairs]


def fitted(sizes: Sequence[int], seed: int) -> Layers:
    """Random tanh layers, and a last one by least squares."""
    hidden = random_hidden(sizes, seed)
    inputs, wanted = depth_sample(np.random.default_rng(seed), 20_000)
    features = forward([*hidden, (np.eye(sizes[-2]), np.zeros(sizes[-2]))], inputs, "Tanh")[-2]
    ridge = features.T @ features + 2.0 * np.eye(features.shape[1])
    middle = wanted.mean(axis=0)
    return [*hidden, (np.linalg.solve(ridge, features.T @ (wanted - middle)).T, middle)]


def rounded(layers: Layers) -> Layers:
    """Weights and biases on their grids."""
    return [(np.clip(np.rint(W * GRID), -128, 127) / GRID, np.rint(b * FINE) / FINE) for W, b in layers]


def finely_rounded(layers: Layers) -> Layers:
    """Weights and biases as multiples of 1/1024 that two bytes hold."""
    return [(np.clip(np.rint(W * FINE), -32768, 32767) / FINE, np.rint(b * FINE) / FINE) for W, b in layers]


def train(name: str) -> Layers:
    """A network from nothing; what is kept of it is rounded."""
    shape, seed = NETWORKS[name], sum(map(ord, name))
    if shape.sample is None or shape.training is None:
        return finely_rounded(fitted(shape.sizes, seed))
    return rounded(shape.training(shape.sizes, shape.function, shape.sample, seed))


def load(name: str) -> Layers:
    """A network from the weights that are kept, or from the formula it is written from."""
    shape = NETWORKS[name]
    if shape.formula is not None:
        return formulas.layers(formulas.drawn(shape.formula))
    with np.load(WEIGHTS) as kept:
        hidden = random_hidden(shape.sizes, sum(map(ord, name))) if shape.sample is None else []
        return hidden + [
            (kept[f"{name}.W{i}"].astype(float) / _grid(shape), kept[f"{name}.b{i}"].astype(float) / FINE)
            for i in range(len(hidden), len(shape.sizes) - 1)
        ]


def _grid(shape: Shape) -> int:
    return FINE if shape.sample is None else GRID


def keep(networks: dict[str, Layers], path: Path = WEIGHTS) -> None:
    """Write the trained layers as small integers."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, layers in networks.items():
        shape = NETWORKS[name]
        first = len(layers) - 1 if shape.sample is None else 0
        kind = np.int16 if shape.sample is None else np.int8
        for i, (weight, bias) in list(enumerate(layers))[first:]:
            arrays[f"{name}.W{i}"] = np.rint(weight * _grid(shape)).astype(kind)
            arrays[f"{name}.b{i}"] = np.rint(bias * FINE).astype(np.int16)
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]  # names are keywords


def error(name: str, layers: Layers, count: int = 20_000) -> float:
    """Root of the mean square error on samples that were not trained on."""
    shape, rng = NETWORKS[name], np.random.default_rng(1)
    given, wanted = (shape.sample or depth_sample)(rng, count)
    return float(np.sqrt(((forward(layers, given, shape.function)[-1] - wanted) ** 2).mean()))


def main() -> None:
    """Train those that are named, or all; what is kept of the others stays."""
    made = {name: load(name) for name in LEARNT if sys.argv[1:] and name not in sys.argv[1:]}
    for name in sys.argv[1:] or LEARNT:
        made[name] = train(name)
        print(f"{name}: root of the mean square error {error(name, made[name]):.3f}", flush=True)
    keep(made)


if __name__ == "__main__":
    main()
