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


CONTINUOUS, JUMPING = ("relu", "max", "abs", "clip"), ("sign", "if", "argmax")
NEURONS = {"max": 2, "if": 2, "argmax": 3}  # sums that become one value; of other activations it is one


@dataclass(frozen=True)
class PlainNetwork:
    """Layers with whole weights, divided by a power of two; between them one kind of activation."""

    layers: tuple[Layer, ...]
    activation: str  # one of CONTINUOUS or JUMPING
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
        before = width // NEURONS.get(activation, 1) if width > 1 else width
    return PlainNetwork(tuple(layers), activation)


def least(network: PlainNetwork, corners: Polygon) -> tuple[Fraction, Point]:
    """The least value of the network over a polygon, and where it is; of one that jumps the infimum, and a limit."""
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
    for unit in _units(forms, activation):
        pieces = [
            (part, [*done, chosen])
            for own, done in pieces
            for lines, chosen in unit
            if (part := _inside(own, lines, flat=activation in CONTINUOUS))
        ]
    return pieces


Case = tuple[list[Form], Form]  # forms that are at least 0, and the value there


def _units(forms: list[Form], activation: str) -> list[list[Case]]:
    """For every neuron of a layer its cases."""
    zero, one = (Fraction(0),) * 3, (Fraction(0), Fraction(0), Fraction(1))
    pairs, triples = (
        list(zip(forms[::2], forms[1::2], strict=False)),
        list(zip(*(forms[i::3] for i in range(3)), strict=False)),
    )
    match activation:
        case "relu":
            return [[([f], f), ([_minus(zero, f)], zero)] for f in forms]
        case "abs":
            return [[([f], f), ([_minus(zero, f)], _minus(zero, f))] for f in forms]
        case "clip":  # to [0, 1]
            return [[([_minus(zero, f)], zero), ([f, _minus(one, f)], f), ([_minus(f, one)], one)] for f in forms]
        case "sign":
            return [[([f], one), ([_minus(zero, f)], _minus(zero, one))] for f in forms]
        case "max":
            return [[([_minus(f, g)], f), ([_minus(g, f)], g)] for f, g in pairs]
        case "if":  # if(f > g, f + 1, -g)
            return [
                [([_minus(f, g)], _minus(f, _minus(zero, one))), ([_minus(g, f)], _minus(zero, g))] for f, g in pairs
            ]
        case "argmax":  # the next score after the winner
            return [
                [([_minus(own[k], own[j]) for j in range(3) if j != k], own[(k + 1) % 3]) for k in range(3)]
                for own in triples
            ]
    raise ValueError(activation)


def _minus(f: Form, g: Form) -> Form:
    return (f[0] - g[0], f[1] - g[1], f[2] - g[2])


def _inside(polygon: Polygon, lines: list[Form], *, flat: bool) -> Polygon:
    """The part in which all forms are at least 0; one without area only counts if it may be flat."""
    for line in lines:
        polygon = _clip(polygon, line) if polygon else polygon
    area = sum(
        (a[0] * b[1] - b[0] * a[1] for a, b in zip(polygon, [*polygon[1:], *polygon[:1]], strict=True)), Fraction(0)
    )
    return polygon if flat or area else []


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
