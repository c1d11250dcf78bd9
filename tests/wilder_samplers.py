"""Random loops that sample with all at once (jumps, delays, noise, memory, the clock), and claims of every shape.

The judge shares no code with us: it simulates in plain floats, and says between which two numbers by how much a path
keeps a claim. Windows are taken a tick longer or shorter, and what happens between ticks is allowed for, so that it
never calls a path wrong that is right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

import vernal as vn
from tests.sampled_loops import Actor, Flowing, Loop, Numbers, simulated
from tests.wild_samplers import HORIZON, NOISE, TICK
from vernal.formats.recurrent import rnn
from vernal.model import build
from vernal.model.expr import Matrix
from vernal.model.network import Network, network_input

PLAYS = 3  # with noise, from each corner
EDGE = 6.0  # of the region; at a border paths begin where x is least in it
BEYOND = 1e-6  # of it, where a path that keeps to its edge may be by rounding
Path = list[tuple[float, Numbers]]
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Claim:
    """`op` is one of <=, G, F, U, or: an atom has a name, a sign and a limit, others a window and arguments."""

    op: str
    args: tuple[Claim, ...] = ()
    window: tuple[float, float] = (0.0, 0.0)
    atom: tuple[str, int, float] = ("x", 1, 0.0)

    def __str__(self) -> str:
        name, sign, limit = self.atom
        window = f"[{self.window[0]},{self.window[1]}]"
        match self.op:
            case "<=":
                return f"{name} <= {limit}" if sign > 0 else f"{name} >= {-limit}"
            case "or":
                return f"(({self.args[0]}) | ({self.args[1]}))"
            case "U":
                return f"(({self.args[0]}) U{window} ({self.args[1]}))"
        return f"{self.op}{window} ({self.args[0]})"

    def margin(self, path: Path, at: int, side: int) -> float:
        """By how much it is kept from an entry on: at most (side 1) or at least (-1), but for what ticks do not see."""
        name, sign, limit = self.atom
        match self.op:
            case "<=":
                return limit - sign * path[at][1][name]
            case "or":
                return max(arg.margin(path, at, side) for arg in self.args)
            case "G":
                return min((self.args[0].margin(path, k, side) for k in self._within(path, at, -side)), default=inf)
            case "F":
                return max((self.args[0].margin(path, k, side) for k in self._within(path, at, side)), default=-inf)
        before, after = self.args
        found, kept, start = -inf, inf, at
        for k in self._within(path, at, side):
            until = path[k][0] - side * float(TICK)
            while start < len(path) and path[start][0] <= until + 1e-9:
                kept, start = min(kept, before.margin(path, start, side)), start + 1
            found = max(found, min(kept, after.margin(path, k, side)))
        return found

    def _within(self, path: Path, at: int, side: int) -> list[int]:
        """The entries in the window, which is a tick longer on both sides (1) or shorter (-1)."""
        now, more = path[at][0], side * float(TICK) + 1e-9
        first, last = now + self.window[0] - more, now + self.window[1] + more
        return [k for k, (time, _) in enumerate(path) if first <= time <= last and time >= now - 1e-9]


@dataclass(frozen=True)
class WilderCase:
    """A loop, a claim about it, and a judge of paths from a first state."""

    seed: int
    kinds: frozenset[str]
    make: Callable[[], Loop]  # anew for each path: what it remembers is in it
    claim: Claim
    flowing: Flowing | None = None

    def __str__(self) -> str:
        return f"loop {self.seed} ({', '.join(sorted(self.kinds)) or 'plain'}): {self.claim}"

    @property
    def formula(self) -> str:
        return str(self.claim)

    def paths(self, firsts: list[Numbers], beyond: float = 0.0) -> list[Path]:
        """Simulated paths as far as they are in the region, or no further than this beyond it."""
        count, least = PLAYS if "noisy" in self.kinds else 1, (0.0 if "border" in self.kinds else -EDGE) - beyond
        made = [simulated(self.make(), first, HORIZON, TICK, self.flowing) for first in firsts for _ in range(count)]
        return [_inside(path, least, EDGE + beyond) for path in made]

    def contradicts_proof(self) -> bool:
        """Whether a simulated path from a corner breaks the claim."""
        firsts = list(self.make().corners)
        wrong = [self._breaks(path) for path in self.paths(firsts)]
        if "border" not in self.kinds or "noisy" in self.kinds:  # of noise no path comes again
            return any(wrong)
        return any(map(min, wrong, map(self._breaks, self.paths(firsts, BEYOND))))

    def _breaks(self, path: Path) -> bool:
        return self.claim.margin(path, 0, 1) < -_between(path)

    def contradicts_path(self, first: Numbers) -> bool:
        """Whether the path from a state keeps the claim, where there is one only."""
        if "noisy" in self.kinds:
            return False
        at = [{name: float(first[name]) for name in ("x", "y")} | {"t": 0.0}]
        paths = [path for beyond in (0.0, BEYOND) for path in self.paths(at, beyond)]
        return all(self.claim.margin(path, 0, -1) > _between(path) for path in paths)


def _between(path: Path) -> float:
    """By how much a variable changes from one tick to the next at most, jumps apart; and the rounding of floats."""
    moves = [abs(b[n] - a[n]) for (s, a), (t, b) in pairwise(path) if t > s for n in ("x", "y", "t")]
    return 2 * max(moves, default=0.0) + 1e-6


def _inside(path: Path, least: float = -EDGE, most: float = EDGE) -> Path:
    for k, (_, now) in enumerate(path):
        if now["x"] < least or max(now["x"], abs(now["y"])) > most:
            return path[:k] or path[:1]
    return path


def wilder_loop(seed: int, more: bool = False, flowing: Callable[[], Flowing] | None = None) -> WilderCase:
    """A loop of two variables under one agent with some of everything, and a claim near what it does.

    With `more` there are other plants among them, and starts on the border of the region.
    """
    rng = np.random.default_rng([seed, 24])
    kinds = frozenset(kind for kind in ("jump", "late", "noisy", "memory", "clock") if rng.random() < 0.4)
    if more:
        other = np.random.default_rng([seed, 53])
        kinds |= {str(other.choice(["swing", "saturated", "damped"]))}
        kinds |= {"border"} if other.random() < 0.3 else set()
    a, b, c, d = (round(float(x), 2) for x in rng.uniform(-1, 1, 4))
    weights = [np.round(rng.normal(size=shape), 2) for shape in ((2, 2), (2, 2), (2,), (1, 2), (1,))]
    every = Fraction(int(rng.choice([1, 2])), 10)
    system = _system(kinds, weights, every, (a, b, c, d))
    noise = np.random.default_rng(seed)

    def make() -> Loop:
        return _loop(system, kinds, weights, every, (a, b, c, d), noise)

    plain = WilderCase(seed, kinds, make, Claim("<="), flowing and flowing())
    return replace(plain, claim=_claim(rng, plain.paths(list(make().corners)), "clock" in kinds))


def _loop(
    system: vn.System,
    kinds: frozenset[str],
    weights: list[Array],
    every: Fraction,
    rates: tuple[float, ...],
    noise: np.random.Generator,
) -> Loop:
    a, b, c, d = rates
    remembered = np.zeros(2)

    def act(now: Numbers) -> float:
        seen = np.array([now["x"], now["y"]])
        if "noisy" in kinds:
            seen[0] += float(NOISE) * noise.choice([-1.0, 0.0, 1.0])
        below = weights[0] @ seen + weights[2]
        if "memory" in kinds:
            remembered[:] = np.tanh(below + weights[1] @ remembered)
            below = remembered
        else:
            below = np.maximum(below, 0.0)
        return float((weights[3] @ below + weights[4])[0])

    def flow(now: Numbers) -> Numbers:
        x, y = now["x"], now["y"]
        wind = float(np.sin(3 * now["t"])) if "clock" in kinds else 0.0
        if "saturated" in kinds:
            return {"x": float(np.tanh(y)) + a / 2 + wind, "y": b * float(np.cos(x)) - y + d * now["u"], "t": 1.0}
        if "damped" in kinds:
            return {"x": a * y + wind, "y": (b * x + d + now["u"]) / (1 + x * x) + c * y, "t": 1.0}
        return {"x": y + a * float(np.sin(x)) + wind, "y": b * x + c * x * y + d + now["u"] / 2, "t": 1.0}

    delay, start = (Fraction(1, 40), 0.5) if "late" in kinds else (Fraction(0), 0.0)
    jump = (lambda now: {"x": now["x"] / 2, "y": now["y"] + 0.1}) if "jump" in kinds else None
    corners = tuple({"x": x, "y": y, "t": 0.0} for x in (0.0, 0.05, 0.1) for y in (-0.1, 0.0))
    return Loop(system, flow, {"u": Actor(every, act, delay, start)}, jump, every, corners)


def _system(kinds: frozenset[str], weights: list[Array], every: Fraction, rates: tuple[float, ...]) -> vn.System:
    a, b, c, d = (Fraction(str(x)) for x in rates)
    first, again, bias, last, shift = (w.tolist() for w in weights)
    if "memory" in kinds:
        net = rnn([(first, again, bias)], [(last, shift)], activation="tanh")
    else:
        x = network_input(2)
        hidden = build.relu(build.affine(x, Matrix(weights[0]), Matrix(weights[2])))
        net = Network("net", x, build.affine(hidden, Matrix(weights[3]), Matrix(weights[4])))
    seen = (lambda s: [s.x + vn.between(-NOISE, NOISE), s.y]) if "noisy" in kinds else (lambda s: [s.x, s.y])
    late: dict[str, Any] = {"delay": "0.025", "start": ["0.5"]} if "late" in kinds else {}
    return vn.System(
        "wilder",
        state={"x": vn.real(0 if "border" in kinds else -6, 6), "y": vn.real(-6, 6)},
        init={"x": vn.interval(0, "0.1"), "y": vn.interval("-0.1", 0)},
        agents={"u": vn.agent(net, observe=seen, act="raw", every=every, **late)},
        rates=lambda s: _rates(kinds, (a, b, c, d), s),
        step=(lambda s: {"x": s.x / 2, "y": s.y + Fraction(1, 10)}) if "jump" in kinds else None,
        every=every,
    )


def _rates(kinds: frozenset[str], numbers: tuple[Fraction, ...], s: Any) -> dict[str, Any]:
    a, b, c, d = numbers
    wind = vn.sin(3 * s.t) if "clock" in kinds else 0
    if "saturated" in kinds:
        return {"x": vn.tanh(s.y) + a / 2 + wind, "y": b * vn.cos(s.x) - s.y + d * s.u}
    if "damped" in kinds:
        return {"x": a * s.y + wind, "y": (b * s.x + d + s.u) / (1 + s.x * s.x) + c * s.y}
    return {"x": s.y + a * vn.sin(s.x) + wind, "y": b * s.x + c * s.x * s.y + d + s.u / 2}


def _claim(rng: np.random.Generator, paths: list[Path], clock: bool) -> Claim:
    def atom() -> Claim:
        name, sign = str(rng.choice(["x", "y"])), int(rng.choice([-1, 1]))
        path = paths[rng.integers(len(paths))]
        value = sign * path[rng.integers(len(path))][1][name]
        return Claim("<=", atom=(name, sign, round(value + float(rng.choice([-0.3, -0.03, 0.03, 0.3, 0.6])), 3)))

    after = Claim("<=", atom=("t", -1, -0.5))  # t >= 0.5
    start = round(float(rng.choice([0.0, 0.25, 0.5])), 2)
    shapes: list[Callable[[], Claim]] = [
        lambda: Claim("G", (atom(),), (start, 1.0)),
        lambda: Claim("F", (atom(),), (start, 1.0)),
        lambda: Claim("U", (atom(), atom()), (0.0, 1.0)),
        lambda: Claim("U", (atom(), atom()), (start, 0.9)),
        lambda: Claim("G", (Claim("or", (atom(), Claim("F", (atom(),), (0.0, 0.4)))),), (0.0, 0.6)),
        lambda: Claim("F", (Claim("G", (atom(),), (0.0, 0.3)),), (0.0, 0.6)),
        lambda: Claim("G", (Claim("U", (atom(), atom()), (0.0, 0.4)),), (0.0, 0.5)),
    ]
    if clock:
        shapes.append(lambda: Claim("F", (Claim("or", (atom(), after)),), (0.0, 0.4)))
        shapes.append(lambda: Claim("G", (Claim("or", (atom(), after)),), (0.0, 1.0)))
    return shapes[rng.integers(len(shapes))]()
