"""Expressions of JANI files: from JSON to the one expression graph.

What is read is in `SUPPORTED`; everything else is refused by name at its place. Reading does not recurse, so that depth
never matters, and nested conjunctions and disjunctions become one node each, so that long ones stay linear.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from fractions import Fraction
from typing import TypeVar

from vernal.errors import InputError, NameUnknown, TypeClash, UnsupportedOperator, nearest
from vernal.formats.jani.arrays import Surely, ValueOrArray, element, length, negation, one_value
from vernal.formats.jani.entries import JsonEntry, shown
from vernal.model import build
from vernal.model.build import FALSE
from vernal.model.expr import Const, Expr
from vernal.model.sorts import BOOL, INT, Sort, join

SUPPORTED = "∧ ∨ ¬ ⇒ = ≠ < ≤ > ≥ + - * (by a constant) / (of constants) % abs sgn floor ceil ite min max let aa av ac"

T = TypeVar("T")
Names = Mapping[str, ValueOrArray]
Needed = tuple[JsonEntry, Names, Surely]
Reading = Generator[Needed, ValueOrArray, ValueOrArray]  # yields what it needs, is sent what that stands for


def read_expression(entry: JsonEntry, names: Names, sort: Sort | None = None, surely: Surely | None = None) -> Expr:
    """The expression of an entry over the given names; `sort` is what it has to be, `surely` where it is asked."""
    value = _one(entry, read_value(entry, names, surely))
    if sort is not None and join(value.sort, sort) != sort:
        raise entry.error(f"an expression of sort {sort} is expected, but this is of sort {value.sort}", TypeClash)
    return value


def read_value(entry: JsonEntry, names: Names, surely: Surely | None = None) -> ValueOrArray:
    """What an expression stands for, which may be an array."""
    waiting = [_expression(entry, names, surely or Surely())]
    value: ValueOrArray | None = None
    while waiting:
        try:
            needed = waiting[-1].send(value)  # type: ignore[arg-type]  # the first is None, as generators ask for
        except StopIteration as done:
            waiting.pop()
            value = done.value
        else:
            waiting.append(_expression(*needed))
            value = None
    assert value is not None
    return value


def read_target(entry: JsonEntry, targets: Names, names: Names, surely: Surely) -> tuple[ValueOrArray, list[Expr]]:
    """What an assignment is to: a variable or an array, and the numbers of the element that is meant."""
    target, indices = entry, list[Expr]()
    while isinstance(target.value, dict) and target.value.get("op") == "aa":
        indices.insert(0, read_expression(target["index"], names, INT, surely))
        target = target["exp"]
    if not isinstance(target.value, str):
        target.refuse(f"only variables and elements of arrays can be assigned, not {shown(target.value)}")
    if target.value not in targets:
        raise target.error(f"there is no variable {target.value!r}{nearest(target.value, targets)}", NameUnknown)
    return targets[target.value], indices


def read_constant(entry: JsonEntry, names: Names, sort: Sort | None = None) -> Const:
    """An expression without variables."""
    value = read_expression(entry, names, sort)
    if not isinstance(value, Const):
        raise entry.error("a constant is expected: only constants may be named here", TypeClash)
    return value


def read_condition(entry: JsonEntry, names: Names, surely: Surely | None = None) -> Expr:
    """A condition, `{"exp": ...}` or the expression itself."""
    inner = entry.get("exp") if isinstance(entry.value, dict) and "op" not in entry.value else None
    return read_expression(inner or entry, names, BOOL, surely)


def _expression(entry: JsonEntry, names: Names, surely: Surely) -> Reading:
    value = entry.value
    if isinstance(value, bool | int | Fraction):
        return build.const(value)
    if isinstance(value, str):
        return named(entry, names)
    if not isinstance(value, dict):
        raise entry.error(f"an expression is expected, not {shown(value)}")
    if "op" not in value:
        raise entry.error(f"an expression is expected, not {shown(value)}; supported operators: {SUPPORTED}")
    op = entry.text("op")
    match op:
        case "∧" | "∨":
            operands, here = list[Expr](), surely  # each is asked where those before it leave the answer open
            for operand in _flat(entry, op):
                operands.append(_one(operand, (yield operand, names, here)))
                here = here.under(operands[-1] if op == "∧" else negation(operands[-1]))
            return _built(entry, build.conj if op == "∧" else build.disj, *operands)
        case "⇒":
            left = _one(entry["left"], (yield entry["left"], names, surely))
            return _built(entry, build.implies, left, (yield entry["right"], names, surely.under(left)))
        case "¬":
            return _built(entry, build.negate, (yield entry["exp"], names, surely))
        case "ite":
            condition = _one(entry["if"], (yield entry["if"], names, surely))
            then = yield entry["then"], names, surely.under(condition)
            otherwise = yield entry["else"], names, surely.under(negation(condition))
            return _built(entry, build.if_, condition, then, otherwise)
        case "let":
            inner = dict(names)
            for declared in entry.items("variables"):
                inner[declared.text("name")] = yield _let_value(declared), inner, surely
            return (yield entry["expression"], inner, surely)
        case "aa":
            array = yield entry["exp"], names, surely
            index = _one(entry["index"], (yield entry["index"], names, surely))
            return made(entry["index"], element, array, index, surely)
        case "av":
            listed = []
            for part in _some(entry["elements"]):
                surely.repetition.take(1)
                listed.append((yield part, names, surely))
            return tuple(listed)
        case "ac":
            name, body = entry.text("var"), entry["exp"]
            count = made(entry["length"], length, (yield entry["length"], names, surely))
            listed = []
            for number in range(count):
                surely.repetition.take(1)
                listed.append((yield body, {**names, name: build.const(number)}, surely))
            return tuple(listed)
    if op in UNARY:
        return _built(entry, UNARY[op], (yield entry["exp"], names, surely))
    if op == "%":
        dividend = _one(entry["left"], (yield entry["left"], names, surely))
        divisor = _one(entry["right"], (yield entry["right"], names, surely))
        return made(entry, _remainder, dividend, divisor, surely)
    if op not in BINARY:
        raise entry.error(f"the operator {op!r} is not supported; supported: {SUPPORTED}", UnsupportedOperator)
    left_value = yield entry["left"], names, surely
    right_value = yield entry["right"], names, surely
    return _built(entry, BINARY[op], left_value, right_value)


def named(entry: JsonEntry, names: Names) -> ValueOrArray:
    """What a name stands for."""
    name = entry.text()
    if name not in names:
        raise entry.error(f"there is no variable or constant {name!r}{nearest(name, names)}", NameUnknown)
    return names[name]


def _let_value(declared: JsonEntry) -> JsonEntry:
    value = declared.get("value")
    if value is None:
        declared.refuse("a variable of a let needs a 'value'; variables without one are not supported")
    return value


def _flat(entry: JsonEntry, op: str) -> list[JsonEntry]:
    """The operands of nested conjunctions (or disjunctions), from left to right."""
    found: list[JsonEntry] = []
    waiting = [entry]
    while waiting:
        here = waiting.pop()
        if isinstance(here.value, dict) and here.value.get("op") == op:
            waiting += [here["right"], here["left"]]
        else:
            found.append(here)
    return found


def _some(entry: JsonEntry) -> list[JsonEntry]:
    if not entry.elements():
        entry.refuse("an array has at least one element")
    return entry.items()


def _one(entry: JsonEntry, value: ValueOrArray) -> Expr:
    return made(entry, one_value, value)


def _built(entry: JsonEntry, constructor: Callable[..., Expr], *operands: ValueOrArray) -> Expr:
    """The node; what is wrong with it is wrong at this entry."""
    return made(entry, lambda: constructor(*map(one_value, operands)))


def made(entry: JsonEntry, make: Callable[..., T], *given: object) -> T:
    """What a function makes; what it complains of is wrong at this entry."""
    try:
        return make(*given)
    except InputError as error:
        raise entry.error(error.message, type(error)) from None


def _product(x: Expr, y: Expr) -> Expr:
    if not isinstance(x, Const) and not isinstance(y, Const):
        raise TypeClash("a product of two expressions that both have variables is not supported: * is by a constant")
    return build.mul(x, y)


def _quotient(x: Expr, y: Expr) -> Expr:
    if not isinstance(x, Const) or not isinstance(y, Const):
        raise TypeClash("a division of or by variables is not supported: / is of constants")
    return build.div(x, y)


def _remainder(x: Expr, y: Expr, surely: Surely) -> Expr:
    """Where all agree what it is: tools differ about the remainder of a negative number."""
    if not isinstance(y, Const) or y.sort != INT or y.value <= 0:
        raise TypeClash("% is by a constant integer above 0")
    if x.sort != INT or x.shape:
        raise TypeClash(f"% is of an integer, but this is of sort {x.sort}")
    below = build.compare("<", x, 0)
    if below is not FALSE and not surely.excludes(below):
        raise TypeClash(
            "the left side of % may be negative, and tools differ about that remainder: declare narrower ranges of its "
            "variables, say in the guard that it is not, or take max(0, ...)"
        )
    return build.remainder(x, y)


def _ceiling(x: Expr) -> Expr:
    return build.neg(build.floor(build.neg(x)))


def _compared(op: str) -> Callable[[Expr, Expr], Expr]:
    return lambda x, y: build.compare(op, x, y)


UNARY: dict[str, Callable[[Expr], Expr]] = {
    "abs": build.absolute,
    "sgn": build.sign,
    "floor": build.floor,
    "ceil": _ceiling,
}

BINARY: dict[str, Callable[[Expr, Expr], Expr]] = {
    "+": build.add,
    "-": build.sub,
    "*": _product,
    "/": _quotient,
    "min": build.minimum,
    "max": build.maximum,
    "=": _compared("=="),
    "≠": _compared("!="),
    "<": _compared("<"),
    "≤": _compared("<="),
    ">": _compared(">"),
    "≥": _compared(">="),
}
