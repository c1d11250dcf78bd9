"""The axes of a map: starts that are cut, and parameters whose values are taken one by one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from vernal.errors import InputError, NameUnknown, nearest
from vernal.logic.printing import number
from vernal.model.initial import Ends, Span, Start
from vernal.model.sorts import INT
from vernal.model.system import Model
from vernal.queries.grid import Axis, parse_over

INTERVAL = re.compile(r"\[([^,\]]*),([^,\]]*)\]")


@dataclass(frozen=True, slots=True)
class MapAxis:
    """A variable whose start is mapped, from end to end; `whole` where it takes whole numbers only."""

    name: str
    lower: Fraction
    upper: Fraction
    whole: bool = False

    @property
    def ends(self) -> Ends:
        return self.lower, self.upper

    def size(self, ends: Ends) -> Fraction:
        """How much lies between two ends: a length, or the number of whole numbers."""
        return ends[1] - ends[0] + (1 if self.whole else 0)

    def can_cut(self, ends: Ends) -> bool:
        return ends[0] < ends[1]

    def halves(self, ends: Ends) -> tuple[Ends, Ends]:
        """Two parts: reals share their common end, whole numbers share none."""
        middle = (ends[0] + ends[1]) / 2
        if not self.whole:
            return (ends[0], middle), (middle, ends[1])
        below = Fraction(math.floor(middle))
        return (ends[0], below), (below + 1, ends[1])

    def __str__(self) -> str:
        return f"{self.name}=[{number(self.lower)},{number(self.upper)}]"


@dataclass(frozen=True, slots=True)
class Over:
    """What a map goes over, as given: intervals by name, and lists of values of parameters."""

    intervals: Mapping[str, Ends]
    listed: Sequence[Axis]


def parse_intervals(texts: Iterable[str]) -> Over:
    """`h=[-400,400]` is an interval; `k=1..6` and `k=1,2,4` are values of a parameter, as in a sweep."""
    intervals: dict[str, Ends] = {}
    listed: list[Axis] = []
    for text in texts:
        name, equals, values = (part.strip() for part in text.partition("="))
        found = INTERVAL.fullmatch(values)
        if found is None and ("[" in values or "inf" in values.lower() or not equals):
            raise InputError(f"--over wants NAME=[lower,upper] with two numbers, not {text!r}")
        if name in intervals or any(axis.name == name for axis in listed):
            raise InputError(f"--over names {name} twice")
        if found is None:
            listed.append(parse_over(text))
        else:
            intervals[name] = _finite(found[1], text), _finite(found[2], text)
    return Over(intervals, tuple(listed))


def _finite(text: str, whole: str) -> Fraction:
    if "inf" in text.lower() or not text.strip():
        raise InputError(f"a map has a volume, and --over {whole} has an end without a number; give two numbers")
    try:
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{text.strip()!r} in --over {whole} is not a number") from None


def map_axes(model: Model, intervals: Mapping[str, Ends], parameters: Iterable[str]) -> tuple[MapAxis, ...]:
    """The axes that are cut; of every interval of the initial set where none is named."""
    given = intervals or {
        variable.name: start.ends
        for variable in model.state
        if variable.sort.is_number and _is_interval(start := model.init.starts[variable.name])
    }
    if not given:
        raise InputError('every variable starts at one value; say where to look, for example --over "x=[0,10]"')
    return tuple(_axis(model, name, ends, set(parameters)) for name, ends in given.items())


def _is_interval(start: Start) -> bool:
    """Whether a start is an interval, of whole numbers too, with more than one value."""
    if isinstance(start, Span):
        return not start.is_point
    low, high = start.ends
    whole = all(value.denominator == 1 for value in start.values)
    return low < high and whole and len(set(start.values)) == high - low + 1


def _axis(model: Model, name: str, ends: Ends, parameters: set[str]) -> MapAxis:
    known = [variable.name for variable in model.state]
    if name in parameters:
        raise InputError(
            f"{name} is a parameter, whose values are taken one by one: --over {name}=lo..hi..step; "
            "where it says where a variable starts, map over that variable"
        )
    if name not in known:
        raise NameUnknown(f"{name!r} is not part of the initial set, and no parameter{nearest(name, known)}")
    sort = model.variable(name).sort
    if not sort.is_number:
        raise InputError(f"{name} is of sort {sort}: only numbers have intervals; its start stays that of the task")
    if ends[0] >= ends[1]:
        raise InputError(f"the interval of {name} has no width: {number(ends[0])} is not below {number(ends[1])}")
    whole = sort == INT
    if whole and any(end.denominator != 1 for end in ends):
        raise InputError(f"{name} is a whole number; give whole ends")
    return MapAxis(name, *ends, whole)
