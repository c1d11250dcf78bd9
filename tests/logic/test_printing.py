"""What is printed is read back to the same thing, and looks as people write it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.logic.formulas import ALL, SOME, formulas
from vernal.logic.elaboration import Scope, expression, formula
from vernal.logic.formula import Always, And, Atom, Bound, Formula, Next, Or, Until
from vernal.logic.printing import MAX_CHARACTERS, number, text
from vernal.logic.scope import Scope as ScopeAgain
from vernal.model import build
from vernal.model.expr import Expr, Function, Matrix
from vernal.model.sorts import BOOL, INT, enum
from vernal.model.travel import canonical

LIGHT, ADVICE = enum("RED", "GREEN", "G", "X", "U"), enum("COC", "DNC", "RED", "A")
x, y, n = build.var("x"), build.var("y"), build.var("n", INT)
p, q = build.var("p", BOOL), build.var("q", BOOL)
light, advice = build.var("light", LIGHT), build.var("advice", ADVICE)
force = build.var("force", shape=(3,))
NAMES: dict[str, Expr] = {"x": x, "y": y, "n": n, "p": p, "q": q, "light": light, "advice": advice, "force": force}
SCOPE = Scope(NAMES)
DRAWING = Scope({**NAMES, "when": build.var("when")}, allow_draws=True)

NUMBERS = st.fractions(-20, 20, max_denominator=12) | st.sampled_from([Fraction(1, 10**30), Fraction(10**25)])


def labels(variable: Expr) -> st.SearchStrategy[Expr]:
    return st.sampled_from([build.label(variable.sort, label) for label in variable.sort.labels])


ENUMS = st.one_of(
    st.builds(build.eq, st.just(light), labels(light)),
    st.builds(build.eq, labels(advice), st.just(advice)),
    st.builds(lambda a, b: build.compare("!=", light, build.if_(p, a, b)), labels(light), labels(light)),
)


def numeric(inner: st.SearchStrategy[Expr], truths: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    exponents = st.sampled_from(
        [Fraction(2), Fraction(3), Fraction(-1), Fraction(1, 2), Fraction(1, 3), Fraction(-2, 3)]
    )
    nonzero = inner.filter(lambda node: getattr(node, "values", (1,))[0] != 0)
    return st.one_of(
        st.builds(build.add, inner, inner),
        st.builds(build.add, inner, inner, inner),
        st.builds(build.sub, inner, inner),
        st.builds(build.mul, inner, inner),
        st.builds(build.div, inner, nonzero),
        st.builds(build.neg, inner),
        st.builds(build.power, nonzero, exponents),
        st.builds(build.maximum, inner, inner),
        st.builds(build.clip, inner, inner, inner),
        st.builds(build.absolute, inner),
        st.builds(build.relu, inner),
        st.builds(build.sign, inner),
        st.builds(build.floor, inner),
        st.builds(build.apply, st.sampled_from(Function), inner),
        st.builds(build.atan2, inner, nonzero),
        st.builds(build.if_, truths, inner, inner),
        st.builds(lambda a, b: build.switch(light, [Fraction(2), None], [a, b]), inner, inner),
        st.builds(lambda a, b: build.switch(p, [Fraction(1), Fraction(0)], [a, b]), inner, inner),
        st.builds(lambda a, b: build.switch(n, [Fraction(-3), None], [a, b]), inner, inner),
    )


SIMPLE = st.one_of(st.sampled_from([x, y, n, build.PI, force[0], force[2]]), st.builds(build.const, NUMBERS))
COMPARED = st.builds(build.compare, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), SIMPLE, SIMPLE)
TRUTHS = st.one_of(
    st.sampled_from([p, q]),
    ENUMS,
    COMPARED,
    st.builds(build.conj, COMPARED, ENUMS, COMPARED),
    st.builds(lambda a, b: build.eq(build.disj(a, p), build.negate(b)), COMPARED, ENUMS),
    st.builds(lambda a, b: build.negate(build.conj(p, build.disj(a, b))), COMPARED, COMPARED),
)
EXPRESSIONS = st.recursive(SIMPLE, lambda inner: numeric(inner, TRUTHS), max_leaves=8)
ATOMS = (
    st.one_of(
        st.sampled_from([p, q, build.TRUE, build.FALSE]),
        ENUMS,
        st.builds(build.compare, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), EXPRESSIONS, EXPRESSIONS),
        st.builds(lambda c, a, b: build.if_(c, a, b), COMPARED, ENUMS, COMPARED),
    )
    .filter(lambda node: node.sort == BOOL and type(node).__name__ not in ("And", "Or", "Not"))
    .map(Atom)
)


@given(EXPRESSIONS)
def test_expressions_are_read_back(node: Expr) -> None:
    assert expression(text(node), SCOPE) is node


@given(TRUTHS)
def test_truths_are_read_back(node: Expr) -> None:
    assert expression(text(node), SCOPE) is node


@given(formulas(ATOMS, [None], most=12) | formulas(ATOMS, [ALL, SOME], most=12))
def test_formulas_are_read_back(made: Formula) -> None:
    assert formula(str(made), SCOPE) == made


@given(NUMBERS)
def test_numbers_are_exact(value: Fraction) -> None:
    assert Fraction(number(value)) == value


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("F<=5 p", "F[0,5] p"),
        ("[] p", "G p"),
        ("p U [2:9] q", "p U[2,9] q"),
        ("X[3] p", "X[3] p"),
        ("X[1] p", "X p"),
        ("X[0] p", "X[0] p"),
        ("always eventually p", "G F p"),
        ("AG EF p", "AG EF p"),
        ("A[p U q]", "A[p U q]"),
        ("E[p W[1,2] !q]", "E[p W[1,2] !q]"),
        ("F[2,] p", "F[2,] p"),
        ("not p && q || p => q", "!p & q | p -> q"),
        ("(p -> q) -> p", "(p -> q) -> p"),
        ("p <-> q <-> p", "p <-> q <-> p"),
        ("p <-> (q <-> p)", "p <-> (q <-> p)"),
        ("(p U q) U p", "(p U q) U p"),
        ("!(x > 0)", "!(x > 0)"),
        ("!!p", "!!p"),
        ("G (x >= 1)", "G (x >= 1)"),
        ("0 < x", "x > 0"),
        ("0 == x", "0 == x"),
        ("x - y - (n - 1) > -x", "-x < x - y - (n - 1)"),
        ("x - -1 > y", "y < x + 1"),
        ("-(x*y) - x*y > 0", "-(x * y) - x * y > 0"),
        ("x/y/n < x/(y/n)", "x / y / n < x / (y / n)"),
        ("x * (1/3) < 1/3 * x", "x * (1/3) < 1/3 * x"),
        ("-x^2 < (-x)^2", "-x ^ 2 < (-x) ^ 2"),
        ("x^(1/3) < x^0.5", "x ^ (1/3) < x ^ 0.5"),
        ("x < 1e-3", "x < 0.001"),
        ("sin(pi*x) <= clip(x, -1, 1)", "sin(pi * x) <= min(max(x, -1), 1)"),
        ("match(light, G: x, _: 0) > 0", "match(light, G: x, _: 0) > 0"),
        ("light == G U light == X", "light == G U light == X"),
        ("force[1] > 0", "force[1] > 0"),
        ("0 <= x < 5", "x >= 0 & x < 5"),
    ],
)
def test_canonical_text(written: str, printed: str) -> None:
    made = formula(written, SCOPE)
    assert str(made) == printed
    assert formula(printed, SCOPE) == made


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("choose(x when p, y when q & x > 0, 1)", "choose(x when p, y when q & x > 0, 1)"),
        ("choose(x when (p -> q))", "choose(x when !p | q)"),
        ("choose(RED when light == GREEN, light)", "choose(RED when light == GREEN, light)"),
        ("choose(if(p, x, y) when p, 0 when true)", "choose(if(p, x, y) when p, 0)"),
        ("choose(1 when false, x when p)", "choose(x when false, x when p)"),
        ("choose(choose(1 when p, 2) when q, 3) + 1", "choose(choose(1 when p, 2) when q, 3) + 1"),
        ("choose(when when p, x)", "choose(when when p, x)"),
    ],
)
def test_guarded_choices_are_read_back(written: str, printed: str) -> None:
    """Up to the occurrence: every text is a draw of its own."""
    made = expression(written, DRAWING)
    assert text(made) == printed
    assert canonical([expression(printed, DRAWING)]) == canonical([made])


def test_long_sums_and_many_signs() -> None:
    total = build.add(*(build.mul(i, x) for i in range(3_000)))
    assert expression(text(total), SCOPE) is total
    signs = expression("-" * 1000 + "x", SCOPE)
    assert expression(text(signs), SCOPE) is signs


def test_what_has_no_text() -> None:
    weights, bias = Matrix(np.ones((20, 3))), Matrix(np.zeros(20))
    layer = build.affine(force, weights, bias)
    assert text(layer) == "<affine 20x3>"
    assert text(layer[4] + x) == "<affine 20x3>[4] + x"
    assert text(build.argmax(layer)) == "<argmax of 20>"
    assert text(build.concat(x, y)) == "<vector of 2>"
    assert text(build.vector([Fraction(1), Fraction(2)])) == "<vector of 2>"
    assert text(build.gather(force, [0, 2])) == "<2 of 3 components>"
    assert text(build.leaky_relu(x, [Fraction(1, 100)])) == "<leaky relu 0.01>"
    assert text(build.choose(0, x)) == "choose(0, x)"
    assert text(build.between(-1, 1)) == "between(-1, 1)"


def test_shared_nodes_do_not_explode() -> None:
    node: Expr = x
    for _ in range(200):
        node = build.mul(node, node)
    assert len(text(node)) <= MAX_CHARACTERS + 3
    made: Formula = Atom(p)
    for _ in range(200):
        made = And((made, made))
    assert len(str(made)) <= MAX_CHARACTERS + 3


def test_deep_formulas_print() -> None:
    made: Formula = Atom(p)
    for _ in range(5000):
        made = Next(made)
    assert str(made).startswith("X X X X")


def test_odd_but_legal() -> None:
    assert str(And(())) == "true"
    assert str(Or(())) == "false"
    assert str(Until(Or((Atom(p),)), And((Atom(p), Atom(q))))) == "p U (p & q)"
    assert str(Always(Atom(p), Bound(Fraction(1, 3), Fraction(3, 2)))) == "G[1/3,1.5] p"
    assert str(Bound(Fraction(0), Fraction(3, 2))) == "[0,1.5]"
    assert ScopeAgain is Scope


def test_names_that_are_no_words_are_quoted() -> None:
    """Planning models have names such as hand-empty; a quote inside is written twice."""
    light = enum("go-on", "stop", "G")
    scope = Scope(
        {"hand-empty": build.var("hand-empty", INT), "it's": build.var("it's", INT), "light": build.var("light", light)}
    )
    for written in (
        "'hand-empty' >= 1",
        "G ('hand-empty' + 'it''s' <= 2)",
        "light == 'go-on' | light == stop | light == G",
        "match(light, 'go-on': 'hand-empty', _: 0) == 1",
    ):
        made = formula(written, scope)
        assert text(made) == written
        assert formula(text(made), scope) == made


def test_brackets_inside_a_quoted_name_are_part_of_it() -> None:
    scope = Scope({"a(b": build.var("a(b", INT)})
    assert text(formula("G ('a(b' < 1)", scope)) == "G ('a(b' < 1)"
