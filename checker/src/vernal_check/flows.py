"""The lemma *flow*: sets that contain all trajectories of a flow from a set, span by span.

Over a step of h seconds an *a-priori box* B is looked for that contains X + [0, h] f(B) in its inside: then no solution
leaves it before the step is over. Where f has derivatives the state after t is a Taylor polynomial with coefficients
over X, and a remainder whose coefficient is that of the next power over B; where it has none, X + t f(B). Disturbances
are in the middle of what they may be there, and what they add is z with z' = f(y + z, d) - f(y, m): its box Z contains
[0, h] times the values of that difference over y in B, z in Z and all d, in its inside.
Only what is inside the region counts, so that everything is asked of the part of B in it. Steps, orders and boxes are
found by trying; what is shown rests on the inclusions alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

from vernal_check.clock import tick
from vernal_check.curves import Undefined
from vernal_check.directed import Rounded, rounded, spanned
from vernal_check.errors import Rejected, Unreadable, Unshown
from vernal_check.evaluation import Run, outcomes
from vernal_check.expressions import Scope
from vernal_check.forms import ZERO, Exact, Form, Interval
from vernal_check.jets import Jet, Middle, RateScope
from vernal_check.syntax import Node, has_draw
from vernal_check.system import Place, System, placed

ORDER = 6  # of Taylor polynomials
MOST_SYMBOLS = 12  # for each variable, before those that matter least become one
MAX_GROWTHS = 8  # of a box that does not contain what leaves it
MAX_STEPS = 4000
SHORTEST = Fraction(1, 2**24)  # of the whole time
LEAST_STEPS = 32
ROUGHLY = 4  # times as many steps of the first order
LOSS = Fraction(1, 10**4)  # of its size, that a set may grow by remainders over all of the time

Ends = tuple[Interval, ...]


@dataclass(frozen=True)
class Span:
    """A set that contains all states of trajectories between two times."""

    start: Fraction
    end: Fraction
    place: Place


class Leaves(Unshown):
    """No box around a set is found that no trajectory leaves."""


class Flow:
    """The rates of a task, over sets of states; `held` has places of numbers after those of variables, or labels."""

    def __init__(self, system: System, region: Ends, held: Mapping[str, Any] | None = None) -> None:
        task, rates = system.task, system.task.rates or {}
        self.system, self.held = system, held or {}
        places = [place for one in self.held.values() for place in (one if isinstance(one, tuple) else (one,))]
        count = sum(type(place) is int for place in places)
        self.region = (*region, *([(-inf, inf)] * count))
        self.rates = [rates.get(variable.name, Node("num", (ZERO,))) for variable in task.variables]
        self.rates += [Node("num", (ZERO,))] * count
        self.disturbed = any(map(has_draw, [*rates.values(), *task.lets.values()]))

    # Rates ------------------------------------------------------------------------------------------------------------

    def scope(self, run: Run, values: Sequence[Any], kind: type[Scope]) -> Scope:
        """Where rates are evaluated; a let is evaluated once, so that its draws are shared."""
        task, busy = self.system.task, set[str]()
        known: dict[str, Any] = dict(zip(self.system.names, values, strict=False))
        for name, held in self.held.items():
            known[name] = tuple(values[place] for place in held) if isinstance(held, tuple) else held
            known[name] = values[held] if type(held) is int else known[name]
        for name, components in task.arrays.items():
            known[name] = tuple(known[one] for one in components)

        def lookup(name: str, scope: Scope) -> Any:
            if name in known or name in task.parameters:
                return known[name] if name in known else task.parameters[name]
            if name in task.lets:
                if name in busy:
                    raise Unreadable(f"{name!r} is defined by itself")
                busy.add(name)
                known[name] = kind(run, lookup, self.system.calls).value(task.lets[name])
                return known[name]
            return self.system.constant(name)

        return kind(run, lookup, self.system.calls)

    def values(self, run: Run, values: Sequence[Any], kind: type[Scope] = Scope) -> list[Form]:
        scope = self.scope(run, values, kind)
        return [
            scope.inside(node.args[1], node.args[2]).number(node.args[0]) if node.op == "bind" else scope.number(node)
            for node in self.rates
        ]

    def over(self, box: Ends, moved: Ends | None = None) -> Ends:
        """The rates over a box, whatever is drawn; or what they change by where the state is moved within another."""
        try:
            return self.bounds(box, moved, directed=True)
        except Undefined:  # floats may go over the end of what a root is defined at
            return self.bounds(box, moved, directed=False)

    def bounds(self, box: Ends, moved: Ends | None, directed: bool) -> Ends:
        size = len(box)
        both = placed((*box, *(moved or ())), directed)
        around, shifts = both.values[:size], both.values[size:]

        def rates(run: Run) -> list[Interval]:
            if moved is None:
                return [ended(form, run.ranges) for form in self.values(run, around)]
            found = self.values(run, [a.plus(b) for a, b in zip(around, shifts, strict=True)])
            still = Middle((), run.ranges, run.directed)
            return [
                ended(a.minus(b), run.ranges) for a, b in zip(found, self.values(still, around, RateScope), strict=True)
            ]

        cases = [outcome.value for outcome in outcomes(dict(both.ranges), rates, directed)]
        if not cases:
            raise Leaves("no state is in the box")
        return tuple((min(case[i][0] for case in cases), max(case[i][1] for case in cases)) for i in range(size))

    def middle(self, box: Ends) -> Ends:
        """The rates over a box, where disturbances are in their middle."""
        place = placed(tuple(box), directed=True)
        run = Middle((), dict(place.ranges), True)
        return tuple(ended(form, run.ranges) for form in self.values(run, place.values, RateScope))

    def jets(self, values: Sequence[Form], ranges: dict[int, Interval]) -> list[Jet]:
        """The state as functions of time, from values at time 0, with disturbances in their middle."""

        def component(number: int) -> Jet:
            return Jet(ranges, lambda i: rates[number](i - 1).times(Fraction(1, i)), [values[number]])

        made = [component(number) for number in range(len(values))]
        found = self.values(Middle((), ranges, True), made, RateScope)
        rates: list[Callable[[int], Form]] = [of_time(form) for form in found]
        return made

    def met(self, box: Ends) -> Ends:
        """The rates over the part of a box in the region."""
        found = self.inside(box)
        if found is None:
            raise Leaves("a box is outside of the region")
        return self.over(found)

    # Boxes ------------------------------------------------------------------------------------------------------------

    def inside(self, box: Ends) -> Ends | None:
        """The part of a box in the region; None where there is none."""
        met = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, self.region, strict=True))
        return met if all(low <= high for low, high in met) else None

    def is_anywhere(self, box: Ends) -> bool:
        """Whether some variable may have any value in the region: of a set that wide no more is found."""
        sides = zip(box, self.region, strict=True)
        return any(low < least and most < high for (low, high), (least, most) in sides)

    def around(self, start: Ends, step: Fraction, rates: Callable[[Ends], Ends]) -> Ends:
        """A box whose inside contains start + [0, step] rates(box)."""
        box = grown(reached(start, step, rates(start)), step)
        for _ in range(MAX_GROWTHS):
            tick()
            image = reached(start, step, rates(box))
            if within(image, box):
                return box
            box = grown(hull(image, box), step)
        raise Leaves("no box is found that no trajectory leaves")


class Follower:
    """All trajectories from a set, step by step, until all have left the region or a time is reached."""

    def __init__(self, flow: Flow, stops: Sequence[Fraction], step: Fraction | None = None) -> None:
        self.flow, self.last, self.stops = flow, stops[-1], stops  # times at which a step ends, in order
        self.longest = self.last / LEAST_STEPS
        self.step = step or self.longest
        self.is_rough = False  # whether the last step was one of the first order

    def follow(self, place: Place, time: Fraction, until: Fraction) -> tuple[list[Span], Place | None]:
        """Spans from a time until another, those of stops among them, and what is left at the end.

        Where no trajectory is in the region any more nothing is left, and None is returned.
        """
        spans: list[Span] = []
        while self.flow.inside(box_of(place)) is not None:
            if time in self.stops and (time < until or time == self.last):
                spans.append(Span(time, time, place))
            if time == until:
                return spans, place
            if self.flow.is_anywhere(box_of(place)):
                raise Leaves("a set is as wide as the region")
            if len(spans) >= MAX_STEPS:
                raise Leaves(f"more than {MAX_STEPS:,} steps")
            end = min(stop for stop in (*self.stops, until) if stop > time)
            span, place, step = self.stepped(place, time, end)
            spans.append(span)
            time += step
        return spans, None

    def stepped(self, place: Place, time: Fraction, end: Fraction) -> tuple[Span, Place, Fraction]:
        """One step of a length that gives a narrow remainder."""
        length = min(self.step if self.is_rough else 2 * self.step, self.longest, end - time)
        while length >= self.last * SHORTEST:
            tick()
            try:
                made, self.is_rough = self.smooth(place, length), False
            except Undefined:  # there are no derivatives
                made = self.rough(place, length) if length <= self.longest / ROUGHLY else None
                self.is_rough = made is not None
            except Leaves:
                made = None
            if made is not None:
                self.step = length
                during, after = made
                return Span(time, time + length, during), after, length
            length /= 2
        raise Leaves("no step is short enough for a box that no trajectory leaves, and a narrow remainder")

    def smooth(self, place: Place, length: Fraction) -> tuple[Place, Place] | None:
        """A step of a high order; None where its remainder is wide."""
        flow, start = self.flow, box_of(place)
        whole = flow.around(start, length, flow.middle if flow.disturbed else flow.met)
        box = whole if flow.disturbed else flow.inside(whole)
        assert box is not None
        around = placed(tuple(box), directed=True)
        ranges = dict(around.ranges)
        last = [ended(jet[ORDER + 1], ranges) for jet in flow.jets(around.values, ranges)]
        power = length ** (ORDER + 1)
        size = max(high - low for low, high in start)
        allowed = LOSS * length / self.last * max(size, Fraction(1, 10**7))
        if any((high - low) * power > allowed for low, high in last):
            return None
        more = self.deviation(box, length) if flow.disturbed else None
        jets = flow.jets(place.values, dict(place.ranges))
        return finished(place, [[jet[i] for i in range(ORDER + 1)] for jet in jets], last, more, length)

    def rough(self, place: Place, length: Fraction) -> tuple[Place, Place] | None:
        """A step of the first order, for rates without derivatives."""
        try:
            try:
                found = self.flow.met(self.flow.around(box_of(place), length, self.flow.met))
            except Leaves:
                return None
        except Undefined as problem:
            raise Rejected(f"{problem} in the region", obligation=6) from None
        return finished(place, [[value] for value in place.values], found, None, length)

    def deviation(self, box: Ends, length: Fraction) -> Ends:
        """How fast disturbances move trajectories away from those without."""
        still: Ends = tuple((ZERO, ZERO) for _ in box)
        moved = self.flow.around(still, length, lambda z: self.flow.over(box, z))
        return self.flow.over(box, moved)


def finished(
    place: Place, terms: Sequence[Sequence[Form]], last: Sequence[Interval], more: Ends | None, length: Fraction
) -> tuple[Place, Place]:
    """The set during a step, and at its end: a polynomial, its remainder, and what disturbances add."""
    ranges, size = dict(place.ranges), len(terms)
    symbol = max(ranges, default=size) + 1
    time, during_ranges = spanned(symbol, ZERO, length), {**ranges, symbol: (-1.0, 1.0)}
    power = length ** len(terms[0])
    during, after = list[Form](), list[Form]()
    for number, coefficients in enumerate(terms):
        low, high = last[number]
        least, most = ZERO, ZERO
        if more is not None:
            least, most = length * more[number][0], length * more[number][1]
        end: Form = Exact(ZERO)
        on_the_way: Form = Exact(ZERO)
        for i in reversed(range(len(coefficients))):
            end = end.times(length).plus(coefficients[i])
            on_the_way = on_the_way.product(time, during_ranges).plus(coefficients[i])
        after.append(end.widened(low * power + least, high * power + most))
        bounds = min(ZERO, low * power) + min(ZERO, least), max(ZERO, high * power) + max(ZERO, most)
        during.append(on_the_way.widened(*bounds))
    middle = Place(tuple(during), tuple(sorted(during_ranges.items())), directed=True)
    return middle, with_symbols(after, ranges)


def with_symbols(values: Sequence[Form], ranges: dict[int, Interval]) -> Place:
    """Values whose errors are symbols of their own, so that later steps know them; those that matter least are one."""
    forms = [value if value.is_constant else rounded(value) for value in values]
    weights: dict[int, float] = {}
    for form in forms:
        for symbol, a in form.terms.items():
            weights[symbol] = weights.get(symbol, 0.0) + abs(a)
    kept = set(sorted(weights, key=lambda symbol: -weights[symbol])[: MOST_SYMBOLS * len(forms)])
    if len(weights) > MOST_SYMBOLS * len(forms):
        kept = set(sorted(kept, key=lambda symbol: -weights[symbol])[: MOST_SYMBOLS * len(forms) // 2])
    found, left = list[Form](), {symbol: ranges[symbol] for symbol in kept}
    fresh = max(ranges, default=len(forms)) + 2
    for number, form in enumerate(forms):
        if not isinstance(form, Rounded):
            found.append(form)
            continue
        error = form.merged(kept)
        left[fresh + number] = (-1.0, 1.0)
        terms = {symbol: a for symbol, a in form.terms.items() if symbol in kept}
        found.append(Rounded(form.const, {**terms, fresh + number: error}, 0.0))
    return Place(tuple(found), tuple(sorted(left.items())), directed=True)


def box_of(place: Place) -> Ends:
    """The box around a set."""
    return tuple(cell for cell in place.region if isinstance(cell, tuple))


def ended(form: Form, ranges: dict[int, Interval]) -> Interval:
    low, high = form.range(ranges)
    return Fraction(low), Fraction(high)


def of_time(form: Form) -> Callable[[int], Form]:
    if isinstance(form, Jet):
        return form.__getitem__
    return lambda i: form if i == 0 else Exact(ZERO)


def reached(start: Ends, step: Fraction, rates: Ends) -> Ends:
    """All that is start + t rate with t between 0 and the step."""
    return tuple(
        (low + min(ZERO, step * least), high + max(ZERO, step * most))
        for (low, high), (least, most) in zip(start, rates, strict=True)
    )


def grown(box: Ends, step: Fraction) -> Ends:
    """A somewhat larger box."""
    return tuple(
        (short(low - m), short(high + m)) for low, high in box for m in [(high - low) / 8 + Fraction(1, 2**40)]
    )


def short(a: Fraction) -> Fraction:
    """A float next to a number: any will do for what is only tried."""
    try:
        return Fraction(float(a))
    except OverflowError:
        raise Leaves("numbers become too large for floats") from None


def hull(one: Ends, other: Ends) -> Ends:
    return tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(one, other, strict=True))


def within(image: Ends, box: Ends) -> bool:
    """Whether an image is in the inside of a box."""
    return all(c < a and b < d for (a, b), (c, d) in zip(image, box, strict=True))
