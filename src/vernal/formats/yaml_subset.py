"""A small part of YAML, read as texts, lists and tables: what data of numbers are written in, and nothing that acts.

Read are plain and quoted words in one line, `[lists]` and `{key: tables}` over several lines, and blocks of `key:` and
`- item` by their indentation; comments and a leading `---`. Anchors, aliases, tags, directives, several documents and
texts of several lines are refused: a file cannot name a class, nor say in a few lines what fills the memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from vernal.errors import FormatError
from vernal.formats.limits import Allowance

T = TypeVar("T")
Yaml: TypeAlias = "str | list[Yaml] | dict[str, Yaml]"

MAX_DEPTH = 16
WORD = r"""[^\s\[\]{},:#'"&*!|>%@`-](?:[^\n\[\]{},:#]|:(?=[^\s\]},])|(?<=\S)\#)*|-(?=[^\s-])[^\s\[\]{},:#]*"""
TOKEN = re.compile(
    rf"""(?P<space>[ ]+|(?<![^\s])\#[^\n]*)|(?P<sign>[\[\]{{}},]|:(?=[\s\[{{,}}\]]|$)|-(?=\s|$))"""
    rf"""|"(?P<double>[^"\\\n]*)"|'(?P<single>[^'\n]*)'|(?P<word>{WORD})"""
)


@dataclass(frozen=True, slots=True)
class Token:
    """A sign (`text` alone) or a word (`is_word`), with where it stands."""

    text: str
    is_word: bool
    line: int
    column: int


def parse_yaml(text: str, allowance: Allowance) -> Yaml:
    """What a document says."""
    reader = _YamlReader(list(_tokens(text, allowance)), allowance)
    found = reader.block(0, 0)
    if reader.here is not None:
        raise reader.error("stands where nothing is expected")
    return found


def _tokens(text: str, allowance: Allowance) -> Iterator[Token]:
    for number, line in enumerate(text.splitlines(), start=1):
        if number == 1 and line.rstrip() == "---":
            continue
        if line.startswith(("---", "...", "%")):
            raise FormatError(f"line {number}: only one document, without directives, is read")
        at = 0
        while at < len(line):
            found = TOKEN.match(line, at)
            if found is None:
                raise FormatError(f"line {number}, column {at + 1}: {line[at]!r} is not read in this part of YAML")
            allowance.take(1)
            for kind in ("sign", "double", "single", "word"):
                if found[kind] is not None:
                    yield Token(found[kind].rstrip(), kind != "sign", number, at)
            at = found.end()


class _YamlReader:
    """Goes through the tokens once; nesting is bounded."""

    def __init__(self, tokens: list[Token], allowance: Allowance) -> None:
        self.tokens, self.allowance, self.place = tokens, allowance, 0

    @property
    def here(self) -> Token | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def error(self, what: str) -> FormatError:
        token = self.here
        if token is None:
            return FormatError("the file ends too early")
        return FormatError(f"line {token.line}, column {token.column + 1}: {token.text[:40]!r} {what}")

    def _is(self, sign: str, ahead: int = 0) -> bool:
        place = self.place + ahead
        return place < len(self.tokens) and not self.tokens[place].is_word and self.tokens[place].text == sign

    def _word(self) -> str:
        token = self.here
        if token is None or not token.is_word:
            raise self.error("stands where a word is expected")
        self.place += 1
        return token.text

    def _deeper(self, depth: int) -> int:
        if depth >= MAX_DEPTH:
            raise FormatError(f"it nests deeper than {MAX_DEPTH}")
        return depth + 1

    # Blocks, by indentation

    def block(self, column: int, depth: int) -> Yaml:
        """A block whose lines begin at one column, at least the one given."""
        token = self.here
        if token is None or token.column < column:
            raise self.error("stands where a value is expected")
        inner = self._deeper(depth)
        if self._is("-"):
            return self._items(token.column, inner)
        if token.is_word and self._is(":", ahead=1):
            return self._entries(token.column, inner)
        return self.flow(depth)

    def _items(self, column: int, depth: int) -> list[Yaml]:
        found: list[Yaml] = []
        while (token := self.here) is not None and token.column == column and self._is("-"):
            self.place += 1
            found.append(self.block(column + 1, depth))
        return found

    def _entries(self, column: int, depth: int) -> dict[str, Yaml]:
        found: dict[str, Yaml] = {}
        while (token := self.here) is not None and token.column == column and self._is(":", ahead=1):
            key = self._key(found)
            after = self.here
            same_line = after is not None and after.line == token.line
            # a list of a key may stand at the key's own column
            first = column if not same_line and self._is("-") else column + 1
            found[key] = self.flow(depth) if same_line else self.block(first, depth)
        return found

    def _key(self, found: dict[str, Yaml]) -> str:
        if self.here is not None and self.here.text in found:
            raise self.error("is a key for the second time")
        key = self._word()
        if not self._is(":"):
            raise self.error("stands where a colon is expected")
        self.place += 1
        return key

    # Within brackets, or a word

    def flow(self, depth: int) -> Yaml:
        """A value in one of the brackets, or a word."""
        inner = self._deeper(depth)
        if self._is("["):
            return list(self._listed("]", lambda: self.flow(inner)))
        if self._is("{"):
            table: dict[str, Yaml] = {}
            for key, value in self._listed("}", lambda: (self._key(table), self.flow(inner))):
                table[key] = value
            return table
        return self._word()

    def _listed(self, end: str, one: Callable[[], T]) -> Iterator[T]:
        self.place += 1
        while not self._is(end):
            yield one()
            if not self._is(","):
                break
            self.place += 1
        if not self._is(end):
            raise self.error(f"stands where {end!r} or a comma is expected")
        self.place += 1
