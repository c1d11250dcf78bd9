"""A planning model, its policy and a safety property as an ordinary task.

    task = load_jani("blocks.jani", property="pa.jani#0", constants={"K": 8})

The property is `G !unsafe` from the start condition, for all time; `not_stuck` asks whether the policy always chooses
something that exists as long as anything does.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from vernal.errors import InputError
from vernal.formats.jani.compose import PlanningModel, read_model
from vernal.formats.jani.declare import Settings, setting, whole_range
from vernal.formats.jani.dynamics import STUCK, inside_ranges, planning_system
from vernal.formats.jani.entries import read_json
from vernal.formats.jani.policy import PolicyInterface, read_policy
from vernal.formats.jani.properties import PropertyReader, SafetyProperty, StateList, pick
from vernal.logic.elaborate import Scope, expression
from vernal.logic.formula import Always, And, Atom, Formula, Not, Or
from vernal.logic.syntax import Source
from vernal.logic.task import InputFile, Task
from vernal.model import build
from vernal.model import expr as e
from vernal.model.build import TRUE
from vernal.model.expr import Expr, Role
from vernal.model.graph import order
from vernal.model.initial import OneOf, Start
from vernal.model.sorts import BOOL
from vernal.model.system import Init, System

NOT_STUCK = "not_stuck"
APPLICABLE = "applicable"

Override = str | int | float | Fraction | bool


def load_jani(
    model: str | Path,
    *,
    policy: str | Path | None = None,
    property: str | None = None,
    constants: Mapping[str, Override] | None = None,
    start: str | None = None,
    unsafe: str | None = None,
    filter: str | None = None,
) -> Task:
    """The task that a JANI model, a policy and a property make.

    `property` is a PA property, FILE#NUMBER or FILE#NAME, of the model itself without FILE; `start` and `unsafe` are
    expressions in its place. `policy` is a jani2nnet or TOML file; without it, the property's own, or none at all.
    """
    file = Path(model)
    whole, source = read_json(file)
    given = {name: _setting(name, value) for name, value in (constants or {}).items()}
    planning = read_model(whole, given)
    asked, files = _property(planning, file, property, start, unsafe)
    chosen = Path(policy) if policy is not None else asked.policy
    interface = None if chosen is None else read_policy(chosen, planning)
    filtered = _filtered(interface, filter)
    moves = inside_ranges(planning)
    system = planning_system(planning, moves, interface, _init(planning, asked), filtered)
    read = (*(interface.files if interface else ()), *files)
    return Task(system, _properties(system, asked), _numbers(planning), dict(planning.constants), {}, source, read)


def _setting(name: str, value: Override) -> Fraction | bool:
    if isinstance(value, str):
        return setting(name, value)
    return value if isinstance(value, bool) else Fraction(str(value))


def _filtered(policy: PolicyInterface | None, asked: str | None) -> bool:
    if asked is None:
        return policy is not None and policy.filter
    if asked != APPLICABLE:
        raise InputError(f"--filter is {APPLICABLE!r}, not {asked!r}")
    if policy is None:
        raise InputError("--filter needs a policy: name one with --policy")
    return True


def _numbers(model: PlanningModel) -> dict[str, Fraction]:
    return {name: constant.value for name, constant in model.constants.items()}


# The property ---------------------------------------------------------------------------------------------------------


def _property(
    model: PlanningModel, file: Path, which: str | None, start: str | None, unsafe: str | None
) -> tuple[SafetyProperty, tuple[InputFile, ...]]:
    if start is None and unsafe is None:
        return _named(model, file, which)
    if which is not None:
        raise InputError("a property or --start and --unsafe, not both: leave out one of them")
    made = SafetyProperty(
        "safe",
        None if start is None else _written(model, start, "--start"),
        build.FALSE if unsafe is None else _written(model, unsafe, "--unsafe"),
        (),
        None,
        (),
    )
    return made, ()


def _written(model: PlanningModel, text: str, option: str) -> Expr:
    return expression(Source(text, option), Scope(dict(model.names)), BOOL)


def _named(model: PlanningModel, file: Path, which: str | None) -> tuple[SafetyProperty, tuple[InputFile, ...]]:
    name, _, number = (which or "").partition("#")
    whole, files = model.entry, []
    if name:
        whole, source = read_json(Path(name))
        files.append(source)
    asked = PropertyReader(model).read(pick(whole, number))
    return asked, (*files, *asked.files)


def _properties(system: System, asked: SafetyProperty) -> dict[str, Formula]:
    found: dict[str, Formula] = {asked.name: Always(Not(as_formula(asked.unsafe)))}
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


def _init(model: PlanningModel, asked: SafetyProperty) -> Init:
    if asked.start is None:
        starts = {one.variable.name: one.start for one in model.state}
        return Init(starts, () if model.restriction is TRUE else (model.restriction,))
    if isinstance(asked.start, StateList):
        return _listed(model, asked.start)
    starts = {one.variable.name: whole_range(one.variable) for one in model.state}
    conditions = asked.start.args if isinstance(asked.start, e.And) else (asked.start,)
    return Init(starts, tuple(condition for condition in conditions if condition is not TRUE))


def _listed(model: PlanningModel, given: StateList) -> Init:
    columns = list(zip(*given.states, strict=True))
    names = [one.variable.name for one in model.state]
    starts: dict[str, Start] = {
        name: OneOf(tuple(sorted(set(column)))) for name, column in zip(names, columns, strict=True)
    }
    variables = [one.variable for one in model.state]
    rows = [
        build.conj(
            *(
                build.eq(variable.var, e.Const((), variable.sort, (), (value,)))
                for variable, value in zip(variables, state, strict=True)
                if not starts[variable.name].is_point
            )
        )
        for state in given.states
    ]
    whole = build.disj(*rows)
    return Init(starts, () if whole is TRUE else (whole,))


__all__ = ["Settings", "load_jani"]
