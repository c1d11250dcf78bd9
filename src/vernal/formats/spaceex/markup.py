"""XML as a tree of elements with their lines; nothing of it can grow beyond what the file holds.

Document types are refused, and with them all entities but the five of XML itself, so that no text expands; depth and
the number of elements are limited.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers.expat import ErrorString, ExpatError, ParserCreate

from vernal.errors import FormatError
from vernal.model.tick import Tick, idle

MAX_DEPTH = 20
MAX_ELEMENTS = 500_000
TICKED = 1000  # elements between two looks at the clock


@dataclass(slots=True)
class Element:
    """A tag with its attributes, the text directly in it, and its children; `line` is where it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """The children with this tag."""
        return [child for child in self.children if child.tag == tag]

    def only(self, tag: str) -> str:
        """The text of the child with this tag, empty if there is none; several are refused."""
        found = self.all(tag)
        if len(found) > 1:
            raise FormatError(f"line {found[1].line}: a second <{tag}> in <{self.tag}>")
        return found[0].text if found else ""

    def attribute(self, name: str) -> str:
        """An attribute that has to be there."""
        if name not in self.attributes:
            raise FormatError(f"line {self.line}: <{self.tag}> has no attribute {name!r}")
        return self.attributes[name]


def parse_markup(content: bytes, tick: Tick = idle) -> Element:
    """The root of an XML document."""
    builder = _Builder(tick)
    try:
        builder.parser.Parse(content, True)
    except ExpatError as error:
        raise FormatError(f"line {error.lineno}: no well-formed XML ({ErrorString(error.code)})") from None
    assert builder.root is not None, "expat refuses a document without elements"
    return builder.root


class _Builder:
    """What expat tells, as a tree."""

    def __init__(self, tick: Tick) -> None:
        self.parser = ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.tick, self.count = tick, 0
        self.open: list[tuple[Element, list[str]]] = []
        self.root: Element | None = None

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count % TICKED == 0:
            self.tick()
        line = self.parser.CurrentLineNumber
        if len(self.open) >= MAX_DEPTH or self.count > MAX_ELEMENTS:
            raise FormatError(f"line {line}: more than {MAX_DEPTH} levels or {MAX_ELEMENTS} elements")
        element = Element(tag, attributes, line)
        if self.open:
            self.open[-1][0].children.append(element)
        else:
            self.root = element
        self.open.append((element, []))

    def _end(self, tag: str) -> None:
        element, texts = self.open.pop()
        element.text = "".join(texts).strip()

    def _text(self, text: str) -> None:
        self.open[-1][1].append(text)

    def _refuse(self, *_: object) -> None:
        line = self.parser.CurrentLineNumber
        raise FormatError(f"line {line}: document types and entities are not read; remove <!DOCTYPE ...>")
