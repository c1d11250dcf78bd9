"""Domains: parts of the initial set as arrays, a row for each box, cut in batches.

Ends are floats that enclose the exact ones, once; a cut is at a float that both halves share, so nothing is lost
between them. Integers, truth values and labels are cut between two of their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers.rounding import Floats, Mask, any_along, float_above, float_below
from vernal.interpret.program import ArrayInputs
from vernal.interpret.value_sets import Range, Value, between
from vernal.model.expr import Component, Expr
from vernal.model.initial import Box, InitialSet, Valuation
from vernal.model.lazy import cached_property
from vernal.model.sorts import BOOL, REAL
from vernal.sets.core.cases import NO_CASES, Cases, Signs, truth_by_phases, winners_by_phases
from vernal.sets.pieces.batches import Indices


@dataclass(frozen=True)
class DomainFrame:
    """Which columns of a domain belong to which variable, and the exact ends of the whole."""

    variables: tuple[Expr, ...]
    whole: tuple[Box, ...]
    owners: Indices  # of each whole box, the number of the question it belongs to
    inner: tuple[Expr, ...] = ()  # nodes whose ranges a part takes over from the box it was cut from
    leaves: int = 0  # of what is required: their bounds are taken over as well
    cases: Cases = NO_CASES  # what is decided by the signs of some inner nodes

    @cached_property
    def columns(self) -> list[Component]:
        return [(var, index) for var in self.variables for index in range(var.size)]

    @cached_property
    def discrete(self) -> Mask:
        """(columns,): which take finitely many values in an interval."""
        return np.array([var.sort != REAL for var, _ in self.columns], dtype=bool)

    def enter(self) -> Domains:
        """The boxes of the whole, not cut yet."""
        ends = [[box.ends[var][index] for var, index in self.columns] for box in self.whole]
        shape = (len(ends), len(self.columns))
        lower = np.array([[float_below(low) for low, _ in row] for row in ends]).reshape(shape)
        upper = np.array([[float_above(high) for _, high in row] for row in ends]).reshape(shape)
        unknown = np.full((len(ends), sum(node.size for node in self.inner)), np.inf)
        return Domains(
            lower,
            upper,
            np.full(len(ends), -np.inf),
            np.arange(len(ends)),
            -unknown,
            unknown,
            np.zeros(unknown.shape, np.int8),
            np.full(unknown.shape, np.nan, np.float32),
            np.zeros(unknown.shape, np.float32),
            np.full((len(ends), self.leaves), -np.inf),
            np.zeros((len(ends), self.leaves), dtype=bool),
            np.zeros(len(ends), np.intp),
            np.full(len(ends), 1.0 / max(1, len(ends))),
        )

    def abstract(self, domains: Domains) -> dict[Expr, Value]:
        """The boxes as a batch of abstract values."""
        lower, upper = domains.lower, domains.upper
        return {var: between(var, lower[:, at], upper[:, at]) for var, at in slices(self.variables)}

    def question(self, domains: Domains) -> Indices:
        """(boxes,): the number of the question each belongs to."""
        return self.owners[domains.origin]

    @cached_property
    def places(self) -> dict[Expr, slice]:
        """The columns of inner nodes."""
        return dict(slices(self.inner))

    @cached_property
    def branch_columns(self) -> Mask:
        """(inner components,): those that decide branches."""
        found = np.zeros(sum(node.size for node in self.inner), dtype=bool)
        for pivot in self.cases.branch_pivots:
            found[self.places[pivot]] = True
        return found

    def known(self, domains: Domains, *, sides: bool = False) -> dict[Expr, Value]:
        """What is known of inner nodes; with `sides`, or where some were cut, also of what their signs decide.

        Of boxes that have not been bounded yet it is nothing.
        """
        if not (sides or np.count_nonzero(domains.least > -np.inf) or np.count_nonzero(domains.most < np.inf)):
            return {}
        made: dict[Expr, Value] = {
            node: Range(domains.least[:, at], domains.most[:, at]) for node, at in self.places.items()
        }
        if sides or domains.phases[:, self.branch_columns].any():
            for atom, pivot in self.cases.comparisons.items():
                made[atom] = truth_by_phases(domains.phases[:, self.places[pivot]])
            for atom, own in self.cases.winners.items():
                phases = domains.phases[:, self.places[own.pivot]]
                made[atom] = winners_by_phases(own, atom.args[0].size, phases)
        return made

    def empty(self, domains: Domains) -> Mask:
        """(boxes,): those in which no state has the phases that were cut, or no score is left to win."""
        found = any_along(domains.least > domains.most)
        for atom, own in self.cases.winners.items():
            phases = domains.phases[:, self.places[own.pivot]]
            if phases.any():
                found |= ~winners_by_phases(own, atom.args[0].size, phases).mask.any(axis=(1, 2))
        return found

    def learn(self, domains: Domains, linear: Linear) -> Domains:
        """The boxes with the ranges that were found for inner nodes."""
        least, most = domains.least.copy(), domains.most.copy()
        for node, at in self.places.items():
            x = linear.computed(node)
            if isinstance(x, Range):
                least[:, at], most[:, at] = x.lower, x.upper
        return replace(domains, least=least, most=most)

    def by_column(self, slopes: Floats, names: Sequence[Component]) -> Floats:
        """(boxes, columns): slopes over the inputs of a graph, (boxes, inputs); 0 where they are not finite."""
        columns = {place: column for column, place in enumerate(self.columns)}
        known = [(columns[place], own) for own, place in enumerate(names) if place in columns]
        found = np.zeros((len(slopes), len(columns)))
        if known:
            there, here = zip(*known, strict=True)
            found[:, there] = np.nan_to_num(slopes[:, here], posinf=0.0, neginf=0.0)
        return found

    def inputs(self, points: Floats) -> ArrayInputs:
        """Points, a row each, as a batch of values."""
        made: dict[Expr, Floats] = {}
        for var, at in slices(self.variables):
            own = points[:, at] if var.shape else points[:, at.start]
            made[var] = own == 1 if var.sort == BOOL else own
        return made

    def valuation(self, initial: InitialSet, point: Floats) -> Valuation:
        """The initial values nearest to a point."""
        return initial.nearest({var: point[at].tolist() for var, at in slices(self.variables)})

    def box(self, domains: Domains, row: int) -> Box:
        """One domain as an exact box, inside the whole it comes from."""
        whole = self.whole[int(domains.origin[row])]
        made = dict(whole.ends)
        for var, at in slices(self.variables):
            pairs = zip(whole.ends[var], domains.lower[row, at], domains.upper[row, at], strict=True)
            made[var] = tuple((max(low, Fraction(a)), min(high, Fraction(b))) for (low, high), a, b in pairs)
        return Box(made)


@dataclass(frozen=True)
class Domains:
    """A batch of boxes, a row for each: ends, a bound known already, the whole box each is part of, inner ranges."""

    lower: Floats  # (boxes, columns)
    upper: Floats
    bound: Floats  # (boxes,)
    origin: Indices
    least: Floats  # (boxes, components of inner nodes)
    most: Floats
    phases: Signs  # 1 where a component was cut to be >= 0, -1 where to be <= 0, else 0
    shares: NDArray[np.float32]  # of each inner component, where the last bound had its slope; nan where none had
    multipliers: NDArray[np.float32]  # and the multiplier of its phase
    low: Floats  # (boxes, leaves): a bound of each that is known already
    excluded: Mask  # and whether it is impossible
    cuts_at_zero: Indices  # (boxes,): how often a box with a bound of zero was cut all the same
    part: Floats  # (boxes,): of the whole, where every cut counts half

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def width(self) -> Floats:
        return self.upper - self.lower

    def rows(self, index: Indices | slice | Mask) -> Domains:
        """Some of the boxes."""
        return Domains(*(getattr(self, name)[index] for name in ARRAYS))

    def between(self, lower: Floats, upper: Floats) -> Domains:
        """The same with other ends."""
        return replace(self, lower=lower, upper=upper)

    def around(self, parts: Domains) -> Mask:
        """(boxes,): those that have some of these parts inside."""
        inside = self.origin[:, None] == parts.origin
        inside &= (self.lower[:, None] <= parts.lower).all(axis=2) & (parts.upper <= self.upper[:, None]).all(axis=2)
        return any_along(inside)

    def with_bound(self, bound: Floats) -> Domains:
        """The same boxes with bounds; one that was better stays, since it was true of the whole."""
        return replace(self, bound=np.maximum(self.bound, bound))

    def halves(self, column: Indices, discrete: Mask) -> Domains:
        """Both halves of every box, cut in one column each: all the lower ones, then all the upper ones.

        Columns after those of the inputs are those of inner components, which are cut at zero.
        """
        inputs = self.lower.shape[1]
        below, above = self._half(), self._half()
        row = np.flatnonzero(column < inputs)
        own = column[row]
        middle = 0.5 * self.lower[row, own] + 0.5 * self.upper[row, own]
        end = np.where(discrete[own], np.floor(middle), middle)
        below.upper[row, own], above.lower[row, own] = end, np.where(discrete[own], end + 1, end)
        row = np.flatnonzero(column >= inputs)
        own = column[row] - inputs
        below.most[row, own], above.least[row, own] = 0.0, 0.0
        below.phases[row, own], above.phases[row, own] = -1, 1
        return joined([below, above])

    def _half(self) -> Domains:
        """A half, with arrays of its own for what cutting changes."""
        lower, upper, least, most = (array.copy() for array in (self.lower, self.upper, self.least, self.most))
        phases, part = self.phases.copy(), 0.5 * self.part
        return replace(self, lower=lower, upper=upper, least=least, most=most, phases=phases, part=part)


ARRAYS = tuple(entry.name for entry in fields(Domains))


def joined(parts: Sequence[Domains]) -> Domains:
    """Several batches as one."""
    if len(parts) == 1:
        return parts[0]
    return Domains(*(np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS))


def whole_boxes(domains: Domains) -> Domains:
    """Each box once, whatever phases were cut in it."""
    ends = np.concatenate([domains.lower, domains.upper, domains.origin[:, None]], axis=1)
    _, first = np.unique(ends, axis=0, return_index=True)
    return domains.rows(np.sort(first))


def slices(nodes: Sequence[Expr]) -> list[tuple[Expr, slice]]:
    """Each node with its columns, one after the other."""
    found, start = [], 0
    for node in nodes:
        found.append((node, slice(start, start + node.size)))
        start += node.size
    return found
