"""Task files: TOML that says what is verified and what is asked of it. Reading one never runs code.

    task = load("vcas.toml", {"v0": "-22.5"})

The tables are laid against their declared shape (`task_schema`), names are given to their owners (`task_names`), and
the texts are understood table by table (`task_build`). All problems of a file are reported at once, each at its line
and column.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from vernal.errors import FileMissing, FormatError, InputError, NameUnknown, ParseError, nearest
from vernal.formats.places import Places, scan, toml_error
from vernal.formats.task_schema import TaskTable, fit
from vernal.logic.syntax import Source
from vernal.logic.task import Input, Task

MAX_BYTES = 4 * 2**20
VERSION = 1
LATER = {"flow": "continuous time ([flow])", "abstraction": "neural abstraction ([abstraction])"}

Override = str | int | float | Fraction


def load(path: str | Path, overrides: Mapping[str, Override] | None = None, /, **parameters: Override) -> Task:
    """The task in a file; `overrides` and keywords replace parameters, as numbers or as constant expressions."""
    file = Path(path)
    content = _read_bytes(file)
    text = _decode(content, str(path))
    source = Input(str(path), hashlib.sha256(content).hexdigest())
    return read_task(text, source, file.parent, {**(overrides or {}), **parameters})


def read_task(text: str, source: Input, base: Path, overrides: Mapping[str, Override]) -> Task:
    """The task a text describes; networks are looked up relative to `base`."""
    from vernal.formats.task_build import build_task
    from vernal.formats.task_names import declare_all
    from vernal.formats.task_reader import Reader

    document = _parse_toml(text, source.file)
    places = scan(text, source.file)
    _check_version(document, places)
    table, lost, problems = fit(document, places)
    if table is None:
        raise _together(problems, places)
    names = declare_all(table, lost, places)
    reader = Reader(places, names.owners, problems=[*problems, *names.problems])
    reader.broken.update(names.broken, (str(path[-1]) for path in lost))
    reader.doubtful = any(len(path) == 1 or path == ("environment", "let") for path in lost)
    parameters = _override(reader, table, overrides)
    table.name = table.name or Path(source.file).stem
    return build_task(reader, table, parameters, lost, base, source)


def _read_bytes(file: Path) -> bytes:
    try:
        if not file.exists():
            raise FileMissing(f"there is no task file {str(file)!r}")
        if file.is_dir():
            raise FormatError(f"{file} is a directory; name the task file in it")
        with file.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise FormatError(f"{str(file)!r} cannot be opened ({error})") from None
    if len(content) > MAX_BYTES:
        raise FormatError(f"{file}: larger than {MAX_BYTES // 2**20} MiB, which is more than a task file may have")
    return content


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{name}: not a TOML file: byte {error.start} is not UTF-8 text"
        raise FormatError(message) from None


def _parse_toml(text: str, file: str) -> dict[str, Any]:
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
    for key, what in LATER.items():
        if key in document:
            raise ParseError(f"{what} is not supported yet", place=places.key_place((key,)))


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
        text = value if isinstance(value, str) else str(value)
        reader.replaced[("parameters", name)] = Source(text, f"--set {name}")
        parameters[name] = text
    return parameters
