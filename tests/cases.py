"""Ground truth: small systems, formulas, and the verdicts that are right, with the reason why.

Every engine and every solver runs the whole table. None may be wrong, some may be unknown; `decided_by` names the
engines that have to decide a case.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.recurrent import recurrent_networks
from vernal.evidence.result import HOLDS, VIOLATED, Assurance, Verdict
from vernal.formats.onnx.writer import write_onnx
from vernal.formats.task.blueprint import load
from vernal.logic.task import Task

HEAD = 'vernal = 1\nname = "case"\n'

TENTH = """
[state]
x = "real"
[init]
x = 0
[environment.next]
x = "x + 0.1"
"""

STILL = """
[state]
x = "real"
[init]
x = "[0, 1]"
"""

TWO_COINS = """
[state]
x = "int"
[init]
x = 0
[environment.next]
x = "choose(0, 1) + choose(0, 1)"
"""

ONE_COIN = """
[state]
x = "int"
y = "int"
[init]
x = 0
y = 0
[environment.let]
d = "choose(0, 1)"
[environment.next]
x = "d - d"
y = "d"
"""

RELAY = """
[state]
x = "real"
v = "real"
[init]
x = "[-0.5, 0.5]"
v = "[-0.2, 0.2]"
[environment.next]
x = "x + 0.1*v"
v = "v + 0.1*if(x + 1.5*v >= 0, -1, 1)"
"""

COUNTER = """
[state]
n = "int [0, 3]"
[init]
n = 0
[environment]
enabled = "n < 3"
[environment.next]
n = "n + 1"
"""

CLOCK = """
[state]
n = "int [0, 3]"
[init]
n = "{0, 1, 2, 3}"
[environment.next]
n = "if(n == 3, 0, n + 1)"
"""

LEAKY = """
[state]
x = "real [-2, 2]"
[init]
x = "[-1, 1]"
[environment.next]
x = "0.5*x + between(-0.25, 0.25)"
"""

HALF_OPEN = """
[state]
x = "real"
y = "int"
[init]
x = "[0, 1]"
y = 0
where = ["x < 1"]
[environment.next]
y = "floor(x)"
"""

LIGHT = """
[state]
light = "enum {RED, GREEN}"
cars = "int"
[init]
light = "RED"
cars = "{0, 1}"
[environment.let]
leave = "match(light, RED: 0, GREEN: choose(1, 2))"
[environment.next]
light = "if(light == RED, GREEN, RED)"
cars = "max(cars + choose(0, 1) - leave, 0)"
"""

SINE = """
[state]
x = "real"
[init]
x = "[0, 1]"
[environment.next]
x = "sin(x)"
"""

PRODUCT = """
[state]
x = "real"
y = "real"
[init]
x = "[-1, 1]"
y = "[0, 2]"
[environment.next]
x = "x * y / 4"
y = "sqrt(y)"
"""

MIXTURE = """
[state]
x = "real"
h = "real"
[init]
x = "[-1, 1]"
h = 0
[environment.let]
z = "sigmoid(2*x - h)"
[environment.next]
h = "(1 - z)*h + z*tanh(x)"
x = "0.9*x"
"""

ATAN = """
[state]
x = "real"
[init]
x = "[-1, 1]"
[environment.next]
x = "atan(2*x)"
"""

ERF = """
[state]
x = "real"
[init]
x = "[-1, 1]"
[environment.next]
x = "erf(2*x)"
"""

AHEAD = """
[state]
x = "real"
y = "real"
h = "real"
[init]
x = "[1, 2]"
y = "[-1, 1]"
h = 0
[environment.next]
h = "atan2(y, x)"
y = "y / 2"
"""

BEHIND = AHEAD.replace("[1, 2]", "[-2, -1]")
ABOVE = BEHIND.replace("[-1, 1]", "[0, 1]")

LOGISTIC = """
[state]
x = "real"
[init]
x = "[0.2, 0.3]"
[environment.next]
x = "3.2*x*(1 - x)"
"""

SPIRAL = """
[state]
x = "real"
y = "real"
[init]
x = "[0.9, 1]"
y = "[0, 0.1]"
[environment.next]
x = "cos(0.5)*x - sin(0.5)*y"
y = "sin(0.5)*x + cos(0.5)*y"
"""

ROOTS = """
[state]
x = "real"
[init]
x = "[1, 4]"
[environment.next]
x = "(x + 2/x)/2"
"""

JUMP = """
[state]
x = "real"
[init]
x = "[-1, 1]"
[environment.next]
x = "if(x > 0, x - 1, x + 1)"
"""

TURNED = """
[state]
x = "real"
[init]
x = "[0.9, 1]"
[environment.next]
x = "between(x, 1 - x)"
"""


# Guarded choice -------------------------------------------------------------------------------------------------------

ROOMS = """
[state]
room = "enum {HALL, LAB, VAULT}"
key = "bool"
[init]
room = "HALL"
key = "false"
[environment.let]
go = "choose(HALL when room != HALL, LAB when room != LAB, VAULT when room == LAB & key)"
[environment.next]
room = "go"
key = "key | go == LAB & choose(true, false)"
"""

DESCENT = """
[state]
n = "int"
[init]
n = 3
[environment.next]
n = "choose(n - 1 when n >= 1, n - 2 when n >= 2)"
"""

EDGE = """
[state]
x = "real"
[init]
x = "[0, 1]"
[environment.next]
x = "choose(x + 1 when x <= 1, x - 1 when x > 1, 0 when x == 0.5)"
"""

UNTAKEN = """
[state]
x = "int"
go = "bool"
[init]
x = 0
go = "{true, false}"
[environment.next]
x = "if(go, choose(x + 1 when x < 2), x)"
"""

DEPENDS = """
[state]
x = "int"
[init]
x = 0
[environment.let]
d = "choose(0, 1)"
e = "choose(10 when d == 1, d)"
[environment.next]
x = "d + e"
"""

STRANDED = """
[state]
x = "real"
[init]
x = "[-1, 1]"
[agents.pilot]
policy = "late.onnx"
observe = ["x"]
labels = ["WAIT", "GO"]
[environment.next]
x = "choose(x + 1 when pilot == GO, x when pilot == WAIT & x < 0)"
"""


# Agents with memory ---------------------------------------------------------------------------------------------------

COUNTS = """
[state]
x = "real"
[init]
x = 0
[agents.count]
policy = "count.onnx"
observe = ["x"]
act = "raw"
remember = "m"
[environment.next]
x = "x + count"
"""

SUMS = """
[state]
x = "real"
[init]
x = "[0, 1]"
[agents.sum]
policy = "sum.onnx"
observe = ["x"]
act = "raw"
memory = "[0, 1]"
remember = "m"
[environment.next]
x = "sum - 2"
"""

SHARP = SUMS.replace('"[0, 1]"', '"[1, 1]"')

NEVER = """
[state]
p = "real"
q = "real"
z = "real"
[init]
p = "[0, 1]"
q = "[0, 1]"
z = 0
[agents.agent]
policy = "never.onnx"
observe = ["p", "q"]
act = "raw"
[environment.next]
p = "between(0, 1)"
q = "between(0, 1)"
z = "agent"
"""

LATE = """
[state]
x = "real"
[init]
x = "[-1, 1]"
[agents.pilot]
policy = "late.onnx"
observe = ["x"]
labels = ["WAIT", "GO"]
remember = "m"
[environment.next]
x = "x + match(pilot, WAIT: 0, GO: 1)"
"""

PAIR = """
[state]
x = "real"
y = "real"
[init]
x = "[0, 1]"
y = "[-1, 0]"
[agents.a]
policy = "sum.onnx"
observe = ["x"]
act = "raw"
remember = "ma"
[agents.b]
policy = "sum.onnx"
observe = ["y"]
act = "raw"
memory = "[-1, 1]"
remember = "mb"
[environment.next]
x = "x - y + 0.5 * b"
y = "y - a + x"
"""

SQUASHED = """
[state]
x = "real"
[init]
x = "[-1, 1]"
[agents.agent]
policy = "squash.onnx"
observe = ["x"]
act = "raw"
memory = "[-0.5, 0.5]"
remember = "m"
[environment.next]
x = "0.5 * x + agent"
"""

GATED = SQUASHED.replace("squash", "gated")
DEEP = SQUASHED.replace("squash", "deep")


RANGED = """
[state]
x = "real [0, 1]"
[init]
x = "[0, 1]"
[environment.next]
x = "x + 1"
"""

CLIPPED = """
[state]
p = "real [-1.2, 0.6]"
v = "real [-0.7, 0.7]"
[init]
p = "[-0.6, -0.4]"
v = 0
[environment.next]
p = "clip(p + v, -1.2, 0.6)"
v = "clip(v + between(-0.1, 0.1), -0.7, 0.7)"
"""

NOWHERE = """
[state]
x = "real [0, 1]"
[init]
x = "[0, 1]"
where = ["x > 2"]
[environment.next]
x = "x + 1"
"""


# Finite systems, asked for all time -----------------------------------------------------------------------------------

TEN = """
[state]
n = "int [0, 9]"
[init]
n = 0
[environment.next]
n = "if(n == 9, 0, n + 1)"
"""

SIGNALS = """
[state]
light = "enum {RED, GREEN}"
waiting = "bool"
[init]
light = "RED"
waiting = "{true, false}"
[environment.next]
light = "choose(RED, GREEN)"
waiting = "if(light == GREEN, choose(true, false), waiting | choose(true, false))"
"""

PETERSON = """
[state]
a = "enum {IDLE, WAIT, BUSY}"
b = "enum {IDLE, WAIT, BUSY}"
first = "bool"
[init]
a = "IDLE"
b = "IDLE"
first = "{true, false}"
[environment.let]
moves = "choose(0, 1)"
[environment.next]
a = "if(moves == 0, match(a, IDLE: WAIT, WAIT: if(b == IDLE | first, BUSY, WAIT), BUSY: IDLE), a)"
b = "if(moves == 1, match(b, IDLE: WAIT, WAIT: if(a == IDLE | !first, BUSY, WAIT), BUSY: IDLE), b)"
first = "if(moves == 0 & a == IDLE, false, if(moves == 1 & b == IDLE, true, first))"
"""

BLINKS = """
[state]
x = "real"
[init]
x = 0
[agents.count]
policy = "blink.onnx"
observe = ["x"]
act = "raw"
remember = "m"
[environment.next]
x = "count"
"""

THIRDS = """
[state]
x = "real"
[init]
x = "{0, 1}"
[environment.next]
x = "if(x == 1, 1/3, if(x == 1/3, 2/3, if(x == 2/3, 1, x)))"
"""

WALK = """
[state]
n = "int"
[init]
n = 2
[environment.next]
n = "choose(n - 1 when n > 0, n + 1 when n > 0 & n < 4)"
"""

TIED = """
[state]
n = "int"
[init]
n = 0
[agents.go]
policy = "late.onnx"
observe = ["7/2"]
[environment]
enabled = "go == 1"
[environment.next]
n = "n + 1"
"""

INDEX = """
[state]
x = "real"
y = "real"
[init]
x = 0
y = "7/2"
[agents.go]
policy = "late.onnx"
observe = ["y"]
[environment.next]
x = "go"
y = "if(y == 7/2, 0, if(y == 0, 1/2, y))"
"""

OFFICE = """
[state]
n = "int [0, 2]"
[init]
n = 0
where = ["n > 1"]
[environment.next]
n = "n + 1"
"""

STAIRS = """
[state]
n = "int [0, 2]"
[init]
n = "{0, 1}"
[environment.next]
n = "n + 1"
"""


PLANES = """
[state]
a = "real"
b = "real"
c = "real"
d = "real"
e = "real"
f = "real"
[init]
a = "[-1, 1]"
b = "[-1, 1]"
c = "[-1, 1]"
d = "[-1, 1]"
e = "[-1, 1]"
f = "[-1, 1]"
[environment.next]                 # three planes, each turned by the same angle and shrunk to nine tenths
a = "0.9 * (0.6*a - 0.8*b)"
b = "0.9 * (0.8*a + 0.6*b)"
c = "0.9 * (0.6*c - 0.8*d)"
d = "0.9 * (0.8*c + 0.6*d)"
e = "0.9 * (0.6*e - 0.8*f)"
f = "0.9 * (0.8*e + 0.6*f)"
"""
SHAKEN_PLANES = PLANES.replace('*a - 0.8*b)"', '*a - 0.8*b) + between(-0.1, 0.1)"').replace(
    '*e + 0.6*f)"', '*e + 0.6*f) + 0.01"'
)


@dataclass(frozen=True)
class Case:
    """A question with its answer.

    `leaves` says which declared ranges can be left within the horizon, and from which step on; `margin` by how much a
    claim that holds does so, where somebody worked it out; `assurance` the most that may be claimed of the answer.
    """

    model: str
    formula: str
    expected: Verdict
    why: str
    decided_by: tuple[str, ...] = ()
    vacuous: bool = False
    leaves: tuple[tuple[str, int], ...] = ()
    margin: float | None = None
    assurance: Assurance = Assurance.EXACT

    def __str__(self) -> str:
        return self.formula

    @property
    def task(self) -> Task:
        return read(self.model)


@cache
def read(model: str) -> Task:
    """The task written in this text, with the networks it names beside it."""
    with TemporaryDirectory() as folder:
        for name, network in recurrent_networks().items():
            if f'"{name}.onnx"' in model:
                write_onnx(network, Path(folder) / f"{name}.onnx")
        file = Path(folder) / "case.toml"
        file.write_text(HEAD + model)
        return load(file)


TREES = ("paths", "milp")  # what is about states, with finite draws
PATHS = ("paths",)  # what is bounded and piecewise linear is decided, whatever the margin
BOUNDS = ("auto", "bounds", "paths")
FALSIFY = ("auto", "falsify", "paths")
SMOOTH_BOUNDS = ("auto", "bounds")  # at margin zero a nonlinear set stays open
SMOOTH_FALSIFY = ("auto", "falsify")

RIGOROUS = Assurance.RIGOROUS  # the most where a function has no rational values

STATES = ("auto", "explicit")  # finite systems, whatever is asked
EVERY_PROOF = ("auto", "bounds", "milp", "paths")
EVERY_REFUTATION = ("auto", "falsify", "milp", "paths")

CASES = [
    Case(
        PLANES, "G (a + c + e <= 4)", HOLDS, "3 * 0.9 * (0.6 + 0.8) after one step is the most", ("auto", "invariants")
    ),
    Case(PLANES, "G (a + c + e <= 3.77)", VIOLATED, "3.78 after one step", ("auto", "falsify")),
    Case(
        SHAKEN_PLANES,
        "G (a + c + e <= 6)",
        HOLDS,
        "3.78, and of draws and the offset at most 10 * 0.11 * sqrt(2)",
        ("auto", "invariants"),
    ),
    Case(
        RELAY,  # s = x + 1.5 v moves by 0.1 v and 0.15 towards 0, and x is 14/15 of itself and 1/15 of s
        "G (abs(x) <= 0.9)",
        HOLDS,
        "abs(s) <= 0.8, so that abs(x) <= 0.8 and abs(v) <= 1.07",
        ("auto", "invariants"),
    ),
    Case(RELAY, "G (x <= 0.52)", VIOLATED, "0.5 and then 0.52, and on at a speed of 0.1", ("auto", "falsify")),
    Case(TENTH, "X[10] (x >= 1)", HOLDS, "0.1 ten times is 1", BOUNDS),
    Case(TENTH, "X[10] (x == 1)", HOLDS, "0.1 ten times is 1", BOUNDS),
    Case(TENTH, "X[10] (x < 1)", VIOLATED, "0.1 ten times is 1", FALSIFY),
    Case(TENTH, "X[10] (x != 1)", VIOLATED, "0.1 ten times is 1", FALSIFY),
    Case(TENTH, "G[0,9] (x < 1)", HOLDS, "one tenth at a time", BOUNDS),
    Case(TENTH, "F[0,10] (x >= 1)", HOLDS, "reached at step 10", BOUNDS),
    Case(TENTH, "(x < 1) U[0,10] (x == 1)", HOLDS, "below until equal", BOUNDS),
    Case(TENTH, "(x < 1) U[0,9] (x == 1)", VIOLATED, "one step short", FALSIFY),
    Case(STILL, "G[0,3] (x <= 1)", HOLDS, "the end is included", BOUNDS),
    Case(STILL, "G[0,3] (x < 1)", VIOLATED, "the end is included", FALSIFY),
    Case(STILL, "G[0,3] (x > 0)", VIOLATED, "so is the other one", FALSIFY),
    Case(STILL, "G[0,3] (x >= 0 & x <= 1)", HOLDS, "both ends", BOUNDS),
    Case(STILL, "G[0,2] !(x > 2 & x < 1)", HOLDS, "nothing is both", PATHS, vacuous=True),
    Case(STILL, "G[0,3] (x <= 2)", HOLDS, "1 below the limit", BOUNDS, margin=1.0),
    Case(RANGED, "AX[2] (x >= 0)", HOLDS, "2 at least", BOUNDS, leaves=(("x", 1),), margin=2.0),
    Case(RANGED, "x >= 0", HOLDS, "ranges are kept at first", BOUNDS, margin=0.0),
    Case(RANGED, "AX[2] (x < 3)", VIOLATED, "from 1 it is 3", FALSIFY, leaves=(("x", 1),)),
    Case(RANGED, "AX[2] (x > 4)", VIOLATED, "it is 3 at most", BOUNDS, leaves=(("x", 1),)),
    Case(RANGED, "x < 1 & AX[2] (x > 0)", VIOLATED, "decided at the start", FALSIFY, leaves=(("x", 1),)),
    Case(CLIPPED, "G[0,3] (p >= -1.3)", HOLDS, "clipped at -1.2", BOUNDS),
    Case(CLIPPED, "G[0,4] (p <= -0.3)", VIOLATED, "three pushes of 0.1 to 0.3 in sum", FALSIFY),
    Case(NOWHERE, "AX[2] (x >= 5)", HOLDS, "there is no initial state", BOUNDS, vacuous=True),
    Case(STILL, "EX (x >= 0)", HOLDS, "true of every successor", BOUNDS),
    Case(STILL, "EF[0,4] (x > 1)", VIOLATED, "never", BOUNDS),
    Case(TWO_COINS, "AX (x != 1)", VIOLATED, "two draws may differ", FALSIFY),
    Case(TWO_COINS, "EX (x == 1)", HOLDS, "two draws may differ", PATHS),
    Case(TWO_COINS, "AX (x >= 0 & x <= 2)", HOLDS, "two draws of 0 or 1", BOUNDS),
    Case(TWO_COINS, "AX (x == 0) | AX (x > 0)", VIOLATED, "CTL is about states, not paths", TREES),
    Case(TWO_COINS, "AX EX (x == 2)", HOLDS, "the coins are thrown again", TREES),
    Case(TWO_COINS, "EX AX (x == 2)", VIOLATED, "nobody knows the next throw", TREES),
    Case(TWO_COINS, "AX (x == 0 | x > 0)", HOLDS, "the same inside one AX", PATHS),
    Case(TWO_COINS, "AG EX (x == 2)", HOLDS, "at every state the coins are thrown again"),
    Case(ONE_COIN, "G[0,5] (x == 0)", HOLDS, "a let is drawn once a step", BOUNDS),
    Case(ONE_COIN, "G[0,5] (y == 0)", VIOLATED, "it may be 1", FALSIFY),
    Case(ONE_COIN, "EF[0,5] (y == 1)", HOLDS, "it may be 1", PATHS),
    Case(COUNTER, "G[0,10] (n <= 3)", HOLDS, "the path ends at 3", BOUNDS),
    Case(COUNTER, "G (n <= 3)", HOLDS, "for all time: there is nothing after the end"),
    Case(COUNTER, "F[0,10] (n == 3)", HOLDS, "reached before the end", BOUNDS),
    Case(COUNTER, "F[0,10] (n == 4)", VIOLATED, "the path ends before", FALSIFY),
    Case(COUNTER, "X[4] (n >= 0)", VIOLATED, "there is no fourth transition", FALSIFY),
    Case(COUNTER, "AX[4] (n < 0)", HOLDS, "AX is true at the end", BOUNDS),
    Case(COUNTER, "EX[4] (n >= 0)", VIOLATED, "EX is false at the end", BOUNDS),
    Case(COUNTER, "EX[3] (n == 3)", HOLDS, "three transitions there are", BOUNDS),
    Case(CLOCK, "AF[0,3] (n == 3)", HOLDS, "it comes round", BOUNDS),
    Case(CLOCK, "AF[0,2] (n == 3)", VIOLATED, "from 0 it takes three", FALSIFY),
    Case(CLOCK, "G[0,8] ((n == 0) -> X[4] (n == 0))", HOLDS, "period four", BOUNDS),
    Case(CLOCK, "A[(n < 3) U[0,3] (n == 3)]", HOLDS, "below until it comes", BOUNDS),
    Case(CLOCK, "(n == 3) R[0,8] (n <= 3)", HOLDS, "never more than 3", BOUNDS),
    Case(CLOCK, "(n < 3) W[0,8] (n == 3)", HOLDS, "three follows", BOUNDS),
    Case(LEAKY, "G[0,10] (abs(x) <= 1)", HOLDS, "half of 1 and a quarter", PATHS),
    Case(LEAKY, "G[1,10] (abs(x) <= 0.75)", HOLDS, "0.75 is met with equality, then 0.625", PATHS),
    Case(LEAKY, "G[1,10] (abs(x) < 0.75)", VIOLATED, "0.75 is met with equality", FALSIFY),
    Case(LEAKY, "X (x < 0.76 & x > -0.76)", HOLDS, "0.75 is all there is", BOUNDS),
    Case(LEAKY, "X (x < 0.75)", VIOLATED, "met with equality", FALSIFY),
    Case(HALF_OPEN, "G[0,2] (x < 1)", HOLDS, "the supremum is not attained", PATHS),
    Case(HALF_OPEN, "X (y == 0)", HOLDS, "floor of less than 1", PATHS),
    Case(HALF_OPEN, "X (y <= 1)", HOLDS, "even without the constraint", BOUNDS),
    Case(LIGHT, "G[0,6] (cars >= 0)", HOLDS, "max with 0", BOUNDS),
    Case(LIGHT, "X (light == GREEN)", HOLDS, "from red to green", BOUNDS),
    Case(LIGHT, "G[0,6] (light == RED -> X (light == GREEN))", HOLDS, "they alternate", BOUNDS),
    Case(LIGHT, "X[2] (cars <= 1)", VIOLATED, "two come in two steps, one leaves", FALSIFY),
    Case(LIGHT, "X[2] (cars <= 2)", HOLDS, "1 + 1 + 1 - 1", PATHS),
    Case(SINE, "G[0,5] (x <= 1 & x >= 0)", HOLDS, "sin shrinks", SMOOTH_BOUNDS, assurance=RIGOROUS),
    Case(SINE, "X (x <= 0.85)", HOLDS, "sin(1) is 0.8414...", SMOOTH_BOUNDS, assurance=RIGOROUS),
    Case(SINE, "X (x <= 0.84)", VIOLATED, "sin(1) is 0.8414...", SMOOTH_FALSIFY, assurance=RIGOROUS),
    Case(
        PRODUCT, "G[0,3] (abs(x) <= 1.01)", HOLDS, "a quarter of at most 2", SMOOTH_BOUNDS, assurance=Assurance.RIGOROUS
    ),
    Case(PRODUCT, "X (x < 0.5)", VIOLATED, "the corner 1 * 2 / 4", SMOOTH_FALSIFY, assurance=RIGOROUS),
    Case(PRODUCT, "X (y >= 0)", HOLDS, "a square root", assurance=RIGOROUS),
    Case(
        MIXTURE, "G[0,4] (abs(h) < 1)", HOLDS, "a mixture of what is less than 1", PATHS, assurance=Assurance.RIGOROUS
    ),
    Case(
        MIXTURE,
        "X (h <= 0.671 & h >= -0.2)",
        HOLDS,
        "sigmoid(2) tanh(1) is 0.6708",
        PATHS,
        assurance=Assurance.RIGOROUS,
    ),
    Case(MIXTURE, "X (h < 0.6)", VIOLATED, "sigmoid(2) tanh(1) is 0.6708", FALSIFY, assurance=RIGOROUS),
    Case(ATAN, "G[0,4] (abs(x) <= 1.17)", HOLDS, "atan(2x) is x at 1.1655...", SMOOTH_BOUNDS, assurance=RIGOROUS),
    Case(ERF, "G[0,4] (abs(x) < 0.9999)", VIOLATED, "x = 1 at first", SMOOTH_FALSIFY),
    Case(ERF, "G[1,4] (abs(x) < 0.9954)", HOLDS, "erf(2) is 0.99532...", SMOOTH_BOUNDS, assurance=RIGOROUS),
    Case(ATAN, "X (x <= 1.1)", VIOLATED, "atan(2) is 1.107...", SMOOTH_FALSIFY, assurance=RIGOROUS),
    Case(AHEAD, "X (abs(h) <= 0.79)", HOLDS, "at most 45 degrees", SMOOTH_BOUNDS, assurance=RIGOROUS),
    Case(AHEAD, "X (abs(h - y) <= 0.3)", HOLDS, "atan2(1, 1) less one half is 0.285...", PATHS, assurance=RIGOROUS),
    Case(AHEAD, "X (h < 0.78)", VIOLATED, "atan2(1, 1) is 0.785...", SMOOTH_FALSIFY, assurance=RIGOROUS),
    Case(BEHIND, "X (abs(h) <= 3.15)", HOLDS, "every angle is at most pi", SMOOTH_BOUNDS, assurance=RIGOROUS),
    Case(
        BEHIND,
        "X (h >= 0)",
        VIOLATED,
        "below the negative axis angles are negative",
        SMOOTH_FALSIFY,
        assurance=RIGOROUS,
    ),
    Case(
        ABOVE,
        "X (h >= 2.35)",
        HOLDS,
        "pi on the negative axis, 3 pi / 4 in the corner",
        SMOOTH_BOUNDS,
        assurance=RIGOROUS,
    ),
    Case(LOGISTIC, "X (x > 0.511 & x < 0.673)", HOLDS, "3.2 times 0.16 and 0.21", BOUNDS),
    Case(LOGISTIC, "G[0,6] (x < 0.81)", HOLDS, "never more than 3.2 / 4", PATHS),
    Case(LOGISTIC, "X (x < 0.67)", VIOLATED, "0.3 goes to 0.672", FALSIFY),
    Case(
        SPIRAL,
        "G[0,12] (x^2 + y^2 < 1.02)",
        HOLDS,
        "a rotation keeps the distance; 1.01 at the corner",
        PATHS,
        assurance=Assurance.RIGOROUS,
    ),
    Case(SPIRAL, "G[0,12] (x > -0.99)", VIOLATED, "half a turn after six steps", FALSIFY, assurance=RIGOROUS),
    Case(ROOTS, "X (x >= 1.41)", HOLDS, "the mean is at least the square root of 2", PATHS),
    Case(ROOTS, "X[3] (x < 1.43)", HOLDS, "from 4 Newton comes to 1.4219", PATHS),
    Case(ROOTS, "X[3] (x < 1.41421)", VIOLATED, "never below the root, which is 1.414213562", FALSIFY),
    Case(JUMP, "X (x > -1)", HOLDS, "from above 0 it stays above -1, which is not attained", PATHS),
    Case(JUMP, "X (x >= -1)", HOLDS, "not even attained", PATHS),
    Case(JUMP, "G[0,4] (x >= -1.001 & x <= 1.001)", HOLDS, "it jumps back and forth", PATHS),
    Case(JUMP, "X (x < 1)", VIOLATED, "0 goes to 1", FALSIFY),
    Case(TURNED, "X (x > 0.5)", VIOLATED, "ends that depend on the state are taken in either order", FALSIFY),
    Case(TURNED, "X (x < 0.5)", VIOLATED, "the other end", FALSIFY),
    Case(TURNED, "X (x >= 0 & x <= 1)", HOLDS, "between 1 - x and x", BOUNDS),
    Case(COUNTS, "G[0,5] (x == 0)", HOLDS, "the output is 0 while it counts to five", EVERY_PROOF),
    Case(COUNTS, "X[6] (x == 1)", HOLDS, "and 1 at the sixth", EVERY_PROOF),
    Case(COUNTS, "G[0,6] (x == 0)", VIOLATED, "nothing is seen before step six", EVERY_REFUTATION),
    Case(COUNTS, "X[8] (x == 6)", HOLDS, "1 + 2 + 3", EVERY_PROOF),
    Case(COUNTS, "G[0,8] (count >= 0 & count <= 4)", HOLDS, "the output at step 8 is 9 - 5", EVERY_PROOF),
    Case(COUNTS, "m[0] == 0 & X[7] (m[0] == 7)", HOLDS, "the memory before it takes in the seventh", EVERY_PROOF),
    Case(COUNTS, "X[7] (m[0] < 7)", VIOLATED, "it is 7", EVERY_REFUTATION),
    Case(SUMS, "X (m[0] >= 0 & m[0] <= 2)", HOLDS, "a start in [0, 1] and what is seen", EVERY_PROOF),
    Case(SUMS, "X (m[0] < 2)", VIOLATED, "both ends are included", EVERY_REFUTATION),
    Case(SUMS, "X (x <= 0)", HOLDS, "the sum is at most 2", EVERY_PROOF),
    Case(SUMS, "G[0,4] (m[0] >= 0)", VIOLATED, "0 + 0, then x is -2", EVERY_REFUTATION),
    Case(SUMS, "X (m[0] + x >= 0)", VIOLATED, "x is m - 2, and m may be less than 1", EVERY_REFUTATION),
    Case(SUMS, "X (m[0] - x == 2)", HOLDS, "they come from the same sum", PATHS),
    Case(SHARP, "G[1,4] (x == 0 & m[0] == 2)", HOLDS, "1 + 1 is 2, and then nothing comes", EVERY_PROOF),
    Case(SHARP, "F[0,4] (x < 0)", VIOLATED, "a single path", EVERY_REFUTATION),
    Case(NEVER, "X[2] (z <= 2)", HOLDS, "even intervals prove it (003, Example 1)", EVERY_PROOF),
    Case(NEVER, "X[3] (z <= 2)", HOLDS, "z is 0", PATHS),
    Case(NEVER, "G[0,3] (z == 0)", HOLDS, "relu(q - p) - (p + q) is never positive", PATHS),
    Case(NEVER, "X[2] (z > 0)", VIOLATED, "z is 0", EVERY_REFUTATION),
    Case(LATE, "G[0,2] (pilot == WAIT)", HOLDS, "at most 3 after three steps", EVERY_PROOF),
    Case(LATE, "X[3] (pilot == WAIT)", VIOLATED, "from x = 1 the sum is 4", EVERY_REFUTATION),
    Case(LATE, "G[0,9] (x <= 1.1) | F[0,3] (pilot == GO)", VIOLATED, "a smaller x waits longer", FALSIFY),
    Case(LATE, "G[0,9] (x < 0 -> X (x < 0))", HOLDS, "from below 0 it never goes", PATHS),
    Case(PAIR, "X (ma[0] >= 0 & ma[0] <= 1)", HOLDS, "a sees x only", EVERY_PROOF),
    Case(PAIR, "X (mb[0] >= -2 & mb[0] <= 1)", HOLDS, "b starts anywhere in [-1, 1] and sees y", EVERY_PROOF),
    Case(PAIR, "X (mb[0] > -2)", VIOLATED, "the corner is met", EVERY_REFUTATION),
    Case(PAIR, "X (y <= 0)", HOLDS, "y - a + x with a = x at first", PATHS),
    Case(PAIR, "X[2] (x <= 2.5)", HOLDS, "x - y / 2 + the memory b starts with", PATHS),
    Case(PAIR, "X[2] (x < 2.5)", VIOLATED, "met at the corner (1, -1, 1)", EVERY_REFUTATION),
    Case(SQUASHED, "G[0,6] (abs(m[0]) <= 1)", HOLDS, "tanh", SMOOTH_BOUNDS, assurance=RIGOROUS),
    Case(
        SQUASHED,
        "G[0,6] (abs(x) <= 2.01)",
        HOLDS,
        "half of it and at most 1",
        SMOOTH_BOUNDS,
        assurance=Assurance.RIGOROUS,
    ),
    Case(
        SQUASHED, "X (x < 0.9)", VIOLATED, "0.5 + 0.5 tanh(1.5) is 0.95", SMOOTH_FALSIFY, assurance=Assurance.RIGOROUS
    ),
    Case(
        GATED, "X (abs(m[0]) <= 1.01)", HOLDS, "between tanh and the start", SMOOTH_BOUNDS, assurance=Assurance.RIGOROUS
    ),
    Case(
        GATED,
        "X[2] (x < 0.2)",
        VIOLATED,
        "the candidate is positive there",
        SMOOTH_FALSIFY,
        assurance=Assurance.RIGOROUS,
    ),
    Case(DEEP, "G[0,2] (abs(m[0]) <= 1)", HOLDS, "tanh times a sigmoid", SMOOTH_BOUNDS, assurance=RIGOROUS),
    Case(DEEP, "X (x > -0.4)", VIOLATED, "from the lower end", SMOOTH_FALSIFY, assurance=RIGOROUS),
    Case(ROOMS, "X (room == LAB)", HOLDS, "from the hall there is one way", EVERY_PROOF),
    Case(ROOMS, "G[0,1] (room != VAULT)", HOLDS, "the vault is behind the lab", EVERY_PROOF),
    Case(ROOMS, "X[2] (room != VAULT)", VIOLATED, "with the key found at once", EVERY_REFUTATION),
    Case(ROOMS, "EF[0,2] (room == VAULT)", HOLDS, "with the key found at once", PATHS),
    Case(ROOMS, "AG[0,4] EX (room != VAULT)", HOLDS, "the hall or the lab are always next", TREES),
    Case(ROOMS, "EX (room == HALL)", VIOLATED, "nobody stays in the hall", PATHS),
    Case(ROOMS, "AG[0,4] (room == VAULT -> key)", HOLDS, "only the key opens it", PATHS),
    Case(ROOMS, "(room != VAULT) W[0,5] key", HOLDS, "only the key opens it", PATHS),
    Case(DESCENT, "G[0,5] (n >= 0)", HOLDS, "no option leads below 0", ("auto", "paths", "milp")),
    Case(DESCENT, "G (n >= 0)", HOLDS, "for all time: at 0 no option is left"),
    Case(DESCENT, "F[0,3] (n == 0)", HOLDS, "every path comes to its end at 0", PATHS),
    Case(DESCENT, "AF[0,2] (n == 0)", VIOLATED, "3, 2, 1", EVERY_REFUTATION),
    Case(DESCENT, "X[3] (n >= 0)", VIOLATED, "3, 1, 0 has no third transition", EVERY_REFUTATION),
    Case(DESCENT, "AX[4] (n == 7)", HOLDS, "nothing has a fourth transition", EVERY_PROOF),
    Case(DESCENT, "EX[3] (n == 0)", HOLDS, "3, 2, 1, 0", PATHS),
    Case(DESCENT, "EX[4] (n >= 0)", VIOLATED, "nothing has a fourth transition", BOUNDS),
    Case(DESCENT, "AX (n == 1) | AX (n == 2)", VIOLATED, "both options exist at 3", TREES),
    Case(EDGE, "X (x <= 2)", HOLDS, "at most 1 + 1", EVERY_PROOF),
    Case(EDGE, "X (x < 2)", VIOLATED, "at 1 the first option still exists", EVERY_REFUTATION),
    Case(EDGE, "X (x >= 1 | x == 0)", HOLDS, "the second option needs more than 1", PATHS),
    Case(EDGE, "X (x > 0)", VIOLATED, "at 0.5, and nowhere else", PATHS),
    Case(EDGE, "G[0,3] (x >= 0)", HOLDS, "more than 1 minus 1", PATHS),
    Case(UNTAKEN, "G[0,5] (x <= 2)", HOLDS, "no option leads beyond", EVERY_PROOF),
    Case(UNTAKEN, "AX[3] (x == 0)", HOLDS, "who goes has come to the end", EVERY_PROOF),
    Case(UNTAKEN, "X[3] (x >= 0)", VIOLATED, "who goes has come to the end", EVERY_REFUTATION),
    Case(UNTAKEN, "EX[3] (x == 0)", VIOLATED, "not from where it goes", PATHS),
    Case(UNTAKEN, "EX[2] (x == 0 | x == 2)", HOLDS, "who stays draws nothing and never ends", PATHS),
    Case(DEPENDS, "X (x == 0 | x == 2 | x == 11)", HOLDS, "10 exists where 1 was drawn", PATHS),
    Case(DEPENDS, "X (x != 11)", VIOLATED, "10 exists where 1 was drawn", EVERY_REFUTATION),
    Case(DEPENDS, "EX (x == 10)", VIOLATED, "10 does not exist where 0 was drawn", PATHS),
    Case(STRANDED, "AX (x < 0)", HOLDS, "waiting at 0 or more there is no option", PATHS),
    Case(STRANDED, "X (x < 0)", VIOLATED, "waiting at 0 or more there is no option", FALSIFY),
    Case(STRANDED, "G[0,5] (x <= 1)", HOLDS, "who goes on stays below 0", PATHS),
    Case(TEN, "G (n <= 9)", HOLDS, "ten states in a ring", STATES),
    Case(TEN, "G (n < 9)", VIOLATED, "nine steps on", STATES),
    Case(TEN, "G F (n == 0)", HOLDS, "it comes round again and again", STATES),
    Case(TEN, "F G (n > 0)", VIOLATED, "it comes round again and again", STATES),
    Case(TEN, "(n < 9) U (n == 9)", HOLDS, "below until it comes", STATES),
    Case(TEN, "G (n == 3 -> X[10] (n == 3))", HOLDS, "period ten", STATES),
    Case(TEN, "AG AF (n == 5)", HOLDS, "the only path", STATES),
    Case(TEN, "EG (n < 9)", VIOLATED, "the only path comes to 9", STATES),
    Case(TEN, "E[(n < 5) W (n == 7)]", VIOLATED, "5 comes before 7", STATES),
    Case(SIGNALS, "G F (light == GREEN)", VIOLATED, "it may be red for ever", STATES),
    Case(SIGNALS, "AG EF (light == GREEN)", HOLDS, "it may always become green", STATES),
    Case(
        SIGNALS,
        "G F (light == GREEN) -> G F (waiting | light == RED | X true)",
        HOLDS,
        "there is always a next",
        STATES,
    ),
    Case(SIGNALS, "EG (light == RED)", HOLDS, "it may be red for ever", STATES),
    Case(SIGNALS, "G (waiting & light == RED -> X waiting)", HOLDS, "nobody leaves at red", STATES),
    Case(SIGNALS, "G F !waiting", VIOLATED, "red for ever, or green and somebody comes", STATES),
    Case(SIGNALS, "F G (light == RED) | G F (light == GREEN)", HOLDS, "one or the other", STATES),
    Case(SIGNALS, "AF AG (light == RED)", VIOLATED, "at every state it may become green", STATES),
    Case(PETERSON, "AG !(a == BUSY & b == BUSY)", HOLDS, "one at a time", STATES),
    Case(PETERSON, "AG (a == WAIT -> EF (a == BUSY))", HOLDS, "nobody is locked out for good", STATES),
    Case(PETERSON, "G (a == WAIT -> F (a == BUSY))", VIOLATED, "a may never move", STATES),
    Case(
        PETERSON,
        "G F (a != WAIT) -> G (a == WAIT -> F (a == BUSY))",
        HOLDS,
        "waiting ends with being busy only",
        STATES,
    ),
    Case(BLINKS, "G (x == 0 | x == 1)", HOLDS, "the memory is 0 or 1", STATES),
    Case(BLINKS, "G F (m[0] == 1) & G F (m[0] == 0)", HOLDS, "it alternates", STATES),
    Case(BLINKS, "F G (x == 1)", VIOLATED, "it alternates", STATES),
    Case(THIRDS, "G (x == 0) | G F (x == 1/3)", HOLDS, "0 stays, and the others go round", STATES),
    Case(THIRDS, "F (3*x == 2)", VIOLATED, "not from 0", STATES),
    Case(WALK, "EF AG (n == 0)", HOLDS, "at 0 the path ends", STATES),
    Case(WALK, "AF (n == 0)", VIOLATED, "back and forth for ever", STATES),
    Case(WALK, "G (n == 4 -> X (n == 3))", HOLDS, "from 4 one way is left", STATES),
    Case(WALK, "G X true", VIOLATED, "at 0 the path ends", STATES),
    Case(COUNTER, "AG (EX true | n == 3)", HOLDS, "the path ends there only", STATES),
    Case(COUNTER, "AG EF (n == 3)", HOLDS, "every path comes there", STATES),
    Case(WALK, "G F X true | F (n == 0)", HOLDS, "only there", STATES),
    Case(TIED, "EX (n == 1)", HOLDS, "one way to break the tie goes on", (*STATES, "paths")),
    Case(TIED, "EF[0,2] (n == 2)", HOLDS, "as does every action after it", (*STATES, "paths")),
    Case(TIED, "X (n == 1)", VIOLATED, "the other way ends the path", (*STATES, "paths")),
    Case(TIED, "AF[0,3] (n == 1)", VIOLATED, "the other way ends the path", (*STATES, "paths")),
    Case(TIED, "EX true & EG[0,3] (n == 0)", HOLDS, "each by a way of its own", STATES),
    Case(TIED, "EX AX (n == 2)", HOLDS, "at 1 there is no tie", STATES),
    Case(TIED, "AX AX (n == 2) & !AX false", HOLDS, "whatever does not end gets there", STATES),
    Case(TIED, "G[0,2] (n == 0)", VIOLATED, "one way goes on", FALSIFY),
    Case(TIED, "G (n == 0)", VIOLATED, "one way goes on", ("auto",)),
    Case(TIED, "EF (n == 3)", HOLDS, "one way goes on and on", ("auto", "deepening")),
    Case(TIED, "!EX true", VIOLATED, "there is a way on", STATES),
    Case(INDEX, "G (x == 0 | x == 1)", HOLDS, "x is the number of the action", ("auto",)),
    Case(INDEX, "AG[1,5] (x <= 1)", HOLDS, "x is the number of the action", STATES),
    Case(INDEX, "EF (x == 7/2)", VIOLATED, "x is the number of the action", ("auto",)),
    Case(INDEX, "EF[0,3] (x == 1/2)", VIOLATED, "x is the number of the action", STATES),
    Case(INDEX, "EX (x == 1)", HOLDS, "at 7/2 both may be taken", STATES),
    Case(OFFICE, "AG EF (n == 9)", HOLDS, "there is no initial state", STATES, vacuous=True),
    Case(STAIRS, "AX[2] (n >= 2)", HOLDS, "two up", STATES, leaves=(("n", 2),)),
    Case(STAIRS, "AX[2] (n <= 2)", VIOLATED, "from 1 it is 3", STATES, leaves=(("n", 2),)),
    Case(STAIRS, "G (n <= 20)", VIOLATED, "there is no end", STATES, leaves=(("n", 2),)),
]
