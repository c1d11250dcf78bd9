"""What linear bounds know of nodes before there is any box: inputs, constants, and maxima as sums of ReLUs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from vernal.interpret import interval
from vernal.interpret.linear.forms import Form, constant_form
from vernal.interpret.numbers.rounding import Backend
from vernal.interpret.value_sets import Range, as_range
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr

DRAWS, EXTREMA = (e.Between, e.Choose), (e.Max, e.Min)


@lru_cache(maxsize=1024)
def known_constant(node: e.Const) -> tuple[Range, Form]:
    """Range and form of a number of the model, made once for all boxes; its arrays are read-only."""
    backend = Backend()
    value = as_range(backend, interval.apply(backend, node, []))
    if np.array_equal(value.lower, value.upper):
        value = Range(value.lower, value.lower)  # so that products and quotients see the point
    form = constant_form(backend, value)
    for array in (value.lower, value.upper, form.constant, form.error, form.size):
        array.setflags(write=False)
    return value, form


def is_input(node: Expr) -> bool:
    """Whether a node is a numeric draw with constant ends: a dimension of its own."""
    if not isinstance(node, e.Between | e.Choose) or not node.sort.is_number:
        return False
    scalars = isinstance(node, e.Between) or not node.shape
    return scalars and all(isinstance(end, e.Const) for end in drawn_from(node))


def drawn_from(node: Expr) -> tuple[Expr, ...]:
    """The options of a choice, or the ends of an interval."""
    return node.options if isinstance(node, e.Choose) else node.args


def as_relu(node: Expr, args: Sequence[Expr]) -> Expr:
    """max(a, b) = b + relu(a - b) and min(a, b) = b - relu(b - a), folded over the arguments that matter."""
    best = args[0]
    for arg in args[1:]:
        ahead = relu_of_two(node, best, arg)
        best = build.add(arg, ahead) if isinstance(node, e.Max) else build.sub(arg, ahead)
    return best


def relu_of_two(node: Expr, best: Expr, arg: Expr) -> Expr:
    """By how much the first of two arguments of a maximum or minimum is ahead of the second."""
    return build.relu(build.sub(best, arg) if isinstance(node, e.Max) else build.sub(arg, best))
