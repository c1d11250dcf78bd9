"""Pickles as data: nothing that a pickle names is imported or called.

A pickle is a program for a small stack machine, which says which classes to import and which functions to call; so
loading one from elsewhere may do anything. Here its instructions are read one by one, and every call becomes a `Call`:
the name of what would be called, its arguments, and what was to be done with the result.

A few bytes can say "the same tuple twice" forty times over, or nest tuples until a stack of C overflows. So every
instruction takes and makes only as much as it has bytes, depths and lengths are bounded before anything is put
together, keys are texts and numbers, and nothing that was found is hashed, compared or printed: messages name types.
"""

from __future__ import annotations

import pickletools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from vernal.errors import FormatError

MAX_INSTRUCTIONS = 200_000  # a hundred times those of a policy; so many entries are on the stack and kept at most
MAX_DEPTH = 200  # of what holds what, and of marks that are open
MAX_BITS = 2048  # of a whole number: generators of random numbers have long ones
MAX_NAME = 300  # characters of a class or a function with its module
MAX_KEY = 1000  # characters; longer ones take long to compare
KEY_NUMBERS = 2**60  # in between numbers have hashes of their own


@dataclass(eq=False)
class Name:
    """A class or a function by its full name."""

    name: str


@dataclass(eq=False, repr=False)
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


@dataclass(eq=False, repr=False)
class Beside:
    """Something that lies beside the pickle, by the key it has there."""

    key: Any


def unpickled(content: bytes) -> Any:
    """What a pickle holds, as data."""
    with warnings.catch_warnings():  # of escapes in names, by which they would be known to nobody
        warnings.simplefilter("ignore")
        return _Machine().run(content)


def kind_of(found: Any) -> str:
    """What was found, in words: its type, and of a class its name."""
    return found.name if isinstance(found, Name) else KINDS.get(type(found), "something else")


def damaged(what: str) -> FormatError:
    return FormatError(f"a pickle in it is damaged: {what}")


def _instructions(content: bytes) -> Iterator[tuple[str, Any]]:
    """Names of instructions with what is written beside them."""
    found = pickletools.genops(content)
    for place in range(MAX_INSTRUCTIONS):
        try:
            code, arg, _ = next(found)
        except ValueError:  # its own words quote the file, at any length
            raise damaged(f"its instruction {place + 1} is missing or cannot be read") from None
        yield code.name, arg
        if code.name == "STOP":
            return
    raise FormatError(f"a pickle in it has more than {MAX_INSTRUCTIONS:,} instructions, more than Vernal reads")


class _Machine:
    """The stack machine of pickles, without imports and calls."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.depths: dict[int, int] = {}  # of what holds something, by its id
        self.made: list[Any] = []  # all that is in `depths`: an id belongs to one thing as long as that is there

    def run(self, content: bytes) -> Any:
        for name, arg in _instructions(content):
            if name in VALUES:
                self.stack.append(VALUES[name](arg))
            elif name in ACTIONS:
                ACTIONS[name](self, arg)
            elif name not in IGNORED:
                raise FormatError(f"a pickle in it has the instruction {name}, which is not read")
        if self.marks or len(self.stack) != 1:
            raise damaged("it does not end with one value")
        return self.stack.pop()

    def take(self) -> Any:
        """What was put on the stack last."""
        if not self.stack:
            raise damaged("an instruction finds nothing on the stack")
        return self.stack.pop()

    def top(self) -> Any:
        """The same, and it stays there."""
        if not self.stack:
            raise damaged("an instruction finds nothing on the stack")
        return self.stack[-1]

    def since_mark(self) -> list[Any]:
        """What was put on the stack since the last mark."""
        if not self.marks:
            raise damaged("an instruction finds no mark")
        items, self.stack = self.stack, self.marks.pop()
        return items

    def holds(self, holder: Any, items: Sequence[Any]) -> Any:
        """The holder, which will have these items; an error where they are nested too deep."""
        depth = 1 + max((self.depths.get(id(item), 0) for item in items), default=0)
        if depth > MAX_DEPTH:
            raise _too_deep()
        if id(holder) not in self.depths:
            self.made.append(holder)
        self.depths[id(holder)] = max(depth, self.depths.get(id(holder), 0))
        return holder

    def push(self, holder: Any, items: Sequence[Any]) -> None:
        self.stack.append(self.holds(holder, items))

    def mark(self, _: Any) -> None:
        if len(self.marks) == MAX_DEPTH:
            raise _too_deep()
        self.marks.append(self.stack)
        self.stack = []

    def tuple_of(self, count: int) -> None:
        items = tuple(reversed([self.take() for _ in range(count)]))
        self.push(items, items)

    def marked_tuple(self, _: Any) -> None:
        items = tuple(self.since_mark())
        self.push(items, items)

    def remember(self, place: int | None) -> None:
        place = len(self.memo) if place is None else place
        if not 0 <= place < KEY_NUMBERS:
            raise damaged("it keeps something at an impossible place")
        self.memo[place] = self.top()

    def recall(self, place: int) -> None:
        if place not in self.memo:
            raise damaged("it recalls what was never kept")
        self.stack.append(self.memo[place])

    def named(self, arg: str) -> None:
        module, _, name = arg.partition(" ")
        self.stack.append(_name(module, name))

    def named_on_stack(self, _: Any) -> None:
        name, module = self.take(), self.take()
        if not isinstance(name, str) or not isinstance(module, str):
            raise damaged(f"a name is made of {kind_of(module)} and {kind_of(name)}, not of texts")
        self.stack.append(_name(module, name))

    def call(self, _: Any) -> None:
        args, what = self.take(), self.take()
        if not isinstance(what, Name | Call) or not isinstance(args, tuple):
            raise damaged(f"{kind_of(what)} is called with {kind_of(args)}")
        self.push(Call(what.name, args), [args])

    def call_with_names(self, _: Any) -> None:
        """Arguments by name are of no use to any reader, and left out."""
        if not isinstance(self.take(), dict):
            raise damaged("arguments by name are no table")
        self.call(None)

    def build(self, _: Any) -> None:
        state, target = self.take(), self.top()
        if not isinstance(target, Call):
            raise damaged(f"{kind_of(target)} is given a state")
        self.holds(target, [state]).state = state

    def set_item(self, _: Any) -> None:
        value, key = self.take(), self.take()
        self.set_in_table([key, value])

    def set_items(self, _: Any) -> None:
        self.set_in_table(self.since_mark())

    def set_in_table(self, items: list[Any]) -> None:
        """In a dictionary, or in what a call would have made."""
        target = self.top()
        table = target.items if isinstance(target, Call) else target
        if not isinstance(table, dict) or len(items) % 2:
            raise damaged(f"{kind_of(target)} is given items")
        self.holds(target, items)
        table.update(zip(map(_key, items[::2]), items[1::2], strict=True))

    def append(self, _: Any) -> None:
        self.add([self.take()])

    def extend(self, _: Any) -> None:
        self.add(self.since_mark())

    def add(self, items: list[Any]) -> None:
        """To a list or a set; what a call would have made (a deque) is not looked into."""
        target = self.top()
        if isinstance(target, list):
            self.holds(target, items).extend(items)
        elif not isinstance(target, Call):
            raise damaged(f"{kind_of(target)} is given items")

    def beside(self, _: Any) -> None:
        key = self.take()
        self.push(Beside(key), [key])

    def frozen(self, _: Any) -> None:
        items = self.since_mark()
        self.push(items, items)

    def pop(self, _: Any) -> None:
        self.take()

    def pop_mark(self, _: Any) -> None:
        self.since_mark()


def _too_deep() -> FormatError:
    return FormatError(f"a pickle in it is nested more than {MAX_DEPTH} deep, more than Vernal reads")


def _name(module: str, name: str) -> Name:
    length = len(module) + 1 + len(name)
    if length > MAX_NAME:
        raise FormatError(f"a pickle in it has a name of {length:,} characters; at most {MAX_NAME} are read")
    return Name(f"{module}.{name}")


def _key(found: Any) -> str | int | float:
    """A key of a table: hashing anything else may take for ever."""
    match found:
        case str() if len(found) <= MAX_KEY:
            return found
        case int() if -KEY_NUMBERS < found < KEY_NUMBERS:
            return found
        case float():
            return found
        case str() | int():
            raise FormatError(f"a table in it has {kind_of(found)} as a key that is too long to be read")
    raise FormatError(f"a table in it has {kind_of(found)} as a key; texts and numbers are read")


def _whole(arg: int) -> int:
    if arg.bit_length() > MAX_BITS:
        raise FormatError(f"a pickle in it has a number of {arg.bit_length():,} bits; at most {MAX_BITS} are read")
    return arg


def _same(arg: Any) -> Any:
    return arg


KINDS: dict[type[Any], str] = {
    type(None): "nothing",
    bool: "a truth value",
    int: "a number",
    float: "a number",
    str: "a text",
    bytes: "bytes",
    tuple: "a tuple",
    list: "a list",
    dict: "a table",
    Call: "an object",
    Beside: "a storage",
}
VALUES: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"), _whole),
    **dict.fromkeys(("FLOAT", "BINFLOAT"), _same),
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
    "EMPTY_SET": lambda _: [],  # nothing is hashed
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
    "POP_MARK": _Machine.pop_mark,
}
IGNORED = frozenset({"PROTO", "FRAME", "STOP"})
