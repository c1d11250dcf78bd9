"""What a system is given in Python: ranges, initial values, functions of names, and policies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from vernal.errors import NameUnknown, nearest
from vernal.model.arrays import ExprArray
from vernal.model.expr import Expr, Operand
from vernal.model.initial import Start
from vernal.model.network import Network
from vernal.model.sorts import Sort

GivenNumber: TypeAlias = Fraction | Decimal | int | float | str | np.generic
GivenValue: TypeAlias = GivenNumber | bool


class Values(list["GivenValue"]):
    """Initial values of which any may be taken; made by `one_of`. Of an array, each component takes any of them."""


Initial: TypeAlias = GivenValue | Start | Collection[GivenValue]
Initials: TypeAlias = Initial | Collection[Initial]  # of an array, one for each component


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a state variable ranges over."""

    sort: Sort
    lower: Fraction | None = None
    upper: Fraction | None = None
    size: int | None = None  # of an array; None of a single variable


class GivenNames:
    """What a traced function is given: state variables, arrays of them, actions and lets, as attributes or items."""

    def __init__(self, named: Mapping[str, Expr | ExprArray]) -> None:
        self._named = dict(named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        if name not in self._named:
            raise NameUnknown(f"unknown name {name!r}{nearest(name, self._named)}")
        return self._named[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)


@dataclass(frozen=True, slots=True)
class Policy:
    """An agent before its place in a system is known; made by `agent`."""

    networks: tuple[Network, ...]
    observe: Callable[[GivenNames], Sequence[Operand]]
    act: str | Callable[[Expr], Sequence[Expr]]
    by: Callable[[GivenNames], Expr] | None
    labels: str | Sequence[str] | None
    memory: Sequence[Start] | Start | None
    remember: str | None
    every: Fraction | None = None
    delay: Fraction = Fraction(0)
    start: tuple[Fraction, ...] | None = None
