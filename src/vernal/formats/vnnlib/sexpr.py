"""The brackets of VNN-LIB: words, index lists and nested lists, each with its place in the text.

A query is data from anywhere, so reading it neither recurses nor trusts its size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from vernal.errors import ParseError, Place

MAX_DEPTH = 500  # nested brackets; queries that people or programs write stay below ten
BLANK = r"(?:\s++|;[^\n]*+)*+"  # blanks and comments
WORD = r'[^\s()\[\],;"]++'
SKIPPED = re.compile(BLANK)
TOKEN = re.compile(rf'(?:\s+|;[^\n]*)|("[^"]*"|[()\[\],]|{WORD})')


@dataclass(frozen=True, slots=True)
class Word:
    """A name, an operator or a number; a quoted string keeps its quotes."""

    text: str
    at: int


@dataclass(frozen=True, slots=True)
class IndexList:
    """`[0,1]`: a shape, or the position of an element in a tensor."""

    numbers: tuple[int, ...]
    at: int

    def __str__(self) -> str:
        return f"[{','.join(map(str, self.numbers))}]"


@dataclass(frozen=True, slots=True)
class List:
    """`( ... )`"""

    items: list[SExpression]
    at: int

    @property
    def head(self) -> str:
        """The word it begins with, or nothing."""
        return self.items[0].text if self.items and isinstance(self.items[0], Word) else ""


SExpression = Word | IndexList | List


@dataclass(frozen=True, slots=True)
class QueryText:
    """A text with a name, in which offsets are places."""

    content: str
    file: str | None = None

    def place(self, at: int) -> Place:
        """Line and column of an offset."""
        start = self.content.rfind("\n", 0, at) + 1
        end = self.content.find("\n", at)
        line = self.content[start : end if end >= 0 else None].rstrip("\r")
        return Place(self.file, self.content.count("\n", 0, at) + 1, at - start + 1, line)

    def wrong(self, message: str, at: int) -> ParseError:
        return ParseError(message, place=self.place(at))

    def skip(self, at: int) -> int:
        """The next offset at which something stands that is no blank and no comment."""
        found = SKIPPED.match(self.content, at)
        return at if found is None else found.end()


def wrong_indices(text: QueryText, at: int) -> ParseError:
    """What is wrong with indices, the bracket of which is at this offset."""
    reader = _ListReader(text, open=[List([], at)])
    try:
        for token, start in _tokens(text, at):
            reader.take(token, start)
            if reader.bracket is None:
                return text.wrong("indices follow the name of a tensor, as in X[0,1]", at)
    except ParseError as error:
        return error
    return reader.never_closed()


def read_command(text: QueryText, at: int) -> tuple[List, int]:
    """The list that begins at an offset, and where it ends."""
    reader = _ListReader(text)
    for token, start in _tokens(text, at):
        reader.take(token, start)
        if reader.done is not None:
            return reader.done, start + 1
    raise reader.never_closed()


def _tokens(text: QueryText, at: int) -> Iterator[tuple[str, int]]:
    content = text.content
    while at < len(content):
        found = TOKEN.match(content, at)
        if found is None:  # everything but an unmatched quote is a token
            raise text.wrong("this string has no end", at)
        if found[1]:
            yield found[1], at
        at = found.end()


@dataclass
class _ListReader:
    """Lists that are open at the moment, outermost first."""

    text: QueryText
    done: List | None = None
    open: list[List] = field(default_factory=list)
    bracket: int | None = None  # where the `[` we are in began
    numbers: list[int] = field(default_factory=list)
    after_comma: bool = True  # whether a number comes next inside brackets

    def take(self, token: str, at: int) -> None:
        if self.bracket is not None:
            self._inside(token, at)
        elif token == "(":
            if len(self.open) == MAX_DEPTH:
                raise self.text.wrong(f"brackets are nested deeper than {MAX_DEPTH}", at)
            self.open.append(List([], at))
        elif not self.open:
            raise self.text.wrong(f"a command in brackets is expected here, not {shown(token)}", at)
        elif token == ")":
            closed = self.open.pop()
            if self.open:
                self.open[-1].items.append(closed)
            else:
                self.done = closed
        elif token == "[":
            self.bracket, self.numbers, self.after_comma = at, [], True
        elif token in ("]", ","):
            raise self.text.wrong(f"{token!r} without '[' before it", at)
        else:
            self.open[-1].items.append(Word(token, at))

    def _inside(self, token: str, at: int) -> None:
        """Between `[` and `]`: whole numbers and commas in turn."""
        assert self.bracket is not None
        if token == "]" and (not self.after_comma or not self.numbers):
            self.open[-1].items.append(IndexList(tuple(self.numbers), self.bracket))
            self.bracket = None
        elif token == "," and not self.after_comma:
            self.after_comma = True
        elif self.after_comma and token.isascii() and token.isdigit() and len(token) <= 9:
            self.numbers.append(int(token))
            self.after_comma = False
        else:
            raise self.text.wrong(f"indices are whole numbers with commas between, as in [0,1], not {shown(token)}", at)

    def never_closed(self) -> ParseError:
        if self.bracket is not None:
            return self.text.wrong("this '[' is never closed", self.bracket)
        return self.text.wrong("this bracket is never closed", self.open[-1].at)


def shown(text: str) -> str:
    """A piece of a foreign file in a message: printable and short."""
    return ascii(text if len(text) <= 60 else text[:57] + "...")
