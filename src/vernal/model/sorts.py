"""Sorts of values: reals, integers, truth values and named alternatives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction


class Kind(Enum):
    """The four families of values an expression can have."""

    REAL = "real"
    INT = "int"
    BOOL = "bool"
    ENUM = "enum"


@dataclass(frozen=True, slots=True)
class Sort:
    """A kind of value; an enum also carries its labels, and a value is then the index of one."""

    kind: Kind
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"enum {{{', '.join(self.labels)}}}" if self.kind is Kind.ENUM else self.kind.value

    @property
    def is_number(self) -> bool:
        return self.kind in (Kind.REAL, Kind.INT)

    @property
    def is_discrete(self) -> bool:
        """Whether a value is one of finitely many or countably many (everything but a real)."""
        return self.kind is not Kind.REAL

    @property
    def values(self) -> range | None:
        """The values of a sort that has finitely many: truth values are 0 and 1, labels their indices."""
        match self.kind:
            case Kind.BOOL:
                return range(2)
            case Kind.ENUM:
                return range(len(self.labels))
        return None

    def has(self, value: Fraction) -> bool:
        """Whether a number is a value of this sort: the index of a label, 0 or 1 for a truth value."""
        if self.kind is Kind.REAL:
            return True
        return value.denominator == 1 and (self.values is None or int(value) in self.values)


REAL = Sort(Kind.REAL)
INT = Sort(Kind.INT)
BOOL = Sort(Kind.BOOL)


def enum(*labels: str) -> Sort:
    """The sort of the given alternatives, in this order."""
    return Sort(Kind.ENUM, labels)


def join(*sorts: Sort) -> Sort | None:
    """The smallest sort that holds values of all of these, or None where there is none."""
    if len(set(sorts)) == 1:
        return sorts[0]
    return REAL if all(sort.is_number for sort in sorts) else None
