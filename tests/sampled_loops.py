"""Loops that sample, and an independent simulation of them in plain floats: what everything else is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import vernal as vn
from vernal.model import build
from vernal.model.expr import Matrix
from vernal.model.network import Network, network_input
from vernal.model.system import System

Numbers = dict[str, float]


def linear_network(name: str, *rows: tuple[float, ...]) -> Network:
    """A network of one layer without an activation."""
    x = network_input(len(rows[0]))
    weight, bias = Matrix(np.array(rows)), Matrix(np.zeros(len(rows)))
    return Network(name, x, build.affine(x, weight, bias))


@dataclass(frozen=True)
class Actor:
    """How often an agent acts, and what it does of a state."""

    every: Fraction
    act: Callable[[Numbers], float]
    delay: Fraction = Fraction(0)
    start: float = 0.0


@dataclass(frozen=True)
class Loop:
    """A loop for Vernal, and the same as functions."""

    system: System
    rates: Callable[[Numbers], Numbers]
    actors: Mapping[str, Actor]
    jump: Callable[[Numbers], Numbers] | None = None
    every: Fraction = Fraction(1)
    corners: tuple[Numbers, ...] = field(default=())


Flowing = Callable[["Loop", Numbers, float], Numbers]  # where a flow gets from a state in a time


def simulated(
    loop: Loop, first: Numbers, until: Fraction, tick: Fraction, flowing: Flowing | None = None
) -> list[tuple[float, Numbers]]:
    """States and held actions at small steps of time, with both sides of every jump."""
    flowing = flowing or runge_kutta
    now = dict(first) | {name: actor.start for name, actor in loop.actors.items()}
    waiting: list[tuple[Fraction, str, float]] = []
    seen: list[tuple[float, Numbers]] = []
    for k in range(int(until / tick) + 1):
        time = k * tick
        if k:
            now = flowing(loop, now, float(tick))
            seen.append((float(time), dict(now)))
        if loop.jump is not None and k and (time / loop.every).denominator == 1:
            now = {**now, **loop.jump(now)}
        now |= {name: action for due, name, action in waiting if due == time}
        waiting = [entry for entry in waiting if entry[0] > time]
        for name, actor in loop.actors.items():
            if (time / actor.every).denominator == 1:
                waiting.append((time + actor.delay, name, actor.act(now)))
        now |= {name: action for due, name, action in waiting if due == time}
        waiting = [entry for entry in waiting if entry[0] > time]
        seen.append((float(time), dict(now)))
    return seen


def runge_kutta(loop: Loop, now: Numbers, step: float, parts: int = 4) -> Numbers:
    """Four steps of the method of Runge and Kutta."""
    h = step / parts
    for _ in range(parts):
        k1 = loop.rates(now)
        k2 = loop.rates(_moved(now, k1, h / 2))
        k3 = loop.rates(_moved(now, k2, h / 2))
        k4 = loop.rates(_moved(now, k3, h))
        mean = {name: (k1[name] + 2 * k2[name] + 2 * k3[name] + k4[name]) / 6 for name in k1}
        now = _moved(now, mean, h)
    return now


def _moved(now: Numbers, rates: Numbers, h: float) -> Numbers:
    return {**now, **{name: now[name] + h * rate for name, rate in rates.items()}}


class Dop853:
    """The method of order 8 of Dormand and Prince to 1e-12, by scipy: a stretch of time at once, then read off."""

    AHEAD = 0.25  # seconds, unless something changes before

    def __init__(self) -> None:
        self._reached: Numbers = {}
        self._solution: Callable[[float], Any] | None = None
        self._time = 0.0

    def __call__(self, loop: Loop, now: Numbers, step: float) -> Numbers:
        if now != self._reached or self._solution is None or self._time + step > self.AHEAD:
            self._solve(loop, now)
        assert self._solution is not None
        self._time += step
        moved = dict(zip(loop.rates(now), self._solution(self._time).tolist(), strict=True))
        self._reached = {**now, **moved}
        return dict(self._reached)  # which whoever simulates changes

    def _solve(self, loop: Loop, now: Numbers) -> None:
        names = list(loop.rates(now))

        def rates(_: float, state: Any) -> list[float]:
            found = loop.rates({**now, **dict(zip(names, state.tolist(), strict=True))})
            return [found[name] for name in names]

        first = [now[name] for name in names]
        look: dict[str, Any] = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12, "dense_output": True}
        self._solution, self._time = solve_ivp(rates, (0.0, self.AHEAD), first, **look).sol, 0.0


# The loops ------------------------------------------------------------------------------------------------------------

TENTH = Fraction(1, 10)


def decay() -> Loop:
    """x' = u - x with u = -2 x held: x(kT) = (3 e^-T - 2)^k x(0)."""
    agent = vn.agent(linear_network("gain", (-2.0,)), observe=lambda s: [s.x], act="raw", every="0.1")
    system = vn.System(
        "decay",
        state={"x": vn.real(-4, 4)},
        init={"x": vn.interval(1, 2)},
        agents={"u": agent},
        rates=lambda s: {"x": s.u - s.x},
    )
    actors = {"u": Actor(TENTH, lambda s: -2 * s["x"])}
    return Loop(system, lambda s: {"x": s["u"] - s["x"]}, actors, corners=({"x": 1.0}, {"x": 1.5}, {"x": 2.0}))


def bang() -> Loop:
    """A double integrator pushed left or right, by the sign of x + 2 v."""
    network = linear_network("push", (1.0, 2.0), (-1.0, -2.0))
    agent = vn.agent(network, observe=lambda s: [s.x, s.v], labels=("LEFT", "RIGHT"), every="0.25")
    system = vn.System(
        "bang",
        state={"x": vn.real(-8, 8), "v": vn.real(-8, 8)},
        init={"x": vn.interval(1, "1.1"), "v": 0},
        agents={"push": agent},
        rates=lambda s: {"x": s.v, "v": vn.match(s.push, {"LEFT": -1, "RIGHT": 1})},
    )
    actors = {"push": Actor(Fraction(1, 4), lambda s: 0.0 if s["x"] + 2 * s["v"] >= 0 else 1.0)}
    rates = lambda s: {"x": s["v"], "v": -1.0 if s["push"] == 0 else 1.0}  # noqa: E731
    return Loop(system, rates, actors, corners=tuple({"x": x, "v": 0.0} for x in (1.0, 1.03, 1.1)))


def leaky() -> Loop:
    """A tank that an agent fills, and that loses half of what it has every half second; jumps are counted."""
    agent = vn.agent(linear_network("fill", (-1.0,)), observe=lambda s: [s.x], act="raw", every="0.1")
    system = vn.System(
        "leaky",
        state={"x": vn.real(-4, 4), "n": vn.integer(0, 9)},
        init={"x": vn.interval(1, 2), "n": 0},
        agents={"u": agent},
        rates=lambda s: {"x": s.u + 2},
        step=lambda s: {"x": s.x / 2 + s.u / 10, "n": s.n + 1},
        every="0.5",
    )
    actors = {"u": Actor(TENTH, lambda s: -s["x"])}
    jump = lambda s: {"x": s["x"] / 2 + s["u"] / 10, "n": s["n"] + 1}  # noqa: E731
    corners = tuple({"x": x, "n": 0.0} for x in (1.0, 1.5, 2.0))
    return Loop(system, lambda s: {"x": s["u"] + 2}, actors, jump, Fraction(1, 2), corners)


def late() -> Loop:
    """As `decay`, but an action is in force only 0.04 seconds after what it reads."""
    agent = vn.agent(
        linear_network("gain", (-2.0,)), observe=lambda s: [s.x], act="raw", every="0.1", delay="0.04", start=1
    )
    system = vn.System(
        "late",
        state={"x": vn.real(-4, 4)},
        init={"x": vn.interval(1, 2)},
        agents={"u": agent},
        rates=lambda s: {"x": s.u - s.x},
    )
    actors = {"u": Actor(TENTH, lambda s: -2 * s["x"], Fraction(1, 25), 1.0)}
    return Loop(system, lambda s: {"x": s["u"] - s["x"]}, actors, corners=({"x": 1.0}, {"x": 1.5}, {"x": 2.0}))


def pair() -> Loop:
    """Two agents, one every 0.2 and one every 0.3 seconds."""
    fast = vn.agent(linear_network("fast", (-1.0, 0.5)), observe=lambda s: [s.x, s.y], act="raw", every="0.2")
    slow = vn.agent(linear_network("slow", (0.5, -1.0)), observe=lambda s: [s.x, s.y], act="raw", every="0.3")
    system = vn.System(
        "pair",
        state={"x": vn.real(-8, 8), "y": vn.real(-8, 8)},
        init={"x": vn.interval(1, "1.2"), "y": vn.interval("-0.1", 0)},
        agents={"a": fast, "b": slow},
        rates=lambda s: {"x": s.a + s.y / 4, "y": s.b - vn.sin(s.x)},
    )
    actors = {
        "a": Actor(Fraction(1, 5), lambda s: -s["x"] + 0.5 * s["y"]),
        "b": Actor(Fraction(3, 10), lambda s: 0.5 * s["x"] - s["y"]),
    }
    rates = lambda s: {"x": s["a"] + s["y"] / 4, "y": s["b"] - float(np.sin(s["x"]))}  # noqa: E731
    corners = tuple({"x": x, "y": y} for x in (1.0, 1.2) for y in (-0.1, 0.0))
    return Loop(system, rates, actors, corners=corners)


LOOPS: Mapping[str, Callable[[], Loop]] = {one.__name__: one for one in (decay, bang, leaky, late, pair)}
