"""Loops that sample: at the instants of its period an agent reads the state, and what it does is held until the next.

A held number is a variable more, whose rate is 0, so that what it has to do with the state that was read is not lost; a
held label or truth value is one value on each way that the readings go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from vernal_check.errors import Unshown
from vernal_check.evaluation import Run, outcomes
from vernal_check.flows import Ends, Flow, Follower, Span, with_symbols
from vernal_check.forms import ZERO, Form
from vernal_check.syntax import Node
from vernal_check.system import Place, System

MAX_WAYS = 20_000  # that readings go, from one set


@dataclass(frozen=True)
class Way:
    """Trajectories from a time on: their states with held numbers, what else is held, and the spans until then."""

    place: Place
    held: Mapping[str, Any]  # of each agent the numbers of its components, or a label
    time: Fraction
    spans: tuple[Span, ...]
    step: Fraction | None  # the length of the last one


class Paths:
    """All trajectories of a flow, or of a loop that samples, from a set."""

    def __init__(self, system: System, region: Ends, stops: Sequence[Fraction]) -> None:
        self.system, self.region, self.stops, self.last = system, region, stops, stops[-1]
        self.count = len(system.task.variables)
        self.agents = system.task.agents
        self.periods = system.task.periods

    def ways(self, place: Place) -> Iterator[tuple[tuple[Span, ...], bool]]:
        """Spans of one way after the other, and whether no trajectory on it is in the region at their end."""
        left = [Way(place, {}, ZERO, (), None)]
        for _ in range(MAX_WAYS):
            if not left:
                return
            way = left.pop()
            for acting in self.acting(way):
                spans, after, step = self.followed(acting)
                if after is None or acting.time == self.last:
                    yield spans, after is None
                else:
                    left.append(Way(after, acting.held, min(self.next(acting.time), self.last), spans, step))
        raise Unshown(f"more than {MAX_WAYS:,} ways that readings go")

    def followed(self, way: Way) -> tuple[tuple[Span, ...], Place | None, Fraction]:
        flow = Flow(self.system, self.region, way.held)
        follower = Follower(flow, self.stops, way.step)
        spans, after = follower.follow(way.place, way.time, min(self.next(way.time), self.last))
        bare = [Span(span.start, span.end, self.bare(span.place)) for span in spans]
        return (*way.spans, *bare), after, follower.step

    def bare(self, place: Place) -> Place:
        """A set without held numbers."""
        return Place(place.values[: self.count], place.ranges, directed=True)

    def next(self, time: Fraction) -> Fraction:
        """The next instant at which an agent acts."""
        return min(((time // every) + 1) * every for every in self.periods.values()) if self.periods else self.last

    def acting(self, way: Way) -> Iterator[Way]:
        """The ways on which agents act at this time that are to; each state goes one of them at least."""
        due = [name for name, every in self.periods.items() if not way.time % every]
        if not due or way.time == self.last:
            yield way
            return
        bare = self.bare(way.place)

        def actions(run: Run) -> dict[str, Any]:
            scope = self.system.scope(run, bare)
            return {name: scope.value(Node("name", (name,))) for name in due}

        known = {name: numbers_of(held, way.place.values) for name, held in way.held.items()}
        for outcome in outcomes(dict(bare.ranges), actions, directed=True):
            values, held = list(bare.values), dict[str, Any]()
            for name, action in {**known, **outcome.value}.items():
                parts = action if isinstance(action, tuple) else (action,)
                if not all(isinstance(part, Form) for part in parts):
                    held[name] = action
                    continue
                places = tuple(range(len(values), len(values) + len(parts)))
                held[name] = places if isinstance(action, tuple) else places[0]
                values += parts
            yield Way(with_symbols(values, dict(outcome.ranges)), held, way.time, way.spans, way.step)


def numbers_of(held: Any, values: Sequence[Any]) -> Any:
    """What an agent holds, from the places of its numbers among values."""
    if isinstance(held, tuple):
        return tuple(values[place] for place in held)
    return values[held] if type(held) is int else held
