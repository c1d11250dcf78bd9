"""Sets of a proof as plain data: the lines of a certificate (docs/certificates.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import count, islice, product
from typing import Any

from vernal.evidence.cover import ProofCover, ProofSet, components
from vernal.evidence.document_head import exact_number
from vernal.interpret.ends import PartialEnds
from vernal.model.sorts import BOOL, Kind, Sort
from vernal.model.system import Model

MAX_EXPANDED = 100_000  # sets that one with several discrete values is written as
SetCells = tuple[PartialEnds, ...]


def cover_lines(cover: ProofCover, model: Model) -> Iterator[Any]:
    """Each set as a list of cells, or as an object with more."""
    sorts = [var.sort for var, _ in components(model).values()]
    levels = [one.level for one in cover.sets if one.level is not None]
    names = _named(cover.sets, sorts) if levels else []
    known = dict[tuple[int, int], Any]()  # cells by the object that they are, since many states share theirs
    for number, one in enumerate(cover.sets):
        if _is_state(one):
            yield [
                _known(known, place, ends, sort) for place, (ends, sort) in enumerate(zip(one.ends, sorts, strict=True))
            ]
            continue
        after = [] if one.level is None else _leads_to(cover.sets, names, min(one.level + 1, max(levels)))
        for place, ends in enumerate(_discrete(one.ends, sorts)):
            yield _set(one, ends, sorts, None if one.level is None else (names[number][place], after))


def _is_state(one: ProofSet) -> bool:
    plain = one.where is None and one.level is None and not (one.rows or one.is_followed or one.induction)
    return plain and all(low is high is not None for low, high in one.ends)


def _known(known: dict[tuple[int, int], Any], place: int, ends: PartialEnds, sort: Sort) -> Any:
    key = (id(ends), place)
    if key not in known:
        known[key] = _cell(ends, sort)
    return known[key]


def _leads_to(sets: Sequence[ProofSet], names: Sequence[list[str]], level: int) -> list[str]:
    return [name for one, made in zip(sets, names, strict=True) if one.level == level for name in made]


def _set(one: ProofSet, cells: SetCells, sorts: list[Sort], named: tuple[str, list[str]] | None) -> Any:
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


def _discrete(cells: SetCells, sorts: list[Sort]) -> Iterator[SetCells]:
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
