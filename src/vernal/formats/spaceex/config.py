"""The question about an automaton as a SpaceEx configuration (`.cfg`): from where, which states to avoid, how long.

What SpaceEx cannot be asked in one set is asked of more states, or left out, and said: the initial states become a
polyhedron that contains them, strict comparisons become closed ones, and a bad set that is no polyhedron is not
written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from vernal.evidence.segment_truth import RowCase, StateConditions
from vernal.formats.spaceex.writer import SYSTEM, SpaceExNames, summed, term
from vernal.interpret.geometry.affine_form import Relation, Row, fraction
from vernal.logic.formula import Always, And, Atom, Formula, Not
from vernal.logic.normal import nnf
from vernal.logic.printing import number
from vernal.logic.question import Question
from vernal.model.expr import Component
from vernal.model.initial import Start

STEPS_PER_HORIZON = 100  # into which the horizon is divided
RELATIONS = {Relation.AT_LEAST: ">=", Relation.ABOVE: ">=", Relation.EQUAL: "=="}


@dataclass(frozen=True, slots=True)
class SpaceExConfig:
    """The text of a configuration, and what it could not say."""

    text: str
    notes: tuple[str, ...]


def spaceex_config(question: Question, names: SpaceExNames) -> SpaceExConfig:
    """The configuration for a question about the flow whose automaton is written under these names."""
    writer = _ConfigWriter(question, names)
    initially, forbidden = writer.initially(), writer.forbidden()
    horizon = question.claim.last_time or Fraction(1)
    entries = [
        ("system", SYSTEM),
        ("initially", f'"{initially}"'),
        *([] if forbidden is None else [("forbidden", f'"{forbidden}"')]),
        ("scenario", "supp"),
        ("directions", "oct"),
        ("sampling-time", number(horizon / STEPS_PER_HORIZON)),
        ("time-horizon", number(horizon)),
        ("iter-max", "-1"),
        ("rel-err", "1.0e-12"),
        ("abs-err", "1.0e-15"),
        ("output-variables", f'"{",".join(names.variables[:2])}"'),
        ("output-format", "GEN"),
    ]
    return SpaceExConfig("".join(f"{key} = {value}\n" for key, value in entries), tuple(writer.notes))


class _ConfigWriter:
    """Conditions of one question as text."""

    def __init__(self, question: Question, names: SpaceExNames) -> None:
        self.question, self.names = question, names
        self.conditions = StateConditions(question.model)
        named = zip(question.model.vars, names.variables, strict=True)
        self.words: dict[Component, str] = {(var, 0): name for var, name in named}
        self.notes: list[str] = []

    def initially(self) -> str:
        """A polyhedron that contains the initial states; the clock starts at 0."""
        flow = self.question.model
        sides = [
            _side(name, flow.init.starts[variable.name])
            for name, variable in zip(self.names.variables, flow.state, strict=True)
        ]
        where: tuple[Formula, ...] = tuple(Atom(condition) for condition in flow.init.where)
        case = self._polyhedron(And(where)) if where else ()
        if case is None:
            self.notes.append("the initial states in the .cfg are the whole box: `where` is no polyhedron")
        return " & ".join([*sides, *self._rows(case or ()), f"{self.names.clock} == 0"])

    def forbidden(self) -> str | None:
        """The states that `G[0,T] p` forbids; None of other formulas."""
        claim = self.question.claim.normal
        case = self._polyhedron(nnf(Not(claim.arg))) if isinstance(claim, Always) and not claim.bound.lower else None
        if case is None:
            self.notes.append(
                "the .cfg has no forbidden states: the property is not G[0,T] of staying out of a polyhedron"
            )
            return None
        return " & ".join(self._rows(case))

    def _polyhedron(self, condition: Formula) -> RowCase | None:
        """The rows of a condition that is one conjunction of linear comparisons."""
        cases = self.conditions.cases(nnf(condition))
        return cases[0] if cases is not None and len(cases) == 1 else None

    def _rows(self, rows: Iterable[Row]) -> list[str]:
        return [self._row(row) for row in rows]

    def _row(self, row: Row) -> str:
        terms = [term(fraction(a), self.words[part]) for part, a in row.form.coefficients.items()]
        return f"{summed(terms)} {RELATIONS[row.relation]} {number(-fraction(row.form.constant))}"


def _side(name: str, start: Start) -> str:
    low, high = start.ends
    return f"{name} == {number(low)}" if low == high else f"{name} >= {number(low)} & {name} <= {number(high)}"
