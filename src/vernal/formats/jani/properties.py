"""Safety properties of planning models: the PA properties of JANI files, whose parts may stand in other files.

Of a file without any, the properties of plain JANI that say that a condition is kept for ever from the initial states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from vernal.errors import NameUnknown, nearest
from vernal.formats.jani.composition import PlanningModel
from vernal.formats.jani.entries import JsonEntry, read_json, shown
from vernal.formats.jani.expressions import read_condition
from vernal.formats.jani.state_lists import StateList, StateReader
from vernal.formats.networks import locate
from vernal.logic.task import InputFile
from vernal.model import build
from vernal.model.build import FALSE, TRUE
from vernal.model.expr import Expr

SAFETY = "PA"
QUANTITATIVE = {"Pmax", "Pmin", "Emax", "Emin", "Smax", "Smin"}  # operators of plain JANI about chances


@dataclass(frozen=True, slots=True)
class SafetyProperty:
    """From where the unsafe condition is to be avoided; `start` None are the model's own initial states."""

    name: str
    start: Expr | StateList | None
    unsafe: Expr
    predicates: tuple[Expr, ...] = ()
    policy: Path | None = None
    files: tuple[InputFile, ...] = ()


@dataclass(slots=True)
class PropertyReader:
    """Reads one PA property, and notes the files its parts stand in."""

    model: PlanningModel
    files: list[InputFile] = field(default_factory=list)

    def read(self, entry: JsonEntry) -> SafetyProperty:
        expression = entry["expression"]
        if _kind(entry) != SAFETY:
            kept = read_condition(expression["values"]["exp"]["exp"], self.model.names, self.model.surely)
            return SafetyProperty(entry.text("name"), None, build.negate(kept), files=tuple(self.files))
        start, reach = (self._part(expression, key) for key in ("start", "reach"))
        predicates, policy = self._part(expression, "predicates"), expression.get("file")
        return SafetyProperty(
            entry.text("name"),
            None if start is None else self.start(start),
            FALSE if reach is None else self.condition(reach),
            () if predicates is None else self.predicates(predicates),
            None if policy is None else locate(policy.text(), Path(policy.file).parent),
            tuple(self.files),
        )

    def _part(self, expression: JsonEntry, key: str) -> JsonEntry | None:
        """A member, or the whole of the file it names."""
        part = expression.get(key)
        if part is None or not isinstance(part.value, dict) or set(part.value) != {"file"}:
            return part
        whole, source = read_json(locate(part.text("file"), Path(part.file).parent))
        self.files.append(source)
        return whole

    def predicates(self, entry: JsonEntry) -> tuple[Expr, ...]:
        return tuple(read_condition(item, self.model.names, self.model.surely) for item in entry.items())

    def start(self, entry: JsonEntry) -> Expr | StateList:
        if entry.text("op") == "states-values":
            return StateReader(self.model).read(entry)
        return self.condition(entry)

    def condition(self, entry: JsonEntry) -> Expr:
        """A state condition: an expression, and locations of automata."""
        if entry.text("op") != "state-condition":
            entry.refuse(
                f"{shown(entry.value)} is not supported; supported: state-condition, states-values (of starts)"
            )
        written = entry.get("exp")
        condition = TRUE if written is None else read_condition(written, self.model.names, self.model.surely)
        return build.conj(condition, *(self._location(item) for item in entry.items("locations")))

    def _location(self, entry: JsonEntry) -> Expr:
        process = self.model.process(entry["automaton"], entry.text("automaton"))
        return process.at(entry["location"], entry.text("location"))


# Which property -------------------------------------------------------------------------------------------------------


def safety_entries(whole: JsonEntry) -> list[JsonEntry]:
    """The PA properties of a file, in its order; where there are none, those that say that a condition is kept."""
    entries = whole.items("properties")
    return [entry for entry in entries if _kind(entry) == SAFETY] or [entry for entry in entries if _is_kept(entry)]


def _is_kept(entry: JsonEntry) -> bool:
    """Whether a property says of all initial states and all paths that a condition is true at every position."""
    match entry.value:
        case {
            "expression": {
                "op": "filter",
                "fun": "∀",
                "values": {"op": "∀", "exp": {"op": "G", "exp": _, **bounds}},
                "states": {"op": "initial"},
            }
        }:
            return not bounds
    return False


def _kind(entry: JsonEntry) -> object:
    expression = entry.get("expression")
    return expression.value.get("op") if expression is not None and isinstance(expression.value, dict) else None


def skipped(whole: JsonEntry) -> str:
    """The properties about chances and expected values, which are left out."""
    left_out = [entry.text("name") for entry in whole.items("properties") if _is_quantitative(entry.value)]
    return f" ({', '.join(left_out)}: about probabilities or expected values, which there are not)" if left_out else ""


def _is_quantitative(value: object) -> bool:
    match value:
        case {"expression": {"values": {"op": str(op)}}} | {"expression": {"op": str(op)}}:
            return op in QUANTITATIVE
    return False


def pick(whole: JsonEntry, which: str) -> JsonEntry:
    """A PA property by its number or its name; the only one where nothing is said."""
    found = safety_entries(whole)
    names = [entry.text("name") for entry in found]
    if not found:
        none = f"there is no PA property in this file{skipped(whole)}"
        whole.refuse(f"{none}; give --start and --unsafe, or --property FILE#NUMBER")
    if not which and len(found) > 1:
        listed = ", ".join(f"#{number} {name}" for number, name in enumerate(names))
        whole.refuse(f"there are {len(found)} PA properties in this file, say which one: {listed}")
    if not which or (which.isdigit() and int(which) < len(found)):
        return found[int(which or 0)]
    if which in names:
        return found[names.index(which)]
    known = [*map(str, range(len(found))), *names]
    raise NameUnknown(f"{whole.file}: there is no PA property {which!r}{nearest(which, known)}")
