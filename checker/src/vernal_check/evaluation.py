"""What an expression is at the states of a set: one run for each way in which draws, ties and open conditions go.

A condition that is true at some states of the set and false at others divides it: one run goes on where it is true, one
where it is false, each with ranges of the symbols narrowed to that part as far as a linear condition can be used.
These are forks of the kind "either": each state belongs to one of them. A fork of the kind "choice" is a draw, or a tie
at a single state: each state has all of them. Runs are made by doing everything again with another script of answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import Generic, TypeVar

from vernal_check.clock import tick
from vernal_check.directed import spanned
from vernal_check.errors import Unreadable
from vernal_check.forms import ONE, ZERO, Exact, Form, Interval
from vernal_check.rows import most

T = TypeVar("T")
MAX_RUNS = 20_000


class Infeasible(Exception):
    """No state of the set answers like this."""


class End(Exception):
    """There is no step: the path ends here."""


@dataclass(frozen=True)
class Fork:
    """A question that a run answered."""

    kind: str  # "either" or "choice"
    count: int
    taken: int


@dataclass
class Run:
    """One way through an evaluation."""

    script: Sequence[int]
    ranges: dict[int, Interval]
    directed: bool = False  # whether what is not constant is in floats
    rows: tuple[Exact, ...] | None = None  # forms that are at most 0, where they are kept
    forks: list[Fork] = field(default_factory=list)

    def ask(self, kind: str, count: int) -> int:
        """Which of so many answers this run takes."""
        if count == 1:
            return 0
        place = len(self.forks)
        taken = self.script[place] if place < len(self.script) else 0
        self.forks.append(Fork(kind, count, taken))
        return taken

    def fresh(self, low: Fraction, high: Fraction) -> Form:
        """A value of its own between two numbers."""
        if low == high:
            return Exact(low)
        symbol = min(0, *self.ranges) - 1 if self.ranges else -1
        if self.directed:
            self.ranges[symbol] = (-1.0, 1.0)
            return spanned(symbol, low, high)
        self.ranges[symbol] = (low, high)
        return Exact(ZERO, {symbol: ONE})

    def assume(self, form: Form) -> None:
        """Only states at which the form is at most 0 are left."""
        low, _ = self.ends(form)
        if low > 0:
            raise Infeasible
        if self.rows is not None and isinstance(form, Exact) and form.terms:
            self.rows = (*self.rows, form)
        low, _ = form.ends(self.ranges)
        for symbol, a in form.terms.items():
            at_low, at_high = self.ranges[symbol]
            if not a:
                continue
            if isinstance(low, float) and isinstance(form, Exact):  # a symbol without an end may get one
                rest, _ = form.without(symbol).ends(self.ranges)
                if isinstance(rest, float):
                    continue
                limit = -rest / a
            else:
                limit = form.limit(low, a, at_low if a > 0 else at_high)
            ends = (at_low, min(at_high, limit)) if a > 0 else (max(at_low, limit), at_high)
            if ends[0] > ends[1]:
                raise Infeasible
            self.ranges[symbol] = ends

    def ends(self, form: Form) -> Interval:
        """Ends of the values of a form, by the rows that are kept where the ranges leave its sign open."""
        low, high = form.ends(self.ranges)
        if self.rows and low <= 0 <= high and isinstance(form, Exact):
            high = most(form, self.rows, self.ranges)
            low = -high if high == -inf else -most(form.times(-ONE), self.rows, self.ranges)  # type: ignore[arg-type]
        if low > high:
            raise Infeasible
        return low, high

    # Conditions -------------------------------------------------------------------------------------------------------

    def is_negative(self, form: Form, strict: bool) -> bool:
        """Whether a form is less than 0 (or at most 0)."""
        low, high = self.ends(form)
        if high < 0 or (high == 0 and not strict):
            return True
        if low > 0 or (low == 0 and strict):
            return False
        if self.ask("either", 2) == 0:
            self.assume(form)
            return True
        self.assume(form.times(-ONE))
        return False

    def is_zero(self, form: Form) -> bool:
        low, high = self.ends(form)
        if low == high == 0:
            return True
        if low > 0 or high < 0:
            return False
        if self.ask("either", 2) == 0:
            self.assume(form)
            self.assume(form.times(-ONE))
            return True
        return False

    def largest(self, values: Sequence[Form]) -> int:
        """The index of a largest one; where several are, any may be taken."""
        if all(value.is_constant for value in values):
            top = max(value.value for value in values)
            ties = [i for i, value in enumerate(values) if value.value == top]
            return ties[self.ask("choice", len(ties))]
        ends = [value.range(self.ranges) for value in values]
        least = max(low for low, _ in ends)
        near = [(i, value) for i, value in enumerate(values) if ends[i][1] >= least]
        found = [i for i, a in near if all(i == j or self.ends(a.minus(b))[1] >= 0 for j, b in near)]
        if not found:
            raise Infeasible
        taken = found[self.ask("either", len(found))]
        if len(found) > 1:
            for other in found:
                if other != taken:
                    self.assume(values[other].minus(values[taken]))
        return taken


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What one run came to."""

    forks: tuple[Fork, ...]
    ranges: Mapping[int, Interval]
    rows: tuple[Exact, ...] | None
    value: T


def outcomes(
    ranges: Mapping[int, Interval],
    work: Callable[[Run], T],
    directed: bool = False,
    rows: tuple[Exact, ...] | None = None,
) -> Iterator[Outcome[T]]:
    """All runs, each with what it came to; those that no state takes are left out."""
    script: list[int] = []
    for _ in range(MAX_RUNS):
        tick()
        run = Run(script, dict(ranges), directed, rows)
        try:
            value = work(run)
            yield Outcome(tuple(run.forks), run.ranges, run.rows, value)
        except Infeasible:
            pass
        forks = list(run.forks)
        while forks and forks[-1].taken + 1 == forks[-1].count:
            forks.pop()
        if not forks:
            return
        script = [fork.taken for fork in forks[:-1]] + [forks[-1].taken + 1]
    raise Unreadable(f"a set of states has more than {MAX_RUNS:,} cases; smaller sets have fewer")
