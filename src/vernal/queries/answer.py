"""The answer to a network query."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

Assignment = tuple[Fraction, ...]


class QueryStatus(Enum):
    """The four answers of the standard."""

    SAT = "sat"
    UNSAT = "unsat"
    UNKNOWN = "unknown"
    TIMED_OUT = "timed-out"


@dataclass(frozen=True)
class Answer:
    """The answer, with values of all elements for sat and the reason for what is not decided."""

    status: QueryStatus
    values: Assignment | None = None
    reason: str | None = None
    notes: tuple[str, ...] = ()
    trees: tuple[list[Any], ...] | None = None  # of each alternative of unsat, where a certificate was asked for
