"""Certificates: files from which `vernal-check`, a program of its own, finds out again that a claim holds.

The first line says what it is about, each further line is a set of states (docs/certificates.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from pathlib import Path
from typing import Any

from vernal.errors import InputError
from vernal.evidence.cover import WORLD, ProofCover, SetEnds
from vernal.evidence.document_head import exact_number, head
from vernal.evidence.result import HOLDS, Result
from vernal.formats.task.shelf import Shelf
from vernal.logic.task import Task
from vernal.model.initial import Ends
from vernal.model.sorts import BOOL, Kind, Sort
from vernal.run.output import write_text

VERSION, SEMANTICS = 1, "steps-1"
MAX_EXPANDED = 100_000  # sets that one with several discrete values is written as
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
        for cells in self.cover.sets:
            for one in _discrete(cells, self.sorts):
                written = [_cell(ends, sort) for ends, sort in zip(one, self.sorts, strict=True)]
                yield _line({"set": written, "walk": True} if self.cover.is_followed else written)

    @property
    def sorts(self) -> list[Sort]:
        return [variable.sort for variable in self.task.model.state]

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
            "variables": [variable.name for variable in self.task.model.state],
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


def _discrete(cells: SetEnds, sorts: list[Sort]) -> Iterator[SetEnds]:
    """A set with several discrete values, as a set for each."""
    options = [_values(ends) if sort.is_discrete else [ends] for ends, sort in zip(cells, sorts, strict=True)]
    yield from islice(product(*options), MAX_EXPANDED)


def _values(ends: Ends) -> list[Ends]:
    low, high = ends
    return [(Fraction(n), Fraction(n)) for n in range(-(-low.numerator // low.denominator), int(high // 1) + 1)]


def _cell(ends: Ends, sort: Sort) -> Any:
    low, high = ends
    if sort == BOOL:
        return bool(low)
    if sort.kind is Kind.ENUM:
        return sort.labels[int(low)]
    return exact_number(low) if low == high else [exact_number(low), exact_number(high)]
