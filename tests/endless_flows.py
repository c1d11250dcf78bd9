"""Random flows and loops that go on for ever, claims `G p` and `G[a,] p` near what they do, and a judge of them.

The judge shares no code with us: scipy's DOP853 follows many paths at once, to 1e-10, for much longer than they take
to settle, if they do. Some grow so slowly that what they break is late, some go round, some switch for ever. What a
proof says of boxes to which paths come back is compared with the same paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import vernal as vn
from tests.sampled_loops import linear_network
from vernal.evidence.recurrent_set import RecurrentSet

Floats = np.ndarray[Any, Any]
Now = dict[str, Floats]  # a number for each path
Signals = Mapping[str, Floats]
Acting = tuple[Fraction, Fraction, Callable[[Now, np.random.Generator], Floats]]  # period, delay, action

PATHS, LOOKS = 24, 8  # simulated at once; times at which a stretch of time is looked at
ROUNDING = 1e-6  # of the simulation
NEAR = 1e-3  # of the width of a section's box, within which a path is seen to cross it
EDGE = Fraction(4)  # of the region
TIMES = 40.0  # seconds that are simulated, at least


@dataclass(frozen=True)
class Plain:
    """The same as functions on floats: rates under signals, and what agents and jumps do, each with its period."""

    rates: Callable[[Now, Signals], Now]
    signals: Mapping[str, float] = field(default_factory=dict)  # the largest absolute value of each
    agents: Mapping[str, Acting] = field(default_factory=dict)
    first: Mapping[str, float] = field(default_factory=dict)  # actions in force at the start
    jump: Callable[[Now], Now] | None = None
    every: Fraction = Fraction(0)
    kinds: tuple[str, ...] = ()  # discrete variables


@dataclass(frozen=True)
class EndlessCase:
    """What flows, a claim about it, and how to judge what is said of it."""

    seed: int
    family: str
    system: vn.System | vn.Flow
    plain: Plain
    starts: Mapping[str, tuple[float, float]]
    atoms: tuple[tuple[str, Callable[[Now], Floats], float], ...] = ()  # each: text <= limit
    since: Fraction = Fraction(0)
    time: float = TIMES

    def __str__(self) -> str:
        return f"endless {self.seed} ({self.family}): {self.formula}"

    @property
    def condition(self) -> str:
        return " & ".join(f"{text} <= {limit}" for text, _, limit in self.atoms)

    @property
    def formula(self) -> str:
        return f"G ({self.condition})" if not self.since else f"G[{float(self.since)},] ({self.condition})"

    def until(self, time: Fraction) -> str:
        """The claim up to some time only."""
        return f"G[{float(self.since)},{float(time)}] ({self.condition})"

    def false(self) -> EndlessCase:
        """A claim that simulated paths break."""
        own = self.paths(self.corners(self.seed), self.time, self.seed)
        counted = own.times >= float(self.since)
        worst = [float(np.nanmax(value({k: x[counted] for k, x in own.states.items()}))) for _, value, _ in self.atoms]
        atoms = tuple(
            (text, value, round(most - 0.002, 5)) for (text, value, _), most in zip(self.atoms, worst, strict=True)
        )
        return replace(self, atoms=atoms)

    def margins(self, paths: Paths) -> Floats:
        """By how much each path keeps the claim as far as it is followed inside the region."""
        counted = paths.times >= float(self.since) - 1e-9
        own = [limit - value({k: x[counted] for k, x in paths.states.items()}) for _, value, limit in self.atoms]
        least = np.where(np.isnan(own), np.inf, own).min(axis=0)
        return np.asarray(least.min(axis=0, initial=np.inf))

    def problem(self, result: vn.Result) -> str | None:
        """What is wrong with a verdict, if anything."""
        if result.verdict is vn.UNKNOWN:
            return None
        if result.verdict is vn.VIOLATED:
            assert result.trace is not None
            state = result.trace.steps[0].state
            firsts = {name: np.array([float(state[name])] * 2) for name in self.starts}
            if self.plain.signals or "noisy" in self.family:
                return None
            kept = self.margins(self.paths(firsts, self.time, self.seed))
            return "the path from its first state keeps the claim" if (kept > ROUNDING).all() else None
        paths = self.paths(self.corners(self.seed + 1), 2 * self.time, self.seed + 1)
        if (self.margins(paths) < -ROUNDING).any():
            return "holds, but a simulated path breaks it"
        if result.vacuous or result.evidence is None:
            return None
        assert isinstance(result.evidence, RecurrentSet)
        return self.set_problem(result.evidence, paths)

    def set_problem(self, found: RecurrentSet, paths: Paths | None = None) -> str | None:
        """Whether a simulated path leaves the region, or is not in the boxes where it is said to be."""
        paths = paths or self.paths(self.corners(self.seed + 2), self.time, self.seed + 2)
        if any(np.isnan(x).any() for x in paths.states.values()):
            return "a simulated path leaves the region"
        known = [k for k, name in enumerate(found.variables) if name in paths.states]
        boxes = found.boxes[:, :, known]
        values = np.stack([paths.states[found.variables[k]] for k in known], axis=-1)  # (times, paths, known)
        if found.section is not None:
            return _uncrossed(found, paths.times, values, boxes[0])
        for time in np.arange(float(found.arrival), paths.times[-1] - 1e-6, float(found.period)):
            place = int(np.searchsorted(paths.times, time + 1e-6)) - 1  # the last of several: after a jump
            if abs(paths.times[place] - time) > 1e-6:
                continue  # it was not looked at then
            now = values[place]
            inside = ((now[:, None] >= boxes[:, 0] - ROUNDING) & (now[:, None] <= boxes[:, 1] + ROUNDING)).all(-1)
            if not inside.any(axis=1).all():
                return f"a simulated path is in none of the boxes at time {time:g}"
        return None

    # Paths

    def corners(self, seed: int) -> Now:
        """Corners of the initial set, and other states of it."""
        rng = np.random.default_rng(seed)
        share = {name: rng.choice([0.0, 1.0, rng.random()], PATHS) for name in self.starts}
        return {name: low + (high - low) * share[name] for name, (low, high) in self.starts.items()}

    def paths(self, firsts: Now, until: float, seed: int) -> Paths:
        return Player(self.plain, np.random.default_rng([seed, 7])).played(firsts, until)


@dataclass(frozen=True)
class Paths:
    """Times, and each variable at them on each path: not a number once a path has left the region."""

    times: Floats
    states: Mapping[str, Floats]


def _uncrossed(found: RecurrentSet, times: Floats, values: Floats, box: Floats) -> str | None:
    """Whether a path does not pass a section within the arrival, or again within every period after it did."""
    place = found.variables.index(found.section or "")
    others = [k for k in range(len(found.variables)) if k != place]
    side = values[..., place] - box[0, place]
    slack = NEAR * (box[1] - box[0])[others] + ROUNDING
    for path in range(values.shape[1]):
        before, after = side[:-1, path], side[1:, path]
        share = np.where(before == after, 0.0, before / np.where(before == after, 1.0, before - after))
        passed = (before * after <= 0) & (times[1:] > times[:-1])
        where = values[:-1, path] + share[:, None] * (values[1:, path] - values[:-1, path])
        good = passed & (
            (where[:, others] >= box[0, others] - slack) & (where[:, others] <= box[1, others] + slack)
        ).all(1)
        at = times[:-1][good] + share[good] * (times[1:] - times[:-1])[good]
        if not len(at) or at[0] > float(found.arrival) + NEAR:
            return "a simulated path does not come to the section"
        if (np.diff(at) > float(found.period) + NEAR).any():
            return "a simulated path does not come back to the section"
    return None


class Player:
    """Follows paths from many states at once."""

    def __init__(self, plain: Plain, rng: np.random.Generator) -> None:
        self.plain, self.rng = plain, rng
        self.times: list[float] = []
        self.states: list[Now] = []

    def played(self, firsts: Now, until: float) -> Paths:
        """As long as it takes to see what settles; the region is left once and for all."""
        count = len(next(iter(firsts.values())))
        now = {name: value.astype(float) for name, value in firsts.items()}
        held = {name: np.full(count, value) for name, value in self.plain.first.items()}
        self._walk(now, held, until)
        times = np.array(self.times)
        states = {name: np.array([state[name] for state in self.states]) for name in now}
        with np.errstate(invalid="ignore"):
            out = np.any([~(abs(x) <= float(EDGE) + 1e-9) for name, x in states.items() if name in now], axis=0)
        gone = np.cumsum(out, axis=0) > 0
        return Paths(times, {name: np.where(gone, np.nan, x) for name, x in states.items()})

    def _walk(self, now: Now, held: Now, until: float) -> None:
        plain, waiting = self.plain, list[tuple[Fraction, str, Floats]]()
        events = sorted(self._events(until))
        for time, after in zip(events, [*events[1:], Fraction(until)], strict=True):
            if plain.jump is not None and time and (time / plain.every).denominator == 1:
                now = now | plain.jump(now | held)
            held |= {name: value for due, name, value in waiting if due == time}
            for name, (every, delay, act) in plain.agents.items():
                if (time / every).denominator == 1:
                    waiting.append((time + delay, name, act(now, self.rng)))
            held |= {name: value for due, name, value in waiting if due == time}
            waiting = [entry for entry in waiting if entry[0] > time]
            self._note(float(time), now)
            if after > time:
                now = self._flow(now, held, float(time), float(after))

    def _events(self, until: float) -> set[Fraction]:
        """All times at which something may happen; a signal changes at some more."""
        found = {Fraction(0)}
        for every, delay in [(every, delay) for every, delay, _ in self.plain.agents.values()] + [
            (self.plain.every, Fraction(0))
        ] * bool(self.plain.every):
            found |= {k * every + d for k in range(int(until / every) + 1) for d in (Fraction(0), delay)}
        if self.plain.signals or not self.plain.agents:
            step = Fraction(1, 2) if self.plain.signals else Fraction(8)
            found |= {k * step for k in range(int(until / step) + 1)}
        return {time for time in found if time < until}

    def _note(self, time: float, now: Now) -> None:
        self.times.append(time)
        self.states.append({name: np.array(value) for name, value in now.items()})

    def _flow(self, now: Now, held: Now, start: float, end: float) -> Now:
        names = [name for name in now if name not in self.plain.kinds]
        count = len(now[names[0]])
        signals = {name: high * self.rng.choice([-1.0, 0.0, 1.0], count) for name, high in self.plain.signals.items()}
        rest = {name: value for name, value in (now | held).items() if name not in names}

        def rates(_: float, state: Floats) -> Floats:
            own = dict(zip(names, state.reshape(len(names), count), strict=True))
            found = self.plain.rates(own | rest, signals)
            bound = 4.0 * float(EDGE)  # far outside it does not matter where it goes
            stopped = np.any([abs(own[name]) > bound for name in names], axis=0)
            return np.concatenate([np.where(stopped, 0.0, found[name] + 0.0 * own[name]) for name in names])

        looks = np.linspace(start, end, max(LOOKS, int((end - start) * 32)) + 1)
        first = np.concatenate([now[name] for name in names])
        made = solve_ivp(rates, (start, end), first, method="DOP853", rtol=1e-10, atol=1e-10, t_eval=looks)
        path = made.y.reshape(len(names), count, -1)
        for k in range(1, len(made.t)):
            self._note(float(made.t[k]), now | {name: path[i, :, k] for i, name in enumerate(names)})
        return now | {name: path[i, :, -1] for i, name in enumerate(names)}


# What flows -----------------------------------------------------------------------------------------------------------


def endless_case(seed: int) -> EndlessCase:
    """The case of a seed: families by turns, with a claim near what some paths do."""
    rng = np.random.default_rng([seed, 24])
    made = FAMILIES[seed % len(FAMILIES)](seed, rng)
    paths = made.paths(made.corners(seed), made.time, seed)
    since = Fraction(int(rng.choice([0, 0, 0, 1, 4, 12])))
    atoms = tuple(_atom(made, paths, float(since), rng) for _ in range(int(rng.choice([1, 1, 2]))))
    return EndlessCase(seed, made.family, made.system, made.plain, made.starts, atoms, since=since, time=made.time)


def _atom(
    made: EndlessCase, paths: Paths, since: float, rng: np.random.Generator
) -> tuple[str, Callable[[Now], Floats], float]:
    """A quantity, and a limit that paths keep or break by more or less."""
    names = [name for name in made.starts if name not in made.plain.kinds]
    name, other = rng.choice(names), rng.choice(names)
    choices: list[tuple[str, Callable[[Now], Floats]]] = [
        (f"{name}", lambda now: now[name]),
        (f"-{name}", lambda now: -now[name]),
        (f"abs({name})", lambda now: abs(now[name])),
        (f"{name} - {other}/2", lambda now: now[name] - now[other] / 2),
        (f"{name}^2 + {other}^2", lambda now: now[name] ** 2 + now[other] ** 2),
    ]
    text, value = choices[rng.integers(len(choices))]
    seen = value({k: x[paths.times >= since] for k, x in paths.states.items()})
    worst, width = float(np.nanmax(seen)), float(np.nanmax(seen) - np.nanmin(seen))
    gap = float(rng.choice([-0.3, -0.03, 0.03, 0.15, 0.3, 0.6, 1.0])) * max(width, 0.05)
    return text, value, round(worst + gap, 4)


def _decimal(rng: np.random.Generator, low: float, high: float) -> Fraction:
    return Fraction(str(round(float(rng.uniform(low, high)), 2)))


def _starts(rng: np.random.Generator, names: str, reach: float = 1.5) -> dict[str, tuple[Fraction, Fraction]]:
    low = {name: _decimal(rng, -reach, reach) for name in names}
    return {name: (one, one + _decimal(rng, 0.02, 0.3)) for name, one in low.items()}


def _flow(
    seed: int,
    family: str,
    starts: dict[str, tuple[Fraction, Fraction]],
    symbols: Callable[[Any], dict[str, Any]],
    plain: Plain,
    time: float = TIMES,
) -> EndlessCase:
    flow = vn.Flow(
        state={name: vn.real(-EDGE, EDGE) for name in starts},
        init={name: vn.interval(*ends) for name, ends in starts.items()},
        rates=symbols,
    )
    return EndlessCase(seed, family, flow, plain, _floats(starts), time=time)


def _floats(starts: Mapping[str, tuple[Fraction, Fraction]]) -> dict[str, tuple[float, float]]:
    return {name: (float(low), float(high)) for name, (low, high) in starts.items()}


def settling(seed: int, rng: np.random.Generator) -> EndlessCase:
    """Two variables with a spiral or a node in the middle, a term that is not linear, and a signal now and then."""
    a, d = _decimal(rng, -1.5, -0.3), _decimal(rng, -1.5, -0.3)
    b, c = _decimal(rng, -1.2, 1.2), _decimal(rng, -1.2, 1.2)
    e, f = _decimal(rng, -0.4, 0.4), _decimal(rng, -0.2, 0.2)
    wind = Fraction(1, 10) if rng.random() < 0.3 else Fraction(0)

    def rates(now: Now, signals: Signals) -> Now:
        x, y = now["x"], now["y"]
        push = signals.get("w", 0.0)
        return {
            "x": float(a) * x + float(b) * y + float(e) + push,
            "y": float(c) * x + float(d) * y + float(f) * np.sin(x) * y - x**2 * y / 10,
        }

    def symbols(s: Any) -> dict[str, Any]:
        push = vn.between(-wind, wind) if wind else 0
        return {"x": a * s.x + b * s.y + e + push, "y": c * s.x + d * s.y + f * vn.sin(s.x) * s.y - s.x**2 * s.y / 10}

    plain = Plain(rates, {"w": float(wind)} if wind else {})
    return _flow(seed, "settling", _starts(rng, "xy"), symbols, plain)


def cycling(seed: int, rng: np.random.Generator) -> EndlessCase:
    """Van der Pol's oscillator, or one that goes round in a circle as Hopf's normal form does."""
    mu, w = _decimal(rng, 0.3, 1.2), _decimal(rng, 0.7, 1.5)
    hopf = rng.random() < 0.5

    def rates(now: Now, _: Signals) -> Now:
        x, y, m, o = now["x"], now["y"], float(mu), float(w)
        if hopf:
            r = x**2 + y**2
            return {"x": m * x - o * y - x * r, "y": o * x + m * y - y * r}
        return {"x": o * y, "y": m * (1 - x**2) * y - x}

    def symbols(s: Any) -> dict[str, Any]:
        if hopf:
            r = s.x**2 + s.y**2
            return {"x": mu * s.x - w * s.y - s.x * r, "y": w * s.x + mu * s.y - s.y * r}
        return {"x": w * s.y, "y": mu * (1 - s.x**2) * s.y - s.x}

    starts = _starts(rng, "xy", 0.2)
    low = starts["x"][0] + Fraction(1)
    starts["x"] = (low, low + Fraction(1, 10))
    return _flow(seed, "cycling", starts, symbols, Plain(rates))


def creeping(seed: int, rng: np.random.Generator) -> EndlessCase:
    """What grows or shrinks slowly, or does neither: the centre of a circle, a line on which all stands still."""
    slow = Fraction(str(rng.choice(["0.02", "0.05", "0", "-0.02", "-0.2"])))
    turn = _decimal(rng, 0.5, 1.5)
    alone = rng.random() < 0.5

    def rates(now: Now, _: Signals) -> Now:
        s, t = float(slow), float(turn)
        if alone:
            return {"x": s * now["x"], "y": -now["y"]}
        return {"x": s * now["x"] - t * now["y"], "y": t * now["x"] + s * now["y"]}

    def symbols(s: Any) -> dict[str, Any]:
        if alone:
            return {"x": slow * s.x, "y": -s.y}
        return {"x": slow * s.x - turn * s.y, "y": turn * s.x + slow * s.y}

    return _flow(seed, "creeping", _starts(rng, "xy", 0.5), symbols, Plain(rates), time=160.0)


def switching(seed: int, rng: np.random.Generator) -> EndlessCase:
    """A thermostat: between two levels it heats and cools, as it is seen to be every so often."""
    every = Fraction(int(rng.choice([1, 2, 4])), 10)
    low, high = _decimal(rng, -1.5, -0.3), _decimal(rng, 0.3, 1.5)
    cold, hot = low - _decimal(rng, 0.2, 1), high + _decimal(rng, 0.2, 1)
    starts = {"x": (Fraction(-1, 10), _decimal(rng, 0, 0.3))}

    def jump(now: Now) -> Now:
        on = np.where(now["x"] <= float(low), 1.0, np.where(now["x"] >= float(high), 0.0, now["on"]))
        return {"on": on}

    def rates(now: Now, _: Signals) -> Now:
        return {"x": np.where(now["on"] > 0, float(hot), float(cold)) - now["x"]}

    system = vn.System(
        state={"x": vn.real(-EDGE, EDGE), "on": vn.boolean()},
        init={"x": vn.interval(*starts["x"]), "on": True},
        rates=lambda s: {"x": vn.if_(s.on, hot, cold) - s.x},
        step=lambda s: {"on": vn.if_(s.x <= low, True, vn.if_(s.x >= high, False, s.on))},
        every=every,
    )
    plain = Plain(rates, jump=jump, every=every, kinds=("on",))
    return EndlessCase(seed, "switching", system, plain, {**_floats(starts), "on": (1.0, 1.0)}, time=20.0)


def sampled(seed: int, rng: np.random.Generator) -> EndlessCase:
    """A plant under one or two agents: late, noisy, with a jump, or with two pushes to choose from, by chance."""
    every = Fraction(int(rng.choice([1, 2])), 10)
    kinds = {kind for kind in ("jump", "late", "noisy", "second") if rng.random() < 0.35}
    argmax = rng.random() < 0.2
    delay = every * Fraction(str(rng.choice(["0.25", "0.5", "0.75"]))) if "late" in kinds else Fraction(0)
    begin = _decimal(rng, -0.5, 0.5)
    p, q, r = (round(float(x), 2) for x in rng.uniform(-2, -0.2, 3))
    k, m = _decimal(rng, -0.5, 0.5), _decimal(rng, -1, -0.1)
    noise, slow, jumps = Fraction(1, 50), 2 * every, every * int(rng.choice([1, 3]))
    starts = _starts(rng, "xy", 0.6)

    def seen(now: Now, chance: np.random.Generator) -> Floats:
        off = float(noise) * chance.choice([-1.0, 0.0, 1.0], len(now["x"])) if "noisy" in kinds else 0.0
        return np.asarray(p * (now["x"] + off) + q * now["y"])

    def act(now: Now, chance: np.random.Generator) -> Floats:
        pushed = seen(now, chance)
        return np.where(pushed >= 0, 0.0, 1.0) if argmax else pushed

    def rates(now: Now, _: Signals) -> Now:
        push = np.where(now["u"] == 0, 0.5, -0.5) if argmax else now["u"]
        second = now["v"] if "second" in kinds else 0.0
        return {"x": now["y"] + second, "y": float(k) * np.sin(now["x"]) + float(m) * now["y"] + push}

    agents: dict[str, Acting] = {"u": (every, delay, act)}
    first = {"u": 0.0 if argmax else float(begin)}
    second = vn.agent(linear_network("second", (r, 0.0)), observe=lambda s: [s.x, s.y], act="raw", every=slow)
    if "second" in kinds:
        agents["v"] = (slow, Fraction(0), lambda now, _: np.asarray(r * now["x"]))
        first["v"] = 0.0
    look = (lambda s: [s.x + vn.between(-noise, noise), s.y]) if "noisy" in kinds else (lambda s: [s.x, s.y])
    rows = ((p, q), (-p, -q)) if argmax else ((p, q),)
    own: dict[str, Any] = {"labels": ("LEFT", "RIGHT")} if argmax else {"act": "raw"}
    late: dict[str, Any] = {"delay": delay, "start": "LEFT" if argmax else begin} if delay else {}
    if argmax and delay:
        late["start"] = 0
    agent = vn.agent(linear_network("push", *rows), observe=look, every=every, **own, **late)

    def symbols(s: Any) -> dict[str, Any]:
        push = vn.match(s.u, {"LEFT": Fraction(1, 2), "RIGHT": Fraction(-1, 2)}) if argmax else s.u
        other = s.v if "second" in kinds else 0
        return {"x": s.y + other, "y": k * vn.sin(s.x) + m * s.y + push}

    system = vn.System(
        state={name: vn.real(-EDGE, EDGE) for name in starts},
        init={name: vn.interval(*ends) for name, ends in starts.items()},
        agents={"u": agent, **({"v": second} if "second" in kinds else {})},
        rates=symbols,
        step=(lambda s: {"x": s.x / 2, "y": s.y + Fraction(1, 10)}) if "jump" in kinds else None,
        every=jumps if "jump" in kinds else every,
    )
    jump = (lambda now: {"x": now["x"] / 2, "y": now["y"] + 0.1}) if "jump" in kinds else None
    plain = Plain(rates, {}, agents, first, jump, jumps if jump else Fraction(0))
    name = " ".join(["sampled", *sorted(kinds), *(["argmax"] if argmax else [])])
    return EndlessCase(seed, name, system, plain, _floats(starts), time=20.0)


FAMILIES: tuple[Callable[[int, np.random.Generator], EndlessCase], ...] = (
    settling,
    sampled,
    cycling,
    sampled,
    creeping,
    settling,
    switching,
    sampled,
)


def forged(found: RecurrentSet, rng: np.random.Generator) -> Iterator[RecurrentSet]:
    """Other sets: some are as good, most are not; what is accepted is true of simulated paths all the same."""
    middle = found.boxes.mean(axis=1, keepdims=True)
    for share in (0.97, 0.8, 0.4):
        yield replace(found, boxes=middle + (found.boxes - middle) * share)
    width = found.boxes[:, 1:] - found.boxes[:, :1]
    yield replace(found, boxes=found.boxes + width * rng.choice([-0.1, 0.1]))
    yield replace(found, period=found.period / 2)
    yield replace(found, arrival=found.arrival / 2)
    if len(found.boxes) > 1:
        yield replace(found, boxes=found.boxes[rng.permutation(len(found.boxes))[1:]])
