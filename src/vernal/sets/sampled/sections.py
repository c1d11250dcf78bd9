"""Where trajectories from a box cross a section of a flow: a box in which one variable has one value.

If all segments at some time are on one side of the value, and all at a later time on the other, every trajectory passes
the value in between, in one of the segments that meet it; if these are within the box in all other variables, it
crosses the section there. So paths that go round are met again, whatever their speeds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.interpret.numbers.rounding import Floats, Mask


@dataclass(frozen=True, eq=False)
class Section:
    """A variable, by its number, and the box (2, n) in which it has one value."""

    column: int
    box: Floats

    def is_crossed(self, times: Floats, lower: Floats, upper: Floats) -> bool:
        """Whether segments, of all trajectories from one box, show that each of these crosses it after the start.

        Times are (segments, 2), bounds (segments, n).
        """
        order = np.argsort(times[:, 0], kind="stable")
        order = order[times[order, 0] < times[order, 1]]  # those of one instant say nothing of the way
        times, lower, upper = times[order], lower[order], upper[order]
        if not len(times) or (times[1:, 0] != times[:-1, 1]).any():
            return False
        level = self.box[0, self.column]
        above, below = lower[:, self.column] > level, upper[:, self.column] < level
        inside = self._is_inside(lower, upper)
        return self._passes(above, below, inside) or self._passes(below, above, inside)

    def _is_inside(self, lower: Floats, upper: Floats) -> Mask:
        """Which segments are in the box in all variables but that of the section."""
        others = np.arange(lower.shape[1]) != self.column
        found: Mask = ((lower >= self.box[0]) & (upper <= self.box[1]))[:, others].all(axis=1)
        return found

    @staticmethod
    def _passes(before: Mask, after: Mask, inside: Mask) -> bool:
        """Whether one that is wholly `before` is followed by one wholly `after`, by way of some that are `inside`."""
        passing = False
        for first, last, good in zip(before, after, inside, strict=True):
            if first:
                passing = True
            elif last and passing:
                return True
            elif not good or last:
                passing = False
        return False
