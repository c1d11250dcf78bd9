"""Texts that come from files, as people may see them: nothing in them moves a cursor, none is longer than a page."""

from __future__ import annotations

MAX_MESSAGE = 2000  # characters of one message
MAX_FORMULA = 500  # characters of a formula above what is said of it; documents have all of them
CUT = " ... "


def printable(text: str) -> str:
    """The text with every character that does not print, line ends apart, written as its escape.

    What is left can be shown by any terminal, and stand in XML.
    """
    if text.replace("\n", "").isprintable():
        return text
    return "".join(char if char == "\n" or char.isprintable() else _escaped(char) for char in text)


def in_one_line(text: str) -> str:
    """The same, line ends included: a text from a file stays inside the line of the message that quotes it."""
    return printable(text).replace("\n", "\\n")


def shortened(text: str, longest: int = MAX_MESSAGE) -> str:
    """A text of at most so many characters: of a longer one its beginning and its end."""
    if len(text) <= longest:
        return text
    tail = (longest - len(CUT)) // 3
    return f"{text[: longest - len(CUT) - tail]}{CUT}{text[-tail:]}"


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
