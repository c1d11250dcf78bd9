"""Certificates: files from which `vernal-check`, a program of its own, finds out again that a claim holds.

The first line says what it is about, each further line is a set of states (docs/certificates.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, islice, product
from pathlib import Path
from typing import Any

from vernal.errors import InputError
from vernal.evidence.cover import WORLD, ProofCover, ProofSet, components
from vernal.evidence.document_head import exact_number, head
from vernal.evidence.result import HOLDS, Result
from vernal.formats.task.shelf import Shelf
from vernal.interpret.ends import PartialEnds
from vernal.logic.task import Task
from vernal.model.sorts import BOOL, Kind, Sort
from vernal.run.output import write_text

VERSION, SEMANTICS = 1, "steps-1"
MAX_EXPANDED = 100_000  # sets that one with several discrete values is written as
Cells = tuple[PartialEnds, ...]
NOT_HELD = "there is no certificate of {}: it is {}"


@dataclass(frozen=True)
class CertificateFile:
    """A claim that holds, and the sets of states that show it."""

    task: Task
    formula: str
    name: str | None  # of the property
    cover: ProofCover

    def lines(self) -> Iterator[str]:
        """The lines of the file."""
        yield _line(self.header)
        levels = [one.level for one in self.cover.sets if one.level is not None]
        names = _named(self.cover.sets, self.sorts)
        for number, one in enumerate(self.cover.sets):
            after = (
                None
                if one.level is None
                else [
                    name
                    for other, made in enumerate(names)
                    if self.cover.sets[other].level == min(one.level + 1, max(levels))
                    for name in made
                ]
            )
            for place, ends in enumerate(_discrete(one.ends, self.sorts)):
                yield _line(_set(one, ends, self.sorts, None if after is None else (names[number][place], after)))

    @property
    def sorts(self) -> list[Sort]:
        return [var.sort for var, _ in components(self.task.model).values()]

    @property
    def header(self) -> dict[str, Any]:
        """What the certificate is about."""
        told = head(self.task)
        return {
            "certificate": VERSION,
            "semantics": SEMANTICS,
            "tool": told["tool"],
            "task": told["task"],
            "formula": self.formula,
            "property": self.name,
            "verdict": HOLDS.value,
            "variables": list(components(self.task.model)),
            **({"worlds": self.worlds} if self.worlds else {}),
        }

    @property
    def worlds(self) -> dict[str, str]:
        """The texts of the worlds that the task is built on."""
        named = [one.file.removeprefix(WORLD) for one in self.task.networks if one.file.startswith(WORLD)]
        return {} if Shelf.find is None else {name: Shelf.find(name) for name in named}

    def save(self, file: str | Path) -> None:
        """Write the file, for `vernal-check`."""
        write_text(file, "".join(f"{line}\n" for line in self.lines()))


def certificate_of(result: Result) -> CertificateFile:
    """The certificate of a result that has the sets for it."""
    if result.cover is None or result.task is None:
        raise InputError(result.uncertified or NOT_HELD.format(result.formula, result.verdict.value))
    return CertificateFile(result.task, result.formula, result.property, result.cover)


# Sets as JSON ---------------------------------------------------------------------------------------------------------


def _line(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _set(one: ProofSet, cells: Cells, sorts: list[Sort], named: tuple[str, list[str]] | None) -> Any:
    """A set as a line: its cells, or an object with more."""
    written = [_cell(ends, sort) for ends, sort in zip(cells, sorts, strict=True)]
    more: dict[str, Any] = {} if named is None else {"name": named[0], "to": named[1], "first": one.level == 0}
    if one.rows:
        more["rows"] = [[*map(exact_number, row), exact_number(bound)] for row, bound in one.rows]
    if one.where is not None:
        more["where"] = one.where
    if one.is_followed:
        more["walk"] = True
    if one.induction:
        more["induction"] = one.induction
    if one.after:
        more["after"] = one.after
    return {"set": written, **more} if more else written


def _named(sets: Sequence[ProofSet], sorts: list[Sort]) -> list[list[str]]:
    """A name for each line of each set."""
    numbers = count(1)
    return [[str(next(numbers)) for _ in _discrete(one.ends, sorts)] for one in sets]


def _discrete(cells: Cells, sorts: list[Sort]) -> Iterator[Cells]:
    """A set with several discrete values, as a set for each."""
    options = [_values(ends, sort) if sort.is_discrete else [ends] for ends, sort in zip(cells, sorts, strict=True)]
    yield from islice(product(*options), MAX_EXPANDED)


def _values(ends: PartialEnds, sort: Sort) -> list[PartialEnds]:
    low, high = ends
    known = () if sort.values is None else tuple(map(Fraction, sort.values))
    low, high = min(known) if low is None else low, max(known) if high is None else high
    return [(Fraction(n), Fraction(n)) for n in range(-(-low.numerator // low.denominator), int(high // 1) + 1)]


def _cell(ends: PartialEnds, sort: Sort) -> Any:
    low, high = ends
    if sort == BOOL:
        return low == 1
    if sort.kind is Kind.ENUM:
        return sort.labels[int(low or 0)]
    if low == high and low is not None:
        return exact_number(low)
    return [None if end is None else exact_number(end) for end in ends]
