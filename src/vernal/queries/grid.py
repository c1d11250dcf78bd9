"""The grid of a sweep: parameters, the values each takes, and every combination of them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from vernal.errors import InputError

MAX_CELLS = 1_000_000
EXPONENT = re.compile(r"[eE][+-]?0*(\d+)")


@dataclass(frozen=True, slots=True)
class Axis:
    """A parameter and the values it takes, as written (for the table) and as expressions (for the task)."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """Every combination of the axes' values; the last varies fastest."""

    axes: Sequence[Axis]

    def __post_init__(self) -> None:
        names = [axis.name for axis in self.axes]
        if len(set(names)) < len(names):
            raise InputError(f"--over names a parameter twice: {', '.join(names)}")
        if self.size > MAX_CELLS:
            raise InputError(f"the sweep has {self.size} cells; at most {MAX_CELLS} are taken on")

    @property
    def size(self) -> int:
        size = 1
        for axis in self.axes:
            size *= len(axis.values)
        return size

    def points(self) -> Iterator[dict[str, str]]:
        names = [axis.name for axis in self.axes]
        for values in itertools.product(*(axis.values for axis in self.axes)):
            yield dict(zip(names, values, strict=True))


def parse_over(text: str) -> Axis:
    """`v0=-19.5,-22.5`, `k=1..6` or `x=0..1..0.1`; items of a list may be ranges too."""
    name, equals, values = text.partition("=")
    items = [item.strip() for item in values.split(",")]
    if not equals or not name.strip() or not all(items):
        raise InputError(f"--over wants NAME=a,b,c or NAME=lo..hi, not {text!r}")
    return Axis(name.strip(), tuple(value for item in items for value in _values(item, text)))


def _values(item: str, text: str) -> list[str]:
    from vernal.logic.printing import number

    if ".." not in item:
        return [item]
    ends = item.split("..")
    if len(ends) not in (2, 3):
        raise InputError(f"{item!r} in --over {text} is no range; write lo..hi or lo..hi..step")
    low, high, *rest = (_decimal(end, text) for end in ends)
    if not rest and (low.denominator != 1 or high.denominator != 1):
        raise InputError(f"the ends of {item!r} in --over {text} are not integers; add a step: {item}..0.5")
    step = rest[0] if rest else Fraction(1)
    if step == 0 or (high - low) / step < 0:
        raise InputError(f"the range {item!r} in --over {text} is empty; from {low} one does not get to {high}")
    count = int((high - low) / step) + 1
    if count > MAX_CELLS:
        raise InputError(f"the range {item!r} has {count} values; at most {MAX_CELLS} are taken on")
    return [number(low + index * step) for index in range(count)]


def _decimal(text: str, whole: str) -> Fraction:
    from vernal.logic.parser import MAX_DIGITS, MAX_EXPONENT

    exponent = EXPONENT.search(text)
    if len(text) > MAX_DIGITS or (exponent and int(exponent[1][:5]) > MAX_EXPONENT):
        raise InputError(f"{text[:40]!r} in --over is longer, or beyond 10^{MAX_EXPONENT}: no number Vernal reads")
    try:
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{text!r} in --over {whole} is not a number") from None
