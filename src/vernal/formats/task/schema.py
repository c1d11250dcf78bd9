"""The shape of a task file: which tables and keys there are, and what kind of value stands under each.

The shape is declared once, as msgspec structures. `fit` lays a document against it and reports everything that does not
fit, not only the first thing; what fits goes on to be understood, so that one reading of a file shows all its problems.
`vernal schema task` prints the same structures as JSON Schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from vernal.errors import InputError, ParseError, Place
from vernal.formats.task.places import Path, Places

Expression: TypeAlias = Annotated[str | int | float | bool, Meta(description="an expression (a string) or a number")]
NumberField: TypeAlias = Annotated[
    str | int | float, Meta(description="a number, or a constant expression as a string")
]
NextField: TypeAlias = Annotated[
    str | int | float | bool | list[Expression],
    Meta(description="an expression (a string) or a number; of an array, an array of them"),
]
TextField: TypeAlias = Annotated[str, Meta(description="a string")]
StartField: TypeAlias = Annotated[str | int | float, Meta(description='a number or an interval "[lo, hi]"')]
File: TypeAlias = Annotated[str, Meta(description="a network file, as a string")]


class SelectedPolicy(Struct, forbid_unknown_fields=True):
    """One network per value of an expression."""

    by: Annotated[str, Meta(description="an expression, as a string")]
    networks: Annotated[list[File], Meta(description="an array of network files, one per value of `by`")]


class AgentTable(Struct, forbid_unknown_fields=True):
    """`[agents.NAME]`: what an agent sees, which networks decide, and how its action follows."""

    policy: Annotated[str | SelectedPolicy, Meta(description="a network file or { by = ..., networks = [...] }")]
    observe: Annotated[list[Expression], Meta(description="an array of expressions")]
    act: Annotated[str | list[Expression], Meta(description='"argmax", "raw" or an array of expressions')] = "argmax"
    labels: Annotated[
        str | list[TextField] | None, Meta(description="the name of an enum variable, or an array of labels")
    ] = None
    memory: Annotated[
        str | int | float | list[StartField] | None,
        Meta(description='a number, an interval "[lo, hi]", or an array with one of them for each unit'),
    ] = None
    remember: Annotated[str | None, Meta(description="a name for the memory in properties, as a string")] = None
    carry: Annotated[
        dict[str, TextField], Meta(description='a table from inputs to outputs of the network, as in { h = "hn" }')
    ] = {}
    output: Annotated[str | None, Meta(description="the name of the network's output to act by, of several")] = None
    every: Annotated[str | int | float | None, Meta(description="beside [flow]: seconds between its actions")] = None
    delay: Annotated[
        str | int | float | None, Meta(description="beside [flow]: seconds from what it reads to its action")
    ] = None
    start: Annotated[
        str | int | float | list[NumberField] | None,
        Meta(description="with a delay: the action until the first one, a number or a label, or an array of numbers"),
    ] = None


class EnvironmentTable(Struct, forbid_unknown_fields=True):
    """`[environment]`: how the world moves."""

    enabled: Expression = True
    every: Annotated[str | int | float | None, Meta(description="beside [flow]: seconds between its steps")] = None
    let: dict[str, Expression] = {}
    next: dict[str, NextField] = {}


class PropertyTable(Struct, forbid_unknown_fields=True):
    """A property that says what its bounds count."""

    formula: TextField
    time: Annotated[str, Meta(description='"steps", "samples" or "seconds": what bounds count')]


PropertyField: TypeAlias = Annotated[
    str | PropertyTable, Meta(description='a formula, as a string, or { formula = "...", time = "samples" }')
]
RateField: TypeAlias = Annotated[
    str | int | float | list[Expression] | dict[str, Expression],
    Meta(description="an expression (a string) or a number; of an array, an array of them"),
]  # a table stands under `let` only
CountField: TypeAlias = Annotated[int, Meta(description="a whole number")]


class AbstractionTable(Struct, forbid_unknown_fields=True):
    """`[abstraction]`: how a network that stands for a flow is learned; what is not said is chosen for the flow."""

    widths: Annotated[
        list[CountField] | None, Meta(description="an array of whole numbers, the neurons of each hidden layer")
    ] = None
    error: Annotated[
        str | int | float | list[NumberField] | dict[str, NumberField] | None,
        Meta(description="a number for all variables, or an array or a table with one for each of them"),
    ] = None
    samples: Annotated[int | None, Meta(description="a whole number")] = None
    rounds: Annotated[int | None, Meta(description="a whole number")] = None
    seed: Annotated[int | None, Meta(description="a whole number")] = None
    transitions: Annotated[
        str | None, Meta(description='"facet" or "vertex": what regions share between which trajectories change')
    ] = None


class TaskTable(Struct, forbid_unknown_fields=True, kw_only=True):
    """A task file."""

    vernal: Annotated[int, Meta(description="the number 1, the version of the format")]
    name: TextField = ""
    world: Annotated[str, Meta(description="a world by name, or a file of one, as a string")] = ""
    parameters: dict[str, NumberField] = {}
    constants: dict[str, Expression] = {}
    networks: dict[str, File] = {}
    state: Annotated[dict[str, TextField], Meta(description='a table of declarations such as h = "real [-1, 1]"')]
    init: Annotated[
        dict[str, Annotated[str | int | float | bool | list[Expression], Meta(description="an initial value")]],
        Meta(description="a table with an initial value for each variable"),
    ]
    agents: dict[str, AgentTable] = {}
    environment: EnvironmentTable = msgspec.field(default_factory=EnvironmentTable)
    properties: dict[str, PropertyField] = {}
    predicates: Annotated[
        list[TextField], Meta(description="an array of conditions on the state, as strings, for predicate abstraction")
    ] = []
    flow: Annotated[
        dict[str, RateField] | None,
        Meta(description="a table with the rate of change of each variable, and named expressions under `let`"),
    ] = None
    abstraction: Annotated[
        AbstractionTable | None, Meta(description="a table: how a network that stands for a flow is learned")
    ] = None

    @property
    def flow_lets(self) -> dict[str, Any]:
        """The named expressions of a flow."""
        lets = (self.flow or {}).get("let")
        return lets if isinstance(lets, dict) else {}


class Misfit(Exception):
    """A value that does not have the shape its place asks for; what is wrong was already reported."""


def fit(document: Mapping[str, Any], places: Places) -> tuple[TaskTable | None, set[Path], list[InputError]]:
    """The document as a TaskTable (None where a required table is missing), the paths left out, and all misfits."""
    reader = _TableReader(places)
    try:
        table = reader.struct(document, TaskTable, ())
    except Misfit:
        table = None
    return table, reader.lost, reader.problems


class _TableReader:
    """Lays values against types; entries that do not fit are reported, left out and remembered in `lost`."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.problems: list[InputError] = []
        self.lost: set[Path] = set()

    def complain(self, message: str, place: Place) -> None:
        self.problems.append(ParseError(message, place=place))

    def value(self, value: Any, kind: Any, path: Path) -> Any:
        """Dispatch on the kind of type: a structure, a table of entries, an array, or a plain value."""
        bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
        options = get_args(bare) if get_origin(bare) in (Union, UnionType) else (bare,)
        for option in options:
            if isinstance(value, dict) and isinstance(option, type) and issubclass(option, Struct):
                return self.struct(value, option, path)
            if isinstance(value, dict) and get_origin(option) is dict:
                return self.table(value, get_args(option)[1], path)
            if isinstance(value, list) and get_origin(option) is list:
                return self.array(value, get_args(option)[0], path)
        return self.plain(value, kind, path)

    def plain(self, value: Any, kind: Any, path: Path) -> Any:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError:
            where = f"{_dotted(path)}: " if path else ""
            message = f"{where}expected {describe(kind)}, found {_found(value)}"
            self.complain(message, self.places.value_place(path))
            raise Misfit from None

    def struct(self, value: Mapping[str, Any], kind: Any, path: Path) -> Any:
        """A table with fixed keys: unknown and missing ones are errors, each at its place."""
        known = {field.name: field for field in msgspec.structs.fields(kind)}
        meant = self._unknown(value.keys() - known.keys(), known, path)
        fields: dict[str, Any] = {}
        complete = True
        for name, field in known.items():
            if name not in value:
                complete &= not field.required
                if field.required and name not in meant:
                    self._missing(name, field.type, path)
                continue
            try:
                fields[name] = self.value(value[name], field.type, (*path, name))
            except Misfit:
                self.lost.add((*path, name))
                complete &= not field.required
        if not complete:
            raise Misfit
        return kind(**fields)

    def _unknown(self, keys: Iterable[str], known: Mapping[str, object], path: Path) -> set[str]:
        """Report unknown keys; the known ones they were probably meant to be are not reported as missing."""
        where = f"[{_dotted(path)}]" if path else "a task file"
        meant: set[str] = set()
        for key in keys:
            close = get_close_matches(key, known, n=1)
            meant.update(close)
            advice = f"; did you mean {close[0]!r}?" if close else ";"
            message = f"unknown key {key!r} in {where}{advice} accepted: {', '.join(known)}"
            self.complain(message, self.places.key_place((*path, key)))
            self.lost.add((*path, key))
        return meant

    def _missing(self, name: str, kind: Any, path: Path) -> None:
        what = f"[{_dotted(path)}] has no {name!r}" if path else f"the file has no {name!r}"
        self.complain(f"{what}; give {describe(kind)}", self.places.key_place(path))

    def table(self, value: Mapping[str, Any], kind: Any, path: Path) -> dict[str, Any]:
        """A table whose keys the user names; entries stand for themselves, so one misfit does not hide the others."""
        fitting: dict[str, Any] = {}
        for key, entry in value.items():
            try:
                fitting[key] = entry if kind is Any else self.value(entry, kind, (*path, key))
            except Misfit:
                self.lost.add((*path, key))
        return fitting

    def array(self, value: list[Any], kind: Any, path: Path) -> list[Any]:
        fitting, bad = [], False
        for index, entry in enumerate(value):
            try:
                fitting.append(self.value(entry, kind, (*path, index)))
            except Misfit:
                bad = True
        if bad:
            raise Misfit
        return fitting


def describe(kind: Any) -> str:
    """What a type asks for, in words."""
    for note in get_args(kind)[1:] if get_origin(kind) is Annotated else ():
        if isinstance(note, Meta) and note.description:
            return note.description
    return "a table"


def _found(value: object) -> str:
    words: dict[type, str] = {dict: "a table", list: "an array", str: "a string", bool: "a truth value"}
    return words.get(type(value), "a number" if isinstance(value, int | float) else "a date or time")


def _dotted(path: Path) -> str:
    return ".".join(str(step) for step in path)
