"""The initial states at which a bounded claim of CTL fails, as one condition over a tree of positions.

A claim that mixes all paths and some path is refuted by a state, and not by a path. Its negation in normal form is
written out over a tree that grows from the initial state: for `EX p` a successor of its own with its own draws, which
are left free, and for `AX p` a copy for each way the step can go (F. Akintunde et al., AAMAS 2020, Figures 1 and 2): a
way that exists has to lead to p. Options of choices and winners of an argmax are both ranged over, so that ties are
what they are; ways that bounds exclude are left out. A state fails the claim iff some draws make the condition true, so
a program that encloses it sorts the states: those without any are true, and one found is false once it is computed
exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from vernal.errors import UnsupportedFormula
from vernal.logic.direction import Direction
from vernal.logic.formula import And, Atom, Formula, Next, Not, Or, Quantifier
from vernal.logic.normal import expand, fold, nnf, rebuild
from vernal.model import build
from vernal.model.build import TRUE
from vernal.model.expr import Argmax, Expr
from vernal.model.graph import fresh, substitute
from vernal.model.lazy import cached_property
from vernal.model.system import System
from vernal.model.tick import Tick, idle
from vernal.reduce.operators import NoOperators, StepOperator, ways

MAX_COPIES = 20_000  # of the step, in one condition


@dataclass(frozen=True, eq=False)
class TreePlace:
    """A position of the tree: state and memory as expressions over the initial ones and the draws on the way."""

    values: Mapping[Expr, Expr]


@dataclass(frozen=True, slots=True)
class TreeBranch:
    """Where a sub-formula is asked after a step, and under which condition there is such a step."""

    condition: Expr
    place: TreePlace
    free: bool = False  # whether its draws are its own, so that it stands for some successor


@dataclass(frozen=True)
class TreeCondition:
    """A formula over a tree, written out; `may_be` says whether bounds leave a condition possible."""

    direction = Direction.TWO_SIDED

    system: System
    may_be: Callable[[Expr], bool]
    tick: Tick = idle
    _made: dict[tuple[int, TreePlace], Expr] = field(default_factory=dict)
    _branches: dict[tuple[int, TreePlace], Sequence[TreeBranch]] = field(default_factory=dict)
    _copies: list[int] = field(default_factory=lambda: [0])

    def failing(self, formula: Formula) -> Expr:
        """True of an initial state, with some draws, iff the formula is false there."""
        total = self.system.step.enabled is TRUE
        return self.written(expand(nnf(Not(formula), total=total), total=total))

    def written(self, formula: Formula) -> Expr:
        """A formula in negation normal form at the root; without recursion, since bounds may be long."""
        root = TreePlace({var: var for var in self.system.step.inputs})
        steps = _single_steps(formula)
        stack = [(steps, root)]
        while stack:
            node, place = stack[-1]
            waiting = [(arg, at) for arg, at in self._asked(node, place) if (id(arg), at) not in self._made]
            if waiting and (id(node), place) not in self._made:
                stack.extend(waiting)
                continue
            stack.pop()
            if (id(node), place) not in self._made:
                self.tick()
                self._made[id(node), place] = self._make(node, place)
        return self._made[id(steps), root]

    def _asked(self, node: Formula, place: TreePlace) -> list[tuple[Formula, TreePlace]]:
        match node:
            case Not(arg):
                return [(arg, place)]
            case And(args) | Or(args):
                return [(arg, place) for arg in args]
            case Next(arg):
                return [(arg, branch.place) for branch in self._after(node, place)]
        return []

    def _make(self, node: Formula, place: TreePlace) -> Expr:
        args = [self._made[id(arg), at] for arg, at in self._asked(node, place)]
        match node:
            case Atom(expr):
                return substitute([self.system.step.resolve(expr)], place.values)[0]
            case Not():
                return build.negate(args[0])
            case And():
                return build.conj(*args)
            case Or():
                return build.disj(*args)
        assert isinstance(node, Next)
        branches = list(zip(self._after(node, place), args, strict=True))
        if node.quantifier is Quantifier.SOME:
            return build.conj(*(part for branch, arg in branches for part in (branch.condition, arg)))
        return build.conj(*(self._where_it_goes(branch, arg, place) for branch, arg in branches))

    def _where_it_goes(self, branch: TreeBranch, arg: Expr, place: TreePlace) -> Expr:
        """What `AX` asks of one copy: that its way is not there, or leads to the operand."""
        if branch.free:
            ends = substitute([build.negate(self.system.step.enabled)], place.values)[0]
            return build.disj(ends, build.conj(branch.condition, arg))
        return build.disj(build.negate(branch.condition), arg)

    # Steps ------------------------------------------------------------------------------------------------------------

    def _after(self, node: Next, place: TreePlace) -> Sequence[TreeBranch]:
        """Where the operand is asked: at one successor with free draws, or at each way the step can go."""
        if (id(node), place) not in self._branches:
            some = node.quantifier is Quantifier.SOME
            self._branches[id(node), place] = [self._free(place)] if some else self._copied(place)
        return self._branches[id(node), place]

    def _free(self, place: TreePlace) -> TreeBranch:
        """A successor whose draws are its own."""
        step = self.system.step
        roots = [step.enabled, *step.next_state, *step.next_memory]
        enabled, *after = fresh(roots, self._count(), place.values, self.tick)
        return TreeBranch(enabled, TreePlace(dict(zip(step.inputs, after, strict=True))), free=True)

    @cached_property
    def ways(self) -> tuple[StepOperator, ...]:
        """The ways a step can go, each with its condition and what it makes of the state."""
        try:
            return ways(self.system.step, self.tick)
        except NoOperators as error:
            raise UnsupportedFormula(f"all ways a step can go cannot be written down: {error.reason}") from None

    def _copied(self, place: TreePlace) -> list[TreeBranch]:
        """A successor for each way that bounds leave possible; where there are several, some successor besides.

        What all successors keep, some successor keeps, if there is one. A program that cannot tell `<` from `<=` would
        else find a state at a tie in which none of the ways is there.
        """
        made: list[TreeBranch] = []
        for operator in self.ways:
            self.tick()
            (condition,) = substitute([_premise(operator)], place.values)
            if self.may_be(condition):
                self._count()
                updated = substitute(list(operator.updates.values()), place.values)
                after = dict(zip(operator.updates, updated, strict=True))
                made.append(TreeBranch(condition, TreePlace({**place.values, **after})))
        return [*made, self._free(place)] if len(made) > 1 else made

    def _count(self) -> int:
        """The number of one more copy of the step, by which its draws are told apart."""
        self._copies[0] += 1
        if self._copies[0] > MAX_COPIES:
            raise UnsupportedFormula(
                f"written out for every way that paths can go, the claim needs more than {MAX_COPIES:,} steps"
            )
        return self._copies[0]


def _single_steps(formula: Formula) -> Formula:
    """The formula with one operator for each step: `EX[3] p` as `EX EX EX p`."""

    def rule(node: Formula, args: tuple[Formula, ...]) -> Formula:
        if not isinstance(node, Next):
            return rebuild(node, args)
        made = args[0]
        for _ in range(node.count):
            made = Next(made, 1, node.quantifier)
        return made

    return fold(formula, rule)


def _premise(operator: StepOperator) -> Expr:
    """That the step can go this way: its guard, and that the policy says so."""
    winners = [_wins(node, number) for node, number in operator.winners]
    return build.conj(operator.guard, *operator.comparisons, *winners)


def _wins(node: Argmax, number: int) -> Expr:
    """That a component is a largest one."""
    (scores,) = node.args
    own = build.component(scores, number)
    return build.conj(
        *(build.compare("<=", build.component(scores, other), own) for other in range(scores.size) if other != number)
    )
