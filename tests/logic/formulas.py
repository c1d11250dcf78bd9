"""Random formulas, and a second opinion on what they mean: naive, recursive, straight from the semantics table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

from vernal.logic.formula import (
    Always,
    And,
    Atom,
    Bound,
    Eventually,
    Formula,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Release,
    Temporal,
    Until,
    Weak,
)
from vernal.model import build
from vernal.model.expr import Const, Expr
from vernal.model.sorts import BOOL

P, Q = build.var("p", BOOL), build.var("q", BOOL)
LITERALS = [Atom(P), Atom(Q), Atom(build.TRUE)]
ALL, SOME = Quantifier.ALL, Quantifier.SOME


def bound(lower: int, upper: int | None) -> Bound:
    return Bound(Fraction(lower), None if upper is None else Fraction(upper))


def bounds(most: int, unbounded: bool) -> st.SearchStrategy[Bound]:
    def build_bound(lower: int, width: int | None) -> Bound:
        return bound(lower, None if width is None else lower + width)

    numbers = st.integers(0, most)
    return st.builds(build_bound, numbers, numbers | st.none() if unbounded else numbers)


def formulas(
    atoms: st.SearchStrategy[Formula],
    quantifiers: Sequence[Quantifier | None],
    *,
    most: int = 3,
    unbounded: bool = True,
    leaves: int = 6,
) -> st.SearchStrategy[Formula]:
    """Formulas with all operators; `quantifiers` is [None] for LTL, [ALL, SOME] for CTL."""
    spans, quantified = bounds(most, unbounded), st.sampled_from(list(quantifiers))

    def extend(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            st.builds(Not, inner),
            st.builds(And, several),
            st.builds(Or, several),
            st.builds(Implies, inner, inner),
            st.builds(Iff, inner, inner),
            st.builds(Next, inner, st.integers(0, most), quantified),
            st.builds(Eventually, inner, spans, quantified),
            st.builds(Always, inner, spans, quantified),
            st.builds(Until, inner, inner, spans, quantified),
            st.builds(Release, inner, inner, spans, quantified),
            st.builds(Weak, inner, inner, spans, quantified),
        )

    return st.recursive(atoms, extend, max_leaves=leaves)


LTL = formulas(st.sampled_from(LITERALS), [None])
CTL = formulas(st.sampled_from(LITERALS), [ALL, SOME])
BOUNDED_LTL = formulas(st.sampled_from(LITERALS), [None], most=2, unbounded=False, leaves=4)
BOUNDED_CTL = formulas(st.sampled_from(LITERALS), [ALL, SOME], most=2, unbounded=False, leaves=4)


# Paths ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Path:
    """Truth values of p and q at each position; a lasso, or a finite maximal path where loop is None."""

    values: tuple[tuple[bool, bool], ...]
    loop: int | None = None

    def truth(self, expr: Expr, t: int) -> bool:
        return self.values[t][0 if expr is P else 1]


def paths(lasso: bool) -> st.SearchStrategy[Path]:
    values = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=6).map(tuple)
    if not lasso:
        return values.map(Path)
    return values.flatmap(lambda found: st.builds(Path, st.just(found), st.integers(0, len(found) - 1)))


Holds = Callable[[Formula, int], bool]


def naive(formula: Formula, path: Path, t: int = 0) -> bool:
    """The semantics table, read aloud; t counts positions of the unrolled path."""
    if isinstance(formula, Atom):
        return bool(formula.expr.value) if isinstance(formula.expr, Const) else path.truth(formula.expr, _fold(path, t))
    match formula:
        case Not(arg):
            return not naive(arg, path, t)
        case And(args):
            return all(naive(arg, path, t) for arg in args)
        case Or(args):
            return any(naive(arg, path, t) for arg in args)
        case Implies(left, right):
            return not naive(left, path, t) or naive(right, path, t)
        case Iff(left, right):
            return naive(left, path, t) == naive(right, path, t)
    assert isinstance(formula, Temporal)
    return temporal(formula, lambda arg, i: naive(arg, path, i), _window(path, t), t)


def _fold(path: Path, t: int) -> int:
    size = len(path.values)
    if t < size:
        return t
    assert path.loop is not None
    return path.loop + (t - path.loop) % (size - path.loop)


def _window(path: Path, t: int) -> Callable[[int, int | None], list[int]]:
    """The positions lower .. upper after t that exist and can matter: no end, and all of a lasso is seen."""

    def window(lower: int, upper: int | None) -> list[int]:
        size = len(path.values)
        end = t + lower + 2 * size if upper is None else t + upper
        return [i for i in range(t + lower, end + 1) if path.loop is not None or i < size]

    return window


def temporal(formula: Temporal, holds: Holds, window: Callable[[int, int | None], list[int]], t: int) -> bool:
    """A temporal operator on one path whose existing positions `window` lists."""
    if isinstance(formula, Next):
        where = window(formula.count, formula.count)
        return holds(formula.arg, where[0]) if where else formula.quantifier is ALL
    lower = int(formula.bound.lower)
    upper = None if formula.bound.upper is None else int(formula.bound.upper)
    inside = window(lower, upper)
    match formula:
        case Eventually(arg):
            return any(holds(arg, i) for i in inside)
        case Always(arg):
            return all(holds(arg, i) for i in inside)
        case Until(left, right):
            return any(holds(right, i) and all(holds(left, j) for j in range(t, i)) for i in inside)
        case Release(left, right):
            return not any(not holds(right, i) and not any(holds(left, j) for j in range(t, i)) for i in inside)
        case Weak(left, right):
            until = any(holds(right, i) and all(holds(left, j) for j in range(t, i)) for i in inside)
            return until or all(holds(left, i) for i in window(0, upper))


# Transition systems ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Graph:
    """A finite transition system: successors and the values of p and q for each state; some states may have none."""

    successors: tuple[tuple[int, ...], ...]
    values: tuple[tuple[bool, bool], ...]

    def paths(self, state: int, transitions: int) -> list[list[int]]:
        """All paths of so many transitions, and the maximal ones that are shorter."""
        found = [[state]]
        for _ in range(transitions):
            found = [[*path, after] for path in found for after in self.successors[path[-1]]] + [
                path for path in found if not self.successors[path[-1]]
            ]
        return [list(path) for path in dict.fromkeys(map(tuple, found))]

    def holds(self, formula: Formula, state: int) -> bool:
        """A bounded CTL formula at a state, by looking at every path."""
        if isinstance(formula, Atom):
            known = self.values[state][0 if formula.expr is P else 1]
            return bool(formula.expr.value) if isinstance(formula.expr, Const) else known
        match formula:
            case Not(arg):
                return not self.holds(arg, state)
            case And(args):
                return all(self.holds(arg, state) for arg in args)
            case Or(args):
                return any(self.holds(arg, state) for arg in args)
            case Implies(left, right):
                return not self.holds(left, state) or self.holds(right, state)
            case Iff(left, right):
                return self.holds(left, state) == self.holds(right, state)
        assert isinstance(formula, Temporal)
        depth = formula.count if isinstance(formula, Next) else int(formula.bound.upper or 0)
        found = [self._on(formula, path) for path in self.paths(state, depth)]
        return all(found) if formula.quantifier is ALL else any(found)

    def _on(self, formula: Temporal, path: list[int]) -> bool:
        def window(lower: int, upper: int | None) -> list[int]:
            assert upper is not None
            return [i for i in range(lower, upper + 1) if i < len(path)]

        return temporal(formula, lambda arg, i: self.holds(arg, path[i]), window, 0)


def graphs(states: int = 4) -> st.SearchStrategy[Graph]:
    after = st.lists(st.integers(0, states - 1), max_size=2, unique=True).map(tuple)
    value = st.tuples(st.booleans(), st.booleans())
    return st.builds(
        Graph,
        st.lists(after, min_size=states, max_size=states).map(tuple),
        st.lists(value, min_size=states, max_size=states).map(tuple),
    )


def known(values: Mapping[Expr, Sequence[bool | None]]) -> Callable[[Expr, int], bool | None]:
    """A truth function from rows of values."""
    return lambda expr, t: values[expr][t]
