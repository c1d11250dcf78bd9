"""Network queries: the linear core of VNN-LIB in the dialect of VNN-COMP (version 1), as alternatives of boxes.

`(declare-const X_0 Real)` declares an element, `(assert ...)` says that a comparison, an `and` or an `or` of them is
true. A term is a sum of numbers and multiples of elements; inputs are X_0, X_1, ..., outputs Y_0, Y_1, ...
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import inf, prod

from vernal_check.errors import Unreadable
from vernal_check.forms import ONE, ZERO, Interval
from vernal_check.syntax import decimal

PIECE = re.compile(r";[^\n]*|\s+|([()])|([^\s();]+)|(.)", re.DOTALL)
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
ELEMENT = re.compile(r"([XY])_(0|[1-9][0-9]{0,6})")
MAX_BYTES, MAX_WORD, MAX_DEPTH = 2**24, 400, 40
MAX_ALTERNATIVES = 100_000
SAID = {"set-logic", "set-info", "set-option", "check-sat", "exit", "get-model"}  # which say nothing of inputs
TURNED = {">=": "<=", ">": "<"}

Element = tuple[str, int]  # "X" or "Y", and its number


@dataclass(frozen=True)
class Term:
    """A sum of multiples of elements and a number."""

    factors: tuple[tuple[Element, Fraction], ...]
    constant: Fraction

    def plus(self, other: Term, scale: Fraction = ONE) -> Term:
        made = dict(self.factors)
        for element, factor in other.factors:
            made[element] = made.get(element, ZERO) + scale * factor
        return Term(tuple((e, a) for e, a in made.items() if a), self.constant + scale * other.constant)

    def times(self, a: Fraction) -> Term:
        return Term((), ZERO).plus(self, a)

    def value(self, point: dict[Element, Fraction]) -> Fraction:
        return self.constant + sum((a * point[element] for element, a in self.factors), ZERO)


@dataclass(frozen=True)
class Condition:
    """`term <= 0` or `term < 0`; with another operator, all (`and`) or some (`or`) of the parts."""

    op: str
    term: Term = Term((), ZERO)
    parts: tuple[Condition, ...] = ()

    def holds(self, point: dict[Element, Fraction]) -> bool:
        if self.is_joined:
            return (all if self.op == "and" else any)(part.holds(point) for part in self.parts)
        value = self.term.value(point)
        return value < 0 or (value == 0 and self.op == "<=")

    def atoms(self) -> Iterator[Condition]:
        for part in self.parts:
            yield from part.atoms()
        if not self.is_joined:
            yield self

    @property
    def is_joined(self) -> bool:
        return self.op in ("and", "or")

    @property
    def is_end(self) -> bool:
        """Whether it is an end of one input, as a box has them."""
        return not self.is_joined and len(self.term.factors) == 1 and self.term.factors[0][0][0] == "X"

    @property
    def on_inputs(self) -> bool:
        """Whether something in it speaks of inputs alone."""
        return any(all(kind == "X" for (kind, _), _ in atom.term.factors) for atom in self.atoms())


@dataclass(frozen=True)
class Alternative:
    """A box of inputs, what is asked of them and of the outputs besides, and all that is asked."""

    box: tuple[Interval, ...]
    asked: Condition
    whole: Condition


class Query:
    """A file: how many inputs and outputs there are, and what is asserted."""

    def __init__(self, data: bytes) -> None:
        if len(data) > MAX_BYTES:
            raise Unreadable("a query of more than 16 MiB is not read")
        try:
            self.pieces = [m[1] or m[2] for m in PIECE.finditer(data.decode("utf-8")) if self.is_word(m)]
        except UnicodeDecodeError:
            raise Unreadable("not a query: no text") from None
        declared, self.asserted = set[Element](), list[Condition]()
        self.place = 0
        while self.place < len(self.pieces):
            head, *rest = self.bracket(0)
            if head in ("declare-const", "declare-fun") and rest[-1:] == ["Real"]:
                declared.add(element(rest[0]))
            elif head == "assert" and len(rest) == 1:
                self.asserted.append(condition(rest[0]))
            elif head not in SAID:
                raise Unreadable(f"({head!s:.40} ...) is not read in a query")
        self.inputs, self.outputs = (sum(kind == one for kind, _ in declared) for one in "XY")
        numbered = {("X", i) for i in range(self.inputs)} | {("Y", i) for i in range(self.outputs)}
        used = {e for one in self.asserted for atom in one.atoms() for e, _ in atom.term.factors}
        if declared != numbered or not used <= declared or not self.inputs or not self.outputs:
            raise Unreadable("the elements of a query are X_0, X_1, ... and Y_0, Y_1, ..., each declared")

    @staticmethod
    def is_word(found: re.Match[str]) -> bool:
        if found[3] is not None or len(found[2] or "") > MAX_WORD:
            raise Unreadable("not a query: a character that has no place here, or a word without an end")
        return bool(found[1] or found[2])

    def bracket(self, depth: int) -> list[object]:
        """The items of a bracket, which are words or lists again."""
        if self.pieces[self.place] != "(" or depth > MAX_DEPTH:
            raise Unreadable("not a query: a bracket is expected, and not too deep")
        items = list[object]()
        self.place += 1
        while self.place < len(self.pieces) and self.pieces[self.place] != ")":
            if self.pieces[self.place] == "(":
                items.append(self.bracket(depth + 1))
            else:
                items.append(self.pieces[self.place])
                self.place += 1
        self.place += 1
        if self.place > len(self.pieces) or not items:
            raise Unreadable("not a query: a bracket is never closed, or empty")
        return items

    def alternatives(self) -> list[Alternative]:
        """The boxes of inputs: all ways in which what is said of inputs by `or` may be true."""
        made = map(self.alternative, choices(Condition("and", parts=tuple(self.asserted))))
        return [one for one in made if all(low <= high for low, high in one.box)]

    def alternative(self, conditions: Sequence[Condition]) -> Alternative:
        ends: list[Interval] = [(-inf, inf)] * self.inputs
        for one in conditions:
            if one.is_end:
                ((_, number), factor), end = one.term.factors[0], -one.term.constant / one.term.factors[0][1]
                low, high = ends[number]
                ends[number] = (low, min(high, end)) if factor > 0 else (max(low, end), high)
        if any(isinstance(end, float) for pair in ends for end in pair):
            raise Unreadable("an input of the query has not two ends")
        rest = tuple(one for one in conditions if not one.is_end)
        return Alternative(tuple(ends), Condition("and", parts=rest), Condition("and", parts=tuple(conditions)))


def choices(one: Condition) -> list[list[Condition]]:
    """The ways in which a condition may be true; an `or` of outputs alone stays as it is."""
    if one.op == "and":
        ways = [choices(part) for part in one.parts]
        if prod(map(len, ways)) > MAX_ALTERNATIVES:
            raise Unreadable("a query has too many alternatives")
        return [[c for part in chosen for c in part] for chosen in product(*ways)]
    if one.op == "or" and one.on_inputs:
        return [way for part in one.parts for way in choices(part)]
    return [[one]]


def condition(item: object) -> Condition:
    if not isinstance(item, list) or len(item) < 2:
        raise Unreadable("a condition of a query is a bracket")
    op, args = item[0], item[1:]
    if op in ("and", "or"):
        return Condition(op, parts=tuple(map(condition, args)))
    if op in ("<=", "<", ">=", ">", "=", "==") and len(args) == 2:
        a, b = map(term, args)
        if op in ("=", "=="):
            return Condition("and", parts=(Condition("<=", a.plus(b, -ONE)), Condition("<=", b.plus(a, -ONE))))
        return Condition(TURNED[op], b.plus(a, -ONE)) if op in TURNED else Condition(op, a.plus(b, -ONE))
    raise Unreadable(f"{op!s:.40} is not read as a condition of a query")


def term(item: object) -> Term:
    if isinstance(item, str):
        return Term((), decimal(item)) if NUMBER.fullmatch(item) else Term(((element(item), ONE),), ZERO)
    assert isinstance(item, list)
    op, args = item[0], [term(arg) for arg in item[1:]]
    if op in ("+", "-") and args:
        first = args[0] if op == "+" or len(args) > 1 else Term((), ZERO)
        for other in args[1:] if len(args) > 1 or op == "+" else args:
            first = first.plus(other, ONE if op == "+" else -ONE)
        return first
    if op == "*" and sum(bool(arg.factors) for arg in args) <= 1 and args:
        scale = prod((arg.constant for arg in args if not arg.factors), start=ONE)
        return next((arg for arg in args if arg.factors), Term((), ONE)).times(scale)
    if op == "/" and len(args) == 2 and not args[1].factors and args[1].constant:
        return args[0].times(1 / args[1].constant)
    raise Unreadable(f"({op!s:.40} ...) is not read as a linear term of a query")


def element(word: object) -> Element:
    found = ELEMENT.fullmatch(word) if isinstance(word, str) else None
    if found is None:
        raise Unreadable(f"{word!s:.40} is no element X_0, Y_0, ... of a query")
    return found[1], int(found[2])
