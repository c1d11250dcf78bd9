"""TOML that is not trusted: keys of many parts are refused before tomllib reads them."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from vernal.errors import FormatError

MAX_PARTS = 64  # of a dotted key: tomllib takes time and memory quadratic in them
LONG_KEY = re.compile(rf"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_PARTS}}}""")


def read_toml(content: bytes, file: str) -> dict[str, Any]:
    """The tables of a file; a FormatError for what is none."""
    try:
        text = content.decode("utf-8-sig")
        if LONG_KEY.search(text) is not None:
            raise FormatError(f"{file}: not a TOML file: a key of more than {MAX_PARTS} parts")
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{file}: not a TOML file: {error}") from None
