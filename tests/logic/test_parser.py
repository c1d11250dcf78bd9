"""What people write, and what the parser makes of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vernal.errors import ParseError, Place
from vernal.logic import parser
from vernal.logic.complaints import Complaint
from vernal.logic.parser import MAX_DEPTH, MAX_LENGTH, RESERVED, parse, parse_region, parse_sort
from vernal.logic.syntax import (
    Arithmetic,
    Binary,
    ComparisonChain,
    FoldedCall,
    ForEach,
    FunctionCall,
    Identifier,
    Match,
    MatchCase,
    Members,
    Nary,
    Numeral,
    Source,
    Subscript,
    Syntax,
    TemporalOperation,
    Unary,
    WrittenArray,
    WrittenBound,
    WrittenOption,
    WrittenRange,
    WrittenSize,
    WrittenSort,
)
from vernal.model.tick import Tick, idle


def show(node: Syntax | None) -> str:
    """A fully bracketed spelling, in which precedence can be seen."""
    match node:
        case Numeral(value=value):
            return str(value)
        case Identifier(text=text):
            return text
        case FunctionCall(function=function, args=args):
            return f"{function}({', '.join(map(show, args))})"
        case WrittenOption(value=value, condition=condition):
            return f"{show(value)} when {show(condition)}"
        case Subscript(base=base, index=index):
            return f"{show(base)}[{show(index)}]"
        case MatchCase(label=label, value=value):
            return f"{label}: {show(value)}"
        case Match(subject=subject, cases=cases):
            return f"match({', '.join(map(show, (subject, *cases)))})"
        case Unary(op=op, arg=arg, count=count):
            return f"({op * count}{show(arg)})"
        case Binary(op=op, left=left, right=right):
            return f"({show(left)} {op} {show(right)})"
        case Nary(op=op, args=args):
            return f"({f' {op} '.join(map(show, args))})"
        case (
            Arithmetic(operators=operators, operands=operands) | ComparisonChain(operators=operators, operands=operands)
        ):
            rest = (f" {op} {show(operand)}" for op, operand in zip(operators, operands[1:], strict=True))
            return f"({show(operands[0])}{''.join(rest)})"
        case WrittenBound(lower=lower, upper=upper):
            return f"[{show(lower)},{show(upper)}]"
        case TemporalOperation(op=op, args=args, bound=bound):
            return f"({op}{show(bound)} {' '.join(map(show, args))})"
        case WrittenRange(lower=lower, upper=upper):
            return f"[{show(lower)}, {show(upper)}]"
        case Members(items=items):
            return f"{{{', '.join(map(show, items))}}}"
        case WrittenSort(name=name, domain=domain, size=size):
            return f"{name}{show(size)} {show(domain)}"
        case WrittenSize(count=count):
            return f"[{show(count)}]"
        case ForEach(body=body, index=index, lower=lower, upper=upper):
            return f"{show(body)} for {index} in {show(lower)}..{show(upper)}"
        case FoldedCall(function=function, operands=operands):
            return f"{function}({show(operands)})"
        case WrittenArray(components=components):
            return f"[{show(components)}]"
        case None:
            return ""
    raise AssertionError(node)


READ = {
    # arithmetic
    "x + 1 - 2*y": "(x + 1 - (2 * y))",
    "a / b * c / d": "(a / b * c / d)",
    "(a + b) + c": "((a + b) + c)",
    "-x^2": "(-(x ^ 2))",
    "2^-3": "(2 ^ (-3))",
    "2^-3^2": "(2 ^ (-(3 ^ 2)))",
    "a^b^c": "(a ^ (b ^ c))",
    "-x * -y": "((-x) * (-y))",
    "--x": "(--x)",
    "x - -y": "(x - (-y))",
    "-7*g/24": "((-7) * g / 24)",
    "1.5 + .5 + 1e-3 + 2.": "(3/2 + 1/2 + 1/1000 + 2)",
    # arrays
    "[d[i] for i in 0..8]": "[d[i] for i in 0..8]",
    "1 + sum(p[i]*i for i in 0 .. n - 1)": "(1 + sum((p[i] * i) for i in 0..(n - 1)))",
    "all(F d[i] for i in 0..2.)": "all((F d[i]) for i in 0..2)",
    "for + in * all": "(for + (in * all))",
    # comparisons
    "0 <= x < 5": "(0 <= x < 5)",
    "x<-1": "(x < (-1))",
    "x + 1 == y * 2": "((x + 1) == (y * 2))",
    # Boolean operators, in all their spellings
    "!x > 0": "(!(x > 0))",
    "!!p": "(!!p)",
    "a <-> b -> c | d & e": "(a <-> (b -> (c | (d & e))))",
    "a -> b -> c": "(a -> (b -> c))",
    "a && b || not c => d <=> e": "((((a & b) | (!c)) -> d) <-> e)",
    "a and b or nothing": "((a & b) | nothing)",
    "a <-> b <-> c": "(a <-> b <-> c)",
    # temporal operators
    "F[0,5] x > 0": "(F[0,5] (x > 0))",
    "X (x) > 0": "(X (x > 0))",
    "X(x)": "(X x)",
    "F<=k (x > 0)": "(F[0,k] (x > 0))",
    "F<=5 p": "(F[0,5] p)",
    "AG<=(k+1) -x > 0": "(AG[0,(k + 1)] ((-x) > 0))",
    "F <= 5 p": "(F[0,5] p)",
    "p U<=5 q": "(U[0,5] p q)",
    "p U[2,9] q": "(U[2,9] p q)",
    "p U q U r": "(U p (U q r))",
    "!p U F q & r": "((U (!p) (F q)) & r)",
    "x > 0 W y > 0": "(W (x > 0) (y > 0))",
    "G p -> q": "((G p) -> q)",
    "G !p": "(G (!p))",
    "! F G p": "(!(F (G p)))",
    "G[2,] p": "(G[2,] p)",
    "G[1:k+1] p": "(G[1,(k + 1)] p)",
    "X[3] p": "(X[3,3] p)",
    "AX[k] (h > 100 | h < -100)": "(AX[k,k] ((h > 100) | (h < (-100))))",
    "AG EF p": "(AG (EF p))",
    "A[p U[0,5] q]": "(AU[0,5] p q)",
    "E[p R q] & r": "((ER p q) & r)",
    "E [p W (q & r)]": "(EW p (q & r))",
    "A[G p]": "(AG p)",
    "[] <> p": "(G (F p))",
    "[]<>p": "(G (F p))",
    "always[0:5] eventually p": "(G[0,5] (F p))",
    "[][0,5] p": "(G[0,5] p)",
    "G [] p": "(G (G p))",
    # operator words as labels
    "light == R": "(light == R)",
    "light == G & p": "((light == G) & p)",
    "light != G -> p": "((light != G) -> p)",
    "light == G and p": "((light == G) & p)",
    "light == G U light == R": "(U (light == G) (light == R))",
    "light == R R light == W": "(R (light == R) (light == W))",
    "G light == G": "(G (light == G))",
    "G G == light": "(G (G == light))",
    "G R != light": "(G (R != light))",
    "if(light == R, G, R)": "if((light == R), G, R)",
    "match(light, R: 1, G: 2)": "match(light, R: 1, G: 2)",
    "choose(X, F, AX)": "choose(X, F, AX)",
    "choose(G when light == R, G when p, X)": "choose(G when (light == R), G when p, X)",
    "G when & p": "((G when) & p)",
    # primaries
    "advisor[0]": "advisor[0]",
    "x [0]": "x[0]",
    "env0(x, a)[2]": "env0(x, a)[2]",
    "match(n, -1: a, 2.5: b, true: c, _: d + 1)": "match(n, -1: a, 5/2: b, true: c, _: (d + 1))",
    "match(a == b, true: F x > 0, false: q)": "match((a == b), true: (F (x > 0)), false: q)",
    "if(c, choose(-1, 0), between(lo, hi))": "if(c, choose((-1), 0), between(lo, hi))",
    "f()": "f()",
    # guarded options; elsewhere `when` is a name like any other
    "choose(a when p, b + 1 when q | x > 0, c)": "choose(a when p, (b + 1) when (q | (x > 0)), c)",
    "choose(a <-> b when p -> q)": "choose((a <-> b) when (p -> q))",
    "choose(when when when, when + 1)": "choose(when when when, (when + 1))",
    "whenever + when * when(x)": "(whenever + (when * when(x)))",
    "choose(choose(a when p, b) when q)": "choose(choose(a when p, b) when q)",
    "Given + Every + AXE + U_1 + orbit + nota": "(Given + Every + AXE + U_1 + orbit + nota)",
    " \n x\r\n\t+ y ": "(x + y)",
}


@pytest.mark.parametrize(("text", "meaning"), READ.items(), ids=list(READ))
def test_reads(text: str, meaning: str) -> None:
    assert show(parse(text)) == meaning


REGIONS = {
    "[-133, -129]": "[(-133), (-129)]",
    "{R, G}": "{R, G}",
    "{-1, v0 + 1}": "{(-1), (v0 + 1)}",
    "v0": "v0",
    "[] p": "(G p)",
    "x[0]": "x[0]",
}
SORTS = {
    "real": "real ",
    "real [-H, H]": "real [(-H), H]",
    "int[0, 9]": "int [0, 9]",
    "bool": "bool ",
    "bool[9]": "bool[9] ",
    "real[n + 1] [-1, 1]": "real[(n + 1)] [(-1), 1]",
    "enum[4] {R, G}": "enum[4] {R, G}",
    "enum {R, G, A, E, X}": "enum {R, G, A, E, X}",
}


@pytest.mark.parametrize(("text", "meaning"), REGIONS.items(), ids=list(REGIONS))
def test_reads_regions(text: str, meaning: str) -> None:
    assert show(parse_region(text)) == meaning


@pytest.mark.parametrize(("text", "meaning"), SORTS.items(), ids=list(SORTS))
def test_reads_sorts(text: str, meaning: str) -> None:
    assert show(parse_sort(text)) == meaning


REFUSED = {  # text: (column, a part of the message)
    "": (1, "there is nothing here"),
    "  \n ": (1, "there is nothing here"),
    "1 2": (3, "unexpected '2'; expected one of: an operator, the end"),
    "a b": (3, "unexpected 'b'; expected one of: an operator, the end"),
    "x ==": (5, "the text ends too early; expected one of: a number, a name, '('"),
    "p U": (4, "the text ends too early"),
    "a = b": (3, "write '==' to compare"),
    "a =< b": (3, "write '<='"),
    "a ≤ b": (3, "write '<='"),
    "−1": (1, "write '-'"),
    "a ** b": (4, "write '^'"),
    "a $ b": (3, "unexpected '$'"),
    "a\xa0+ b": (2, r"unexpected '\xa0'"),
    "'x": (1, 'unexpected "\'"'),
    "(x": (1, "'(' is never closed"),
    "x[(0": (3, "'(' is never closed"),
    "x)": (2, "')' closes nothing"),
    "(x]": (3, "does not fit"),
    "(1 2)": (4, "expected one of: an operator, ')'"),
    "f(x,)": (5, "expected one of: a number, a name, '('"),
    "f(x y)": (5, "expected one of: an operator, ')', ','"),
    "x[]": (3, "expected one of: a number"),
    "x, y": (2, "unexpected ','"),
    "2x": (2, "write '*' to multiply"),
    "2(x)": (2, "write '*' to multiply"),
    "+x": (1, "no unary plus"),
    "x == !y": (6, "put it and its operand in brackets"),
    "x == [] y": (6, "put it and its operand in brackets"),
    "x == F(p)": (6, "put it and its operand in brackets"),
    "x + G[0]": (5, "put it and its operand in brackets"),
    "x == F p": (8, "'F' is read as a label here"),
    "A G p": (3, "write 'AG' as one word"),
    "F<=k+1 p": (5, "put the bound in brackets"),
    "F[5] p": (2, "only X, AX and EX take a bare number; write F[0,5]"),
    "p U[5] q": (4, "write U[0,5]"),
    "X[1,2] p": (2, "X takes one number of steps"),
    "AX<=2 p": (3, "AX takes one number of steps"),
    "A[p & q U r]": (3, "A[...] takes one temporal operator"),
    "E[AG p]": (3, "E[...] takes one temporal operator"),
    "x == and": (6, "unexpected 'and'"),
    "min + 1": (1, "'min' is a function; write min(...)"),
    "match(x)": (8, "expected ','"),
    "min(x when p, 1)": (5, "'when' belongs to an option of choose(a when p, b), not of min(...)"),
    "(x when p)": (4, "'when' belongs to an option of choose(a when p, b)"),
    "x when p": (3, "'when' belongs to an option of choose(a when p, b)"),
    "if(p, x, y) when p": (13, "'when' belongs to an option of choose(a when p, b)"),
    "choose(x when)": (14, "expected one of: a number, a name, '('"),
    "choose(x when p when q)": (17, "'when' belongs to an option"),
    "match(x, 1)": (11, "expected ':'"),
    "match(x, -a: 1)": (10, "a label is a name or a number"),
    "1e401": (1, "beyond the limit of 400"),
    "1e-99999999999": (1, "beyond the limit of 400"),
    "1" * 1001: (1, "more than 1000 digits"),
    "[x for i in 0, 8]": (14, "expected '..'"),
    "[x for i of 0..8]": (10, "expected 'in'"),
    "all(x for G in 0..8)": (11, "'G' is a reserved word and cannot name an index"),
    "[0, 1]": (3, "unexpected ','; an array is written [x for i in 0..8], or as a TOML array of texts"),
}


@pytest.mark.parametrize(("text", "column", "message"), [(t, *cm) for t, cm in REFUSED.items()], ids=list(REFUSED))
def test_refuses(text: str, column: int, message: str) -> None:
    with pytest.raises(ParseError, match=re.escape(message)) as caught:
        parse(text)
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (1, column)


@pytest.mark.parametrize(("text", "message"), [("[0, 1", "never closed"), ("[0]", "expected one of: ',', 'for'")])
def test_refuses_regions(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=re.escape(message)):
        parse_region(text)


def test_the_caret_points_at_the_cause() -> None:
    with pytest.raises(ParseError) as caught:
        parse(Source("x > 0 &\n  y = longer", "task.toml"))
    message, line, caret = str(caught.value).split("\n")
    assert message == "task.toml:2:5: unexpected '='; write '==' to compare"
    assert line.index("=") == caret.index("^")


def test_a_source_may_stand_inside_another_text() -> None:
    source = Source("x )", "f.toml", lambda offset: Place("f.toml", 7, 10 + offset, "prefix = 'x )'"))
    with pytest.raises(ParseError, match=re.escape("f.toml:7:12")):
        parse(source)


def test_spans_cover_what_was_written() -> None:
    text = "p & (x + 1) * 2 > f(y)"
    both = parse(text)
    assert isinstance(both, Nary)
    comparison = both.args[1]
    assert isinstance(comparison, ComparisonChain)
    spans = [both.span, comparison.span, *(operand.span for operand in comparison.operands)]
    assert [text[start:end] for start, end in spans] == [text, "(x + 1) * 2 > f(y)", "(x + 1) * 2", "f(y)"]


def test_numbers_are_the_decimals_written() -> None:
    assert parse("0.1") == Numeral(Fraction(1, 10))
    assert parse("1e-400") == Numeral(Fraction(1, 10**400))


MANY = 3_000  # three times as deep as Python recurses
LONG = {
    "sum": " + ".join(f"x{i}" for i in range(MANY)),
    "product": "*".join(["x"] * MANY),
    "conjunction": " & ".join(["x > 0"] * MANY),
    "disjunction": " or ".join(["p"] * MANY),
    "equivalence": " <-> ".join(["p"] * MANY),
    "comparison": " < ".join(["x"] * MANY),
    "call": f"max({', '.join(['x'] * MANY)})",
    "minus signs": "-" * MANY + "x",
    "minus signs of an exponent": "2^" + "- " * MANY + "x",
    "negations": "!" * MANY + "p",
    "brackets": "(" * MAX_DEPTH + "x" + ")" * MAX_DEPTH,
    "implications": " -> ".join(["p"] * MAX_DEPTH),
    "operators": "X " * (MAX_DEPTH - 1) + "p",
}


@pytest.mark.parametrize("text", LONG.values(), ids=list(LONG))
def test_long_input_is_fine(text: str) -> None:
    node, again = parse(text), parse(text)
    assert node == again
    assert hash(node) == hash(again)
    assert repr(node) == repr(again)


HUGE = {
    "nested brackets": "(" * 20_000 + "x" + ")" * 20_000,
    "nested calls": "f(" * 201 + "x" + ")" * 201,
    "open brackets": "[" * 500_000,
    "nested nodes": "-(1 + 2 * " * 150 + "x" + ")" * 150,
    "implications": " -> ".join(["p"] * 20_000),
    "powers": "^".join(["p"] * 20_000),
    "untils": " U ".join(["p"] * 20_000),
    "temporal operators": "X " * 20_000 + "p",
    "indices": "x" + "[0]" * 20_000,
}


@pytest.mark.parametrize("text", HUGE.values(), ids=list(HUGE))
def test_deep_input_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match=f"nested deeper than {MAX_DEPTH} levels") as caught:
        parse(text)
    assert len(str(caught.value)) < 500


def test_hostile_input_is_refused_before_the_grammar_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> None:
        raise AssertionError("the grammar was asked")

    monkeypatch.setattr(parser, "_grammar", never)
    with pytest.raises(ParseError, match="nested deeper"):
        parse("(" * 20_000 + ")" * 20_000)
    with pytest.raises(ParseError, match="1,000,001 characters; at most 1,000,000"):
        parse("x" * (MAX_LENGTH + 1))
    with pytest.raises(ParseError, match="120,001 names, numbers and signs; at most 100,000"):
        parse("x+" * 60_000 + "1")


def test_the_grammar_is_built_once() -> None:
    assert parser._grammar() is parser._grammar()


def test_reserved_words() -> None:
    assert {"A", "EG", "match", "sigmoid", "between", "pi", "true", "and", "eventually", "_"} <= RESERVED
    assert not RESERVED & {"x", "COC", "out", "ax", "Not"}


# ------------------------------------------------------------------------------------------------------- any input

SYMBOLS = "( ) [ ] { } , : + - * / ^ == != <= < = & | ! -> <-> [] <>"
WORDS = "x y 1 .5 U R W F G X AX EF A E and or not match if f _"
words = st.sampled_from(f"{SYMBOLS} {WORDS}".split())


def outcome(read: Callable[[str], Syntax], text: str) -> Syntax | ParseError:
    try:
        return read(text)
    except ParseError as error:
        return error


@pytest.mark.parametrize("read", [parse, parse_region, parse_sort])
@given(chosen=st.lists(words, max_size=25), blank=st.sampled_from(["", " "]))
def test_any_words_are_read_or_refused_at_a_place(read: Callable[[str], Syntax], chosen: list[str], blank: str) -> None:
    text = blank.join(chosen)
    match outcome(read, text):
        case ParseError(place=Place(column=column), message=message):
            assert 1 <= column <= len(text) + 1
            ours = re.sub(r"'[^']*'", "", message)
            assert not re.search(r"[A-Z]{4}|\$", ours), "the names of terminals are nobody's business"
        case Syntax(span=span) as node:
            assert text[slice(*span)] == text.strip()
            assert read(f" {text}\n") == node
        case other:
            raise AssertionError(other)


@pytest.mark.parametrize("start", ["expression", "region", "sort"])
@given(chosen=st.lists(words, max_size=25), blank=st.sampled_from(["", " "]))
def test_the_tables_read_what_the_grammar_reads(start: str, chosen: list[str], blank: str) -> None:
    """And nothing else; where a text is wrong, both complain alike, or the tables leave it to the grammar."""
    text = blank.join(chosen)
    by_tables, by_grammar = (told(read, text, start) for read in (parser._tables(start).read, by_lark(start)))
    assert by_tables == by_grammar or (by_tables is None and isinstance(by_grammar, str))


def by_lark(start: str) -> Callable[[str, Tick], Syntax]:
    return lambda text, tick: parser._parse_by_lark(text, start, tick)


def told(read: Callable[[str, Tick], Syntax | None], text: str, start: str) -> Syntax | str | None:
    """What a text says, or what is wrong with it."""
    try:
        return read(text, idle)
    except Complaint as complaint:
        return complaint.message


def test_what_is_right_is_read_by_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(text: str, start: str, tick: Tick) -> Syntax:
        raise AssertionError(f"the grammar was asked about {text!r}")

    monkeypatch.setattr(parser, "_parse_by_lark", never)
    for text in ("x + 3*'a b'[2]^-1 - choose(x when p, -y)", "A[p U[0,5] (!q & x < 3)] -> G F[2,] (light == G)", "!!a"):
        assert isinstance(parser._parse(text, "expression", idle), Syntax)
    assert isinstance(parser._parse(" [0, 1] ", "region", idle), Syntax)
    assert isinstance(parser._parse("enum {A, B}", "sort", idle), Syntax)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert isinstance(outcome(parse, text), Syntax | ParseError)


def expressions() -> st.SearchStrategy[str]:
    """Fully bracketed texts, as `show` writes them."""
    leaves = st.sampled_from(["x", "y1", "3", "true"])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["->", "^", "&", "|", "<->", "+", "*", "<", "=="]), inner).map(
                lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
            ),
            st.tuples(st.sampled_from(["-", "!", "--", "!!"]), inner).map(lambda parts: f"({parts[0]}{parts[1]})"),
            st.tuples(st.sampled_from(["f", "if"]), inner, inner).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
        ),
        max_leaves=20,
    )


@given(expressions())
def test_reading_what_was_shown_gives_it_back(text: str) -> None:
    assert show(parse(text)) == text
