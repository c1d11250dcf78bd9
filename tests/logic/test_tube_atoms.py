"""Formulas in seconds over positions with tubes: a search over recorded paths agrees with the definition."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vernal.errors import UnsupportedFormula
from vernal.logic.direction import Direction
from vernal.logic.elaboration import formula
from vernal.logic.formula import Always, And, Bound, Eventually, Formula, Or
from vernal.logic.normal import nnf
from vernal.logic.scope import Scope
from vernal.logic.syntax import Source
from vernal.logic.tube_atoms import During, TubeAtoms, window_ends
from vernal.model import build
from vernal.model.expr import Compare, Const, Expr, Not
from vernal.model.sorts import REAL
from vernal.sets.search import Search, Stage

X = build.var("x", REAL)
INSTANTS = [Fraction(k, 2) for k in range(7)]  # 0 to 3


@dataclass(frozen=True)
class Recorded:
    """A path: at every instant the values before and after the jump, and those of the tube that follows."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    tubes: tuple[tuple[int, ...], ...]

    def values(self, first: Fraction, last: Fraction) -> Iterator[int]:
        """All values that it takes in a window, both ends included."""
        for k, (before, after) in enumerate(zip(self.before, self.after, strict=True)):
            if first <= INSTANTS[k] <= last:
                yield from (before, after) if k else (after,)
            if k < len(self.tubes) and first < INSTANTS[k + 1] and INSTANTS[k] < last:
                yield from self.tubes[k]


def holds(condition: Expr, x: int) -> bool:
    """Conditions here compare x with numbers."""
    match condition:
        case Compare(args=(left, right), op=op):
            a, b = (x if arg is X else float(arg.value) if isinstance(arg, Const) else 0.0 for arg in (left, right))
            return {"<": a < b, "<=": a <= b}[op]
        case Not(args=(arg,)):
            return not holds(arg, x)
    raise AssertionError(condition)


def truth(claim: Formula, path: Recorded) -> bool:
    """By the definition: every instant counts, and at a jump both values."""
    match claim:
        case Always(arg=arg, bound=Bound(lower, upper)) | Eventually(arg=arg, bound=Bound(lower, upper)):
            assert upper is not None
            found = [holds(arg.expr, x) for x in path.values(lower, upper)]  # type: ignore[attr-defined]
            return all(found) if isinstance(claim, Always) else any(found)
        case And(args):
            return all(truth(arg, path) for arg in args)
        case Or(args):
            return any(truth(arg, path) for arg in args)
    return holds(claim.expr, path.after[0])  # type: ignore[attr-defined]


@dataclass(frozen=True)
class OnePath:
    """The set with one path in it, at a position."""

    path: Recorded
    at: int
    atoms: TubeAtoms

    def decide(self, atom: Expr, *, only_truth: bool) -> Iterator[tuple[bool, OnePath]]:
        asked = self.atoms.meaning.get(atom)
        if asked is None:
            yield holds(atom, self.path.after[self.at]), self
        elif asked.during is During.BEFORE:
            yield holds(asked.condition, self.path.before[self.at]), self
        else:
            tube = (self.path.after[self.at], *(self.path.tubes[self.at] if self.at < len(self.path.tubes) else ()))
            if self.at + 1 < len(self.path.before):
                tube = (*tube, self.path.before[self.at + 1])
            found = [holds(asked.condition, x) for x in tube]
            yield (all(found) if asked.during is During.THROUGHOUT else any(found)), self

    def enabled(self) -> Iterator[tuple[bool, OnePath]]:
        yield self.at + 1 < len(self.path.after), self

    def moves(self) -> Iterator[tuple[Hashable, int]]:
        yield (), self.at + 1


@dataclass
class PathSpace:
    """A space of one path, and a handler that hears whether it fails."""

    path: Recorded
    atoms: TubeAtoms
    done: bool = False

    direction = Direction.EXACT

    def enter(self) -> Iterator[tuple[Hashable, int]]:
        yield (), 0

    def gather(self, stage: Stage, arrived: Sequence[object]) -> OnePath:
        return OnePath(self.path, stage.t, self.atoms)

    def reached(self, stage: Stage, states: OnePath) -> None: ...

    def kept(self, stage: Stage, states: OnePath) -> None: ...

    def failed(self, stage: Stage, states: OnePath) -> None:
        self.done = True

    def passed(self, t: int) -> None: ...


def claim(text: str) -> Formula:
    return nnf(formula(Source(text, "claim"), Scope({"x": X}), discrete=False), total=True)


VALUES = st.integers(0, 3)


@st.composite
def paths(draw: st.DrawFn) -> Recorded:
    count = draw(st.integers(1, len(INSTANTS)))
    after = draw(st.lists(VALUES, min_size=count, max_size=count))
    before = draw(st.lists(VALUES, min_size=count, max_size=count))
    whole = count - 1 if count == len(INSTANTS) or draw(st.booleans()) else count
    tubes = draw(st.lists(st.lists(VALUES, max_size=3), min_size=whole, max_size=whole))
    return Recorded(tuple(before), tuple(after), tuple(map(tuple, tubes)))


TEXTS = [
    "G[0,3] x < 3",
    "F[0,3] x > 2",
    "G[1,2] x < 3",
    "F[1,2] x > 2",
    "G[1,1] x < 3",
    "F[1,1] x > 2",
    "F[0.5,3] x > 2 | G[0,1.5] x < 3",
    "(x < 2 & F[1,2.5] x > 1) | G[2,3] x >= 1",
    "G[0,0] x < 3",
    "x < 2",
]


@pytest.mark.parametrize("text", TEXTS)
@given(path=paths())
def test_a_search_over_tubes_agrees_with_the_definition(text: str, path: Recorded) -> None:
    atoms = TubeAtoms(INSTANTS, jumps=lambda position: True)
    asked = claim(text)
    heard = PathSpace(path, atoms)
    Search(atoms.path(asked), heard, heard, total=False, tick=lambda: None).levels(len(INSTANTS))
    assert heard.done is not truth(asked, path)


def test_where_nothing_jumps_only_positions_and_tubes_are_asked() -> None:
    atoms = TubeAtoms([Fraction(0), Fraction(1), Fraction(2)])
    atoms.path(claim("G[1,2] x < 3 & F[0,2] x > 1"))
    assert {asked.during for asked in atoms.meaning.values()} == {During.THROUGHOUT, During.SOMETIME}


def test_windows_end_at_instants() -> None:
    found = window_ends(claim("G[1,2.5] x < 3 | F[0.5,1] x > 2"))
    assert found == [0, Fraction(1, 2), 1, Fraction(5, 2)]
    assert all(a < b for a, b in pairwise(found))


def test_other_operators_are_refused() -> None:
    with pytest.raises(UnsupportedFormula, match="Boolean combination"):
        TubeAtoms(INSTANTS).path(formula(Source("X x < 3", "claim"), Scope({"x": X})))
