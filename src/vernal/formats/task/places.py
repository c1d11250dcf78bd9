"""Where in a TOML file everything stands, down to a character inside a string.

tomllib says what a file contains but not where. This scanner walks the same text once, notes where every key and value
begins, and for every string how its characters map back to the file through quotes, escapes and folded lines. It reads
only what tomllib has accepted, so it checks nothing; it keeps its own stack, so nesting cannot exhaust Python's.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from vernal.errors import ParseError, Place
from vernal.logic.syntax import Source, place_in
from vernal.model.tick import Tick, idle

Path: TypeAlias = tuple[str | int, ...]
LineColumn: TypeAlias = tuple[int, int]


@dataclass(slots=True)
class WrittenScalar:
    """A value as written: its text, and for runs of its characters where each run begins in the file."""

    text: str
    starts: list[int]  # offsets into the text, ascending from 0
    offsets: list[int]  # the offsets into the file that belong to them

    def locate(self, offset: int) -> int:
        """The offset in the file of `text[offset]`; past the end lies what closes the value."""
        run = bisect_right(self.starts, max(offset, 0)) - 1
        return self.offsets[run] + min(offset, len(self.text)) - self.starts[run]


@dataclass(slots=True, eq=False)
class KeyNode:
    """A key or an array element: where its name and its value begin, and what lies below."""

    key: int
    value: int
    scalar: WrittenScalar | None = None
    children: dict[str | int, KeyNode] = field(default_factory=dict, repr=False)
    tables: bool = False  # an array of tables: further headers speak of its last element

    def child(self, name: str | int, key: int) -> KeyNode:
        """The child of that name, made on first mention."""
        return self.children.setdefault(name, KeyNode(key, key))

    def latest(self) -> KeyNode:
        """The table that a header passing through here means."""
        return self.children[len(self.children) - 1] if self.tables else self

    def append(self, offset: int) -> KeyNode:
        """One more element of an array."""
        return self.child(len(self.children), offset)


@dataclass(frozen=True, slots=True)
class Places:
    """A map from paths such as `("agents", "advisor", "observe", 2)` to positions in a TOML text.

    A path that is not in the text leads to its nearest ancestor that is: a missing key is missing somewhere. Of a task
    built on a world, `below` is the map of the world's text: what stands in both, the task says.
    """

    text: str
    file: str | None
    root: KeyNode = field(repr=False)
    lines: list[int] = field(repr=False)  # the offset at which each line begins
    below: Places | None = field(default=None, repr=False)
    written: Mapping[Path, Source] = field(default_factory=dict, repr=False)  # values that stand in no text

    def key(self, path: Path) -> LineColumn:
        """Line and column, from 1, of the key (an array element has none: of the element)."""
        layer = self._layer(path)
        return layer._position(layer._find(path).key)

    def value(self, path: Path) -> LineColumn:
        """Line and column, from 1, of the value; of a table, where it is first mentioned."""
        layer = self._layer(path)
        return layer._position(layer._find(path).value)

    def key_place(self, path: Path) -> Place:
        """The key as a Place, for an error message."""
        layer = self._layer(path)
        last = path[-1] if path and layer.has(path) else ""
        return layer._place(layer._find(path).key, len(last) if isinstance(last, str) else 1)

    def value_place(self, path: Path) -> Place:
        """The value as a Place, for an error message."""
        layer = self._layer(path)
        node = layer._find(path)
        end = node.scalar.locate(len(node.scalar.text)) if node.scalar else node.value
        quoted = layer.text[node.value : node.value + 1] in {'"', "'"}
        return layer._place(node.value, end - node.value + quoted)

    def source(self, path: Path) -> Source:
        """The value's text for the parser: the contents of a string, or a number as it was written."""
        if path in self.written:
            return self.written[path]
        layer = self._layer(path)
        scalar = layer._find(path).scalar if layer.has(path) else None
        if scalar is None:
            raise KeyError(path)
        locate = scalar.locate
        return Source(scalar.text, layer.file, lambda offset: layer._place(locate(offset)))

    def __contains__(self, path: object) -> bool:
        return isinstance(path, tuple) and self._layer(path).has(path)

    def _layer(self, path: Path) -> Places:
        """The topmost text that has the path; where none has it, this one."""
        layer: Places | None = self
        while layer and not layer.has(path):
            layer = layer.below
        return layer or self

    def has(self, path: Path) -> bool:
        """Whether this text itself says something there, rather than a world's below it."""
        return len(list(self._walk(path))) == len(path) + 1

    def _find(self, path: Path) -> KeyNode:
        *_, last = self._walk(path)
        return last

    def _walk(self, path: Path) -> Iterator[KeyNode]:
        node = self.root
        yield node
        for step in path:
            if step not in node.children:
                return
            node = node.children[step]
            yield node

    def _position(self, offset: int) -> LineColumn:
        line = bisect_right(self.lines, offset)
        return line, offset - self.lines[line - 1] + 1

    def _place(self, offset: int, width: int = 1) -> Place:
        line, column = self._position(offset)
        end = self.lines[line] if line < len(self.lines) else len(self.text)
        text = self.text[self.lines[line - 1] : end].rstrip("\r\n")
        return Place(self.file, line, column, text, max(1, min(width, len(text) - column + 1)))


def scan(text: str, file: str | None = None, tick: Tick = idle) -> Places:
    """Map a text that tomllib accepts; `tick` is called at every line of it."""
    lines = [0, *(newline.end() for newline in re.finditer("\n", text))]
    return Places(text, file, _Scanner(text).document(tick), lines)


UNCLOSED = re.compile(r"""Unterminated string|character '\\n'|^Expected ("'+"|'"+')$""")  # tomllib's words


def toml_error(error: tomllib.TOMLDecodeError, text: str, file: str | None = None) -> ParseError:
    """tomllib's complaint, at its place in the file."""
    found = re.search(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", str(error), re.DOTALL)
    if found is None:
        return ParseError(f"not a TOML file: {error}", place=place_in(text, 0, file))
    lines = text.split("\n")
    line = int(found[2] or len(lines))
    shown = lines[line - 1].rstrip("\r")
    column = int(found[3] or len(shown) + 1)
    said = "a text that begins here, or before, is never closed" if UNCLOSED.search(found[1]) else found[1]
    return ParseError(f"not a TOML file: {said}", place=Place(file, line, column, shown))


# ------------------------------------------------------------------------------------------------------- the scanner

BLANK = re.compile(r"[ \t]*")
IDLE = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")  # between elements; within an inline table there are no line ends anyway
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
SCALAR = re.compile(r"[^\s,\]}#]+(?: [0-9][^\s,\]}#]*)?")  # a date and a time may be separated by a space
ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
LINE_END = re.compile(r"(?:\r?\n)?")
FOLD = re.compile(r"\\[ \t]*\r?\n[ \t\r\n]*")
PLAIN = {quote: re.compile(rf"[^{quote}\\\r]+") for quote in "\"'"}
CONTROLS = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}


class _Scanner:
    """A cursor over the text; every method starts where a thing begins and leaves the cursor behind it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def document(self, tick: Tick) -> KeyNode:
        """Read line by line: a header sets the table that the following pairs belong to."""
        root = table = KeyNode(0, 0)
        self._skip(IDLE)
        while self.at < len(self.text):
            tick()
            if self.text[self.at] == "[":
                table = self._header(root)
            else:
                self._value(self._pair(table))
            self._skip(IDLE)
        return root

    def _header(self, root: KeyNode) -> KeyNode:
        tables = self.text.startswith("[[", self.at)
        self.at += 2 if tables else 1
        *parents, (name, offset) = self._dotted()
        self.at += 2 if tables else 1
        node = root
        for part, start in parents:
            node = node.child(part, start).latest()
        node = node.child(name, offset)
        if tables:
            node.tables = True
            return node.append(offset)
        node.key = node.value = offset  # [a.b] may have mentioned a before [a] states it
        return node

    def _pair(self, table: KeyNode) -> KeyNode:
        """`a.b.c =`; the cursor ends at the value."""
        for name, offset in self._dotted():
            table = table.child(name, offset)
        self.at += 1
        self._skip(BLANK)
        return table

    def _dotted(self) -> list[tuple[str, int]]:
        """The parts of a key and their offsets; the cursor ends behind the blanks that follow."""
        parts: list[tuple[str, int]] = []
        while True:
            self._skip(BLANK)
            offset = self.at
            parts.append((self._name(), offset))
            self._skip(BLANK)
            if self.text[self.at] != ".":
                return parts
            self.at += 1

    def _name(self) -> str:
        if self.text[self.at] in "\"'":
            return self._string().text
        return self._take(BARE_KEY)

    def _value(self, node: KeyNode) -> None:
        """Read a value and all it contains; `opened` are the arrays and inline tables around the cursor."""
        opened = self._open(node, [])
        while opened:
            self._skip(IDLE)
            if self.text[self.at] in "]}":
                opened.pop()
                self.at += 1
            elif self.text[self.at] == ",":
                self.at += 1
            elif self.text[opened[-1].value] == "[":
                self._open(opened[-1].append(self.at), opened)
            else:
                self._open(self._pair(opened[-1]), opened)

    def _open(self, node: KeyNode, opened: list[KeyNode]) -> list[KeyNode]:
        """Read a scalar whole; of an array or an inline table, only the opening bracket."""
        node.value = self.at
        if self.text[self.at] in "[{":
            opened.append(node)
            self.at += 1
        elif self.text[self.at] in "\"'":
            node.scalar = self._string()
        else:
            node.scalar = WrittenScalar(self._take(SCALAR), [0], [node.value])
        return opened

    def _string(self) -> WrittenScalar:
        quote = self.text[self.at]
        long = self.text.startswith(quote * 3, self.at)
        self.at += 3 if long else 1
        if long:  # a line end right behind the opening quotes is not part of the string
            self._skip(LINE_END)
        runs = list(self._runs(quote, quote * 3 if long else quote))
        scalar = WrittenScalar("".join(piece for piece, _ in runs), [], [])
        length = 0
        for piece, offset in runs:
            scalar.starts.append(length)
            scalar.offsets.append(offset)
            length += len(piece)
        return scalar

    def _runs(self, quote: str, closing: str) -> Iterator[tuple[str, int]]:
        """Decoded pieces with their offsets, until the closing quotes, which are the last and empty piece."""
        while not self._closes(closing):
            offset, char = self.at, self.text[self.at]
            if char == "\\" and quote == '"':
                yield self._escape(), offset
            elif char in "\\\r" or char == quote:  # a plain backslash, a line end (CR is dropped), a lone quote
                self.at += 1
                yield char.replace("\r", ""), offset
            else:
                yield self._take(PLAIN[quote]), offset
        yield "", self.at
        self.at += len(closing)

    def _closes(self, closing: str) -> bool:
        """Of four or five quotes in a row the last three close, the others belong to the string."""
        if not self.text.startswith(closing, self.at):
            return False
        return len(closing) == 1 or not self.text.startswith(closing[0], self.at + 3)

    def _escape(self) -> str:
        """What an escape stands for: one character, or nothing where it folds lines."""
        if FOLD.match(self.text, self.at):
            self._skip(FOLD)
            return ""
        escape = ESCAPE.match(self.text, self.at)
        assert escape is not None
        self.at = escape.end()
        code = escape[1] or escape[2] or escape[3]
        return chr(int(code, 16)) if code else CONTROLS.get(escape[4], escape[4])

    def _skip(self, pattern: re.Pattern[str]) -> None:
        self._take(pattern)

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        assert found is not None, "the text is not valid TOML"
        self.at = found.end()
        return found[0]
