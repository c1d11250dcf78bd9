"""Text for a terminal: what comes from files cannot move the cursor, colour words or turn the writing."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with every character that does not print, line ends apart, written as its escape."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(char if char == "\n" or char.isprintable() else _escaped(char) for char in text)


def in_one_line(text: str) -> str:
    """The same, line ends included: a text from a file stays inside the line of the message that quotes it."""
    return printable(text).replace("\n", "\\n")


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
