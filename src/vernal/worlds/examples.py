"""The examples that come with Vernal: a folder each, with its README, tasks and networks.

They stand in `examples/` of the repository and in `vernal/examples` of an installed package.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vernal.errors import FileMissing, InputError, NameUnknown, nearest
from vernal.run.output import write_bytes

ALL = "all"
_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE / "examples", _PACKAGE.parents[1] / "examples")  # installed; in a checkout
_MADE_BY = {".py", ".json", ".pyc"}  # scripts and what they measured: useful in the repository only
SCHEMA = "task.schema.json"  # that editors check task files against, as their first lines say
_LINK = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")


@dataclass(frozen=True, slots=True)
class Example:
    """A shipped example: its name, what it is in one line, and its files."""

    name: str
    about: str
    files: tuple[Path, ...]


def shipped() -> list[Example]:
    """Every example, by name."""
    return [_read(readme.parent) for readme in sorted(_home().glob("*/README.md"))]


def find(name: str) -> list[Example]:
    """The example of this name; `all` are all of them."""
    known = shipped()
    found = [example for example in known if name in (example.name, ALL)]
    if not found:
        raise NameUnknown(f"there is no example {name!r}{nearest(name, [example.name for example in known])}")
    return found


def write(example: Example, folder: Path, *, force: bool = False) -> list[Path]:
    """Write an example into a folder of its name below `folder`; files that differ are kept, unless `force`."""
    contents = {folder / example.name / file.name: _content(file) for file in example.files}
    differing = [file for file, content in contents.items() if file.exists() and file.read_bytes() != content]
    if differing and not force:
        raise InputError(f"{differing[0]} is there and differs; name another folder, or overwrite it with --force")
    (folder / example.name).mkdir(parents=True, exist_ok=True)
    for file, content in contents.items():
        if file in differing or not file.exists():
            write_bytes(file, content)
    write_bytes(folder / SCHEMA, (_home() / SCHEMA).read_bytes())
    return list(contents)


def command_writing(file: Path) -> str | None:
    """The command that writes a file which is not there; None if no example has it."""
    folder, name = file.parent.parent, file.parent.name
    if not any(name == example.name and file.name in (one.name for one in example.files) for example in shipped()):
        return None
    return f"vernal example {name}" + ("" if folder == Path("examples") else f" {shlex.quote(str(folder))}")


def _home() -> Path:
    """Where the examples are, in whichever way Vernal is installed."""
    for place in _PLACES:
        if (place / "vcas").is_dir():
            return place
    raise FileMissing(f"the examples are missing from this installation; they should be in {_PLACES[0]}")


def _read(folder: Path) -> Example:
    with (folder / "README.md").open(encoding="utf-8") as lines:
        about = next(lines).removeprefix("# ").strip()
    return Example(folder.name, about, tuple(sorted(_shown(folder))))


def _shown(folder: Path) -> Iterator[Path]:
    return (file for file in folder.iterdir() if file.is_file() and file.suffix not in _MADE_BY)


def _content(file: Path) -> bytes:
    """A file as it is written; links from a README to other folders of the repository become their text."""
    content = file.read_bytes()
    return _LINK.sub(r"\1", content.decode()).encode() if file.suffix == ".md" else content
