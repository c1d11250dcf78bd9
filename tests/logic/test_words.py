"""What a property asks, read aloud."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given

from tests.logic.formulas import CTL, LTL, P, Q
from vernal.logic.elaboration import Scope, formula
from vernal.logic.formula import Atom, Formula, Next
from vernal.logic.words import LINE, bracketed, words
from vernal.model import build
from vernal.model.sorts import BOOL
from vernal.model.system import Init, OneOf, System, Variable

SCOPE = Scope({"p": P, "q": Q, "r": build.var("r", BOOL), "h": build.var("h")})


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("AX[6] (h > 100 | h < -100)", "AX[6] ((h > 100) | (h < -100))"),
        ("p & q -> G F !p", "(p & q) -> (G (F (!p)))"),
        ("A[p U h > 0]", "A[p U (h > 0)]"),
        ("p", "p"),
    ],
)
def test_bracketed(written: str, shown: str) -> None:
    assert bracketed(formula(written, SCOPE)) == shown


@given(LTL | CTL)
def test_brackets_change_nothing(made: Formula) -> None:
    assert formula(bracketed(made), SCOPE) == made


EVERY = "from every initial state, along every path:"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("AX[6] (h > 100 | h < -100)", f"{EVERY} after exactly 6 steps, h > 100 or h < -100"),
        ("X p", f"{EVERY} after exactly 1 step, p"),
        ("EX[2] p", "from every initial state, along some path: after exactly 2 steps, p"),
        ("p & !q", "in every initial state: p and not q"),
        ("G[0,5] !(h > 0)", f"{EVERY} at every step from 0 to 5, not (h > 0)"),
        ("F[2,2] p", f"{EVERY} at step 2, p"),
        ("F[3,] p", f"{EVERY} at some step from 3 on, p"),
        ("F G p", f"{EVERY} at some time, at every time from then on, p"),
        ("p U q", f"{EVERY} at some time, q, and at every step before it, p"),
        ("G[0, 1.5] p", f"{EVERY} at every time from 0 to 1.5, p"),
        ("X[0] p", f"{EVERY} now, p"),
        ("p <-> q", "in every initial state: p exactly when q"),
    ],
)
def test_one_line(written: str, said: str) -> None:
    assert words(formula(written, SCOPE, discrete="1.5" not in written)) == said


def test_lists() -> None:
    made = formula("(G p) & (F q | p) & (p W[0,5] q)", SCOPE)
    assert words(made) == dedent("""\
        from every initial state, along every path:
          all of these hold:
            - at every time, p
            - at least one of these holds:
                - at some time, q
                - p
            - either at some step from 0 to 5, q, and at every step before it, p
              or at every step from 0 to 5, p""")


def test_quantifiers_and_conditions() -> None:
    made = formula("AG (p -> A[q U[0,9] r])", SCOPE)
    assert words(made) == dedent("""\
        from every initial state, along every path:
          at every time:
            if p
            then:
              along every path from there:
                at some step from 0 to 9 after that, r, and at every step before it, q""")


def test_release_names_its_condition() -> None:
    assert words(formula("p R[2,9] q", SCOPE)) == dedent("""\
        from every initial state, along every path:
          at every step from 2 to 9, but not after the first step with the condition below, q
          the condition: p""")


def test_partial_systems_say_what_an_end_means() -> None:
    start = Init({"p": OneOf((0,))})  # type: ignore[arg-type]
    partial = System("s", (Variable("p", BOOL),), start, {}, enabled=P)
    whole = System("s", (Variable("p", BOOL),), start, {})
    assert "which must be possible" in words(Next(Atom(P)), partial)
    assert "on paths that are that long" in words(formula("AX p", SCOPE), partial)
    assert "possible" not in words(Next(Atom(P)), whole)


@given(LTL | CTL)
def test_every_formula_has_words(made: Formula) -> None:
    said = words(made)
    assert said.startswith(("from every initial state", "in every initial state"))
    for line in said.splitlines():
        assert len(line.lstrip(" -")) <= 2 * LINE


def test_very_deep_formulas() -> None:
    made: Formula = Atom(P)
    for _ in range(2000):
        made = Next(made)
    assert "X X X" in words(made)
