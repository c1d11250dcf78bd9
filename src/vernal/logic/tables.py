"""The grammar's tables, walked without detours: a text is read several times faster than by the grammar's own parser.

An operand is an expression by way of a dozen rules, one for each level of binding, and all but a few of them only pass
it on. Which state such a chain of rules ends in depends on two states and the next token, so it is walked once and
remembered. A text that is wrong is not read here: the grammar's own parser knows what it would have accepted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from vernal.model.tick import Tick

if TYPE_CHECKING:
    from lark import Lark

END = "$END"
TOKENS_PER_TICK = 1000  # tokens between two calls of the tick
SPACE = r"[ \t\r\n]*"
END_OF_TEXT = r"\Z"

State: TypeAlias = int


class Lexeme:
    """A token: its kind, its text and where it stands, under the names that lark's tokens have."""

    __slots__ = ("end_pos", "start_pos", "text", "type")

    def __init__(self, kind: str, text: str, start: int, end: int) -> None:
        self.type, self.text, self.start_pos, self.end_pos = kind, text, start, end

    def __str__(self) -> str:
        return self.text


class GrammarRule(NamedTuple):
    """A rule of the grammar: how many parts it takes, what it makes of them, and as what they go on."""

    size: int
    make: Callable[[list[Any]], Any]
    origin: str
    passes: bool  # one part, as it is


class Tables:
    """The states of a grammar from one of its starts: in each, what follows a token or a part, or the rule to apply."""

    def __init__(self, grammar: Lark, start: str) -> None:
        conf: Any = grammar.parse_interactive("", start).parser_state.parse_conf
        self._start: State = conf.start_state
        self._end: State = conf.end_state
        rules = {rule: _rule(rule, make) for rule, make in conf.callbacks.items()}
        self._states: dict[State, dict[str, State]] = {}
        self._rules: dict[State, dict[str, GrammarRule]] = {}
        for state, row in conf.states.items():
            self._states[state] = {str(name): target for name, (_, target) in row.items() if target not in rules}
            self._rules[state] = {str(name): rules[target] for name, (_, target) in row.items() if target in rules}
        self._scanners = {state: _scanner(grammar, row) for state, row in conf.states.items()}
        self._passed: dict[tuple[State, State, str], State] = {}

    def read(self, text: str, tick: Tick) -> Any | None:
        """What the text says; None where it is wrong."""
        states, values, position, count = [self._start], list[Any](), 0, 0
        while (found := self._scanners[states[-1]].match(text, position)) is not None:
            if count % TOKENS_PER_TICK == 0:
                tick()
            kind, position, count = found.lastgroup or END, found.end(), count + 1
            self._reduce(kind, states, values)
            if kind is END:
                return values[-1] if states[-1] == self._end else None
            after = self._states[states[-1]].get(kind)
            if after is None:
                return None
            values.append(Lexeme(kind, found[kind], *found.span(kind)))
            states.append(after)
        return None

    def _reduce(self, kind: str, states: list[State], values: list[Any]) -> None:
        """Apply rules as long as one is due before a token of this kind."""
        while (rule := self._rules[states[-1]].get(kind)) is not None:
            size, make, origin, passes = rule
            if passes:
                key = (states[-2], states[-1], kind)
                known = self._passed.get(key)
                states[-1] = self._pass_on(*key) if known is None else known
                continue
            parts = values[-size:]
            del values[-size:], states[-size:]
            values.append(make(parts))
            states.append(self._states[states[-1]][origin])

    def _pass_on(self, below: State, state: State, kind: str) -> State:
        """The state after all rules that only pass on what stands above another state."""
        first = state
        while (rule := self._rules[state].get(kind)) is not None and rule.passes:
            state = self._states[below][rule.origin]
        self._passed[below, first, kind] = state
        return state


def _rule(rule: Any, make: Callable[[list[Any]], Any]) -> GrammarRule:
    size = len(rule.expansion)
    assert size, "a rule without parts"
    return GrammarRule(size, make, str(rule.origin.name), size == 1 and rule.options.expand1 and rule.alias is None)


def _scanner(grammar: Lark, accepted: Mapping[str, object]) -> re.Pattern[str]:
    """What finds the next token that a state accepts, in the order of lark; at the end of the text nothing is named."""
    terminals = [one for one in grammar.terminals if one.name in accepted]
    terminals.sort(key=lambda one: (-one.priority, -one.pattern.max_width, -len(one.pattern.value), one.name))
    named = [f"(?P<{one.name}>{one.pattern.to_regexp()})" for one in terminals]
    return re.compile(rf"{SPACE}(?:{'|'.join([*named, END_OF_TEXT])})")
