"""Initial values and next values must suit the variable they are given to."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from vernal.errors import TypeClash
from vernal.model import build
from vernal.model.expr import Const, Expr
from vernal.model.initial import OneOf, Span, Start, start_between
from vernal.model.numbers import as_written, show
from vernal.model.sorts import INT, REAL, Kind, Sort
from vernal.model.system import Variable

MAX_INTEGERS = 1000  # an interval of integers is a set, and sets stay small


def value_of(sort: Sort, value: Fraction | Decimal | int | float | str | bool | np.generic) -> Fraction:
    """A value of a sort as a number: the index of a label, 0 or 1 for a truth value."""
    value = as_written(value)
    if sort.kind is Kind.ENUM:
        if value not in sort.labels:
            raise TypeClash(f"{value!r} is not a label of {sort}")
        return Fraction(sort.labels.index(str(value)))
    if isinstance(value, bool) != (sort.kind is Kind.BOOL):
        shown = str(value).lower() if isinstance(value, bool | Fraction) else repr(value)
        raise TypeClash(f"{shown} is not a value of sort {sort}")
    node = build.const(value)
    assert isinstance(node, Const)
    return node.value


def check_start(variable: Variable, start: Start) -> Start:
    """The start, if the variable may begin there; an interval of integers becomes their set."""
    start = _as_set(variable, start) if isinstance(start, Span) else start
    values = start.ends if isinstance(start, Span) else start.values
    for value in values:
        _check_value(variable, value)
    return start


def _as_set(variable: Variable, span: Span) -> Start:
    if not variable.sort.is_number:
        raise TypeClash(f"{variable.name!r} is of sort {variable.sort}; its initial values are a set {{a, b}}")
    if span.lower > span.upper:
        raise TypeClash(f"[{show(span.lower)}, {show(span.upper)}] is an inverted interval: it holds no value")
    if variable.sort == REAL:
        return start_between(*span.ends)
    count = span.count(INT)
    if not count:
        raise TypeClash(f"[{show(span.lower)}, {show(span.upper)}] is empty: it holds no integer")
    if count > MAX_INTEGERS:
        raise TypeClash(f"this interval holds {count} integers; at most {MAX_INTEGERS} are taken one by one")
    return OneOf(tuple(Fraction(value) for value in span.integers))


def _check_value(variable: Variable, value: Fraction) -> None:
    if variable.sort == INT and value.denominator != 1:
        raise TypeClash(f"{show(value)} is no integer, but {variable.name!r} is an int")
    below = variable.lower is not None and value < variable.lower
    above = variable.upper is not None and value > variable.upper
    if below or above:
        low = "" if variable.lower is None else show(variable.lower)
        high = "" if variable.upper is None else show(variable.upper)
        raise TypeClash(f"the initial value {show(value)} of {variable.name!r} is outside its range [{low}, {high}]")


def check_next(variable: Variable, value: Expr) -> None:
    """A next value has the sort of its variable; an int is also a real."""
    if value.shape:
        raise TypeClash(f"{variable.name!r} is one value, but this is a vector of {value.size}; take a component [0]")
    if value.sort != variable.sort and not (variable.sort == REAL and value.sort == INT):
        advice = "; use floor(...) to make an integer" if (variable.sort, value.sort) == (INT, REAL) else ""
        raise TypeClash(f"{variable.name!r} is of sort {variable.sort}, but its value is of sort {value.sort}{advice}")


def check_rate(variable: Variable, rate: Expr) -> None:
    """A rate of change is one number, and that of a real."""
    if variable.sort != REAL:
        raise TypeClash(f"{variable.name!r} is of sort {variable.sort} and has no rate of change: reals flow, it jumps")
    if rate.shape:
        raise TypeClash(
            f"the rate of {variable.name!r} is one number, but this is a vector of {rate.size}; take a component [0]"
        )
    if not rate.sort.is_number:
        raise TypeClash(f"the rate of {variable.name!r} is a number, but this is of sort {rate.sort}")
