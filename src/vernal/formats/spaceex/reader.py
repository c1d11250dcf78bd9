"""Affine hybrid automata from SpaceEx models: the fragment that Vernal writes, from whoever wrote it.

One component has locations; others may only bind it, under the same names. In every location each variable has a linear
rate, plus at most one input d with -r <= d <= r in the invariant. A variable with the rate 1 everywhere, which no rate
and no guard depends on, is the clock and no part of the state; its bound is the horizon. Transitions have linear guards
and no assignments. What is not of this kind is refused, by name and line.

Numbers are exact. Where one is no float, the automaton gets larger, never smaller: rows are multiplied until they are,
or their offsets are rounded up, and rates are rounded to floats, with the difference over the region added to the
radius.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from vernal.errors import FormatError
from vernal.formats.limits import DEFAULT, ReadLimits
from vernal.formats.spaceex.linear import LinearComparison, LinearTerm, parse_comparisons
from vernal.formats.spaceex.markup import Element, parse_markup
from vernal.formats.spaceex.rows import (
    LinearRow,
    check_inside,
    facets_of_rows,
    float_of,
    least_upper,
    rates_of,
    region_of_rows,
)
from vernal.interpret.numbers.rounding import float_above
from vernal.model.hybrid import Crossing, HybridAutomaton, Location

MAX_VARIABLES = 64


@dataclass(frozen=True, slots=True, eq=False)
class SpaceExModel:
    """An automaton as a file has it, with its clock and how far that may run, where the file says so."""

    automaton: HybridAutomaton
    clock: str | None
    horizon: Fraction | None


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A location or a transition of the file, read but not yet understood."""

    element: Element
    rows: list[LinearComparison]  # its invariant, or its guard
    rates: dict[str, LinearTerm]


def parse_spaceex(content: bytes, limits: ReadLimits = DEFAULT) -> SpaceExModel:
    """The automaton in a model file."""
    root = parse_markup(content, limits.tick)
    if _local(root.tag) != "sspaceex":
        raise FormatError(f"line {root.line}: no SpaceEx model: it begins with <{root.tag}>")
    component = _component(root)
    return _Component(component, limits).model()


def _local(tag: str) -> str:
    return tag.rpartition(":")[2]


def _component(root: Element) -> Element:
    """The component with locations; the others bind it."""
    components = root.all("component")
    found = [one for one in components if one.all("location")]
    if len(found) != 1:
        raise FormatError(f"{len(found)} components have locations; exactly one is read")
    for other in components:
        if other is not found[0]:
            _check_binding(other, found[0])
    return found[0]


def _check_binding(network: Element, component: Element) -> None:
    binds = network.all("bind")
    if len(binds) != 1 or binds[0].attributes.get("component") != component.attributes.get("id"):
        raise FormatError(f"line {network.line}: a component without locations has to bind the one that has them, once")
    for entry in binds[0].all("map"):
        if entry.text != entry.attributes.get("key"):
            raise FormatError(
                f"line {entry.line}: {entry.attributes.get('key')!r} is bound to {entry.text[:40]!r}; "
                "only a binding to the same name is read"
            )


class _Component:
    """The component with the locations, and what its names are."""

    def __init__(self, element: Element, limits: ReadLimits) -> None:
        self.element, self.limits = element, limits
        self.reals, self.inputs = self._parameters()
        self.locations = [self._place(one, "invariant") for one in element.all("location")]
        self.numbers = {place.element.attributes.get("id"): i for i, place in enumerate(self.locations)}
        self.transitions = [self._place(one, "guard") for one in element.all("transition")]
        for place in self.locations:
            self._check_rates(place)
        self.clock = self._clock()
        self.variables = tuple(name for name in self.reals if name != self.clock)

    def model(self) -> SpaceExModel:
        """What the file says, as an automaton."""
        if not self.variables:
            raise FormatError(f"line {self.element.line}: no variables but a clock")
        owners = self._owners()
        rows = [self._rows(place) for place in self.locations]
        guards = [self._guard(place) for place in self.transitions]
        lower, upper = region_of_rows(rows, self.variables)
        for place, found in zip(self.locations, rows, strict=True):
            with _at(place.element):
                self.limits.tick()
                check_inside(found, lower, upper, self.variables)
        radius = self._radius(owners)
        flows = [self._flow(place, owners, (lower, upper)) for place in self.locations]
        locations = [
            Location(
                place.element.attributes.get("name", ""), facets_of_rows(found, len(self.variables)), matrix, drift
            )
            for place, found, (matrix, drift, _) in zip(self.locations, rows, flows, strict=True)
        ]
        extra = [max(column) for column in zip(*(lost for _, _, lost in flows), strict=True)]
        return SpaceExModel(
            HybridAutomaton(
                self.element.attribute("id"),
                self.variables,
                np.array(lower),
                np.array(upper),
                np.array([float_above(r + more) for r, more in zip(radius, extra, strict=True)]),
                tuple(locations),
                tuple(guards),
            ),
            self.clock,
            self._horizon(),
        )

    # Names and texts ------------------------------------------------------------------------------------------------

    def _parameters(self) -> tuple[list[str], list[str]]:
        """The variables and the inputs, in their order."""
        reals: list[str] = []
        inputs: list[str] = []
        for one in self.element.all("param"):
            name, kind = one.attribute("name"), one.attribute("type")
            if kind == "label":
                continue
            if kind != "real" or one.attributes.get("dynamics", "any") != "any" or not _is_scalar(one):
                raise FormatError(f"line {one.line}: {name!r} is no scalar real variable; others are not read")
            if name in [*reals, *inputs]:
                raise FormatError(f"line {one.line}: a second parameter {name!r}")
            if len(reals) + len(inputs) > 2 * MAX_VARIABLES:
                raise FormatError(f"line {one.line}: at most {MAX_VARIABLES} variables are read, and as many inputs")
            (inputs if one.attributes.get("controlled", "true") == "false" else reals).append(name)
        return reals, inputs

    def _place(self, element: Element, condition: str) -> _Place:
        self.limits.tick()
        with _at(element):
            if element.only("assignment"):
                raise FormatError("assignments are not read; transitions leave the state as it is")
            rows = parse_comparisons(element.only(condition))
            rates = rates_of(parse_comparisons(element.only("flow")))
            self._check_names([row.term for row in rows] + list(rates.values()))
            return _Place(element, rows, rates)

    def _check_names(self, terms: Sequence[LinearTerm]) -> None:
        known = {*self.reals, *self.inputs}
        for term in terms:
            for name in term.coefficients:
                if name not in known:
                    raise FormatError(f"{name!r} is no parameter of type real")

    def _check_rates(self, place: _Place) -> None:
        with _at(place.element):
            for name in place.rates:
                if name not in self.reals:
                    raise FormatError(f"a rate of {name!r}, which is no controlled variable")
            for name in self.reals:
                if name not in place.rates:
                    raise FormatError(f"no rate {name}' == ...: the variable could change in any way")

    # The clock ------------------------------------------------------------------------------------------------------

    def _clock(self) -> str | None:
        """The last variable that only counts."""
        return next((name for name in reversed(self.reals) if self._counts(name)), None)

    def _counts(self, name: str) -> bool:
        rates = [place.rates for place in self.locations]
        even = all(one[name] == LinearTerm(Fraction(1)) for one in rates)
        used = any(name in term.coefficients for one in rates for term in one.values())
        guards = any(name in row.term.coefficients for place in self.transitions for row in place.rows)
        alone = all(
            len(row.term.coefficients) == 1 and not row.equation
            for place in self.locations
            for row in place.rows
            if name in row.term.coefficients
        )
        return even and alone and not used and not guards

    def _horizon(self) -> Fraction | None:
        """The largest bound of the clock, if it is bounded everywhere."""
        if self.clock is None:
            return None
        bounds = [least_upper(place.rows, self.clock) for place in self.locations]
        found = [bound for bound in bounds if bound is not None]
        return max(found) if len(found) == len(bounds) else None

    # Rows -----------------------------------------------------------------------------------------------------------

    def _rows(self, place: _Place) -> list[LinearRow]:
        """The rows of an invariant that are about the state."""
        apart = {*self.inputs, *([] if self.clock is None else [self.clock])}
        with _at(place.element):
            return [
                row
                for comparison in place.rows
                if not (len(comparison.term.coefficients) == 1 and apart.intersection(comparison.term.coefficients))
                for row in self._half_spaces(comparison)
            ]

    def _half_spaces(self, comparison: LinearComparison) -> list[LinearRow]:
        term = comparison.term
        foreign = next((name for name in term.coefficients if name not in self.variables), None)
        if foreign is not None:
            raise FormatError(f"{foreign!r} and other names in one comparison")
        normal = [term.coefficients.get(name, Fraction(0)) for name in self.variables]
        rows = [(normal, -term.constant)]
        return [*rows, ([-a for a in normal], term.constant)] if comparison.equation else rows

    def _guard(self, place: _Place) -> Crossing:
        with _at(place.element):
            ends = [place.element.attribute(end) for end in ("source", "target")]
            if any(end not in self.numbers for end in ends) or len(self.numbers) < len(self.locations):
                raise FormatError(
                    f"from {ends[0]!r} to {ends[1]!r}: every location needs an id of its own, and these two"
                )
            rows = [row for comparison in place.rows for row in self._half_spaces(comparison)]
            return Crossing(self.numbers[ends[0]], self.numbers[ends[1]], facets_of_rows(rows, len(self.variables)))

    # Rates ----------------------------------------------------------------------------------------------------------

    def _owners(self) -> dict[str, int]:
        """For each input the variable in whose rate it is, with the factor 1 and there alone."""
        owners: dict[str, int] = {}
        for place in self.locations:
            for j, name in enumerate(self.variables):
                found = [one for one in place.rates[name].coefficients if one in self.inputs]
                for one in found:
                    if place.rates[name].coefficients[one] != 1 or len(found) > 1 or owners.get(one, j) != j:
                        raise FormatError(
                            f"line {place.element.line}: the input {one!r} has to stand in one rate, once"
                        )
                    owners[one] = j
        if len(set(owners.values())) < len(owners):
            raise FormatError("two inputs in the rate of one variable")
        return owners

    def _radius(self, owners: dict[str, int]) -> list[Fraction]:
        """The largest absolute value of the input of each variable."""
        radius = [Fraction(0)] * len(self.variables)
        for name, j in owners.items():
            for place in self.locations:
                high, low = (least_upper(place.rows, name, side) for side in (1, -1))
                if high is None or low is None or high != low or high < 0:
                    raise FormatError(
                        f"line {place.element.line}: the input {name!r} needs bounds -r <= {name} <= r in the invariant"
                    )
                radius[j] = max(radius[j], high)
        return radius

    def _flow(
        self, place: _Place, owners: dict[str, int], region: tuple[list[float], list[float]]
    ) -> tuple[np.ndarray, np.ndarray, list[Fraction]]:
        """Matrix, drift, and how far their floats are from what is written, at most, for each variable."""
        terms = [place.rates[name] for name in self.variables]
        exact = [[term.coefficients.get(name, Fraction(0)) for name in self.variables] for term in terms]
        sizes = [max(abs(Fraction(low)), abs(Fraction(high))) for low, high in zip(*region, strict=True)]
        with _at(place.element):
            matrix = np.array([[float_of(a) for a in row] for row in exact])
            drift = np.array([float_of(term.constant) for term in terms])
        lost = [
            sum(
                (abs(a - Fraction(x)) * size for a, x, size in zip(row, near, sizes, strict=True)),
                abs(term.constant - Fraction(b)),
            )
            for row, near, term, b in zip(exact, matrix.tolist(), terms, drift.tolist(), strict=True)
        ]
        return matrix, drift, lost


@contextmanager
def _at(element: Element) -> Iterator[None]:
    """Errors say in which location or transition they are."""
    try:
        yield
    except FormatError as error:
        name = element.attributes.get("name") or element.attributes.get("id")
        what = f"{element.tag} {name!r}" if name else element.tag
        raise FormatError(f"line {element.line}: {what}: {error.message}") from None


def _is_scalar(parameter: Element) -> bool:
    return all(parameter.attributes.get(size, "1") == "1" for size in ("d1", "d2"))
