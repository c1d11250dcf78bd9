"""Inductive invariants of boxes, as Algorithm 4 of the AAMAS 2025 paper looks for them: a minimal and a maximal one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from benchmarks.forever.boxes import Images, contains, covered, hull
from vernal.model.expr import Expr
from vernal.model.initial import Box, Ends
from vernal.model.sorts import Kind
from vernal.model.system import System, Variable

MEMORY_ROUNDS = 20  # in which a range of the memory is looked for


@dataclass
class Minimal:
    """Boxes around the states at each step; together they are an invariant once the last is among earlier ones."""

    images: Images
    condition: Expr
    levels: list[list[Box]]

    def grow(self) -> bool:
        """One level more; False where a box has no bounds."""
        after = [self.images.after(box) for box in self.levels[-1]]
        self.levels.append([box for box in after if box is not None])
        return len(self.levels[-1]) == len(after)

    def keeps(self) -> bool:
        """Whether the condition is true all over the boxes of the last level."""
        return all(self.images.keeps(box, self.condition) for box in self.levels[-1])

    @property
    def found(self) -> bool:
        *earlier, last = self.levels
        among = [box for level in earlier for box in level]
        return all(covered(box, among) for box in last)


@dataclass
class Maximal:
    """Images of a range that is closed: each contains the next, and all later states."""

    images: Images
    condition: Expr
    box: Box | None

    def keeps(self) -> bool:
        return self.box is not None and self.images.keeps(self.box, self.condition)

    def shrink(self) -> None:
        self.box = None if self.box is None else self.images.after(self.box)


def closed_range(system: System, images: Images) -> Box | None:
    """The declared ranges and a range of the memory, if a step provably leads from them into them."""
    first = system.initial.hull
    declared = {variable.var: _declared(variable) for variable in system.state}
    if any(ends is None for ends in declared.values()):
        return None
    state: dict[Expr, tuple[Ends, ...]] = {var: (ends,) for var, ends in declared.items() if ends is not None}
    box = Box({**first.ends, **state})
    for _ in range(MEMORY_ROUNDS if system.step.memory else 1):
        after = images.after(box)
        if after is None or not contains(box, first):
            return None
        if contains(box, after):
            return box
        wider = hull(box, after)
        box = Box({**wider.ends, **state})
    return None


def _declared(variable: Variable) -> Ends | None:
    match variable.sort.kind:
        case Kind.BOOL:
            return Fraction(0), Fraction(1)
        case Kind.ENUM:
            return Fraction(0), Fraction(len(variable.sort.labels) - 1)
    return None if variable.lower is None or variable.upper is None else (variable.lower, variable.upper)
