"""Ground truth for formulas without a bound: small systems, the verdicts that are right, and who has to find them.

For every operator of Table 1 of the AAMAS 2025 paper there is an instance that each method decides alone, in each of
the directions in which it can.
"""

from __future__ import annotations

from tests.available import is_here
from tests.cases import Case
from vernal.evidence.result import HOLDS, VIOLATED


def loop(start: str, step: str) -> str:
    """One real variable."""
    return f'[state]\nx = "real"\n[init]\nx = "{start}"\n[environment.next]\nx = "{step}"\n'


RAMP = loop("[0, 1]", "x + 0.5")
HALVING = loop("[-1, 1]", "0.5*x")
SETTLING = loop("[0, 2]", "0.3*x + 0.5")  # 5/7 stays where it is
MIRROR = loop("[-1, 1]", "-x")
DOUBLING = loop("[0, 2]", "2*x - 0.7")  # 0.7 stays where it is, and all others leave
DRIFT = loop("[0, 1]", "x + between(0.25, 0.5)")
WALK = loop("0", "x + choose(-1, 1)")
PUSHED = loop("[0.5, 1]", "0.9*x + between(-0.2, 0.2)")
COSINE = loop("[0, 1]", "cos(x)")
SQUASH = loop("[-1, 1]", "tanh(x)")
CLIPPED = loop("[-1, 1]", "clip(1.5*x, -2, 2)")

TURN = """
[state]
x = "real"
y = "real"
[init]
x = "[0.5, 1]"
y = "[-1, 1]"
[environment.next]
x = "-y"
y = "x"
"""

MODULO = """
[state]
n = "int [0, 5]"
[init]
n = 0
[environment.next]
n = "if(n == 5, 0, n + 1)"
"""

DOWN = """
[state]
n = "int"
[init]
n = "{3, 4}"
[environment]
enabled = "n > 0"
[environment.next]
n = "n - 1"
"""

THERMOSTAT = """
[state]
T = "real"
on = "bool"
[init]
T = "[18, 20]"
on = "true"
[environment.next]
T = "if(on, T + 1, T - 1)"
on = "if(T >= 22, false, if(T <= 18, true, on))"
"""

DRAUGHTY = """
[state]
T = "real"
on = "bool"
[init]
T = "[15, 15.5]"
on = "true"
[environment.next]
T = "T + 0.02*(between(9, 11) - T) + if(on, 0.6, 0) - choose(0, 0.1)"
on = "if(T > 21, false, if(T < 19, true, on))"
"""

LAGGED = """
[state]
x = "real"
y = "real"
[init]
x = "[-1, 1]"
y = "[-1, 1]"
[environment.next]
x = "y"
y = "if(y > 1, 5, 0.5*x)"
"""

SWITCH = """
[state]
a = "bool"
b = "bool"
c = "bool"
[init]
a = "false"
b = "false"
c = "false"
[environment.next]
a = "b"
b = "c"
c = "false"
"""

TALLY = """
[state]
n = "int"
[init]
n = 0
[environment.next]
n = "n + choose(0, 2)"
"""

DEEPENING, LASSO, INDUCTION = ("deepening",), ("lasso",), ("induction",)
BY_SOLVER = INDUCTION if is_here("smt") else ()  # from states without bounds

ENDLESS = [
    # A finite number of steps decides it.
    Case(RAMP, "F (x > 5)", HOLDS, "at most eleven steps", DEEPENING),
    Case(RAMP, "(x < 5) U (x >= 5)", HOLDS, "below until it is there", DEEPENING),
    Case(RAMP, "(x >= 3) R (x >= 0)", HOLDS, "0 or more until 3 releases it, and 3 is more", DEEPENING),
    Case(RAMP, "(x <= 2) W (x > 1)", HOLDS, "steps of a half", DEEPENING),
    Case(RAMP, "G (x < 5)", VIOLATED, "ten steps from 0", DEEPENING),
    Case(RAMP, "(x < 3) U (x < 0)", VIOLATED, "3 is passed before", DEEPENING),
    Case(RAMP, "(x > 9) R (x <= 2)", VIOLATED, "nothing releases it before 2 is passed", DEEPENING),
    Case(RAMP, "(x <= 2) W (x < 0)", VIOLATED, "2 is passed, and 0 is behind", DEEPENING),
    Case(RAMP, "F (x > 5) & F (x > 9)", HOLDS, "one after the other", DEEPENING),
    Case(RAMP, "F (x >= 2 & X (x >= 2.5))", HOLDS, "the step after 2", DEEPENING),
    Case(RAMP, "AF (x > 5)", HOLDS, "at most eleven steps", DEEPENING),
    Case(RAMP, "A[x < 5 U x >= 5]", HOLDS, "below until it is there", DEEPENING),
    Case(RAMP, "EF (x > 5)", HOLDS, "at most eleven steps", DEEPENING),
    Case(RAMP, "E[x < 5 U x >= 5]", HOLDS, "below until it is there", DEEPENING),
    Case(RAMP, "EG (x < 5)", VIOLATED, "every path passes it", DEEPENING),
    Case(RAMP, "G (x < 0 | F (x > 3))", HOLDS, "from everywhere it is on the way up"),
    Case(DRIFT, "F (x > 3)", HOLDS, "a quarter a step at least", DEEPENING),
    Case(DRIFT, "G (x < 3)", VIOLATED, "a half a step at most", DEEPENING),
    Case(WALK, "EF (x == 3)", HOLDS, "three steps up", DEEPENING),
    Case(WALK, "G (x < 3)", VIOLATED, "three steps up", DEEPENING),
    Case(WALK, "E[x >= 0 U x == 4]", HOLDS, "straight up", DEEPENING),
    Case(DOWN, "G (n >= 0)", HOLDS, "the path ends at 0", DEEPENING),
    Case(DOWN, "F (n == 0)", HOLDS, "all the way down", DEEPENING),
    Case(DOWN, "AG (n > 0 -> AF (n == 0))", HOLDS, "all the way down", DEEPENING),
    Case(DOWN, "G F (n > 0)", VIOLATED, "the last position is at 0", DEEPENING),
    Case(DOWN, "EG (n < 3)", VIOLATED, "not at first", DEEPENING),
    Case(MODULO, "G (n <= 5)", HOLDS, "six states", DEEPENING),
    Case(SQUASH, "G (x < 1.1)", HOLDS, "tanh shrinks"),
    Case(SQUASH, "X F (abs(x) < 0.77)", HOLDS, "tanh(1) is 0.76", DEEPENING),
    # A loop shows that something never comes.
    Case(SETTLING, "F (x > 1.5)", VIOLATED, "5/7 stays where it is", LASSO),
    Case(SETTLING, "(x <= 3) U (x > 1.5)", VIOLATED, "5/7 stays where it is", LASSO),
    Case(COSINE, "F (x > 0.8)", VIOLATED, "0.739... stays where it is, and is not rational", LASSO),
    Case(COSINE, "F (x < 0.74)", HOLDS, "every path comes near 0.739..."),
    Case(MIRROR, "F (x > 1)", VIOLATED, "back and forth", LASSO),
    Case(MIRROR, "F G (x > 0)", VIOLATED, "back and forth", LASSO),
    Case(MIRROR, "G F (x > 0)", VIOLATED, "0 stays 0", LASSO),
    Case(DOUBLING, "F (x != 0.7)", VIOLATED, "0.7 alone stays where it is", LASSO),
    Case(DOUBLING, "(x > 1) R (x < 0.9)", VIOLATED, "from 0.8 on it is left before 1", DEEPENING),
    Case(TURN, "F (x < -2)", VIOLATED, "a circle of four", LASSO),
    Case(TURN, "F G (x >= 0)", VIOLATED, "a circle of four", LASSO),
    Case(MODULO, "F G (n == 0)", VIOLATED, "it comes and goes", LASSO),
    Case(MODULO, "F (n == 6)", VIOLATED, "round and round", LASSO),
    Case(MODULO, "G F (n == 5)", HOLDS, "round and round"),
    Case(MODULO, "EG (n <= 5)", HOLDS, "its only path", LASSO),
    Case(THERMOSTAT, "F (T > 30)", VIOLATED, "up and down between 16 and 24", LASSO),
    Case(THERMOSTAT, "F G on", VIOLATED, "it is switched off again and again", LASSO),
    Case(DRAUGHTY, "F (T > 22.5)", VIOLATED, "it is switched off before; the loop is far from the start", LASSO),
    Case(DRAUGHTY, "F G on", VIOLATED, "it is switched off again and again", LASSO),
    Case(DRAUGHTY, "F (T > 18)", HOLDS, "it warms by 0.1 a step at least", DEEPENING),
    Case(DRAUGHTY, "G (T > 8)", HOLDS, "the weather is warmer, and a draught takes little", BY_SOLVER),
    Case(WALK, "F (x >= 3)", VIOLATED, "up and down", LASSO),
    Case(WALK, "EG (x <= 1)", HOLDS, "up and down", LASSO),
    Case(WALK, "E[x <= 2 W x == 5]", HOLDS, "up and down", LASSO),
    Case(WALK, "EG (x <= -1)", VIOLATED, "0 is no such", DEEPENING),
    Case(PUSHED, "F (x < 0.3)", VIOLATED, "a push of a tenth holds 1", LASSO),
    Case(RAMP, "F (x >= 20)", HOLDS, "sets that meet are no loop (003, Algorithm 3)", DEEPENING),
    # A step from any state in which it holds keeps it.
    Case(HALVING, "G (x <= 1)", HOLDS, "half of at most 1", INDUCTION),
    Case(HALVING, "AG (abs(x) <= 1)", HOLDS, "half of at most 1", INDUCTION),
    Case(HALVING, "EG (abs(x) <= 1)", HOLDS, "every path does", INDUCTION),
    Case(HALVING, "EF (x > 1)", VIOLATED, "no path does", INDUCTION),
    Case(HALVING, "G (x < 1)", VIOLATED, "1 is a start", INDUCTION),
    Case(HALVING, "(x > 0.9) R (x <= 1)", HOLDS, "it is always at most 1", INDUCTION),
    Case(HALVING, "(x <= 1) W (x > 0.9)", HOLDS, "it is always at most 1", INDUCTION),
    Case(HALVING, "(x < 1) W (x == 1)", HOLDS, "below 1, or there at once; G (x < 1) is false"),
    Case(LAGGED, "G (x <= 1)", HOLDS, "not in one step, for all y may be; in two", INDUCTION),
    Case(SWITCH, "G !a", HOLDS, "it takes three steps to know that nothing comes", INDUCTION),
    Case(CLIPPED, "G (x <= 2)", HOLDS, "clipped there", INDUCTION),
    Case(CLIPPED, "G (x < 2)", VIOLATED, "1, 1.5, 2", DEEPENING),
    Case(TALLY, "G (n >= 0)", HOLDS, "it only grows, and has no bound above", BY_SOLVER),
    Case(TALLY, "G (n != 3)", HOLDS, "from 0 or more, 1 is before 3, and only 1 before 1", BY_SOLVER),
    Case(TALLY, "G (n != 7)", HOLDS, "only even numbers; from 1 on, any number of steps leads to 7"),
    Case(TALLY, "G (n != 6)", VIOLATED, "three times two", INDUCTION),
    Case(THERMOSTAT, "G (T < 24)", HOLDS, "just below 22 it warms twice more", BY_SOLVER),
]
