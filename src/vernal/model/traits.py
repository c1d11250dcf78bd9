"""What holds of every operator, in one complete table.

An entry promises what is true of *all* nodes of its kind and denies the rest. Where a node is better than its kind
(x / 2, x ^ 3, a product with a constant) a function here says so. An operator or a function without an entry is an
error on import: nothing is taken to be rational, piecewise linear or defined everywhere because it was forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.graph import order


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What an operator promises about its value, given its arguments."""

    rational: bool  # rational arguments have a rational value
    piecewise_linear: bool  # affine on each of finitely many polyhedra, in every bounded set
    total: bool  # defined wherever its arguments are
    continuous: bool  # a small change of its arguments changes the value little, wherever it is defined
    monotone: bool  # in each argument, the others fixed, it only rises or only falls, from pole to pole
    branching: bool = False  # takes one of several cases, by comparing numbers or by the value of a condition
    free: bool = False  # not determined by its arguments: an unknown, a draw, a tie
    stepwise: bool = False  # constant between jumps: a label, a truth value, a whole number


def _traits(but: str = "", *, branching: bool = False, free: bool = False, stepwise: bool = False) -> Traits:
    """All five promises but those named."""
    denied = but.split()
    good = {name: name not in denied for name in ("rational", "piecewise_linear", "total", "continuous", "monotone")}
    assert all(name in good for name in denied), but
    return Traits(**good, branching=branching, free=free, stepwise=stepwise)


OPERATORS: Mapping[type[Expr], Traits] = {
    e.Const: _traits(),
    e.Pi: _traits("rational"),
    e.Var: _traits(free=True),
    e.Add: _traits(),
    e.Neg: _traits(),
    e.Mul: _traits("piecewise_linear"),
    e.Div: _traits("piecewise_linear total"),
    e.Pow: _traits("rational piecewise_linear total monotone"),
    e.Relu: _traits(),
    e.LeakyRelu: _traits("monotone"),  # a slope may be negative
    e.Abs: _traits("monotone"),
    e.Max: _traits(),
    e.Min: _traits(),
    e.Sign: _traits("continuous", branching=True, stepwise=True),
    e.Floor: _traits("continuous", branching=True, stepwise=True),
    e.Nonlinear: _traits("rational piecewise_linear total continuous monotone"),  # see FUNCTIONS
    e.Atan2: _traits("rational piecewise_linear total continuous monotone"),  # it jumps where y = 0 and x < 0
    e.Affine: _traits(),
    e.Gather: _traits(),
    e.Concat: _traits(),
    e.Compare: _traits("continuous monotone", branching=True, stepwise=True),
    e.Not: _traits(stepwise=True),
    e.And: _traits(stepwise=True),
    e.Or: _traits(stepwise=True),
    e.If: _traits("continuous monotone", branching=True),
    e.Switch: _traits("total continuous monotone", branching=True),
    e.Argmax: _traits("continuous monotone", branching=True, free=True, stepwise=True),
    e.Choose: _traits(free=True),
    e.Between: _traits("total", free=True),
}

FUNCTIONS: Mapping[Function, Traits] = {
    Function.SIN: _traits("rational piecewise_linear monotone"),
    Function.COS: _traits("rational piecewise_linear monotone"),
    Function.TAN: _traits("rational piecewise_linear total"),
    Function.ATAN: _traits("rational piecewise_linear"),
    Function.TANH: _traits("rational piecewise_linear"),
    Function.ERF: _traits("rational piecewise_linear"),
    Function.EXP: _traits("rational piecewise_linear"),
    Function.EXPM1: _traits("rational piecewise_linear"),
    Function.LOG: _traits("rational piecewise_linear total"),
    Function.LOG1P: _traits("rational piecewise_linear total"),
    Function.SQRT: _traits("rational piecewise_linear total"),
    Function.SIGMOID: _traits("rational piecewise_linear"),
}


def kinds() -> set[type[Expr]]:
    """Every kind of node there is."""
    return {kind for kind in vars(e).values() if isinstance(kind, type) and issubclass(kind, Expr)} - {Expr}


def check(operators: Collection[type[Expr]], functions: Collection[Function]) -> None:
    """Raise where an operator or a function has no entry."""
    forgotten = [kind.__name__ for kind in kinds() if kind not in operators]
    forgotten += [function.value for function in Function if function not in functions]
    if forgotten:
        raise LookupError(f"vernal/model/traits.py does not say what holds of {', '.join(sorted(forgotten))}")


check(OPERATORS, FUNCTIONS)


# What holds of a node -------------------------------------------------------------------------------------------------


def traits(node: Expr) -> Traits:
    """The entry of the node's operator."""
    return FUNCTIONS[node.function] if isinstance(node, e.Nonlinear) else OPERATORS[type(node)]


def is_rational(node: Expr) -> bool:
    """Whether rational arguments certainly have a rational value."""
    if isinstance(node, e.Pow):
        return node.exponent.denominator == 1
    return traits(node).rational


def may_be_undefined(node: Expr) -> bool:
    """Whether a node may have no value though its arguments have one."""
    match node:
        case e.Div(args=(_, e.Const(values=divisors))):
            return 0 in divisors
        case e.Pow(exponent=exponent):
            return exponent < 0 or exponent.denominator != 1
        case e.Between(args=(e.Const(values=low), e.Const(values=high))):
            pairs = ((low[i % len(low)], high[i % len(high)]) for i in range(node.size))
            return any(first > last for first, last in pairs)
        case e.Switch(args=(subject, *_), cases=cases):
            return subject.sort.is_number and None not in cases
    return not traits(node).total


def may_jump(node: Expr) -> bool:
    """Whether a small change of its arguments may change the value much, or the value is drawn anew."""
    return not traits(node).continuous or (traits(node).free and not isinstance(node, e.Var))


def branches(node: Expr) -> bool:
    """Whether a node takes one of several cases, each of which an exploration may have to follow."""
    return traits(node).branching


def varying(roots: Iterable[Expr]) -> set[Expr]:
    """The nodes whose value depends on a variable, a draw or a tie."""
    found: set[Expr] = set()
    for node in order(roots):
        if traits(node).free or any(arg in found for arg in node.args):
            found.add(node)
    return found


def nonlinear_node(roots: Iterable[Expr]) -> Expr | None:
    """The first operator that is not piecewise linear in what varies, if there is one."""
    roots = list(roots)
    moving = varying(roots)
    return next((node for node in order(roots) if node in moving and not _is_piecewise_linear(node, moving)), None)


def _is_piecewise_linear(node: Expr, moving: set[Expr]) -> bool:
    match node:
        case e.Mul(args=(left, right)):
            return left not in moving or right not in moving
        case e.Div(args=(_, divisor)):
            return divisor not in moving
        case e.Pow(exponent=exponent):
            return exponent in (0, 1)
    return traits(node).piecewise_linear
