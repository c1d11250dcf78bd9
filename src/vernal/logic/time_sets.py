"""Sets of times, and what operators in seconds make of the times at which their operands are true.

A set is a union of spans of times from 0 on, each with or without its ends: exactly, in rational numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

Moment: TypeAlias = "tuple[Fraction, int] | None"  # just before a time (0) or just after it (1); None: never
Stretch: TypeAlias = "tuple[Moment, Moment]"  # all times between two places


@dataclass(frozen=True, slots=True)
class TimeSet:
    """A union of spans, ascending, no two of which touch."""

    spans: tuple[Stretch, ...] = ()

    def __contains__(self, time: Fraction) -> bool:
        return any(not _before((time, 0), low) and _before((time, 0), high) for low, high in self.spans)

    def __or__(self, other: TimeSet) -> TimeSet:
        return _united([*self.spans, *other.spans])

    def __and__(self, other: TimeSet) -> TimeSet:
        return ~(~self | ~other)

    def __invert__(self) -> TimeSet:
        """All other times."""
        gaps: list[Stretch] = []
        low: Moment = START
        for first, last in self.spans:
            gaps.append((low, first))
            low = last
            if last is None:
                break
        else:
            gaps.append((low, None))
        return TimeSet(tuple(span for span in gaps if _before(*span)))

    def before(self, lower: Fraction, upper: Fraction | None) -> TimeSet:
        """The times t such that some time of [t + lower, t + upper] is in the set."""
        ends = ((None if upper is None else _moved(low, upper), _moved(high, lower)) for low, high in self.spans)
        clipped = ((START if low is None or _before(low, START) else low, high) for low, high in ends)
        return _united([span for span in clipped if _before(*span)])

    def until(self, other: TimeSet, lower: Fraction, upper: Fraction | None) -> TimeSet:
        """The times t such that some t' of [t + lower, t + upper] is in the other set, and all of [t, t') in this."""
        found = other if lower == 0 else NEVER
        for low, high in self.spans:
            last: Moment = None if high is None else (high[0], 1)  # at t' itself nothing is asked of this set
            found |= TimeSet(((low, high),)) & (other & TimeSet(((low, last),))).before(lower, upper)
        return found


def closed_span(first: Fraction, last: Fraction | None) -> TimeSet:
    """From one time to another, both included; to the end of time where none is the last."""
    end: Moment = None if last is None else (last, 1)
    return TimeSet((((first, 0), end),)) if _before((first, 0), end) else NEVER


def union(sets: Iterable[TimeSet]) -> TimeSet:
    """All times of some sets."""
    return _united([span for one in sets for span in one.spans])


def _united(spans: list[Stretch]) -> TimeSet:
    made: list[Stretch] = []
    for low, high in sorted(spans, key=lambda span: span[0] or FIRST):
        if made and not _before(made[-1][1], low):
            made[-1] = (made[-1][0], high if _before(made[-1][1], high) else made[-1][1])
        else:
            made.append((low, high))
    return TimeSet(tuple(made))


def _before(one: Moment, other: Moment) -> bool:
    """Whether a place is strictly before another."""
    if one is None:
        return False
    return other is None or one < other


def _moved(place: Moment, earlier: Fraction) -> Moment:
    return None if place is None else (place[0] - earlier, place[1])


FIRST = (Fraction(0), 0)
START: Moment = FIRST
NEVER, ALWAYS = TimeSet(), TimeSet(((START, None),))
