"""Networks in YAML (.yml): `activations`, `offsets` and `weights`, each by the number of the layer or as a list.

    activations: {1: Tanh, 2: Linear}
    offsets:
      1: [0.5, -1.25]
      2: [0.75]
    weights:
      1:
      - [1.0, 2.0]
      - [-0.5, 0.25]
      2:
      - [1.0, -1.0]

Numbers are the nearest doubles to what is written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from vernal.errors import FormatError
from vernal.formats.layer_lists import ListedLayer, network_of
from vernal.formats.limits import DEFAULT, Allowance, ReadLimits
from vernal.formats.yaml_subset import Yaml, parse_yaml
from vernal.interpret.numbers.rounding import Array
from vernal.model.network import Network

NUMBER = re.compile(r"[+-]?([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?")
NO_NUMBER = re.compile(r"[+-]?\.?(nan|inf|infinity)", re.IGNORECASE)
KEYS = ("activations", "offsets", "weights")


def parse_yaml_layers(data: bytes, name: str, limits: ReadLimits = DEFAULT) -> Network:
    """The network of a file's bytes."""
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError:
        raise FormatError("not a network in YAML: it is not plain text") from None
    allowance = Allowance(limits.entries, limits.tick)
    document = parse_yaml(text, allowance)
    if not isinstance(document, dict) or not set(KEYS) <= set(document):
        raise FormatError(f"a network in YAML has the keys {', '.join(KEYS)}")
    activations, offsets, weights = (_by_layer(document[key], key) for key in KEYS)
    if not len(activations) == len(offsets) == len(weights):
        raise FormatError(f"it has {len(weights)} weights, {len(offsets)} offsets and {len(activations)} activations")
    return network_of(
        [
            ListedLayer(_table(table, number), _row(offset, f"the offsets of layer {number}"), _word(act, number))
            for number, (table, offset, act) in enumerate(zip(weights, offsets, activations, strict=True), start=1)
        ],
        name,
    )


def _by_layer(value: Yaml, key: str) -> Sequence[Yaml]:
    """An entry for each layer, in order."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or list(value) != [str(number + 1) for number in range(len(value))]:
        raise FormatError(f"{key!r} has an entry for each layer: a list, or the keys 1, 2, ... in order")
    return list(value.values())


def _word(value: Yaml, number: int) -> str:
    if not isinstance(value, str):
        raise FormatError(f"the activation of layer {number} is no word")
    return value


def _table(value: Yaml, number: int) -> Array:
    what = f"the weights of layer {number}"
    rows = [_row(row, what) for row in value] if isinstance(value, list) else []
    if not rows or len({len(row) for row in rows}) != 1:
        raise FormatError(f"{what} are no table: rows of numbers, all of the same length")
    return np.stack(rows)


def _row(value: Yaml, what: str) -> Array:
    if not isinstance(value, list):
        raise FormatError(f"{what} are no list of numbers")
    return np.array([_number(item, what) for item in value], dtype=np.float64)


def _number(value: Yaml, what: str) -> float:
    if isinstance(value, str) and NO_NUMBER.fullmatch(value):
        return math.nan  # refused with the layer
    if isinstance(value, str) and NUMBER.fullmatch(value):
        return float(value)
    raise FormatError(f"{str(value)[:40]!r} in {what} is not a number")
