"""Automata accept exactly the paths on which the formula is true: against the evaluator, and by naive search."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import count, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.logic.formulas import ALL, BOUNDED_LTL, LTL, P, Path, Q, bound, paths
from tests.portion import some
from vernal.errors import Stopped, UnsupportedFormula
from vernal.logic.automaton import Automaton, Edge, automaton, degeneralised
from vernal.logic.formula import (
    Always,
    And,
    Atom,
    Bound,
    Eventually,
    Formula,
    Implies,
    Next,
    Not,
    Or,
    Release,
    Until,
    Weak,
)
from vernal.logic.normal import TRUTH, expand, fold, horizon, nnf
from vernal.logic.semantics import evaluate

p, q = Atom(P), Atom(Q)

# Every path is allowed to end, or to go on for ever: all lassos and all finite paths of up to three positions.
VALUES = [(one, other) for one in (False, True) for other in (False, True)]
SHORT = [
    Path(values, loop)
    for length in (1, 2, 3)
    for values in product(VALUES, repeat=length)
    for loop in (None, *range(length))
]


# A naive search -------------------------------------------------------------------------------------------------------


def fits(edge: Edge, path: Path, t: int) -> bool:
    return all(path.truth(atom, t) == positive for atom, positive in edge.literals)


def leaving(made: Automaton, path: Path, node: tuple[int, int]) -> list[tuple[Edge, tuple[int, int]]]:
    """The edges that read a position from a state, and where they lead: the next state and position."""
    state, t = node
    after = t + 1 if t + 1 < len(path.values) else path.loop
    return [
        (edge, (edge.target, -1 if after is None else after))
        for edge in made.edges
        if edge.source == state and fits(edge, path, t)
    ]


def reachable(made: Automaton, path: Path, starts: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """All states and positions that can be reached from some of them, these included."""
    found, waiting = set(starts), list(starts)
    while waiting:
        node = waiting.pop()
        fresh = {target for _, target in leaving(made, path, node) if target[1] >= 0} - found
        found |= fresh
        waiting.extend(fresh)
    return found


def accepts(made: Automaton, path: Path) -> bool:
    """Whether some run is accepted: one that ends well, or one that comes back and takes every mark on the way."""
    nodes = reachable(made, path, {(made.initial, 0)})
    if path.loop is None:
        last = len(path.values) - 1
        return any(edge.may_end for node in nodes if node[1] == last for edge, _ in leaving(made, path, node))
    return any(returns(made, path, node) for node in nodes)


def returns(made: Automaton, path: Path, home: tuple[int, int]) -> bool:
    """Whether there is a way from here back to here; states are doubled by the marks taken on the way."""
    every = frozenset(range(made.marks))
    found: set[tuple[tuple[int, int], frozenset[int]]] = set()
    waiting = [(home, frozenset[int]())]
    while waiting:
        node, marks = waiting.pop()
        for edge, target in leaving(made, path, node):
            now = marks | edge.marks
            if target == home and now == every:
                return True
            if (target, now) not in found:
                found.add((target, now))
                waiting.append((target, now))
    return False


def holds(formula: Formula, path: Path) -> bool:
    """What the evaluator says."""
    value = evaluate(formula, path.truth, len(path.values), loop=path.loop, complete=path.loop is None)
    assert value is not None
    return value


# The same paths -------------------------------------------------------------------------------------------------------


@settings(max_examples=some(80), deadline=None)
@given(LTL, st.lists(paths(lasso=True) | paths(lasso=False), min_size=10, max_size=10))
def test_an_automaton_accepts_the_paths_on_which_its_formula_is_true(formula: Formula, some: list[Path]) -> None:
    made = automaton(formula)
    for path in some:
        assert accepts(made, path) == holds(formula, path), path


@settings(max_examples=some(60), deadline=None)
@given(LTL, st.lists(paths(lasso=True) | paths(lasso=False), min_size=10, max_size=10))
def test_one_mark_is_enough(formula: Formula, some: list[Path]) -> None:
    made = degeneralised(automaton(formula))
    assert made.marks == 1
    for path in some:
        assert accepts(made, path) == holds(formula, path), path


@settings(max_examples=some(60), deadline=None)
@given(LTL, st.lists(paths(lasso=True), min_size=10, max_size=10))
def test_where_no_path_ends_no_edge_may_end(formula: Formula, some: list[Path]) -> None:
    made = automaton(formula, total=True)
    assert not any(edge.may_end for edge in made.edges)
    for path in some:
        assert accepts(made, path) == holds(formula, path), path


@settings(max_examples=some(40), deadline=None)
@given(LTL)
def test_a_formula_and_its_negation_share_the_paths_among_them(formula: Formula) -> None:
    yes, no = automaton(formula), automaton(Not(formula))
    for path in SHORT:
        assert accepts(yes, path) != accepts(no, path), path


@settings(max_examples=some(100), deadline=None)
@given(LTL)
def test_automata_are_well_formed(formula: Formula) -> None:
    made = automaton(formula)
    assert made.initial == 0
    for edge in made.edges:
        assert 0 <= edge.source < made.states
        assert 0 <= edge.target < made.states
        assert edge.marks <= frozenset(range(made.marks))
        assert len({atom for atom, _ in edge.literals}) == len(edge.literals)


@settings(max_examples=some(80), deadline=None)
@given(BOUNDED_LTL, st.booleans())
def test_beyond_the_horizon_nothing_is_read(formula: Formula, total: bool) -> None:
    made = degeneralised(automaton(Not(formula), total=total))
    reach = horizon(formula)
    assert reach is not None
    reached = {made.initial}
    for _ in range(reach + 1):
        reached = {edge.target for edge in made.edges if edge.source in reached}
    for state in reached:
        edges = [edge for edge in made.edges if edge.source == state]
        assert edges in ([], [Edge(state, state, (), frozenset({0}), not total)])


# Sizes ----------------------------------------------------------------------------------------------------------------

TEXTBOOK: list[tuple[Formula, int]] = [
    (TRUTH, 1),
    (Not(TRUTH), 1),
    (p, 2),
    (Always(p), 1),
    (Eventually(p), 2),
    (Until(p, q), 2),
    (Weak(p, q), 2),
    (Release(p, q), 2),
    (Always(Eventually(p)), 1),
    (Eventually(Always(p)), 2),
    (And((Always(Eventually(p)), Always(Eventually(q)))), 1),
    (Implies(Always(Eventually(p)), Always(Eventually(q))), 4),
    (Always(Implies(p, Eventually(q))), 2),
    (Always(Implies(p, Next(q))), 2),
    (Always(Or((p, Next(Next(q))))), 4),
    (Eventually(p, bound(0, 20)), 22),
    (Eventually(p, bound(20, 20)), 22),
    (Always(Eventually(p, bound(0, 20))), 21),
    (Always(Implies(p, Eventually(q, bound(0, 20)))), 21),
    (Always(Implies(p, Always(q, bound(0, 20)))), 21),
    (Always(p, bound(3, None)), 4),
]


@pytest.mark.parametrize(("formula", "most"), TEXTBOOK, ids=lambda value: str(value))
def test_textbook_formulas_have_small_automata(formula: Formula, most: int) -> None:
    made = automaton(formula, total=True)
    assert made.states <= most
    assert automaton(formula).states <= most + 1  # and a state after the end


def test_what_is_never_true_has_no_edges() -> None:
    assert automaton(And((Always(p), Eventually(Not(p))))) == Automaton(0, 1, (), 0)


def test_the_last_position_of_a_path_is_known_by_its_edge() -> None:
    last = automaton(Not(Next(TRUTH)))
    assert [(edge.literals, edge.may_end) for edge in last.edges] == [((), True)]
    assert not any(edge.source == last.edges[0].target for edge in last.edges)


# Limits ---------------------------------------------------------------------------------------------------------------


def test_a_huge_automaton_is_refused_with_the_reason() -> None:
    remembers = Always(Implies(p, Next(q, 20)))
    with pytest.raises(Stopped, match="more than"):
        automaton(remembers)


def test_a_long_conjunction_of_alternatives_is_refused() -> None:
    several = And(tuple(Or((Next(p, 2 * n), Next(q, 2 * n + 1))) for n in range(1, 30)))
    with pytest.raises(Stopped, match="more than"):
        automaton(several)


def test_the_tick_stops_the_translation() -> None:
    looks = count()

    def tick() -> None:
        if next(looks) == 100:
            raise Stopped("timeout")

    with pytest.raises(Stopped, match="timeout"):
        automaton(Always(Implies(p, Next(q, 20))), tick=tick)
    assert next(looks) == 101


def test_deep_bounds_do_not_recurse() -> None:
    assert automaton(Eventually(p, bound(0, 2000)), total=True).states == 2002


def test_path_quantifiers_are_refused() -> None:
    with pytest.raises(UnsupportedFormula):
        automaton(Always(p, Bound(), ALL))


# Spot -----------------------------------------------------------------------------------------------------------------


def spelled(formula: Formula) -> str:
    """The formula as Spot reads it; it has no ends of paths and no W with bounds, which the expansion removes."""

    def rule(node: Formula, args: tuple[str, ...]) -> str:
        match node:
            case Atom(expr):
                return "p" if expr is P else "q" if expr is Q else "1"
            case Not():
                return f"!({args[0]})"
            case And():
                return f"({' & '.join(args)})"
            case Or():
                return f"({' | '.join(args)})"
            case Next(count=count):
                return "X" * count + f"({args[0]})"
            case Eventually():
                return f"F({args[0]})"
            case Always():
                return f"G({args[0]})"
        letter = {Until: "U", Release: "R", Weak: "W"}[type(node)]
        return f"(({args[0]}) {letter} ({args[1]}))"

    return fold(expand(nnf(formula, total=True), total=True), rule)


def hoa(made: Automaton) -> str:
    """The automaton in the Hanoi omega-automata format."""
    fair = "&".join(f"Inf({mark})" for mark in range(made.marks)) or "t"
    lines = ["HOA: v1", f"States: {made.states}", f"Start: {made.initial}", 'AP: 2 "p" "q"']
    lines += [f"Acceptance: {made.marks} {fair}", "properties: trans-labels explicit-labels trans-acc", "--BODY--"]
    for state in range(made.states):
        lines.append(f"State: {state}")
        for edge in made.edges:
            if edge.source == state:
                label = "&".join(
                    ("" if positive else "!") + ("0" if atom is P else "1") for atom, positive in edge.literals
                )
                marks = " {" + " ".join(map(str, sorted(edge.marks))) + "}" if edge.marks else ""
                lines.append(f"[{label or 't'}] {edge.target}{marks}")
    return "\n".join([*lines, "--END--", ""])


@pytest.mark.skipif(find_spec("spot") is None or find_spec("spot.impl") is None, reason="Spot is not installed")
@settings(max_examples=some(200), deadline=None)
@given(LTL)
def test_spot_finds_the_automata_equivalent(formula: Formula) -> None:
    import spot

    ours = spot.automaton(hoa(automaton(formula, total=True)))
    assert spot.are_equivalent(ours, spot.formula(spelled(formula)))
