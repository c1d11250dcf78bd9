"""The limits of a formula: the numbers that its comparisons compare a quantity with."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vernal.interpret.concrete import evaluate
from vernal.logic.formula import Formula
from vernal.logic.normal import atoms
from vernal.logic.printing import text
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.graph import order
from vernal.model.traits import varying


def limits(formula: Formula) -> dict[str, list[float]]:
    """`abs(theta) < 0.05 & x - y > 1` makes theta: -0.05 and 0.05, x - y: 1; `x < y` has no limit."""
    found: dict[str, set[float]] = {}
    for node in order(atoms(formula)):
        if isinstance(node, e.Compare) and all(arg.sort.is_number for arg in node.args):
            name, values = _named_edge(*node.args)
            found.setdefault(name, set()).update(values)
    return {name: sorted(values) for name, values in found.items() if name and values}


def _named_edge(left: Expr, right: Expr) -> tuple[str, set[float]]:
    """The quantity inside and its limits, or the whole side that varies and the number it is compared with."""
    inside, values = _edge(left, right)
    if _name(inside) or _is_constant(left) == _is_constant(right):
        return _name(inside), values
    varied, number = (left, _number(right)) if _is_constant(right) else (right, _number(left))
    return text(varied), set() if number is None else {number}


def quantities_of(formula: Formula) -> dict[str, Expr]:
    """What a formula speaks of, by name: the numbers it compares, and the conditions and labels besides.

    A number is the quantity inside, as in `limits`, or the whole side of a comparison that is not as simple as that.
    """
    found: dict[str, Expr] = {}
    for node in order(atoms(formula)):
        if isinstance(node, e.Compare) and all(arg.sort.is_number for arg in node.args):
            varied, (inside, _) = [arg for arg in node.args if not _is_constant(arg)], _edge(*node.args)
            for side in [inside] if len(varied) == 1 and _name(inside) else varied:
                found.setdefault(_name(side) or text(side), side)
        elif isinstance(node, e.Var) and not node.sort.is_number and not node.shape:
            found.setdefault(node.name, node)
    return found


def _edge(left: Expr, right: Expr) -> tuple[Expr, set[float]]:
    """The quantity that is compared with a number, and where: as far inside as it has a name, or there is no way."""
    node, number = (left, _number(right)) if _is_constant(right) else (right, _number(left))
    values = set() if number is None else {number}
    while values and not _name(node):
        node, values = _inside(node, values)
    return node, values


def _name(node: Expr) -> str:
    """How a trace calls a quantity: `x`, `motor`, `motor[1]`."""
    match node:
        case e.Var(name=name, shape=()):
            return name
        case e.Gather(args=(e.Var(name=name),), indices=(index,)):
            return f"{name}[{index}]"
    return ""


def _inside(node: Expr, values: Iterable[float]) -> tuple[Expr, set[float]]:
    """One layer less: the part of a node that varies, and its values where the node has the given ones."""
    moving = [arg for arg in node.args if not _is_constant(arg)]
    fixed = [_number(arg) or 0.0 for arg in node.args if _is_constant(arg)]
    match node, moving:
        case e.Neg(), [part]:
            return part, {-value for value in values}
        case e.Abs(), [part]:
            return part, {side * value for value in values if value >= 0 for side in (-1, 1)}
        case e.Add(), [part]:
            return part, {value - sum(fixed) for value in values}
        case e.Mul(), [part] if np.prod(fixed):
            return part, {value / float(np.prod(fixed)) for value in values}
        case e.Div(args=(part, _)), [_] if part in moving:
            return part, {value * fixed[0] for value in values}
    return node, set()


def _is_constant(node: Expr) -> bool:
    return not varying([node])


def _number(node: Expr) -> float | None:
    """A constant as a float; None where it varies or is undefined."""
    if not _is_constant(node):
        return None
    with np.errstate(all="ignore"):
        (value,) = evaluate([node], {})
    return float(value.ravel()[0]) if np.isfinite(value).all() else None
