"""Predicates from an abstract path that no concrete state follows.

Concrete states are taken along the path as far as they go. Where they stop, the abstract transition has a witness: a
state of the same cell that does what they do not. Something tells the two apart, and becomes a predicate: a comparison
in the guard, in what the next cell demands or in what is unsafe, or, where only the policy decides differently, a
threshold of a variable between the two states. So every round divides a cell (counterexample-guided refinement).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from vernal.engines.predicates.abstraction import Abstraction
from vernal.engines.predicates.atoms import Condition
from vernal.engines.predicates.boxes import IntegerBoxes
from vernal.engines.predicates.concrete_states import ConcretePath, ConcreteStates, PathStep, Successors
from vernal.engines.predicates.danger import Followed, UnsafeSearch
from vernal.engines.predicates.policy import PointQuestion, Selection
from vernal.interpret.numbers.rounding import Floats
from vernal.model import build
from vernal.model.expr import Const, Expr

MAX_FOLLOWED = 256  # states that are taken along a path
MAX_MET = 10_000  # states that are followed to see which cells are met
MAX_THRESHOLDS = 16  # of a variable, that are taken together: one after the other, each would cost an abstraction
MAX_PATHS = 32  # abstract paths that predicates are taken from in one round


@dataclass(frozen=True, slots=True, eq=False)
class Parting:
    """Where concrete states stop following a path: one of them, and the witness that goes on, in the same cell."""

    stopped: Floats
    witness: Floats


class FollowedPath:
    """Concrete states that follow an abstract path, level by level, and how they came about."""

    def __init__(self, starts: Floats) -> None:
        self.levels = [Successors(np.zeros(len(starts), np.int64), np.zeros(len(starts), np.int64), starts)]

    @property
    def states(self) -> Floats:
        """Where they are."""
        return self.levels[-1].states

    def go_on(self, after: Successors) -> bool:
        """Take these to be the next level, if there are any."""
        if len(after.states):
            self.levels.append(after)
        return len(after.states) > 0

    def to(self, row: int) -> ConcretePath:
        """The path to one of the states."""
        last, steps = self.states[row], []
        for level, before in zip(self.levels[:0:-1], self.levels[-2::-1], strict=True):
            origin = int(level.origin[row])
            steps.append(PathStep(before.states[origin], int(level.operator[row])))
            row = origin
        return ConcretePath(tuple(steps[::-1]), last)


class Refinement:
    """Finds predicates for one abstraction and what was followed in it."""

    def __init__(self, abstraction: Abstraction, search: UnsafeSearch, states: ConcreteStates) -> None:
        self.abstraction, self.search, self.states = abstraction, search, states
        self.model = abstraction.model
        self._seen = np.zeros(len(self.model.variables), bool)  # the columns that the policy sees
        for selection in {operator.selection for operator in self.model.operators}:
            if selection is not None:
                self._seen |= states.policy.relevant(selection)

    def predicates(self, followed: Followed) -> list[Expr]:
        """New predicates; none where nothing more can be told apart. Unsafe paths met on the way are entered."""
        found: dict[Expr, None] = {}
        for cell in sorted(followed.undecided)[:MAX_PATHS]:
            self.search.budget.check()
            starts = followed.starts.get(cell) or [self.abstraction.graph.starts[cell]]
            path = FollowedPath(np.stack(starts[:MAX_FOLLOWED]))
            found.update(dict.fromkeys(self._from_path(cell, path)))
            unsafe = np.flatnonzero(self.states.unsafe(path.states))
            if len(unsafe):
                followed.paths[cell] = path.to(int(unsafe[0]))
        return self._new(found)

    def between_met_and_unmet(self) -> list[Expr]:
        """New predicates that tell states from the witnesses of transitions into cells that no state was seen in."""
        met = self.search.met(MAX_MET)
        into = [pair for pair in self.abstraction.graph.transitions if pair[0] in met and pair[1] not in met]
        found: dict[Expr, None] = {}
        for one, other in into[:: 1 + len(into) // MAX_PATHS]:
            found.update(dict.fromkeys(self._why_not(one, other, np.stack(met[one][:MAX_FOLLOWED]))))
        return self._new(found)

    def in_what_is_unsafe(self) -> list[Expr]:
        """The comparisons in what is unsafe of single variables that the policy sees: singly, each costs a round."""
        judge = self.model.judge
        asked = [judge.compiled(condition).mentioned for way in self.model.unsafe for condition in way.conditions]
        atoms = np.unique(np.concatenate([np.zeros(0, np.int64), *asked])).tolist()
        single = [atom for atom in atoms if len(self.model.table.atoms[atom][0]) == 1]
        seen = [atom for atom in single if self._seen[self.model.table.atoms[atom][0][0][0]]]
        return self._new([self.model.table.comparison(atom) for atom in seen])

    def _new(self, found: Iterable[Expr]) -> list[Expr]:
        known = {*self.abstraction.cells.predicates, *self.abstraction.cells.negations}
        return [predicate for predicate in found if self.model.table.condition(predicate) not in known]

    def _from_path(self, cell: int, path: FollowedPath) -> list[Expr]:
        """Follow the shortest abstract way to an unsafe state, and say why concrete states leave it."""
        graph = self.abstraction.graph
        while cell not in graph.unsafe:
            after = self.search.leading[cell]
            if not self._reached(path, after):
                return self._why_not(cell, after, path.states)
            cell = after
        witness = graph.unsafe[cell]
        return [] if witness is None else self._why_safe(path.states, witness)

    def _reached(self, path: FollowedPath, cell: int) -> bool:
        """Go on to a cell, if any of the states does."""
        after = self.states.successors(path.states)
        if not len(after.states):
            return False
        wanted = self.abstraction.cells.values[cell]
        same = np.flatnonzero((self.abstraction.cells.of(IntegerBoxes.points(after.states)) == wanted).all(axis=1))
        _, first = np.unique(after.states[same], axis=0, return_index=True)
        return path.go_on(after.take(same[first[:MAX_FOLLOWED]]))

    # Reasons ----------------------------------------------------------------------------------------------------------

    def _why_not(self, cell: int, after: int, states: Floats) -> list[Expr]:
        """Why none of some states goes from one cell to the next as the witness of the transition does."""
        transition = self.abstraction.graph.transitions[cell, after]
        if transition.state is None:
            return []
        operator = self.model.operators[transition.operator]
        conditions = [operator.guard, *self.abstraction.weakest(transition.operator).conditions]
        parting = _nearest(states, transition.state)
        apart = self._comparisons(conditions, parting)
        return apart or self._decision(operator.selection, parting)

    def _why_safe(self, states: Floats, witness: Floats) -> list[Expr]:
        """Why states of an unsafe cell are safe, unlike its witness."""
        parting = _nearest(states, witness)
        for way in self.model.unsafe:
            if self.states.satisfying(way, witness[None])[0]:
                return self._comparisons(way.conditions, parting) or self._decision(way.selection, parting)
        return []

    def _comparisons(self, conditions: Sequence[Condition], parting: Parting) -> list[Expr]:
        """The comparisons in some conditions that are true of one of two states."""
        judge = self.model.judge
        atoms = np.unique(np.concatenate([np.zeros(0, np.int64), *(judge.compiled(c).mentioned for c in conditions)]))
        truths, _ = judge.atoms(IntegerBoxes.points(np.stack([parting.stopped, parting.witness])), atoms)
        apart = atoms[truths[:, 0] != truths[:, 1]].tolist()
        return [predicate for atom in apart for predicate in self._around(atom)]

    def _around(self, atom: int) -> list[Expr]:
        """A comparison; of a single variable that the policy sees, with the other thresholds of it."""
        terms, _ = self.model.table.atoms[atom]
        column = terms[0][0]
        own = self.model.table.comparison(atom)
        if len(terms) > 1 or not self._seen[column]:
            return [own]
        return [own, *self._thresholds(column)]

    # The policy -------------------------------------------------------------------------------------------------------

    def _decision(self, selection: Selection | None, parting: Parting) -> list[Expr]:
        """A threshold between two states that the policy treats differently."""
        if selection is None:
            return []
        column = self._decisive(selection, parting)
        return [] if column is None else self._thresholds(column) or [self._threshold(column, parting)]

    def _thresholds(self, column: int) -> list[Expr]:
        """All thresholds of a variable of few values."""
        var, domain = self.model.variables[column], self.model.judge.domain
        low, high = int(domain.lower[0, column]), int(domain.upper[0, column])
        if not var.sort.is_number or high - low > MAX_THRESHOLDS:
            return []
        return [build.compare("<=", var, Fraction(most)) for most in range(low, high)]

    def _decisive(self, selection: Selection, parting: Parting) -> int | None:
        """The column whose change makes the policy say so, the others changed before it as little as need be.

        Columns of few values go first: they can be divided only so often.
        """
        question = PointQuestion((), selection)
        columns = self._differing(parting)
        single = np.repeat(parting.stopped[None], len(columns), axis=0)
        for row, column in enumerate(columns):
            single[row, column] = parting.witness[column]
        if not columns:
            return None
        alone = self.states.satisfying(question, single)
        if alone.any():
            return columns[int(alone.argmax())]
        moving = np.repeat(parting.stopped[None], len(columns), axis=0)
        for row in range(len(columns)):
            moving[row, columns[: row + 1]] = parting.witness[columns[: row + 1]]
        says = self.states.satisfying(question, moving)
        return columns[int(says.argmax())] if says.any() else columns[0]

    def _differing(self, parting: Parting) -> list[int]:
        widths = self.model.judge.domain.widths[0]
        differing = np.flatnonzero(parting.stopped != parting.witness).tolist()
        return sorted(differing, key=lambda column: (widths[column], column))

    def _threshold(self, column: int, parting: Parting) -> Expr:
        var = self.model.variables[column]
        low, high = sorted((parting.stopped[column], parting.witness[column]))
        if not var.sort.is_number:
            return build.eq(var, Const((), var.sort, (), (Fraction(int(high)),))) if var.sort.labels else var
        return build.compare("<=", var, Fraction(int(np.floor((low + high) / 2))))


def _nearest(states: Floats, witness: Floats) -> Parting:
    """The state that differs from the witness in fewest variables."""
    return Parting(states[int((states != witness).sum(axis=1).argmin())], witness)
