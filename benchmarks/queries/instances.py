"""What is asked: a list of networks, queries and limits, as competitions write it, with known answers if there are any.

A list is a CSV file, `instances.csv` in a folder: network, query, seconds, and then, if known, the answer (`sat` or
`unsat`) and how it was established. Files are named relative to the list.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

LIST = "instances.csv"
ANSWERS = ("sat", "unsat")


class BadList(ValueError):
    """A list of instances that cannot be read; says where and why."""


@dataclass(frozen=True)
class Instance:
    """One question."""

    network: Path
    query: Path
    limit: float  # seconds
    answer: str | None = None  # where it is known
    how: str = ""  # it was established
    suite: str = ""  # the set it is counted in; empty: that of its folder

    @property
    def set_name(self) -> str:
        return self.suite or self.query.parent.name

    @property
    def name(self) -> str:
        return f"{self.network.stem} {self.query.stem}"


def read_list(path: Path) -> list[Instance]:
    """The instances of a list, or of the list in a folder; every file has to be there."""
    path = path / LIST if path.is_dir() else path
    with path.open(newline="") as lines:
        rows = [(number, row) for number, row in enumerate(csv.reader(lines), start=1) if any(map(str.strip, row))]
    return [_instance(path, number, [entry.strip() for entry in row]) for number, row in rows]


def _instance(path: Path, number: int, row: Sequence[str]) -> Instance:
    where = f"{path}:{number}"
    if not 3 <= len(row) <= 5:
        raise BadList(
            f"{where}: a row is network, query, seconds[, answer[, how]], but this one has {len(row)} entries"
        )
    network, query, limit, answer, how = [*row, "", ""][:5]
    files = [path.parent / network, path.parent / query]
    for file in files:
        if not file.is_file():
            raise BadList(f"{where}: there is no file {file}")
    try:
        seconds = float(limit)
    except ValueError:
        raise BadList(f"{where}: {limit!r} is no number of seconds") from None
    if not 0 < seconds < float("inf"):
        raise BadList(f"{where}: a limit has to be positive and finite, not {limit}")
    if answer and answer not in ANSWERS:
        raise BadList(f"{where}: the answer has to be sat, unsat or nothing, not {answer!r}")
    return Instance(files[0], files[1], seconds, answer or None, how)


PUBLIC_LIMIT = 20.0  # seconds; the list names none


def read_public(folder: Path) -> list[Instance]:
    """The public queries of a folder of data; an answer that is neither `sat` nor `unsat` is not known."""
    path = folder / LIST
    with path.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [
        Instance(
            folder / row["network"],
            folder / row["query"],
            PUBLIC_LIMIT,
            row["answer"] if row["answer"] in ANSWERS else None,
            f"{row['tools that say so']} tools say so",
            row["set"],
        )
        for row in rows
    ]


def write_list(path: Path, instances: Iterable[Instance]) -> None:
    """A list in the folder of its files."""
    with path.open("w", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        for one in instances:
            files = [str(file.relative_to(path.parent)) for file in (one.network, one.query)]
            writer.writerow([*files, f"{one.limit:g}", one.answer or "", one.how])
