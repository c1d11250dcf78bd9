"""The initial set: where every number of a system starts, as one value.

Users write an interval or a set of values for each variable, and constraints (`Init`); agents bring the starts of what
they remember. `InitialSet` is all of this, component by component and always in the same order: first the state, then
the memories. The constraints are kept beside the starts; whether a state satisfies them an interpretation has to say.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from vernal.errors import TypeClash
from vernal.model import numbers
from vernal.model.expr import Expr
from vernal.model.portable import Portable
from vernal.model.sorts import REAL, Sort

Ends = tuple[Fraction, Fraction]
Valuation = Mapping[Expr, tuple[Fraction, ...]]  # a value for each component of each variable


@dataclass(frozen=True, slots=True)
class Span:
    """An interval of initial values, both ends included: reals, or the integers in it; never labels or truth values."""

    lower: Fraction
    upper: Fraction

    def __str__(self) -> str:
        return f"[{numbers.written(self.lower)}, {numbers.written(self.upper)}]"

    @property
    def ends(self) -> Ends:
        return self.lower, self.upper

    @property
    def first(self) -> Fraction:
        """The value taken where nothing depends on it."""
        return self.lower

    @property
    def is_point(self) -> bool:
        return self.lower == self.upper

    @property
    def integers(self) -> range:
        """The integers of the interval."""
        return range(math.ceil(self.lower), math.floor(self.upper) + 1)

    def contains(self, value: Fraction) -> bool:
        return self.lower <= value <= self.upper

    def nearest(self, value: Fraction) -> Fraction:
        return min(max(value, self.lower), self.upper)

    def count(self, sort: Sort) -> int:
        """How many alternatives there are; an interval of reals is one."""
        return max(self.integers.stop - self.integers.start, 0) if sort.is_discrete else 1

    def alternatives(self, sort: Sort) -> Iterator[Start]:
        """The integers one by one; reals stay together."""
        return (OneOf((Fraction(value),)) for value in self.integers) if sort.is_discrete else iter((self,))

    def cut(self, ends: Ends) -> Start | None:
        """The values between these ends; None where there are none."""
        lower, upper = max(self.lower, ends[0]), min(self.upper, ends[1])
        return start_between(lower, upper) if lower <= upper else None


@dataclass(frozen=True, slots=True)
class OneOf:
    """Finitely many initial values; one of them is a plain value. Enum values are indices, truth values 0 and 1."""

    values: tuple[Fraction, ...]

    def __str__(self) -> str:
        return f"one of {', '.join(numbers.written(value) for value in self.values)}"

    @property
    def ends(self) -> Ends:
        return min(self.values), max(self.values)

    @property
    def first(self) -> Fraction:
        """The value taken where nothing depends on it."""
        return self.values[0]

    @property
    def is_point(self) -> bool:
        return len(set(self.values)) == 1

    def contains(self, value: Fraction) -> bool:
        return value in self.values

    def nearest(self, value: Fraction) -> Fraction:
        return min(self.values, key=lambda own: abs(own - value))

    def count(self, sort: Sort) -> int:
        """How many alternatives there are."""
        return len(set(self.values))

    def alternatives(self, sort: Sort) -> Iterator[Start]:
        """The values one by one."""
        return (OneOf((value,)) for value in dict.fromkeys(self.values))

    def cut(self, ends: Ends) -> Start | None:
        """The values between these ends; None where there are none."""
        kept = tuple(value for value in self.values if ends[0] <= value <= ends[1])
        return OneOf(kept) if kept else None


Start = Span | OneOf


def start_between(lower: Fraction, upper: Fraction) -> Start:
    """An interval, or the one value where its ends are equal."""
    return OneOf((lower,)) if lower == upper else Span(lower, upper)


def start_among(values: Sequence[int], sort: Sort) -> Start:
    """The start with these ascending values of a discrete sort: an interval of integers where there is no gap."""
    if sort.is_number and len(values) > 1 and len(values) == values[-1] - values[0] + 1:
        return Span(Fraction(values[0]), Fraction(values[-1]))
    return OneOf(tuple(map(Fraction, values)))


def represented(start: Start, number: float, digits: int | None = None, slack: float = 0.0) -> Fraction:
    """The value of a start that a float stands for.

    That is a value of the set or an end of the interval if it rounds to the float; an end also if the float is at most
    `slack` widths away from it. Any other float is the decimal it prints as, moved into the start; with `digits` it is
    first rounded to so many digits of the interval's width, which makes traces that people can read.
    """
    for value in start.values if isinstance(start, OneOf) else start.ends:
        if numbers.nearest(value) == number:
            return value
    if not math.isfinite(number):  # the start is beyond all floats
        return start.first
    if isinstance(start, OneOf):
        return start.nearest(Fraction(number))
    written, width = Fraction(repr(number)), numbers.nearest(start.upper - start.lower)
    if not 0 < width < math.inf:
        return start.nearest(written)
    for end in start.ends:
        if abs(Fraction(number) - end) <= Fraction(slack * width):
            return end
    return start.nearest(written if digits is None else round(written, digits - math.floor(math.log10(width))))


@dataclass(frozen=True, slots=True)
class Init(Portable):
    """The initial states as written: a start for each variable, cut by constraints over the state variables."""

    starts: Mapping[str, Start]
    where: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Box(Portable):
    """Ends of every component of every state and memory variable, exactly.

    For an enum or truth variable the ends are equal, or span all its possible values.
    """

    ends: dict[Expr, tuple[Ends, ...]]

    def replaced(self, var: Expr, component: int, ends: Ends) -> Box:
        """The box with other ends for one component."""
        entry = self.ends[var]
        return Box({**self.ends, var: (*entry[:component], ends, *entry[component + 1 :])})

    def halves(self, var: Expr, component: int) -> tuple[Box, Box]:
        """The box cut in the middle of one component."""
        low, high = self.ends[var][component]
        middle = (low + high) / 2
        return self.replaced(var, component, (low, middle)), self.replaced(var, component, (middle, high))

    def middle(self) -> Valuation:
        """The centre; for discrete variables and integers the lower end."""
        return {
            var: tuple((low + high) / 2 if var.sort == REAL else low for low, high in entry)
            for var, entry in self.ends.items()
        }


@dataclass(frozen=True)
class InitialSet(Portable):
    """A start for each component of each state and memory variable, and the constraints on the state."""

    starts: Mapping[Expr, Sequence[Start]]
    where: tuple[Expr, ...] = ()

    def __post_init__(self) -> None:
        """An interval of truth values or labels would hold values that are none: it must not come into being."""
        for var, _, start in self.components():
            if isinstance(start, Span) and not var.sort.is_number:
                raise TypeClash(f"a variable of sort {var.sort} starts in a set of values, not in the interval {start}")

    def components(self) -> Iterator[tuple[Expr, int, Start]]:
        """Every degree of freedom: a variable, one of its components, and where that starts."""
        return ((var, i, start) for var, entry in self.starts.items() for i, start in enumerate(entry))

    @property
    def is_point(self) -> bool:
        """Whether every component has one value; constraints may exclude it."""
        return all(start.is_point for _, _, start in self.components())

    @property
    def is_convex(self) -> bool:
        """Whether every component is an interval of reals, so that there is one alternative, the whole."""
        return all(isinstance(start, Span) and var.sort == REAL for var, _, start in self.components())

    @property
    def first(self) -> Valuation:
        """One of the values of each component."""
        return {var: tuple(start.first for start in entry) for var, entry in self.starts.items()}

    @property
    def hull(self) -> Box:
        """The smallest box around the starts."""
        return Box({var: tuple(start.ends for start in entry) for var, entry in self.starts.items()})

    @property
    def count(self) -> int:
        """How many alternatives there are."""
        return math.prod(start.count(var.sort) for var, _, start in self.components())

    def alternatives(self) -> Iterator[InitialSet]:
        """One set for each combination of discrete starts; in each of them only reals have more than one value."""
        for chosen in itertools.product(*(start.alternatives(var.sort) for var, _, start in self.components())):
            rest = iter(chosen)
            starts = {var: tuple(itertools.islice(rest, len(entry))) for var, entry in self.starts.items()}
            yield replace(self, starts=starts)

    def split(self, limit: int) -> list[InitialSet]:
        """The alternatives if there are at most so many; else the whole set as its only part."""
        return list(self.alternatives()) if self.count <= limit else [self]

    def outside(self, values: Valuation) -> Iterator[tuple[Expr, int, Start]]:
        """The components in which these values are no initial ones; constraints are not looked at."""
        for var, i, start in self.components():
            if not (var.sort.has(values[var][i]) and start.contains(values[var][i])):
                yield var, i, start

    def contains(self, values: Valuation) -> bool:
        """Whether the starts allow these values; constraints may exclude them all the same."""
        return next(self.outside(values), None) is None

    def nearest(
        self, values: Mapping[Expr, Sequence[Fraction | float]], digits: int | None = None, slack: float = 0.0
    ) -> Valuation:
        """The values of the starts nearest to these, floats read as by `represented`; any where none is given."""
        made = dict(self.first)
        for var, given in values.items():
            made[var] = tuple(
                start.nearest(value) if isinstance(value, Fraction) else represented(start, value, digits, slack)
                for value, start in zip(given, self.starts[var], strict=True)
            )
        return made

    def cut(self, box: Box) -> InitialSet | None:
        """The part inside a box; None where some component has no value there."""
        made: dict[Expr, tuple[Start, ...]] = {}
        for var, entry in self.starts.items():
            parts = [start.cut(ends) for start, ends in zip(entry, box.ends[var], strict=True)]
            made[var] = tuple(part for part in parts if part is not None)
            if len(made[var]) < len(parts):
                return None
        return replace(self, starts=made)
