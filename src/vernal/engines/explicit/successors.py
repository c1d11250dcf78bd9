"""The states after a step, option by option.

A planning model is one choice between hundreds of outcomes, each of which changes a few variables. So the rows of a
batch are sorted by the option they take, every option has next values of its own (all others are folded away), and a
variable that an option does not change is copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from vernal.model.expr import Choose, Const, Expr, Switch
from vernal.model.graph import decisions, order
from vernal.model.partial_evaluation import specialise
from vernal.sets.finite.points import Points, RowBatch
from vernal.sets.finite.table import Codes, Numbers

FEW_OPTIONS = 8  # of a choice, up to which its options are computed side by side


class Following:
    """Computes the states that follow the rows of decided batches."""

    def __init__(self, points: Points, roots: Sequence[Expr], variables: Sequence[Expr]) -> None:
        self.points, self.roots, self.variables = points, tuple(roots), tuple(variables)
        self.choice = _largest_choice(roots)
        self._options = () if self.choice is None else self.choice.written
        self._above = _above(roots, self.choice)
        self._specialised: dict[int, tuple[Expr, ...]] = {}
        self._branches: dict[Switch, dict[Fraction | None, int]] = {}  # of each case, which comes first

    def rows(self, batch: RowBatch) -> Codes:
        """The next state of every row, as entries of the columns."""
        if self.choice is None:
            return self.points.codes(self.roots, self.variables, batch)
        rows = np.empty_like(batch.rows)
        for option, which in _groups(np.maximum(batch.taken[self.choice], 0)):
            self.points.tick()
            rows[which] = self._after(option, batch.take(which))
        return rows

    def _after(self, option: int, batch: RowBatch) -> Codes:
        """The next states of rows that take one option."""
        following = self._of_option(option)
        changed = [(root, var) for root, var in zip(following, self.variables, strict=True) if root is not var]
        rows = batch.rows.copy()
        if changed:
            roots, variables = zip(*changed, strict=True)
            places = self.points.columns.of(variables)
            rows[:, places] = self.points.codes(roots, variables, batch)[:, places]
        return rows

    def _of_option(self, option: int) -> tuple[Expr, ...]:
        if option not in self._specialised:
            self._specialised[option] = tuple(self._decided(root, option) for root in self.roots)
        return self._specialised[option]

    def _decided(self, root: Expr, option: int) -> Expr:
        """A root with an option taken: the branch of a match on the choice, or what partial evaluation gives."""
        assert self.choice is not None
        value = self._options[option]
        while isinstance(root, Switch) and root.args[0] is self.choice and isinstance(value, Const):
            root = self._branch(root, value.value)
        return specialise([root], {self.choice: value})[0] if root in self._above else root

    def _branch(self, root: Switch, value: Fraction) -> Expr:
        """The first branch whose case is the value, or the default."""
        if root not in self._branches:
            self._branches[root] = {case: n for n, case in reversed(list(enumerate(root.cases)))}
        found = self._branches[root]
        return root.args[1 + min(found[case] for case in (value, None) if case in found)]


def _largest_choice(roots: Sequence[Expr]) -> Choose | None:
    """The choice with most options, if they are many; one among the options of another is no use."""
    choices = [node for node in decisions(roots) if isinstance(node, Choose) and len(node.options) > FEW_OPTIONS]
    return max(choices, key=lambda node: len(node.options), default=None)


def _above(roots: Sequence[Expr], choice: Expr | None) -> set[Expr]:
    """The nodes that depend on the choice, and itself."""
    above: set[Expr] = set()
    for node in order(roots):
        if node is choice or any(arg in above for arg in node.args):
            above.add(node)
    return above


def _groups(numbers: Numbers) -> Iterator[tuple[int, Numbers]]:
    """The rows with each number, in their order."""
    order = np.argsort(numbers, kind="stable")
    values, starts = np.unique(numbers[order], return_index=True)
    return zip(values.tolist(), np.split(order, starts[1:]), strict=True)
