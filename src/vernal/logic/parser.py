"""The one parser: from text to syntax trees.

`parse` reads an expression or a formula, `parse_region` an initial value (`[lo, hi]`, `{a, b}` or an expression) and
`parse_sort` the sort of a variable. All three share one LALR(1) grammar without types (grammar.lark). Size and nesting
are checked in a linear scan before the grammar sees the text, so that hostile input costs milliseconds and gets one
clear sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from vernal.errors import ParseError
from vernal.logic.complaints import NOT_HERE, OPERATORS, WHEN, Complaint, explained
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
    TextSpan,
    Unary,
    WrittenArray,
    WrittenBound,
    WrittenOption,
    WrittenRange,
    WrittenSize,
    WrittenSort,
)
from vernal.logic.tables import TOKENS_PER_TICK, Tables
from vernal.model.expr import Function
from vernal.model.tick import Tick, idle

if TYPE_CHECKING:  # lark is loaded when the first text is parsed, not when the package is imported
    from lark import Lark, Token

MAX_LENGTH = 1_000_000  # characters of one text
MAX_SYMBOLS = 100_000  # names, numbers and signs of one text, or of all texts of a task: they take a second or two
MAX_KEPT = 1_000  # characters of a text that is remembered
MAX_DEPTH = 200  # brackets within brackets, and nodes within nodes
MAX_DIGITS = 1000  # characters of one number
MAX_EXPONENT = 400  # of ten, either way

WORDS = frozenset({"and", "or", "not", "always", "eventually"})
CONSTANTS = frozenset({"pi", "true", "false"})
FORMS = frozenset({"if", "match", "choose", "between"})
ELEMENTARY = frozenset(function.value for function in Function)
FUNCTIONS = FORMS | ELEMENTARY | {"min", "max", "abs", "atan2", "clip", "relu", "sign", "floor"}
RESERVED = OPERATORS | WORDS | CONSTANTS | FUNCTIONS | {"_"}
"""Words that cannot name a variable; the operators among them may still be labels of an enum."""

SYMBOL = re.compile(r"[\w.]+|[^\w\s]")
QUOTED = re.compile(r"'(?:[^'\n]|'')+'")
"""The name of a component of an array, which is a state variable of its own."""

T = TypeVar("T", bound=Syntax)
Child: TypeAlias = "Syntax | Token"


def parse(source: Source | str, tick: Tick = idle) -> Syntax:
    """Read an expression or a formula; `tick` is called again and again while a long one is read."""
    return _read(source, "expression", tick)


def parse_region(source: Source | str, tick: Tick = idle) -> Syntax:
    """Read an initial value: a Range `[lo, hi]`, Members `{a, b}`, or an expression."""
    return _read(source, "region", tick)


def parse_sort(source: Source | str, tick: Tick = idle) -> WrittenSort:
    """Read the sort of a variable: `real [-1, 1]`, `bool`, `enum {RED, GREEN}`."""
    return cast(WrittenSort, _read(source, "sort", tick))


def _read(source: Source | str, start: str, tick: Tick) -> Syntax:
    source = Source(source) if isinstance(source, str) else source
    try:
        _guard(source.text)
        if len(source.text) > MAX_KEPT:
            return _parse(source.text, start, tick)
        tick()
        return _known(source.text, start)
    except Complaint as complaint:
        problem = complaint
    raise ParseError(problem.message, place=source.place(*problem.span))


@lru_cache(maxsize=1024)
def _known(text: str, start: str) -> Syntax:
    """What a short text says; the cells of a sweep read the same few texts again and again."""
    return _parse(text, start, idle)


def _parse(text: str, start: str, tick: Tick) -> Syntax:
    """What a text says, by the grammar's tables; of one that is wrong, what is wrong."""
    read: Syntax | None = _tables(start).read(text, tick)
    return _parse_by_lark(text, start, tick) if read is None else read


def _parse_by_lark(text: str, start: str, tick: Tick) -> Syntax:
    """Hand the tokens to the grammar's own parser one by one, so that a long text can be stopped on the way."""
    from lark import UnexpectedInput

    parser: Any = _grammar().parse_interactive(text, start)
    token = None
    try:
        for number, token in enumerate(parser.lexer_thread.lex(parser.parser_state)):
            if number % TOKENS_PER_TICK == 0:
                tick()
            parser.feed_token(token)
        return cast(Syntax, parser.feed_eof(token))
    except UnexpectedInput as unexpected:
        raise explained(unexpected, text, frozenset(parser.accepts())) from None


@cache
def _grammar() -> Lark:
    from lark import Lark

    text = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        text,
        start=["expression", "region", "sort"],
        parser="lalr",
        lexer="contextual",
        transformer=cast(Any, _Build),  # lark asks only for a callable by the name of each rule
        keep_all_tokens=True,  # the first and last child of a node are its span
    )


@cache
def _tables(start: str) -> Tables:
    return Tables(_grammar(), start)


# ---------------------------------------------------------------------------------------------------- before parsing


def _guard(text: str) -> None:
    """Refuse what is empty, too long, too deep or unbalanced, in one pass over the brackets."""
    if len(text) > MAX_LENGTH:
        raise Complaint(f"this text has {len(text):,} characters; at most {MAX_LENGTH:,} are read", (0, 1))
    if not text.strip():
        raise Complaint("there is nothing here; expected an expression or a formula", (0, 1))
    for written, message in NOT_HERE:
        if found := written.search(text):
            raise Complaint(message, found.span())
    opened: list[int] = []
    bare = QUOTED.sub(lambda name: "_" * len(name[0]), text)
    for bracket in re.finditer(r"[()\[\]{}]", bare):
        if bracket[0] not in ")]}":
            opened.append(bracket.start())
            if len(opened) > MAX_DEPTH:
                raise _too_deep(bracket.span())
        elif not opened:
            raise Complaint(f"{bracket[0]!r} closes nothing", bracket.span())
        elif text[opened.pop()] + bracket[0] not in {"()", "[]", "{}"}:
            raise Complaint(f"{bracket[0]!r} does not fit the bracket that is open here", bracket.span())
    if opened:
        raise Complaint(f"{text[opened[-1]]!r} is never closed", (opened[-1], opened[-1] + 1))
    if len(text) > MAX_SYMBOLS and (count := symbols(text)) > MAX_SYMBOLS:
        raise Complaint(f"this text has {count:,} names, numbers and signs; at most {MAX_SYMBOLS:,} are read", (0, 1))


def symbols(text: str) -> int:
    """How many names, numbers and signs a text has, about."""
    return sum(1 for _ in SYMBOL.finditer(text))


def _too_deep(span: TextSpan) -> Complaint:
    return Complaint(f"nested deeper than {MAX_DEPTH} levels; give the inner parts names of their own", span)


# --------------------------------------------------------------------------------------------------- building the tree


def _span(children: Sequence[Child]) -> TextSpan:
    first, last = children[0], children[-1]
    start = first.span[0] if isinstance(first, Syntax) else first.start_pos
    end = last.span[1] if isinstance(last, Syntax) else last.end_pos
    return cast(int, start), cast(int, end)


def _make(kind: Callable[..., T], children: Sequence[Child], *fields: object) -> T:
    """A node that spans its children and is one deeper than the deepest of them."""
    span = _span(children)
    depth = 1
    for child in children:
        if isinstance(child, Syntax) and child.depth >= depth:
            depth = child.depth + 1
    if depth > MAX_DEPTH:
        raise _too_deep((span[0], span[0] + 1))
    return kind(*fields, span=span, depth=depth)


def _nodes(children: Iterable[Child]) -> tuple[Any, ...]:
    return tuple(child for child in children if isinstance(child, Syntax))


def _tokens(children: Iterable[Child]) -> tuple[str, ...]:
    return tuple(str(child) for child in children if not isinstance(child, Syntax))


SPELLINGS = {"&&": "&", "and": "&", "||": "|", "or": "|", "not": "!", "=>": "->", "<=>": "<->"}
SPELLINGS |= {"[]": "G", "always": "G", "<>": "F", "eventually": "F"}


def _canonical(token: Child) -> str:
    return SPELLINGS.get(str(token), str(token))


def _unquoted(text: str) -> str:
    """The name that a word or a quoted text stands for."""
    return text[1:-1].replace("''", "'") if text.startswith("'") else text


def _fraction(token: Child) -> Fraction:
    text, span = str(token), _span([token])
    if len(text) > MAX_DIGITS:
        raise Complaint(f"this number has more than {MAX_DIGITS} digits", span)
    exponent = re.search(r"[eE](.*)", text)
    if exponent and abs(int(exponent[1])) > MAX_EXPONENT:
        raise Complaint(f"the exponent {exponent[1]} is beyond the limit of {MAX_EXPONENT}", span)
    return _rational(text)


_rational = lru_cache(maxsize=4096)(Fraction)  # the same few numbers are written again and again


def _check_bound(op: str, bound: WrittenBound | None) -> None:
    """A bare number counts steps after X and is ambiguous elsewhere; `X[k]` is known by having k twice."""
    if bound is None:
        return
    bare = bound.lower is bound.upper
    if op.endswith("X") and not bare:
        raise Complaint(f"{op} takes one number of steps, as in {op}[3]", bound.span)
    if bare and not op.endswith("X"):
        raise Complaint(f"only X, AX and EX take a bare number; write {op}[0,5] for 'within 5'", bound.span)


def _refuse_operator(head: Child) -> None:
    """In `x == F(p)` the F looks like a function, for no temporal operator may stand there."""
    text = head.text if isinstance(head, Identifier) else str(head)
    if text in OPERATORS:
        what = f"{text!r} is a temporal operator; it binds looser than what stands before it"
        raise Complaint(f"{what}: put it and its operand in brackets", _span([head]))


class _Build:
    """One function per rule of the grammar, from the children of a rule to its node."""

    @staticmethod
    def number(children: list[Child]) -> Numeral:
        return _make(Numeral, children, _fraction(children[0]))

    @staticmethod
    def name(children: list[Child]) -> Identifier:
        text = str(children[0])
        if text in FUNCTIONS:
            raise Complaint(f"{text!r} is a function; write {text}(...)", _span(children))
        return _make(Identifier, children, text)

    @staticmethod
    def quoted(children: list[Child]) -> Identifier:
        return _make(Identifier, children, _unquoted(str(children[0])))

    @staticmethod
    def bracketed(children: list[Child]) -> Syntax:
        """The node inside, which now spans its brackets; they leave no other trace."""
        return replace(cast(Syntax, children[1]), span=_span(children))

    @staticmethod
    def call(children: list[Child]) -> FunctionCall:
        _refuse_operator(children[0])
        options = [child for child in children if isinstance(child, WrittenOption)]
        if options and str(children[0]) != "choose":
            raise Complaint(f"{WHEN}, not of {children[0]}(...)", options[0].span)
        return _make(FunctionCall, children, str(children[0]), _nodes(children))

    @staticmethod
    def guarded(children: list[Child]) -> WrittenOption:
        return _make(WrittenOption, children, *_nodes(children))

    @staticmethod
    def index(children: list[Child]) -> Subscript:
        _refuse_operator(children[0])
        return _make(Subscript, children, *_nodes(children))

    @staticmethod
    def case(children: list[Child]) -> MatchCase:
        *sign, label, _, value = children
        if cast("Token", label).type == "NUMBER":
            number = _fraction(label)
            return _make(MatchCase, children, -number if sign else number, value)
        if sign:
            raise Complaint(f"a label is a name or a number, not -{label}", _span(sign))
        return _make(MatchCase, children, _unquoted(str(label)), value)

    @staticmethod
    def match(children: list[Child]) -> Match:
        subject, *cases = _nodes(children)
        return _make(Match, children, subject, tuple(cases))

    @staticmethod
    def prefixed(children: list[Child]) -> Unary:
        return _make(Unary, children, _canonical(children[0]), children[-1], len(children) - 1)

    @staticmethod
    def binary(children: list[Child]) -> Binary:
        left, op, right = children
        return _make(Binary, children, _canonical(op), left, right)

    @staticmethod
    def iff(children: list[Child]) -> Nary:
        return _make(Nary, children, _canonical(children[1]), _nodes(children))

    conjunction = disjunction = iff

    @staticmethod
    def sum(children: list[Child]) -> Arithmetic:
        return _make(Arithmetic, children, _tokens(children), _nodes(children))

    product = sum

    @staticmethod
    def comparison(children: list[Child]) -> ComparisonChain:
        return _make(ComparisonChain, children, _tokens(children), _nodes(children))

    @staticmethod
    def instant(children: list[Child]) -> WrittenBound:
        return _make(WrittenBound, children, children[1], children[1])

    @staticmethod
    def interval(children: list[Child]) -> WrittenBound:
        lower, *upper = _nodes(children)
        return _make(WrittenBound, children, lower, upper[0] if upper else None)

    @staticmethod
    def within(children: list[Child]) -> WrittenBound:
        zero = _make(Numeral, children[:1], Fraction(0))
        return _make(WrittenBound, children, zero, children[1])

    @staticmethod
    def modal(children: list[Child]) -> TemporalOperation:
        op, *bounds, arg = children
        return _temporal(children, _canonical(op), (arg,), bounds)

    @staticmethod
    def until(children: list[Child]) -> TemporalOperation:
        left, op, *bounds, right = children
        return _temporal(children, str(op), (left, right), bounds)

    @staticmethod
    def quantified(children: list[Child]) -> TemporalOperation:
        quantifier, _, inner, _ = children
        if not isinstance(inner, TemporalOperation) or len(inner.op) > 1:
            what = f"{quantifier}[...] takes one temporal operator, as in {quantifier}[p U q]"
            raise Complaint(f"{what}; put brackets around its operands", _span([inner]))
        return _make(TemporalOperation, children, str(quantifier) + inner.op, inner.args, inner.bound)

    @staticmethod
    def range(children: list[Child]) -> WrittenRange:
        return _make(WrittenRange, children, *_nodes(children))

    @staticmethod
    def members(children: list[Child]) -> Members:
        return _make(Members, children, _nodes(children))

    @staticmethod
    def size(children: list[Child]) -> WrittenSize:
        return _make(WrittenSize, children, *_nodes(children))

    @staticmethod
    def sort(children: list[Child]) -> WrittenSort:
        size = next((child for child in children if isinstance(child, WrittenSize)), None)
        domain = next((child for child in children if isinstance(child, WrittenRange | Members)), None)
        return _make(WrittenSort, children, str(children[0]), domain, size)

    @staticmethod
    def each(children: list[Child]) -> ForEach:
        body, _, index, _, lower, _, upper = children
        if str(index) in RESERVED:
            raise Complaint(f"{str(index)!r} is a reserved word and cannot name an index", _span([index]))
        return _make(ForEach, children, body, str(index), lower, upper)

    @staticmethod
    def folded(children: list[Child]) -> FoldedCall:
        return _make(FoldedCall, children, str(children[0]), *_nodes(children))

    @staticmethod
    def array(children: list[Child]) -> WrittenArray:
        return _make(WrittenArray, children, *_nodes(children))


def _temporal(children: list[Child], op: str, args: tuple[Child, ...], bounds: list[Child]) -> TemporalOperation:
    bound = cast(WrittenBound, bounds[0]) if bounds else None
    _check_bound(op, bound)
    return _make(TemporalOperation, children, op, args, bound)
