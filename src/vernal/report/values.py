"""Values as people read them: labels for enums, true and false, and as many digits as a column needs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from vernal.evidence.trace import Enclosure, Trace, TraceNumber, TraceStep, TraceValue
from vernal.model.numbers import rounded
from vernal.model.sorts import REAL, Kind, Sort
from vernal.model.system import System
from vernal.printable import in_one_line

DIGITS = 6  # significant digits that are worth showing
DECIMALS = 4  # at most, in a column of ordinary size
MOST_REMEMBERED = 8  # numbers of a memory that are shown
DRAWN = " (draw)"  # distinguishes it from a variable of the same name


def as_float(value: TraceNumber) -> float:
    """The nearest float; an overflow is infinite. For the eye only: verdicts rest on exact numbers."""
    exact = value.middle if isinstance(value, Enclosure) else value
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def number(value: TraceNumber | float) -> str:
    """A number on its own, to six significant digits."""
    shown = value if isinstance(value, float) else as_float(value)
    return f"{shown:.{DIGITS}g}" if isinstance(value, float) or math.isfinite(shown) else _beyond_floats(value)


def _beyond_floats(value: TraceNumber) -> str:
    """A number too large for a float, in the same manner."""
    return rounded(value.middle if isinstance(value, Enclosure) else value, DIGITS)


def scalar(value: TraceNumber, sort: Sort) -> str:
    """A value by its sort."""
    if isinstance(value, Fraction) and sort.kind is Kind.BOOL:
        return "true" if value else "false"
    if isinstance(value, Fraction) and sort.kind is Kind.ENUM and 0 <= value < len(sort.labels):
        return in_one_line(sort.labels[int(value)])
    return number(value)


def numbers(values: Sequence[TraceNumber]) -> list[str]:
    """A column of numbers with equally many decimals, so that the points stand below each other."""
    floats = [as_float(value) for value in values]
    shortest = [number(value) for value in values]
    if any("e" in text or "n" in text for text in shortest):
        return shortest
    places = max((len(text.partition(".")[2]) for text in shortest), default=0)
    return [f"{value + 0.0:.{min(places, DECIMALS)}f}" for value in floats]


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity along a trace: a value per position, None where there is none (draws at the end, dead branches)."""

    title: str
    group: str  # state, action, choice, disturbance or memory
    sort: Sort
    values: tuple[TraceNumber | None, ...]

    @property
    def is_text(self) -> bool:
        return self.sort.kind in (Kind.BOOL, Kind.ENUM)

    def cells(self) -> list[str]:
        """The values as text, numbers with equally many decimals."""
        present = [value for value in self.values if value is not None]
        texts = [scalar(value, self.sort) for value in present] if self.is_text else numbers(present)
        rest = iter(texts)
        return ["" if value is None else next(rest) for value in self.values]


def series(trace: Trace) -> list[Series]:
    """Everything a trace says, one quantity at a time: state, actions, draws, and the memories that have a name.

    Other memories, and those of many numbers, are left to the file.
    """
    system = trace.system if isinstance(trace.system, System) else None
    found: list[Series] = []
    for group, sorts in _groups(system).items():
        for name in _names(trace, group):
            if group == "choice" and name in (system.step.actions if system else {}):
                continue  # which of several maxima was taken: the action says it
            taken = {item.title for item in found}
            title = name + DRAWN if group != "state" and name in taken else name
            found += _components(
                title, group, sorts.get(name, REAL), [_value(step, group, name) for step in trace.steps]
            )
    for agent in system.agents if system else ():
        if agent.remember is not None and len(agent.starts) <= MOST_REMEMBERED:
            found += _components(agent.remember, "memory", REAL, [step.memory.get(agent.name) for step in trace.steps])
    return found


def _groups(system: System | None) -> dict[str, dict[str, Sort]]:
    if system is None:
        return {"state": {}, "action": {}, "choice": {}, "disturbance": {}}
    step = system.step
    return {
        "state": {variable.name: variable.sort for variable in system.state},
        "action": {name: action.sort for name, action in step.actions.items()},
        "choice": {name: node.sort for node, name in step.names.items()},
        "disturbance": {},
    }


def _content(step: TraceStep, group: str) -> Mapping[str, TraceValue]:
    match group:
        case "state":
            return step.state
        case "action":
            return step.actions
        case "choice":
            return {name: choice.value for name, choice in step.choices.items()}
    return step.disturbances


def _names(trace: Trace, group: str) -> list[str]:
    return list(dict.fromkeys(name for step in trace.steps for name in _content(step, group)))


def _value(step: TraceStep, group: str, name: str) -> TraceValue | None:
    return _content(step, group).get(name)


def _components(title: str, group: str, sort: Sort, values: list[TraceValue | None]) -> list[Series]:
    """One series for a scalar, one per component for a vector."""
    size = max((len(value) for value in values if isinstance(value, tuple)), default=0)
    if not size:
        return [Series(title, group, sort, tuple(value for value in values if not isinstance(value, tuple)))]
    return [
        Series(f"{title}[{i}]", group, sort, tuple(v[i] if isinstance(v, tuple) else None for v in values))
        for i in range(size)
    ]
