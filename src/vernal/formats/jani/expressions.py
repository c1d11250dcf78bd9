"""Expressions of JANI files: from JSON to the one expression graph.

What is read is in `SUPPORTED`; everything else is refused by name at its place. Reading does not recurse, so that depth
never matters, and nested conjunctions and disjunctions become one node each, so that long ones stay linear.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from fractions import Fraction

from vernal.errors import InputError, NameUnknown, TypeClash, UnsupportedOperator, nearest
from vernal.formats.jani.entries import JsonEntry, shown
from vernal.model import build
from vernal.model.expr import Const, Expr
from vernal.model.sorts import BOOL, Sort, join

SUPPORTED = "∧ ∨ ¬ ⇒ = ≠ < ≤ > ≥ + - * (by a constant) / (of constants) ite min max let"
UNSUPPORTED = {
    "aa": "arrays (aa) are not supported",
    "av": "arrays (av) are not supported",
    "ac": "arrays (ac) are not supported",
}

Names = Mapping[str, Expr]
Reading = Generator[tuple[JsonEntry, Names], Expr, Expr]  # yields what it needs, is sent its expression


def read_expression(entry: JsonEntry, names: Names, sort: Sort | None = None) -> Expr:
    """The expression of an entry over the given names; `sort` is what it has to be."""
    waiting = [_expression(entry, names)]
    value: Expr | None = None
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
    if sort is not None and join(value.sort, sort) != sort:
        raise entry.error(f"an expression of sort {sort} is expected, but this is of sort {value.sort}", TypeClash)
    return value


def read_constant(entry: JsonEntry, names: Names, sort: Sort | None = None) -> Const:
    """An expression without variables."""
    value = read_expression(entry, names, sort)
    if not isinstance(value, Const):
        raise entry.error("a constant is expected: only constants may be named here", TypeClash)
    return value


def read_condition(entry: JsonEntry, names: Names) -> Expr:
    """A condition, `{"exp": ...}` or the expression itself."""
    inner = entry.get("exp") if isinstance(entry.value, dict) and "op" not in entry.value else None
    return read_expression(inner or entry, names, BOOL)


def _expression(entry: JsonEntry, names: Names) -> Reading:
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
            made = []
            for operand in _flat(entry, op):
                made.append((yield operand, names))
            return _built(entry, build.conj if op == "∧" else build.disj, *made)
        case "¬":
            return _built(entry, build.negate, (yield entry["exp"], names))
        case "ite":
            condition = yield entry["if"], names
            then = yield entry["then"], names
            return _built(entry, build.if_, condition, then, (yield entry["else"], names))
        case "let":
            inner = dict(names)
            for declared in entry.items("variables"):
                inner[declared.text("name")] = yield _let_value(declared), inner
            return (yield entry["expression"], inner)
    if op not in BINARY:
        why = UNSUPPORTED.get(op, f"the operator {op!r} is not supported")
        raise entry.error(f"{why}; supported: {SUPPORTED}", UnsupportedOperator)
    left = yield entry["left"], names
    right = yield entry["right"], names
    return _built(entry, BINARY[op], left, right)


def named(entry: JsonEntry, names: Names) -> Expr:
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


def _built(entry: JsonEntry, constructor: Callable[..., Expr], *operands: Expr) -> Expr:
    """The node; what is wrong with it is wrong at this entry."""
    try:
        return constructor(*operands)
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


def _compared(op: str) -> Callable[[Expr, Expr], Expr]:
    return lambda x, y: build.compare(op, x, y)


BINARY: dict[str, Callable[[Expr, Expr], Expr]] = {
    "+": build.add,
    "-": build.sub,
    "*": _product,
    "/": _quotient,
    "min": build.minimum,
    "max": build.maximum,
    "⇒": build.implies,
    "=": _compared("=="),
    "≠": _compared("!="),
    "<": _compared("<"),
    "≤": _compared("<="),
    ">": _compared(">"),
    "≥": _compared(">="),
}
