"""Formulas: from trees to negation normal form, and what a path formula asks now and next.

Every temporal operator becomes a strong until or its dual, with a window [a, b] counted in steps (b = None: for ever):

    X[k] p = true U[k,k] p     F[a,b] p = true U[a,b] p     G[a,b] p = false R[a,b] p     AX[k] p = A[false R[k,k] p]
    p W[a,b] q = p U[a,b] q | false R[0,b] p                p M[a,b] q = !(!p W[a,b] !q)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from vernal_check.errors import Unreadable
from vernal_check.expressions import Scope
from vernal_check.syntax import Node

TEMPORAL = ("X", "F", "G", "U", "R", "W", "M")
MAX_BOUND = 100_000


@dataclass(frozen=True)
class Formula:
    """In negation normal form: true, false, atom, no atom, and, or, U, R."""

    op: str
    parts: tuple[Formula, ...] = ()
    atom: int = -1
    lower: int = 0
    upper: int | None = None
    quantifier: str | None = None


TRUE, FALSE = Formula("true"), Formula("false")


class Normal:
    """The normal form of one formula, with its atoms as trees."""

    def __init__(self, node: Node, scope: Scope) -> None:
        """Of a claim of all paths the normal form of its negation, of one about states its own."""
        node = expanded(node, scope)
        self.scope, self.atoms = scope, list[Node]()
        if len(quantifiers(node)) > 1 and None in quantifiers(node):
            raise Unreadable("a formula with and without path quantifiers is not read")
        self.is_branching = not is_of_all_paths(node)
        self.formula = self.made(node, not self.is_branching)

    @property
    def is_bounded(self) -> bool:
        """Whether no window is without an end."""
        return bounded(self.formula)

    def induction(self, k: int, after: int) -> tuple[Normal, Normal]:
        """Of `G[after,] p` or `F G p`, as negations: p at k positions; and that it follows k positions that keep it."""
        f, base = self.formula, list[Formula]()
        if f.op == "R" and f.parts[0] == FALSE and (f.lower, f.upper) == (0, None):  # F G p: some path may end before
            f, base = replace(f.parts[1], lower=after), [Formula("R", (FALSE, FALSE), -1, after, after)]
        if f.op != "U" or f.parts[0] != TRUE or (f.lower, f.upper) != (after, None) or has_window(f.parts[1]):
            raise Unreadable("an induction shows only claims `G p` and `F G p`")
        bad = f.parts[1]
        base.append(Formula("U", (TRUE, bad), -1, after, after + k - 1))
        kept = Formula("R", (FALSE, opposite(bad)), -1, 0, k - 1)
        made = copy(self), copy(self)
        made[0].formula, made[1].formula = (
            joined("or", base),
            joined("and", [kept, Formula("U", (TRUE, bad), -1, k, k)]),
        )
        return made

    def made(self, node: Node, negated: bool) -> Formula:
        op, args = node.op, node.args
        if not is_temporal(node):
            return self.atom(node, negated)
        if op == "!":
            return self.made(args[0], not negated)
        if op in "&|":
            return joined("and" if (op == "&") != negated else "or", [self.made(arg, negated) for arg in args])
        if op == "->":
            parts = [self.made(args[0], not negated), self.made(args[1], negated)]
            return joined("and" if negated else "or", parts)
        if op == "<->":
            same = [joined("and", [self.made(arg, flip) for arg in args]) for flip in (False, True)]
            apart = [joined("and", [self.made(args[0], flip), self.made(args[1], not flip)]) for flip in (False, True)]
            return joined("or", apart if negated else same)
        if op in TEMPORAL:
            return self.temporal(op, args, negated)
        raise Unreadable(f"{op!r} does not belong into a formula")

    def atom(self, node: Node, negated: bool) -> Formula:
        if node in (Node("name", ("true",)), Node("name", ("false",))):
            return TRUE if (node.args[0] == "true") != negated else FALSE
        if node not in self.atoms:
            self.atoms.append(node)
        return Formula("no atom" if negated else "atom", atom=self.atoms.index(node))

    def temporal(self, op: str, args: Sequence[Any], negated: bool) -> Formula:
        quantifier = args[0]
        lower, upper = self.window(args[1], op)
        p, q = (None, args[2]) if op in "XFG" else (args[2], args[3])
        weak = op in "GRWM" or (op == "X" and quantifier == "A")
        if op in "WM":
            return self.weak(op, quantifier, p, q, (lower, upper), negated)
        quantifier = {"A": "E", "E": "A", None: None}[quantifier] if negated else quantifier
        quantifier = quantifier if self.is_branching else None
        right = self.made(q, negated)
        is_release = weak != negated
        left = (FALSE if is_release else TRUE) if p is None else self.made(p, negated)
        return Formula("R" if is_release else "U", (left, right), -1, lower, upper, quantifier)

    def weak(
        self, op: str, quantifier: str | None, p: Any, q: Any, window: tuple[int, int | None], negated: bool
    ) -> Formula:
        """p W q; p M q is the negation of !p W !q."""
        if quantifier is not None and self.is_branching:
            raise Unreadable(f"{quantifier}[... {op} ...] is not read")
        flip = negated if op == "W" else not negated
        a, b = self.made(p, negated), self.made(q, negated)
        if not flip:
            return joined("or", [Formula("U", (a, b), -1, *window), Formula("R", (FALSE, a), -1, 0, window[1])])
        return joined("and", [Formula("R", (a, b), -1, *window), Formula("U", (TRUE, a), -1, 0, window[1])])

    def window(self, bound: Any, op: str) -> tuple[int, int | None]:
        if bound is None:
            return (1, 1) if op == "X" else (0, None)
        lower = self.scope.integer(bound[0])
        upper = None if bound[1] is None else self.scope.integer(bound[1])
        if lower < 0 or (upper is not None and not lower <= upper) or max(lower, upper or 0) > MAX_BOUND:
            raise Unreadable("a bound is negative, inverted or very large")
        return lower, upper


def is_temporal(node: Any) -> bool:
    """Whether a temporal operator is inside."""
    if isinstance(node, tuple):
        return any(map(is_temporal, node))
    return isinstance(node, Node) and (node.op in TEMPORAL or any(map(is_temporal, node.args)))


def quantifiers(node: Any) -> set[str | None]:
    """The path quantifiers of temporal operators, None for those that have none."""
    if isinstance(node, tuple):
        return set().union(*map(quantifiers, node))
    if not isinstance(node, Node):
        return set()
    return quantifiers(node.args) | ({node.args[0]} if node.op in TEMPORAL else set())


def is_of_all_paths(node: Node) -> bool:
    """Whether a formula says something of every path: LTL, and conjunctions of A with one temporal operator."""
    if node.op == "&":
        return all(map(is_of_all_paths, node.args))
    if quantifiers(node) <= {None}:
        return True
    return node.op in TEMPORAL and node.args[0] == "A" and not any(map(is_temporal, node.args[2:]))


def expanded(node: Node, scope: Scope) -> Node:
    """`all(F d[i] for i in a..b)` and `any` over formulas, written out."""
    if not is_temporal(node):
        return node
    if node.op == "call" and node.args[0] in ("all", "any") and node.args[1].op == "each":
        item, index, lower, upper = node.args[1].args
        numbers = range(scope.integer(lower), scope.integer(upper) + 1)
        parts = tuple(expanded(replaced(item, index, i), scope) for i in numbers)
        return Node("&" if node.args[0] == "all" else "|", parts)
    return Node(node.op, tuple(expanded(arg, scope) if isinstance(arg, Node) else arg for arg in node.args))


def replaced(node: Any, index: str, value: int) -> Any:
    if isinstance(node, tuple):
        return tuple(replaced(part, index, value) for part in node)
    if not isinstance(node, Node):
        return node
    if node == Node("name", (index,)):
        return Node("num", (value,))
    return Node(node.op, replaced(node.args, index, value))


def joined(op: str, parts: Sequence[Formula]) -> Formula:
    """A conjunction or disjunction without what does not matter."""
    neutral, final = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
    if final in parts:
        return final
    kept = tuple(part for part in parts if part != neutral)
    return neutral if not kept else kept[0] if len(kept) == 1 else Formula(op, kept)


# Path formulas, step by step ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Demand:
    """One way to make formulas true: literals now, formulas next, those next that need a next position."""

    literals: frozenset[tuple[int, bool]]
    after: frozenset[Formula]
    strong: bool  # whether the path has to go on
    promises: frozenset[Formula]  # untils without a bound that are put off

    def allows(self, truths: Sequence[bool | None]) -> bool:
        return all(truths[atom] is wanted for atom, wanted in self.literals)


def demands(state: frozenset[Formula]) -> list[Demand]:
    """All ways to make every formula of a state true."""
    found: dict[Demand, None] = {}
    for literals, after, strong, promises in _expanded(list(state), frozenset(), frozenset(), False, frozenset()):
        if not any((atom, not wanted) in literals for atom, wanted in literals):
            found[Demand(literals, after, strong, promises)] = None
    return list(found)


_Way = tuple[frozenset[tuple[int, bool]], frozenset[Formula], bool, frozenset[Formula]]


def _expanded(
    left: list[Formula],
    literals: frozenset[tuple[int, bool]],
    after: frozenset[Formula],
    strong: bool,
    promises: frozenset[Formula],
) -> Iterator[_Way]:
    stack = [(left, literals, after, strong, promises)]
    while stack:
        left, literals, after, strong, promises = stack.pop()
        if not left:
            yield literals, after, strong, promises
            continue
        formula, rest = left[0], left[1:]
        for more, kept, goes_on, promised in now_and_next(formula):
            if formula.op in ("atom", "no atom"):
                stack.append((rest, literals | {(formula.atom, formula.op == "atom")}, after, strong, promises))
                break
            then = after if kept is None else after | {kept}
            promise = promises | {formula} if promised else promises
            stack.append(([*more, *rest], literals, then, strong or goes_on, promise))


def now_and_next(f: Formula) -> list[tuple[list[Formula], Formula | None, bool, bool]]:
    """Alternatives: what is asked now, what next, whether there has to be a next position, whether it is put off."""
    if f.op == "false":
        return []
    if f.op in ("true", "atom", "no atom"):
        return [([], None, False, False)]
    if f.op == "and":
        return [(list(f.parts), None, False, False)]
    if f.op == "or":
        return [([part], None, False, False) for part in f.parts]
    a, b = f.parts
    later = Formula(f.op, f.parts, -1, max(f.lower - 1, 0), None if f.upper is None else f.upper - 1)
    last = f.upper == 0
    if f.op == "U":
        if f.lower > 0:
            return [([a], later, True, False)]
        put_off = [] if last else [([a], later, True, f.upper is None)]
        return [([b], None, False, False), *put_off]
    if f.lower > 0:
        return [([a], None, False, False), ([], later, False, False)]
    if last:
        return [([b], None, False, False)]
    return [([a, b], None, False, False), ([b], later, False, False)]


def has_window(formula: Formula) -> bool:
    return formula.op in "UR" or any(map(has_window, formula.parts))


def opposite(formula: Formula) -> Formula:
    """The negation of a formula about one position."""
    other = {"and": "or", "or": "and", "atom": "no atom", "no atom": "atom", "true": "false", "false": "true"}
    return Formula(other[formula.op], tuple(map(opposite, formula.parts)), formula.atom)


def bounded(formula: Formula) -> bool:
    return (formula.op not in "UR" or formula.upper is not None) and all(map(bounded, formula.parts))


def untils(formula: Formula) -> list[Formula]:
    """The untils without an upper bound inside, as they are when they are put off."""
    found = [] if formula.op != "U" or formula.upper is not None else [Formula("U", formula.parts)]
    for part in formula.parts:
        found += [one for one in untils(part) if one not in found]
    return found
