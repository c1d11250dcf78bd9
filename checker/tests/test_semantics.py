"""Random formulas on random systems of a few states: on single states, accepted is the same as true."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from checker.tests.writing import certificate, task
from vernal_check.check import check
from vernal_check.errors import Rejected

SIZE = 4
FOREVER = 40  # positions of a path of four states after which all repeats: as good as for ever


def path_formula(draw: random.Random, depth: int) -> Any:
    if depth == 0 or draw.random() < 0.2:
        return ("atom", draw.randrange(SIZE))
    op = draw.choice(["!", "&", "|", "X", "F", "G", "U", "R", "W"])
    lower = draw.choice([0, 0, 1, 2])
    window = draw.choice([None, (0, None), (lower, lower + draw.choice([0, 1, 3])), (lower, None)])
    if op == "!":
        return (op, path_formula(draw, depth - 1))
    if op == "X":
        return (op, draw.choice([1, 2]), path_formula(draw, depth - 1))
    if op in "FG":
        return (op, window or (0, None), path_formula(draw, depth - 1))
    parts = path_formula(draw, depth - 1), path_formula(draw, depth - 1)
    return (op, *parts) if op in "&|" else (op, window or (0, None), *parts)


def text(f: Any) -> str:
    op = f[0]
    if op == "atom":
        return f"(n == {f[1]})"
    if op == "!":
        return f"!{text(f[1])}"
    if op in "&|":
        return f"({text(f[1])} {op} {text(f[2])})"
    if op == "X":
        return f"X[{f[1]}] {text(f[2])}"
    bound = f"[{f[1][0]},{'' if f[1][1] is None else f[1][1]}]"
    return f"{op}{bound} {text(f[2])}" if op in "FG" else f"({text(f[2])} {op}{bound} {text(f[3])})"


def truth(f: Any, path: tuple[int, ...], ends: bool) -> bool:
    """Whether a formula is true of a path, read literally; the last positions of one that does not end repeat."""

    @cache
    def at(g: Any, t: int) -> bool:
        op, last = g[0], len(path) - 1
        if op == "atom":
            return bool(path[t] == g[1])
        if op == "!":
            return not at(g[1], t)
        if op in "&|":
            return (at(g[1], t) and at(g[2], t)) if op == "&" else (at(g[1], t) or at(g[2], t))
        if op == "X":
            return t + g[1] <= last and at(g[2], t + g[1])
        window = range(t + g[1][0], min(last, last if g[1][1] is None else t + g[1][1]) + 1)
        if not ends:  # positions far out are like those before
            window = range(t + g[1][0], min(last, t + FOREVER // 2 if g[1][1] is None else t + g[1][1]) + 1)
        if op == "F":
            return any(at(g[2], i) for i in window)
        if op == "G":
            return all(at(g[2], i) for i in window)
        if op == "R":
            return all(at(g[3], i) or any(at(g[2], j) for j in range(t, i)) for i in window)
        until = any(at(g[3], i) and all(at(g[2], j) for j in range(t, i)) for i in window)
        stays = range(t, window.stop) if g[1][1] is None else range(t, min(t + g[1][1], last) + 1)
        return until or (op == "W" and all(at(g[2], j) for j in stays))

    return at(f, 0)


@pytest.mark.parametrize("seed", range(60))
def test_accepted_is_true_of_the_only_path(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    after = [draw.randrange(SIZE) for _ in range(SIZE)]
    end = draw.choice([None, draw.randrange(SIZE)])
    path = [0]
    while path[-1] != end and len(path) < 6 * FOREVER:
        path.append(after[path[-1]])
    cases = ", ".join(f"{n}: {m}" for n, m in enumerate(after[:-1]))
    guard = "" if end is None else f'[environment]\nenabled = "n != {end}"'
    file = task(tmp_path, 'n = "int"', "n = 0", f'n = "match(n, {cases}, _: {after[-1]})"', guard)
    for _ in range(8):
        formula = path_formula(draw, 3)
        expected = truth(formula, tuple(path), path[-1] == end)
        try:
            check(certificate(file, text(formula), ["n"], [[n] for n in range(SIZE)]))
            found = True
        except Rejected:
            found = False
        assert found == expected, (after, end, text(formula))
