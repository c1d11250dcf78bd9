"""Bounded claims of states over sets that are followed, beside their literal meaning on single states."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from checker.tests.writing import certificate, task
from vernal_check.check import check
from vernal_check.errors import Rejected, Unshown

Truth = Callable[[int], bool]
STEP = "choose(x + 1 when x < 2, x - 1 when x > -1 & x != 1, 0 when x == 2)"
FORMULAS = 40


def after(x: int) -> list[int]:
    options = [(x + 1, x < 2), (x - 1, x > -1 and x != 1), (0, x == 2)]
    return [to for to, is_there in options if is_there and x != -2]


def until(every: bool, p: Truth, q: Truth, first: int, last: int, x: int) -> bool:
    if first == 0 and q(x):
        return True
    if last == 0 or not p(x) or not after(x):
        return False
    return (all if every else any)(until(every, p, q, max(first - 1, 0), last - 1, y) for y in after(x))


def formula(draw: random.Random, depth: int) -> tuple[str, Truth]:
    """A formula and its meaning."""
    if depth == 0:
        bound = draw.randrange(-2, 4)
        return (
            (f"(x >= {bound})", lambda x: x >= bound)
            if draw.random() < 0.5
            else (
                f"(x == {bound})",
                lambda x: x == bound,
            )
        )
    (one, p), (two, q) = formula(draw, depth - 1), formula(draw, draw.randrange(depth))
    first = draw.randrange(3)
    last = first + draw.randrange(3)
    window, every = f"[{first},{last}]", draw.random() < 0.5
    letter = "A" if every else "E"
    match draw.randrange(7):
        case 0:
            return f"({one} & {two})", lambda x: p(x) and q(x)
        case 1:
            return f"({one} | !{two})", lambda x: p(x) or not q(x)
        case 2:
            return f"({letter}X {one})", lambda x: (all if every else any)(map(p, after(x)))
        case 3:
            return f"({letter}F{window} {one})", lambda x: until(every, lambda _: True, p, first, last, x)
        case 4:
            return (
                f"({letter}G{window} {one})",
                lambda x: not until(not every, lambda _: True, lambda y: not p(y), first, last, x),
            )
        case 5:
            return f"{letter}[{one} U{window} {two}]", lambda x: until(every, p, q, first, last, x)
    return f"(!{one})", lambda x: not p(x)


@pytest.mark.parametrize("seed", range(FORMULAS))
def test_at_single_states_claims_are_accepted_where_they_are_true(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    text, truth = formula(draw, 3)
    if not any(word in text for word in ("EX", "EF", "EG", "E[", "AX", "AF", "AG", "A[")):
        text, truth = f"EX {text}", lambda x, inner=truth: any(map(inner, after(x)))  # type: ignore[misc]
    for x in range(-2, 4):
        more = '[environment]\nenabled = "x != -2"'
        file = certificate(
            task(tmp_path, 'x = "real"', f"x = {x}", f'x = "{STEP}"', more), text, ["x"], [{"set": [x], "walk": True}]
        )
        if truth(x):
            check(file)
        else:
            with pytest.raises((Rejected, Unshown)):
                check(file)
