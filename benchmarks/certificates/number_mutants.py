"""Forged certificates over real numbers: sets followed in floats, with rows or conditions, inductions, memories.

A step is written twice, as text and as a function of rational numbers. Paths from chosen starts with chosen draws are
computed exactly; an accepted claim that one of them breaks is false. Bounds lie on what paths reach, or a little off.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.certificates.mutants import Forgery

NETWORKS = Path(__file__).parents[1] / "forever"
STEPS = 9  # of a path
PATHS = 60
OFF = [Fraction(0)] * 3 + [Fraction(s, d) for s in (-1, 1) for d in (10**18, 10**9, 100, 4, 1)]
Step = Callable[[Fraction, Fraction], Fraction]  # of a state and a draw between -1 and 1


@dataclass(frozen=True)
class Plant:
    """A system of one number, and, where it has a fuse, what that remembers."""

    text: str
    step: Step
    start: tuple[Fraction, Fraction]
    fuse: Fraction | None = None

    @property
    def task(self) -> str:
        agent = f'[agents.a]\npolicy = "fuse.onnx"\nobserve = ["x"]\nact = "raw"\nmemory = "{self.fuse}"\n'
        return (
            f'vernal = 1\n[state]\nx = "real"\n[init]\nx = "[{self.start[0]}, {self.start[1]}]"\n'
            f"{'' if self.fuse is None else agent}"
            f'[environment.next]\nx = "{self.text}{"" if self.fuse is None else " + a"}"\n'
        )

    def path(self, draw: random.Random) -> list[Fraction]:
        low, high = self.start
        x = low + (high - low) * draw.choice([Fraction(0), Fraction(1), Fraction(1, 2), Fraction(draw.randrange(9), 8)])
        extreme, left, found = draw.choice([-1, 0, 1, None]), self.fuse, [x]
        for _ in range(STEPS):
            noise = Fraction(draw.choice([-1, 0, 1]) if extreme is None else extreme)
            left = None if left is None else max(left - 1, Fraction(0))
            x = self.step(x, noise) + (left or 0)
            found.append(x)
        return found


def number(draw: random.Random, size: int = 3) -> Fraction:
    return Fraction(draw.randrange(-4 * size, 4 * size + 1), draw.choice([1, 2, 4, 5, 10]))


def plant(draw: random.Random) -> Plant:
    """A random system."""
    a, b, t = Fraction(draw.randrange(-12, 13), 10), number(draw, 1), number(draw, 1)
    d = abs(number(draw, 1)) / 4
    options: list[tuple[str, Step]] = [
        (f"{a} * x + between(-{d}, {d})", lambda x, w: a * x + d * w),
        (f"if(x > {t}, {a} * x, x + {b})", lambda x, w: a * x if x > t else x + b),
        (f"clip({a} * x + {b}, -2, {abs(t)})", lambda x, w: min(max(a * x + b, Fraction(-2)), abs(t))),
        (f"abs(x) * {a} + {b}", lambda x, w: abs(x) * a + b),
        (f"x * x / 8 + {d} * between(-1, 1)", lambda x, w: x * x / 8 + d * w),
        (f"max(x + {b}, {a} * x)", lambda x, w: max(x + b, a * x)),
        (f"x / 2 + floor(x / 4 + {t})", lambda x, w: x / 2 + (x / 4 + t).__floor__()),
    ]
    text, step = draw.choice(options)
    low = number(draw, 1)
    fuse = Fraction(draw.randrange(4)) if draw.random() < 0.2 else None
    return Plant(text, step, (low, low + draw.choice([Fraction(0), Fraction(1, 2), Fraction(1)])), fuse)


@dataclass(frozen=True)
class Claim:
    """A claim, and which paths break it."""

    text: str
    breaks: Callable[[Sequence[Fraction]], bool]


def claim(draw: random.Random, top: Fraction, low: Fraction) -> Claim:
    """A random claim, with bounds near what paths reach."""
    c, e, k = top + draw.choice(OFF), low - draw.choice(OFF), draw.randrange(1, STEPS)
    return draw.choice([
        Claim(f"G (x <= {c})", lambda p: max(p) > c),
        Claim(f"G (x < {c})", lambda p: max(p) >= c),
        Claim(f"G (x >= {e} & x <= {c})", lambda p: max(p) > c or min(p) < e),
        Claim(f"G[0,{k}] (x <= {c})", lambda p: max(p[: k + 1]) > c),
        Claim(f"G[{k},] (x <= {c})", lambda p: max(p[k:]) > c),
        Claim(f"F[0,{k}] (x >= {c})", lambda p: max(p[: k + 1]) < c),
        Claim(f"X[{k}] (x >= {e})", lambda p: p[k] < e),
        Claim(f"(x >= {e}) W (x > {c})", lambda p: weak(p, c, e)),
        Claim(f"G (x <= {c} -> X (x <= {c}))", lambda p: any(a <= c < b for a, b in pairwise(p))),
    ])  # fmt: skip


def weak(path: Sequence[Fraction], c: Fraction, e: Fraction) -> bool:
    """Whether something is below e before anything is above c."""
    return next((x < e for x in path if x > c or x < e), False) and not next(x > c for x in path if x > c or x < e)


def sets(draw: random.Random, made: Plant, top: Fraction, low: Fraction) -> list[Any]:
    """Sets that may show a claim: those around what paths reach, the start, all numbers, and forgeries of these."""
    memory = [] if made.fuse is None else [draw.choice([written(made.fuse), [0, written(made.fuse)], [None, None]])]
    start = [written(end) for end in made.start]
    found: list[Any] = []
    for _ in range(draw.choice([1, 1, 2, 3])):
        c, e = top + abs(draw.choice(OFF)) * draw.choice([1, 1, -1]), low - abs(draw.choice(OFF))
        around = draw.choice([[written(min(e, c)), written(max(e, c))], [None, written(c)], [None, None], start])
        one: dict[str, Any] = {"set": [around, *memory]}
        kind = draw.randrange(6)
        if kind == 0:
            one["rows"] = [[1, *([0] * len(memory)), written(c)], [-1, *([0] * len(memory)), written(-e)]]
        elif kind == 1:
            one["where"] = draw.choice([f"x <= {c}", f"x <= {c} & x >= {e}", f"abs(x) <= {max(c, -e)}", f"x < {c}"])
        elif kind == 2:
            one["walk"] = True
        elif kind == 3:
            whole = [None, None]
            one = {"set": [whole, *[whole for _ in memory]], "walk": True, "induction": draw.choice([1, 1, 2, 3])}
            if draw.random() < 0.3:
                one["after"] = draw.randrange(1, STEPS)
        found.append(one)
    if draw.random() < 0.7:
        found.append(
            {"set": [start, *([] if made.fuse is None else [written(made.fuse)])], "walk": draw.random() < 0.8}
        )
    return found


def written(a: Fraction) -> str:
    return f"{a.numerator}/{a.denominator}"


def forgery(draw: random.Random) -> tuple[Forgery, Claim, list[list[Fraction]]]:
    """A task, a claim, sets, and paths of the task."""
    made = plant(draw)
    paths = [made.path(draw) for _ in range(PATHS)]
    top, low = max(map(max, paths)), min(map(min, paths))
    claimed = claim(draw, top, low)
    variables = ["x"] if made.fuse is None else ["x", "a.memory[0]"]
    networks = [] if made.fuse is None else [fuse_entry()]
    header = {
        "certificate": 1, "semantics": "steps-1", "formula": claimed.text, "property": None, "verdict": "holds",
        "variables": variables, "task": {"file": "", "sha256": "", "parameters": {}, "networks": networks},
    }  # fmt: skip
    return Forgery(made.task, header, sets(draw, made, top, low)), claimed, paths


def fuse_entry() -> dict[str, str]:
    import hashlib

    return {"file": "fuse.onnx", "sha256": hashlib.sha256((NETWORKS / "fuse.onnx").read_bytes()).hexdigest()}
