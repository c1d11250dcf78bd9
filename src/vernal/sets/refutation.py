"""The paths that refute a claim, as one condition over the unrolled loop; and that condition taken apart.

A claim of all paths is refuted by a path on which the formula, its quantifiers dropped, is false (see falsify). The
negation in normal form, written out position by position, is a Boolean expression over the unrolled graph: the
monolithic encoding hands it to the solver as it is. The compositional one splits it into cases, one for each way to
take a disjunct, a start and the options of the choices that matter; cases that bounds exclude are dropped on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.interval_bounds import Plain
from vernal.interpret.milp.needed_arguments import demanded
from vernal.interpret.numbers.rounding import Array
from vernal.interpret.symbolic.affine import Forms
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.interpret.value_sets import Finite, Range, Truth, Value, meet
from vernal.logic.formula import (
    Always,
    And,
    Atom,
    Formula,
    Next,
    Not,
    Or,
)
from vernal.logic.normal import expand, horizon, nnf, steps
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Occurrence
from vernal.model.graph import substitute
from vernal.model.initial import Box, InitialSet
from vernal.model.lazy import cached_property
from vernal.model.portable import STAYS
from vernal.model.system import System
from vernal.model.tick import Tick, idle
from vernal.sets.levels import abstract_box


def refuting_condition(system: System, goal: Formula, tick: Tick = idle, unrolling: Unrolling | None = None) -> Expr:
    """A path makes this condition true iff the (bounded, quantifier-free) goal is false on it."""
    total = system.step.enabled is build.TRUE
    written = expand(nnf(Not(goal), total=total), total=total)
    unrolling = unrolling or Unrolling(system.step)
    unrolling.position(horizon(goal) or 0, tick)
    return _Written(unrolling, total, tick).condition(written)


@dataclass(frozen=True)
class _Written:
    """Formulas at positions as conditions, each made once."""

    unrolling: Unrolling
    total: bool
    tick: Tick
    made: dict[tuple[int, int], Expr] = field(default_factory=dict)

    def condition(self, formula: Formula) -> Expr:
        """The formula at position 0; no recursion, since bounds may be long."""
        stack = [(formula, 0)]
        while stack:
            node, t = stack[-1]
            waiting = [(arg, at) for arg, at in _asked(node, t) if (id(arg), at) not in self.made]
            if waiting and (id(node), t) not in self.made:
                stack.extend(waiting)
                continue
            stack.pop()
            if (id(node), t) not in self.made:
                self.tick()
                self.made[id(node), t] = self._make(node, t)
        return self.made[id(formula), 0]

    def _make(self, node: Formula, t: int) -> Expr:
        args = [self.made[id(arg), at] for arg, at in _asked(node, t)]
        match node:
            case Atom(expr):
                return self.unrolling.at(expr, t, self.tick)
            case Not():
                return build.negate(args[0])
            case And():
                return build.conj(*args)
            case Or():
                return build.disj(*args)
            case Next(count=count):
                return build.conj(*self._moves(t, count), args[0])
        assert isinstance(node, Always)
        return build.disj(*(build.negate(move) for move in self._moves(t, steps(node.bound)[0])), args[0])

    def _moves(self, t: int, count: int) -> list[Expr]:
        """That the path has the next transitions."""
        return [] if self.total else [self.unrolling.enabled(i, self.tick) for i in range(t, t + count)]


def _asked(node: Formula, t: int) -> list[tuple[Formula, int]]:
    """The operands of a written-out formula, with the positions they are asked at."""
    match node:
        case Not(arg):
            return [(arg, t)]
        case And(args) | Or(args):
            return [(arg, t) for arg in args]
        case Next(arg, count):
            return [(arg, t + count)]
        case Always(arg, bound):  # the weak next G[k,k]
            return [(arg, t + steps(bound)[0])]
    return []


# Bounds over starts ---------------------------------------------------------------------------------------------------


class _Twinned(Linear):
    """Bounds that are as tight as those of a node's twin."""

    def __init__(self, box: Mapping[Expr, Value], tick: Tick, twins: Mapping[Expr, Expr]) -> None:
        self.twins = twins
        super().__init__(box, tick=tick)

    def _compute(self, node: Expr) -> None:
        super()._compute(node)
        twin = self.twins.get(node, node)
        if twin is not node:
            self._learn(node, twin)

    def tighten(self, node: Expr, open_components: Array | None = None) -> None:
        """What has a twin has learnt all there is."""
        if self.twins.get(node, node) is node:
            super().tighten(node, open_components)

    def _learn(self, node: Expr, twin: Expr) -> None:
        self.need(twin)
        match self.values[node], self.values[twin]:
            case (Range() as own, Range()):
                self.tighten(twin)
                x = meet(self.backend, own, self.number(twin))
                self.values[node], self.sizes[node] = x, self.backend.size(x.lower, x.upper)
            case (Truth() as own, Truth() as other):
                self.values[node] = Truth(own.must | other.must, own.may & other.may)
            case (Finite() as own, Finite() as other):
                self.values[node] = Finite(own.mask & other.mask, own.values)


class _TwinnedPlain(_Twinned, Plain):
    """The same by intervals alone."""


@dataclass(frozen=True)
class BoundedStarts:
    """An initial set, and bounds over it that all cases share: what one case computes, the next one has."""

    initial: InitialSet
    tick: Tick = field(default=idle, metadata=STAYS)
    tighten: bool = True  # by linear bounds; intervals alone otherwise
    twins: Mapping[Expr, Expr] = field(default_factory=dict)  # nodes with the same value, of which more may be known

    @cached_property
    def box(self) -> Box:
        return self.initial.hull

    @cached_property
    def linear(self) -> Linear:
        method = _Twinned if self.tighten else _TwinnedPlain
        return method(abstract_box([self.box]), self.tick, self.twins)

    @cached_property
    def exact(self) -> Forms:
        return Forms(self.box.ends, self.linear, tick=self.tick)

    def may_be(self, condition: Expr) -> bool:
        """Whether bounds leave a condition possible."""
        if isinstance(condition, e.Const):
            return bool(condition.value)
        return bool(self.linear.truth(condition).may[0])


# Cases ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Disjunct:
    """A disjunct that was taken: of which operand of a conjunction (-1 for the condition itself), and which one."""

    place: int
    index: int


@dataclass(frozen=True)
class Case:
    """A condition with some of its choices made, and the way to it: which disjuncts and options were taken.

    What is split depends on bounds, and may differ on another machine; the way identifies the case on any.
    """

    condition: Expr
    taken: Mapping[Occurrence, int] = field(default_factory=dict)
    way: tuple[Disjunct | Occurrence, ...] = ()

    def key(self, rank: Callable[[Occurrence], str]) -> str:
        """A name that is the same in every run, given one for each draw."""
        named = (
            f"d{at.place}.{at.index}" if isinstance(at, Disjunct) else f"{rank(at)}@{at.step}={self.taken[at]}"
            for at in self.way
        )
        return " ".join(named) or "all"


def cases(space: BoundedStarts, condition: Expr) -> Iterator[Case]:
    """The cases of a condition that bounds leave possible, earlier choices varying slowest."""
    stack = [Case(condition)]
    while stack:
        case = stack.pop()
        if not space.may_be(case.condition):
            continue
        parts = _split(space, case)
        if parts is None:
            yield case
        else:
            stack.extend(reversed(parts))


def _split(space: BoundedStarts, case: Case) -> Sequence[Case] | None:
    """A disjunct each, or an option each of the earliest choice; None where nothing is left to split."""
    disjuncts = _disjuncts(space, case.condition)
    if disjuncts is not None:
        return [Case(part, case.taken, (*case.way, at)) for at, part in disjuncts]
    choice = _earliest_choice(space, case.condition)
    if choice is None:
        return None
    made = []
    for index, option in enumerate(choice.options):
        (condition,) = substitute([case.condition], {choice: option})
        made.append(Case(condition, {**case.taken, choice.occurrence: index}, (*case.way, choice.occurrence)))
    return made


def _disjuncts(space: BoundedStarts, condition: Expr) -> list[tuple[Disjunct, Expr]] | None:
    """p | q as p and as q, also inside a conjunction; parts that bounds decide are left out."""
    if isinstance(condition, e.Or):
        return [(Disjunct(-1, index), arg) for index, arg in enumerate(condition.args) if space.may_be(arg)]
    if not isinstance(condition, e.And):
        return None
    for place, arg in enumerate(condition.args):
        if isinstance(arg, e.Or) and not bool(space.linear.truth(arg).must[0]):
            others = (*condition.args[:place], *condition.args[place + 1 :])
            return [
                (Disjunct(place, index), build.conj(part, *others))
                for index, part in enumerate(arg.args)
                if space.may_be(part)
            ]
    return None


def _earliest_choice(space: BoundedStarts, condition: Expr) -> e.Choose | None:
    """The first choice in time on which the condition depends."""
    seen: set[Expr] = set()
    found: list[e.Choose] = []
    stack = [condition]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, e.Choose) and all(option.shape == node.shape for option in node.options):
            found.append(node)
        stack.extend(demanded(space.linear, node))
    return min(found, key=lambda node: (node.occurrence.step or 0, node.occurrence.serial), default=None)
