"""Expressions and formulas as text that the parser reads back to the same thing, with as few brackets as it takes.

One rule goes beyond the fewest: a comparison under `!` or a temporal operator keeps its brackets, since `!x > 0` is
easily misread. What has no textual form (weights, vectors, ties) is shown as `<affine 20x3>`. Nothing
recurses; a node that is shared many times can be exponentially long as text, so what exceeds a limit is cut to `...`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from vernal.logic.complaints import OPERATORS
from vernal.logic.formula import (
    ALL_TIME,
    Always,
    And,
    Atom,
    Bound,
    Eventually,
    Formula,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Release,
    Temporal,
    Until,
    Weak,
)
from vernal.logic.normal import fold
from vernal.logic.parser import RESERVED
from vernal.model import expr as e
from vernal.model.components import COMPONENT
from vernal.model.expr import Expr, Role
from vernal.model.graph import order
from vernal.model.sorts import BOOL, Kind, Sort

MAX_CHARACTERS = 200_000
MIN_POWER = 20  # of ten, from which on a number is written with it
MAX_DIGITS = 12  # of a number that is written with its power of ten
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# How tightly an operator binds, loosest first; the grammar's rules in the same order.
IFF, IMPLIES, OR, AND, UNTIL, PREFIX, COMPARE, SUM, PRODUCT, SIGN, POWER, WHOLE = range(12)


class Fragment(NamedTuple):
    """A text and how tightly its outermost operator binds."""

    text: str
    binds: int

    def at(self, least: int) -> str:
        """The text as an operand that must bind at least so tightly."""
        return self.text if self.binds >= least else f"({self.text})"


def text(item: Expr | Formula) -> str:
    """The canonical text of an expression or a formula."""
    whole = _formula(item) if isinstance(item, Formula) else _expression(item)
    return whole.text if len(whole.text) <= MAX_CHARACTERS else f"{whole.text[:MAX_CHARACTERS]}..."


def number(value: Fraction) -> str:
    """A decimal where there is one, written out unless it is mostly zeros, else `p/q`."""
    digits = _decimal_digits(value.denominator)
    if digits is None:
        return f"{value.numerator}/{value.denominator}"
    shifted = str(abs(value.numerator) * 10**digits // value.denominator)
    sign, leading = "-" * (value < 0), shifted.rstrip("0")
    if len(leading) <= MAX_DIGITS and not -MIN_POWER <= (exponent := len(shifted) - 1 - digits) <= MIN_POWER:
        return f"{sign}{leading[0]}{'.' * (len(leading) > 1)}{leading[1:]}e{exponent}"
    if digits == 0:
        return f"{sign}{shifted}"
    padded = shifted.rjust(digits + 1, "0")
    return f"{sign}{padded[:-digits]}.{padded[-digits:]}"


def _decimal_digits(denominator: int) -> int | None:
    """How many digits the decimals with this denominator have; None if they do not end."""
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


def constant(value: Fraction, sort: Sort) -> str:
    """A value of a sort: a label, `true` or `false`, or a number."""
    if sort.kind is Kind.ENUM:
        label = sort.labels[int(value)]
        return label if label in OPERATORS else written_name(label)
    return ("true" if value else "false") if sort == BOOL else number(value)


def written_name(name: str) -> str:
    """A name as it is written: in quotes where it is no word, or a word of the language."""
    component = COMPONENT.fullmatch(name)
    base = component[1] if component else name
    plain = WORD.fullmatch(base) and base not in RESERVED
    return name if plain else "'" + name.replace("'", "''") + "'"


def _cut(piece: Fragment) -> Fragment:
    return piece if len(piece.text) <= MAX_CHARACTERS else Fragment("...", WHOLE)


# Expressions ----------------------------------------------------------------------------------------------------------


def _expression(expr: Expr) -> Fragment:
    pieces: dict[Expr, Fragment] = {}
    for node in order([expr]):
        args = [_cut(pieces[arg]) for arg in node.args]
        if isinstance(node, e.Add):
            later = [_term(arg, {each: _cut(pieces[each]) for each in (arg, *arg.args)}) for arg in node.args[1:]]
            pieces[node] = Fragment(args[0].at(SUM) + "".join(later), SUM)
        elif isinstance(node, e.Choose) and node.guarded:
            options = [
                _option(_cut(pieces[o]), _cut(pieces[g])) for o, g in zip(node.written, node.guards, strict=True)
            ]
            pieces[node] = Fragment(f"choose({', '.join(options)})", WHOLE)
        else:
            pieces[node] = _special(node, args) or _operator(node, args) or _call(node, args) or _placeholder(node)
    return pieces[expr]


def _special(node: Expr, args: list[Fragment]) -> Fragment | None:
    """Leaves, and what is written in a way of its own."""
    match node:
        case e.Const(shape=()):
            return _constant(node)
        case e.Pi():
            return Fragment("pi", WHOLE)
        case e.Var(name=name, role=role):
            internal = role in (Role.MEMORY, Role.INPUT)  # no text names these
            return Fragment(name if internal else written_name(name), WHOLE)
        case e.Switch(cases=cases):
            return Fragment(_match(node, cases, args), WHOLE)
        case e.Gather(shape=(), indices=(index,)):
            return Fragment(f"{args[0].at(WHOLE)}[{index}]", WHOLE)
    return None


def _constant(node: e.Const) -> Fragment:
    shown = constant(node.value, node.sort)
    if "/" in shown:
        return Fragment(shown, PRODUCT)
    return Fragment(shown, SIGN if shown.startswith("-") else WHOLE)


def _term(node: Expr, pieces: Mapping[Expr, Fragment]) -> str:
    """A later term of a sum, with its sign."""
    if isinstance(node, e.Neg):
        return f" - {pieces[node.args[0]].at(PRODUCT)}"
    if isinstance(node, e.Const) and not node.shape and node.value < 0:
        return f" - {number(-node.value)}"
    return f" + {pieces[node].at(PRODUCT)}"


def _option(value: Fragment, guard: Fragment) -> str:
    return value.text if guard.text == "true" else f"{value.text} when {guard.text}"


def _match(node: Expr, cases: Sequence[Fraction | None], args: list[Fragment]) -> str:
    sort = node.args[0].sort
    labels = ["_" if case is None else constant(case, sort) for case in cases]
    branches = [f"{label}: {piece.text}" for label, piece in zip(labels, args[1:], strict=True)]
    return f"match({', '.join([args[0].text, *branches])})"


def _operator(node: Expr, args: list[Fragment]) -> Fragment | None:
    match node:
        case e.Neg():
            return Fragment(f"-{args[0].text if isinstance(node.args[0], e.Neg) else args[0].at(POWER)}", SIGN)
        case e.Mul():
            return Fragment(f"{args[0].at(PRODUCT)} * {args[1].at(SIGN)}", PRODUCT)
        case e.Div():
            return Fragment(f"{args[0].at(PRODUCT)} / {args[1].at(SIGN)}", PRODUCT)
        case e.Pow(exponent=exponent):
            shown = number(exponent)
            return Fragment(f"{args[0].at(WHOLE)} ^ {f'({shown})' if '/' in shown else shown}", POWER)
        case e.Compare(op=op):
            return Fragment(_compare(node, op, args), COMPARE)
        case e.Not():
            return _prefix("!", args[0])
        case e.And():
            return _joined(" & ", AND, args)
        case e.Or():
            return _joined(" | ", OR, args)
    return None


def _compare(node: Expr, op: str, args: list[Fragment]) -> str:
    left, right = (arg.at(SUM) for arg in args)
    turned = {"<": ">", "<=": ">="}.get(op)
    if turned and isinstance(node.args[0], e.Const) and not isinstance(node.args[1], e.Const):
        return f"{right} {turned} {left}"
    return f"{left} {op} {right}"


def _prefix(operator: str, operand: Fragment) -> Fragment:
    """An operator before its operand; a comparison is bracketed though it need not be."""
    return Fragment(operator + operand.at(PREFIX if operand.binds == PREFIX else SUM), PREFIX)


def _joined(operator: str, binds: int, args: Sequence[Fragment]) -> Fragment:
    """Operands of one operator that is written once between each two."""
    return Fragment(operator.join(arg.at(binds + 1) for arg in args), binds)


FUNCTIONS: dict[type[Expr], str] = {
    e.Relu: "relu",
    e.Abs: "abs",
    e.Max: "max",
    e.Min: "min",
    e.Sign: "sign",
    e.Floor: "floor",
    e.Atan2: "atan2",
    e.If: "if",
    e.Choose: "choose",
    e.Between: "between",
}


def _call(node: Expr, args: list[Fragment]) -> Fragment | None:
    name = node.function.value if isinstance(node, e.Nonlinear) else FUNCTIONS.get(type(node))
    return None if name is None else Fragment(f"{name}({', '.join(arg.text for arg in args)})", WHOLE)


def _placeholder(node: Expr) -> Fragment:
    match node:
        case e.Affine(weight=weight):
            rows, columns = weight.array.shape
            return Fragment(f"<affine {rows}x{columns}>", WHOLE)
        case e.Argmax():
            return Fragment(f"<argmax of {node.args[0].size}>", WHOLE)
        case e.LeakyRelu(slopes=slopes):
            slope = number(slopes[0]) if len(set(slopes)) == 1 else "by component"
            return Fragment(f"<leaky relu {slope}>", WHOLE)
        case e.Gather():
            return Fragment(f"<{node.size} of {node.args[0].size} components>", WHOLE)
    return Fragment(f"<vector of {node.size}>", WHOLE)


# Formulas -------------------------------------------------------------------------------------------------------------


def _formula(formula: Formula) -> Fragment:
    return fold(formula, lambda node, args: _cut(formula_piece(node, args, _expression)))


def formula_piece(node: Formula, args: Sequence[Fragment], atom: Callable[[Expr], Fragment]) -> Fragment:
    """The text of an operator from the texts of its operands."""
    match node:
        case Atom(expr):
            return atom(expr)
        case Not():
            return _prefix("!", args[0])
        case And():
            return _junction(" & ", AND, args, "true")
        case Or():
            return _junction(" | ", OR, args, "false")
        case Implies():
            return Fragment(f"{args[0].at(OR)} -> {args[1].at(IMPLIES)}", IMPLIES)
        case Iff():
            return Fragment(f"{args[0].at(IFF)} <-> {args[1].at(IMPLIES)}", IFF)
    assert isinstance(node, Temporal)
    return _temporal(node, args)


def _junction(operator: str, binds: int, args: Sequence[Fragment], empty: str) -> Fragment:
    if len(args) < 2:
        return args[0] if args else Fragment(empty, WHOLE)
    return _joined(operator, binds, args)


def _temporal(node: Temporal, args: Sequence[Fragment]) -> Fragment:
    quantifier = node.quantifier.value if node.quantifier else ""
    match node:
        case Next(count=count):
            return _prefix(f"{quantifier}X{'' if count == 1 else f'[{count}]'} ", args[0])
        case Eventually(bound=bound):
            return _prefix(f"{quantifier}F{bound_text(bound)} ", args[0])
        case Always(bound=bound):
            return _prefix(f"{quantifier}G{bound_text(bound)} ", args[0])
        case Until(bound=bound):
            return _between_two(f"U{bound_text(bound)}", args, node.quantifier)
        case Release(bound=bound):
            return _between_two(f"R{bound_text(bound)}", args, node.quantifier)
        case Weak(bound=bound):
            return _between_two(f"W{bound_text(bound)}", args, node.quantifier)


def _between_two(operator: str, args: Sequence[Fragment], quantifier: Quantifier | None) -> Fragment:
    inner = f"{args[0].at(PREFIX)} {operator} {args[1].at(UNTIL)}"
    return Fragment(inner, UNTIL) if quantifier is None else Fragment(f"{quantifier.value}[{inner}]", PREFIX)


def bound_text(bound: Bound) -> str:
    """`[0,5]`, `[2,]`, or nothing for all time."""
    if bound == ALL_TIME:
        return ""
    return f"[{number(bound.lower)},{'' if bound.upper is None else number(bound.upper)}]"


Formula.printer = text
Bound.printer = bound_text
