"""JSON inside of model files: counted before it is read, for three bytes can ask for sixty."""

from __future__ import annotations

import json
from typing import Any

from vernal.errors import FormatError

MAX_ENTRIES = 200_000
SIGNS = ("[", "{", ",")  # one of them stands before each entry but the first


def parsed_json(text: str, what: str, most: int = MAX_ENTRIES) -> Any:
    """What a JSON text of at most so many entries says; messages call it `what`."""
    if sum(map(text.count, SIGNS)) > most:
        raise FormatError(f"{what} have more than {most:,} entries, more than Vernal reads")
    try:
        return json.loads(text)
    except RecursionError:
        raise FormatError(f"{what} are nested too deep to be read") from None
    except ValueError:  # its own words may quote the text, and advise to change Python
        raise FormatError(f"{what} are damaged: no JSON text") from None
