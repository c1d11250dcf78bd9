"""From text to typed expressions and formulas; and one clear message, at its place, for what makes no sense."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction

import numpy as np
import pytest

from vernal.errors import InputError, NameUnknown, ParseError, TypeClash, UnsupportedFormula
from vernal.logic.elaboration import Scope, expression, formula, system_scope
from vernal.logic.formula import Always, And, Atom, Bound, Eventually, Iff, Implies, Next, Not, Or, Until
from vernal.logic.parser import MAX_DEPTH, parse
from vernal.logic.syntax import Source
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Matrix, Role
from vernal.model.graph import draws
from vernal.model.network import Network, network_input
from vernal.model.sorts import BOOL, INT, REAL, Sort, enum
from vernal.model.system import Init, OneOf, System, Variable

LIGHT, ADVICE = enum("RED", "GREEN", "G"), enum("COC", "DNC", "RED")
x, y, n = build.var("x"), build.var("y"), build.var("n", INT)
p, q = build.var("p", BOOL), build.var("q", BOOL)
light, advice = build.var("light", LIGHT), build.var("advice", ADVICE)
force = build.var("force", shape=(3,), role=Role.ACTION)


def network() -> Network:
    inputs = network_input(2)
    return Network("net", inputs, build.affine(inputs, Matrix(np.ones((3, 2))), Matrix(np.zeros(3))))


NET = network()
NAMES: dict[str, Expr] = {
    **{"x": x, "y": y, "n": n, "p": p, "q": q, "light": light, "advice": advice, "force": force},
    **{"k": build.const(6), "half": build.const("1/2"), "accel": build.var("accel", role=Role.LET)},
}
SCOPE = Scope(NAMES, {"net": NET}, drawn=frozenset({"accel"}))
DRAWING = Scope(NAMES, {"net": NET}, allow_draws=True, draw_name="wind")


def label(sort: Sort, name: str) -> Expr:
    return build.label(sort, name)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("x + y - 1", build.add(x, y, -1)),
        ("x - y - n", build.add(x, -y, -n)),
        ("(x + y) + n", build.add(x, y, n)),
        ("x + (y + n)", build.add(x, build.add(y, n))),
        ("x / y * 2", build.mul(build.div(x, y), 2)),
        ("-x ^ 2", -(x**2)),
        ("2 ^ 3 ^ 2", build.const(512)),
        ("x ^ half", build.power(x, Fraction(1, 2))),
        ("0.1 + 0.2", build.const("3/10")),
        ("k * x", build.mul(6, x)),
        ("pi", build.PI),
        ("clip(x, -1, 1)", build.clip(x, -1, 1)),
        ("min(x, y, 3)", build.minimum(x, y, 3)),
        ("sqrt(abs(x))", build.apply(e.Function.SQRT, abs(x))),
        ("if(p & x > 0, x, y)", build.if_(build.conj(p, x > 0), x, y)),
        ("0 < x <= y", build.conj(build.compare("<", 0, x), x <= y)),
        ("p -> q", build.disj(~p, q)),
        ("p <-> q <-> p", build.eq(build.eq(p, q), p)),
        ("p & q & p", build.conj(p, q, p)),
        ("force[2]", force[2]),
        ("net(x, y)[1]", NET(x, y)[1]),
        ("net(x, y)", NET(x, y)),
        ("light == RED", build.eq(light, label(LIGHT, "RED"))),
        ("RED != advice", build.compare("!=", label(ADVICE, "RED"), advice)),
        ("light == G", build.eq(light, label(LIGHT, "G"))),
        ("COC", label(ADVICE, "COC")),
        ("light == if(p, RED, G)", build.eq(light, build.if_(p, label(LIGHT, "RED"), label(LIGHT, "G")))),
        ("if(p, RED, DNC)", build.if_(p, label(ADVICE, "RED"), label(ADVICE, "DNC"))),
        (
            "match(p, true: RED, false: match(q, true: RED, _: light)) == light",
            build.eq(
                build.switch(
                    p,
                    [Fraction(1), Fraction(0)],
                    [label(LIGHT, "RED"), build.switch(q, [Fraction(1), None], [label(LIGHT, "RED"), light])],
                ),
                light,
            ),
        ),
        (
            "match(light, RED: 1, GREEN: 2, G: 3)",
            build.switch(light, [Fraction(0), Fraction(1), Fraction(2)], [1, 2, 3]),
        ),
        ("match(n, -1: x, k: y, _: 0)", build.switch(n, [Fraction(-1), Fraction(6), None], [x, y, 0])),
    ],
)
def test_expressions(text: str, meaning: Expr) -> None:
    assert expression(text, SCOPE) is meaning


def test_the_pilot_of_the_design() -> None:
    """`complies` and `accel` of the VerticalCAS task, as DESIGN writes them."""
    adv = enum("COC", "DNC", "DND")
    names: dict[str, Expr] = {"adv": build.var("adv", adv), "v": x, "g": build.const("32.2")}
    names["advisor"] = build.var("advisor", adv, role=Role.ACTION)
    scope = Scope(names, allow_draws=True, draw_name="accel")
    complies = expression("advisor == adv & match(advisor, COC: false, DNC: v <= 0, DND: v >= 0)", scope, BOOL)
    branches = [build.FALSE, x <= 0, build.compare("<=", 0, x)]
    chosen = build.switch(names["advisor"], [Fraction(0), Fraction(1), Fraction(2)], branches)
    assert complies is build.conj(build.eq(names["advisor"], names["adv"]), chosen)
    accel = expression("match(advisor, COC: choose(-g/8, 0, g/8), _: choose(-g/3, -7*g/24, -g/4))", scope, REAL)
    gravity = Fraction("32.2")
    assert [[getattr(arg, "value", None) for arg in draw.args] for draw in draws([accel])] == [
        [-gravity / 8, 0, gravity / 8],
        [-gravity / 3, -7 * gravity / 24, -gravity / 4],
    ]


def test_expected_sorts() -> None:
    assert expression("RED", SCOPE, ADVICE) is label(ADVICE, "RED")
    assert expression("n + 1", SCOPE, REAL).sort == INT
    assert expression("if(p, RED, RED)", SCOPE, LIGHT) is build.if_(p, label(LIGHT, "RED"), label(LIGHT, "RED"))
    assert expression(parse("x"), SCOPE) is x
    assert expression("A", Scope(sorts=(enum("A", "B"),))) is label(enum("A", "B"), "A")


def test_each_draw_is_its_own() -> None:
    first, second = draws([expression("choose(0, 1) + choose(0, 1)", DRAWING)])
    assert first is not second
    assert first.occurrence.name == second.occurrence.name == "wind"
    (width,) = draws([expression("0 < between(-1, k) < 5", DRAWING)])
    assert isinstance(width, e.Between)
    chosen = expression("choose(RED, light)", DRAWING)
    assert chosen.sort == LIGHT


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("p & q | !p", Or((And((Atom(p), Atom(q))), Not(Atom(p))))),
        ("p -> q -> p", Implies(Atom(p), Implies(Atom(q), Atom(p)))),
        ("p <-> q <-> p", Iff(Iff(Atom(p), Atom(q)), Atom(p))),
        ("(p & q) & p", And((And((Atom(p), Atom(q))), Atom(p)))),
        ("0 < x < 1", And((Atom(build.compare("<", 0, x)), Atom(x < 1)))),
        ("if(p, q, x > 0)", Atom(build.if_(p, q, x > 0))),
        ("if(true, p & !q, p)", And((Atom(p), Not(Atom(q))))),
        ("true", Atom(build.TRUE)),
        ("X[k] p", Next(Atom(p), 6)),
        ("F<=k (x > 0)", Eventually(Atom(build.compare("<", 0, x)), Bound(Fraction(0), Fraction(6)))),
        ("G[2,] p", Always(Atom(p), Bound(Fraction(2)))),
        ("p U[k/2, k] q", Until(Atom(p), Atom(q), Bound(Fraction(3), Fraction(6)))),
        ("(p & q) == p", Atom(build.eq(build.conj(p, q), p))),
        ("!!p", Not(Not(Atom(p)))),
        ("!" * 1001 + "p", Not(Atom(p))),
        ("light == G & p", And((Atom(build.eq(light, label(LIGHT, "G"))), Atom(p)))),
    ],
)
def test_formulas(text: str, meaning: object) -> None:
    assert formula(text, SCOPE) == meaning


WRONG: list[tuple[str, type[InputError], str, int]] = [
    ("y > hieght", NameUnknown, "unknown name 'hieght'", 5),
    ("xx > 0", NameUnknown, "did you mean 'x'", 1),
    ("net > 0", TypeClash, "'net' is a network; write net", 1),
    ("foo(x) > 0", NameUnknown, "unknown function 'foo'", 1),
    ("sine(x) > 0", NameUnknown, "did you mean 'sin'", 1),
    ("x(y) > 0", NameUnknown, "'x' is not a function", 1),
    ("sin(x, y) > 0", TypeClash, r"sin\(x\) is given 2 arguments", 1),
    ("clip(x) > 0", TypeClash, r"clip\(x, low, high\) is given 1 argument$", 1),
    ("min() > 0", TypeClash, r"min\(a, b, \.\.\.\) is given 0 arguments", 1),
    ("p + 1 > 0", TypeClash, "needs numbers, but this is of sort bool", 1),
    ("1 + light > 0", TypeClash, "needs numbers, but this is of sort enum", 5),
    ("sin(p) > 0", TypeClash, "sin needs numbers", 5),
    ("x & p", TypeClash, "true or false, but this is of sort real", 1),
    ("if(x, p, q)", TypeClash, "if needs truth values, but this is of sort real", 4),
    ("x == p", TypeClash, "cannot compare real with bool", 1),
    ("light < RED", TypeClash, "cannot compare", 1),
    ("light == advice", TypeClash, "cannot compare", 1),
    ("light == BLUE", NameUnknown, "'BLUE' is neither a name nor a label of enum", 10),
    ("light == GREN", NameUnknown, "did you mean 'GREEN'", 10),
    ("RED == RED", TypeClash, "label 'RED' belongs to several enums", 1),
    ("if(p, x, q)", TypeClash, "if mixes sorts", 1),
    ("match(light, RED: p, G: q)", TypeClash, "not exhaustive: GREEN", 1),
    ("match(light, RED: p, RED: q, _: p)", TypeClash, "names a case twice", 1),
    ("match(light, BLUE: p, _: q)", NameUnknown, "'BLUE' is not a value of the subject", 14),
    ("match(n, RED: p, _: q)", NameUnknown, "write a number", 10),
    ("match(force, 1: p, _: q)", TypeClash, "match needs a single value", 7),
    ("choose(0, 1) > 0", TypeClash, "atoms cannot contain draws", 1),
    ("x > between(0, 1)", TypeClash, "atoms cannot contain draws", 5),
    ("accel > 0", TypeClash, "atoms cannot contain draws, and 'accel'", 1),
    ("net(x, y)[0] > 0", TypeClash, r"name the call in \[environment.let\]", 1),
    ("force > 0", TypeClash, "vector of 3 truth values", 1),
    ("0 < force < 1", TypeClash, "vector of 3 truth values", 1),
    ("force[3] > 0", TypeClash, "components 0 to 2", 7),
    ("force[x] > 0", TypeClash, "must be a constant integer", 7),
    ("x[0] > 0", TypeClash, "single value and has no components", 1),
    ("x", TypeClash, "a property is true or false, but this is of sort real", 1),
    ("x + (G p) > 0", TypeClash, "G speaks of other positions", 5),
    ("(F p) == p", TypeClash, "F speaks of other positions", 1),
    ("if(X p, p, q)", TypeClash, "X speaks of other positions", 4),
    ("F[5,2] p", UnsupportedFormula, r"the bound \[5,2\] is inverted", 2),
    ("F[-1,2] p", UnsupportedFormula, "the bound -1 is negative", 3),
    ("G[0,half] p", UnsupportedFormula, "the bound 0.5 is fractional", 5),
    ("X[1.5] p", UnsupportedFormula, "the bound 1.5 is fractional", 3),
    ("G[0,n] p", UnsupportedFormula, "a bound must be a constant number", 5),
    ("F[3] p", ParseError, "bare number", 2),
    ("AG F p", UnsupportedFormula, r"CTL\* is not supported", 4),
    ("F p & EX q", UnsupportedFormula, r"CTL\* is not supported", 7),
    ("x ^ y > 0", TypeClash, "the exponent of \\^ must be a constant", 1),
    ("x ^ 100000000 > 0", TypeClash, "too large", 1),
    ("x / 0 > 1", TypeClash, "division by the constant 0", 1),
    ("p <-> " * 300 + "p", ParseError, "too long", 1),
]


@pytest.mark.parametrize(("text", "kind", "message", "column"), WRONG, ids=[row[0][:40] for row in WRONG])
def test_complaints(text: str, kind: type[InputError], message: str, column: int) -> None:
    with pytest.raises(kind) as caught:
        formula(text, SCOPE)
    with pytest.raises(kind, match=message):
        raise type(caught.value)(caught.value.message)
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (1, column)


@pytest.mark.parametrize(
    ("text", "expected", "message"),
    [
        ("x", INT, "expected int, but this is real; floor"),
        ("p", REAL, "expected real, but this is bool"),
        ("advice", LIGHT, "expected enum"),
        ("choose(0, 1)", None, "choose is not allowed here"),
        ("net(x)", None, "takes 2 inputs, but is given 1"),
        ("net()", None, "takes 2 inputs, but is given 0"),
        ("net(p, x)", None, "needs numbers"),
        ("G p", None, "cannot stand inside an expression"),
    ],
)
def test_complaints_about_expressions(text: str, expected: Sort | None, message: str) -> None:
    with pytest.raises(TypeClash, match=message):
        expression(text, SCOPE, expected)


def test_inverted_draw() -> None:
    with pytest.raises(TypeClash, match="inverted"):
        expression("between(1, 0)", DRAWING)


def test_places_in_a_file() -> None:
    source = Source("x >\n  foo", file="task.toml")
    for text, given in ((source, None), (parse(source), source)):
        with pytest.raises(NameUnknown, match=r"task.toml:2:3: unknown name 'foo'"):
            formula(text, SCOPE, source=given)
    with pytest.raises(NameUnknown) as caught:
        formula(parse(source), SCOPE)
    assert caught.value.place is None


def test_continuous_time() -> None:
    bound = Bound(Fraction(0), Fraction(3, 2))
    assert formula("G[0, 1.5] p & q", SCOPE, discrete=False) == And((Always(Atom(p), bound), Atom(q)))
    for text in ("X p", "AG p", "p U q", "G F p"):
        with pytest.raises(UnsupportedFormula, match="continuous time"):
            formula(text, SCOPE, discrete=False)


def test_a_system_gives_its_names() -> None:
    wind = build.between(-1, 1)
    lets = {"wind": wind, "gust": build.var("wind", role=Role.LET) * 2, "double": x * 2}
    system = System("s", (Variable("x", REAL),), Init({"x": OneOf((Fraction(0),))}), {}, lets=lets)
    scope = system_scope(system, {"K": build.const(3)}, {"net": NET})
    assert formula("double > K", scope) == Atom(build.compare("<", 3, build.var("double", role=Role.LET)))
    for name in ("wind", "gust"):
        with pytest.raises(TypeClash, match="atoms cannot contain draws"):
            formula(f"{name} > 0", scope)


def nested(piece: str, times: int) -> str:
    before, after = piece.split("{}")
    return f"{before}(" * times + "x" + f"){after}" * times


def is_read(text: str) -> bool:
    try:
        parse(text)
    except ParseError:
        return False
    return True


@pytest.mark.parametrize(
    "piece", ["if(p, {}, x)", "({} + 1)", "match(p, true: {}, _: x)", "max({}, y)", "-({})", "{} ^ 2"]
)
def test_the_deepest_text_the_parser_reads(piece: str) -> None:
    times = bisect_left(range(MAX_DEPTH + 1), True, key=lambda times: not is_read(nested(piece, times))) - 1
    text = nested(piece, times)
    assert times > 10
    assert expression(text, SCOPE).sort == REAL
    assert formula(f"{text} > 0", SCOPE) if parse(text).depth < MAX_DEPTH - 1 else True


def test_the_deepest_formula_the_parser_reads() -> None:
    text = "X " * (MAX_DEPTH - 2) + "p"
    made = formula(text, SCOPE)
    assert str(made) == text
    assert formula(str(made), SCOPE) == made


def test_long_texts() -> None:
    assert len(expression(" + ".join(["x"] * 3_000), SCOPE).args) == 3_000
    assert expression(" * ".join(["x"] * 3_000), SCOPE).sort == REAL
    made = formula(" & ".join(["x > 0"] * 3_000), SCOPE)
    assert isinstance(made, And)
    assert len(made.args) == 3_000
