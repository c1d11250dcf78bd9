"""Networks of layers and smooth activations over sets: what they make of any state of a set is in the image."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vernal.interpret.concrete import evaluate
from vernal.interpret.flow.zonotope_batches import Zonotopes, boxes, coarser, widened
from vernal.interpret.linear.bounds import InputBox, Linear
from vernal.interpret.linear.curves import parallel
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.sampled.layer_images import chain_below, layer_images
from vernal.model import build
from vernal.model.build import apply
from vernal.model.expr import Expr, Function, Matrix

NAMES = ("x", "y", "z")


def layer(x: Expr, weight: Floats, bias: Floats) -> Expr:
    return build.affine(x, Matrix(weight), Matrix(bias))


def network(rng: np.random.Generator, activations: str) -> Expr:
    """Layers over three variables, each followed by tanh (t), sigmoid (s), ReLU (r) or nothing (l)."""
    node: Expr = build.concat(*(build.var(name) for name in NAMES))
    for kind in activations:
        node = layer(node, rng.normal(size=(5, node.size)), rng.normal(size=5))
        if kind == "r":
            node = build.relu(node)
        elif kind in "ts":
            node = apply(Function.TANH if kind == "t" else Function.SIGMOID, node)
    return node


def some_sets(rng: np.random.Generator, width: float) -> Zonotopes:
    """Boxes that were turned, so that they are no boxes any more."""
    lower = rng.normal(size=(4, 3))
    made = boxes(lower, lower + width * rng.uniform(size=(4, 3)))
    return widened(replace(made, generators=rng.normal(size=(4, 3, 3))), np.arange(3), np.zeros((4, 3)))


def members(sets: Zonotopes, rng: np.random.Generator) -> Floats:
    """States of each set, most of them extreme: (batch, 64, n)."""
    signs = np.clip(2.0 * rng.uniform(-1, 1, size=(len(sets.centre), 64, sets.weights.shape[1])), -1.0, 1.0)
    moved = np.einsum("bnm,bkm->bkn", sets.generators, signs * sets.weights[:, None])
    return np.asarray(sets.centre[:, None] + moved)


@pytest.mark.parametrize("activations", ["tl", "tt", "ttl", "trsl", "ltlls", "sss", "rtr"])
@pytest.mark.parametrize("width", [1e-9, 0.1, 3.0])
def test_every_state_is_in_the_image(activations: str, width: float) -> None:
    rng = np.random.default_rng(len(activations))
    node, sets = network(rng, activations), some_sets(rng, width)
    variables = [build.var(name) for name in NAMES]
    box: InputBox = {var: (sets.lower[:, i], sets.upper[:, i]) for i, var in enumerate(variables)}
    roots = [build.component(node, index) for index in range(node.size)]
    images = layer_images(Linear(box, batch=4), roots, sets)
    assert images is not None
    states = members(sets, rng)
    (values,) = evaluate([node], {var: states[..., i].reshape(-1) for i, var in enumerate(variables)})
    values = np.asarray(values).reshape(4, 64, -1)
    affine = np.einsum("bdn,bkn->bkd", images.coefficients, states) + images.rest.mid[:, None]
    slack = 1e-12 * (1 + np.abs(values))
    assert (np.abs(values - affine) <= images.rest.rad[:, None] + slack).all()
    assert (values >= images.lower[:, None] - slack).all()
    assert (values <= images.upper[:, None] + slack).all()


@pytest.mark.parametrize("function", [Function.TANH, Function.SIGMOID])
def test_lines_of_one_slope_enclose_the_curve_and_hardly_more(function: Function) -> None:
    rng = np.random.default_rng(0)
    lower = rng.normal(size=3000) * 3
    upper = lower + rng.choice([0.0, 1e-12, 1e-3, 0.5, 4.0, 60.0], size=3000) * rng.uniform(size=3000)
    slope, low, high = parallel(function, lower, upper)
    x = lower + (upper - lower) * np.linspace(0, 1, 101)[:, None]
    g = np.tanh(x) if function is Function.TANH else 0.5 + 0.5 * np.tanh(0.5 * x)
    assert (g - slope * x >= low - 1e-14).all()
    assert (g - slope * x <= high + 1e-14).all()
    assert (high - low <= np.ptp(g - slope * x, axis=0) * 1.2 + 1e-9).all()


def test_what_is_no_smooth_network_has_no_chain() -> None:
    x = build.concat(build.var("x"), build.var("y"))
    assert chain_below(x) is None
    assert chain_below(build.relu(layer(x, np.eye(2), np.zeros(2)))) is None


def test_a_coarser_set_is_around_a_set_and_hardly_wider() -> None:
    rng = np.random.default_rng(3)
    sizes = 10.0 ** rng.uniform(-6, 0, size=(4, 3, 40))
    sizes[:, :, :3] = 1e-9  # the first ones stay, however small
    fine = replace(some_sets(rng, 1.0), generators=rng.normal(size=sizes.shape) * sizes, weights=np.ones((4, 40)))
    coarse = coarser(fine)
    assert coarse.weights.shape[1] < fine.weights.shape[1]
    assert (coarse.generators[:, :, :3] == fine.generators[:, :, :3]).all()
    directions = rng.normal(size=(50, 3))
    inner, outer = (sets.support(directions) for sets in (fine, coarse))
    assert (outer.ends[1] >= inner.ends[1] * (1 - 1e-12)).all()
    assert (coarse.radius <= fine.radius * (1 + 2.0**-6)).all()


def test_what_is_lost_is_put_down_to_what_moves_the_neurons() -> None:
    """The output moves with y alone, but neurons that cancel there lose because of x."""
    x, y = (build.var(name) for name in ("x", "y"))
    hidden = apply(
        Function.TANH, layer(build.concat(x, y), np.array([[1.0, 0.0], [1.0, 1e-3], [1.0, 0.0]]), np.zeros(3))
    )
    node = layer(hidden, np.array([[1.0, 1.0, -2.0]]), np.zeros(1))
    sets = boxes(np.full((1, 2), -1.0), np.full((1, 2), 1.0))
    box: InputBox = {var: (sets.lower[:, i], sets.upper[:, i]) for i, var in enumerate((x, y))}
    images = layer_images(Linear(box, batch=1), [build.component(node, 0)], sets)
    assert images is not None
    assert images.sources is not None
    assert images.sources[0, 0, 0] > 100 * images.sources[0, 0, 1]
    assert images.sources.sum() == pytest.approx(images.rest.rad[0, 0], rel=1e-6)
