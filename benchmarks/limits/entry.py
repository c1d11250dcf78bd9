"""A heavy command, and what several of them are written with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vernal.formats.layers import dense
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.network import Network, network_input


@dataclass(frozen=True)
class Heavy:
    """A command by name, without its limits; `questions` is how many limits of time it has, one after the other."""

    name: str
    arguments: Sequence[str]
    questions: int = 1


def written(file: Path, text: str) -> Path:
    """A file with this text."""
    file.write_text(text, encoding="utf-8")
    return file


def random_network(inputs: int, width: int, depth: int) -> Network:
    """So many hidden layers of that width, with random weights of a size that keeps values moderate."""
    chance = np.random.default_rng(0)
    given = network_input(inputs)
    node: Expr = given
    for before in [inputs, *[width] * (depth - 1)]:
        node = build.relu(dense(node, chance.normal(size=(width, before)) * (2 / before) ** 0.5))
    return Network("large", given, dense(node, chance.normal(size=(1, width)) / width**0.5))
