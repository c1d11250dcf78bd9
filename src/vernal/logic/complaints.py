"""What is wrong with a text: where, what was found, and what might be written instead."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from vernal.logic.syntax import TextSpan

if TYPE_CHECKING:
    from lark import UnexpectedInput

OPERATORS = frozenset({"A", "E", "F", "G", "R", "U", "W", "X", "AX", "EX", "AF", "EF", "AG", "EG"})


class Complaint(Exception):
    """Something wrong at a span; where the source is known it becomes a ParseError."""

    def __init__(self, message: str, span: TextSpan) -> None:
        self.message, self.span = message, span


# What stands where an operand may stand, and what may follow one; each with the words for an error message.
OPERAND = {"NUMBER": "a number", "NAME": "a name", "LPAR": "'('"}
EXPRESSION_STARTS = frozenset({"MINUS", "NOT", "TEMPORAL", "QUANTIFIER", "MATCH"})
ARITHMETIC = frozenset({"PLUS", "MINUS", "STAR", "SLASH", "QUOTIENT", "PERCENT", "CARET"})
JOINS = ARITHMETIC | {"COMPARE", "LE", "AND", "OR", "IMPLIES", "IFF", "UNTIL"}
FOLLOWS = JOINS | {"LSQB", "LPAR", "WHEN", "FOR"}  # these may follow, too, but are rarely what is missing
CLOSING = {"RPAR": "')'", "RSQB": "']'", "RBRACE": "'}'", "COMMA": "','", "COLON": "':'", "$END": "the end"}
CLOSING |= {"FOR": "'for'", "IN": "'in'", "DOTS": "'..'"}
OPENING = {"LSQB": "'['", "LBRACE": "'{'", "LPAR": "'('", "MINUS": "'-'"}

CHANCE = "there are no probabilities here: draws are made by an adversary"
NOT_HERE = (
    (
        re.compile(r"\bP(?:max|min)?\s*(?:=\s*\?|[<>]=?\s*[0-9.]+)\s*\["),
        f"{CHANCE}; claim it of all paths, as in AF p, or of some path, as in EF p",
    ),
    (
        re.compile(r"\bchoose\s*\(\s*[0-9][0-9./]*\s*:"),
        f"{CHANCE}, and options of choose have no weights; write choose(a, b)",
    ),
)  # what other languages have, and no text of this one looks like
HINTS = {
    "=<": "write '<='",
    "=": "write '==' to compare",
    "**": "write '^' for powers",
    "<>": "write '!=' for unequal",
    "≤": "write '<='",
    "≥": "write '>='",
    "≠": "write '!='",
    "∧": "write '&'",
    "∨": "write '|'",
    "¬": "write '!'",
    "→": "write '->'",
    "↔": "write '<->'",
    "−": "write '-'",
    "×": "write '*'",
    "·": "write '*'",
    "+": "there is no unary plus",
}

WHEN = "'when' belongs to an option of choose(a when p, b)"
LATEST = r"(?:\b[AE]?[XFGURW]|always|eventually|\[\]|<>)\s*<=\s*[\w.]+\s*$"  # the bound of `F<=5`


def explained(error: UnexpectedInput, text: str, accepted: frozenset[str]) -> Complaint:
    """The error message for a syntax error: what was found, and what the grammar would have accepted."""
    from lark import UnexpectedToken

    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        end = len(text.rstrip())
        return Complaint(f"the text ends too early; {_expected(accepted)}", (end, end + 1))
    start = cast(int, error.pos_in_stream)
    found = re.compile(r"[A-Za-z0-9_.]+|\[\]|<->|<=>|[-=]>|[<>=!]=|<>|&&|\|\||\*\*|=<|.", re.DOTALL).match(text, start)
    word = found[0] if found else ""
    advice = _hint(word, text, start, accepted) or _expected(accepted)
    return Complaint(f"unexpected {word!r}; {advice}", (start, start + max(1, len(word))))


def _hint(word: str, text: str, start: int, accepted: frozenset[str]) -> str | None:
    """What to write instead, for common mistakes."""
    before = text[max(0, start - 40) : start]
    last = re.search(r"(\w*)\s*$", before, re.ASCII)
    previous = last[1] if last else ""
    if accepted >= OPERAND.keys() and word in {"!", "not", "[]", "<>", "always", "eventually"}:
        return f"{word!r} binds looser than what stands before it; put it and its operand in brackets"
    if re.search(LATEST, before) and word in {"+", "*", "/", "^"}:
        return "put the bound in brackets"
    if previous in {"A", "E"} and word in {"X", "F", "G"}:
        return f"write '{previous}{word}' as one word"
    if word == "when":
        return WHEN
    if word in ("'", '"'):
        return "a text that begins here is never closed" if word == "'" else "names are quoted like 'this'"
    if word == "," and accepted == {"FOR"}:
        return "an array is written [x for i in 0..8], or as a TOML array of texts"
    if previous in OPERATORS and "STAR" in accepted:
        return f"{previous!r} is read as a label here; put a temporal operator and its operand in brackets"
    if "STAR" in accepted and re.match(r"[A-Za-z_(]", word) and re.search(r"[\w).\]]$", before, re.ASCII):
        return "write '*' to multiply"
    return HINTS["**"] if word == "*" and before.endswith("*") else HINTS.get(word)


def _expected(accepted: frozenset[str]) -> str:
    """`expected one of: an operator, ')'`, from the terminals the grammar would take."""
    words: list[str] = []
    if accepted >= OPERAND.keys():
        words, accepted = list(OPERAND.values()), accepted - OPERAND.keys() - EXPRESSION_STARTS
    elif accepted >= {"PLUS", "STAR"}:
        words, accepted = ["an operator"], accepted - FOLLOWS
    table = OPERAND | CLOSING | OPENING
    words += [told for terminal, told in table.items() if terminal in accepted]
    return f"expected {words[0]}" if len(words) == 1 else f"expected one of: {', '.join(words)}"
