"""Where trajectories may change from one region of a network to another.

Regions share a facet where one has a row, the other its opposite, and what they have in common is of dimension n - 1.
With the normal a that points from the source to the target there is a crossing if a (A x + b) + |a| radius is not
negative everywhere on the common facet; the largest value is at a vertex, exactly. Both directions may be possible.

Why facets are enough. Let x be a trajectory of the network with a measurable disturbance d, |d_i| <= error_i, inside
the closed region until T. The automaton's radius is larger than the error in every coordinate (`radius_of`), and that
slack carries the argument; N, the network, is Lipschitz.

1. Bend x inward: x + m t (c - x), c the centre of the region, starts where x does, is in the interior of the region for
   t > 0, at a distance of at least m r t from its sides for some r > 0, and follows N with a disturbance larger than d
   by O(m), which the radius allows for small m.
2. On [0, s] replace its disturbance by its mean, and after that by one that is constant on each of many short
   intervals. On [0, s] the trajectory differs by O(s t) from the chord of the bent one, which is at least m r t away
   from the sides, so for small s it stays inside; at s it is O(s^2) away from the bent one, and remains as near as one
   likes with short intervals. As s shrinks it converges to the bent one uniformly.
3. The disturbances of step 2 can be moved a little, again by the slack. Those for which the trajectory ever meets a
   face of dimension n - 2 or less (after time 0) are a set of measure zero: what reaches such a face at some time of
   a given interval is the image of a set of dimension n - 1 under a Lipschitz map, and at any time the state depends
   on the first disturbance by a bi-Lipschitz map. So there are such trajectories that meet none.
4. Under a constant disturbance a continuous piecewise affine field is autonomous, and its trajectories change regions
   finitely often in finite time (L. Q. Thuan, M. K. Camlibel, Continuous piecewise affine dynamical systems do not
   exhibit Zeno behavior, IEEE Trans. Automatic Control 56, 2011). So the trajectory of step 3 is in finitely many
   regions one after the other, and changes from one to the next inside a facet that both share, with a right
   derivative that does not point back: the condition above holds there. It is an execution of the automaton that
   begins in a location whose invariant contains x(0).

So executions of the automaton with finitely many crossings come arbitrarily close to x at every time of [0, T], and any
closed set that contains all of them up to T (a flowpipe is a finite union of closed sets) contains x. A trajectory
through a corner, one that crosses a facet infinitely often, and one that touches the side of the region and comes
back are all among these limits. Initial states belong to every location whose invariant contains them. Merged regions
are regions like others, and what is rounded outward only adds executions.

`vertex` is the more cautious choice of the paper: a crossing wherever two regions have a point in common, with the same
condition for every row of the target that all common points lie on. It has every crossing of `facet`, and more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from vernal.interpret.geometry.polytopes import IntegerRow, Polytope, integer_row, opposite
from vernal.logic.task import Transitions
from vernal.model.hybrid import Crossing
from vernal.model.tick import Tick, idle
from vernal.reduce.neural.outward_rounding import facets_of

ExactFlow = Sequence[Sequence[Fraction]]  # coefficients and constant of each component
Contact = tuple[int, int, Polytope]  # two regions, and what they have in common


def crossings_of(
    regions: Sequence[Polytope],
    flows: Sequence[ExactFlow],
    radius: Sequence[Fraction],
    transitions: Transitions,
    tick: Tick = idle,
) -> list[Crossing]:
    """The crossings between regions whose flows, with disturbances up to the radius, permit them."""
    contacts = shared_facets(regions, tick) if transitions is Transitions.FACET else shared_points(regions, tick)
    made = []
    for i, j, common in contacts:
        guard = None
        for source, target in ((i, j), (j, i)):
            if all(_permits(common, row, flows[source], radius) for row in _touched(regions[target], common)):
                guard = facets_of(common.reduced()) if guard is None else guard
                made.append(Crossing(source, target, guard))
    return sorted(made, key=lambda crossing: (crossing.source, crossing.target))


def _touched(target: Polytope, common: Polytope) -> list[IntegerRow]:
    """The rows of the target that all common points lie on."""
    return [row for row in target.rows if not any(common.values(row))]


def _permits(common: Polytope, row: IntegerRow, flow: ExactFlow, radius: Sequence[Fraction]) -> bool:
    """Whether the flow can keep the row, i.e. not increase it, at some of the common points, which all lie on it."""
    normal = row[:-1]
    decrease = [Fraction(-sum(a * form[k] for a, form in zip(normal, flow, strict=True))) for k in range(len(row))]
    decrease[-1] += sum(abs(a) * r for a, r in zip(normal, radius, strict=True))
    return max(common.values(integer_row(decrease))) >= 0


def shared_facets(regions: Sequence[Polytope], tick: Tick = idle) -> Iterator[Contact]:
    """All pairs of regions with a common facet, each once."""
    faces: dict[IntegerRow, dict[int, Polytope]] = defaultdict(dict)
    for i, polytope in enumerate(regions):
        for r, row in enumerate(polytope.rows):
            faces[row][i] = polytope.face(r)
    for row, here in faces.items():
        there = faces.get(opposite(row), {}) if row > opposite(row) else {}
        for i, j in _overlapping(here, there):
            tick()
            common = _common_facet(here[i], regions[j])
            if common is not None:
                yield i, j, common


def _overlapping(here: Mapping[int, Polytope], there: Mapping[int, Polytope]) -> Iterator[tuple[int, int]]:
    """The pairs whose bounding boxes are not apart; rounding to nearest is monotone, so it excludes no others."""
    if not here or not there:
        return
    first, second = (np.array([face.bounding_box for face in faces.values()]) for faces in (here, there))
    meet = (first[:, None, 0] <= second[None, :, 1]).all(-1) & (second[None, :, 0] <= first[:, None, 1]).all(-1)
    left, right = list(here), list(there)
    yield from ((left[a], right[b]) for a, b in np.argwhere(meet).tolist())


def _common_facet(face: Polytope, neighbour: Polytope) -> Polytope | None:
    """What a face has in common with a neighbour, which lies on the other side of it, if that is no smaller a face."""
    apart = any(min(signs) >= 0 and max(signs) > 0 for signs in map(face.values, neighbour.rows))
    common = None if apart else face.meet(neighbour.rows)
    return common if common is not None and common.dimension == common.dimension_of_space - 1 else None


def shared_points(regions: Sequence[Polytope], tick: Tick = idle) -> Iterator[Contact]:
    """All pairs of regions with a common point, each once."""
    everyone = dict(enumerate(regions))
    for i, j in _overlapping(everyone, everyone):
        tick()
        first, second = regions[i], regions[j]
        if i < j and not (_apart(first, second) or _apart(second, first)):
            common = first.meet(second.rows)
            if common is not None:
                yield i, j, common


def _apart(first: Polytope, second: Polytope) -> bool:
    """Whether a row of the second alone shows that they have no point in common."""
    return any(min(first.values(row)) > 0 for row in second.rows)
