"""From formulas of paths to automata: `automaton(path)` accepts exactly the maximal paths on which the formula is true.

A state is a set of formulas that have to be true from its position on; the covers of that set are its edges. Each
strong until has a mark, and an edge that postpones it does not bear that mark. An edge may end if nothing of what it
leaves for the next position demands that there is one.

Why it is right. *Accepted, hence true*: suppose a formula of a state is false at its position. One of its covers was
chosen, so a literal is false (no such edge is taken), a formula of the next state is false, or the path ends where a
next position is demanded (no such edge may end). So falsity moves on from position to position, to a part or to the
same formula again. It cannot stay for ever with a weak operator, whose falsity shows at some position, nor with a
strong until, which would be postponed for ever while its mark is missing. What `Tableau.state` leaves out is refuted
by a prefix, and then a formula that is kept is refuted by the same prefix. *True, hence accepted*: of the covers that
are true take one that postpones an until only where its right side is false now; a cover that asks less is as good.
Then every formula of the next state is true, and an until that is postponed is true, so that it is fulfilled, and its
mark taken, at a later position.

References: R. Gerth, D. Peled, M. Vardi and P. Wolper, Simple on-the-fly automatic verification of linear temporal
logic, PSTV 1995; J.-M. Couvreur, On-the-fly verification of linear temporal logic, FM 1999.
"""

from __future__ import annotations

from vernal.errors import Stopped, UnsupportedFormula
from vernal.logic.buchi import Automaton, Edge, degeneralised, trimmed, with_fewer_marks
from vernal.logic.formula import Formula
from vernal.logic.normal import is_ltl
from vernal.logic.tableau import Cover, Tableau
from vernal.model.expr import Expr
from vernal.model.tick import Tick, idle

__all__ = ["Automaton", "Edge", "automaton", "degeneralised"]

MAX_STATES = 5_000
MAX_EDGES = 50_000

_State = frozenset[int]


def automaton(path: Formula, *, total: bool = False, tick: Tick = idle) -> Automaton:
    """The automaton that accepts exactly the maximal paths on which a formula is true.

    Where the system is `total`, i.e. no path ends, no edge may end. A formula whose automaton is too large, which takes
    large bounds or very many operators, raises `Stopped` with the reason.
    """
    if not is_ltl(path):
        raise UnsupportedFormula("only a formula without path quantifiers has an automaton")
    tableau = Tableau(total=total, tick=tick)
    explored = _explore(tableau, tableau.of(path), total)
    return trimmed(with_fewer_marks(trimmed(explored, tick=tick)), tick=tick)


def _explore(tableau: Tableau, root: int, total: bool) -> Automaton:
    """All states that are reached from the formula, and their edges."""
    start = tableau.state(tableau.parts(root))
    numbers: dict[_State, int] = {start: 0}
    waiting = [start]
    taken: list[tuple[int, int, Cover]] = []
    for state in waiting:
        for cover in tableau.covers(state):
            target = tableau.state(cover.later)
            if target not in numbers:
                numbers[target] = len(numbers)
                waiting.append(target)
            taken.append((numbers[state], numbers[target], cover))
        if len(numbers) > MAX_STATES or len(taken) > MAX_EDGES:
            raise Stopped(f"the automaton of the formula has more than {MAX_STATES:,} states or {MAX_EDGES:,} edges")
    untils = sorted(frozenset[int]().union(*(cover.postponed for _, _, cover in taken)))
    edges = tuple(_edge(source, target, cover, tableau.atoms, untils, total) for source, target, cover in taken)
    return Automaton(0, len(numbers), edges, len(untils))


def _edge(source: int, target: int, cover: Cover, atoms: list[Expr], untils: list[int], total: bool) -> Edge:
    literals = tuple((atoms[code // 2], code % 2 == 0) for code in sorted(cover.literals))
    marks = frozenset(mark for mark, until in enumerate(untils) if until not in cover.postponed)
    return Edge(source, target, literals, marks, not total and not cover.strong)
