"""Tasks built on worlds: `world = "cartpole"` brings state, environment and agents; the task adds what is its own.

A world is a task file that leaves something open, usually the policies. Tables are laid over each other entry by entry,
and where both say something the task has the last word: another start, another parameter, another observation.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from vernal.errors import FormatError, InputError, NameUnknown, ParseError
from vernal.formats.task.places import Places
from vernal.formats.task.shelf import Shelf
from vernal.formats.task.text import decode, read_bytes
from vernal.logic.task import InputFile
from vernal.model.network import Network

Document: TypeAlias = dict[str, Any]
WorldReader: TypeAlias = Callable[[str, str], tuple[Document, Places]]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_LAYERS = 8  # worlds on worlds; more is a circle


def on_worlds(
    document: Document, places: Places, base: Path, read: WorldReader, *, allow_outside: bool = False
) -> tuple[Document, Places, list[InputFile]]:
    """The document over its world, that over its own, and so on; one map of places; the worlds that were read.

    A file that names a world is not trusted to name any file: it has to lie below the task's folder, links resolved.
    """
    layers, found = [(document, places)], list[InputFile]()
    while isinstance(name := layers[-1][0].get("world"), str):
        place = layers[-1][1].value_place(("world",))
        if len(layers) > MAX_LAYERS:
            raise ParseError(f"more than {MAX_LAYERS} worlds are built on each other", place=place)
        try:
            if not allow_outside:
                refuse_outside(name, base)
            text = world_text(name, base)
        except InputError as error:
            raise error.at(place) from None
        found.append(InputFile(f"world:{name}", hashlib.sha256(text.encode()).hexdigest()))
        layers.append(read(text, found[-1].file))
    merged, mapped = layers.pop()
    for upper, above in reversed(layers):
        merged = _over(upper, {key: value for key, value in merged.items() if key not in {"name", "world"}})
        mapped = replace(above, below=mapped)
    return merged, mapped, found


def give(document: Document, policies: Mapping[str, Network]) -> dict[str, Network]:
    """Let agents use networks that are no files; the references by which they are then named."""
    given: dict[str, Network] = {}
    agents = document.get("agents", {})
    for name, network in policies.items():
        if name not in agents:
            raise NameUnknown(f"there is no agent {name!r}; there are {', '.join(agents) or 'none'}")
        given[f"given:{name}"] = network
        agents[name] = {**agents[name], "policy": f"given:{name}"}
    return given


def refuse_outside(name: str, base: Path) -> None:
    """An error for a world that is a file elsewhere than below this folder."""
    if not NAME.fullmatch(name) and not (base / name).resolve().is_relative_to(base.resolve()):
        raise FormatError(f"{name!r} lies outside the task's folder; --allow-outside reads it all the same")


def world_text(name: str, base: Path) -> str:
    """A world that comes with the package, by its name, or a file beside the task."""
    if NAME.fullmatch(name):
        if Shelf.find is None:
            raise NameUnknown(f"there is no world {name!r}: no worlds are installed")
        return Shelf.find(name)
    file = base / name
    if file.suffix != ".toml":
        raise ParseError(f"{name!r} is neither the name of a world nor a .toml file")
    return decode(read_bytes(file, "world"), str(file))


def _over(upper: Document, lower: Document, depth: int = 3) -> Document:
    """The lower tables with the upper ones laid over them, entry by entry, down to the keys of an agent."""
    merged = dict(lower)
    for key, value in upper.items():
        below = merged.get(key)
        if depth > 1 and isinstance(below, dict) and isinstance(value, dict):
            value = _over(value, below, depth - 1)
        merged[key] = value
    return merged
