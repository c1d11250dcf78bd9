"""An affine hybrid automaton as a SpaceEx model (`.xml`).

One component has the locations; a second one, `system`, binds it. Disturbances are uncontrolled inputs, bounded in
every invariant; a clock counts from the start, and ends the run at the horizon where one is given. Numbers are written
as the decimals that they are, so that reading the file gives the same automaton.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from vernal.logic.printing import number
from vernal.model.hybrid import Facets, HybridAutomaton, Location
from vernal.printable import in_one_line

NAMESPACE = "http://www-verimag.imag.fr/xml-namespaces/sspaceex"
SYSTEM = "system"
LABEL = "cross"
REAL = 'type="real" local="false" d1="1" d2="1" dynamics="any"'


@dataclass(frozen=True, slots=True)
class SpaceExNames:
    """What everything is called in the file: words that SpaceEx can read, each once."""

    component: str
    variables: tuple[str, ...]
    disturbances: tuple[str, ...]
    clock: str
    label: str


def names_of(automaton: HybridAutomaton) -> SpaceExNames:
    """The automaton's own names where they are words."""
    taken: set[str] = {SYSTEM, "true", "false"}
    component = _word(automaton.name or "automaton", taken)
    variables = tuple(_word(name, taken) for name in automaton.variables)
    disturbances = tuple(_word(f"d_{name}", taken) for name in variables)
    return SpaceExNames(component, variables, disturbances, _word("t", taken), _word(LABEL, taken))


def _word(name: str, taken: set[str]) -> str:
    """A word like the name that is not taken, which it now is."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    plain = plain if re.match("[A-Za-z_]", plain) else f"_{plain}"
    found = next(word for i in count() if (word := f"{plain}_{i}" if i else plain) not in taken)
    taken.add(found)
    return found


def spaceex_model(automaton: HybridAutomaton, horizon: Fraction | None = None) -> str:
    """The text of the model file."""
    names = names_of(automaton)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<sspaceex xmlns="{NAMESPACE}" version="0.2" math="SpaceEx">',
        f'  <component id="{names.component}">',
        *_parameters(names),
        *(
            line
            for i, location in enumerate(automaton.locations)
            for line in _location(i + 1, location, automaton.radius, names, horizon)
        ),
        *(
            line
            for crossing in automaton.crossings
            for line in _transition(crossing.source + 1, crossing.target + 1, crossing.guard, names)
        ),
        "  </component>",
        f'  <component id="{SYSTEM}">',
        *_parameters(names),
        f'    <bind component="{names.component}" as="{names.component}_1">',
        *(f'      <map key="{key}">{key}</map>' for key in _keys(names)),
        "    </bind>",
        "  </component>",
        "</sspaceex>",
    ]
    return "\n".join(lines) + "\n"


def _keys(names: SpaceExNames) -> list[str]:
    return [*names.variables, names.clock, *names.disturbances, names.label]


def _parameters(names: SpaceExNames) -> list[str]:
    controlled = [f'    <param name="{name}" {REAL} controlled="true"/>' for name in (*names.variables, names.clock)]
    inputs = [f'    <param name="{name}" {REAL} controlled="false"/>' for name in names.disturbances]
    return [*controlled, *inputs, f'    <param name="{names.label}" type="label" local="false"/>']


def _location(
    index: int, location: Location, radius: NDArray[np.float64], names: SpaceExNames, horizon: Fraction | None
) -> list[str]:
    bounds = [
        f"{name} >= {_decimal(-r)} & {name} <= {_decimal(r)}"
        for name, r in zip(names.disturbances, radius.tolist(), strict=True)
    ]
    until = [] if horizon is None else [f"{names.clock} <= {number(horizon)}"]
    rows = comparisons(location.invariant, names.variables)
    place = f'x="{200 * (index % 10)}" y="{150 * (index // 10)}" width="150" height="100"'
    return [
        f'    <location id="{index}" name={quoteattr(in_one_line(location.name))} {place}>',
        f"      <invariant>{_conjunction([*rows, *bounds, *until])}</invariant>",
        f"      <flow>{_conjunction(_rates(location, names))}</flow>",
        "    </location>",
    ]


def _transition(source: int, target: int, guard: Facets, names: SpaceExNames) -> list[str]:
    return [
        f'    <transition source="{source}" target="{target}">',
        f"      <label>{names.label}</label>",
        f"      <guard>{_conjunction(comparisons(guard, names.variables))}</guard>",
        "    </transition>",
    ]


def comparisons(facets: Facets, variables: Sequence[str]) -> list[str]:
    """Each row of facets as text."""
    pairs = zip(facets.normals.tolist(), facets.offsets.tolist(), strict=True)
    return [_comparison(normal, offset, variables) for normal, offset in pairs]


def _comparison(normal: Sequence[float], offset: float, variables: Sequence[str]) -> str:
    if [a for a in normal if a] == [-1.0]:
        return f"{_sum([-a for a in normal], 0.0, variables)} >= {_decimal(-offset)}"
    return f"{_sum(normal, 0.0, variables)} <= {_decimal(offset)}"


def _rates(location: Location, names: SpaceExNames) -> list[str]:
    rows = zip(names.variables, location.matrix.tolist(), location.drift.tolist(), names.disturbances, strict=True)
    flows = [f"{name}' == {_sum(row, drift, names.variables)} + {noise}" for name, row, drift, noise in rows]
    return [*flows, f"{names.clock}' == 1"]


def _sum(coefficients: Iterable[float], constant: float, variables: Iterable[str]) -> str:
    terms = [term(Fraction(a), name) for a, name in zip(coefficients, variables, strict=True) if a]
    return summed([*terms, *([_decimal(constant)] if constant else [])])


def term(coefficient: Fraction, name: str) -> str:
    """A multiple of a variable."""
    return f"{'-' * (coefficient < 0)}{name}" if abs(coefficient) == 1 else f"{number(coefficient)}*{name}"


def summed(terms: Sequence[str]) -> str:
    """The sum of terms, 0 if there is none."""
    return " + ".join(terms).replace("+ -", "- ") or "0"


def _decimal(value: float) -> str:
    """All digits of a float, or of minus zero those of zero."""
    return number(Fraction(value))


def _conjunction(texts: Collection[str]) -> str:
    return escape(" & ".join(texts) or "true")
