"""Random loops that sample, with claims near what they do, and a judge in plain floats that shares no code with us."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import vernal as vn
from tests.sampled_loops import Actor, Flowing, Loop, Numbers, simulated
from vernal.model import build
from vernal.model.expr import Expr, Function, Matrix
from vernal.model.network import Network, network_input

TICK = Fraction(1, 80)
HORIZON = Fraction(1)
NOISE = Fraction(1, 50)
PLAYS = 24

Floats = np.ndarray[Any, Any]
Activation = Callable[[Expr], Expr]
ACTIVATIONS: tuple[tuple[Activation, Callable[[Floats], Floats]], ...] = (
    (build.relu, lambda z: np.maximum(z, 0.0)),
    (lambda z: build.apply(Function.TANH, z), np.tanh),
    (lambda z: build.apply(Function.SIGMOID, z), lambda z: 1.0 / (1.0 + np.exp(-z))),
)


@dataclass(frozen=True)
class SamplerCase:
    """A loop, a claim about it, and by how much simulated paths keep it at least."""

    seed: int
    loop: Loop
    formula: str
    margin: float

    def __str__(self) -> str:
        return f"loop {self.seed}: {self.formula}"


def wild_loop(seed: int, flowing: Flowing | None = None) -> SamplerCase:
    """A loop of two variables under one agent: with a jump, a delay, noise or an argmax, by chance."""
    rng = np.random.default_rng(seed)
    weights = [np.round(rng.normal(size=shape), 2) for shape in ((4, 2), (4,), (2, 4), (2,))]
    a, b, c, d = (round(float(x), 2) for x in rng.uniform(-1, 1, 4))
    kind = rng.choice(["plain", "jump", "late", "noisy", "argmax"])
    activation, activated = ACTIVATIONS[seed % len(ACTIVATIONS)]
    every = Fraction(int(rng.choice([1, 2])), 10)

    def network(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(weights[2] @ activated(weights[0] @ x + weights[1]) + weights[3])

    def act(now: Numbers) -> float:
        noise = float(NOISE) * rng.choice([-1.0, 0.0, 1.0]) if kind == "noisy" else 0.0
        out = network(np.array([now["x"] + noise, now["y"]]))
        return float(np.argmax(out)) if kind == "argmax" else float(out[0])

    def push(now: Numbers) -> float:
        return (1.0 if now["u"] else -1.0) if kind == "argmax" else now["u"]

    def rates(now: Numbers) -> Numbers:
        x, y = now["x"], now["y"]
        return {"x": y + a * float(np.sin(x)), "y": b * x + c * x * y + d + push(now) / 2}

    delay, start = (Fraction(1, 40), 0.5) if kind == "late" else (Fraction(0), 0.0)
    actors = {"u": Actor(every, act, delay, start)}
    jump = (lambda now: {"x": now["x"] / 2, "y": now["y"] + 0.1}) if kind == "jump" else None
    corners = tuple({"x": x, "y": y} for x in (0.0, 0.05, 0.1) for y in (-0.1, 0.0))
    loop = Loop(_system(kind, activation, weights, every, (a, b, c, d)), rates, actors, jump, every, corners)
    return _claimed(seed, loop, rng, flowing)


def _system(
    kind: str, activation: Activation, weights: list[Floats], every: Fraction, rates: tuple[float, ...]
) -> vn.System:
    a, b, c, d = (str(x) for x in rates)
    x = network_input(2)
    hidden = activation(build.affine(x, Matrix(weights[0]), Matrix(weights[1])))
    net = Network("net", x, build.affine(hidden, Matrix(weights[2]), Matrix(weights[3])))
    seen = (lambda s: [s.x + vn.between(-NOISE, NOISE), s.y]) if kind == "noisy" else (lambda s: [s.x, s.y])
    late: dict[str, Any] = {"delay": "0.025", "start": ["0.5", 0]} if kind == "late" else {}
    act = "argmax" if kind == "argmax" else "raw"
    agent = vn.agent(net, observe=seen, act=act, every=every, **late)

    def pushed(s: Any) -> Any:
        return 2 * s.u - 1 if kind == "argmax" else s.u[0]

    return vn.System(
        "wild",
        state={"x": vn.real(-6, 6), "y": vn.real(-6, 6)},
        init={"x": vn.interval(0, "0.1"), "y": vn.interval("-0.1", 0)},
        agents={"u": agent},
        rates=lambda s: {
            "x": s.y + Fraction(a) * vn.sin(s.x),
            "y": Fraction(b) * s.x + Fraction(c) * s.x * s.y + Fraction(d) + pushed(s) / 2,
        },
        step=(lambda s: {"x": s.x / 2, "y": s.y + Fraction(1, 10)}) if kind == "jump" else None,
        every=every,
    )


def _claimed(seed: int, loop: Loop, rng: np.random.Generator, flowing: Flowing | None) -> SamplerCase:
    """A claim about the largest or the least value of a variable, somewhere near what paths do."""
    name, sign = str(rng.choice(["x", "y"])), int(rng.choice([-1, 1]))
    since = Fraction(int(rng.integers(0, 3)), 4)
    paths = [play for first in loop.corners for play in plays(loop, first, flowing)]
    worst = max(sign * now[name] for path in paths for time, now in path if time >= float(since) - 1e-12)
    limit = round(worst + float(rng.choice([-0.3, -0.02, 0.02, 0.3, 1.0])), 4)
    atom = f"{name} <= {limit}" if sign > 0 else f"{name} >= {-limit}"
    return SamplerCase(seed, loop, f"G[{float(since)},{float(HORIZON)}] ({atom})", limit - worst)


def plays(loop: Loop, first: Numbers, flowing: Flowing | None = None) -> list[list[tuple[float, Numbers]]]:
    """Some paths from a state, as far as they are in the region: noise is drawn anew in each."""
    made = [simulated(loop, first, HORIZON, TICK, flowing) for _ in range(PLAYS // 6)]
    return [_inside(path) for path in made]


def _inside(path: list[tuple[float, Numbers]]) -> list[tuple[float, Numbers]]:
    for k, (_, now) in enumerate(path):
        if max(abs(now["x"]), abs(now["y"])) > 6:
            return path[:k]
    return path
