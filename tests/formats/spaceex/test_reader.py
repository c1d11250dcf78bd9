"""SpaceEx models from elsewhere: the fragment is read exactly, everything else is refused by name and line."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from vernal.errors import FormatError
from vernal.formats.spaceex.linear import parse_comparisons
from vernal.formats.spaceex.reader import parse_spaceex
from vernal.formats.spaceex.writer import spaceex_model
from vernal.model.hybrid import Facets, HybridAutomaton, Location

MODEL = """<?xml version="1.0" encoding="iso-8859-1"?>
<sspaceex xmlns="http://www-verimag.imag.fr/xml-namespaces/sspaceex" version="0.2" math="SpaceEx">
  <component id="tank">
    <param name="x" type="real" local="false" d1="1" d2="1" dynamics="any" />
    <param name="u" type="real" local="false" d1="1" d2="1" dynamics="any" controlled="false" />
    <param name="clock" type="real" local="false" d1="1" d2="1" dynamics="any" />
    <param name="go" type="label" local="false" />
    <location id="7" name="low">
      <invariant>0 &lt;= x &lt;= 1 &amp; -0.5 &lt;= u &amp; u &lt;= 0.5 &amp; clock &lt;= 2.5</invariant>
      <flow>x' == 0.25*(2*x - 4)/2 + u &amp; clock' == 1</flow>
    </location>
    <location id="9" name="high">
      <invariant>x &gt;= 1 &amp;&amp; x &lt;= 3 &amp; u &gt;= -0.25 &amp; 0.25 &gt;= u &amp; clock &lt;= 3</invariant>
      <flow>x' = -x + 3 + u &amp; clock' == 1</flow>
    </location>
    <transition source="7" target="9">
      <label>go</label>
      <guard>x == 1</guard>
    </transition>
  </component>
  <component id="system">
    <bind component="tank" as="tank_1"><map key="x">x</map></bind>
  </component>
</sspaceex>
"""


def test_a_model_from_elsewhere() -> None:
    model = parse_spaceex(MODEL.encode())
    made = model.automaton
    assert (made.name, made.variables, model.clock, model.horizon) == ("tank", ("x",), "clock", Fraction(3))
    assert (made.lower.tolist(), made.upper.tolist(), made.radius.tolist()) == ([0.0], [3.0], [0.5])
    low, high = made.locations
    assert (low.name, low.matrix.tolist(), low.drift.tolist()) == ("low", [[0.25]], [-0.5])
    assert (high.name, high.matrix.tolist(), high.drift.tolist()) == ("high", [[-1.0]], [3.0])
    assert low.invariant.normals.tolist() == [[-1.0], [1.0]]
    assert low.invariant.offsets.tolist() == [0.0, 1.0]
    (crossing,) = made.crossings
    assert (crossing.source, crossing.target) == (0, 1)
    assert crossing.guard.normals.tolist() == [[1.0], [-1.0]]
    assert crossing.guard.offsets.tolist() == [1.0, -1.0]


def test_decimals_that_are_no_floats_make_the_automaton_larger() -> None:
    text = MODEL.replace("0.25*(2*x - 4)/2", "0.1*x + 0.3").replace("x &lt;= 3", "x &lt;= 3.1")
    made = parse_spaceex(text.encode()).automaton
    low, high = made.locations
    assert (low.matrix[0, 0], low.drift[0]) == (0.1, 0.3)
    lost = abs(Fraction(0.1) - Fraction(1, 10)) * Fraction(made.upper[0]) + abs(Fraction(0.3) - Fraction(3, 10))
    assert Fraction(made.radius[0]) >= Fraction(1, 2) + lost
    assert made.radius[0] <= np.nextafter(0.5, 1)
    assert Fraction(high.invariant.offsets[1]) >= Fraction(31, 10)
    assert Fraction(made.upper[0]) >= Fraction(31, 10)


def test_rows_with_decimals_are_multiplied_until_they_are_floats() -> None:
    text = MODEL.replace("0 &lt;= x &lt;= 1 ", "0 &lt;= x &amp; 0.1*x &lt;= 0.1 ")
    low = parse_spaceex(text.encode()).automaton.locations[0]
    assert (low.invariant.normals.tolist(), low.invariant.offsets.tolist()) == ([[-1.0], [1.0]], [0.0, 1.0])


def test_a_variable_that_is_used_is_no_clock() -> None:
    text = MODEL.replace("<guard>x == 1", "<guard>x == 1 &amp; clock &gt;= 1")
    text = text.replace("clock &lt;=", "clock &gt;= 0 &amp; clock &lt;=")
    model = parse_spaceex(text.encode())
    assert model.clock is None
    assert model.automaton.variables == ("x", "clock")
    assert model.automaton.radius.tolist() == [0.5, 0.0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<sspaceex", "<spaceex", "mismatched tag"),
        ("0.25*(2*x - 4)/2", "x*x", "line 8: location 'low': a product of two variables is not linear"),
        ("0.25*(2*x - 4)/2", "sin(x)", r"line 8: location 'low': unexpected '\('"),
        ("0.25*(2*x - 4)/2", "1/x", "only division by numbers"),
        ("0.25*(2*x - 4)/2", "1/0", "only division by numbers"),
        ("0.25*(2*x - 4)/2", "y", "'y' is no parameter"),
        ("0.25*(2*x - 4)/2", "1e999999999", "longer than any float"),
        ("0.25*(2*x - 4)/2", "1e400", "beyond all floats"),
        ("0.25*(2*x - 4)/2", "(" * 60 + "x" + ")" * 60, "more than 50 parentheses"),
        ("0.25*(2*x - 4)/2", "(x", "not closed"),
        ("0.25*(2*x - 4)/2 + u", "x + 2*u", "the input 'u' has to stand in one rate"),
        ("x' == 0.25*(2*x - 4)/2 + u", "x' &gt;= x", "a conjunction of rates"),
        ("x' == 0.25*(2*x - 4)/2 + u &amp; ", "", "no rate x' == ..."),
        ("x' == 0.25*(2*x - 4)/2 + u", "x' == 1 &amp; x' == 2", "two rates of 'x'"),
        ("x' == 0.25*(2*x - 4)/2 + u", "u' == 1 &amp; x' == 2", "a rate of 'u'"),
        ("-0.5 &lt;= u", "-0.4 &lt;= u", "the input 'u' needs bounds"),
        ("-0.5 &lt;= u &amp;", "", "the input 'u' needs bounds"),
        ("-0.5 &lt;= u", "x &lt;= u", "'u' and other names in one comparison"),
        ("x &lt;= 1 ", "x &lt; 1 ", "strict comparisons are not read"),
        ("x &lt;= 1 ", "x &lt;= 1 | x &gt;= 5 ", r"unexpected '\|'"),
        ("x &lt;= 1 ", "x # 1 ", "unexpected '# 1"),
        ("0 &lt;= x &lt;= 1 &amp;", "x &lt;= &amp;", "unexpected '&'"),
        ("0 &lt;= x &lt;= 1 &amp;", "x &amp;", "expected <=, >= or =="),
        ("clock &lt;= 2.5", "clock &lt;=", "unexpected end"),
        ("<guard>x == 1</guard>", "<guard>x == 1</guard><assignment>x := 0</assignment>", "assignments are not read"),
        ("<guard>x == 1</guard>", "<guard>x == 1</guard><guard>x == 2</guard>", "a second <guard>"),
        ('target="9"', 'target="8"', "from '7' to '8'"),
        ('target="9"', "", "no attribute 'target'"),
        ('id="9"', 'id="7"', "an id of its own"),
        ('name="go" type="label"', 'name="go" type="int"', "'go' is no scalar real variable"),
        ('name="x" type="real" local="false" d1="1"', 'name="x" type="real" local="false" d1="2"', "no scalar"),
        ('name="clock"', 'name="x"', "a second parameter 'x'"),
        ('<map key="x">x</map>', '<map key="x">3</map>', "'x' is bound to '3'"),
        ('<bind component="tank"', '<bind component="other"', "has to bind the one"),
        ("x &lt;= 3", "x &gt;= 2", "line 12: location 'high': 'x' may be outside"),
        ("x &lt;= 1 ", "x &gt;= 2", "'x' may be outside|no invariant"),
        ('<?xml version="1.0" encoding="iso-8859-1"?>', '<!DOCTYPE a [<!ENTITY b "c">]>', "document types"),
        ("</sspaceex>", "", "no well-formed XML"),
    ],
)
def test_what_is_not_in_the_fragment_is_refused(old: str, new: str, message: str) -> None:
    assert old in MODEL
    with pytest.raises(FormatError, match=message):
        parse_spaceex(MODEL.replace(old, new).encode())


LAUGHS = '<!DOCTYPE lolz [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 10}">' for i in range(9)
)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\x01",
        b"<sspaceex/>",
        b"<a>" * 100,
        b"<a>" * 100_000,
        (LAUGHS + "]><sspaceex>&j;</sspaceex>").encode(),
        MODEL.replace("x == 1", "x" + "+x" * 300_000 + " == 1").encode(),
        MODEL.replace("x == 1", "+".join(f"y{i}" for i in range(90_000)) + " == 1").encode(),
        MODEL.replace("x == 1", "x == " + "*".join(["1." + "1" * 1000] * 500)).encode(),
        MODEL.replace("x == 1", "x == " + "-" * 199_000).encode(),
        MODEL.replace("</component>", '<param name="z" type="real"/>' * 50_000 + "</component>", 1).encode(),
    ],
    ids=["empty", "binary", "bare", "deep", "deeper", "laughs", "long", "names", "digits", "signs", "parameters"],
)
@pytest.mark.timeout(100)  # for those that would take hours
def test_hostile_files_are_refused_in_time(content: bytes) -> None:
    with pytest.raises(FormatError):
        parse_spaceex(content)


def test_names_that_spaceex_cannot_read_are_changed() -> None:
    box = Facets(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), np.ones(4))
    made = HybridAutomaton(
        "1 <odd> name",
        ("p[0]", "t"),
        -np.ones(2),
        np.ones(2),
        np.ones(2),
        (Location("<a>", box, np.eye(2), np.ones(2)),),
        (),
    )
    again = parse_spaceex(spaceex_model(made).encode())
    assert again.automaton.variables == ("p_0_", "t")
    assert again.clock == "t_1"
    assert again.automaton.locations[0].name == "<a>"
    assert again.automaton.name == "_1__odd__name"


@pytest.mark.parametrize("text", ["", "  ", "true", "true & true"])
def test_no_condition(text: str) -> None:
    assert parse_comparisons(text) == []


def test_linear_terms_are_exact() -> None:
    (row,) = parse_comparisons("0.1*(x - 2*y)/3 - -x >= 1e-3 + 2")
    assert row.term.coefficients == {"x": Fraction(-31, 30), "y": Fraction(1, 15)}
    assert row.term.constant == Fraction(2001, 1000)
    assert not row.equation
