"""Pickles as data: nothing that a pickle names is imported or called.

A pickle is a program for a small stack machine, which says which classes to import and which functions to call; so
loading one from elsewhere may do anything. Here its instructions are read one by one, and every call becomes a `Call`:
the name of what would be called, its arguments, and what was to be done with the result.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vernal.errors import FormatError

MAX_STEPS = 1_000_000


@dataclass(eq=False)
class Name:
    """A class or a function by its full name."""

    name: str


@dataclass(eq=False)
class Call:
    """What a call of a class or a function would have made, the state it was to be given, and its items."""

    name: str
    args: tuple[Any, ...]
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)

    def get(self, key: str) -> Any:
        """An attribute, where there is one."""
        state = self.state[0] if isinstance(self.state, tuple) and self.state else self.state
        return state.get(key) if isinstance(state, dict) else None


@dataclass(frozen=True)
class Beside:
    """Something that lies beside the pickle, by the key it has there."""

    key: Any


def unpickled(content: bytes) -> Any:
    """What a pickle holds, as data."""
    try:
        return _Machine().run(content)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, UnicodeError, OverflowError) as error:
        raise FormatError(f"a pickle in it is damaged: {error}") from None


class _Machine:
    """The stack machine of pickles, without imports and calls."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def run(self, content: bytes) -> Any:
        for steps, (code, arg, _) in enumerate(pickletools.genops(content)):
            if steps > MAX_STEPS:
                raise FormatError("a pickle in it is too long")
            if code.name == "STOP":
                return self.stack.pop()
            if code.name in VALUES:
                self.stack.append(VALUES[code.name](arg))
            elif code.name in ACTIONS:
                ACTIONS[code.name](self, arg)
            elif code.name not in IGNORED:
                raise FormatError(f"a pickle in it has the instruction {code.name}, which is not read")
        raise FormatError("a pickle in it has no end")

    def since_mark(self) -> list[Any]:
        """What was put on the stack since the last mark."""
        items, self.stack = self.stack, self.marks.pop()
        return items

    def mark(self, _: Any) -> None:
        self.marks.append(self.stack)
        self.stack = []

    def tuple_of(self, count: int) -> None:
        items = tuple(self.stack[len(self.stack) - count :])
        if len(items) < count:
            raise FormatError("a pickle in it is damaged: its stack is empty")
        del self.stack[len(self.stack) - count :]
        self.stack.append(items)

    def marked_tuple(self, _: Any) -> None:
        items = tuple(self.since_mark())
        self.stack.append(items)

    def remember(self, place: int | None) -> None:
        self.memo[len(self.memo) if place is None else int(place)] = self.stack[-1]

    def recall(self, place: Any) -> None:
        self.stack.append(self.memo[int(place)])

    def named(self, arg: Any) -> None:
        self.stack.append(Name(str(arg).replace(" ", ".", 1)))

    def named_on_stack(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(Name(f"{module}.{name}"))

    def call(self, _: Any) -> None:
        args, what = self.stack.pop(), self.stack.pop()
        self.stack.append(Call(what.name, tuple(args)))

    def call_with_names(self, _: Any) -> None:
        named, args, what = self.stack.pop(), self.stack.pop(), self.stack.pop()
        self.stack.append(Call(what.name, (*args, *named.values())))

    def build(self, _: Any) -> None:
        state = self.stack.pop()
        self.stack[-1].state = state

    def set_item(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        _table(self.stack[-1])[key] = value

    def set_items(self, _: Any) -> None:
        items = self.since_mark()
        _table(self.stack[-1]).update(zip(items[::2], items[1::2], strict=True))

    def append(self, _: Any) -> None:
        item = self.stack.pop()
        if isinstance(self.stack[-1], list):
            self.stack[-1].append(item)

    def extend(self, _: Any) -> None:
        items = self.since_mark()
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)
        elif isinstance(self.stack[-1], set):
            self.stack[-1].update(items)

    def beside(self, _: Any) -> None:
        self.stack.append(Beside(self.stack.pop()))

    def frozen(self, _: Any) -> None:
        self.stack.append(frozenset(self.since_mark()))

    def pop(self, _: Any) -> None:
        self.stack.pop()


def _table(target: Any) -> dict[Any, Any]:
    """What items are set in: a dictionary, or what a call would have made."""
    if isinstance(target, Call):
        return target.items
    if isinstance(target, dict):
        return target
    raise FormatError("a pickle in it is damaged: items of what has none")


def _same(arg: Any) -> Any:
    return arg


VALUES: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"), _same),
    **dict.fromkeys(
        ("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE", "BINSTRING", "SHORT_BINSTRING"), _same
    ),
    **dict.fromkeys(("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"), bytes),
    "NONE": lambda _: None,
    "NEWTRUE": lambda _: True,
    "NEWFALSE": lambda _: False,
    "EMPTY_LIST": lambda _: [],
    "EMPTY_DICT": lambda _: {},
    "EMPTY_TUPLE": lambda _: (),
    "EMPTY_SET": lambda _: set(),
}
ACTIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "MARK": _Machine.mark,
    "TUPLE": _Machine.marked_tuple,
    "TUPLE1": lambda machine, _: machine.tuple_of(1),
    "TUPLE2": lambda machine, _: machine.tuple_of(2),
    "TUPLE3": lambda machine, _: machine.tuple_of(3),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), _Machine.remember),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _Machine.recall),
    "GLOBAL": _Machine.named,
    "STACK_GLOBAL": _Machine.named_on_stack,
    **dict.fromkeys(("REDUCE", "NEWOBJ"), _Machine.call),
    "NEWOBJ_EX": _Machine.call_with_names,
    "BUILD": _Machine.build,
    "SETITEM": _Machine.set_item,
    "SETITEMS": _Machine.set_items,
    "APPEND": _Machine.append,
    **dict.fromkeys(("APPENDS", "ADDITEMS"), _Machine.extend),
    "FROZENSET": _Machine.frozen,
    "BINPERSID": _Machine.beside,
    "POP": _Machine.pop,
}
IGNORED = frozenset({"PROTO", "FRAME"})
