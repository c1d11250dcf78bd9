"""Tasks that would take minutes and gigabytes, asked at small limits in a process of their own.

    python -m tests.engines.heavy ENGINE OPTIONS

prints a line [name, verdict, reason] for each task and limit.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import vernal as vn
from tests.systems import make
from vernal.model import build as b
from vernal.model.expr import Expr
from vernal.model.sorts import INT
from vernal.model.system import System

LIMITS = (0.02, 0.1)  # seconds
MEMORY = 1.0  # GiB that the run may use
ADDRESSES = 4 << 30  # bytes that the process may ask for, libraries and their threads included


@dataclass(frozen=True)
class Heavy:
    """A system, a claim about it, and whether it is true."""

    system: Callable[[], System]
    claim: str
    holds: bool


def squares() -> System:
    n, m = b.var("n", INT), b.var("m", INT)
    return make({"n": 3, "m": 3}, {"n": n * n, "m": m * m}, sorts={"n": INT, "m": INT})


def squares_of_many() -> System:
    x, y = b.var("x"), b.var("y")
    return make({"x": (2, 4), "y": (2, 4)}, {"x": x * x, "y": y * y})


def powers() -> System:
    return make({"x": 3}, {"x": b.floor(b.power(b.var("x"), 1000))})


def squared_lets() -> System:
    x: Expr = b.var("x")
    for _ in range(40):
        x = x * x
    return make({"x": 3}, {"x": x})


def chain_of_ifs(length: int) -> System:
    x: Expr = b.var("x")
    for i in range(length):
        x = b.if_(x > Fraction(i % 7, 7), x - Fraction(1, i + 2), x + Fraction(1, i + 3))
    return make({"x": (0, 1)}, {"x": x})


def long_fractions() -> System:
    x, y = b.var("x"), b.var("y")
    grown = b.if_(x > y, Fraction(3**400, 7**300) * x - y, Fraction(5**100, 11**90) * x + Fraction(1, 13**80))
    shrunk = b.if_(x + y > 3, Fraction(17**90, 3**100) * y, x / 19**77)
    return make({"x": (1, 2), "y": (1, 2)}, {"x": grown, "y": shrunk})


def walk() -> System:
    x, y = b.var("x"), b.var("y")
    steered = b.if_(x > y, x - y + b.choose(0, Fraction(1, 3), Fraction(2, 7)), x + Fraction(1, 3))
    return make({"x": (0, 1), "y": (0, 1)}, {"x": steered, "y": b.if_(y > 1, y / 3 + b.between(-1, 1), y + 1)})


TASKS = {
    "squares": Heavy(squares, "X[60] (n == m)", True),
    "squares, far": Heavy(squares, "X[20000] (n != m)", False),
    "squares of many": Heavy(squares_of_many, "X[60] (x == y)", False),
    "powers": Heavy(powers, "X[4] (x < 0)", False),
    "squared lets": Heavy(squared_lets, "X[4] (x < 0)", False),
    "ifs": Heavy(lambda: chain_of_ifs(600), "X[4] (x < 100)", True),
    "long fractions": Heavy(long_fractions, "X[60] (y == 7)", False),
    "walk": Heavy(walk, "G[0,60] (x < 1000)", True),
    "walk, by states": Heavy(walk, "AG[0,30] EF[0,30] (x < 1000)", True),
}


def main(engine: str, options: dict[str, str]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    for name, task in TASKS.items():
        for limit in LIMITS:
            result = vn.check(task.system(), task.claim, engine=engine, options=options, timeout=limit, memory=MEMORY)
            print(json.dumps([name, result.verdict.value, result.reason]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
