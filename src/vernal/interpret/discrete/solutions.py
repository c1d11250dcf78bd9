"""Conditions on discrete variables, solved: boxes of values whose union is the set of all states that satisfy them.

Branch and bound in batches: interval arithmetic says of a box of values that all of it satisfies the conditions, that
nothing of it does, or neither; then it is cut, one variable after the other. Linear comparisons narrow a box before it
is looked at. What comes out is exact. So a huge disjunction that few states satisfy is as good as a list of these
states.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from vernal.errors import Stopped
from vernal.interpret import exact
from vernal.interpret.discrete.bounded_sums import BoundedSum, bounded_sum, conjuncts
from vernal.interpret.discrete.state_tables import DomainPlaces, ListedStates, listed_states
from vernal.interpret.interval import evaluate
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.interpret.value_sets import Finite, Range, Truth, Value, indices
from vernal.model.expr import Expr
from vernal.model.initial import InitialSet, OneOf
from vernal.model.sorts import Kind
from vernal.model.tick import Tick

MAX_BOXES = 1_000_000  # found; with more, the conditions are left as they are
BOXES_PER_BATCH = 1 << 14  # boxes that are looked at together
MAX_PARTS = 32  # into which a variable is cut at once
MAX_DESCENTS = 8  # for one sample
MAX_DOMAIN = 4096  # values of a variable that are tried one by one before anything is cut


class TooManyBoxes(Exception):
    """The constraints leave more boxes than are kept, or too many would have to be looked at."""


@dataclass(frozen=True, eq=False)
class ValueBoxes:
    """Disjoint boxes of values of some variables: with these, and with any start of the others, a path may begin.

    `domains` has the values of each variable; a box goes from a first to a last place in each domain.
    """

    variables: tuple[Expr, ...]
    domains: tuple[Sequence[int], ...]
    first: DomainPlaces
    last: DomainPlaces

    def __len__(self) -> int:
        return len(self.first)

    @property
    def sizes(self) -> list[int]:
        """How many combinations of values each box has."""
        widths = self.last - self.first + 1
        wide = widths.max(axis=0, initial=1) > 1
        return [math.prod(row) for row in widths[:, wide].tolist()]

    @property
    def count(self) -> int:
        """How many combinations of values there are."""
        return sum(self.sizes)

    def portions(self, size: int) -> Iterator[ValueBoxes]:
        """The boxes in parts of at most so many combinations of values, those that have more cut."""
        waiting = [self]
        while waiting:
            boxes = waiting.pop()
            sizes = boxes.sizes
            large = np.array([count > size for count in sizes], bool)
            if large.any():
                waiting.append(boxes._cut(large))
                boxes, sizes = boxes._take(~large), [count for count in sizes if count <= size]
            before = np.array([0, *accumulate(sizes)][:-1], np.int64)  # so many combinations are in the boxes before
            for part in np.unique(before // size):
                yield from boxes._take(before // size == part)._halves(size)

    def _halves(self, size: int) -> Iterator[ValueBoxes]:
        """The boxes, none of them larger than this; in two parts where they are together."""
        alone = np.arange(len(self)) == len(self) - 1
        yield from (self,) if self.count <= size else (self._take(~alone), self._take(alone))

    def _take(self, which: Mask) -> ValueBoxes:
        return ValueBoxes(self.variables, self.domains, self.first[which], self.last[which])

    def _cut(self, which: Mask) -> ValueBoxes:
        first, last = self.first[which], self.last[which]
        column = int(np.argmax((last - first).max(axis=0)))
        return ValueBoxes(self.variables, self.domains, *_cut(first, last, column, MAX_PARTS))

    def rows(self) -> DomainPlaces:
        """Every combination of values, a column for each variable."""
        first, last = self.first.copy(), self.last
        for column in range(len(self.variables)):
            widths = last[:, column] - first[:, column] + 1
            if (widths == 1).all():
                continue
            which = np.repeat(np.arange(len(first)), widths)
            offsets = np.arange(len(which)) - np.repeat(np.cumsum(widths) - widths, widths)
            first, last = first[which], last[which]
            first[:, column] += offsets
            last[:, column] = first[:, column]
        for column, domain in enumerate(self.domains):
            first[:, column] = values_at(domain, first[:, column])
        return first

    def alternatives(self, initial: InitialSet) -> Iterator[InitialSet]:
        """The initial set as one set without constraints for each box."""
        for low, high in zip(self.first.tolist(), self.last.tolist(), strict=True):
            starts = dict(initial.starts)
            for var, domain, first, last in zip(self.variables, self.domains, low, high, strict=True):
                starts[var] = (OneOf(tuple(Fraction(value) for value in domain[first : last + 1])),)
            yield InitialSet(starts)


def values_at(domain: Sequence[int], places: DomainPlaces) -> DomainPlaces:
    """The values at these places of a domain."""
    if isinstance(domain, range):
        return domain.start + places
    found: DomainPlaces = np.array(domain, np.int64)[places]
    return found


class ValueSearch:
    """Cuts boxes of values until every one is decided."""

    def __init__(
        self,
        where: tuple[Expr, ...],
        vars: tuple[Expr, ...],
        domains: list[Sequence[int]],
        tick: Tick,
        most: int = MAX_BOXES,
        effort: int | None = None,
    ) -> None:
        self.where, self.variables, self.domains, self.tick = where, vars, domains, tick
        self.most, self.effort = most, math.inf if effort is None else effort
        self.rows: list[BoundedSum] = []  # of the conditions, those that are linear; `where` has the others
        self.found: list[tuple[DomainPlaces, DomainPlaces]] = []
        self.count = self.looked_at = 0

    def run(self) -> ValueBoxes:
        """All boxes."""
        return self._boxes(list(self._search(*self._prepared())))

    def stream(self) -> Iterator[ValueBoxes]:
        """The same, some at a time."""
        for part in self._search(*self._prepared()):
            yield self._boxes([part])

    def sample(self, count: int, rng: np.random.Generator) -> ValueBoxes:
        """Some boxes, by random descents: of the parts that boxes are cut into, some are followed. May overlap."""
        whole, found = self._prepared(), []
        for _ in range(MAX_DESCENTS):
            waiting = [whole]
            while waiting:
                self.tick()
                first, last = waiting.pop()
                chosen = rng.permutation(len(first))[: min(count, BOXES_PER_BATCH)]
                waiting += self._decide(first[chosen], last[chosen]) if len(chosen) else []
            found += self._taken()
            if sum(len(first) for first, _ in found) >= count:
                break
        return self._boxes(found)

    def _boxes(self, found: Sequence[tuple[DomainPlaces, DomainPlaces]]) -> ValueBoxes:
        columns = np.zeros((0, len(self.variables)), np.int64)
        first, last = (np.concatenate([columns, *(part[end] for part in found)]) for end in (0, 1))
        return ValueBoxes(self.variables, tuple(self.domains), first, last)

    def _taken(self) -> list[tuple[DomainPlaces, DomainPlaces]]:
        found, self.found = self.found, []
        return found

    def _prepared(self) -> tuple[DomainPlaces, DomainPlaces]:
        """The boxes to begin with, when conditions that need no cutting have had their say."""
        lists = [listed for condition in self.where if (listed := listed_states(condition)) is not None]
        if lists:
            self.where = tuple(condition for condition in self.where if listed_states(condition) is not lists[0])
        self._take_rows()
        if not lists and all(len(domain) for domain in self.domains):
            self.narrow()
        return self._whole(lists[0] if lists else None)

    def _take_rows(self) -> None:
        """Linear comparisons are decided in integer arithmetic from here on."""
        left = []
        for condition in conjuncts(self.where):
            row = bounded_sum(condition, self.variables, self.domains)
            if row is None:
                left.append(condition)
            else:
                self.rows.append(row)
        self.where = tuple(left)

    def _search(self, first: DomainPlaces, last: DomainPlaces) -> Iterator[tuple[DomainPlaces, DomainPlaces]]:
        """Boxes that satisfy the conditions, as they are found."""
        waiting = [(first, last)]
        while waiting:
            self.tick()
            first, last = waiting.pop()
            if len(first) > BOXES_PER_BATCH:
                waiting += [
                    (first[BOXES_PER_BATCH:], last[BOXES_PER_BATCH:]),
                    (first[:BOXES_PER_BATCH], last[:BOXES_PER_BATCH]),
                ]
            elif len(first):
                self.looked_at += len(first)
                if self.looked_at > self.effort:
                    raise TooManyBoxes
                waiting += self._decide(first, last)
                yield from self._taken()

    def _whole(self, listed: ListedStates | None = None) -> tuple[DomainPlaces, DomainPlaces]:
        """All values of all variables as one box, or one box for each state of a list."""
        columns = len(self.domains)
        count = 1 if all(len(domain) for domain in self.domains) else 0
        first, last = np.zeros((count, columns), np.int64), np.array([[len(domain) - 1 for domain in self.domains]])
        last = last[:count]
        if listed is None or not count:
            return first, last
        places = [self.variables.index(var) for var in listed.variables]
        rows = listed.within([self.domains[place] for place in places])
        first, last = np.repeat(first, len(rows), axis=0), np.repeat(last, len(rows), axis=0)
        first[:, places] = last[:, places] = rows
        return first, last

    def narrow(self) -> None:
        """Leave out values of single variables with which the constraints are false whatever the others are."""
        for column, domain in enumerate(self.domains):
            if 1 < len(domain) <= MAX_DOMAIN:
                self.tick()
                _, may = self._truth(*_cut(*self._whole(), column, len(domain)))
                self.domains[column] = _as_range([value for value, kept in zip(domain, may, strict=True) if kept])
            if not len(self.domains[column]):
                return

    def _decide(self, first: DomainPlaces, last: DomainPlaces) -> list[tuple[DomainPlaces, DomainPlaces]]:
        """Keep boxes that satisfy the constraints; cut those that may at the first variable that has values left."""
        first, last = self._contracted(first, last)
        if not len(first):
            return []
        must, may = self._truth(first, last)
        self._keep(first[must], last[must])
        unsure = may & ~must
        first, last = first[unsure], last[unsure]
        single = (first == last).all(axis=1)
        if single.any():
            kept = [row for row in np.flatnonzero(single) if self._exactly(first[row])]
            self._keep(first[kept], last[kept])
        first, last = first[~single], last[~single]
        if not len(first):
            return []
        column = int(np.argmax((first != last).any(axis=0)))
        width = int((last[:, column] - first[:, column]).max()) + 1
        return [_cut(first, last, column, min(width, MAX_PARTS))]

    def _keep(self, first: DomainPlaces, last: DomainPlaces) -> None:
        if len(first):
            self.found.append((first, last))
        self.count += len(first)
        if self.count > self.most:
            raise TooManyBoxes

    def _contracted(self, first: DomainPlaces, last: DomainPlaces) -> tuple[DomainPlaces, DomainPlaces]:
        """What linear comparisons leave of boxes; values of a domain with gaps are left as they are."""
        starts = np.array([domain.start if isinstance(domain, range) else 0 for domain in self.domains], np.int64)
        dense = np.array([isinstance(domain, range) for domain in self.domains], bool)
        for row in self.rows:
            low, high = row.contracted(self._values(first), self._values(last))
            first, last = np.where(dense, low - starts, first), np.where(dense, high - starts, last)
            left = ((low <= high) & (first <= last)).all(axis=1)
            first, last = first[left], last[left]
        return first, last

    def _values(self, places: DomainPlaces) -> DomainPlaces:
        columns = [values_at(domain, places[:, column]) for column, domain in enumerate(self.domains)]
        return np.stack(columns, axis=1) if columns else places

    def _truth(self, first: DomainPlaces, last: DomainPlaces) -> tuple[Mask, Mask]:
        """Of which boxes all states satisfy the constraints, and of which some may."""
        low, high = self._values(first), self._values(last)
        must, may = np.ones(len(first), bool), np.ones(len(first), bool)
        for row in self.rows:
            sure, maybe = row.truth(low, high)
            must, may = must & sure, may & maybe
        given = {var: _between(var, low[:, column], high[:, column]) for column, var in enumerate(self.variables)}
        for value in evaluate(self.where, given) if self.where else ():
            assert isinstance(value, Truth)
            must, may = must & value.must, may & value.may
        return must, may

    def _exactly(self, places: DomainPlaces) -> bool:
        """Whether a single state satisfies the constraints, where rounding left that open."""
        values = {
            var: Fraction(int(domain[place]))
            for var, domain, place in zip(self.variables, self.domains, places, strict=True)
        }
        truths = exact.evaluate(self.where, values)
        if not all(isinstance(truth, bool) for truth in truths):
            raise Stopped("a constraint on the initial states is undefined, by a division by zero, say")
        return all(truths)


def _as_range(values: list[int]) -> Sequence[int]:
    """Values without gaps as a range."""
    dense = bool(values) and values[-1] - values[0] == len(values) - 1
    return range(values[0], values[-1] + 1) if dense else tuple(values)


def _cut(first: DomainPlaces, last: DomainPlaces, column: int, parts: int) -> tuple[DomainPlaces, DomainPlaces]:
    """Each box cut into at most so many parts along a column; the parts of short ranges are single values."""
    widths = last[:, column] - first[:, column] + 1
    size = -(-widths // parts)
    count = -(-widths // size)
    which = np.repeat(np.arange(len(first)), count)
    offsets = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    low, high = first[which], last[which]
    low[:, column] += offsets * size[which]
    high[:, column] = np.minimum(low[:, column] + size[which] - 1, high[:, column])
    return low, high


def _between(var: Expr, low: DomainPlaces, high: DomainPlaces) -> Value:
    """The values from low to high, for each box."""
    match var.sort.kind:
        case Kind.BOOL:
            return Truth(low == 1, high == 1)
        case Kind.ENUM:
            labels = np.arange(len(var.sort.labels))
            return Finite((labels >= low[:, None]) & (labels <= high[:, None]), indices(len(labels)))
    lower: Floats = low.astype(np.float64)
    return Range(lower, high.astype(np.float64))
