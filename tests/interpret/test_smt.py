"""Terms modulo theories: at every point they have the exact value, and no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.interpret.sets import boxes, items, samples
from tests.portion import some
from tests.strategies import expressions
from vernal.interpret.smt import NoTerm, Script, number
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.sorts import BOOL, INT
from vernal.model.system import OneOf, Span, Start
from vernal.solvers.base import Satisfiable, SmtSolved

z3 = pytest.importorskip("vernal.solvers.z3", reason="z3 is not installed: pip install 'vernal[smt]'")

X, Y = build.var("x"), build.var("y")
ANYWHERE: dict[Expr, tuple[Start, ...]] = {
    X: (Span(Fraction(-10), Fraction(10)),),
    Y: (Span(Fraction(-10), Fraction(10)),),
}


def solve(script: Script) -> SmtSolved:
    found: SmtSolved = z3.Z3().check(script.text, script.unknowns, 20.0)
    return found


def at_point(values: Mapping[Expr, Any]) -> Script:
    """A script in which every variable has one value."""
    return Script({var: tuple(OneOf((x,)) for x in items(value)) for var, value in values.items()})


def literal(node: Expr, value: Any) -> str:
    return ("true" if value else "false") if node.sort == BOOL else number(Fraction(value))


def equations(script: Script, roots: Sequence[Expr], values: Sequence[Any]) -> list[str]:
    """That roots have these values, as far as these are known."""
    return [
        f"(= {term} {literal(root, value)})"
        for root, known in zip(roots, values, strict=True)
        for term, value in zip(script.need(root), items(known), strict=True)
        if isinstance(value, Fraction | bool)
    ]


def decide(script: Script, taken: Mapping[Expr, Any]) -> None:
    for node, value in taken.items():
        if isinstance(node, e.Argmax) and node.occurrence in script.winners and isinstance(value, Fraction):
            script.claim(f"(= {script.winners[node.occurrence]} {number(value)})")
        elif isinstance(node, e.Between) and node.occurrence in script.disturbances:
            for name, x in zip(script.disturbances[node.occurrence], items(value), strict=True):
                if isinstance(x, Fraction):
                    script.claim(f"(= {name} {number(x)})")


@settings(max_examples=some(60))
@given(data=st.data())
def test_every_exact_sample_is_a_model(data: st.DataObject) -> None:
    roots = data.draw(expressions(smooth=False))
    values, taken = data.draw(samples(data.draw(boxes()), roots))
    script = at_point({node: value for node, value in taken.items() if isinstance(node, e.Var)})
    claims = equations(script, roots, values)
    decide(script, taken)
    for claim in claims:
        script.claim(claim)
    assert solve(script).status is Satisfiable.YES


@settings(max_examples=some(60))
@given(data=st.data())
def test_where_nothing_is_drawn_there_is_no_other(data: st.DataObject) -> None:
    roots = data.draw(expressions(smooth=False, draws=False))
    values, point = data.draw(samples(data.draw(boxes()), roots))
    script = at_point(point)
    claims = equations(script, roots, values)
    script.claim(f"(not (and true {' '.join(claims)}))")
    assert solve(script).status is Satisfiable.NO


# Single operators -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("impossible", "possible"),
    [
        (build.power(X, 2) < 0, build.eq(build.power(X, 2), 4)),
        (build.eq(build.apply(Function.SQRT, X * X), -1), build.eq(build.apply(Function.SQRT, X), 3)),
        (build.conj(X > 0, build.power(X, -1) < 0), build.eq(build.power(X, Fraction(-1, 2)), 2)),
        (build.eq(build.power(X, 0), 0), build.eq(build.power(X, Fraction(2, 3)), 4)),
        (build.compare("<=", build.PI, Fraction(31415926, 10**7)), build.compare("<=", build.PI, X)),
        (build.floor(X) > X, build.eq(build.floor(X), -3)),
        (build.conj(build.sign(X) > 0, X <= 0), build.eq(build.sign(X), -1)),
        (build.maximum(X, Y, 0) < X, build.conj(build.eq(build.maximum(X, Y), Y), X < Y)),
        (build.minimum(X, Y, 0) > Y, build.eq(build.minimum(X, Y, 2), 2)),
        (build.eq(build.choose(1, 2, 3), 4), build.eq(build.choose(1, 2, 3), 3)),
        (build.between(X, X + 1) < X, build.eq(build.between(X, X + 1), X)),
        (
            build.conj(build.eq(build.argmax(build.concat(X, Y)), 0), X < Y),
            build.eq(build.argmax(build.concat(X, X)), 1),
        ),
    ],
    ids=lambda node: type(node).__name__,
)
def test_what_can_be_true(impossible: Expr, possible: Expr) -> None:
    for condition, status in ((impossible, Satisfiable.NO), (possible, Satisfiable.YES)):
        script = Script(ANYWHERE)
        script.require(condition)
        assert solve(script).status is status


def test_nothing_is_claimed_from_undefined_values() -> None:
    """1/x and 1/y at x = y = 0 are two values nobody knows, not one."""
    script = at_point({X: Fraction(0), Y: Fraction(0)})
    script.require(build.compare("!=", build.div(1, X), build.div(1, Y)))
    assert solve(script).status is Satisfiable.YES


def test_integers_are_whole() -> None:
    n = build.var("n", INT)
    script = Script({n: (Span(Fraction(0), Fraction(3)),)})
    script.require(build.conj(n > 1, n < 2))
    assert solve(script).status is Satisfiable.NO


def test_irrational_values_are_rounded() -> None:
    script = Script(ANYWHERE)
    script.require(build.conj(build.eq(X * X, 2), X > 0))
    outcome = solve(script)
    (name,) = script.need(X)
    assert outcome.values[name] ** 2 == pytest.approx(2, abs=1e-25)
    assert outcome.values[name] ** 2 != 2


@pytest.mark.parametrize("node", [build.apply(Function.SIN, X), build.power(X, 1000)])
def test_what_has_no_term_says_so(node: Expr) -> None:
    with pytest.raises(NoTerm):
        Script(ANYWHERE).need(node)


def test_deep_graphs_are_no_problem() -> None:
    node: Expr = X
    for _ in range(3000):
        node = build.relu(node)
    script = Script(ANYWHERE)
    script.require(node < 0)
    assert solve(script).status is Satisfiable.NO
