"""The quantities of a task: parameters, constants, state variables and where they start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from vernal.errors import InputError, NameUnknown, ParseError, TypeClash, nearest
from vernal.formats.task.arrays import check_entries, component_names, spoken_of, without_entry
from vernal.formats.task.expressions import Reader
from vernal.formats.task.names import FIXED, Owner, Use, circle_error, in_order, label_problem, words
from vernal.formats.task.places import Path
from vernal.logic import syntax as s
from vernal.logic.parser import parse_sort
from vernal.model import build
from vernal.model.checks import check_start, value_of
from vernal.model.components import MAX_COMPONENTS
from vernal.model.expr import Const, Expr
from vernal.model.numbers import show
from vernal.model.sorts import BOOL, INT, REAL, Kind, Sort, enum
from vernal.model.system import Init, OneOf, Span, Start, Variable

SORTS = ("real", "int", "bool", "enum")
MAX_LABELS = 5000
PARAMETERS = frozenset({Owner.PARAMETER})
CONSTRAINT = Use("a constraint of [init]", FIXED | {Owner.STATE})


def define(reader: Reader, prefix: Path, entries: Mapping[str, object], read: Callable[[str, Path], None]) -> None:
    """Read definitions that may use each other, each after those it needs; a circle is one problem."""
    needs: dict[str, set[str]] = {}
    for name, value in entries.items():
        with reader.collect((*prefix, name), name):
            needs[name] = words(reader.parse((*prefix, name))[0]) if isinstance(value, str) else set()
    order, circles = in_order(needs)
    reader.broken.update(needs.keys() - set(order))
    for circle in circles:
        reader.problems.append(circle_error(circle, (*prefix, circle[0]), reader.places))
    for name in order:
        with reader.collect((*prefix, name), name):
            read(name, (*prefix, name))


def read_parameters(reader: Reader, parameters: Mapping[str, object]) -> dict[str, Fraction]:
    """Parameters are rational numbers."""
    values: dict[str, Fraction] = {}

    def read(name: str, path: Path) -> None:
        values[name] = reader.constant(path, parameters[name], Use(f"parameter {name!r}", PARAMETERS))
        reader.names[name] = build.const(values[name])

    define(reader, ("parameters",), parameters, read)
    return {name: values[name] for name in parameters if name in values}


def read_constants(reader: Reader, constants: Mapping[str, object]) -> dict[str, Expr]:
    """Constants are expressions over parameters and other constants; pi and its like may stay as they are."""
    values: dict[str, Expr] = {}

    def read(name: str, path: Path) -> None:
        values[name] = reader.expression(path, constants[name], Use("a constant", FIXED))
        reader.names[name] = values[name]

    define(reader, ("constants",), constants, read)
    return {name: values[name] for name in constants if name in values}


# State ----------------------------------------------------------------------------------------------------------------


def read_state(reader: Reader, declarations: Mapping[str, str]) -> dict[str, Variable]:
    """Every declared variable that could be understood."""
    state: dict[str, Variable] = {}
    if not declarations and not any(owner is Owner.STATE for owner in reader.owners.values()):
        message = 'there is no state variable; declare one, as in h = "real [-1, 1]"'
        reader.problems.append(ParseError(message, place=reader.places.key_place(("state",))))
    for name in declarations:
        path: Path = ("state", name)
        with reader.collect(path, name):
            source = reader.places.source(path)
            left = MAX_COMPONENTS - len(state)
            for variable in _variables(reader, name, parse_sort(source, reader.tick), source, left):
                state[variable.name] = variable
                reader.names[variable.name] = variable.var
    return state


def _variables(reader: Reader, name: str, sort: s.WrittenSort, source: s.Source, left: int) -> list[Variable]:
    """One variable, or one for each component of an array."""
    variable = _variable(reader, name, sort, source)
    if sort.size is None:
        return [variable]
    place = source.place(*sort.size.span)
    size = reader.constant_of(sort.size.count, source, "the size of an array")
    if size.denominator != 1 or size < 1:
        raise TypeClash(f"the size of an array is a positive integer, not {show(size)}", place=place)
    if size > left:
        message = (
            f"with these {show(size)} components the state has more than {MAX_COMPONENTS:,}, the most that are read"
        )
        raise TypeClash(message, place=place)
    return [replace(variable, name=part) for part in component_names(name, int(size))]


def _variable(reader: Reader, name: str, sort: s.WrittenSort, source: s.Source) -> Variable:
    match sort.name, sort.domain:
        case (("real" | "int"), None):
            return Variable(name, INT if sort.name == "int" else REAL)
        case (("real" | "int"), s.WrittenRange() as domain):
            lower, upper = _range(reader, domain, source, integral=sort.name == "int")
            return Variable(name, INT if sort.name == "int" else REAL, lower, upper)
        case "bool", None:
            return Variable(name, BOOL)
        case "enum", s.Members(items):
            return Variable(name, enum(*_labels(reader, items, source)))
    if sort.name not in SORTS:
        known = f'{nearest(sort.name, SORTS)} (as in "real [-1, 1]", "int [0, 9]", "bool", "enum {{RED, GREEN}}")'
        raise NameUnknown(f"unknown sort {sort.name!r}{known}", place=source.place(*sort.span))
    forms = {"bool": 'bool has no range; write "bool"', "enum": 'write "enum {RED, GREEN}"'}
    advice = forms.get(sort.name, f'a range is written "{sort.name} [lower, upper]"')
    raise ParseError(f"this is not a declaration: {advice}", place=source.place(*sort.span))


def _range(reader: Reader, domain: s.WrittenRange, source: s.Source, *, integral: bool) -> tuple[Fraction, Fraction]:
    lower, upper = (reader.constant_of(end, source, "the end of a range") for end in (domain.lower, domain.upper))
    if lower > upper:
        message = f"[{show(lower)}, {show(upper)}] is an inverted interval: the lower end comes first"
        raise TypeClash(message, place=source.place(*domain.span))
    if integral and (lower.denominator, upper.denominator) != (1, 1):
        raise TypeClash("the ends of an int's range must be integers", place=source.place(*domain.span))
    return lower, upper


def _labels(reader: Reader, items: tuple[s.Syntax, ...], source: s.Source) -> list[str]:
    if len(items) > MAX_LABELS:
        message = (
            f"this enum has {len(items):,} labels; at most {MAX_LABELS:,} are read. An int with a range has any number"
        )
        raise ParseError(message, place=source.place(*items[MAX_LABELS].span))
    labels: dict[str, None] = {}  # in the order in which they are written
    for item in items:
        if not isinstance(item, s.Identifier):
            raise ParseError("a label is a name, as in enum {RED, GREEN}", place=source.place(*item.span))
        problem = label_problem(item.text, reader.owners)
        if item.text in labels or problem:
            raise ParseError(problem or f"label {item.text!r} appears twice", place=source.place(*item.span))
        labels[item.text] = None
    return list(labels)


# Initial values -------------------------------------------------------------------------------------------------------


def read_init(reader: Reader, init: Mapping[str, object], state: Mapping[str, Variable], lost: set[Path]) -> Init:
    """A start for every variable, and the constraints that cut them."""
    starts: dict[str, Start] = {}
    for name, value in init.items():
        if name == "where":
            continue
        with reader.collect(("init", name)):
            starts |= _starts(reader, ("init", name), value, spoken_of(reader, ("init", name), init, state))
    missing = without_entry(reader, init, lost, "init")
    if missing:
        message = f"no initial value for {', '.join(missing)}; every variable needs one: a value, [lo, hi] or {{a, b}}"
        reader.problems.append(ParseError(message, place=reader.places.key_place(("init",))))
    ordered = {name: starts[name] for name in state if name in starts}
    return Init(ordered, _where(reader, init.get("where", [])))


def _starts(reader: Reader, path: Path, value: object, variables: Sequence[Variable]) -> dict[str, Start]:
    """A start for each variable that an entry speaks of: the same for all components of an array, or one for each."""
    if path[-1] in reader.arrays and isinstance(value, list):
        check_entries(variables, value)
        paths = [(*path, index) for index in range(len(value))]
        return {v.name: _start(reader, v, p, x) for v, p, x in zip(variables, paths, value, strict=True)}
    if isinstance(value, str) and isinstance(reader.parse(path, region=True)[0], s.WrittenArray):
        return _written_out(reader, path, variables)
    return {variable.name: _start(reader, variable, path, value) for variable in variables}


def _written_out(reader: Reader, path: Path, variables: Sequence[Variable]) -> dict[str, Start]:
    """`[... for i in 0..8]`: a constant for each component."""
    if path[-1] not in reader.arrays:
        raise TypeClash(f"{path[-1]!r} is one value, but this is an array", place=reader.places.value_place(path))
    use = Use("an initial value", FIXED)
    nodes = reader.components(path, use, variables[0].sort, len(variables), region=True)
    if not all(isinstance(node, Const) for node in nodes):
        raise TypeClash("an initial value must be known in advance (pi, sin, exp, ... are not rational)")
    values = {v.name: node.value for v, node in zip(variables, nodes, strict=True) if isinstance(node, Const)}
    return {variable.name: check_start(variable, OneOf((values[variable.name],))) for variable in variables}


def _start(reader: Reader, variable: Variable, path: Path, value: object) -> Start:
    if isinstance(value, list):
        message = 'an initial value is a number, a truth value or a string; write an interval as a string "[lo, hi]"'
        raise ParseError(message, place=reader.places.value_place(path))
    if not isinstance(value, str):
        return check_start(variable, OneOf((_plain(reader, path, value, variable),)))
    syntax, source = reader.parse(path, region=True)
    return _located(lambda: check_start(variable, _region(reader, variable, syntax, source)), syntax, source)


def _plain(reader: Reader, path: Path, value: object, variable: Variable) -> Fraction:
    if isinstance(value, bool):
        return value_of(variable.sort, value)
    if not variable.sort.is_number:
        raise TypeClash(f"{variable.name!r} is of sort {variable.sort}, but its initial value is a number")
    return reader.rational(reader.number(path, value), "an initial value")


def _located(make: Callable[[], Start], syntax: s.Syntax, source: s.Source) -> Start:
    try:
        return make()
    except InputError as error:
        raise error if error.place else error.at(source.place(*syntax.span)) from None


def _region(reader: Reader, variable: Variable, syntax: s.Syntax, source: s.Source) -> Start:
    if isinstance(syntax, s.Members):
        values = (_value(reader, variable, item, source) for item in syntax.items)
        return OneOf(tuple(dict.fromkeys(values)))
    if isinstance(syntax, s.WrittenRange):
        if not variable.sort.is_number:
            raise TypeClash(f"{variable.name!r} is of sort {variable.sort}; its initial values are a set {{a, b}}")
        lower, upper = (reader.constant_of(x, source, "the end of an interval") for x in (syntax.lower, syntax.upper))
        return Span(lower, upper)
    return OneOf((_value(reader, variable, syntax, source),))


def _value(reader: Reader, variable: Variable, syntax: s.Syntax, source: s.Source) -> Fraction:
    if variable.sort.is_number:
        return reader.constant_of(syntax, source, "an initial value")
    try:
        if not isinstance(syntax, s.Identifier):
            raise TypeClash(f"{variable.name!r} is of sort {variable.sort}; give one of its values")
        return value_of(variable.sort, _truth(variable.sort, syntax.text))
    except TypeClash as error:
        raise error.at(source.place(*syntax.span)) from None


def _truth(sort: Sort, text: str) -> bool | str:
    return {"true": True, "false": False}.get(text, text) if sort.kind is Kind.BOOL else text


def _where(reader: Reader, where: object) -> tuple[Expr, ...]:
    """Constraints are Boolean and about the state alone."""
    if not isinstance(where, list):
        message = 'where is an array of constraints, as in where = ["h + v <= 0"]'
        reader.problems.append(ParseError(message, place=reader.places.value_place(("init", "where"))))
        return ()
    constraints: list[Expr] = []
    for index, value in enumerate(where):
        path: Path = ("init", "where", index)
        with reader.collect(path):
            constraints.append(reader.truth(path, value, CONSTRAINT))
    return tuple(constraints)
