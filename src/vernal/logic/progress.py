"""Progression: what a formula still asks, after each position of a path.

A formula is written out into atoms now and demands on the next position, strong (there has to be one) or weak. These
*obligations* live in a table in which equal ones are one number, so that two paths that owe the same can be recognised.
The obligations TRUE and FALSE are closed: nothing that follows matters. An operator without an end asks for itself at
the next position: `G p` is p now and `G p` next, so what it asks does not grow with the positions that were passed.

Reference: F. Bacchus and F. Kabanza, Planning for temporally extended goals, AAAI 1996.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from vernal.errors import UnsupportedFormula
from vernal.logic.formula import (
    Always,
    And,
    Atom,
    Eventually,
    Formula,
    Next,
    Not,
    Or,
    Quantifier,
    Release,
    Temporal,
    Until,
    Weak,
    operands,
)
from vernal.logic.normal import Logic, classify, expand, fold, nnf, order, steps, strip_quantifiers
from vernal.model.expr import Const, Expr

Obligation = int

FALSE: Obligation = 0
TRUE: Obligation = 1

STRONG = (Eventually, Until)  # operators that wait for something which has to come


class Junction(Enum):
    """All of them, or one of them."""

    ALL = "and"
    SOME = "or"

    @property
    def neutral(self) -> Obligation:
        return TRUE if self is Junction.ALL else FALSE


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom now, or its negation."""

    atom: Expr
    positive: bool


@dataclass(frozen=True, slots=True)
class Joined:
    """Several obligations at once."""

    junction: Junction
    parts: frozenset[Obligation]


@dataclass(frozen=True, slots=True)
class Later:
    """An obligation at the next position; `quantifier` says of which successors, where it is CTL."""

    what: Obligation
    strong: bool
    quantifier: Quantifier | None = None


@dataclass(frozen=True, slots=True)
class Recurring:
    """An operator without an end over its operands: what it asks is written out anew at each position."""

    operator: type[Formula]
    args: tuple[Obligation, ...]


Entry = Literal | Joined | Later | Recurring | bool

_OfLiteral = Callable[[Literal], Obligation | None]
_OfLater = Callable[[Obligation, Later], Obligation]


class Obligations:
    """The table; entries refer to earlier ones only."""

    def __init__(self) -> None:
        self.entries: list[Entry] = [False, True]
        self._numbers: dict[Entry, Obligation] = {}
        self._assumed: dict[tuple[Obligation, Expr, bool], Obligation] = {}
        self._waiting: dict[Obligation, bool] = {}

    def _number(self, entry: Entry) -> Obligation:
        if entry not in self._numbers:
            self._numbers[entry] = len(self.entries)
            self.entries.append(entry)
        return self._numbers[entry]

    # Making -----------------------------------------------------------------------------------------------------------

    def of(self, formula: Formula, *, total: bool = False) -> Obligation:
        """What a formula asks; `total` if no path of the system ends. Operators without an end have to be LTL."""
        return fold(expand(nnf(formula, total=total), total=total), self._rule)

    def _rule(self, node: Formula, args: tuple[Obligation, ...]) -> Obligation:
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
            case Next(count=count, quantifier=quantifier):
                return self._later(args[0], count, quantifier is not Quantifier.ALL, quantifier)
            case Always(bound=bound, quantifier=None) if bound.lower == bound.upper:
                return self._later(args[0], int(bound.lower), False, None)
            case Always() | Eventually() | Until() | Release() | Weak() if node.quantifier is None:
                return self._recurring(type(node), args)
        raise UnsupportedFormula(f"{type(node).__name__} of states without an end is not for a search along paths")

    def _recurring(self, operator: type[Formula], args: tuple[Obligation, ...]) -> Obligation:
        """An operator without an end; one that nothing can fulfil, or nothing can break, is closed."""
        strong = operator in STRONG
        lasting = args[1] if operator in (Until, Release) else args[0]  # what is asked for ever, or waited for
        if lasting == (FALSE if strong else TRUE):
            return lasting
        return self._unfolded(self._number(Recurring(operator, args)))

    def _unfolded(self, number: Obligation) -> Obligation:
        """What a recurring operator asks now, and that it asks the same next; other obligations as they are."""
        entry = self.entries[number]
        if not isinstance(entry, Recurring):
            return number
        operator, args = entry.operator, entry.args
        again = self._number(Later(number, operator in STRONG))
        if operator is Always:
            return self.join(Junction.ALL, (args[0], again))
        if operator is Eventually:
            return self.join(Junction.SOME, (args[0], again))
        if operator is Release:
            return self.join(Junction.ALL, (args[1], self.join(Junction.SOME, (args[0], again))))
        return self.join(Junction.SOME, (args[1], self.join(Junction.ALL, (args[0], again))))

    def _later(self, what: Obligation, count: int, strong: bool, quantifier: Quantifier | None) -> Obligation:
        for _ in range(count):
            if what == (FALSE if strong else TRUE):  # nothing that exists, or nothing that is asked
                return what
            what = self._number(Later(what, strong, quantifier))
        return what

    def join(self, junction: Junction, parts: tuple[Obligation, ...]) -> Obligation:
        """A conjunction or disjunction, as simple as it is easily made."""
        neutral = junction.neutral
        flat: set[Obligation] = set()
        for part in parts:
            entry = self.entries[part]
            flat.update(entry.parts if isinstance(entry, Joined) and entry.junction is junction else (part,))
        if 1 - neutral in flat:
            return 1 - neutral
        flat.discard(neutral)
        flat = {part for part in flat if not self._is_absorbed(part, flat)}
        if len(flat) < 2:
            return flat.pop() if flat else neutral
        return self._number(Joined(junction, frozenset(flat)))

    def _is_absorbed(self, part: Obligation, others: set[Obligation]) -> bool:
        """Whether a part says nothing beside the others: `p | q` beside p."""
        entry = self.entries[part]
        return isinstance(entry, Joined) and not entry.parts.isdisjoint(others)

    # Using ------------------------------------------------------------------------------------------------------------

    def atom_now(self, obligation: Obligation) -> Expr | None:
        """An atom whose truth at this position matters, None if none does."""
        for number in self._now(obligation):
            entry = self.entries[number]
            if isinstance(entry, Literal):
                return entry.atom
        return None

    def _now(self, obligation: Obligation) -> list[Obligation]:
        """What is asked at this position, parts before wholes, in the order they were made."""
        return sorted(self._below(obligation, lambda entry: entry.parts if isinstance(entry, Joined) else ()))

    def _below(self, obligation: Obligation, parts: Callable[[Entry], Iterable[Obligation]]) -> set[Obligation]:
        """The obligation, its parts, and theirs."""
        found: set[Obligation] = set()
        waiting = [obligation]
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting.extend(parts(self.entries[number]))
        return found

    def assume(self, obligation: Obligation, atom: Expr, truth: bool) -> Obligation:
        """What is left where the atom has this truth value now."""
        key = obligation, atom, truth
        if key not in self._assumed:
            self._assumed[key] = self._map(obligation, lambda literal: _known(literal, atom, truth), lambda n, _: n)
        return self._assumed[key]

    def step(self, obligation: Obligation) -> Obligation:
        """What is asked of the next position, once all atoms of this one are known."""
        return self._map(obligation, lambda _: None, lambda _, later: self._unfolded(later.what))

    def waits(self, obligation: Obligation) -> bool:
        """Whether something is asked that has to come at last, without a limit; else only a bad prefix can fail it."""
        if obligation not in self._waiting:
            entries = (self.entries[number] for number in self._below(obligation, _referred))
            found = any(isinstance(entry, Recurring) and entry.operator in STRONG for entry in entries)
            self._waiting[obligation] = found
        return self._waiting[obligation]

    def end(self, obligation: Obligation) -> bool:
        """Whether a path may end here, once all atoms are known."""
        return self._map(obligation, lambda _: None, lambda _, later: FALSE if later.strong else TRUE) == TRUE

    def _map(self, obligation: Obligation, literal: _OfLiteral, later: _OfLater) -> Obligation:
        changed: dict[Obligation, Obligation] = {}
        for number in self._now(obligation):
            entry = self.entries[number]
            match entry:
                case Literal():
                    known = literal(entry)
                    changed[number] = number if known is None else known
                case Later():
                    changed[number] = later(number, entry)
                case Joined(junction, parts):
                    changed[number] = self.join(junction, tuple(changed[part] for part in parts))
                case _:
                    changed[number] = number
        return changed[obligation]


def _referred(entry: Entry) -> tuple[Obligation, ...]:
    match entry:
        case Recurring(args=args):
            return args
        case Later(what):
            return (what,)
        case Joined(parts=parts):
            return tuple(parts)
    return ()


def _known(literal: Literal, atom: Expr, truth: bool) -> Obligation | None:
    if literal.atom is not atom:
        return None
    return TRUE if literal.positive == truth else FALSE


def waits(path: Formula) -> bool:
    """Whether an LTL formula asks for something that has to come at last, without a limit."""
    table = Obligations()
    return table.waits(table.of(path))


# Claims that paths decide ---------------------------------------------------------------------------------------------


def on_paths(formula: Formula) -> Formula | None:
    """The LTL formula that says the same, claimed of all paths; None where states have to be asked.

    `AX p | AX q` is not `A(X p | X q)`, and `AF AG p` is not `A(F G p)`. But where at most one operand of a disjunction
    looks ahead, and only the operand that decides *when* (of F, U, W, R) is about a single position, the quantifiers
    may be dropped: a path that leaves another one at a position shares with it all that was decided before.
    """
    if classify(formula) is not Logic.CTL:
        return formula
    normal = nnf(formula)
    ahead: dict[int, bool] = {}  # which sub-formulas are about more than one position
    for node in order(normal):
        ahead[id(node)] = isinstance(node, Temporal) or any(ahead[id(arg)] for arg in operands(node))
    return strip_quantifiers(normal) if all(_is_linear(node, ahead) for node in order(normal)) else None


def _is_linear(node: Formula, ahead: dict[int, bool]) -> bool:
    match node:
        case Or(args):
            return sum(ahead[id(arg)] for arg in args) <= 1
        case Next(quantifier=quantifier) | Always(quantifier=quantifier):
            return quantifier is Quantifier.ALL
        case Eventually(arg=arg, bound=bound, quantifier=quantifier):
            lower, upper = steps(bound)
            return quantifier is Quantifier.ALL and (not ahead[id(arg)] or lower == upper)
        case Until(right=decides, quantifier=quantifier) | Weak(right=decides, quantifier=quantifier):
            return quantifier is Quantifier.ALL and not ahead[id(decides)]
        case Release(left=decides, quantifier=quantifier):
            return quantifier is Quantifier.ALL and not ahead[id(decides)]
    return True
