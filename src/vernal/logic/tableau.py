"""What a formula asks of this position and of the next one: the rules by which automata are made from formulas.

A formula in negation normal form, its bounds written out, is a number in a table in which equal formulas are one. Two
operators without an end are enough, each a solution of `now = right | left & next now`: the strong until, which has to
come to its right side, and the weak one, which need not.

    F p = true U p        G p = p W false        p R q = q W (p & q)

A *cover* of a formula is one way in which it can be true: literals of this position, formulas of the next one, and
the strong untils it postpones. The formula is true at a position iff one of its covers is, and no until is postponed
for ever.

Reference: J.-M. Couvreur, On-the-fly verification of linear temporal logic, FM 1999.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from vernal.errors import Stopped, UnsupportedFormula
from vernal.logic.formula import Always, And, Atom, Eventually, Formula, Next, Not, Or, Release, Until, Weak
from vernal.logic.normal import expand, fold, nnf
from vernal.logic.progress import Joined, Junction, Later, Literal
from vernal.model.expr import Const, Expr
from vernal.model.tick import Tick, idle

MAX_COVERS = 2_000  # of one formula or state; beyond that its automaton is of no use

FALSE = 0
TRUE = 1


class Cover(NamedTuple):
    """One way to be true: literals now (2 * atom + 1 where it is negated), formulas at the next position."""

    literals: frozenset[int]
    later: frozenset[int]
    postponed: frozenset[int]  # strong untils whose right side is put off
    strong: bool  # whether there has to be a next position

    def and_(self, other: Cover) -> Cover:
        """Both at once."""
        return Cover(
            self.literals | other.literals,
            self.later | other.later,
            self.postponed | other.postponed,
            self.strong or other.strong,
        )

    @property
    def is_possible(self) -> bool:
        """False where it asks an atom to be true and false, or for a next position at which nothing is true."""
        return not (self.strong and FALSE in self.later) and not any(one ^ 1 in self.literals for one in self.literals)

    def subsumes(self, other: Cover) -> bool:
        """Whether it asks nothing that the other does not ask."""
        return (
            self.literals <= other.literals
            and self.later <= other.later
            and self.postponed <= other.postponed
            and self.strong <= other.strong
        )


@dataclass(frozen=True, slots=True)
class Unfolding:
    """An until without an end: `right | left & next (the same again)`."""

    left: int
    right: int
    strong: bool


Subformula = Literal | Joined | Later | Unfolding | bool

NOTHING = Cover(frozenset(), frozenset(), frozenset(), False)


class Tableau:
    """The table of formulas and their covers; a formula's parts have smaller numbers than the formula."""

    def __init__(self, *, total: bool = False, tick: Tick = idle) -> None:
        self.atoms: list[Expr] = []
        self.nodes: list[Subformula] = [False, True]
        self._covers: list[tuple[Cover, ...]] = [(), (NOTHING,)]
        self._refutable: list[bool] = [True, True]  # whether a finite prefix shows it to be false, where it is
        self._numbers: dict[Subformula, int] = {}
        self._implied: dict[tuple[int, int], bool] = {}
        self._total = total
        self._tick = tick

    # Making -----------------------------------------------------------------------------------------------------------

    def of(self, path: Formula) -> int:
        """The number of a formula of paths."""
        written_out = expand(nnf(path, total=self._total), total=self._total)
        return fold(written_out, self._rule)

    def _rule(self, node: Formula, args: tuple[int, ...]) -> int:
        self._tick()
        match node:
            case Atom(expr=Const() as constant):
                return TRUE if constant.value else FALSE
            case Atom(expr):
                return self._number(Literal(expr, True))
            case Not(arg=Atom(expr)):
                return 1 - args[0] if args[0] in (TRUE, FALSE) else self._number(Literal(expr, False))
            case And():
                return self.join(Junction.ALL, args)
            case Or():
                return self.join(Junction.SOME, args)
            case Next(count=count):
                return self._after(args[0], count, True)
            case Always(bound=bound) if bound.upper is not None:
                return self._after(args[0], int(bound.lower), False)
        return self._unfolding(node, args)

    def _unfolding(self, node: Formula, args: tuple[int, ...]) -> int:
        match node:
            case Eventually():
                return self._until(TRUE, args[0], True)
            case Always():
                return self._until(args[0], FALSE, False)
            case Until():
                return self._until(args[0], args[1], True)
            case Weak():
                return self._until(args[0], args[1], False)
            case Release():
                return self._until(args[1], self.join(Junction.ALL, args), False)
        raise UnsupportedFormula(f"{type(node).__name__} has no automaton")

    def _until(self, left: int, right: int, strong: bool) -> int:
        if right == TRUE or left == FALSE:
            return right
        if strong and right == FALSE:
            return FALSE
        return TRUE if left == TRUE and not strong else self._number(Unfolding(left, right, strong))

    def _after(self, what: int, count: int, strong: bool) -> int:
        for _ in range(count):
            if what == (FALSE if strong or self._total else TRUE):
                return what
            if self._total and what == TRUE:
                return TRUE
            what = self._number(Later(what, strong and not self._total))
        return what

    def join(self, junction: Junction, parts: Iterable[int]) -> int:
        """A conjunction or disjunction, as simple as it is easily made."""
        neutral = TRUE if junction is Junction.ALL else FALSE
        flat: set[int] = set()
        for part in parts:
            node = self.nodes[part]
            flat.update(node.parts if isinstance(node, Joined) and node.junction is junction else (part,))
        flat.discard(neutral)
        if 1 - neutral in flat:
            return 1 - neutral
        if len(flat) < 2:
            return flat.pop() if flat else neutral
        return self._number(Joined(junction, frozenset(flat)))

    def _atom(self, expr: Expr) -> int:
        if expr not in self.atoms:
            self.atoms.append(expr)
        return self.atoms.index(expr)

    def _number(self, node: Subformula) -> int:
        if node not in self._numbers:
            self._numbers[node] = number = len(self.nodes)
            self.nodes.append(node)
            self._covers.append(self._covers_of(node, number))
            self._refutable.append(self._is_refutable(node))
        return self._numbers[node]

    # Covers -----------------------------------------------------------------------------------------------------------

    def _covers_of(self, node: Subformula, number: int) -> tuple[Cover, ...]:
        match node:
            case Literal(atom, positive):
                return (NOTHING._replace(literals=frozenset({2 * self._atom(atom) + (not positive)})),)
            case Later(what, strong):
                return (NOTHING._replace(later=self.parts(what), strong=strong),)
            case Joined(Junction.ALL, parts):
                return self.covers(parts)
            case Joined(Junction.SOME, parts):
                return self._least(cover for part in sorted(parts) for cover in self._covers[part])
            case Unfolding(left, right, strong):
                postponed = frozenset({number} if strong else ())
                again = Cover(frozenset(), frozenset({number}), postponed, strong and not self._total)
                return self._least((*self._covers[right], *self._both(self._covers[left], (again,))))
        raise AssertionError(node)

    def covers(self, numbers: Iterable[int]) -> tuple[Cover, ...]:
        """All ways in which some formulas are true together, but for those that ask more than another."""
        found: tuple[Cover, ...] = (NOTHING,)
        for number in sorted(numbers):
            found = self._both(found, self._covers[number])
        return found

    def _both(self, some: Iterable[Cover], others: tuple[Cover, ...]) -> tuple[Cover, ...]:
        return self._least(one.and_(other) for one in some for other in others)

    def _least(self, covers: Iterable[Cover]) -> tuple[Cover, ...]:
        least: list[Cover] = []
        for cover in covers:
            self._tick()
            if not self._is_possible(cover) or any(other.subsumes(cover) for other in least):
                continue
            least = [other for other in least if not cover.subsumes(other)]
            least.append(cover)
            if len(least) > MAX_COVERS:
                raise Stopped(f"the automaton of the formula has more than {MAX_COVERS:,} edges at one state")
        return tuple(least)

    def _is_possible(self, cover: Cover) -> bool:
        return cover.is_possible and not (self._total and FALSE in cover.later)

    def parts(self, number: int) -> frozenset[int]:
        """A formula as formulas that have to be true together."""
        node = self.nodes[number]
        if isinstance(node, Joined) and node.junction is Junction.ALL:
            return node.parts
        return frozenset() if number == TRUE else frozenset({number})

    # Implications -----------------------------------------------------------------------------------------------------

    def state(self, later: frozenset[int]) -> frozenset[int]:
        """Formulas that are true together, without some that follow from others.

        `G (p -> F[0,9] q)` may leave any of F[0,0] q .. F[0,8] q to be kept, and the first implies the others: without
        this its automaton would have exponentially many states. Only what a finite prefix refutes is left out. It would
        be wrong to leave out a strong until: whether it is postponed for ever is seen only where it is unfolded.
        A formula that is refuted by a prefix is implied only by formulas that the same prefix refutes.
        """
        if FALSE in later:
            return frozenset({FALSE})
        kept = sorted(later)
        for number in sorted(later, reverse=True):
            if self._refutable[number] and any(self.implies(other, number) for other in kept if other != number):
                kept.remove(number)
        return frozenset(kept)

    def _is_refutable(self, node: Subformula) -> bool:
        match node:
            case Joined(_, parts):
                return all(self._refutable[part] for part in parts)
            case Later(what, _):
                return self._refutable[what]
            case Unfolding(left, right, strong):
                return not strong and self._refutable[left] and self._refutable[right]
        return True

    def implies(self, first: int, second: int) -> bool:
        """Whether one formula implies another position by position, as its form shows; False where it is not seen."""
        waiting = [(first, second)]
        while waiting:
            self._tick()
            pair = waiting[-1]
            options = [] if pair in self._implied else self._options(*pair)
            needed = [other for option in options for other in option if other not in self._implied]
            waiting.extend(needed)
            if not needed:
                waiting.pop()
                self._implied.setdefault(pair, any(all(self._implied[part] for part in some) for some in options))
        return self._implied[first, second]

    def _options(self, first: int, second: int) -> list[list[tuple[int, int]]]:
        """Implications between parts: this one is seen where all of one list are."""
        a, b = self.nodes[first], self.nodes[second]
        if first in (second, FALSE) or second == TRUE:
            return [[]]
        if isinstance(b, Joined) and b.junction is Junction.ALL:
            return [[(first, part) for part in b.parts]]
        if isinstance(a, Joined) and a.junction is Junction.SOME:
            return [[(part, second) for part in a.parts]]
        options = [[(first, part)] for part in b.parts] if isinstance(b, Joined) else []
        options += [[(part, second)] for part in a.parts] if isinstance(a, Joined) else []
        match a, b:
            case Later(one, strong), Later(other, stronger) if strong >= stronger:
                options.append([(one, other)])
            case Unfolding(left, right, strong), Unfolding(other_left, other_right, stronger) if strong >= stronger:
                options.append([(left, other_left), (right, other_right)])
        return [*options, [(a.left, second), (a.right, second)]] if isinstance(a, Unfolding) else options
