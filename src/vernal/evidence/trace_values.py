"""Exact numbers as JSON and back: shortest decimals where they are exact, "p/q" where they are not.

A float in a document stands for the decimal it prints as, so 0.1 is one tenth. A rational whose "p/q" would be longer
than a line, and a real known by an enclosure, are written as the nearest float; they are compared after the same
rounding. What a replay starts from (the first state, the disturbances) is written in full, however long, and as two
ends where it is a box; so is an enclosure that holds more than one float, rounded outward.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

from vernal.errors import FormatError
from vernal.evidence.trace import Enclosure, TraceNumber, TraceValue
from vernal.model.sorts import INT, REAL, Kind, Sort

MAX_TEXT = 80  # characters of "p/q"
MAX_FULL = 4000  # ... where nothing may be lost
MORE_DIGITS = 24  # than one that are looked at where seventeen are written
RATIONAL = re.compile(r"-?\d{1,4000}(/[1-9]\d{0,3999})?")
BEYOND_FLOATS = re.compile(r"-?\d\.\d{1,16}E\+\d{1,6}")  # what no float reaches


def write_number(value: TraceNumber, sort: Sort = REAL, *, full: bool = False) -> int | float | str:
    """The number as JSON."""
    exact = value.middle if isinstance(value, Enclosure) else value
    if sort == INT and exact.denominator == 1 and abs(exact) < 10**MAX_FULL:
        return int(exact)
    try:
        nearest = float(exact) + 0.0  # no negative zero
    except OverflowError:
        return _scientific(exact)
    if isinstance(value, Enclosure) or Fraction(repr(nearest)) == value:
        return nearest
    if max(abs(exact.numerator), exact.denominator) >= 10**MAX_FULL:
        return nearest
    text = f"{exact.numerator}/{exact.denominator}"
    return text if len(text) <= (MAX_FULL if full else MAX_TEXT) else nearest


def _scientific(value: Fraction) -> str:
    """Seventeen digits of a number beyond all floats: of some more of them, the others may be a million."""
    power = math.floor(math.log10(abs(value.numerator)) - math.log10(value.denominator)) - MORE_DIGITS
    digits, rest = divmod(abs(value.numerator), value.denominator * 10**power)
    shown = Decimal(10 * digits + bool(rest)).scaleb(power - 1)  # so that what is left out decides between two
    return f"{shown.copy_sign(Decimal(value.numerator > 0 or -1)):.16E}"


def settled(value: TraceNumber) -> bool:
    """Whether the enclosure is narrow enough to be written as one definite float."""
    if isinstance(value, Fraction):
        return True
    ends = (Enclosure(end, end) for end in (value.lower, value.upper))
    return len({write_number(end) for end in ends}) == 1


def write_value(value: TraceValue, sort: Sort, *, full: bool = False) -> Any:
    """A scalar by its sort (label, truth value, number), a vector as a list."""
    if isinstance(value, tuple):
        return [write_value(item, sort, full=full) for item in value]
    if isinstance(value, Fraction) and sort.kind is Kind.BOOL:
        return bool(value)
    if isinstance(value, Fraction) and sort.kind is Kind.ENUM:
        return sort.labels[int(value)]
    if isinstance(value, Enclosure) and (full or not settled(value)):
        ends = value if full else _rounded_outward(value)
        return {"lower": write_number(ends.lower, full=True), "upper": write_number(ends.upper, full=True)}
    return write_number(value, sort, full=full)


def _rounded_outward(value: Enclosure) -> Enclosure:
    """An enclosure about twice as wide whose ends are short decimals."""
    slack = (value.upper - value.lower) / 2
    scale = 10 ** len(str(slack.denominator // slack.numerator)) if slack else 1
    ends = math.floor((value.lower - slack) * scale), math.ceil((value.upper + slack) * scale)
    return Enclosure(*(Fraction(end, scale) for end in ends))


def read_number(item: Any, where: str) -> Fraction:
    """The number a document says, exactly."""
    if isinstance(item, bool) or not isinstance(item, int | float | str):
        raise FormatError(f"{where}: expected a number, not {_short(item)}")
    if isinstance(item, str):
        if not (RATIONAL.fullmatch(item) or BEYOND_FLOATS.fullmatch(item)):
            raise FormatError(f'{where}: expected a number or "p/q", not {_short(item)}')
        return Fraction(item)
    return Fraction(repr(item)) if isinstance(item, float) else Fraction(item)


def read_scalar(item: Any, sort: Sort, where: str) -> TraceNumber:
    """A value of this sort, or a box around a real one."""
    if isinstance(item, dict) and sort == REAL:
        return _read_box(item, where)
    match sort.kind:
        case Kind.BOOL:
            if not isinstance(item, bool):
                raise FormatError(f"{where}: expected true or false, not {_short(item)}")
            return Fraction(item)
        case Kind.ENUM:
            if item not in sort.labels:
                raise FormatError(f"{where}: expected one of {', '.join(sort.labels)}, not {_short(item)}")
            return Fraction(sort.labels.index(item))
    return read_number(item, where)


def _read_box(item: dict[str, Any], where: str) -> Enclosure:
    if set(item) != {"lower", "upper"}:
        raise FormatError(f"{where}: expected a number, or an object with lower and upper, not {_short(item)}")
    lower, upper = (read_number(item[end], f"{where}, {end}") for end in ("lower", "upper"))
    if lower > upper:
        raise FormatError(f"{where}: the lower end is above the upper end")
    return Enclosure(lower, upper)


def read_value(item: Any, sort: Sort, size: int | None, where: str) -> TraceValue:
    """A scalar, or a vector of `size` components."""
    if size is None:
        return read_scalar(item, sort, where)
    if not isinstance(item, list) or len(item) != size:
        raise FormatError(f"{where}: expected a list of {size} numbers, not {_short(item)}")
    return tuple(read_scalar(entry, sort, f"{where}[{i}]") for i, entry in enumerate(item))


def _short(item: Any) -> str:
    text = repr(item)
    return text if len(text) <= 60 else text[:57] + "..."
