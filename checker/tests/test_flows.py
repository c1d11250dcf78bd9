"""The lemma *flow*, on flows whose solutions are known: what is true is accepted, and what is false never is."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import cos, exp, sin
from pathlib import Path
from typing import Any

import pytest

from checker.tests.writing import certificate
from vernal_check import curves, flows, seconds
from vernal_check.check import check
from vernal_check.directed import Rounded
from vernal_check.errors import Rejected, Unreadable
from vernal_check.evaluation import outcomes
from vernal_check.expressions import Scope
from vernal_check.forms import ONE, ZERO, Exact
from vernal_check.jets import Jet, Middle, RateScope
from vernal_check.syntax import expression

RISING = {"x": ("[-9, 9]", "[0, 0.1]", "1")}
FALLING = {"x": ("[-9, 9]", "[1, 2]", "-x")}
TURNING = {"x": ("[-3, 3]", "[0.9, 1.1]", "-y"), "y": ("[-3, 3]", "[-0.1, 0.1]", "x")}
SHORT = {"x": ("[-1, 0.5]", "[0, 0.1]", "1")}
WINDY = {"x": ("[-9, 9]", "0", "between(-1, 1)")}
PUSHED = {"x": ("[-9, 9]", "[0, 0.1]", "-x + between(-0.1, 0.2)")}
SHARED = {"x": ("[-9, 9]", "0", "w"), "y": ("[-9, 9]", "0", "-w")}
APART = {"x": ("[-9, 9]", "0", "between(-1, 1)"), "y": ("[-9, 9]", "0", "-between(-1, 1)")}
GROWING = {"x": ("[-9, 9]", "0", "(x^2)^(1/4)")}  # from 0 there are many solutions, among them t^2/4
KINKED = {"x": ("[-9, 9]", "[-0.1, 0.02]", "-abs(x)")}
BURSTING = {"x": ("[0, 50]", "1", "x^2")}
STILL = {"x": ("[-9, 9]", "[0, 1]", "0")}


def flow(folder: Path, system: dict[str, tuple[str, str, str]], more: str = "") -> Path:
    file = folder / "flow.toml"
    tables = zip(("state", "init", "flow"), zip(*system.values(), strict=True), strict=True)
    lines = ["vernal = 1"]
    for name, entries in tables:
        lines.append(f"[{name}]")
        for variable, entry in zip(system, entries, strict=True):
            lines.append(f'{variable} = "{"real " if name == "state" else ""}{entry}"')
    file.write_text("\n".join([*lines, more]) + "\n")
    return file


def box(system: dict[str, tuple[str, str, str]]) -> list[Any]:
    cells = [start for _, start, _ in system.values()]
    return [[*map(float, c[1:-1].split(","))] if c.startswith("[") else float(c) for c in cells]


def accepts(folder: Path, system: Any, formula: str, more: str = "", sets: Any = None, **header: Any) -> bool:
    file = flow(folder, system, more)
    lines = [{"set": one, "walk": True} for one in (sets or [box(system)])]
    told = {"semantics": "seconds-1", **header}
    try:
        check(certificate(file, formula, list(system), lines, **told))
    except Rejected:
        return False
    return True


@pytest.mark.parametrize(
    ("system", "formula", "expected"),
    [
        (RISING, "G[0,1] (x <= 1.101)", True),
        (RISING, "G[0,1] (x <= 1.099)", False),
        (RISING, "G[0,1.01] (x <= 1.101)", False),  # a horizon of one step more
        (RISING, "G[0,0] (x <= 0.11)", True),
        (RISING, "G[0.5,1] (x >= 0.499)", True),
        (RISING, "G[0.4,1] (x >= 0.499)", False),
        (RISING, "F[1,1] (x >= 0.999)", True),
        (RISING, "F[0,0.9] (x >= 0.95)", False),
        (RISING, "F[0,2] (x == 1)", False),  # true of all, but at no time of all at once
        (RISING, "G[0,1] (x >= 0.5 | x <= 0.6)", True),
        (RISING, "G[0,1] (x < 0.5) | F[0,1] (x > 0.99)", True),
        (RISING, "(x <= 0.9) U[0,2] (x >= 0.7)", True),
        (RISING, "(x <= 0.6) U[0,2] (x >= 0.7)", False),
        (RISING, "(x <= 0.9) U[0,0.5] (x >= 0.7)", False),
        (RISING, "!((x <= 0.9) U[0,2] (x >= 0.95))", False),
        (RISING, "!((x <= 0.5) U[0.9,2] (x <= 9))", False),  # true, but only what follows from q is looked for
        (RISING, "G[0,1] F[0.4,0.5] (x >= 0.39)", True),
        (RISING, "G[0,1] F[0.1,0.2] (x >= 0.39)", False),
        (RISING, "G[0,1] (x >= 0.5 -> F[0,0.5] (x >= 0.9))", True),
        (RISING, "F[0,1] G[0,1] (x >= 0.9)", True),
        (RISING, "F[0,1] G[0,1] (x >= 1.2)", False),
        (RISING, "G[0,1] false", False),
        (FALLING, f"G[0,1] (x >= {exp(-1) - 1e-3})", True),
        (FALLING, f"G[0,1] (x >= {exp(-1) + 1e-3})", False),
        (FALLING, f"G[1,2] (x <= {2 * exp(-1) + 1e-3})", True),
        (FALLING, f"G[1,2] (x <= {2 * exp(-1) - 1e-3})", False),
        (TURNING, f"F[2,2] (x <= {1.1 * cos(2) + 0.1 * sin(2) + 0.2})", True),
        (TURNING, "G[0,3] (x^2 + y^2 <= 1.3)", True),
        (TURNING, "G[0,3] (x^2 + y^2 <= 1.2)", False),
        (TURNING, "F[0,4] (x <= -0.85 & abs(y) <= 0.2)", True),
        (SHORT, "G[0,1] (x <= 0.501)", True),  # nothing is said of what has left the region
        (SHORT, "G[0,1] (x <= 0.49)", False),
        (SHORT, "F[0,1] (x >= 0.3)", True),
        (SHORT, "F[0,1] (x >= 0.501)", False),  # outside of the region
        (SHORT, "F[0.45,1] true", False),  # some have left it
        (SHORT, "F[0.39,1] true", True),
        (SHORT, "G[0.6,1] false", True),  # all have
        (WINDY, "G[0,1] (abs(x) <= 1.001)", True),
        (WINDY, "G[0,1] (abs(x) <= 0.999)", False),
        (PUSHED, f"G[0,1] (x <= {0.2 - 0.1 * exp(-1) + 0.01} & x >= {-0.1 + 0.1 * exp(-1) - 0.01})", True),
        (PUSHED, f"G[0,1] (x <= {0.2 - 0.1 * exp(-1) - 0.002})", False),
        (PUSHED, f"G[0,1] (x >= {-0.1 + 0.1 * exp(-1) + 0.002})", False),
        (APART, "G[0,1] (abs(x + y) <= 0.1)", False),
        (GROWING, "G[0,1] (x <= 0)", False),
        (GROWING, "G[0,1] (x <= 0.24)", False),
        (GROWING, "G[0,1] (x <= 0.4)", True),
        (KINKED, f"G[0,1] (x >= {-0.1 * exp(1) - 0.05})", True),
        (KINKED, f"G[0,1] (x >= {-0.1 * exp(1) + 0.002})", False),
        (BURSTING, "G[0,1.5] (x <= 50.01)", True),
        (BURSTING, "G[0,1.5] (x <= 20)", False),
        (BURSTING, "F[0,1] (x >= 50.5)", False),
        (BURSTING, "G[0,0.5] (x <= 2.01)", True),
        (STILL, "G[0,100] (x <= 1.001)", True),
        (STILL, "F[0,100] (x > 0.5)", False),
    ],
)
def test_flows_whose_solutions_are_known(tmp_path: Path, system: Any, formula: str, expected: bool) -> None:
    assert accepts(tmp_path, system, formula) is expected


def test_a_let_is_one_disturbance(tmp_path: Path) -> None:
    more = '[flow.let]\nw = "between(-1, 1)"'
    assert accepts(tmp_path, SHARED, "G[0,1] (abs(x) <= 1.001)", more)
    assert not accepts(tmp_path, SHARED, "G[0,1] (abs(x) <= 0.999)", more)


def test_the_sets_have_to_contain_all_initial_states(tmp_path: Path) -> None:
    assert accepts(tmp_path, RISING, "G[0,1] (x <= 2)", sets=[[[0, 0.05]], [[0.05, 0.1]]])
    assert not accepts(tmp_path, RISING, "G[0,1] (x <= 2)", sets=[[[0, 0.04]], [[0.05, 0.1]]])
    assert not accepts(tmp_path, RISING, "G[0,1] (x <= 2)", sets=[[0]])
    line = '[init]\nx = "[0, 1]"\nwhere = ["x <= 0.5"]\n'
    file = flow(tmp_path, RISING)
    file.write_text(file.read_text().replace('[init]\nx = "[0, 0.1]"\n', line))
    sets = [{"set": [[0, 0.5]], "walk": True}]
    assert "1 set" in str(check(certificate(file, "G[0,1] (x <= 1.51)", ["x"], sets, semantics="seconds-1")))
    with pytest.raises(Rejected):
        check(certificate(file, "G[0,1] (x <= 1.49)", ["x"], sets, semantics="seconds-1"))


@pytest.mark.parametrize(
    ("rate", "formula", "more", "header"),
    [
        ("1", "G (x <= 9)", "", {}),  # no last time
        ("1", "G[0,] (x <= 9)", "", {}),
        ("1", "X (x <= 9)", "", {}),
        ("1", "AG[0,1] (x <= 9)", "", {}),
        ("1", "(x <= 1) W[0,1] (x >= 1)", "", {}),
        ("1", "G[1,0] (x <= 9)", "", {}),
        ("1", "G[0,1] (t <= 9)", "", {}),  # the clock
        ("t", "G[0,1] (x <= 9)", "", {}),
        ("1", "G[0,1] (x <= 9)", "", {"semantics": "steps-1"}),
        ("1", "G[0,1] (x <= 9)", "", {"property": "in_range"}),  # which is about leaving the region
        ("1", "G[0,1] (x <= 9)", "", {"verdict": "violated", "state": [0]}),
        ("if(x > 0, 1, -1)", "G[0,1] (x <= 9)", "", {}),
        ("choose(1, -1)", "G[0,1] (x <= 9)", "", {}),
        ("sign(x)", "G[0,1] (x <= 9)", "", {}),
        ("between(1, 0)", "G[0,1] (x <= 9)", "", {}),
        ("true", "G[0,1] (x <= 9)", "", {}),
        ("1", "G[0,1] (w <= 9)", '[flow.let]\nw = "between(0, 1)"', {}),
        ("1", "G[0,1] (x <= 9)", "[environment]\nevery = 1", {}),
        ("1", "G[0,1] (x <= 9)", '[environment.next]\nx = "0"', {}),
    ],
)
def test_what_is_not_read_of_flows(tmp_path: Path, rate: str, formula: str, more: str, header: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        accepts(tmp_path, {"x": ("[-9, 9]", "[0, 0.1]", rate)}, formula, more, **header)


def test_steps_have_no_seconds(tmp_path: Path) -> None:
    file = tmp_path / "task.toml"
    file.write_text('vernal = 1\n[state]\nx = "real"\n[init]\nx = 0\n[environment.next]\nx = "x"\n')
    with pytest.raises(Unreadable):
        check(certificate(file, "G[0,1] (x <= 0)", ["x"], [{"set": [0], "walk": True}], semantics="seconds-1"))


def test_sets_of_flows_are_followed(tmp_path: Path) -> None:
    file = flow(tmp_path, RISING)
    with pytest.raises(Unreadable):
        check(certificate(file, "G[0,1] (x <= 2)", ["x"], [[[0, 2]]], semantics="seconds-1"))


def test_a_rate_that_is_not_defined_is_rejected(tmp_path: Path) -> None:
    system = {"x": ("[-9, 9]", "[0, 1]", "1 / (x - 2)")}
    assert accepts(tmp_path, system, "G[0,0.5] (x <= 2)")
    assert not accepts(tmp_path, {"x": ("[-9, 9]", "[-1, 1]", "log(x)")}, "G[0,1] (x <= 9)")


@pytest.mark.parametrize(
    "text",
    [
        "x * x * x", "x^3", "1 / x", "x / (x + 1)", "sqrt(x)", "x^(2/3)", "x^(-3/2)", "exp(-x)", "log(x)", "sin(x)",
        "cos(2 * x)", "tan(x)", "tanh(x)", "sigmoid(3 * x)", "exp(sin(x)) / (1 + x^2)",
    ],
)  # fmt: skip
def test_derivatives_are_those_of_the_function(text: str) -> None:
    """x = 1 + t/4: the series of f(x(t)), cut off, is f(x(t)) but for what is left out."""
    jet = Jet({}, lambda i: Exact(Fraction(1, 4)) if i == 1 else Exact(ZERO), [Exact(ONE)])
    node, run = expression(text), Middle((), {})
    made = RateScope(run, lambda name, scope: jet, {}).number(node)
    assert isinstance(made, Jet)
    time = Fraction(1, 8)
    total = sum((sum(made[i].range({})) / 2 * time**i for i in range(12)), ZERO)
    values = list(outcomes({}, lambda run: Scope(run, lambda name, scope: Exact(ONE + time / 4), {}).number(node)))
    (outcome,) = values
    assert abs(total - sum(outcome.value.range({})) / 2) < Fraction(1, 10**9)


def test_roots_of_all_orders_are_enclosed() -> None:
    for n in (2, 3, 5, 7):
        for x in (Fraction(1, 3), Fraction(2), Fraction(10**30), Fraction(1, 10**30)):
            low, high = curves.nth_root(n, x)
            assert low**n <= x <= high**n
            assert high - low <= high / 2**60
    assert curves.nth_root(3, Fraction(8, 27)) == (Fraction(2, 3), Fraction(2, 3))


def _no_deviation(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(flows.Follower, "deviation", lambda self, box, length: tuple((ZERO, ZERO) for _ in box))


def _no_error(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Rounded, "merged", lambda self, kept: 0.0)


def _border_is_inside(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        flows, "within", lambda image, box: all(c <= a and b <= d for (a, b), (c, d) in zip(image, box, strict=True))
    )
    patch.setattr(flows, "grown", lambda box, step: box)


def _no_remainder(patch: pytest.MonkeyPatch) -> None:
    def cut(place: Any, terms: Any, last: Any, more: Any, length: Any) -> Any:
        return original(place, terms, [(ZERO, ZERO) for _ in last], more, length)

    original = flows.finished
    patch.setattr(flows, "ORDER", 1)
    patch.setattr(flows, "LOSS", Fraction(10**9))
    patch.setattr(flows, "finished", cut)


def _never_leaves(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(seconds.Trajectories, "_inside_until", lambda self: Fraction(100))


def _any_end_will_do(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(seconds, "stops", lambda formula: frozenset([ZERO, Fraction(1)]))
    patch.setattr(seconds.Trajectories, "covers", lambda self, time: True)


@pytest.mark.parametrize(
    ("fault", "system", "formula"),
    [
        (_no_deviation, WINDY, "G[0,1] (abs(x) <= 0.999)"),
        (_no_error, WINDY, "G[0,1] (abs(x) <= 0.999)"),
        (_border_is_inside, GROWING, "G[0,1] (x <= 0)"),
        (_no_remainder, FALLING, "G[1,1] (x <= 0.73)"),
        (_never_leaves, SHORT, "F[0.45,1] true"),
        (_any_end_will_do, RISING, "G[0,1.01] (x <= 1.101)"),
    ],
)
def test_what_is_checked_matters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Callable[[Any], None], system: Any, formula: str
) -> None:
    """Without any part of the lemma something false is accepted: the claims above would show it."""
    assert not accepts(tmp_path, system, formula)
    fault(monkeypatch)
    assert accepts(tmp_path, system, formula)
