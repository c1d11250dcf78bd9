"""Arrays of state variables in texts: components by number, `[... for i in 0..8]`, and `all`, `any`, `sum`, `count`.

The components of an array are state variables of their own, named `d[0]`, `d[1]` and so on. What is said of each of
them is written out while a text is read, with the index as a constant, so that no graph knows of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Protocol, Self, TypeVar

from vernal.errors import NameUnknown, Place, TypeClash, nearest
from vernal.logic import syntax as s
from vernal.logic.scope import Scope
from vernal.logic.syntax import Syntax
from vernal.model import build
from vernal.model import expr as e
from vernal.model.arrays import component as chosen
from vernal.model.expr import Expr
from vernal.model.sorts import BOOL, INT, Sort

OF_TRUTHS = ("all", "any", "count")
FOLDS = (*OF_TRUTHS, "sum", "min", "max")

T = TypeVar("T")


class ReadsOperands(Protocol):
    """What reads the expressions that stand for each index; `bind` makes the index a constant."""

    @property
    def scope(self) -> Scope: ...
    def bind(self, index: str, value: int) -> Self: ...
    def known(self, text: str) -> Expr | None: ...
    def read(self, syntax: Syntax, expected: Sort | None = None) -> Expr: ...
    def number(self, syntax: Syntax, op: str) -> Expr: ...
    def boolean(self, syntax: Syntax, op: str) -> Expr: ...
    def make(self, syntax: Syntax, function: Callable[..., T], *args: object) -> T: ...
    def place(self, syntax: Syntax) -> Place | None: ...


R = TypeVar("R", bound=ReadsOperands)


# Each index -----------------------------------------------------------------------------------------------------------


def readers(reader: R, each: s.ForEach) -> list[R]:
    """A reader for every value of the index."""
    lower, upper = _integer(reader, each.lower), _integer(reader, each.upper)
    if reader.known(each.index) is not None or each.index in reader.scope.arrays:
        what = f"{each.index!r} is already the name of something else; give the index another name"
        raise TypeClash(what, place=reader.place(each))
    if upper < lower - 1:
        what = f"{lower}..{upper} is inverted: the lower end comes first"
        raise TypeClash(what, place=reader.place(each.lower))
    reader.make(each, reader.scope.repetition.take, (upper - lower + 1) * _symbols(each.body))
    return [reader.bind(each.index, value) for value in range(lower, upper + 1)]


def _integer(reader: ReadsOperands, syntax: Syntax) -> int:
    node = reader.read(syntax)
    if not isinstance(node, e.Const) or node.shape or node.sort != INT:
        what = "an index runs from one constant integer to another, as in 0..8; it may use parameters, not variables"
        raise TypeClash(what, place=reader.place(syntax))
    return int(node.value)


def _symbols(syntax: Syntax) -> int:
    """How many nodes a text has."""
    count, waiting = 0, list[object]([syntax])
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting.extend(node)
        elif isinstance(node, Syntax):
            count += 1
            fields: tuple[str, ...] = node.__match_args__
            waiting.extend(getattr(node, name) for name in fields)
    return count


# Components -----------------------------------------------------------------------------------------------------------


def component(reader: ReadsOperands, syntax: s.Subscript, parts: Sequence[Expr]) -> Expr:
    """`d[3]`, or `d[i]` with an index that its declared ranges keep inside the array."""
    index = reader.number(syntax.index, "an index")
    if isinstance(index, e.Const) and index.sort == INT and not index.shape:
        return _numbered(parts, index.value, reader.place(syntax.index))
    return reader.make(syntax.index, chosen, parts, index, reader.scope.ranges)


def _numbered(parts: Sequence[Expr], number: Fraction, place: Place | None) -> Expr:
    if not 0 <= number < len(parts):
        raise TypeClash(f"there is no component {number}; the array has components 0 to {len(parts) - 1}", place=place)
    return parts[int(number)]


def whole(reader: ReadsOperands, syntax: s.Identifier) -> Expr:
    """An array of numbers where a vector may stand."""
    parts = reader.scope.arrays[syntax.text]
    if not parts[0].sort.is_number:
        many = f"{syntax.text!r} is an array of {len(parts)} values of sort {parts[0].sort}"
        advice = f"name a component, as in {syntax.text}[0], or write all(...), any(...), count(...)"
        raise TypeClash(f"{many}, where one value is wanted; {advice}", place=reader.place(syntax))
    return build.concat(*parts)


def vector(reader: ReadsOperands, syntax: s.WrittenArray) -> Expr:
    """`[... for i in 0..8]` where a vector may stand."""
    values = [each.number(syntax.components.body, "a vector") for each in readers(reader, syntax.components)]
    return reader.make(syntax, build.concat, *_some(reader, syntax, values))


def components(reader: ReadsOperands, syntax: Syntax, expected: Sort) -> list[Expr]:
    """What a text gives to the components of an array, one after the other."""
    if isinstance(syntax, s.WrittenArray):
        each = syntax.components
        return [inner.read(each.body, expected) for inner in readers(reader, each)]
    if isinstance(syntax, s.Identifier) and syntax.text in reader.scope.arrays:
        return list(reader.scope.arrays[syntax.text])
    node = reader.read(syntax, expected)
    if not node.shape:
        what = "this is one value, but an array needs one for each component: [... for i in 0..8], or an array of texts"
        raise TypeClash(what, place=reader.place(syntax))
    return [build.component(node, index) for index in range(node.size)]


# Folds ----------------------------------------------------------------------------------------------------------------


def fold(reader: ReadsOperands, syntax: s.FoldedCall) -> Expr:
    """`all(... for i in 0..8)` and the like."""
    name, body = syntax.function, syntax.operands.body
    if name not in FOLDS:
        told = f"{name!r} does not take one operand for each index"
        raise NameUnknown(f"{told}{nearest(name, FOLDS)}", place=reader.place(syntax))
    values = []
    for inner in readers(reader, syntax.operands):
        values.append(inner.boolean(body, name) if name in OF_TRUTHS else inner.number(body, name))
    return folded(reader, syntax, name, values)


def fold_array(reader: ReadsOperands, syntax: s.FunctionCall, parts: Sequence[Expr]) -> Expr:
    """`all(d)`: of every component."""
    wanted = parts[0].sort == BOOL if syntax.function in OF_TRUTHS else parts[0].sort.is_number
    if not wanted:
        kind = "truth values" if syntax.function in OF_TRUTHS else "numbers"
        what = f"{syntax.function} needs {kind}, but this is an array of sort {parts[0].sort}"
        raise TypeClash(what, place=reader.place(syntax.args[0]))
    return folded(reader, syntax, syntax.function, parts)


def folded(reader: ReadsOperands, syntax: Syntax, name: str, values: Sequence[Expr]) -> Expr:
    """A function of all these operands; of none `all` is true, `any` false, and `sum` and `count` are 0."""
    match name:
        case "all":
            return reader.make(syntax, build.conj, *values)
        case "any":
            return reader.make(syntax, build.disj, *values)
        case "count":
            ones = [build.if_(value, 1, 0) for value in values]
            return reader.make(syntax, build.add, *(ones or [build.const(0)]))
        case "sum":
            return reader.make(syntax, build.add, *(values or [build.const(0)]))
    return reader.make(syntax, build.minimum if name == "min" else build.maximum, *_some(reader, syntax, values))


def _some(reader: ReadsOperands, syntax: Syntax, values: Sequence[Expr]) -> Sequence[Expr]:
    if not values:
        raise TypeClash("the index has no value here, and so there is no operand", place=reader.place(syntax))
    return values


def named_array(reader: ReadsOperands, args: Iterable[Syntax]) -> tuple[Expr, ...] | None:
    """The components, where the arguments are the name of one array and nothing else."""
    match tuple(args):
        case (s.Identifier(text),):
            return reader.scope.arrays.get(text)
    return None
