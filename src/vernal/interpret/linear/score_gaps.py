"""How far an argmax is from being decided: what the scores lack, as a part of the range of their differences."""

from __future__ import annotations

import numpy as np

from vernal.interpret.linear.choice import Bounding, full, leaves
from vernal.interpret.numbers.rounding import Array
from vernal.interpret.value_sets import Finite
from vernal.model import expr as e
from vernal.model.expr import Expr


def nearest(linear: Bounding, node: e.Argmax, index: Array) -> Array:
    """(groups,): of the winners that are possible in a box, what the nearest one lacks to be excluded.

    In parts of the range of its distance from the favourite: 0.5 where either may be as far ahead, and infinite where
    one winner is left. Where bounds are infinite it is 0, since nothing is known. It is an estimate, and nothing is
    claimed from it.
    """
    backend, value = linear.backend, linear.values[node]
    assert isinstance(value, Finite)
    shape = (linear.batch, len(value.values))
    possible = backend.xp.broadcast_to(value.mask[:, 0, :], shape)[index]
    least = backend.zeros((index.shape[0],)) + np.inf
    for leaf, reached in leaves(linear, node.args[0]):
        asked = backend.xp.broadcast_to(reached, (linear.batch, 1))[index][:, 0] & (possible.sum(-1) > 1)
        (left,) = backend.nonzero(asked)
        if left.shape[0]:
            found = _lack(linear, leaf, index[left], possible[left])
            least[left] = backend.xp.minimum(least[left], found)
    return least


def _lack(linear: Bounding, scores: Expr, index: Array, possible: Array) -> Array:
    """The same for one vector of scores, of boxes in which several are possible."""
    backend, x = linear.backend, full(linear, scores, index)
    favourite = backend.where(possible, 0.5 * x.lower + 0.5 * x.upper, -np.inf).argmax(-1)
    unit = backend.array(np.eye(scores.size))
    ahead = unit[favourite][:, None, :] - unit[None]
    n = scores.size
    low = linear.lower({scores: backend.concat([ahead, -ahead], 1)}, backend.zeros((index.shape[0], 2 * n)), index)
    lack = backend.positive(-low[:, :n]) / -(low[:, :n] + low[:, n:])
    lack = backend.where(backend.xp.isfinite(lack), lack, 0.0)
    rival = possible & (unit[favourite] == 0)
    return backend.xp.amin(backend.where(rival, lack, np.inf), -1)
