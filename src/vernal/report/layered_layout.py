"""Where the nodes of a directed graph are drawn: in layers from left to right, as arrows point as far as they can.

The method is Sugiyama's: arrows that close a cycle are turned round (as a search depth first or breadth first meets
them, whichever makes arrows shorter), every node is put as far to the right as its longest way says, arrows across
several layers get a bend in each, the order within layers follows the means of neighbours, and so do the heights, as
close as the sizes allow.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SWEEPS = 12  # over the order within layers
SETTLINGS = 12  # of heights

Arrow = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Placement:
    """The layer and the height of every node, and for every arrow the layers and heights it passes, ends included."""

    layers: Sequence[int]
    heights: Sequence[float]
    routes: Mapping[Arrow, Sequence[tuple[int, float]]]


def place(sizes: Sequence[float], arrows: Sequence[Arrow], bend: float) -> Placement:
    """Place nodes of these heights; an arrow that passes a layer takes this much of its height."""
    moving = [arrow for arrow in dict.fromkeys(arrows) if arrow[0] != arrow[1]]
    turned, layers = _directed_layers(len(sizes), moving)
    chains, all_layers = _chains(turned, layers)
    tall = [*sizes, *([bend] * (len(all_layers) - len(sizes)))]
    links = [pair for chain in chains.values() for pair in itertools.pairwise(chain)]
    columns = _ordered(all_layers, links)
    heights = _heights(columns, links, tall)
    routes = {arrow: [(all_layers[n], heights[n]) for n in _directed(arrow, chain)] for arrow, chain in chains.items()}
    return Placement(layers, heights[: len(sizes)], routes)


def _turned(arrow: Arrow, back: bool) -> Arrow:
    return (arrow[1], arrow[0]) if back else arrow


def _directed(arrow: Arrow, chain: Sequence[int]) -> Sequence[int]:
    return chain if chain[0] == arrow[0] else chain[::-1]


# Layers ---------------------------------------------------------------------------------------------------------------


def _directed_layers(count: int, arrows: Sequence[Arrow]) -> tuple[dict[Arrow, Arrow], list[int]]:
    """Every arrow as it points to the right, and the layers of all nodes."""
    found = []
    for back in (_cycles(count, arrows), _against_breadth(count, arrows)):
        turned = {arrow: _turned(arrow, back[arrow]) for arrow in arrows}
        layers = _layers(count, list(turned.values()))
        found.append((sum(layers[b] - layers[a] for a, b in turned.values()) + sum(back.values()), turned, layers))
    _, turned, layers = min(found, key=lambda entry: entry[0])
    return turned, layers


def _against_breadth(count: int, arrows: Sequence[Arrow]) -> dict[Arrow, bool]:
    """Which arrows lead to a node that a search from the first nodes on, breadth first, met before."""
    after: dict[int, list[int]] = defaultdict(list)
    entered = set()
    for one, other in arrows:
        after[one].append(other)
        entered.add(other)
    met: dict[int, int] = {}
    for root in sorted(range(count), key=lambda node: node in entered):
        if root in met:
            continue
        met[root] = len(met)
        waiting = [root]
        for node in waiting:  # grows on the way
            for other in after[node]:
                if other not in met:
                    met[other] = len(met)
                    waiting.append(other)
    return {(one, other): met[other] < met[one] for one, other in arrows}


def _cycles(count: int, arrows: Sequence[Arrow]) -> dict[Arrow, bool]:
    """Which arrows lead back to a node on the way to them, depth first from the first nodes on."""
    after: dict[int, list[int]] = defaultdict(list)
    for one, other in arrows:
        after[one].append(other)
    found: dict[Arrow, bool] = {}
    state = [0] * count  # 1 while a node is on the way, 2 afterwards
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        way = [(root, iter(after[root]))]
        while way:
            node, rest = way[-1]
            following = next(rest, None)
            if following is None:
                state[node] = 2
                way.pop()
                continue
            found[node, following] = state[following] == 1
            if not state[following]:
                state[following] = 1
                way.append((following, iter(after[following])))
    return found


def _layers(count: int, arrows: Sequence[Arrow]) -> list[int]:
    """As far to the right as the longest way to a node says; where none leads, just before what follows."""
    after, missing = defaultdict(list), [0] * count
    for one, other in arrows:
        after[one].append(other)
        missing[other] += 1
    sources = [node for node in range(count) if not missing[node]]
    layers, waiting = [0] * count, list(sources)
    for node in waiting:  # grows on the way
        for other in after[node]:
            layers[other] = max(layers[other], layers[node] + 1)
            missing[other] -= 1
            if not missing[other]:
                waiting.append(other)
    for node in sources:
        layers[node] = max(0, min((layers[other] for other in after[node]), default=1) - 1)
    return layers


def _chains(turned: Mapping[Arrow, Arrow], layers: Sequence[int]) -> tuple[dict[Arrow, list[int]], list[int]]:
    """For each arrow the nodes it passes, bends included, from left to right; and the layers of all of them."""
    all_layers = list(layers)
    chains: dict[Arrow, list[int]] = {}
    for arrow, (left, right) in turned.items():
        chain = [left]
        for layer in range(layers[left] + 1, layers[right]):
            chain.append(len(all_layers))
            all_layers.append(layer)
        chains[arrow] = [*chain, right]
    return chains, all_layers


# Order and heights ----------------------------------------------------------------------------------------------------


def _ordered(layers: Sequence[int], links: Sequence[Arrow]) -> list[list[int]]:
    """The nodes of each layer from top to bottom, with few crossings: the best of some sweeps."""
    columns: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for node, layer in enumerate(layers):
        columns[layer].append(node)
    before, after = _neighbours(links)
    best, least = [list(column) for column in columns], _crossings(columns, after)
    for sweep in range(SWEEPS):
        beside = after if sweep % 2 else before
        for column in reversed(columns) if sweep % 2 else columns:
            ranks = {node: rank for each in columns for rank, node in enumerate(each)}
            column.sort(key=lambda node: _mean([ranks[other] for other in beside[node]], ranks[node]))
        crossings = _crossings(columns, after)
        if crossings < least:
            best, least = [list(column) for column in columns], crossings
    return best


def _neighbours(links: Sequence[Arrow]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    before: dict[int, list[int]] = defaultdict(list)
    after: dict[int, list[int]] = defaultdict(list)
    for one, other in links:
        before[other].append(one)
        after[one].append(other)
    return before, after


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _crossings(columns: Sequence[Sequence[int]], after: Mapping[int, Sequence[int]]) -> int:
    """How many pairs of links cross."""
    total = 0
    for column, following in itertools.pairwise(columns):
        ranks = {node: rank for rank, node in enumerate(following)}
        seen: list[int] = []
        for node in column:
            ends = sorted(ranks[other] for other in after.get(node, ()))
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _heights(columns: Sequence[Sequence[int]], links: Sequence[Arrow], sizes: Sequence[float]) -> list[float]:
    """Heights in the given order, near the means of neighbours, without overlaps; the least top is 0."""
    before, after = _neighbours(links)
    heights = [0.0] * len(sizes)
    for column in columns:
        _spread(column, sizes, heights, [0.0] * len(column))
    for turn in range(SETTLINGS):
        beside = after if turn % 2 else before
        for column in reversed(columns) if turn % 2 else columns:
            wanted = [_mean([heights[other] for other in beside[node]], heights[node]) for node in column]
            _spread(column, sizes, heights, wanted)
    top = min((height - size / 2 for height, size in zip(heights, sizes, strict=True)), default=0.0)
    return [height - top for height in heights]


def _spread(column: Sequence[int], sizes: Sequence[float], heights: list[float], wanted: Sequence[float]) -> None:
    """Put the nodes of a layer below each other as near as possible to where they are wanted (least squares)."""
    offsets, total = [], 0.0
    for node in column:
        offsets.append(total + sizes[node] / 2)
        total += sizes[node]
    blocks: list[tuple[float, int]] = []  # the mean of neighbouring nodes that touch, and how many they are
    for want, offset in zip(wanted, offsets, strict=True):
        mean, count = want - offset, 1
        while blocks and blocks[-1][0] >= mean:
            other, more = blocks.pop()
            mean, count = (mean * count + other * more) / (count + more), count + more
        blocks.append((mean, count))
    shifts = [mean for mean, count in blocks for _ in range(count)]
    for node, offset, shift in zip(column, offsets, shifts, strict=True):
        heights[node] = offset + shift
