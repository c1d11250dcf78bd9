"""Expressions, formulas, sorts and initial values of task files: text in, trees out.

The language is that of docs/tasks.md. A tree is a `Node`: the name of its operator and its operands. Loosest first:
`<->`, `->`, `|`, `&`, `U R W M`, prefixes (`!`, temporal operators), comparisons, `+ -`, `* / // %`, unary `-`, `^`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from vernal_check.errors import Unreadable

MAX_LENGTH = 1_000_000
MAX_DEPTH = 120
MAX_EXPONENT = 400

TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+(?:\.(?!\.)[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<quoted>'(?:[^'\n]|'')+')"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign><->|<=>|->|=>|\.\.|//|==|!=|<=|>=|<>|\[\]|&&|\|\||[-+*/%^()\[\]{},:<>=!&|]))"
)
SPELT = {"&&": "&", "||": "|", "and": "&", "or": "|", "not": "!", "=>": "->", "<=>": "<->", "[]": "G", "<>": "F"}
WORDS = {"always": "G", "eventually": "F"}
UNARY = {quantifier + letter for quantifier in ("", "A", "E") for letter in "XFG"}
BINARY = ("U", "R", "W", "M")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Node:
    """An operator and its operands, which are nodes, texts and numbers."""

    op: str
    args: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Token:
    kind: str
    text: str


def tokens(text: str) -> list[Token]:
    """The words, numbers and signs of a text."""
    if len(text) > MAX_LENGTH:
        raise Unreadable(f"a text of {len(text):,} characters is too long")
    found, place = [], 0
    text = text.rstrip()
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise Unreadable(f"{text[place : place + 20]!r} is not understood")
        kind = str(match.lastgroup)
        found.append(Token(kind, SPELT.get(match[kind], match[kind])))
        place = match.end()
    return [*found, Token("end", "")]


class Parser:
    """One text, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.place, self.depth = text, tokens(text), 0, 0

    # Tokens -----------------------------------------------------------------------------------------------------------

    @property
    def here(self) -> Token:
        return self.tokens[self.place]

    def sees(self, *texts: str) -> bool:
        return self.here.kind != "quoted" and self.here.text in texts

    def take(self) -> Token:
        token = self.here
        self.place += 1
        return token

    def expect(self, text: str) -> None:
        if not self.sees(text):
            raise Unreadable(f"in {self.text[:80]!r}: {text!r} is expected before {self.here.text!r}")
        self.take()

    def skips(self, text: str) -> bool:
        found = self.sees(text)
        self.place += found
        return found

    def end(self) -> None:
        if self.here.kind != "end":
            raise Unreadable(f"in {self.text[:80]!r}: {self.here.text!r} is not expected")

    # Formulas ---------------------------------------------------------------------------------------------------------

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable("brackets are nested too deeply")
        made = self.iff()
        self.depth -= 1
        return made

    def iff(self) -> Node:
        left = self.implication()
        while self.skips("<->"):
            left = Node("<->", (left, self.implication()))
        return left

    def implication(self) -> Node:
        parts = [self.disjunction()]
        while self.skips("->"):
            parts.append(self.disjunction())
        made = parts.pop()
        while parts:
            made = Node("->", (parts.pop(), made))
        return made

    def disjunction(self) -> Node:
        parts = [self.conjunction()]
        while self.skips("|"):
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else Node("|", tuple(parts))

    def conjunction(self) -> Node:
        parts = [self.until()]
        while self.skips("&"):
            parts.append(self.until())
        return parts[0] if len(parts) == 1 else Node("&", tuple(parts))

    def until(self) -> Node:
        parts, operators = [self.prefixed()], []
        while self.here.kind == "name" and self.here.text in BINARY:
            operator = self.take().text
            operators.append((operator, self.bound()))
            parts.append(self.prefixed())
        made = parts.pop()
        while operators:
            operator, bound = operators.pop()
            made = Node(operator, (None, bound, parts.pop(), made))
        return made

    def prefixed(self) -> Node:
        prefixes: list[tuple[str, Any]] = []
        while True:
            if self.skips("!"):
                prefixes.append(("!", None))
            elif self.at_operator():
                word = self.take().text
                prefixes.append((WORDS.get(word, word), self.bound(single=WORDS.get(word, word)[-1] == "X")))
            else:
                break
        made = self.quantified() or self.comparison()
        for word, bound in reversed(prefixes):
            quantifier = word[0] if len(word) == 2 else None
            made = Node("!", (made,)) if word == "!" else Node(word[-1], (quantifier, bound, made))
        return made

    def at_operator(self) -> bool:
        """Whether an operator word stands here, and not a label: an operand or a bound follows."""
        if self.here.kind == "sign":
            return self.here.text in ("G", "F")
        if self.here.kind != "name" or self.here.text not in UNARY | set(WORDS):
            return False
        if self.place and self.tokens[self.place - 1].text in COMPARISONS:
            return False
        after = self.tokens[self.place + 1]
        if after.kind == "name":
            return after.text not in (*BINARY, "&", "|")
        return after.kind in ("number", "quoted") or after.text in ("(", "[", "-", "!", "<=", "G", "F")

    def quantified(self) -> Node | None:
        if not (self.sees("A", "E") and self.tokens[self.place + 1].text == "["):
            return None
        letter = self.take().text
        self.expect("[")
        inner = self.expression()
        self.expect("]")
        if inner.op not in (*BINARY, "X", "F", "G") or inner.args[0] is not None:
            raise Unreadable(f"{letter}[...] holds one temporal operator")
        return Node(inner.op, (letter, *inner.args[1:]))

    def bound(self, single: bool = False) -> tuple[Node, Node | None] | None:
        """`[a, b]`, `[a, ]`, `[k]` after X, `<= b`; None where nothing is said."""
        if self.skips("<="):
            return Node("num", (Fraction(0),)), self.limit()
        if not self.sees("["):
            return None
        self.take()
        lower = self.sum()
        if self.skips("]"):
            if not single:
                raise Unreadable("a single number is a bound of X only")
            return lower, lower
        if not self.skips(","):
            self.expect(":")
        upper = None if self.sees("]") else self.sum()
        self.expect("]")
        return lower, None if upper == Node("name", ("inf",)) else upper

    def limit(self) -> Node:
        """After `<=`: a number, a name or brackets; in `F<=k (p)` the brackets are the operand."""
        if self.skips("("):
            made = self.sum()
            self.expect(")")
            return made
        token = self.take()
        return Node("num", (decimal(token.text),)) if token.kind == "number" else Node("name", (token.text,))

    # Expressions ------------------------------------------------------------------------------------------------------

    def comparison(self) -> Node:
        parts, operators = [self.sum()], []
        while self.sees(*COMPARISONS):
            operators.append(self.take().text)
            parts.append(self.sum())
        if len(parts) > 2 and any(map(has_draw, parts[1:-1])):
            raise Unreadable("a draw in the middle of a chain of comparisons is not read")
        pairs = [Node(op, (a, b)) for op, a, b in zip(operators, parts, parts[1:], strict=False)]
        return parts[0] if not pairs else pairs[0] if len(pairs) == 1 else Node("&", tuple(pairs))

    def sum(self) -> Node:
        made = self.product()
        while self.sees("+", "-"):
            made = Node(self.take().text, (made, self.product()))
        return made

    def product(self) -> Node:
        made = self.signed()
        while self.sees("*", "/", "//", "%"):
            made = Node(self.take().text, (made, self.signed()))
        return made

    def signed(self) -> Node:
        minus = 0
        while self.skips("-"):
            minus += 1
        made = self.postfix()
        if self.skips("^"):
            made = Node("^", (made, self.signed()))
        return Node("neg", (made,)) if minus % 2 else made

    def postfix(self) -> Node:
        made = self.atom()
        while self.sees("["):
            self.take()
            made = Node("index", (made, self.expression()))
            self.expect("]")
        return made

    def atom(self) -> Node:
        token = self.take()
        if token.kind == "number":
            return Node("num", (decimal(token.text),))
        if token.kind == "quoted":
            return Node("name", (token.text[1:-1].replace("''", "'"),))
        if token.text == "(":
            made = self.expression()
            self.expect(")")
            return made
        if token.text == "[":
            made = self.each(self.expression())
            self.expect("]")
            return made
        if token.kind != "name":
            raise Unreadable(f"in {self.text[:80]!r}: {token.text!r} is not expected")
        if not self.sees("("):
            return Node("name", (token.text,))
        self.take()
        made = self.cases() if token.text == "match" else Node("call", (token.text, *self.arguments()))
        self.expect(")")
        return made

    def arguments(self) -> list[Node]:
        found: list[Node] = []
        while not self.sees(")"):
            item = self.expression()
            if self.sees("for") and not found:
                item = self.each(item)
            elif self.skips("when"):
                item = Node("when", (item, self.expression()))
            found.append(item)
            if not self.skips(","):
                break
        return found

    def each(self, item: Node) -> Node:
        """`e for i in a..b`."""
        self.expect("for")
        index = self.take().text
        self.expect("in")
        lower = self.sum()
        self.expect("..")
        return Node("each", (item, index, lower, self.sum()))

    def cases(self) -> Node:
        subject, cases = self.expression(), []
        while self.skips(","):
            minus, token = self.skips("-"), self.take()
            label = decimal(token.text) if token.kind == "number" else token.text
            if token.kind == "quoted":
                label = token.text[1:-1].replace("''", "'")
            self.expect(":")
            cases.append((-label if minus and isinstance(label, Fraction) else label, self.expression()))
        if len({label for label, _ in cases}) < len(cases):
            raise Unreadable("match names a case twice")
        return Node("match", (subject, tuple(cases)))


def has_draw(node: Any) -> bool:
    """Whether a draw is written inside."""
    if isinstance(node, tuple):
        return any(map(has_draw, node))
    if not isinstance(node, Node):
        return False
    return (node.op == "call" and node.args[0] in ("choose", "between")) or has_draw(node.args)


def decimal(text: str) -> Fraction:
    """The number that is written, exactly."""
    power = text.lower().partition("e")[2]
    if len(text) > 1000 or (power and abs(int(power)) > MAX_EXPONENT):
        raise Unreadable(f"the number {text[:20]}... is too long")
    return Fraction(text)


def expression(text: str) -> Node:
    """An expression or a formula."""
    parser = Parser(text)
    made = parser.expression()
    parser.end()
    return made


def region(text: str) -> Node:
    """An initial value: `[lo, hi]` and `{a, b}` besides expressions."""
    parser = Parser(text)
    if parser.skips("{"):
        members = [parser.expression()]
        while parser.skips(","):
            members.append(parser.expression())
        parser.expect("}")
        made = Node("set", tuple(members))
    elif parser.sees("["):
        parser.take()
        first = parser.expression()
        if parser.sees("for"):
            made = parser.each(first)
        else:
            parser.expect(",")
            made = Node("range", (first, parser.expression()))
        parser.expect("]")
    else:
        made = parser.expression()
    parser.end()
    return made


def sort(text: str) -> tuple[str, Node | None, tuple[str, ...], Node | None]:
    """The sort of a variable: its word, the size of an array, labels of an enum, and a range, which claims nothing."""
    parser = Parser(text)
    word, size, labels, within = parser.take().text, None, [], None
    if parser.skips("["):
        first = parser.expression()
        if parser.skips(","):
            within = Node("range", (first, parser.expression()))
        else:
            size = first
        parser.expect("]")
    if parser.skips("{"):
        labels.append(parser.take().text)
        while parser.skips(","):
            labels.append(parser.take().text)
        parser.expect("}")
    elif parser.skips("["):
        first = parser.expression()
        parser.expect(",")
        within = Node("range", (first, parser.expression()))
        parser.expect("]")
    parser.end()
    if word not in ("real", "int", "bool", "enum"):
        raise Unreadable(f"{word!r} is no sort")
    labels = [label[1:-1].replace("''", "'") if label.startswith("'") else label for label in labels]
    return word, size, tuple(labels), within
