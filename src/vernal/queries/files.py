"""Queries in files: one with its network, or a list of them, each read and answered within its own limits.

A list has one line for each question, `network,query,seconds`, as the competition VNN-COMP writes them; paths are
relative to the list, and a file that is only there compressed (`.gz`) will do.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from vernal.errors import FormatError, Stopped
from vernal.formats.limits import limits_for
from vernal.formats.networks import PACKED, is_file, read_bytes
from vernal.formats.vnnlib.query import Query
from vernal.formats.vnnlib.reader import read_query
from vernal.queries.answer import Answer
from vernal.queries.model import load_model
from vernal.queries.verify import stopped, verify
from vernal.run.alarm import in_time
from vernal.run.budget import Budget

MAX_LINES = 100_000
NAMED = re.compile(r"""\[\(\s*['"]\w+['"]\s*,\s*['"]([^'"]+)['"]\s*\)\]""")  # [('f', 'net.onnx')]


@dataclass(frozen=True, slots=True)
class QueryInstance:
    """One line of a list: which network, which query, and how many seconds at most."""

    network: Path
    query: Path
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class AnsweredQuery:
    """An answer, and the query it is about; None where reading that query did not end in time."""

    query: Query | None
    answer: Answer


def answer_files(
    query_file: Path, network_file: Callable[[Query], str | Path], budget: Budget, engine: str = "auto"
) -> AnsweredQuery:
    """Read a query and its network, and answer it; the clock of the budget runs from the start."""
    read: list[Query] = []

    def answered() -> Answer:
        read.append(query := read_query(query_file, budget.check))
        model = load_model(query, network_file(query), limits_for(budget.memory, budget.check))
        return verify(query, model, budget, engine)

    try:
        answer = in_time(answered, budget)
    except Stopped as stop:
        answer = stopped(budget, stop)
    return AnsweredQuery(read[0] if read else None, answer)


def read_list(path: Path) -> list[QueryInstance]:
    """The lines of a list."""
    try:
        text = read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not a text: byte {error.start} is not UTF-8") from None
    found = list(_instances(path, text))
    if not found:
        raise FormatError(f"{path}: has no line network,query,seconds")
    return found


def _instances(path: Path, text: str) -> Iterator[QueryInstance]:
    for number, row in enumerate(csv.reader(text.splitlines()), start=1):
        fields = [entry.strip() for entry in row]
        if not any(fields) or fields[0].startswith("#"):
            continue
        if number > MAX_LINES:
            raise FormatError(f"{path}:{number}: more than {MAX_LINES:,} lines are not read")
        if len(fields) not in (2, 3) or not all(fields[:2]):
            raise FormatError(f"{path}:{number}: a line is network,query,seconds (the last may be left out)")
        limit = _seconds(path, number, fields[2]) if len(fields) == 3 and fields[2] else None
        yield QueryInstance(_present(path.parent / _file(fields[0])), _present(path.parent / fields[1]), limit)


def _file(field: str) -> str:
    """The file of a network; `[('f', 'net.onnx')]`, which newer lists say, names the network as well.

    A field of several networks stays as it is: the query behind it is refused, with its place.
    """
    found = NAMED.fullmatch(field)
    return field if found is None else found[1]


def _seconds(path: Path, number: int, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise FormatError(f"{path}:{number}: {text!r} is no number of seconds above 0")
    return seconds


def _present(file: Path) -> Path:
    """The file, or the compressed one in its stead."""
    packed = file.parent / (file.name + PACKED)
    return packed if not is_file(file) and is_file(packed) else file
