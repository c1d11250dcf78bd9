"""Ground truth in continuous time: small flows whose solutions are known, claims, and the verdicts that are right.

Every engine of flows runs the whole table. None may be wrong, some may be unknown; `decided_by` names the engines that
have to decide a case. `margin` is by how much a claim that holds does so, worked out from the solution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tests.cases import read
from vernal.engines.check import parse_formula
from vernal.engines.registry import engines_for
from vernal.evidence.result import HOLDS, VIOLATED, Verdict
from vernal.logic.question import Question
from vernal.logic.task import Task

DECAY = """
[state]
x = "real [-2, 2]"
[init]
x = "[0.5, 1]"
[flow]
x = "-x"
"""
GROWTH = """
[state]
x = "real [-3, 3]"
[init]
x = "[0.1, 0.2]"
[flow]
x = "x"
"""
OSCILLATOR = """
[state]
x = "real [-2, 2]"
y = "real [-2, 2]"
[init]
x = 1
y = 0
[flow]
x = "y"
y = "-x"
"""
CUBIC = """
[state]
x = "real [0, 2]"
[init]
x = "[1, 1.2]"
[flow]
x = "-x^3"
"""
LOGISTIC = """
[state]
x = "real [0, 2]"
[init]
x = "[0.1, 0.2]"
[flow]
x = "x*(1 - x)"
"""
ANGLE = """
[state]
x = "real [-4, 4]"
[init]
x = 0
[flow]
x = "cos(x)"
"""
PENDULUM = """
[state]
angle = "real [-3, 3]"
speed = "real [-3, 3]"
[init]
angle = 1
speed = 0
[flow]
angle = "speed"
speed = "-sin(angle) - 0.1*speed"
"""
PUSHED = """
[state]
x = "real [-2, 2]"
[init]
x = 0
[flow]
x = "-x + between(-0.5, 0.5)"
"""
ROOT = """
[state]
x = "real [0, 4]"
[init]
x = 0.25
[flow]
x = "sqrt(x)"
"""
BRANCHING = """
[state]
x = "real [0, 4]"
[init]
x = 0
[flow]
x = "sqrt(x)"
"""
EXPLOSION = """
[state]
x = "real [0, 10]"
[init]
x = 1
[flow]
x = "x^2"
"""
NOWHERE = """
[state]
x = "real [-2, 2]"
[init]
x = "[0, 1]"
where = ["x > 1"]
[flow]
x = "-x"
"""


@dataclass(frozen=True)
class FlowClaim:
    """A question about a flow with its answer; `inside` is until when all trajectories are in the region."""

    model: str
    formula: str
    expected: Verdict
    why: str
    decided_by: tuple[str, ...] = ()
    margin: float | None = None
    inside: float | None = None
    vacuous: bool = False

    def __str__(self) -> str:
        return f"{self.why.split(':')[0]}: {self.formula}"

    @property
    def task(self) -> Task:
        return read(self.model)

    @property
    def engines(self) -> list[str]:
        """Those that take such claims."""
        return [entry.name for entry in engines_for(Question(self.task.model, parse_formula(self.task, self.formula)))]


PIPE = ("auto", "flowpipe")
TRAJECTORY = ("auto", "falsify")

FLOW_CLAIMS = [
    FlowClaim(DECAY, "G[0,2] (x <= 1.5)", HOLDS, "linear: x is at most 1, at first", PIPE, margin=0.5),
    FlowClaim(DECAY, "G[0,2] (x >= 0.5)", VIOLATED, "linear: from 0.5 it is 0.068 in the end", TRAJECTORY),
    FlowClaim(
        DECAY, "F[0,2] (x <= 0.4)", HOLDS, "linear, eventually: from 1 it is 0.135", PIPE, margin=0.4 - math.exp(-2)
    ),
    FlowClaim(DECAY, "(x >= 0.4) U[0,1] (x <= 0.4)", HOLDS, "until: from 1 it is 0.4 at 0.916", PIPE),
    FlowClaim(DECAY, "(x >= 0.4) U[0,0.9] (x <= 0.4)", VIOLATED, "until: from 1 it is 0.4 at 0.916 only", TRAJECTORY),
    FlowClaim(OSCILLATOR, "G[0,3] (x >= 0.5 -> F[0,3] x <= -0.8)", HOLDS, "nested: half a turn takes pi at most", PIPE),
    FlowClaim(OSCILLATOR, "G[0,3] (x >= 0.5 -> F[0,1] x <= -0.8)", VIOLATED, "nested: from 1 it takes 2.5", TRAJECTORY),
    FlowClaim(OSCILLATOR, "F[0,4] G[0,1] x <= 0", HOLDS, "nested: it is below zero for pi", PIPE),
    FlowClaim(GROWTH, "G[0,2] (x <= 2)", HOLDS, "linear, growing: 0.2 e^2", PIPE, margin=2 - 0.2 * math.exp(2)),
    FlowClaim(OSCILLATOR, "G[0,6] (x <= 1.1)", HOLDS, "rotation: the cosine is at most 1", PIPE, margin=0.1),
    FlowClaim(OSCILLATOR, "G[0,4] (x >= -0.9)", VIOLATED, "rotation: the cosine of pi is -1", TRAJECTORY),
    FlowClaim(CUBIC, "G[0,1] (x >= 0.5)", HOLDS, "polynomial: from 1 it is 1/sqrt(1 + 2t)", PIPE, margin=3**-0.5 - 0.5),
    FlowClaim(CUBIC, "G[0,1] (x >= 0.6)", VIOLATED, "polynomial: from 1 it is 0.577 in the end", TRAJECTORY),
    FlowClaim(
        LOGISTIC,
        "F[0,5] (x >= 0.9)",
        HOLDS,
        "polynomial, eventually: from 0.1 it is 0.943",
        PIPE,
        margin=math.exp(5) / (9 + math.exp(5)) - 0.9,
    ),
    FlowClaim(
        ANGLE,
        "G[0,3] (x <= 1.6)",
        HOLDS,
        "trigonometric: it is atan(sinh t)",
        PIPE,
        margin=1.6 - math.atan(math.sinh(3)),
    ),
    FlowClaim(PENDULUM, "G[0,2] (angle >= 0)", VIOLATED, "trigonometric: it swings through in 1.7 s", TRAJECTORY),
    FlowClaim(
        PUSHED,
        "G[0,3] (abs(x) <= 0.5)",
        HOLDS,
        "disturbed: at most 0.5 (1 - e^-t)",
        PIPE,
        margin=0.5 * math.exp(-3),
    ),
    FlowClaim(PUSHED, "G[0,3] (x <= 0.4)", VIOLATED, "disturbed: pushed all the time it is 0.475", TRAJECTORY),
    FlowClaim(ROOT, "G[0,1] (x <= 1.1)", HOLDS, "a root: it is (1 + t)^2 / 4", PIPE, margin=0.1),
    FlowClaim(BRANCHING, "G[0,2] (x <= 1.1)", HOLDS, "not Lipschitz: no solution is above t^2 / 4", margin=0.1),
    FlowClaim(BRANCHING, "G[0,2] (x <= 0.5)", VIOLATED, "not Lipschitz: one solution of many is t^2 / 4"),
    FlowClaim(
        EXPLOSION, "G[0,2] (x >= 0.5)", HOLDS, "blow-up: 1/(1 - t) leaves the region at 0.9", ("auto",), inside=0.9
    ),
    FlowClaim(EXPLOSION, "G[0,2] (x <= 5)", VIOLATED, "blow-up: it is 5 at 0.8", TRAJECTORY),
    FlowClaim(
        DECAY,
        "G[0,1] (x <= 1.5) & F[1,2] (x <= 0.4)",
        HOLDS,
        "several spans: the same, each in its time",
        PIPE,
        margin=0.4 - math.exp(-2),
    ),
    FlowClaim(NOWHERE, "G[0,1] (x <= -1)", HOLDS, "vacuous: there is no start", ("auto",), vacuous=True),
    FlowClaim(DECAY, "G[0,1] (x <= 5)", HOLDS, "vacuous: no state of the region breaks it", PIPE, vacuous=True),
    FlowClaim(OSCILLATOR, "G[0,300] (x^2 + y^2 <= 1.21)", HOLDS, "long: it turns 48 times", margin=0.21),
    FlowClaim(DECAY, "G (x <= 1.1)", HOLDS, "for ever: it falls from 1", PIPE),
    FlowClaim(DECAY, "G[2,] (x <= 0.2)", HOLDS, "for ever, from some time on: it is 0.135 then", PIPE),
    FlowClaim(DECAY, "G (x >= 0.01)", VIOLATED, "for ever: from 0.5 it is less after 3.9", TRAJECTORY),
    FlowClaim(DECAY, "G (x >= -0.000001)", HOLDS, "for ever: it never gets to 0"),
    FlowClaim(PUSHED, "G (abs(x) <= 0.6)", HOLDS, "for ever, disturbed: less than 0.5", PIPE),
    FlowClaim(PUSHED, "G (x <= 0.45)", VIOLATED, "for ever, disturbed: pushed for 2.4 it is 0.455", TRAJECTORY),
    FlowClaim(OSCILLATOR, "G (x^2 + y^2 <= 1.21)", HOLDS, "for ever, turning: it stays at 1, and nothing is met again"),
    FlowClaim(OSCILLATOR, "G (x >= -0.9)", VIOLATED, "for ever, turning: the cosine of pi is -1", TRAJECTORY),
    FlowClaim(GROWTH, "G (x <= 2.9)", VIOLATED, "for ever, growing: 0.2 e^2.7 is more, and in the region", TRAJECTORY),
    FlowClaim(NOWHERE, "G (x <= -1)", HOLDS, "for ever, vacuous: there is no start", ("auto",), vacuous=True),
]

_DECAY = read(DECAY)
FLOW_ENGINES = [entry.name for entry in engines_for(Question(_DECAY.model, parse_formula(_DECAY, "G[0,1] (x <= 1)")))]
