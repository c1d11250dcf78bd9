"""VNN-LIB queries: the dialect of VNN-COMP (version 1) and version 2.0 with one declared network.

    read_query("prop_1.vnnlib")      a Query: tensors and constraints

Version 1 declares every element, `(declare-const X_0 Real)`; version 2 (https://www.vnnlib.org) declares a network with
its tensors, `(declare-network N (declare-input X Real [1,5]) (declare-output Y Real [1,5]))`. In both, assertions
are `and` and `or` over comparisons of polynomials. What is outside of this is refused by name, at its place.

Commands are read one after the other and are forgotten once they are understood; `tick` is called on the way, so that a
query of many megabytes is read inside the limits of the question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from vernal.errors import FormatError, ParseError
from vernal.formats.compression import unpacked
from vernal.formats.networks import read_bytes
from vernal.formats.vnnlib.assertion import ASSERT, BOUND, AssertionReader
from vernal.formats.vnnlib.declarations import ELEMENT, Declared, declare_element, declare_network
from vernal.formats.vnnlib.query import Constraint, Query
from vernal.formats.vnnlib.sexpr import BLANK, List, QueryText, Word, read_command, shown
from vernal.model.tick import Tick, idle

VERSIONS = ("1.0", "2.0")  # the oldest and the newest version read
MAX_BYTES = 256 * 2**20  # of a query, unpacked
IGNORED = ("set-logic", "set-info")  # commands without effect on the query
TAIL = ("get-model", "exit")  # commands that may follow (check-sat)
DECLARED = re.compile(rf"\({BLANK}declare-const{BLANK}({ELEMENT.pattern}){BLANK}Real{BLANK}\)", re.ASCII)


def read_query(path: str | Path, tick: Tick = idle) -> Query:
    """The query in a file; one compressed by gzip is unpacked."""
    file = Path(path)
    try:
        content = unpacked(read_bytes(file, MAX_BYTES), file, MAX_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{file}: not a text: byte {error.start} is not UTF-8") from None
    return parse_query(content, str(path), tick)


def parse_query(content: str, file: str | None = None, tick: Tick = idle) -> Query:
    """The query of a text."""
    text = QueryText(content, file)
    if text.skip(0) == len(content):
        raise ParseError(f"{file or 'the query'} is empty: it declares and asserts nothing")
    return _Parser(text, tick).parse()


@dataclass
class _Parser:
    """Commands in turn; declarations first fill the scope, assertions then use it."""

    text: QueryText
    tick: Tick
    version: str = ""
    declared: Declared = field(default_factory=Declared)
    assertions: list[Constraint] = field(default_factory=list)
    checked: bool = False

    def __post_init__(self) -> None:
        self.reader = AssertionReader(self.text, self.declared, self.tick)

    def parse(self) -> Query:
        start = at = self.text.skip(0)
        while at < len(self.text.content):
            self.tick()
            at = self.text.skip(self._read(at, first=at == start))
        source, result = self.declared.tensors(self.text)
        if not self.assertions:
            raise self.text.wrong("the query asserts nothing, so every input would do; add (assert ...)", 0)
        assertions = tuple(self.assertions)
        return Query(self.version or "1", self.declared.network, source, result, assertions, self.text.file)

    def _read(self, at: int, first: bool) -> int:
        """One command, and where it ends; the two that large files consist of without a tree."""
        if found := DECLARED.match(self.text.content, at):
            self._before("1", "declare-const", at)
            self.declared.add(self.text, found[2], int(found[3]), found.start(1))
            return found.end()
        if head := ASSERT.match(self.text.content, at):
            return self._assert(at, head.end())
        command, end = read_command(self.text, at)
        self._command(command, first)
        return end

    def _assert(self, at: int, start: int) -> int:
        self._not_after_check(at)
        if not self.assertions:
            self.declared.tensors(self.text)
        if found := BOUND.match(self.text.content, at):
            self.assertions.append(self.reader.compare(found))
            return found.end()
        constraint, end = self.reader.read(start, at)
        self.assertions.append(constraint)
        return end

    def _not_after_check(self, at: int) -> None:
        if self.checked:
            raise self.text.wrong("nothing may follow (check-sat)", at)

    def _command(self, command: List, first: bool) -> None:
        if self.checked and command.head in TAIL:
            return
        self._not_after_check(command.at)
        match command.head:
            case "vnnlib-version":
                self._read_version(command, first)
            case "declare-network":
                self._before("2.0", command.head, command.at)
                declare_network(self.text, command, self.declared)
            case "declare-const" | "declare-fun":
                self._before("1", command.head, command.at)
                declare_element(self.text, command, self.declared)
            case "check-sat" if self.version != "2.0":
                self.checked = True
            case head if not (head in IGNORED and self.version != "2.0"):
                known = ("assert", "declare-const", "declare-network", "vnnlib-version")
                what = f"the command {shown(head)} is not supported" if head else "a command has to begin with its name"
                raise self.text.wrong(f"{what}; supported: {', '.join(known)}", command.at)

    def _read_version(self, command: List, first: bool) -> None:
        given = command.items[1] if len(command.items) == 2 else None
        if not isinstance(given, Word) or not first:
            raise self.text.wrong("(vnnlib-version <2.0>) comes once, first, and names one version", command.at)
        if given.text != "<2.0>":
            raise self.text.wrong(
                f"VNN-LIB version {shown(given.text)} is not supported; read are <2.0>, and the dialect of VNN-COMP "
                "(version 1), which names no version",
                given.at,
            )
        self.version = "2.0"

    def _before(self, version: str, head: str, at: int) -> None:
        """A declaration of this version: it goes with others of its version only, and comes before assertions."""
        self._not_after_check(at)
        if self.version not in ("", version):
            raise self.text.wrong(f"({head} ...) is VNN-LIB {version}, but the query is VNN-LIB {self.version}", at)
        if self.assertions:
            raise self.text.wrong("declarations come before the first assertion", at)
        self.version = version
