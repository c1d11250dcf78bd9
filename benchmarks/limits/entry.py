"""A heavy command, and what several of them are written with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from vernal.formats.layers import dense
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.network import Network, network_input


@dataclass(frozen=True)
class Heavy:
    """A command by name, without its limits; `questions` is how many limits of time it has, one after the other.

    `memory` says whether it takes a limit of memory, too.
    """

    name: str
    arguments: Sequence[str]
    questions: int = 1
    memory: bool = True


def written(file: Path, text: str) -> Path:
    """A file with this text."""
    file.write_text(text, encoding="utf-8")
    return file


def random_network(inputs: int, width: int, depth: int) -> Network:
    """So many hidden layers of that width, and one output."""
    return layered_network([inputs, *[width] * depth, 1])


def layered_network(widths: Sequence[int]) -> Network:
    """Layers of these widths, with random weights of a size that keeps values moderate."""
    chance = np.random.default_rng(0)
    given = network_input(widths[0])
    node: Expr = given
    for before, width in pairwise(widths[:-1]):
        node = build.relu(dense(node, chance.normal(size=(width, before)) * (2 / before) ** 0.5))
    return Network("large", given, dense(node, chance.normal(size=(widths[-1], widths[-2])) / widths[-2] ** 0.5))
