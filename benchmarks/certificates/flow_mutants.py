"""Certificates of random flows and loops that sample, with claims near what is reached: none that is false is accepted.

Trajectories are simulated from random starts and corners, under disturbances that change from step to step. A claim is
false where one of them breaks it by more than the simulation, and the time between its states, may be off.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.certificates.mutants import Forgery

Floats = NDArray[np.float64]
Field = Callable[[Floats, Floats], Floats]  # states and disturbances (n, trajectories) to rates
STEPS, TRAJECTORIES = 800, 60
OFF = (0.0, 1e-3, -1e-3, 0.02, -0.02, 0.2)  # how far a bound is from what is reached, in parts of what is passed
FIELDS: tuple[tuple[tuple[str, ...], Field], ...] = (
    (("-y", "x"), lambda x, w: np.stack([-x[1], x[0]])),
    (("y", "(1 - x^2) * y - x"), lambda x, w: np.stack([x[1], (1 - x[0] ** 2) * x[1] - x[0]])),
    (("-y - 1.5*x^2 - 0.5*x^3 - 0.1", "3*x - y"), lambda x, w: np.stack([
        -x[1] - 1.5 * x[0] ** 2 - 0.5 * x[0] ** 3 - 0.1, 3 * x[0] - x[1]])),
    (("sin(y) - x / 2", "cos(x)"), lambda x, w: np.stack([np.sin(x[1]) - x[0] / 2, np.cos(x[0])])),
    (("exp(-x^2) - y", "tanh(x) + y / 4"), lambda x, w: np.stack([
        np.exp(-(x[0] ** 2)) - x[1], np.tanh(x[0]) + x[1] / 4])),
    (("1 / (2 + x^2)", "sqrt(4 + y^2) - 2"), lambda x, w: np.stack([1 / (2 + x[0] ** 2), np.sqrt(4 + x[1] ** 2) - 2])),
    (("x * y", "1 - x * x + y / 8"), lambda x, w: np.stack([x[0] * x[1], 1 - x[0] ** 2 + x[1] / 8])),
    (("-abs(x) + y / 2", "-min(x, y)"), lambda x, w: np.stack([-abs(x[0]) + x[1] / 2, -np.minimum(x[0], x[1])])),
    (("(x^2)^(1/3) - y", "x"), lambda x, w: np.stack([np.cbrt(x[0] ** 2) - x[1], x[0]])),
    (("-y + between(-0.2, 0.1)", "x"), lambda x, w: np.stack([-x[1] - 0.05 + 0.15 * w[0], x[0]])),
    (("w - x", "x * y / 2 - w"), lambda x, w: np.stack([w[0] / 4 - x[0], x[0] * x[1] / 2 - w[0] / 4])),
    (("sin(x + between(0, 0.5))", "between(-0.1, 0.1) * x"), lambda x, w: np.stack([
        np.sin(x[0] + 0.25 + 0.25 * w[0]), 0.1 * w[1] * x[0]])),
    (("x^2 / 4 + 0.5", "-y"), lambda x, w: np.stack([x[0] ** 2 / 4 + 0.5, -x[1]])),
    (("sigmoid(4 * y)", "-log(2 + x^2)"), lambda x, w: np.stack([1 / (1 + np.exp(-4 * x[1])), -np.log(2 + x[0] ** 2)])),
)  # fmt: skip
TURNED = "match(u, DOWN: -0.5, UP: 0.5)"
SHARED = '[flow.let]\nw = "between(-0.25, 0.25)"\n'


@dataclass
class Seen:
    """Trajectories: times, states (times, n, trajectories), and whether each is in the region so far."""

    times: Floats
    states: Floats
    inside: NDArray[np.bool_]


@dataclass(frozen=True)
class Judged:
    """A formula, and by how much each trajectory keeps it, at the first time."""

    text: str
    margin: Callable[[Seen], Floats]


@dataclass(frozen=True)
class Reader:
    """An agent: a network with one hidden layer, how often it acts, and by how much it may read amiss."""

    hidden: Floats  # (3, 3): weights, then a bias
    out: Floats  # (1 or 2, 4)
    parts: int  # of the horizon, into which its instants divide it
    noise: float

    @property
    def decides(self) -> bool:
        return len(self.out) == 2

    @property
    def network(self) -> str:
        """The text of a file in .nnet."""
        rows = [*self.hidden[:, :-1], *self.hidden[:, -1:], *self.out[:, :-1], *self.out[:, -1:]]
        sizes = f"2,2,{len(self.out)},3,\n2,3,{len(self.out)},\n0,\n-99,-99,\n99,99,\n0,0,0,\n1,1,1,\n"
        return sizes + "\n".join(",".join(map(str, row)) + "," for row in rows) + "\n"

    def acts(self, state: Floats, noise: Floats) -> Floats:
        """What it adds to the first rate."""
        seen = np.concatenate([state[:1] + self.noise * noise, state[1:], np.ones((1, state.shape[1]))])
        inner = np.concatenate([np.maximum(self.hidden @ seen, 0), np.ones((1, state.shape[1]))])
        scores = self.out @ inner
        return np.where(scores[0] >= scores[1], -0.5, 0.5) if self.decides else scores[0] / 2

    def tables(self, last: float) -> str:
        see = f"x + between(-{self.noise}, {self.noise})" if self.noise else "x"
        act = 'act = "argmax"\nlabels = ["DOWN", "UP"]' if self.decides else 'act = "raw"'
        return f'[agents.u]\npolicy = "mover.nnet"\nobserve = ["{see}", "y"]\n{act}\nevery = {last / self.parts}\n'


def reader(draw: random.Random) -> Reader:
    def weights(*shape: int) -> Floats:
        return np.array([draw.randrange(-6, 7) / 4 for _ in range(shape[0] * shape[1])]).reshape(shape)

    return Reader(
        weights(3, 3), weights(draw.choice([1, 2]), 4), draw.choice([1, 2, 4, 5]), draw.choice([0.0, 0.0, 0.125])
    )


@dataclass
class Plant:
    rates: tuple[str, ...]
    field: Field
    start: list[tuple[float, float]]
    region: float
    last: float
    seed: int
    agent: Reader | None = None

    @cached_property
    def seen(self) -> Seen:
        return simulated(self)

    @property
    def task(self) -> str:
        names = ("x", "y")
        lines = ["vernal = 1", "[state]", *(f'{n} = "real [-{self.region}, {self.region}]"' for n in names), "[init]"]
        lines += [f'{n} = "[{a}, {b}]"' for n, (a, b) in zip(names, self.start, strict=True)]
        turned = "" if self.agent is None else f" + {TURNED if self.agent.decides else 'u / 2'}"
        rates = [self.rates[0] + turned, *self.rates[1:]]
        lines += ["[flow]", *(f'{n} = "{r}"' for n, r in zip(names, rates, strict=True))]
        lines += [] if self.agent is None else [self.agent.tables(self.last)]
        return "\n".join(lines) + "\n" + (SHARED if self.rates[0] == "w - x" else "")


def plant(draw: random.Random) -> Plant:
    """A random flow, with trajectories."""
    rates, moves = draw.choice(FIELDS)
    start = []
    for _ in rates:
        low, width = draw.randrange(-16, 12) / 16, draw.choice([0.0, 1 / 64, 1 / 16, 1 / 8])
        start.append((low, low + width))
    region, last = draw.choice([1.5, 2.0, 6.0, 6.0]), draw.choice([0.25, 0.5, 1.0, 2.0])
    agent = reader(draw) if draw.random() < 0.5 else None
    return Plant(rates, moves, start, region, last, draw.randrange(2**32), agent)


def simulated(made: Plant) -> Seen:
    """Runge and Kutta, from corners and at random, with disturbances at their ends or anywhere between."""
    rng = np.random.default_rng(made.seed)
    low, high = np.array(made.start).T[:, :, None]
    share = rng.random((2, TRAJECTORIES))
    share[:, : TRAJECTORIES // 2] = share[:, : TRAJECTORIES // 2].round()
    state, h = low + share * (high - low), made.last * 2 / STEPS
    w = before = np.zeros((2, TRAJECTORIES))
    push, states, agent = np.zeros(TRAJECTORIES), [state], made.agent

    def field(state: Floats, w: Floats) -> Floats:
        return made.field(state, w) + np.stack([push, np.zeros(TRAJECTORIES)])

    with np.errstate(all="ignore"):
        for number in range(STEPS):
            if number % 40 == 0:
                fresh = rng.uniform(-1, 1, (2, TRAJECTORIES))
                extreme = rng.random(TRAJECTORIES) < 0.7
                w = np.where(extreme, np.sign(fresh), fresh)
                if number:  # some are the same for all time
                    w[:, ::3] = before[:, ::3]
                before = w
            if agent is not None and number % (STEPS // 2 // agent.parts) == 0:
                push = agent.acts(state, np.sign(rng.uniform(-1, 1, (1, TRAJECTORIES))))
            a = field(state, w)
            b = field(state + h / 2 * a, w)
            c = field(state + h / 2 * b, w)
            d = field(state + h * c, w)
            state = state + h / 6 * (a + 2 * b + 2 * c + d)
            states.append(state)
    found: Floats = np.array(states)
    inside = np.logical_and.accumulate((abs(found) <= made.region + 1e-9).all(1), axis=0)
    return Seen(np.arange(STEPS + 1, dtype=np.float64) * h, found, inside)


# Claims ---------------------------------------------------------------------------------------------------------------


def value(draw: random.Random, made: Plant) -> tuple[str, Floats]:
    x, y = made.seen.states[:, 0], made.seen.states[:, 1]
    return draw.choice([("x", x), ("y", y), ("x + y", x + y), ("x - 2 * y", x - 2 * y), ("x^2 + y^2", x**2 + y**2)])


def over(seen: Seen, values: Floats, a: float, b: float, kind: str) -> Floats:
    """For each time the least (greatest) of the values from a to b later while a trajectory is in the region."""
    h = seen.times[1]
    first, last = round(a / h), round(b / h)
    empty = np.inf if kind == "G" else -np.inf
    kept = np.where(seen.inside, values, empty)
    padded = np.concatenate([kept, np.full((last + 1, kept.shape[1]), np.nan)])
    best = np.minimum if kind == "G" else np.maximum
    return np.array([best.reduce(padded[i + first : i + last + 1]) for i in range(len(kept))])


def claim(draw: random.Random, made: Plant) -> Judged:
    """A random claim whose bounds are near what trajectories reach."""
    seen, last = made.seen, made.last
    half = len(seen.times) // 2
    (text, e), (other, f) = value(draw, made), value(draw, made)
    a = draw.choice([0.0, last / 4, last / 2, last])
    with np.errstate(all="ignore"):
        kept = np.where(seen.inside, e, np.nan)[round(a / seen.times[1]) : half + 1]
        scale = float(np.nanmax(kept) - np.nanmin(kept)) + 1e-3 if np.isfinite(kept).any() else 1.0
        top = float(np.nanmax(kept)) if np.isfinite(kept).any() else 0.0
        low = float(np.nanmin(kept)) if np.isfinite(kept).any() else 0.0
        late = float(np.nanmin(np.where(np.isfinite(kept), kept, -np.inf).max(0))) if np.isfinite(kept).any() else 0.0
    off = draw.choice(OFF) * scale
    c, d, g = round(top + off, 6), round(low - off, 6), round(late - off, 6)
    kind = draw.randrange(8)
    if kind == 0:
        return Judged(f"G[{a},{last}] ({text} <= {c})", lambda s: over(s, c - e, a, last, "G")[0])
    if kind == 1:
        return Judged(f"G[{a},{last}] !({text} < {d})", lambda s: over(s, e - d, a, last, "G")[0])
    if kind == 2:
        return Judged(f"F[{a},{last}] ({text} >= {g})", lambda s: over(s, e - g, a, last, "F")[0])
    if kind == 3:
        m = last / 2
        return Judged(
            f"G[0,{m}] F[0,{m}] ({text} >= {g})",
            lambda s: over(s, over(s, e - g, 0, m, "F"), 0, m, "G")[0],
        )
    if kind == 4:
        return Judged(f"({text} <= {c}) U[{a},{last}] ({text} >= {g})", lambda s: until(s, c - e, e - g, a, last))
    if kind == 5:
        k = round(float(np.median(f[:half])), 6)
        return Judged(
            f"G[0,{last}] ({other} <= {k} | {text} <= {c})",
            lambda s: over(s, np.maximum(k - f, c - e), 0, last, "G")[0],
        )
    if kind == 6:
        return Judged(f"F[{last},{last}] ({text} <= {c})", lambda s: over(s, c - e, last, last, "F")[0])
    return Judged(
        f"G[0,{last}] ({text} <= {c}) | F[{a},{last}] ({text} >= {g})",
        lambda s: np.maximum(over(s, c - e, 0, last, "G")[0], over(s, e - g, a, last, "F")[0]),
    )


def until(seen: Seen, p: Floats, q: Floats, a: float, b: float) -> Floats:
    """By how much p is kept before a time from a to b at which q is."""
    h = seen.times[1]
    before = np.minimum.accumulate(np.concatenate([np.full((1, p.shape[1]), np.inf), p]))[:-1]
    kept = np.where(seen.inside, np.minimum(q, before), -np.inf)
    found: Floats = kept[round(a / h) : round(b / h) + 1].max(0)
    return found


def is_broken(made: Plant, judged: Judged) -> bool:
    """Whether a trajectory certainly breaks a claim."""
    seen = made.seen
    near = (abs(abs(seen.states) - made.region).min(1) < 1e-3).any(0)  # whether it left the region is not certain
    changes = abs(np.diff(seen.states, axis=0)).max((0, 1))
    with np.errstate(all="ignore"):
        margin = judged.margin(seen)
        off = 12 * changes * (1 + abs(seen.states).max((0, 1))) + 1e-6
    broken = (margin < -off) & ~np.isnan(margin) & np.isfinite(seen.states).all((0, 1)) & ~near
    if judged.text.startswith("G[") and " F[" not in judged.text and "U[" not in judged.text:
        broken |= (margin < -1e-5) & ~np.isnan(margin) & ~near & np.isfinite(seen.states).all((0, 1))
    return bool(broken.any())


# Certificates ---------------------------------------------------------------------------------------------------------


def sets(draw: random.Random, made: Plant) -> list[Any]:
    """The initial set, in one or two parts, or what a forger makes of it."""
    (a, b), (c, d) = [[Fraction(end) for end in ends] for ends in made.start]
    kind = draw.randrange(6)
    if kind < 3:
        boxes = [((a, b), (c, d))]
    elif kind == 3:
        boxes = [((a, (a + b) / 2), (c, d)), (((a + b) / 2, b), (c, d))]
    elif kind == 4:
        boxes = [((a, (2 * a + b) / 3), (c, d)), (((a + b) / 2, b), (c, d))]
    else:
        boxes = [((a, (a + b) / 2), (c, c))]
    return [{"set": [cell(*one), cell(*other)], "walk": True} for one, other in boxes]


def cell(low: Fraction, high: Fraction) -> Any:
    return str(low) if low == high else [str(low), str(high)]


def forgery(draw: random.Random) -> tuple[Forgery, bool]:
    """A task, a claim and sets; and whether a trajectory breaks the claim."""
    with np.errstate(all="ignore"):  # some trajectories run away
        made = plant(draw)
        judged = claim(draw, made)
        is_false = is_broken(made, judged)
    text = made.task
    header = {
        "certificate": 1, "semantics": "seconds-1", "formula": judged.text, "property": None, "verdict": "holds",
        "variables": ["x", "y"],
        "task": {"file": "", "sha256": hashlib.sha256(text.encode()).hexdigest(), "parameters": {}, "networks": []},
    }  # fmt: skip
    return Forgery(text, header, sets(draw, made), "" if made.agent is None else made.agent.network), is_false
