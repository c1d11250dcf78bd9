"""Assertions of a query, evaluated while they are read: a file of many megabytes never becomes a tree.

One expression finds the next piece of the text, a bracket with its operator, a number, an element with its indices;
operands are values by the time their bracket is closed. Time and memory grow with the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from vernal.errors import ParseError
from vernal.formats.vnnlib.declarations import Declared
from vernal.formats.vnnlib.operands import (
    MINUS_ONE,
    NO_TERMS,
    NONE,
    ONE,
    ZERO,
    Polynomial,
    difference,
    multiplied,
    total,
)
from vernal.formats.vnnlib.query import Constraint, ConstraintJunction, PolynomialComparison
from vernal.formats.vnnlib.sexpr import BLANK, MAX_DEPTH, WORD, QueryText, shown, wrong_indices
from vernal.model.tick import Tick

ELEMENT_OR_NUMBER = rf"({WORD})(\[[\d\s,]*+\])?+"
COMPARISON = rf"\({BLANK}(<=|>=|<|>|==|=|!=)\s{BLANK}{ELEMENT_OR_NUMBER}{BLANK}{ELEMENT_OR_NUMBER}{BLANK}\)"
ASSERT = re.compile(rf"\({BLANK}assert(?![^\s()\[\],;\"])")
BOUND = re.compile(rf"\({BLANK}assert{BLANK}{COMPARISON}{BLANK}\)")
PIECE = re.compile(
    rf"{BLANK}(?:{COMPARISON}|(\(){BLANK}({WORD})|({WORD})(?:\s*+(\[[\d\s,]*+\]))?|(\))|(.)|\Z)", re.DOTALL
)
COMPARED, OPEN, ONLY_WORD, INDEXED, CLOSE, OTHER = 5, 7, 8, 9, 10, 11  # the last group of each kind of piece
INDICES = re.compile(r"\[\s*\d{1,9}\s*(?:,\s*\d{1,9}\s*)*\]", re.ASCII)
NUMBER = re.compile(r"([+-]?)(\d+(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d{1,4}))?", re.ASCII)
NUMERIC = "0123456789+-."  # how numbers begin, and names do not
MAX_DIGITS = 1000
MAX_EXPONENT = 400
MAX_BITS = 13_000  # of a coefficient computed from others
MAX_DEGREE = 16
MAX_MONOMIALS = 10_000  # of one product
PIECES_PER_TICK = 512  # pieces between two looks at the clock
COMPARE = {"<": "<", "<=": "<=", ">": "<", ">=": "<=", "=": "==", "==": "==", "!=": "!="}
TURNED = (">", ">=")  # read as `<` and `<=` of the right and the left side
UNSUPPORTED = {
    "not": "turn the comparison round instead",
    "=>": "write (or ...) instead",
    "ite": "write (or (and ...) (and ...)) instead",
    "let": "write the terms out",
}

TermOrConstraint = Polynomial | Constraint


@dataclass(slots=True)
class OpenBracket:
    """An operator whose bracket is not closed yet, with the operands read so far."""

    op: str
    at: int
    args: list[TermOrConstraint] = field(default_factory=list)


@dataclass
class AssertionReader:
    """Reads assertions one after the other, with the names that are declared."""

    text: QueryText
    declared: Declared
    tick: Tick
    _elements: dict[str, Polynomial] = field(default_factory=dict)

    def read(self, at: int, start: int) -> tuple[Constraint, int]:
        """The constraint that begins at an offset, and where the bracket of its assertion, open at `start`, ends."""
        whole = OpenBracket("assert", start)
        pending = [whole]
        for number, piece in enumerate(PIECE.finditer(self.text.content, at)):
            if number % PIECES_PER_TICK == 0:
                self.tick()
            kind = piece.lastindex or OTHER
            if kind <= COMPARED:
                pending[-1].args.append(self.compare(piece))
            elif kind == OPEN:
                self._open(pending, piece)
            elif kind == ONLY_WORD:
                pending[-1].args.append(self._leaf(piece[8], piece.start(8)))
            elif kind == INDEXED:
                pending[-1].args.append(self._indexed(piece, ONLY_WORD))
            elif kind != CLOSE:
                raise self._unexpected(pending, piece)
            elif len(pending) > 1:
                closed = pending.pop()
                pending[-1].args.append(self._apply(closed))
            else:
                return self._constraint(whole, at), piece.end()
        raise AssertionError("the text ends with a piece")

    def _open(self, pending: list[OpenBracket], piece: re.Match[str]) -> None:
        if len(pending) == MAX_DEPTH:
            raise self.text.wrong(f"brackets are nested deeper than {MAX_DEPTH}", piece.start(6))
        pending.append(OpenBracket(piece[7], piece.start(6)))

    def _constraint(self, whole: OpenBracket, at: int) -> Constraint:
        if len(whole.args) != 1:
            raise self.text.wrong("assert takes one constraint, as in (assert (<= X_0 1))", whole.at)
        (value,) = whole.args
        if isinstance(value, Polynomial):
            raise self.text.wrong("assert takes a constraint, and this is a number", self.text.skip(at))
        return value

    def _unexpected(self, pending: Sequence[OpenBracket], piece: re.Match[str]) -> ParseError:
        """What is wrong with a piece that is none: the end, an operator that is missing, indices, a string."""
        at = piece.start(OTHER)
        if at < 0:
            return self.text.wrong("this bracket is never closed", pending[-1].at)
        match piece[OTHER]:
            case "(":
                return self.text.wrong("an operator is expected after '('", at)
            case '"' if self.text.content.find('"', at + 1) < 0:
                return self.text.wrong("this string has no end", at)
            case '"':
                return self.text.wrong("a string has no place in an assertion", at)
            case "[":
                return wrong_indices(self.text, at)
        return self.text.wrong(f"{piece[OTHER]!r} without '[' before it", at)

    # Operands ---------------------------------------------------------------------------------------------------------

    def _leaf(self, word: str, at: int) -> Polynomial:
        """An element or a number."""
        if word[0] not in NUMERIC:
            known = self._elements.get(word)
            return self._element(word, at) if known is None else known
        return Polynomial(NO_TERMS, self._number(word, at), NONE)

    def _number(self, word: str, at: int) -> Fraction:
        found = NUMBER.fullmatch(word)
        if found is None:
            raise self._unknown(word, at)
        if len(word) > MAX_DIGITS or (found[5] and abs(int(found[5])) > MAX_EXPONENT):
            raise self.text.wrong("this number is too long or too large", at)
        return _rational(found)

    def _element(self, word: str, at: int) -> Polynomial:
        """An element that is met for the first time."""
        number = self.declared.elements.get(word)
        if number is None:
            raise self._unknown(word, at)
        self._elements[word] = made = Polynomial({number: ONE}, ZERO, NONE)
        return made

    def _unknown(self, word: str, at: int) -> ParseError:
        bracket = self.text.skip(at + len(word))
        if self.text.content.startswith("[", bracket):
            return wrong_indices(self.text, bracket)
        return self.text.wrong(self.declared.unknown(word), at)

    def _indexed(self, piece: re.Match[str], group: int) -> Polynomial:
        """`X[0,1]`, blanks in it or not: a word and the group after it."""
        word, indices = piece[group], piece[group + 1]
        known = self._elements.get(word + indices)
        if known is not None:
            return known
        if INDICES.fullmatch(indices) is None:
            raise wrong_indices(self.text, piece.start(group + 1))
        numbers = ",".join(str(int(number)) for number in indices[1:-1].split(","))
        return self._leaf(f"{word}[{numbers}]", piece.start(group))

    # Operators --------------------------------------------------------------------------------------------------------

    def compare(self, piece: re.Match[str]) -> PolynomialComparison:
        """A comparison of two words, found by one expression: large queries consist of an element against a number."""
        op, first, indices, second, more = piece.group(1, 2, 3, 4, 5)
        element = self.declared.elements.get(first if indices is None else first + indices)
        if element is not None and more is None and second[0] in NUMERIC:
            return _bound(op, element, self._number(second, piece.start(4)))
        left = self._leaf(first, piece.start(2)) if indices is None else self._indexed(piece, 2)
        right = self._leaf(second, piece.start(4)) if more is None else self._indexed(piece, 4)
        return PolynomialComparison(COMPARE[op], difference(*((right, left) if op in TURNED else (left, right))))

    def _apply(self, node: OpenBracket) -> TermOrConstraint:
        op, args = node.op, node.args
        if op in COMPARE:
            return self._compare(node)
        if op in ("and", "or"):
            found = [arg for arg in args if not isinstance(arg, Polynomial)]
            if len(found) != len(args) or not args:
                raise self.text.wrong(f"{op} joins constraints, at least one", node.at)
            return ConstraintJunction(op, tuple(found))
        if op in ARITHMETIC:
            return ARITHMETIC[op](self, node, self._terms(node))
        advice = UNSUPPORTED.get(op, f"supported: {', '.join((*ARITHMETIC, *COMPARE, 'and', 'or'))}")
        raise self.text.wrong(f"the operator {shown(op)} is not supported; {advice}", node.at)

    def _terms(self, node: OpenBracket) -> list[Polynomial]:
        found = [arg for arg in node.args if isinstance(arg, Polynomial)]
        if len(found) != len(node.args) or not found:
            raise self.text.wrong(f"{node.op} takes numbers and variables, at least one", node.at)
        return found

    def _compare(self, node: OpenBracket) -> PolynomialComparison:
        terms = self._terms(node)
        if len(terms) != 2:
            raise self.text.wrong(f"{node.op} compares two terms, not {len(terms)}", node.at)
        left, right = reversed(terms) if node.op in TURNED else terms
        return PolynomialComparison(COMPARE[node.op], difference(left, right))

    def add(self, node: OpenBracket, terms: list[Polynomial]) -> Polynomial:
        return total(terms)

    def subtract(self, node: OpenBracket, terms: list[Polynomial]) -> Polynomial:
        first, *rest = terms
        return difference(first, total(rest)) if rest else first.scaled(MINUS_ONE)

    def multiply(self, node: OpenBracket, terms: list[Polynomial]) -> Polynomial:
        result = terms[0]
        for term in terms[1:]:
            if result.length * term.length > MAX_MONOMIALS or result.degree + term.degree > MAX_DEGREE:
                raise self.text.wrong("this product is too long, or of too high a degree", node.at)
            self.tick()
            result = self._short(node, multiplied(result, term))
        return result

    def divide(self, node: OpenBracket, terms: list[Polynomial]) -> Polynomial:
        first, *rest = terms
        if not rest or not all(term.is_constant and term.constant for term in rest):
            raise self.text.wrong("/ divides by numbers other than 0, not by variables", node.at)
        for term in rest:
            first = self._short(node, first.scaled(1 / term.constant))
        return first

    def _short(self, node: OpenBracket, term: Polynomial) -> Polynomial:
        """The term, unless its numbers grow beyond what anybody writes down."""
        if term.bits > MAX_BITS:
            raise self.text.wrong("the numbers of this term grow beyond all bounds", node.at)
        return term


def _bound(op: str, element: int, number: Fraction) -> PolynomialComparison:
    """An element against a number."""
    if op in TURNED:
        return PolynomialComparison(COMPARE[op], Polynomial({element: MINUS_ONE}, number, NONE))
    return PolynomialComparison(COMPARE[op], Polynomial({element: ONE}, -number, NONE))


def _rational(found: re.Match[str]) -> Fraction:
    """The number as it is written; quicker than `Fraction` of the text, which is most of what a query consists of."""
    sign, digits, decimals, leading, exponent = found.groups()
    places = len(decimals or leading or "") - int(exponent or 0)
    whole = int(sign + digits.replace(".", "", 1))
    return Fraction(whole, 10**places) if places > 0 else Fraction(whole * 10**-places)


ARITHMETIC: dict[str, Callable[[AssertionReader, OpenBracket, list[Polynomial]], Polynomial]] = {
    "+": AssertionReader.add,
    "-": AssertionReader.subtract,
    "*": AssertionReader.multiply,
    "/": AssertionReader.divide,
}
