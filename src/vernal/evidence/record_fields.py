"""Fields of records that come back as JSON, from a journal or a worker: of the sort they should be, or a FormatError.

Whoever wrote them, nothing later has to ask whether a margin is a number.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from vernal.errors import FormatError

MAX_WHOLE = 2**63


def number(value: Any) -> float | None:
    """A finite number, or nothing."""
    if value is None:
        return None
    if not _is_number(value) or not math.isfinite(value):
        raise _not("a number", value)
    return float(value)


def whole(value: Any) -> int | None:
    """How many steps, or nothing."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < MAX_WHOLE:
        raise _not("a whole number", value)
    return int(value)


def truth(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise _not("true or false", value)
    return value


def text(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise _not("a text", value)
    return value


def text_or_none(value: Any) -> str | None:
    """A text, or nothing."""
    return None if value is None else text(value)


def pairs(value: Any) -> tuple[tuple[str, str], ...]:
    """A list of pairs of texts."""
    if not isinstance(value, list | tuple):
        raise _not("a list of pairs", value)
    found = tuple(map(texts, value))
    if any(len(each) != 2 for each in found):
        raise _not("a list of pairs", value)
    return tuple((first, second) for first, second in found)


def attempts(value: Any) -> tuple[tuple[str, float, str], ...]:
    """A list of engines, each with its seconds and what became of it."""
    if not isinstance(value, list | tuple) or any(not isinstance(one, list | tuple) or len(one) != 3 for one in value):
        raise _not("a list of engines, seconds and reasons", value)
    return tuple((text(engine), number(seconds) or 0.0, text(outcome)) for engine, seconds, outcome in value)


def texts(value: Any) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list | tuple):
        raise _not("a list of texts", value)
    return tuple(map(text, value))


def counts(value: Any) -> dict[str, int | float | str]:
    """Statistics: numbers and texts by name."""
    if not isinstance(value, dict):
        raise _not("an object of numbers and texts", value)
    for item in value.values():
        if not isinstance(item, str) and not _is_number(item):
            raise _not("a number or a text", item)
    return value


def nothing(value: Any) -> None:
    """Nothing."""
    if value is not None:
        raise _not("null", value)


def _is_number(value: Any) -> bool:
    """Whether it is a number that can be added to others: an integer that no float holds cannot."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return not isinstance(value, Integral) or abs(int(value)) < MAX_WHOLE


def _not(wanted: str, value: Any) -> FormatError:
    shown = repr(value)
    return FormatError(f"{wanted} is expected, not {shown if len(shown) <= 60 else shown[:57] + '...'}")
