"""What networks with smooth activations make of sets of states, as affine images of these, layer by layer.

Over the range of a neuron its activation is s z + m up to r, with one slope s for both sides (`curves.parallel`), so
that nothing but r is new; a row of later weights passes it as one row, not two. Ranges of neurons are those over the
set itself, which is smaller than the box around it where its components depend on each other.

The ranges are those over a set of fewer generators around it, where there is one that is hardly wider.

A row M over the neurons of a layer is brought down to the set: through an activation it becomes M s, and M m is known
of the value, up to |M| r; through a layer W z + b it becomes M W. Down to the first activation, below which everything
is affine in the states. What floating point loses of a row is counted by how large the neurons are at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vernal.interpret.flow.affine_images import AffineImages, affine_images
from vernal.interpret.flow.balls import SLACK, BallArrays, around, points
from vernal.interpret.flow.zonotope_batches import Zonotopes, coarser, reached, spanned
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.curves import parallel
from vernal.interpret.numbers.rounding import TINY, UNIT, Floats, all_along, gamma
from vernal.model import expr as e
from vernal.model.expr import Expr, Function

SMOOTH = (Function.TANH, Function.SIGMOID)
AT_ONCE = 1 << 22  # numbers of one array


@dataclass(frozen=True, eq=False)
class LayerChain:
    """A network: what it observes, and its layers and activations, one node after the other."""

    below: Expr
    above: tuple[Expr, ...]


def chain_below(node: Expr) -> LayerChain | None:
    """The layers below a vector, if it is made of layers and activations that are smooth, or ReLU."""
    nodes: list[Expr] = []
    while isinstance(node, e.Affine | e.Relu) or (isinstance(node, e.Nonlinear) and node.function in SMOOTH):
        nodes.append(node)
        (node,) = node.args
    if not nodes or not isinstance(nodes[-1], e.Affine) or not any(isinstance(n, e.Nonlinear) for n in nodes):
        return None
    return LayerChain(nodes[-1].args[0], tuple(reversed(nodes)))


def layer_images(linear: Linear, roots: Sequence[Expr], sets: Zonotopes) -> AffineImages | None:
    """Images of sets under components of one network; None where they are something else."""
    gathers = [root for root in roots if isinstance(root, e.Gather) and root.size == 1]
    vectors = {gather.args[0] for gather in gathers}
    if len(gathers) < len(roots) or len(vectors) != 1:
        return None
    (vector,) = vectors
    chain = chain_below(vector)
    if chain is None:
        return None
    n, batch = sets.centre.shape[1], len(sets.centre)
    form, sets = affine_images(linear, [chain.below], n, batch), coarser(sets)
    widest = max(node.size for node in chain.above)
    count = max(1, AT_ONCE // widest**2)
    parts = np.array_split(np.arange(batch), -(-batch // count))
    found = [_Passage(sets[part], form.rows(part)).through(chain) for part in parts]
    if any(one is None for one in found):
        return None
    chosen = [gather.indices[0] for gather in gathers]
    images = [one for one in found if one is not None]
    coefficients, lower, upper = (
        np.concatenate([getattr(one, name)[:, chosen] for one in images]) for name in ("coefficients", "lower", "upper")
    )
    rest = [np.concatenate([getattr(one.rest, end)[:, chosen] for one in images]) for end in ("mid", "rad")]
    sources = np.concatenate([one.sources[:, chosen] for one in images if one.sources is not None])
    return AffineImages(coefficients, BallArrays(*rest), lower, upper, sources)


@dataclass(frozen=True, eq=False)
class _Activation:
    """s z + m up to r, for neurons z of at most some size: all of them (batch, neurons)."""

    slope: Floats
    middle: Floats
    radius: Floats
    size: Floats
    shares: Floats  # (batch, neurons, n): of the range of a neuron, by components of the box in which the set began


@dataclass(frozen=True, eq=False)
class _Weights:
    """W z + b, for z of at most some size."""

    weight: Floats
    bias: Floats
    size: Floats


class _Passage:
    """One batch of sets, on its way through the layers of a network."""

    def __init__(self, sets: Zonotopes, form: AffineImages) -> None:
        self.sets, self.form = sets, form
        self.most = np.maximum(np.abs(sets.lower), np.abs(sets.upper))  # of the states
        self.box = around(sets.lower, sets.upper)
        self.passed: list[_Activation | _Weights] = []
        self.shares = np.zeros((1, 1, 1))  # of ranges that were measured last, which each component of the start makes
        self.sources = np.zeros((1, 1, 1))  # of what was not known in the last layer, by these components

    def through(self, chain: LayerChain) -> AffineImages | None:
        """The image of the whole network; None where something is not finite."""
        image = self._measured(self.form)
        final = max(index for index, node in enumerate(chain.above) if isinstance(node, e.Affine))
        for index, node in enumerate(chain.above):
            if not all_along(np.isfinite(image.lower) & np.isfinite(image.upper)).all():
                return None
            if isinstance(node, e.Affine):
                size = np.maximum(np.abs(image.lower), np.abs(image.upper))
                weight = np.asarray(node.weight.array, dtype=np.float64)
                self.passed.append(_Weights(weight, np.asarray(node.bias.array, dtype=np.float64), size))
                image = self._down(weight, len(self.passed) - 1, told=index == final)
                if len(self.passed) == 1:  # layers before the first activation are affine together
                    self.form, self.passed = image, []
                image = self._measured(image)
            else:
                self.passed.append(_activation(node, image.lower, image.upper, self.shares))
                last = node is chain.above[-1]
                image = self._measured(self._activated(image)) if last else self._range_after(node, image)
        return replace(image, sources=self.sources)

    def _activated(self, image: AffineImages) -> AffineImages:
        """An image after the last activation."""
        act = self.passed[-1]
        assert isinstance(act, _Activation)
        slope, coefficients = act.slope, act.slope[..., None] * image.coefficients
        lost = UNIT * (np.abs(coefficients) @ self.most[..., None])[..., 0] * 2 + TINY * (1 + self.most.sum(1))[:, None]
        rest = points(slope) * image.rest + points(act.middle)
        self.sources = slope[..., None] * self.sources + act.radius[..., None] * act.shares
        rad = (rest.rad + act.radius + lost) * SLACK
        return AffineImages(coefficients, BallArrays(rest.mid, rad), image.lower, image.upper)

    def _range_after(self, node: Expr, image: AffineImages) -> AffineImages:
        """Bounds after an activation, which is monotone; the image itself is not needed."""
        act = self.passed[-1]
        assert isinstance(act, _Activation)
        ends = [points(act.slope) * points(end) + points(act.middle) for end in (image.lower, image.upper)]
        lower = np.nextafter(ends[0].ends[0] - act.radius, -np.inf)
        upper = np.nextafter(ends[1].ends[1] + act.radius, np.inf)  # slopes are not negative
        return AffineImages(image.coefficients, image.rest, lower, upper)

    def _down(self, weight: Floats, number: int, *, told: bool) -> AffineImages:
        """The rows of the last layer, brought down to the states; `number` is where that layer was passed.

        `told`: whether it is noted what is not known because of which component of the start.
        """
        last = self.passed[number]
        assert isinstance(last, _Weights)
        rows = weight  # (rows, neurons), and with a batch in front of it once an activation was passed
        rest = points(np.broadcast_to(last.bias, (len(self.most), len(weight))))
        for index in range(number - 1, -1, -1):
            at = self.passed[index]
            if isinstance(at, _Weights):
                lost = gamma(len(at.weight) + 4) * _times(np.abs(rows), _times(np.abs(at.weight), at.size))
                rest = _widened(rest + _dot(rows, at.bias), lost)
                rows = rows @ at.weight
                continue
            rest = _widened(rest + _dot(rows, at.middle), _times(np.abs(rows), at.radius))
            if told:
                self.sources = self.sources + np.abs(rows) @ (at.radius[..., None] * at.shares)
            if not any(isinstance(one, _Activation) for one in self.passed[:index]):
                return self._at_first(rows, rest, at)
            scaled = rows * at.slope[:, None]
            rest = _widened(rest, 2 * UNIT * _times(np.abs(scaled), at.size))
            rows = scaled
        return self._at_first(rows, rest, None)

    def _at_first(self, rows: Floats, rest: BallArrays, act: _Activation | None) -> AffineImages:
        """Rows over the first neurons, which are s times an affine image of the states."""
        form = self.form
        slope = np.ones_like(form.rest.mid) if act is None else act.slope
        own = slope[..., None] * form.coefficients
        size = (np.abs(own) @ self.most[..., None])[..., 0] * SLACK + TINY * (1 + self.most.sum(1))[:, None]
        constants = points(slope) * form.rest
        coefficients = rows @ own
        rest = _widened(rest + _dot(rows, constants.mid), _times(np.abs(rows), constants.rad))
        rest = _widened(rest, gamma(rows.shape[-1] + 6) * _times(np.abs(rows), size))
        return AffineImages(coefficients, rest, form.lower, form.upper)

    def _measured(self, image: AffineImages) -> AffineImages:
        """The image with its bounds over the sets, and over the boxes that cut them."""
        A, sets = points(image.coefficients), self.sets
        middle = (A @ points(sets.centre[..., None]))[..., 0] + image.rest
        found, lost = spanned(A, sets.spread, sets.spans)
        far, n = reached(found, lost, sets.spans), sets.centre.shape[1]
        self.shares = np.abs(found[..., :n]) * sets.weights[:, None, :n] / far[..., None]
        over = BallArrays(middle.mid, (middle.rad + far) * SLACK + TINY)
        boxed = (A @ BallArrays(self.box.mid[..., None], self.box.rad[..., None]))[..., 0] + image.rest
        lower, upper = np.fmax(over.ends[0], boxed.ends[0]), np.fmin(over.ends[1], boxed.ends[1])
        return AffineImages(image.coefficients, image.rest, lower, upper)


def _activation(node: Expr, lower: Floats, upper: Floats, shares: Floats) -> _Activation:
    """An activation over ranges of its neurons."""
    if isinstance(node, e.Nonlinear):
        slope, low, high = parallel(node.function, lower, upper)
    else:
        slope, low, high = _relu(lower, upper)
    middle = 0.5 * low + 0.5 * high
    radius = np.maximum(high - middle, middle - low) * SLACK + TINY
    return _Activation(slope, middle, radius, np.maximum(np.abs(lower), np.abs(upper)), shares)


def _relu(lower: Floats, upper: Floats) -> tuple[Floats, Floats, Floats]:
    """A slope s between 0 and 1, and bounds of relu(z) - s z: it is convex, so they are at the ends and at 0."""
    with np.errstate(all="ignore"):
        slope = np.clip(np.nan_to_num(upper / (upper - lower)), 0.0, 1.0)
    slope = np.where(lower >= 0, 1.0, np.where(upper <= 0, 0.0, slope))
    ends = np.maximum(-slope * lower, (1.0 - slope) * upper)
    high = np.where((lower >= 0) | (upper <= 0), 0.0, np.maximum(ends, 0.0) * SLACK + TINY)
    return slope, np.zeros_like(high), high


def _times(rows: Floats, vectors: Floats) -> Floats:
    """Rows (rows, k) or (batch, rows, k) times vectors (batch, k), none of them negative, rounded up."""
    found = vectors @ rows.T if rows.ndim == 2 else (rows @ vectors[..., None])[..., 0]
    return np.asarray(found * (SLACK + gamma(2 * rows.shape[-1] + 4)) + TINY)


def _dot(rows: Floats, vectors: Floats) -> BallArrays:
    """Rows times vectors (batch, k) or (k,)."""
    vectors = np.atleast_2d(vectors)
    mid = vectors @ rows.T if rows.ndim == 2 else (rows @ vectors[..., None])[..., 0]
    return BallArrays(mid, gamma(rows.shape[-1] + 4) * _times(np.abs(rows), np.abs(vectors)))


def _widened(ball: BallArrays, by: Floats) -> BallArrays:
    return BallArrays(*np.broadcast_arrays(ball.mid, (ball.rad + by) * SLACK + TINY))
