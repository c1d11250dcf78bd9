"""JSON files as entries that know where they stand: every message names the file and the path inside it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from vernal.errors import FormatError, InputError
from vernal.formats.networks import read_bytes
from vernal.logic.task import InputFile
from vernal.model.numbers import show

MAX_BYTES = 512 * 2**20
MAX_DIGITS = 400  # characters of one number
PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")


@dataclass(frozen=True, slots=True, eq=False)
class JsonEntry:
    """A value of a JSON file, and where it stands in it."""

    value: Any
    file: str
    parent: JsonEntry | None = None
    key: str | int = ""

    @property
    def path(self) -> str:
        """`$.automata[0].edges[3].guard`"""
        keys: list[str] = []
        here: JsonEntry = self
        while here.parent is not None:
            keys.append(_step(here.key))
            here = here.parent
        return "$" + "".join(reversed(keys))

    def error(self, message: str, kind: type[InputError] = FormatError) -> InputError:
        """What is wrong with this entry, at its place."""
        return kind(f"{self.file}: {self.path}: {message}")

    def refuse(self, message: str) -> NoReturn:
        raise self.error(message)

    # Members ----------------------------------------------------------------------------------------------------------

    def get(self, key: str) -> JsonEntry | None:
        """A member of an object; None where there is none, or null."""
        if not isinstance(self.value, dict):
            self.refuse(f"an object with {key!r} is expected, not {shown(self.value)}")
        value = self.value.get(key)
        return None if value is None else JsonEntry(value, self.file, self, key)

    def __getitem__(self, key: str) -> JsonEntry:
        """A member that has to be there."""
        found = self.get(key)
        if found is None:
            self.refuse(f"{key!r} is missing")
        return found

    def items(self, key: str | None = None) -> list[JsonEntry]:
        """The items of an array, this one or that of a member; none where the member is missing."""
        array = self if key is None else self.get(key)
        if array is None:
            return []
        return [JsonEntry(value, self.file, array, place) for place, value in enumerate(array.elements())]

    def elements(self) -> Sequence[Any]:
        """The values of an array, as they are."""
        if not isinstance(self.value, list):
            self.refuse(f"an array is expected, not {shown(self.value)}")
        return self.value

    def text(self, key: str | None = None) -> str:
        """A string, this one or a member that has to be there."""
        entry = self if key is None else self[key]
        if not isinstance(entry.value, str):
            entry.refuse(f"a string is expected, not {shown(entry.value)}")
        return str(entry.value)

    def flag(self, key: str) -> bool:
        """A truth value; false where the member is missing."""
        entry = self.get(key)
        if entry is None:
            return False
        if not isinstance(entry.value, bool):
            entry.refuse(f"true or false is expected, not {shown(entry.value)}")
        return entry.value


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if PLAIN_KEY.fullmatch(key) else f"[{key!r}]"


def shown(value: Any) -> str:
    """A JSON value in a message."""
    match value:
        case dict() if "op" in value:
            return f"an object with op {value['op']!r}"
        case dict():
            return f"an object with {', '.join(map(repr, list(value)[:4])) or 'nothing in it'}"
        case list():
            return f"an array of {len(value)}"
        case Fraction():
            return show(value)
    return json.dumps(value, ensure_ascii=False)[:80]


def read_json(file: Path) -> tuple[JsonEntry, InputFile]:
    """The whole of a JSON file; numbers are the decimals written."""
    content = read_bytes(file, MAX_BYTES)
    source = InputFile(str(file), hashlib.sha256(content).hexdigest())
    try:
        value = json.loads(content, parse_float=_decimal, parse_constant=_no_number)
    except RecursionError:
        raise FormatError(
            f"{file}: objects or arrays are nested too deep to be read; balance long conditions"
        ) from None
    except (ValueError, UnicodeDecodeError) as error:
        raise FormatError(f"{file}: not a JSON file: {error}") from None
    return JsonEntry(value, str(file)), source


def _decimal(text: str) -> Fraction:
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > MAX_DIGITS or abs(int(exponent or 0)) > MAX_DIGITS:
        raise ValueError(f"the number {text[:40]} has more than {MAX_DIGITS} digits")
    return Fraction(text)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")
