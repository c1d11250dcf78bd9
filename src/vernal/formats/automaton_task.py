"""Hybrid automata as tasks: the automaton of a file, its initial states, and the properties asked of it.

Initial states and properties are in the same file (`init`, `properties` of a JSON file), or in the configuration beside
a SpaceEx model (`initially`, `forbidden`, `time-horizon`). Where nothing is said, any state of the region is initial.
A state may begin in every location whose invariant contains it: so what a configuration says of locations is left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from vernal.errors import FormatError, InputError
from vernal.formats.automata import automaton_of, decoded
from vernal.formats.limits import DEFAULT, ReadLimits
from vernal.formats.networks import is_file, read_bytes, read_parsed
from vernal.formats.spaceex.linear import LinearComparison, parse_comparisons
from vernal.formats.spaceex.reader import SpaceExModel, parse_spaceex
from vernal.logic.elaboration import formula, system_scope
from vernal.logic.formula import Always, And, Atom, Bound, Not
from vernal.logic.syntax import Source
from vernal.logic.task import InputFile, Task
from vernal.logic.times import refuse_untimed
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.hybrid import HybridAutomaton
from vernal.model.initial import Init, Span, Start
from vernal.model.motion import Modes
from vernal.model.sorts import REAL
from vernal.model.system import Model, Variable
from vernal.model.tick import Tick, idle

CONFIG = ".cfg"
SAFE = "safe"  # the property that the forbidden states of a configuration make
ENTRY = re.compile(r"\s*([\w-]+)\s*=\s*(.*)")
PLACE = re.compile(r"\s*loc\s*\([^()]*\)\s*==\s*\w+\s*")  # what is said of a location


@dataclass(frozen=True, slots=True)
class AutomatonBlueprint:
    """A file of an automaton, from which a task is made; it has no parameters."""

    file: Path
    limits: ReadLimits = DEFAULT

    def task(self, overrides: Mapping[str, object]) -> Task:
        """The task."""
        if overrides:
            raise InputError(f"{self.file}: a hybrid automaton has no parameters; leave out {', '.join(overrides)}")
        made = _of_spaceex(self.file, self.limits) if self.file.suffix.lower() == ".xml" else _of_json(self.file)
        return replace(made, source=_input(self.file))


def open_automaton(path: str | Path, tick: Tick = idle) -> AutomatonBlueprint:
    """A file to make a task from."""
    return AutomatonBlueprint(Path(path), replace(DEFAULT, tick=tick))


def automaton_model(automaton: HybridAutomaton, init: Init | None = None) -> Model:
    """An automaton as a model, from some states of its region, or from all."""
    ends = zip(automaton.variables, automaton.lower.tolist(), automaton.upper.tolist(), strict=True)
    state = tuple(Variable(name, REAL, Fraction(low), Fraction(high)) for name, low, high in ends)
    whole: dict[str, Start] = {one.name: Span(Fraction(one.lower or 0), Fraction(one.upper or 0)) for one in state}
    if init is not None:
        whole |= init.starts
    return Model(automaton.name, state, Init(whole, () if init is None else init.where), Modes(automaton))


def _input(file: Path) -> InputFile:
    return InputFile(str(file), hashlib.sha256(read_bytes(file)).hexdigest())


# JSON -----------------------------------------------------------------------------------------------------------------


def _of_json(file: Path) -> Task:
    model, texts = read_parsed(file, _model)
    scope = system_scope(model)
    made = {name: formula(Source(text, f"{file}: {name}"), scope, discrete=False) for name, text in texts.items()}
    for one in made.values():
        refuse_untimed(one)
    return Task(model, made)


def _model(content: bytes) -> tuple[Model, Mapping[str, str]]:
    """The model of a JSON text, and the texts of its properties."""
    table = decoded(content)
    whole = automaton_model(automaton_of(table))
    starts: dict[str, Start] = {}
    for name, ends in table.init.items():
        if name not in whole.init.starts:
            raise FormatError(f"init: there is no variable {name!r}")
        low, high = whole.init.starts[name].ends
        if len(ends) != 2 or not low <= Fraction(ends[0]) <= Fraction(ends[1]) <= high:
            raise FormatError(f"init.{name}: not [lower, upper] within the region, which is [{low}, {high}]")
        starts[name] = Span(Fraction(ends[0]), Fraction(ends[1]))
    return automaton_model(automaton_of(table), Init(starts)), table.properties


# SpaceEx --------------------------------------------------------------------------------------------------------------


def _of_spaceex(file: Path, limits: ReadLimits) -> Task:
    read = read_parsed(file, lambda content: parse_spaceex(content, limits))
    beside = file.with_suffix(CONFIG)
    if not is_file(beside):
        return Task(automaton_model(read.automaton))
    made = read_parsed(beside, lambda content: _configured(read, _entries(content)))
    return replace(made, networks=(_input(beside),))


def _entries(content: bytes) -> dict[str, str]:
    """The entries of a configuration, without comments and quotes."""
    lines = (line.partition("#")[0] for line in content.decode("utf-8").splitlines())
    found = (ENTRY.fullmatch(line) for line in lines if line.strip())
    return {one[1]: one[2].strip().strip('"') for one in found if one is not None}


def _configured(read: SpaceExModel, entries: Mapping[str, str]) -> Task:
    names = read.automaton.variables
    initially = _comparisons(read, entries.get("initially", ""))
    alone = [row for row in initially if len(row.term.coefficients) == 1]
    model = automaton_model(read.automaton)
    starts = {name: _narrowed(model.init.starts[name], name, alone) for name in names}
    where = tuple(_condition(row) for row in initially if len(row.term.coefficients) > 1)
    model = automaton_model(read.automaton, Init(starts, where))
    forbidden = _comparisons(read, entries.get("forbidden", ""))
    if not forbidden:
        return Task(model)
    rows = tuple(Atom(_condition(row)) for row in forbidden)
    bad = And(rows) if len(rows) > 1 else rows[0]
    horizon = Bound(Fraction(0), _horizon(read, entries.get("time-horizon")))
    return Task(model, {SAFE: Always(Not(bad), horizon)})


def _comparisons(read: SpaceExModel, text: str) -> list[LinearComparison]:
    """The comparisons of a condition on the state; those on locations and on the clock are left out."""
    kept = [part for part in re.split("&&?", text) if not PLACE.fullmatch(part)]
    rows = parse_comparisons("&".join(kept)) if any(part.strip() for part in kept) else []
    for name in {name for row in rows for name in row.term.coefficients}:
        if name not in read.automaton.variables and name != read.clock:
            raise FormatError(f"{name!r} is no variable of the model")
    return [row for row in rows if read.clock not in row.term.coefficients]


def _narrowed(start: Start, name: str, rows: Iterable[LinearComparison]) -> Start:
    """What comparisons of a variable with numbers leave of its initial values."""
    low, high = start.ends
    for row in rows:
        a = row.term.coefficients.get(name)
        if a is not None:
            end = -row.term.constant / a
            high = min(high, end) if a > 0 or row.equation else high
            low = max(low, end) if a < 0 or row.equation else low
    if low > high:
        raise FormatError(f"initially: no value is left for {name!r} in the region")
    return Span(low, high)


def _condition(row: LinearComparison) -> Expr:
    """A comparison over the state variables."""
    named = row.term.coefficients
    factor = 1 / abs(next(iter(named.values()))) if named else Fraction(1)
    if all(a < 0 for a in named.values()) and not row.equation:
        return build.compare(">=", _sum(named, -factor), factor * row.term.constant)
    return build.compare("==" if row.equation else "<=", _sum(named, factor), -factor * row.term.constant)


def _sum(named: Mapping[str, Fraction], factor: Fraction) -> Expr:
    """A multiple of a linear function without its constant."""
    terms = [(factor * a, build.var(name, REAL)) for name, a in named.items()]
    return build.add(*(var if a == 1 else build.mul(a, var) for a, var in terms)) if terms else build.const(0)


def _horizon(read: SpaceExModel, text: str | None) -> Fraction:
    try:
        horizon = read.horizon if text is None else Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise FormatError(f"time-horizon is no number: {text!r}") from None
    if horizon is None or horizon <= 0:
        raise FormatError("forbidden states need a time-horizon above 0")
    return horizon
