"""Arrays of state variables in Python: the same system as a task file gives, and operators like numpy's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vernal as vn
from vernal.errors import TypeClash
from vernal.interpret.concrete import evaluate
from vernal.model.arrays import ExprArray
from vernal.model.expr import Expr
from vernal.model.graph import variables

TASK = """
vernal = 1
name = "ring"
[state]
d = "bool[3]"
p = "real[2] [-1, 1]"
i = "int [0, 2]"
[init]
d = ["false", "true", "false"]
p = "[-1, 1]"
i = 0
[environment.next]
d = "[d[(k + 2) % 3] for k in 0..2]"
p = ["p[0]/2 + p[1]/4", "-p[1]"]
i = "(i + 1) % 3"
"""


def ring() -> vn.System:
    return vn.System(
        "ring",
        state={"d": vn.array(vn.boolean(), 3), "p": vn.array(vn.real(-1, 1), 2), "i": vn.integer(0, 2)},
        init={"d": [False, True, False], "p": vn.interval(-1, 1), "i": 0},
        step=lambda s: {
            "d": [s.d[2], s.d[0], s.d[1]],
            "p": [s.p[0] / 2 + s.p[1] / 4, -s.p[1]],
            "i": (s.i + 1) % 3,
        },
    )


def test_the_same_system_as_a_task_file_gives(tmp_path: Path) -> None:
    (tmp_path / "ring.toml").write_text(TASK)
    assert ring() == vn.load(tmp_path / "ring.toml").system


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("G[0,6] count(d[k] for k in 0..2) == 1", vn.HOLDS),
        ("G[0,6] d[i]", vn.VIOLATED),
        ("G[0,6] d[(i + 1) % 3]", vn.HOLDS),
        ("G[0,6] all(abs(p[k]) <= 1 for k in 0..1)", vn.HOLDS),
    ],
)
def test_formulas_speak_of_components(formula: str, verdict: vn.Verdict) -> None:
    assert vn.check(ring(), formula).verdict is verdict


def values(parts: Iterable[Any], **given: Sequence[float]) -> list[float]:
    """The components at a point."""
    listed = list(parts)
    inputs: dict[Expr, Any] = {node: np.array([given[node.name[0]][int(node.name[2])]]) for node in variables(listed)}
    return [float(found[0]) for found in evaluate(listed, inputs)]


def pair() -> tuple[ExprArray, ExprArray]:
    seen: list[ExprArray] = []

    def step(s: Any) -> dict[str, Expr]:
        seen.extend([s.a, s.b])
        return {}

    declared = {"a": vn.array(vn.real(), 3), "b": vn.array(vn.real(), 3)}
    vn.System(state=declared, init={"a": 0, "b": [1, vn.interval(0, 1), vn.one_of(1, 2)]}, step=step)
    return seen[0], seen[1]


A, B = np.array([1.0, -2.0, 0.5]), np.array([3.0, 4.0, -1.0])


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a + b,
        lambda a, b: 2 * a - b / 4,
        lambda a, b: 1 - a,
        lambda a, b: a * b + np.array([1.0, 2.0, 3.0]),
        lambda a, b: np.array([1.0, 2.0, 3.0]) * a,
        lambda a, b: np.array([[1.0, 2.0, 3.0], [0.5, 0.0, -1.0]]) @ a,
        lambda a, b: a[1:] - b[:2],
        lambda a, b: a**2,
        lambda a, b: abs(a),
        lambda a, b: 1 / b,
        lambda a, b: -a[::-1],
    ],
)
def test_operators_do_what_numpys_do(function: Callable[..., Any]) -> None:
    a, b = pair()
    assert values(function(a, b), a=list(A), b=list(B)) == pytest.approx(list(function(A, B)))


def test_folds() -> None:
    a, b = pair()
    found = values([a.sum(), a.min(), a.max(), a @ b, (a > 0).count(), [1.0, 1.0, 1.0] @ b], a=list(A), b=list(B))
    assert found == pytest.approx([A.sum(), A.min(), A.max(), A @ B, 2, B.sum()])
    assert values([(a < b).all(), (a < b).any(), (~(a > b)).all()], a=list(A), b=list(B)) == [0, 1, 0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda s: {"p": [s.p[0]]}, "'p' has 2 components, 0 to 1, but here are 1"),
        (lambda s: {"p": s.p + s.d}, "an array of 2 and one of 3 cannot be combined"),
        (lambda s: {"p": s.p[3]}, "there is no component 3; the array has components 0 to 1"),
        (lambda s: {"p": s.p[s.i]}, "this index may be from 0 to 2, but the array has components 0 to 1"),
        (lambda s: {"p": s.p[s.p[0]]}, "must be an integer"),
        (lambda s: {"q": s.p}, "there is no state variable 'q'"),
    ],
)
def test_what_does_not_fit_is_refused(wrong: Callable[[Any], Any], message: str) -> None:
    state = {"d": vn.array(vn.boolean(), 3), "p": vn.array(vn.real(-1, 1), 2), "i": vn.integer(0, 2)}
    with pytest.raises(vn.InputError, match=message.replace("(", r"\(")):
        vn.System(state=state, init={"d": False, "p": 0, "i": 0}, step=wrong)


def test_no_truth_value_and_no_equation() -> None:
    a, b = pair()
    with pytest.raises(TypeError, match=r"\.all\(\) or \.any\(\)"):
        bool(a > b)
    with pytest.raises(TypeError, match="compares objects"):
        a == 1  # noqa: B015
    assert a == a[:]
    assert a != b
    with pytest.raises(TypeClash, match="at least 1"):
        vn.array(vn.real(), 0)


def test_components_draw_each_their_own() -> None:
    made = vn.System(
        state={"p": vn.array(vn.real(), 2)},
        init={"p": 0},
        step=lambda s: {"p": [s.p[0] + vn.between(-1, 1), s.p[1] + vn.choose(0, 1)]},
    )
    assert vn.check(made, "G[0,3] all(abs(p[k]) <= 3 for k in 0..1)").verdict is vn.HOLDS
    assert vn.check(made, "G[0,3] p[1] <= 2").verdict is vn.VIOLATED
