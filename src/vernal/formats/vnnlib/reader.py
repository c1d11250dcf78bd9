"""VNN-LIB queries: the dialect of VNN-COMP (version 1) and version 2.0 with one declared network.

    read_query("prop_1.vnnlib")      a Query: tensors and linear constraints

Version 1 declares every element, `(declare-const X_0 Real)`; version 2 (https://www.vnnlib.org) declares a network with
its tensors, `(declare-network N (declare-input X Real [1,5]) (declare-output Y Real [1,5]))`. In both, assertions
are `and` and `or` over comparisons of linear terms. What is outside of this is refused by name, at its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from vernal.errors import FormatError, ParseError
from vernal.formats.networks import MAX_BYTES, read_bytes
from vernal.formats.vnnlib.declare import Declared, declare_element, declare_network
from vernal.formats.vnnlib.query import Constraint, ConstraintJunction, LinearComparison, LinearTerm, Query, total
from vernal.formats.vnnlib.sexpr import IndexList, List, QueryText, SExpression, Word, read, shown

VERSIONS = ("1.0", "2.0")  # the oldest and the newest version read
MAX_DIGITS = 1000
MAX_EXPONENT = 400
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE]([+-]?\d{1,4}))?", re.ASCII)
COMPARE = {"<": "<", "<=": "<=", ">": "<", ">=": "<=", "=": "==", "==": "==", "!=": "!="}
ARITHMETIC = ("+", "-", "*")
UNSUPPORTED = {
    "not": "turn the comparison round instead",
    "=>": "write (or ...) instead",
    "ite": "write (or (and ...) (and ...)) instead",
    "let": "write the terms out",
    "/": "multiply by a decimal instead",
}
IGNORED = ("set-logic", "set-info")  # commands without effect on the query

QueryTerm = LinearTerm | Constraint


def read_query(path: str | Path) -> Query:
    """The query in a file; one compressed by gzip is unpacked."""
    file = Path(path)
    data = read_bytes(file)
    try:
        content = (_unpacked(data, file) if data[:2] == b"\x1f\x8b" else data).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{file}: not a text: byte {error.start} is not UTF-8") from None
    return parse_query(content, str(path))


def _unpacked(data: bytes, file: Path) -> bytes:
    import zlib

    unpacker = zlib.decompressobj(wbits=31)
    try:
        content = unpacker.decompress(data, MAX_BYTES + 1)
    except zlib.error as error:
        raise FormatError(f"{file}: damaged gzip data ({error})") from None
    if len(content) > MAX_BYTES:
        raise FormatError(f"{file}: larger than {MAX_BYTES // 2**20} MiB when unpacked, more than Vernal reads")
    if not unpacker.eof:
        raise FormatError(f"{file}: damaged gzip data (it ends too early)")
    return content


def parse_query(content: str, file: str | None = None) -> Query:
    """The query of a text."""
    text = QueryText(content, file)
    commands = read(text)
    if not commands:
        raise ParseError(f"{file or 'the query'} is empty: it declares and asserts nothing")
    return _Parser(text).parse(commands)


@dataclass
class _Parser:
    """Commands in turn; declarations first fill the scope, assertions then use it."""

    text: QueryText
    version: str = ""
    declared: Declared = field(default_factory=Declared)
    assertions: list[Constraint] = field(default_factory=list)
    checked: bool = False

    def parse(self, commands: Sequence[List]) -> Query:
        for position, command in enumerate(commands):
            self._command(command, position)
        source, result = self.declared.tensors(self.text)
        if not self.assertions:
            raise self.text.wrong("the query asserts nothing, so every input would do; add (assert ...)", 0)
        assertions = tuple(self.assertions)
        return Query(self.version or "1", self.declared.network, source, result, assertions, self.text.file)

    def _command(self, command: List, position: int) -> None:
        if self.checked:
            raise self.text.wrong("nothing may follow (check-sat)", command.at)
        match command.head:
            case "vnnlib-version":
                self._read_version(command, position)
            case "declare-network":
                self.version = self._only("2.0", command)
                self._before_assertions(command)
                declare_network(self.text, command, self.declared)
            case "declare-const" | "declare-fun":
                self.version = self._only("1", command)
                self._before_assertions(command)
                declare_element(self.text, command, self.declared)
            case "assert":
                self._assert(command)
            case "check-sat" if self.version != "2.0":
                self.checked = True
            case head if not (head in IGNORED and self.version != "2.0"):
                known = ("assert", "declare-const", "declare-network", "vnnlib-version")
                what = f"the command {shown(head)} is not supported" if head else "a command has to begin with its name"
                raise self.text.wrong(f"{what}; supported: {', '.join(known)}", command.at)

    def _read_version(self, command: List, position: int) -> None:
        given = command.items[1] if len(command.items) == 2 else None
        if not isinstance(given, Word) or position != 0:
            raise self.text.wrong("(vnnlib-version <2.0>) comes once, first, and names one version", command.at)
        if given.text != "<2.0>":
            raise self.text.wrong(
                f"VNN-LIB version {shown(given.text)} is not supported; read are <2.0>, and the dialect of VNN-COMP "
                "(version 1), which names no version",
                given.at,
            )
        self.version = "2.0"

    def _only(self, version: str, command: List) -> str:
        """Declarations of one version do not go with those of the other."""
        if self.version not in ("", version):
            raise self.text.wrong(
                f"({command.head} ...) is VNN-LIB {version}, but the query is VNN-LIB {self.version}", command.at
            )
        return version

    def _before_assertions(self, command: List) -> None:
        if self.assertions:
            raise self.text.wrong("declarations come before the first assertion", command.at)

    # Assertions -------------------------------------------------------------------------------------------------------

    def _assert(self, command: List) -> None:
        if len(command.items) != 2 or not isinstance(command.items[1], List):
            raise self.text.wrong("assert takes one constraint, as in (assert (<= X_0 1))", command.at)
        if not self.assertions:
            self.declared.tensors(self.text)
        value = self._value(command.items[1])
        if isinstance(value, LinearTerm):
            raise self.text.wrong("assert takes a constraint, and this is a number", command.items[1].at)
        self.assertions.append(value)

    def _value(self, root: SExpression) -> QueryTerm:
        """A term or a constraint, operands before operators; nesting costs no stack."""
        values: list[QueryTerm] = []
        waiting: list[tuple[SExpression, int]] = [
            (root, -1)
        ]  # -1: its operands are not yet read; else how many there are
        while waiting:
            node, count = waiting.pop()
            if not isinstance(node, List):
                values.append(self._leaf(node))
            elif count < 0:
                operands = self._operands(node)
                waiting.append((node, len(operands)))
                waiting.extend((operand, -1) for operand in reversed(operands))
            else:
                own = values[len(values) - count :]
                del values[len(values) - count :]
                values.append(self._apply(node, own))
        return values[0]

    def _operands(self, node: List) -> list[SExpression]:
        """What the operator is applied to; an element `X[0,1]` is one word."""
        if not node.head:
            raise self.text.wrong("an operator is expected after '('", node.at)
        operands: list[SExpression] = []
        for item in node.items[1:]:
            if isinstance(item, IndexList):
                last = operands.pop() if operands else None
                if not isinstance(last, Word) or last.text.endswith("]"):
                    raise self.text.wrong("indices follow the name of a tensor, as in X[0,1]", item.at)
                item = Word(f"{last.text}{item}", last.at)
            operands.append(item)
        return operands

    def _leaf(self, node: Word | IndexList) -> LinearTerm:
        assert isinstance(node, Word)
        if (element := self.declared.elements.get(node.text)) is not None:
            return LinearTerm({element: Fraction(1)})
        if found := NUMBER.fullmatch(node.text):
            if len(node.text) > MAX_DIGITS or abs(int(found[4] or 0)) > MAX_EXPONENT:
                raise self.text.wrong("this number is too long or too large", node.at)
            return LinearTerm(constant=Fraction(node.text))
        raise self.text.wrong(self.declared.unknown(node.text), node.at)

    def _apply(self, node: List, args: Sequence[QueryTerm]) -> QueryTerm:
        op = node.head
        if op in ("and", "or"):
            return ConstraintJunction(op, tuple(self._constraints(node, args)))
        if op in COMPARE:
            return self._compare(node, self._terms(node, args))
        if op in ARITHMETIC:
            return ARITHMETICS[op](self, node, self._terms(node, args))
        known = (*ARITHMETIC, *COMPARE, "and", "or")
        advice = UNSUPPORTED.get(op, f"supported: {', '.join(known)}")
        raise self.text.wrong(f"the operator {shown(op)} is not supported; {advice}", node.at)

    def _constraints(self, node: List, args: Sequence[QueryTerm]) -> list[Constraint]:
        found = [arg for arg in args if not isinstance(arg, LinearTerm)]
        if len(found) != len(args) or not args:
            raise self.text.wrong(f"{node.head} joins constraints, at least one", node.at)
        return found

    def _terms(self, node: List, args: Sequence[QueryTerm]) -> list[LinearTerm]:
        found = [arg for arg in args if isinstance(arg, LinearTerm)]
        if len(found) != len(args) or not args:
            raise self.text.wrong(f"{node.head} takes numbers and variables, at least one", node.at)
        return found

    def _compare(self, node: List, terms: list[LinearTerm]) -> LinearComparison:
        if len(terms) != 2:
            raise self.text.wrong(f"{node.head} compares two terms, not {len(terms)}", node.at)
        left, right = reversed(terms) if node.head in (">", ">=") else terms
        return LinearComparison(COMPARE[node.head], total([left, right.scaled(Fraction(-1))]))

    def add(self, node: List, terms: list[LinearTerm]) -> LinearTerm:
        return total(terms)

    def subtract(self, node: List, terms: list[LinearTerm]) -> LinearTerm:
        first, *rest = terms
        return total([first, *(term.scaled(Fraction(-1)) for term in rest)]) if rest else first.scaled(Fraction(-1))

    def multiply(self, node: List, terms: list[LinearTerm]) -> LinearTerm:
        result = terms[0]
        for term in terms[1:]:
            if term.terms and result.terms:
                raise self.text.wrong("a product of two variables is not linear; only linear terms are read", node.at)
            result = term.scaled(result.constant) if term.terms else result.scaled(term.constant)
        return result


ARITHMETICS: dict[str, Callable[[_Parser, List, list[LinearTerm]], LinearTerm]] = {
    "+": _Parser.add,
    "-": _Parser.subtract,
    "*": _Parser.multiply,
}
