"""Continuous time in a task file: `[flow]` with the rates of change, and `[abstraction]`.

There the ranges of variables are the region, and everything that is written has to have a value in all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import inf

from vernal.errors import InputError, NameUnknown, ParseError, TypeClash, nearest
from vernal.formats.task.arrays import spoken_of, values_of
from vernal.formats.task.expressions import Reader
from vernal.formats.task.names import FIXED, Owner, Use
from vernal.formats.task.places import Path
from vernal.formats.task.schema import AbstractionTable, TaskTable
from vernal.logic.formula import Formula
from vernal.logic.normal import atoms
from vernal.logic.task import (
    MAX_ABSTRACTED,
    MAX_LAYERS,
    MAX_SAMPLES,
    MAX_WIDTH,
    UNSAID,
    AbstractionSettings,
    Transitions,
)
from vernal.model.checks import check_rate
from vernal.model.closed_graph import resolve_lets
from vernal.model.expr import Expr, Var
from vernal.model.flow import constraint_problem, rate_problem, region_problem
from vernal.model.initial import Ends, Init
from vernal.model.numbers import show
from vernal.model.sorts import REAL
from vernal.model.system import Variable
from vernal.sets.operator_domains import first_gap

RATE = Use("a rate", FIXED | {Owner.STATE, Owner.LET})
SETTING = Use("a certified error", FIXED)
Region = Mapping[Var, Ends]

NO_PREDICATES = "predicates are for systems that move in steps; a flow takes none"


def refuse_predicates(reader: Reader) -> None:
    """A problem for predicates beside [flow]."""
    if ("predicates",) in reader.places:
        reader.problems.append(ParseError(NO_PREDICATES, place=reader.places.key_place(("predicates",))))


def refuse_settings(reader: Reader, table: TaskTable) -> None:
    """A problem for settings of an abstraction where no flow is abstracted."""
    if table.abstraction is not None:
        message = "[abstraction] says how a flow is abstracted, and this task has no [flow]"
        reader.problems.append(ParseError(message, place=reader.places.key_place(("abstraction",))))


def refuse_regionless(
    reader: Reader, state: Mapping[str, Variable], problem_of: Callable[[Variable], str | None]
) -> dict[str, Variable]:
    """A problem for each variable without a region; they, by the names they are declared under. An array is one."""
    found: dict[str, Variable] = {}
    for name, variable in state.items():
        path: Path = ("state", name if ("state", name) in reader.places else name.partition("[")[0])
        problem = problem_of(variable)
        if problem is not None and path[-1] not in found:
            found[str(path[-1])] = variable
            reader.problems.append(TypeClash(problem, place=reader.place(path)))
    if "let" in state:
        message = "'let' introduces the named expressions of [flow]; rename this state variable"
        reader.problems.append(ParseError(message, place=reader.places.key_place(("state", "let"))))
    return found


def read_region(reader: Reader, state: Mapping[str, Variable]) -> Region | None:
    """The range of each variable; None where some have none, or are no reals."""
    before = len(reader.problems)
    for name, variable in refuse_regionless(reader, state, region_problem).items():
        if variable.sort != REAL or variable.lower is not None:  # where it starts, and how it moves, is as wrong
            reader.broken.add(name)
            reader.arrays.pop(name, None)
    if len(reader.problems) > before:
        return None
    return {v.var: (v.lower, v.upper) for v in state.values() if v.lower is not None and v.upper is not None}


def refuse_nonlinear(reader: Reader, written: Mapping[str, object], init: Init) -> None:
    """A problem for each constraint on initial states that makes them no polyhedron."""
    where = written.get("where", [])
    if not isinstance(where, list) or len(where) != len(init.where):
        return  # some could not be read, which was said
    for index, constraint in enumerate(init.where):
        with reader.collect(("init", "where", index)):
            _refuse(constraint_problem(constraint))


def read_rates(
    reader: Reader,
    table: TaskTable,
    state: Mapping[str, Variable],
    lets: Mapping[str, Expr],
    region: Region | None,
    use: Use = RATE,
) -> dict[str, Expr]:
    """The rate of change of each variable that has one; where the region is not known, it may be undefined there."""
    values: dict[str, Expr] = {}
    written = {name: value for name, value in (table.flow or {}).items() if name != "let" or name in state}
    _refuse_other_let(reader, table)
    for name, value in written.items():
        path: Path = ("flow", name)
        with reader.collect(path):
            variables = spoken_of(reader, path, written, state)
            if isinstance(value, dict):
                raise TypeClash(f"the rate of {name!r} is an expression, but this is a table")
            for variable, node in zip(variables, values_of(reader, path, value, variables, use), strict=True):
                check_rate(variable, node)
                (closed,) = resolve_lets([node], lets)
                _refuse(rate_problem(closed))
                _refuse(undefined(reader, [closed], region))
                values[variable.name] = node
    return values


def _refuse_other_let(reader: Reader, table: TaskTable) -> None:
    if "let" in (table.flow or {}) and not isinstance((table.flow or {})["let"], dict):
        message = "[flow.let] is a table of named expressions"
        reader.problems.append(ParseError(message, place=reader.places.key_place(("flow", "let"))))


def _refuse(problem: str | None) -> None:
    if problem is not None:
        raise TypeClash(problem)


def undefined(reader: Reader, roots: Sequence[Expr], region: Region | None) -> str | None:
    """What is not defined in the whole region, if it is known and anything is not."""
    if region is None:
        return None
    gap = first_gap(roots, tuple(region), tuple(region.values()), reader.tick)
    return None if gap is None else str(gap)


def refuse_undefined(
    reader: Reader, properties: Mapping[str, Formula], lets: Mapping[str, Expr], region: Region | None
) -> None:
    """A problem for each property with a condition that has no value in some of the region."""
    for name, formula in properties.items():
        with reader.collect(("properties", name)):
            _refuse(undefined(reader, resolve_lets(list(atoms(formula)), lets), region))


# Settings -------------------------------------------------------------------------------------------------------------


def read_settings(reader: Reader, table: AbstractionTable | None, names: Sequence[str]) -> AbstractionSettings:
    """`[abstraction]`, where there is one."""
    if table is None:
        return UNSAID
    if len(names) > MAX_ABSTRACTED:
        message = f"a flow of {len(names)} variables is not abstracted in practical time; {MAX_ABSTRACTED} are the most"
        reader.problems.append(ParseError(message, place=reader.places.key_place(("abstraction",))))
    _check_counts(reader, table)
    error: tuple[Fraction, ...] | None = None
    with reader.collect(("abstraction", "error")):
        error = _errors(reader, table.error, names)
    transitions: Transitions | None = None
    with reader.collect(("abstraction", "transitions")):
        transitions = _transitions(table.transitions)
    widths = None if table.widths is None else tuple(table.widths)
    return AbstractionSettings(widths, error, table.samples, table.rounds, table.seed, transitions)


def _transitions(word: str | None) -> Transitions | None:
    words = [str(one) for one in Transitions]
    if word is not None and word not in words:
        raise InputError(f"there are no transitions {word!r}{nearest(word, words)}")
    return None if word is None else Transitions(word)


def _check_counts(reader: Reader, table: AbstractionTable) -> None:
    ends = {"samples": (1, MAX_SAMPLES), "rounds": (1, inf), "seed": (0, inf)}
    for key, (least, most) in ends.items():
        value = getattr(table, key)
        if value is not None and not least <= value <= most:
            what = f"at least {least}" if value < least else f"at most {most}"
            place = reader.places.value_place(("abstraction", key))
            reader.problems.append(ParseError(f"{key} is {what}, not {value}", place=place))
    for index, width in enumerate((table.widths or ())[: MAX_LAYERS + 1]):
        if not 1 <= width <= MAX_WIDTH:
            neurons = "at least 1 neuron" if width < 1 else f"at most {MAX_WIDTH} neurons"
            place = reader.places.value_place(("abstraction", "widths", index))
            reader.problems.append(ParseError(f"a layer has {neurons}, not {width}", place=place))
    if table.widths is not None and not 1 <= len(table.widths) <= MAX_LAYERS:
        told = (
            f"{len(table.widths)} layers; {MAX_LAYERS} are the most" if table.widths else "no layer; give at least one"
        )
        place = reader.places.value_place(("abstraction", "widths"))
        reader.problems.append(ParseError(f"widths names {told}", place=place))


def _errors(reader: Reader, error: object, names: Sequence[str]) -> tuple[Fraction, ...] | None:
    """A bound on the error for each variable, from one for all, an array, or a table."""
    path: Path = ("abstraction", "error")
    match error:
        case None:
            return None
        case dict():
            return _named_errors(reader, error, names)
        case list():
            if len(error) != len(names):
                raise TypeClash(f"error has {len(error)} entries, but there are {len(names)} variables")
            return tuple(_error(reader, (*path, index), value) for index, value in enumerate(error))
    return (_error(reader, path, error),) * len(names)


def _named_errors(reader: Reader, error: Mapping[str, object], names: Sequence[str]) -> tuple[Fraction, ...]:
    path: Path = ("abstraction", "error")
    for name in error:
        if name not in names:
            place = reader.places.key_place((*path, name))
            raise NameUnknown(f"there is no state variable {name!r}{nearest(name, names)}", place=place)
    missing = [name for name in names if name not in error]
    if missing:
        raise TypeClash(f"error says nothing of {', '.join(missing)}; give a number for each variable")
    return tuple(_error(reader, (*path, name), error[name]) for name in names)


def _error(reader: Reader, path: Path, value: object) -> Fraction:
    found = reader.constant(path, value, SETTING)
    if found <= 0:
        raise TypeClash(f"the certified error is positive, not {show(found)}", place=reader.place(path))
    return found
