"""The one search, over sets that are plain sets of numbers: what it keeps, what it fails, and when it ends."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from vernal.logic.direction import Direction
from vernal.logic.elaboration import formula
from vernal.logic.formula import Formula
from vernal.logic.scope import Scope
from vernal.logic.syntax import Source
from vernal.model import build
from vernal.model.expr import Compare, Const, Expr
from vernal.model.sorts import INT
from vernal.sets.search import Search, Stage

N = build.var("n", INT)


@dataclass(frozen=True)
class Numbers:
    """A set of integers; a step takes n to n + 1, or to 2n; it ends above `last`."""

    numbers: frozenset[int]
    last: int

    def decide(self, atom: Expr, *, only_truth: bool) -> Iterator[tuple[bool, Numbers]]:
        for truth in (True, False):
            part = frozenset(n for n in self.numbers if holds(atom, n) == truth)
            if part:
                yield truth, Numbers(part, self.last)

    def enabled(self) -> Iterator[tuple[bool, Numbers]]:
        for truth in (True, False):
            part = frozenset(n for n in self.numbers if (n <= self.last) == truth)
            if part:
                yield truth, Numbers(part, self.last)

    def moves(self) -> Iterator[tuple[Hashable, frozenset[int]]]:
        yield "added", frozenset(n + 1 for n in self.numbers)
        yield "doubled", frozenset(2 * n for n in self.numbers)


def holds(atom: Expr, n: int) -> bool:
    """Atoms here compare n with a constant."""
    assert isinstance(atom, Compare)
    left, right = (n if arg is N else int(arg.value) if isinstance(arg, Const) else 0 for arg in atom.args)
    return {"<": left < right, "<=": left <= right, "==": left == right, "!=": left != right}[atom.op]


@dataclass
class Plain:
    """All sets that arrive at a stage are one."""

    start: frozenset[int]
    last: int = 1000

    direction = Direction.EXACT

    def enter(self) -> Iterator[tuple[Hashable, frozenset[int]]]:
        yield "start", self.start

    def gather(self, stage: Stage, arrived: Sequence[object]) -> Numbers | None:
        found = frozenset(n for one in arrived if isinstance(one, frozenset) for n in one)
        return Numbers(found, self.last) if found else None


@dataclass
class Listener:
    """Keeps everything; ends the search at the first failure if asked."""

    stops: bool = False
    kept_at: list[tuple[int, frozenset[int]]] = field(default_factory=list)
    failed_at: list[tuple[int, frozenset[int]]] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)

    @property
    def done(self) -> bool:
        return self.stops and bool(self.failed_at)

    def reached(self, stage: Stage, states: Numbers) -> None: ...

    def kept(self, stage: Stage, states: Numbers) -> None:
        self.kept_at.append((stage.t, states.numbers))

    def failed(self, stage: Stage, states: Numbers) -> None:
        self.failed_at.append((stage.t, states.numbers))

    def passed(self, t: int) -> None:
        self.levels.append(t)


def claim(text: str) -> Formula:
    return formula(Source(text, "claim"), Scope({"n": N}))


def searched(text: str, start: set[int], steps: int, *, last: int = 1000, stops: bool = False) -> Listener:
    heard = Listener(stops)
    space = Plain(frozenset(start), last)
    Search(claim(text), space, heard, total=False, tick=lambda: None).levels(steps)
    return heard


def test_what_can_be_reached_is_looked_at() -> None:
    heard = searched("G[0,3] (n < 8)", {1}, 3)
    assert heard.failed_at == [(3, frozenset({8}))]  # doubled three times
    assert heard.levels == [0, 1, 2, 3]


def test_a_claim_that_all_sets_keep_has_no_failure() -> None:
    assert not searched("G[0,3] (n <= 8)", {1}, 3).failed_at


def test_atoms_divide_a_set() -> None:
    heard = searched("(n < 3) | X (n > 4)", {1, 2, 3}, 1)
    assert (0, frozenset({1, 2})) in heard.kept_at
    assert heard.failed_at == [(1, frozenset({4}))]  # from 3 by adding; doubled it is 6


@pytest.mark.parametrize(
    ("text", "fails"), [("X[3] (n > 0)", True), ("G[0,3] (n > 0)", False), ("F[0,3] (n > 4)", True)]
)
def test_at_the_end_of_a_path_only_what_is_weak_is_kept(text: str, fails: bool) -> None:
    assert bool(searched(text, {1}, 3, last=2).failed_at) == fails


def test_a_handler_may_end_the_search() -> None:
    assert len(searched("G[0,9] (n < 3)", {1}, 9, stops=True).failed_at) == 1


def test_depth_first_finds_the_same_failures_of_one_start() -> None:
    heard, space = Listener(stops=True), Plain(frozenset({1}))
    Search(claim("G[0,3] (n < 8)"), space, heard, total=True, tick=lambda: None).dive("start", space.start)
    assert heard.failed_at == [(3, frozenset({8}))]
    assert not heard.levels


def levels(text: str, start: set[int], depth: int, last: int = 1000) -> tuple[bool, Listener]:
    heard = Listener()
    search = Search(claim(text), Plain(frozenset(start), last), heard, total=False, tick=lambda: None)
    return search.levels(depth), heard


def test_a_formula_without_a_bound_goes_on_until_nothing_is_asked() -> None:
    ended, heard = levels("F (n > 4)", {1}, 100)
    assert ended
    assert not heard.failed_at
    assert heard.levels == [0, 1, 2, 3, 4]  # by adding 1 alone
    ended, heard = levels("G (n > 0)", {1}, 5)
    assert not ended
    assert not heard.failed_at
    ended, heard = levels("G (n < 3)", {1}, 2)
    assert heard.failed_at == [(2, frozenset({3})), (2, frozenset({4}))]


def test_where_all_paths_end_so_does_a_claim_for_ever() -> None:
    assert levels("G (n < 9)", {1}, 100, last=4)[0]
