"""Task files: TOML that says what is verified and what is asked of it. Reading one never runs code.

    task = load("vcas.toml", {"v0": "-22.5"})

A task may be built on a world (`task_world`). The tables are laid against their declared shape (`task_schema`), names
are given to their owners (`task_names`), and the texts are understood table by table (`task_build`). All problems of a
file are reported at once, each at its line and column.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vernal.errors import FormatError, InputError, NameUnknown, ParseError, TypeClash, nearest
from vernal.formats.task.places import Path as KeyPath
from vernal.formats.task.places import Places, scan, toml_error
from vernal.formats.task.schema import TaskTable, fit
from vernal.formats.task.text import decode, read_bytes
from vernal.formats.task.world import give, on_worlds
from vernal.formats.toml_text import LONG_KEY, MAX_PARTS
from vernal.logic.parser import MAX_SYMBOLS, symbols
from vernal.logic.printing import number
from vernal.logic.syntax import Source, Syntax, place_in
from vernal.logic.task import InputFile, Task
from vernal.model.initial import Ends
from vernal.model.network import Network
from vernal.model.numbers import as_written
from vernal.model.system_arguments import GivenNumber
from vernal.model.tick import Tick, idle

if TYPE_CHECKING:
    from vernal.formats.task.agents import Library
    from vernal.formats.task.expressions import Reader

MAX_BITS = 4000  # of a parameter's numerator or denominator, as of numbers in the file
ENTRY = 5  # as many symbols as an entry of a file takes time besides its own
VERSION = 1
LISTED = 8  # files of a folder, in a message

Override = GivenNumber


def load(
    path: str | Path,
    overrides: Mapping[str, Override] | None = None,
    /,
    *,
    allow_outside: bool | Override = False,  # as a type, so that mappings of parameters may be given as keywords
    **parameters: Override,
) -> Task:
    """The task in a file; `overrides` and keywords replace parameters, as numbers or as constant expressions.

    A world that is a file has to lie below the task's folder unless `allow_outside` is given.
    """
    return open_task(path, allow_outside=bool(allow_outside)).task({**(overrides or {}), **parameters})


def open_task(path: str | Path, tick: Tick = idle, *, allow_outside: bool = False) -> Blueprint:
    """A file to make tasks from, one for each choice of parameters; `tick` is called while it is read."""
    file = only_task(Path(path))
    content = read_bytes(file, "task")
    _refuse_other(file)
    source = InputFile(str(file), hashlib.sha256(content).hexdigest())
    return Blueprint(decode(content, str(file)), source, file.parent, tick=tick, allow_outside=allow_outside)


def only_task(path: Path) -> Path:
    """The file, or the only task file of a folder."""
    found = sorted(path.glob("*.toml")) if os.path.isdir(path) else [path]
    if len(found) > 1:
        listed = ", ".join(file.name for file in found[:LISTED]) + (", ..." if len(found) > LISTED else "")
        raise FormatError(f"{path} is a folder with {len(found)} task files; name one of them: {listed}")
    return found[0] if found else path


AUTOMATON = "flows are checked and followed from their task file, a TOML file with [flow]"
OTHERS = {
    ".cfg": f"the configuration of SpaceEx is read with the model beside it: name the .xml; {AUTOMATON}",
}  # what is said of files that are no task files, by the ends of their names


def _refuse_other(file: Path) -> None:
    said = OTHERS.get(file.suffix.lower())
    if said is not None:
        raise FormatError(f"{file}: {said}")


def read_task(
    text: str,
    source: InputFile,
    base: Path,
    overrides: Mapping[str, Override],
    policies: Mapping[str, Network] | None = None,
) -> Task:
    """The task of a text that a program names, and may thus be built on worlds anywhere.

    Networks are looked up relative to `base`, except the `policies` agents are given.
    """
    return Blueprint(text, source, base, policies, allow_outside=True).task(overrides)


def read_tables(
    text: str, file: str, base: Path, tick: Tick, allow_outside: bool
) -> tuple[dict[str, Any], Places, list[InputFile]]:
    """The tables of a task with those of its worlds below them, where everything stands, and the worlds."""
    read = partial(_read_toml, tick=tick)
    return on_worlds(*read(text, file), base, read, allow_outside=allow_outside)


class Blueprint:
    """A task file, read once however many tasks are made from it: a sweep makes one for each cell.

    Tasks whose parameters differ only where a system starts, or in what is asked of it, share the graph of a step.
    """

    def __init__(
        self,
        text: str,
        source: InputFile,
        base: Path,
        policies: Mapping[str, Network] | None = None,
        tick: Tick = idle,
        *,
        allow_outside: bool = False,
    ) -> None:
        from vernal.formats.task.build import Shared
        from vernal.formats.task.names import declare_all

        self.source, self.base, self.tick = source, base, tick
        document, self.places, self.worlds = read_tables(text, source.file, base, tick, allow_outside)
        _refuse_many(document, source.file)
        tick()
        self.given = give(document, policies or {})
        table, self.lost, self.problems = fit(document, self.places)
        if table is None:
            raise _together(self.problems, self.places)
        table.name = table.name or Path(source.file).stem
        self.table = table
        self.names = declare_all(table, self.lost, self.places)
        self._parsed: dict[KeyPath, tuple[Syntax, Source]] = {}
        self._shared = Shared.of(document)

    def freeing(self, ends: Mapping[str, Ends]) -> Blueprint:
        """The same file with some parameters as state variables that start anywhere between two ends and stay there."""
        from vernal.formats.task.names import declare_all

        freed = copy(self)
        table = freed.table = copy(self.table)
        table.parameters = {name: value for name, value in table.parameters.items() if name not in ends}
        table.state, table.init = dict(table.state), dict(table.init)
        table.flow = None if table.flow is None else dict(table.flow)
        freed._parsed, freed._shared = {}, replace(self._shared, made={})
        written: dict[KeyPath, Source] = {}
        for name, (low, high) in ends.items():
            room = f"real [{number(low - 1)}, {number(high + 1)}]"  # a flow has a region, whose border it may not touch
            texts = {"state": room, "init": f"[{number(low)}, {number(high)}]", "flow": "0"}
            for section, text in texts.items():
                entries = getattr(table, section)
                if entries is not None:
                    entries[name] = text
                    written[section, name] = Source(text, f"--over {name}")
        freed.places = replace(self.places, written={**self.places.written, **written})
        freed.names = declare_all(table, self.lost, freed.places)
        return freed

    def task(self, overrides: Mapping[str, Override]) -> Task:
        """The task with these parameters in the place of the file's."""
        from vernal.formats.task.build import build_task

        reader = self._reader()
        parameters = _override(reader, self.table, overrides)
        reader.parsed = {path: known for path, known in self._parsed.items() if path not in reader.replaced}
        task = build_task(reader, self.table, parameters, self.lost, self._library(), self.source, self._shared)
        self._parsed.update((path, known) for path, known in reader.parsed.items() if path not in reader.replaced)
        return task

    def _library(self) -> Library:
        from vernal.formats.task.agents import Library

        library = Library(self.base, self.given)
        library.inputs.update({world.file: world for world in self.worlds})
        return library

    def _reader(self) -> Reader:
        from vernal.formats.task.expressions import Reader

        problems = [*self.problems, *self.names.problems]
        reader = Reader(self.places, self.names.owners, problems=problems, tick=self.tick)
        reader.broken.update(self.names.broken, (str(path[-1]) for path in self.lost))
        reader.doubtful = any(len(path) == 1 or path[1:] == ("let",) for path in self.lost)
        return reader


def _refuse_many(document: Mapping[str, Any], file: str) -> None:
    """Refuse a task whose texts together would take long to understand, before that is begun."""
    count, waiting = 0, list[Any](document.values())
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict | list):
            waiting.extend(value.values() if isinstance(value, dict) else value)
        else:
            count += ENTRY + (symbols(value) if isinstance(value, str) else 0)
    if count > MAX_SYMBOLS:
        what = f"{file}: its expressions have {count:,} names, numbers and signs (each entry counts {ENTRY} more)"
        raise FormatError(f"{what}; at most {MAX_SYMBOLS:,} are read. Larger systems may be written in Python")


def _read_toml(text: str, file: str, tick: Tick) -> tuple[dict[str, Any], Places]:
    """The tables of a text that says it is a task file, and where everything in them stands."""
    document = _parse_toml(text, file)
    places = scan(text, file, tick)
    _check_version(document, places)
    return document, places


def _parse_toml(text: str, file: str) -> dict[str, Any]:
    long = LONG_KEY.search(text)
    if long is not None:
        message = f"not a task file: a key of more than {MAX_PARTS} parts"
        raise ParseError(message, place=place_in(text, long.start(), file))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise toml_error(error, text, file) from None
    except RecursionError:
        raise ParseError(f"{file}: not a task file: arrays or tables are nested too deep") from None
    except ValueError:  # Python refuses to convert integers of thousands of digits
        raise ParseError(f"{file}: not a task file: a number in it has thousands of digits") from None


def _check_version(document: Mapping[str, Any], places: Places) -> None:
    """Another version of the format, or no task at all: nothing else about the file is worth saying."""
    version = document.get("vernal")
    if version is None:
        message = f"not a task file: it does not say `vernal = {VERSION}`, the version of the format"
        raise ParseError(message, place=places.key_place(()))
    if version != VERSION or isinstance(version, bool):
        message = f"this file is written for format version {version!r}; this Vernal reads version {VERSION}"
        raise ParseError(message, place=places.value_place(("vernal",)))


def _together(problems: list[InputError], places: Places) -> InputError:
    from vernal.errors import Problems

    return problems[0] if len(problems) == 1 else Problems(problems)


def _override(reader: Any, table: TaskTable, overrides: Mapping[str, Override]) -> dict[str, object]:
    """The parameters with the overridden ones replaced by texts of their own."""
    parameters: dict[str, object] = dict(table.parameters)
    for name, value in overrides.items():
        if name not in parameters:
            reader.problems.append(NameUnknown(f"there is no parameter {name!r}{nearest(name, parameters)}"))
            continue
        given = as_written(value)
        if isinstance(given, int | Fraction) and _bits(given) > MAX_BITS:
            reader.problems.append(TypeClash(f"the value given for {name!r} is too long: more than {MAX_BITS:,} bits"))
            continue
        text = number(given) if isinstance(given, Fraction) else str(given)
        reader.replaced[("parameters", name)] = Source(text, f"--set {name}")
        parameters[name] = text
    return parameters


def _bits(value: int | Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())
