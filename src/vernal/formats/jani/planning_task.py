"""A planning model, its policy and a safety property as an ordinary task.

    task = load_jani("blocks.jani", property="pa.jani#0", constants={"K": 8})

The property is `G !unsafe` from the start condition, for all time; `not_stuck` asks whether the policy always chooses
something that exists as long as anything does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from vernal.errors import InputError
from vernal.formats.jani.composition import PlanningModel, read_model
from vernal.formats.jani.declarations import setting, whole_range
from vernal.formats.jani.dynamics import EDGE, STUCK, applicable, inside_ranges, planning_system
from vernal.formats.jani.entries import JsonEntry, read_json
from vernal.formats.jani.policy import PolicyInterface, read_policy
from vernal.formats.jani.properties import PropertyReader, SafetyProperty, pick, safety_entries, skipped
from vernal.formats.jani.state_lists import StateList
from vernal.formats.task.blueprint import Override
from vernal.interpret.discrete.initial_states import narrowed
from vernal.logic.elaboration import Scope, expression
from vernal.logic.formula import Always, And, Atom, Formula, Not, Or
from vernal.logic.syntax import Source
from vernal.logic.task import InputFile, Task
from vernal.model import build
from vernal.model import expr as e
from vernal.model.build import FALSE, TRUE
from vernal.model.checks import value_of
from vernal.model.components import arrays_of, index_ranges
from vernal.model.expr import Expr, Role
from vernal.model.graph import order, variables
from vernal.model.initial import OneOf, Span, Start
from vernal.model.numbers import as_written
from vernal.model.sorts import BOOL, REAL
from vernal.model.system import Init, System
from vernal.model.tick import Tick, idle

NOT_STUCK = "not_stuck"
APPLICABLE = "applicable"
SAFE = "safe"  # the name of a property that is written as two conditions
NONE = SafetyProperty("", None, FALSE)  # of a model that says none: from its own initial states, whatever is asked


def load_jani(
    model: str | Path,
    *,
    policy: str | Path | None = None,
    property: str | Path | None = None,
    constants: Mapping[str, Override] | None = None,
    start: str | None = None,
    unsafe: str | None = None,
    filter: str | None = None,
) -> Task:
    """The task that a JANI model, a policy and a property make.

    `property` is a PA property, FILE#NUMBER or FILE#NAME, of the model itself without FILE; `start` and `unsafe` are
    expressions in its place. `policy` is a jani2nnet or TOML file; without it, the property's own, or none at all.
    `filter="applicable"` lets the policy choose among applicable actions only.

    Example: `vn.load_jani("blocks.jani", policy="net.jani2nnet", property="pa.jani#0")`
    """
    given = {"policy": policy, "property": property, "start": start, "unsafe": unsafe, "filter": filter}
    return open_jani(model, {name: str(text) for name, text in given.items() if text is not None}).task(constants or {})


def open_jani(model: str | Path, options: Mapping[str, str], tick: Tick = idle) -> PlanningBlueprint:
    """A model to make tasks from, one for each choice of constants."""
    return PlanningBlueprint(*read_json(Path(model)), options, tick)


@dataclass(frozen=True, slots=True)
class PlanningBlueprint:
    """A JANI model that was read, and what was said about policy and property."""

    entry: JsonEntry
    source: InputFile
    options: Mapping[str, str]
    tick: Tick = idle  # called while a task is made

    def task(self, constants: Mapping[str, Override]) -> Task:
        """The task with these constants."""
        model = read_model(self.entry, {name: _setting(name, value) for name, value in constants.items()}, self.tick)
        asked = self._property(model)
        policy = self._policy(asked)
        interface = None if policy is None else read_policy(policy, model)
        filtered = self._is_filtered(interface)
        moves = inside_ranges(model, self.tick)
        system = planning_system(model, moves, interface, initial_states(model, asked, self.tick), filtered)
        return Task(
            system,
            _properties(system, asked),
            {name: constant.value for name, constant in model.constants.items()},
            dict(model.constants),
            source=self.source,
            networks=(*(interface.files if interface else ()), *asked.files),
            predicates=asked.predicates,
            options=self.options,
            proviso=_proviso(moves.leaving),
            counts={"outcomes": len(moves.outcomes), "dropped_out_of_range": moves.leaving},
            labels={EDGE: tuple(outcome.label for outcome in moves.outcomes)},
            left_out="" if asked.name else skipped(self.entry),
            applicable={} if interface is None or filtered else applicable(moves.outcomes, interface),
        )

    def _policy(self, asked: SafetyProperty) -> Path | None:
        named = self.options.get("policy")
        return asked.policy if named is None else Path(named)

    def _is_filtered(self, policy: PolicyInterface | None) -> bool:
        asked = self.options.get("filter")
        if asked is None:
            return policy is not None and policy.filter
        if asked != APPLICABLE:
            raise InputError(f"--filter is {APPLICABLE!r}, not {asked!r}")
        if policy is None:
            raise InputError("--filter needs a policy: name one with --policy")
        return True

    def _property(self, model: PlanningModel) -> SafetyProperty:
        """The PA property that is asked for, or the one that --start and --unsafe make."""
        start, unsafe, which = (self.options.get(name) for name in ("start", "unsafe", "property"))
        if start is None and unsafe is None:
            if which is None and not safety_entries(self.entry):
                return NONE
            return _named(model, which or "")
        if which is not None:
            raise InputError("a PA property, or --start and --unsafe, not both: leave out one of them")
        return SafetyProperty(
            SAFE,
            None if start is None else _written(model, start, "--start"),
            FALSE if unsafe is None else _written(model, unsafe, "--unsafe"),
        )


def _setting(name: str, value: Override) -> Fraction | bool:
    if isinstance(value, str):
        return setting(name, value)
    given = as_written(value)
    return given if isinstance(given, bool) else value_of(REAL, given)


def _proviso(leaving: int) -> str | None:
    if not leaving:
        return None
    outcomes = "1 outcome" if leaving == 1 else f"{leaving} outcomes"
    return f"successors outside declared ranges are no transitions ({outcomes})"


# The property ---------------------------------------------------------------------------------------------------------


def _written(model: PlanningModel, text: str, option: str) -> Expr:
    state = [one.variable for one in model.state]
    names = {**model.constants, **model.transients, **{variable.name: variable.var for variable in state}}
    scope = Scope(names, arrays=arrays_of(state), ranges=index_ranges(state))
    return expression(Source(text, option), scope, BOOL)


def _named(model: PlanningModel, which: str) -> SafetyProperty:
    """`FILE#NUMBER`, `FILE#NAME`, or of the model's own file `#NUMBER`; the only one where no number is given."""
    name, _, number = which.partition("#")
    if not name:
        return PropertyReader(model).read(pick(model.entry, number))
    whole, source = read_json(Path(name))
    return PropertyReader(model, [source]).read(pick(whole, number))


def _properties(system: System, asked: SafetyProperty) -> dict[str, Formula]:
    unsafe = asked.unsafe
    safe = as_formula(unsafe.args[0]) if isinstance(unsafe, e.Not) else Not(as_formula(unsafe))
    found: dict[str, Formula] = {asked.name: Always(safe)} if asked.name else {}
    for name, body in system.lets.items():
        if name.startswith(STUCK):
            found[NOT_STUCK] = Always(Not(Atom(build.var(name, body.sort, body.shape, Role.LET))))
    return found


def as_formula(condition: Expr) -> Formula:
    """A condition with its Boolean structure as that of a formula."""
    made: dict[Expr, Formula] = {}
    for node in order([condition]):
        parts = tuple(made.get(arg, Atom(arg)) for arg in node.args) if node.sort == BOOL else ()
        match node:
            case e.And():
                made[node] = And(parts)
            case e.Or():
                made[node] = Or(parts)
            case e.Not():
                made[node] = Not(parts[0])
            case _ if node.sort == BOOL:
                made[node] = Atom(node)
    return made[condition]


# Initial states -------------------------------------------------------------------------------------------------------


def initial_states(model: PlanningModel, asked: SafetyProperty, tick: Tick = idle) -> Init:
    if asked.start is None:
        starts = {one.variable.name: one.start for one in model.state}
        return Init(starts, () if model.restriction is TRUE else (model.restriction,))
    if isinstance(asked.start, StateList):
        return asked.start.init(model.state)
    conditions = asked.start.args if isinstance(asked.start, e.And) else (asked.start,)
    where = tuple(condition for condition in conditions if condition is not TRUE)
    discrete = [part for part in where if all(var.sort != REAL for var in variables([part]))]
    left = narrowed(discrete, {one.variable.var: whole_range(one.variable) for one in model.state}, tick)
    left = {var: _cut(start, var, where) if var.sort == REAL else start for var, start in left.items()}
    return Init({one.variable.name: left[one.variable.var] for one in model.state}, where)


def _cut(start: Start, var: Expr, where: Sequence[Expr]) -> Start:
    """What comparisons with numbers leave of the start of a real variable; as it was where they leave nothing."""
    lower, upper = start.ends
    for part in where:
        if isinstance(part, e.Compare) and part.op != "!=" and var in part.args:
            below, above = part.args
            equal = part.op == "=="
            if isinstance(above, e.Const):
                lower, upper = max(lower, above.value) if equal else lower, min(upper, above.value)
            elif isinstance(below, e.Const):
                lower, upper = max(lower, below.value), min(upper, below.value) if equal else upper
    if lower > upper:
        return start
    return OneOf((lower,)) if lower == upper else Span(lower, upper)
