"""Ground truth of loops that sample, clause by clause of what they mean: solutions can be worked out by hand.

Each row is a loop in which one clause matters, a formula in seconds or over samples, its truth, and why. Where another
reading of the clause would give the other verdict, the row says so. Every engine that takes loops is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import vernal as vn
from tests.sampled_loops import linear_network
from vernal.evidence.result import HOLDS, VIOLATED, Verdict
from vernal.formats.recurrent import rnn

SECONDS, SAMPLES = "seconds", "samples"
Make = Callable[[], vn.System]


@dataclass(frozen=True)
class Clause:
    """A loop, a formula, its truth, and why; `decided` by auto, but where there is no room, or sets forget too much."""

    make: Make
    formula: str
    verdict: Verdict
    why: str
    time: str = SECONDS
    decided: bool = True

    def __str__(self) -> str:
        return f"{self.make.__name__}: {self.formula} ({self.time})"


def _idle(**more: Any) -> Any:
    """An agent whose action is 0."""
    return vn.agent(linear_network("idle", (0.0,)), observe=lambda s: [s.x], act="raw", **more)


@cache
def swapped() -> vn.System:
    """x stands at 1 and y at 2; every second they change places, and n counts."""
    return vn.System(
        state={"x": vn.real(-9, 9), "y": vn.real(-9, 9), "n": vn.integer(0, 9)},
        init={"x": 1, "y": 2, "n": 0},
        rates=lambda s: {"x": 0, "y": 0},
        step=lambda s: {"x": s.y, "y": s.x, "n": s.n + 1},
        every=1,
    )


@cache
def sawtooth() -> vn.System:
    """x rises by 1 a second, and falls to 0 at every second."""
    return vn.System(
        state={"x": vn.real(-9, 9)}, init={"x": 0}, rates=lambda s: {"x": 1}, step=lambda s: {"x": 0}, every=1
    )


@cache
def reader() -> vn.System:
    """u reads x after it fell from 1 to 0, and is then 3 x + 1 = 1; y keeps the action that was held until the jump."""
    act = vn.agent(linear_network("three", (3.0,)), observe=lambda s: [s.x], act=lambda out: [out[0] + 1], every=1)
    return vn.System(
        state={"x": vn.real(-9, 9), "y": vn.real(-9, 9)},
        init={"x": "0.5", "y": 0},
        agents={"u": act},
        rates=lambda s: {"x": "0.5", "y": 0},
        step=lambda s: {"x": 0, "y": s.u},
        every=1,
    )


@cache
def later() -> vn.System:
    """u = x, read every second, is in force a quarter of a second later; before the first it is 4. x stands at 1."""
    act = vn.agent(linear_network("same", (1.0,)), observe=lambda s: [s.x], act="raw", every=1, delay="0.25", start=4)
    return vn.System(
        state={"x": vn.real(-9, 9), "y": vn.real(-9, 9)},
        init={"x": 1, "y": 0},
        agents={"u": act},
        rates=lambda s: {"x": 0, "y": s.u},
        step=lambda s: {"x": s.x + 1},
        every=1,
    )


@cache
def periods() -> vn.System:
    """a reads y' = 1 every 0.2 s, b every 0.3 s: the grid is 0.1 s, and both read together every 0.6 s."""
    a = vn.agent(linear_network("a", (1.0,)), observe=lambda s: [s.y], act="raw", every="0.2")
    b = vn.agent(linear_network("b", (1.0,)), observe=lambda s: [s.y], act="raw", every="0.3")
    return vn.System(
        state={"y": vn.real(-9, 9)},
        init={"y": 0},
        agents={"a": a, "b": b},
        rates=lambda s: {"y": 1 + 0 * s.a + 0 * s.b},
    )


@cache
def noisy() -> vn.System:
    """u is noise that is drawn once a second and held; y is x at half a second: then x = 2 t y up to 1."""
    act = vn.agent(linear_network("same", (1.0,)), observe=lambda s: [vn.between(-1, 1)], act="raw", every=1)
    return vn.System(
        state={"x": vn.real(-9, 9), "y": vn.real(-9, 9)},
        init={"x": 0, "y": 0},
        agents={"u": act},
        rates=lambda s: {"x": s.u, "y": 0},
        step=lambda s: {"y": s.x},
        every="0.5",
    )


@cache
def windy() -> vn.System:
    """As `noisy`, but what pushes is a signal that varies at will."""
    return vn.System(
        state={"x": vn.real(-9, 9), "y": vn.real(-9, 9)},
        init={"x": 0, "y": 0},
        rates=lambda s: {"x": vn.between(-1, 1), "y": 0},
        step=lambda s: {"y": s.x},
        every="0.5",
    )


def _let(shared: bool) -> vn.System:
    def jump(s: Any) -> dict[str, Any]:
        first = vn.between(0, 1)
        return {"x": first, "y": first if shared else vn.between(0, 1)}

    return vn.System(
        state={"x": vn.real(-9, 9), "y": vn.real(-9, 9)},
        init={"x": 0, "y": 0},
        rates=lambda s: {"x": 0, "y": 0},
        step=jump,
        every=1,
    )


@cache
def one_draw() -> vn.System:
    """Both jump to the same draw, each second."""
    return _let(shared=True)


@cache
def two_draws() -> vn.System:
    """They jump to a draw each."""
    return _let(shared=False)


@cache
def chosen() -> vn.System:
    """n rises by 1 or 2 a second; x rises by 1 a second all the time."""
    return vn.System(
        state={"x": vn.real(-9, 9), "n": vn.integer(0, 9)},
        init={"x": 0, "n": 0},
        rates=lambda s: {"x": 1},
        step=lambda s: {"n": s.n + vn.choose(1, 2)},
        every=1,
    )


@cache
def ending() -> vn.System:
    """x rises by 1 a second, n counts seconds; the path ends at the instant at which n is 2."""
    return vn.System(
        state={"x": vn.real(-9, 9), "n": vn.integer(0, 9)},
        init={"x": 0, "n": 0},
        rates=lambda s: {"x": 1},
        step=lambda s: {"n": s.n + 1},
        enabled=lambda s: s.n < 2,
        every=1,
    )


@cache
def leaving() -> vn.System:
    """x rises by 1 a second and leaves its range at 2.5 seconds."""
    return vn.System(
        state={"x": vn.real(-9, "2.5"), "n": vn.integer(0, 9)},
        init={"x": 0, "n": 0},
        rates=lambda s: {"x": 1},
        step=lambda s: {"n": s.n + 1},
        every=1,
    )


@cache
def full() -> vn.System:
    """n leaves its range at the second jump."""
    return vn.System(
        state={"x": vn.real(-9, 9), "n": vn.integer(0, 1)},
        init={"x": 0, "n": 0},
        rates=lambda s: {"x": 1},
        step=lambda s: {"n": s.n + 1},
        every=1,
    )


@cache
def gears() -> vn.System:
    """x rises for a second in gear UP, then falls in gear DOWN; `hot`: whether it was above 0.5 at the last second."""
    return vn.System(
        state={"x": vn.real(-9, 9), "gear": vn.enum("UP", "DOWN"), "hot": vn.boolean()},
        init={"x": 0, "gear": "UP", "hot": False},
        rates=lambda s: {"x": vn.match(s.gear, {"UP": 1, "DOWN": -1})},
        step=lambda s: {"hot": s.x >= Fraction(1, 2), "gear": "DOWN"},
        every=1,
    )


@cache
def tied() -> vn.System:
    """The two scores of the agent are x and -x, and x is 0: either action may be taken, and is held."""
    act = vn.agent(linear_network("push", (1.0,), (-1.0,)), observe=lambda s: [s.x], labels=("RIGHT", "LEFT"), every=1)
    return vn.System(
        state={"x": vn.real(-9, 9)},
        init={"x": 0},
        agents={"push": act},
        rates=lambda s: {"x": vn.match(s.push, {"RIGHT": 1, "LEFT": -1})},
    )


@cache
def timed() -> vn.System:
    """x' = t, so x = t^2 / 2."""
    return vn.System(
        state={"x": vn.real(-9, 9)}, init={"x": 0}, agents={"u": _idle(every=1)}, rates=lambda s: {"x": s.t + s.u}
    )


@cache
def remembering() -> vn.System:
    """u is the sum of what was read so far; x stands at 1, so u is 1, 2, 3, ... and y their sum."""
    net = rnn([([[1.0]], [[1.0]], [0.0])], [([[1.0]], [0.0])], activation="relu")
    act = vn.agent(net, observe=lambda s: [s.x], act="raw", every=1)
    return vn.System(
        state={"x": vn.real(-9, 9), "y": vn.real(-9, 99)},
        init={"x": 1, "y": 0},
        agents={"u": act},
        rates=lambda s: {"x": 0, "y": s.u},
    )


CLAUSES = [
    # All variables jump at once, from what the flow left.
    Clause(swapped, "G[1.1,1.9] (x == 2 & y == 1)", HOLDS, "one after the other they would be equal", decided=False),
    Clause(swapped, "G[0.1,1.9] (n == 0)", VIOLATED, "the first jump is at 1"),
    Clause(swapped, "G[0,0.9] (n == 0)", HOLDS, "there is no jump at 0"),
    Clause(
        swapped, "X (x == 2 & y == 1 & n == 1)", HOLDS, "a sample is what holds after the jump", SAMPLES, decided=False
    ),
    Clause(swapped, "n == 0", HOLDS, "at sample 0 nothing has jumped", SAMPLES),
    Clause(swapped, "G[0,4] (x + y == 3)", HOLDS, "always", SAMPLES, decided=False),
    # Both values count at a jump, the left one first, and a closed window contains both.
    Clause(sawtooth, "G[0,5] (x <= 1)", HOLDS, "it is 1 at most, on the left of each jump", decided=False),
    Clause(sawtooth, "G[0,5] (x <= 1.001)", HOLDS, "it is 1 at most"),
    Clause(sawtooth, "G[0,5] (x <= 0.999)", VIOLATED, "it is 1 on the left of each jump"),
    Clause(sawtooth, "G[0,5] (x <= 0)", HOLDS, "over samples it is always 0", SAMPLES),
    Clause(sawtooth, "F[0.5,1] (x <= 0.1)", HOLDS, "the right value at 1 is in the window", decided=False),
    Clause(sawtooth, "G[1,1.5] (x <= 0.6)", VIOLATED, "so is the left one"),
    Clause(sawtooth, "G[1.1,1.5] (x <= 0.6)", HOLDS, "and at 1.1 neither is"),
    Clause(sawtooth, "(x >= 0) U[0,1] (x >= 0.999)", HOLDS, "left of the jump at 1", decided=False),
    Clause(sawtooth, "(x <= 0.5) U[0,2] (x >= 0.999)", VIOLATED, "on the way it is above 0.5"),
    Clause(sawtooth, "F[0,5] (x >= 1.001)", VIOLATED, "it never is"),
    Clause(sawtooth, "G[0,3] F[0,1] (x <= 0.001)", HOLDS, "each window of a second has a jump", decided=False),
    Clause(sawtooth, "G[0,3] F[0,0.5] (x <= 0.001)", VIOLATED, "from 0.25 on it does not fall within half a second"),
    # Agents read after the jump; a jump reads the actions that were held until then.
    Clause(reader, "G[0,0.9] (u == 2.5)", HOLDS, "it reads 0.5 at first", decided=False),
    Clause(reader, "G[1.1,1.9] (u <= 1.001 & u >= 0.999)", HOLDS, "at 1 it reads 0, and not 1"),
    Clause(reader, "G[1.1,1.9] (y >= 2.499 & y <= 2.501)", HOLDS, "y is the action held until 1, and not the new one"),
    Clause(reader, "G[1.1,1.9] (y <= 2)", VIOLATED, "y is the action held until 1, and not the new one"),
    Clause(reader, "X (u <= 1.001 & u >= 0.999 & y >= 2.499)", HOLDS, "at sample 1 it has acted", SAMPLES),
    # Delays: until the first action is in force the start is; a sample sees what is in force then.
    Clause(later, "G[0,0.24] (u == 4)", HOLDS, "the start"),
    Clause(later, "G[0.26,1.2] (u <= 1.001)", HOLDS, "what was read at 0, also after the jump at 1"),
    Clause(later, "G[0.26,1.2] (u <= 0.9)", VIOLATED, "it is 1"),
    Clause(later, "G[1.3,1.9] (u >= 1.999)", HOLDS, "what was read at 1, after the jump to 2"),
    Clause(later, "G[1,1] (y >= 1.749 & y <= 1.751)", HOLDS, "a quarter of 4, three quarters of 1", decided=False),
    Clause(later, "u == 4 & X (u <= 1.001)", HOLDS, "at a sample the earlier action is in force", SAMPLES),
    Clause(later, "X (u >= 1.999)", VIOLATED, "at a sample the earlier action is in force", SAMPLES),
    # Several periods.
    Clause(periods, "G[0.45,0.55] (a >= 0.399 & a <= 0.401 & b >= 0.299 & b <= 0.301)", HOLDS, "read at 0.4 and 0.3"),
    Clause(periods, "X[6] (a >= 0.599 & b >= 0.599)", HOLDS, "sample 6 is at 0.6 seconds", SAMPLES),
    Clause(
        periods, "X[5] (b >= 0.299 & b <= 0.301 & a >= 0.399 & a <= 0.401)", HOLDS, "samples are of the grid", SAMPLES
    ),
    Clause(periods, "X[5] (a >= 0.45)", VIOLATED, "at 0.5 a has been held since 0.4", SAMPLES),
    # Noise is drawn once and held, a signal in a rate varies at will.
    Clause(noisy, "G[0,1] (abs(x) <= 1.001)", HOLDS, "|u| <= 1"),
    Clause(noisy, "G[0,1] (abs(x) <= 0.9)", VIOLATED, "u may be 1"),
    Clause(noisy, "G[0.9,0.9] (abs(x - 1.8*y) <= 0.1)", HOLDS, "what is held goes on as it began"),
    Clause(windy, "G[0.9,0.9] (abs(x - 1.8*y) <= 0.1)", VIOLATED, "a signal turns round"),
    Clause(windy, "G[0,1] (abs(x) <= 1.001)", HOLDS, "at most a second of 1"),
    Clause(one_draw, "G[0,3.5] (abs(x - y) <= 0.001)", HOLDS, "a draw with a name is one draw", decided=False),
    Clause(two_draws, "G[0,3.5] (abs(x - y) <= 0.5)", VIOLATED, "two draws are two"),
    Clause(one_draw, "G[0,3] (x <= 1 & x >= 0)", HOLDS, "it is between 0 and 1", SAMPLES),
    Clause(chosen, "G[1.5,1.9] (n >= 1 & n <= 2)", HOLDS, "one or two"),
    Clause(chosen, "G[1.5,1.9] (n == 1)", VIOLATED, "it may be two"),
    Clause(chosen, "X X (n >= 2 & n <= 4)", HOLDS, "two draws", SAMPLES),
    Clause(chosen, "AG[0,2] (n <= 3)", VIOLATED, "twice two", SAMPLES),
    Clause(chosen, "AX (AF[0,1] n >= 2)", HOLDS, "one and one, at the latest", SAMPLES),
    Clause(chosen, "EF[0,2] n == 4", HOLDS, "twice two", SAMPLES, decided=False),
    # Ends of paths: `enabled` at an instant, and ranges at any time.
    Clause(ending, "G[0,5] (x <= 2.001)", HOLDS, "the path ends at 2 seconds"),
    Clause(ending, "G[0,5] (x <= 1.9)", VIOLATED, "up to there it goes"),
    Clause(ending, "F[0,5] (x >= 2.5)", VIOLATED, "it never gets there"),
    Clause(ending, "G[0,9] (n <= 2)", HOLDS, "there is no third jump", SAMPLES),
    Clause(ending, "X X X true", VIOLATED, "there is no sample 3", SAMPLES),
    Clause(ending, "AX AX AX false", HOLDS, "of a state without a next one AX is true", SAMPLES),
    Clause(leaving, "G[0,5] (x <= 2.5)", HOLDS, "the path ends where it leaves its range"),
    Clause(leaving, "F[2.6,5] (x >= 0)", VIOLATED, "there is no such time"),
    Clause(leaving, "G[0,9] (n <= 2)", HOLDS, "it ends before the third jump", SAMPLES),
    Clause(leaving, "G[0,9] (n <= 1)", VIOLATED, "the second jump is at 2", SAMPLES),
    Clause(full, "G[0,5] (x <= 2.001)", HOLDS, "at 2 n leaves its range, and the path ends"),
    Clause(full, "G[0,5] (x <= 1.9)", VIOLATED, "up to there it goes"),
    Clause(full, "F[0,5] (n >= 2)", VIOLATED, "2 is out of range"),
    # Bool and enum beside rates.
    Clause(gears, "G[0,1.9] (x >= -0.001 & x <= 1.001)", HOLDS, "up for a second, then down"),
    Clause(gears, "G[0,5] (gear == DOWN -> x <= 1)", HOLDS, "from then on", decided=False),
    Clause(gears, "G[1.1,1.9] (gear == DOWN & hot)", HOLDS, "at 1 x is 1"),
    Clause(gears, "G[1.1,1.9] (gear == UP)", VIOLATED, "at 1 x is 1"),
    Clause(gears, "X hot & X X !hot", HOLDS, "x is 1 and 0", SAMPLES),
    # Ties of an argmax are resolved against the claim, and the action is held.
    Clause(tied, "G[0,0.9] (x >= -0.5)", VIOLATED, "LEFT may be taken", decided=False),
    Clause(tied, "G[0,0.9] (x <= 0.5)", VIOLATED, "so may RIGHT"),
    Clause(tied, "G[0.9,0.9] (abs(x) >= 0.89)", HOLDS, "whichever it is, it is held"),
    Clause(tied, "X[2] (abs(x) >= 1.999)", HOLDS, "then it goes on as it began", SAMPLES),
    # The clock; memories.
    Clause(timed, "G[0,2] (x <= 2.001)", HOLDS, "t^2 / 2"),
    Clause(timed, "G[0,2] (t >= 1.5 -> x >= 1.12)", HOLDS, "1.125 at 1.5", decided=False),
    Clause(timed, "G[0,2] (t >= 1.5 -> x >= 1.13)", VIOLATED, "1.125 at 1.5", decided=False),
    Clause(timed, "X[2] (x >= 1.999 & x <= 2.001)", HOLDS, "sample 2 is at 2 seconds", SAMPLES),
    Clause(remembering, "G[1.1,1.9] (u >= 1.999 & u <= 2.001)", HOLDS, "the second reading"),
    Clause(remembering, "G[3,3] (y >= 5.999 & y <= 6.001)", HOLDS, "1 + 2 + 3", decided=False),
    Clause(remembering, "X[2] (u >= 2.999)", HOLDS, "the third reading", SAMPLES),
    Clause(remembering, "G[0,3] (u <= 2.5)", VIOLATED, "the third reading", SAMPLES),
]

LOGIC = [  # over samples, of all paths and of some, for all time: on graphs of sets that are met again, or that all end
    Clause(sawtooth, "G F (x <= 0)", HOLDS, "it is 0 at each sample", SAMPLES),
    Clause(sawtooth, "F G (x >= 0.5)", VIOLATED, "between samples it is, and at none", SAMPLES),
    Clause(sawtooth, "F (x >= 0.5)", VIOLATED, "between samples it is, and at none", SAMPLES),
    Clause(sawtooth, "EF (x >= 0.5)", VIOLATED, "between samples it is, and at none", SAMPLES),
    Clause(sawtooth, "AG EF (x <= 0.5)", HOLDS, "at each sample", SAMPLES),
    Clause(sawtooth, "AG EF (x >= 0.5)", VIOLATED, "at no sample", SAMPLES),
    Clause(sawtooth, "EG (x <= 0)", HOLDS, "the only path", SAMPLES),
    Clause(sawtooth, "A[x <= 0.1 U x >= 1]", VIOLATED, "what has to come does not", SAMPLES),
    Clause(sawtooth, "(x <= 0.1) W (x >= 1)", HOLDS, "nor does it have to", SAMPLES),
    Clause(sawtooth, "AG (AX (x <= 0) | AX (x >= 1))", HOLDS, "the first, of every state", SAMPLES),
    Clause(swapped, "AG EF (x >= 1.5)", HOLDS, "they change places until n leaves its range", SAMPLES),
    Clause(swapped, "EF (x >= 2.5)", VIOLATED, "x is 1 or 2", SAMPLES),
    Clause(swapped, "G F (x <= 1.1)", VIOLATED, "at the last sample n is 9 and x is 2", SAMPLES),
    Clause(swapped, "G F (x >= 1.9)", HOLDS, "at the last sample n is 9 and x is 2", SAMPLES),
    Clause(chosen, "EF[0,2] n == 5", VIOLATED, "twice two at most", SAMPLES),
    Clause(chosen, "EG[0,2] n <= 2", HOLDS, "one and one", SAMPLES),
    Clause(chosen, "EG[0,2] n <= 1", VIOLATED, "two at least", SAMPLES),
    Clause(chosen, "E[n <= 3 U n == 4]", HOLDS, "two and two", SAMPLES),
    Clause(chosen, "AG EX n >= 1", VIOLATED, "n leaves its range at last, and then there is no next sample", SAMPLES),
    Clause(chosen, "AX EX n == 3", HOLDS, "one and two, two and one", SAMPLES, decided=False),
    Clause(chosen, "AF n >= 8", HOLDS, "before it leaves its range", SAMPLES),
    Clause(ending, "AG EF n >= 3", VIOLATED, "the path ends before", SAMPLES),
    Clause(ending, "AF n == 2", HOLDS, "there it ends", SAMPLES),
    Clause(ending, "F G (n == 2)", HOLDS, "there it ends", SAMPLES),
    Clause(ending, "EG n <= 1", VIOLATED, "the only path comes to 2", SAMPLES),
    Clause(gears, "G F (gear == UP)", VIOLATED, "it is DOWN from 1 on", SAMPLES),
    Clause(gears, "F G (gear == DOWN)", HOLDS, "it is DOWN from 1 on", SAMPLES),
    Clause(gears, "AG EF hot", VIOLATED, "only once", SAMPLES),
    Clause(tied, "EX (x >= 0.9)", HOLDS, "RIGHT may be taken", SAMPLES),
    Clause(tied, "EX (x <= -0.9)", HOLDS, "so may LEFT", SAMPLES, decided=False),
    Clause(tied, "EX (abs(x) <= 0.9)", VIOLATED, "one of them has to be", SAMPLES),
    Clause(noisy, "EX (u >= 0.5)", HOLDS, "noise is drawn anew after two half seconds", SAMPLES, decided=False),
    Clause(
        noisy,
        "EF[0,0] (u >= 0.5)",
        VIOLATED,
        "positions are states with actions, and some have another",
        SAMPLES,
        decided=False,
    ),
]

CLAUSES += LOGIC
