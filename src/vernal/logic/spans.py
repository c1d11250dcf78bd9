"""Where a formula looks: the positions at which each of its parts can matter to the truth at the start.

`X[10] p` looks at p after ten steps and nowhere else. Where the truth of an atom at a position is
costly, by bounds through ten steps, say, the other positions need not be computed.
"""

from __future__ import annotations

from vernal.logic.formula import Always, Eventually, Formula, Next, Release, Until, Weak, operands
from vernal.logic.normal import order, steps

Window = tuple[int, int | None]  # the first and the last position; None is no last one


def spans(formula: Formula) -> dict[int, Window]:
    """For each sub-formula, by its `id`, a span of all positions at which the truth at position 0 may depend on it."""
    found: dict[int, Window] = {id(formula): (0, 0)}
    for node in reversed(order(formula)):  # users come before what they use
        for arg, window in zip(operands(node), _windows(node), strict=True):
            moved = _shift(found[id(node)], window)
            found[id(arg)] = _hull(found.get(id(arg), moved), moved)
    return found


def _windows(node: Formula) -> list[Window]:
    """How far from a position an operator looks at each operand."""
    match node:
        case Next(count=count):
            return [(count, count)]
        case Eventually(bound=bound) | Always(bound=bound):
            return [steps(bound)]
        case Until(bound=bound) | Release(bound=bound):
            lower, upper = steps(bound)
            return [(0, None if upper is None else max(upper - 1, 0)), (lower, upper)]
        case Weak(bound=bound):
            return [(0, steps(bound)[1]), steps(bound)]
    return [(0, 0)] * len(operands(node))


def _shift(span: Window, window: Window) -> Window:
    (first, last), (lower, upper) = span, window
    return first + lower, None if last is None or upper is None else last + upper


def _hull(a: Window, b: Window) -> Window:
    return min(a[0], b[0]), None if a[1] is None or b[1] is None else max(a[1], b[1])


def covers(span: Window, position: int) -> bool:
    """Whether a position is within a span."""
    first, last = span
    return first <= position and (last is None or position <= last)
