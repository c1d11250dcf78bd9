"""Ground truth for networks of two inputs: all their linear pieces, as polygons with rational corners.

A rectangle is cut along the line at which each neuron changes its phase, one neuron after the other; on every piece the
network is then affine, so the least and the largest value are at corners. Nothing of the package is used here.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Point = tuple[Fraction, Fraction]
Polygon = list[Point]
Form = tuple[Fraction, Fraction, Fraction]  # a x + b y + c
Layer = tuple[list[list[int]], list[int]]  # weights and biases


@dataclass(frozen=True)
class PlainNetwork:
    """Layers with whole weights, divided by a power of two; between them ReLU, or the larger of each two neighbours."""

    layers: tuple[Layer, ...]
    activation: str  # "relu" or "max"
    divisor: int = 4

    @property
    def neurons(self) -> int:
        return sum(len(bias) for _, bias in self.layers[:-1])


def random_network(draw: random.Random, widths: Sequence[int], activation: str) -> PlainNetwork:
    """Weights from -3 to 3; `widths` are those of the hidden layers, and one output follows."""
    layers: list[Layer] = []
    before = 2
    for width in (*widths, 1):
        weight = [[draw.randint(-3, 3) for _ in range(before)] for _ in range(width)]
        layers.append((weight, [draw.randint(-3, 3) for _ in range(width)]))
        before = width // 2 if activation == "max" and width > 1 else width
    return PlainNetwork(tuple(layers), activation)


def least(network: PlainNetwork, corners: Polygon) -> tuple[Fraction, Point]:
    """The least value of the network over a polygon, and where it is."""
    zero, one = Fraction(0), Fraction(1)
    pieces: list[tuple[Polygon, list[Form]]] = [(corners, [(one, zero, zero), (zero, one, zero)])]
    for number, layer in enumerate(network.layers):
        last = number == len(network.layers) - 1
        pieces = [
            after
            for polygon, forms in pieces
            for after in _through(polygon, _affine(layer, forms, network.divisor), "" if last else network.activation)
        ]
    return min((_value(forms[0], point), point) for polygon, forms in pieces for point in polygon)


def _affine(layer: Layer, forms: Sequence[Form], divisor: int) -> list[Form]:
    weight, bias = layer
    made = []
    for row, constant in zip(weight, bias, strict=True):
        a, b, c = (sum((w * form[i] for w, form in zip(row, forms, strict=True)), Fraction(0)) for i in range(3))
        made.append((a / divisor, b / divisor, c / divisor + Fraction(constant, divisor)))
    return made


def _through(polygon: Polygon, forms: list[Form], activation: str) -> list[tuple[Polygon, list[Form]]]:
    """The pieces on which every neuron keeps its phase, with the forms after it."""
    if not activation:
        return [(polygon, forms)]
    pieces: list[tuple[Polygon, list[Form]]] = [(polygon, [])]
    zero = (Fraction(0),) * 3
    pairs = (
        [(form, zero) for form in forms] if activation == "relu" else list(zip(forms[::2], forms[1::2], strict=True))
    )
    for first, second in pairs:
        line = (first[0] - second[0], first[1] - second[1], first[2] - second[2])
        opposite = (-line[0], -line[1], -line[2])
        pieces = [
            (part, [*done, chosen])
            for own, done in pieces
            for part, chosen in ((_clip(own, line), first), (_clip(own, opposite), second))
            if part
        ]
    return pieces


def _clip(polygon: Polygon, line: Form) -> Polygon:
    """The part in which a form is at least 0 (Sutherland and Hodgman); empty where that is no polygon at all."""
    kept: Polygon = []
    for here, there in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
        a, b = _value(line, here), _value(line, there)
        if a >= 0:
            kept.append(here)
        if a * b < 0:
            t = a / (a - b)
            kept.append((here[0] + t * (there[0] - here[0]), here[1] + t * (there[1] - here[1])))
    return list(dict.fromkeys(kept))


def _value(form: Form, point: Point) -> Fraction:
    return form[0] * point[0] + form[1] * point[1] + form[2]
