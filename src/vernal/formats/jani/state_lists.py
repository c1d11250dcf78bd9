"""Start states one by one, as published benchmarks list them: a hundred thousand are read in seconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from vernal.errors import NameUnknown, TypeClash, nearest
from vernal.formats.jani.arrays import Surely, element_updates
from vernal.formats.jani.composition import PlanningModel
from vernal.formats.jani.declarations import DeclaredVariable, as_names, check_value
from vernal.formats.jani.entries import JsonEntry
from vernal.formats.jani.expressions import made, read_target, read_value
from vernal.model import build
from vernal.model.build import TRUE
from vernal.model.expr import Const, Expr
from vernal.model.initial import Init, OneOf, Start
from vernal.model.sorts import REAL, Sort

ListedValue = int | Fraction  # integers as such: there are many


@dataclass(frozen=True, slots=True)
class StateList:
    """Initial states: a value for each variable of the model, in its order; each state once."""

    states: tuple[tuple[ListedValue, ...], ...]

    def init(self, state: tuple[DeclaredVariable, ...]) -> Init:
        """The states as starts of each variable, and the condition that says which of them go together."""
        variables = [declared.variable for declared in state]
        columns = [sorted(set(column)) for column in zip(*self.states, strict=True)]
        starts: dict[str, Start] = {
            variable.name: OneOf(tuple(map(Fraction, values)))
            for variable, values in zip(variables, columns, strict=True)
        }
        free = [place for place, values in enumerate(columns) if len(values) > 1]
        equations = {
            place: {
                value: build.eq(variables[place].var, _constant(variables[place].sort, value))
                for value in columns[place]
            }
            for place in free
        }
        together = [build.conj(*(equations[place][one[place]] for place in free)) for one in self.states]
        whole = build.disj(*together)
        return Init(starts, () if whole is TRUE else (whole,))


def _constant(sort: Sort, value: ListedValue) -> Expr:
    return Const((), sort, (), (Fraction(value),))


class StateReader:
    """Reads a list of states; variables that a state does not name have their initial values."""

    def __init__(self, model: PlanningModel) -> None:
        self.model = model
        self.targets = as_names({one.variable.name: one for one in model.state})
        self.declared = {one.variable.name: (place, one) for place, one in enumerate(model.state)}
        self.usual = [None if one.initial is None else _plain(one.initial) for one in model.state]
        self.integers = {  # by name: the place, and the ends of the range
            name: (place, int(one.variable.lower), int(one.variable.upper))
            for name, (place, one) in self.declared.items()
            if one.variable.sort != REAL and one.variable.lower is not None and one.variable.upper is not None
        }

    def read(self, entry: JsonEntry) -> StateList:
        listed = entry["values"].items()
        if not listed:
            entry["values"].refuse("the list of start states is empty")
        return StateList(tuple(dict.fromkeys(map(self._state, listed))))

    def _state(self, entry: JsonEntry) -> tuple[ListedValue, ...]:
        values = list(self.usual)
        named = entry["variables"]
        for number, pair in enumerate(named.elements()):
            plain = self._plain(pair)
            for place, value in [plain] if plain is not None else self._checked(named.items()[number]):
                values[place] = value
        for item in entry.items("locations"):
            process = self.model.process(item["automaton"], item.text("automaton"))
            if process.place is not None:
                place = self.declared[process.place.variable.name][0]
                values[place] = process.index(item["location"], item.text("location"))
        if None in values:
            missing = [name for name, (place, _) in self.declared.items() if values[place] is None]
            entry.refuse(f"{', '.join(map(repr, missing))} have neither a value here nor an initial value")
        return tuple(value for value in values if value is not None)

    def _plain(self, pair: Any) -> tuple[int, int] | None:
        """The usual case at once: an integer inside the range of its variable."""
        try:
            place, lower, upper = self.integers[pair["var"]]
            value = pair["value"]
        except (KeyError, TypeError):
            return None
        return (place, value) if type(value) is int and lower <= value <= upper else None

    def _checked(self, item: JsonEntry) -> Iterator[tuple[int, ListedValue]]:
        """Values that take a closer look, of all elements of an array perhaps, or a message about what is wrong."""
        if isinstance(item["var"].value, str) and item["var"].value not in self.targets:
            name = item.text("var")
            raise item["var"].error(f"the model has no variable {name!r}{nearest(name, self.targets)}", NameUnknown)
        target, indices = read_target(item["var"], self.targets, self.model.constants, Surely())
        value = read_value(item["value"], self.model.constants)
        for update in made(item["value"], lambda: list(element_updates(target, indices, value, Surely()))):
            place, one = self.declared[update.variable.name]
            if not isinstance(update.value, Const):
                raise item["value"].error("a constant is expected: only constants may be named here", TypeClash)
            check_value(item["value"], one.variable, update.value.value)
            yield place, _plain(update.value.value)


def _plain(value: Fraction) -> ListedValue:
    return int(value) if value.denominator == 1 else value
