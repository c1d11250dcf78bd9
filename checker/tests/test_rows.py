"""Sets with rows, conditions and without an end, inductions and memories: what they show, and what they do not."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import pytest

from checker.tests.test_rules import accepts
from vernal_check.errors import Unreadable
from vernal_check.forms import Exact
from vernal_check.rows import most

REAL = 'x = "real"'
DOUBLING = (REAL, 'x = "[1, 2]"', 'x = "2 * x"')
LEAKING = (REAL, 'x = "[-0.5, 0.5]"', 'x = "0.9 * x + between(-0.1, 0.1)"')
SPILLING = (REAL, 'x = "[-0.5, 0.5]"', 'x = "0.9 * x + between(-0.1, 0.11)"')
MEETING = (f'{REAL}\ny = "real"', 'x = "[-1, 0]"\ny = "[0, 1]"', 'x = "x + (y - x) / 4"\ny = "y - (y - x) / 4"')
LATE = (f'{REAL}\ny = "real"', "x = 0\ny = 0", 'x = "y"\ny = "x / 2"')
ENDING = (REAL, "x = 0", 'x = "x + choose(1 when x < 3)"')
ANY: list[Any] = [None, None]
UPWARD = [[[2**n, 2 ** (n + 1)]] for n in range(7)]


def induction(k: int, first: Any, size: int = 1, **more: Any) -> list[Any]:
    return [{"set": [ANY] * size, "walk": True, "induction": k, **more}, {"set": first, "walk": True}]


@pytest.mark.parametrize(
    ("system", "formula", "sets", "expected"),
    [
        (DOUBLING, "G (x >= 1)", [[[1, None]]], True),
        (DOUBLING, "G (x > 1)", [[[1, None]]], False),
        (DOUBLING, "G (x >= 1)", [[[None, 1]], [[1, 2]]], False),
        (DOUBLING, "F (x >= 100)", [[[1, None]]], False),
        (DOUBLING, "F G (x >= 100)", [*UPWARD, [[100, None]]], True),
        (DOUBLING, "F G (x >= 100)", [*UPWARD[1:], [[100, None]]], False),
        (LEAKING, "G (abs(x) <= 1)", [{"set": [ANY], "where": "abs(x) <= 1"}], True),
        (SPILLING, "G (abs(x) <= 1)", [{"set": [ANY], "where": "abs(x) <= 1"}], False),
        (LEAKING, "G (abs(x) <= 1)", [{"set": [ANY], "where": "abs(x) < 1"}], False),  # a step leads to its border
        (LEAKING, "G (abs(x) <= 1)", [{"set": [ANY], "rows": [[1, 1], [-1, 1]]}], True),
        (LEAKING, "G (abs(x) <= 1)", [{"set": [[-1, 1]], "rows": [[1, "1/2"]]}], False),
        (LEAKING, "G (abs(x) <= 1)", [{"set": [[-1, 1]], "rows": [[1, 0]]}, {"set": [[0, 1]]}], True),
        (LEAKING, "G (abs(x) <= 1)", [{"set": [ANY], "where": "false"}], False),
        (MEETING, "G (x - y <= 0)", [{"set": [ANY, ANY], "rows": [[1, -1, 0]]}], True),
        (MEETING, "G (x - y < 0)", [{"set": [ANY, ANY], "rows": [[1, -1, 0]]}], False),
        (MEETING, "G (x + y <= 1)", [{"set": [ANY, ANY], "rows": [[1, -1, 0]]}], False),
        (MEETING, "G (x - y <= 0)", induction(1, [[-1, 0], [0, 1]], 2), True),
        (MEETING, "G (x - y <= 0)", induction(1, [[-1, 0], [0, "1/2"]], 2), False),  # not all initial states
        (MEETING, "G (x - y < 0)", induction(1, [[-1, 0], [0, 1]], 2), False),
        (LATE, "G (x <= 1)", induction(1, [0, 0], 2), False),
        (LATE, "G (x <= 1)", induction(2, [0, 0], 2), True),
        (LATE, "G (x <= 1)", induction(2, [0, 0], 2)[:1], False),
        (LATE, "G (x <= 1)", [{"set": [[None, 0], ANY], "walk": True, "induction": 2}, [0, 0]], False),
        (LATE, "G (x <= 1)", [{"set": [ANY, ANY], "where": "x < 0", "walk": True, "induction": 2}, [0, 0]], False),
        (DOUBLING, "F G (x >= 100)", induction(1, [[1, 2]], after=7), True),
        (DOUBLING, "F G (x >= 100)", induction(1, [[1, 2]], after=6), False),
        (DOUBLING, "G[7,] (x >= 100)", induction(1, [[1, 2]], after=7), True),
        (DOUBLING, "G[7,] (x > 128)", induction(1, [[1, 2]], after=7), False),
        (ENDING, "F G (x >= 4)", induction(1, [0], after=4), False),  # its paths end before
        (ENDING, "G[4,] (x >= 4)", induction(1, [0], after=4), True),
    ],
)
def test_what_sets_show(
    system: tuple[str, str, str], formula: str, sets: list[Any], expected: bool, tmp_path: Path
) -> None:
    assert accepts(tmp_path, system, formula, sets) is expected


@pytest.mark.parametrize(
    ("formula", "sets"),
    [
        ("G (x >= 100)", induction(1, [[1, 2]], after=7)),
        ("F (x >= 100)", induction(1, [[1, 2]])),
        ("AG EF (x >= 100)", induction(1, [[1, 2]])),
        ("G (x >= 1)", [{"set": [ANY], "where": "x >= choose(0, 1)"}]),
        ("G (x >= 1)", [{"set": [ANY], "where": "G (x >= 1)"}]),
        ("G (x >= 1)", [{"set": [ANY], "where": "x >= "}]),
        ("G (x >= 1)", [{"set": [ANY], "rows": [[1]]}]),
        ("G (x >= 1)", [{"set": [ANY], "induction": -1}]),
        ("G (x >= 1)", [{"set": [ANY], "induction": 10**9}]),
        ("G (x >= 1)", [[[2, None]], [[float("inf"), None]]]),
    ],
)
def test_what_is_not_read(formula: str, sets: list[Any], tmp_path: Path) -> None:
    with pytest.raises(Unreadable):
        accepts(tmp_path, DOUBLING, formula, sets)


def test_an_induction_over_integers_is_not_read(tmp_path: Path) -> None:
    system = ('n = "int"', "n = 0", 'n = "n"')
    with pytest.raises(Unreadable):
        accepts(tmp_path, system, "G (n <= 0)", [{"set": [0], "walk": True, "induction": 1}, [0]])


def test_a_condition_that_is_not_defined_is_rejected(tmp_path: Path) -> None:
    assert not accepts(tmp_path, DOUBLING, "G (x >= 1)", [{"set": [ANY], "where": "1 / (x - 1.5) > 0 | x >= 1"}])


@pytest.mark.parametrize("seed", range(30))
def test_bounds_by_rows_contain_every_point(seed: int) -> None:
    """At each point of a grid that meets the rows a form is at most its bound."""
    draw = random.Random(seed)
    size = draw.choice([1, 2, 3])
    options: list[Any] = [(Fraction(-2), Fraction(2)), (Fraction(-2), inf), (-inf, inf)]
    ranges = {s: draw.choice(options) for s in range(size)}
    number = [Fraction(n, 2) for n in range(-4, 5)]
    rows = [
        Exact(draw.choice(number), {s: draw.choice([n for n in number if n]) for s in range(size)})
        for _ in range(draw.randrange(5))
    ]
    form = Exact(draw.choice(number), {s: draw.choice([n for n in number if n]) for s in range(size)})
    found = most(form, rows, ranges)
    points = [dict(enumerate(point)) for point in product([Fraction(n, 2) for n in range(-8, 9)], repeat=size)]
    inside = [p for p in points if all(low <= p[s] <= high for s, (low, high) in ranges.items())]
    for row in rows:
        inside = [p for p in inside if row.const + sum(a * p[s] for s, a in row.terms.items()) <= 0]
    best = max((form.const + sum(a * p[s] for s, a in form.terms.items()) for p in inside), default=-inf)
    assert best <= found


def test_rows_that_contradict_each_other_leave_nothing() -> None:
    rows = [
        Exact(Fraction(1), {0: Fraction(1), 1: Fraction(1)}),
        Exact(Fraction(1), {0: Fraction(-1), 1: Fraction(-1)}),
    ]
    assert most(Exact(Fraction(0), {0: Fraction(1)}), rows, {0: (-inf, inf), 1: (-inf, inf)}) == -inf
