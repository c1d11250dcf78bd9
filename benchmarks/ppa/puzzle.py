"""The sliding-tile puzzle on a grid of 3 x 3: a tile moves to the empty cell, or fails to and costs more.

Cells are numbered row by row. The four labels say where the tile beside the empty cell moves. Unsafe is one tile in one
cell. At the start, tiles of one group are in ascending order of their cells; the groups are of 3, 3 and 2 tiles.
"""

from __future__ import annotations

from itertools import combinations, pairwise

from benchmarks.ppa.jani import Bounded, Edge, Expression, Instance, Model, both, condition, eq, le, ne, plus
from benchmarks.ppa.thresholds import distinct, together

SIDE = 3
CELLS = SIDE * SIDE
TILES = range(1, CELLS)
MOVES = {"left": -1, "right": 1, "up": -SIDE, "down": SIDE}
GROUPS = ((1, 2, 3), (4, 5, 6), (7, 8))
UNSAFE = (7, 7)  # this tile in this cell: 4900 starts are left, as in the paper


def tile(number: int) -> str:
    return f"tile_{number}"


def cost(number: int) -> str:
    return f"cost_{number}"


def variables() -> list[Bounded]:
    return [Bounded("empty", 0, CELLS - 1, 0), *(Bounded(tile(i), 0, CELLS - 1, i) for i in TILES)]


def costs(bound: int) -> list[Bounded]:
    return [Bounded(cost(i), 0, bound, 0) for i in TILES] if bound else []


def edges(number: int, name: str, bound: int) -> list[Edge]:
    """A tile moves in a direction, or fails to."""
    offset = MOVES[name]
    guard = both(eq("empty", plus(tile(number), offset)), *(ne(tile(number), cell) for cell in _walls(offset)))
    moved: dict[str, Expression] = {tile(number): plus(tile(number), offset), "empty": plus("empty", -offset)}
    if not bound:
        return [Edge(name, guard, moved)]
    fails = Edge(name, both(guard, le(cost(number), bound - 1)), {cost(number): plus(cost(number), 1)})
    return [Edge(name, guard, moved), fails]


def _walls(offset: int) -> list[int]:
    """Cells at the end of a row, from which the next number is in another row."""
    if abs(offset) == SIDE:
        return []
    rows = range(SIDE - 1) if offset == 1 else range(1, SIDE)
    return [row * SIDE + (SIDE - 1 if offset == 1 else 0) for row in rows]


def model(bound: int) -> Model:
    found = [edge for number in TILES for name in MOVES for edge in edges(number, name, bound)]
    return Model("8-puzzle", list(MOVES), [*variables(), *costs(bound)], found)


def start(bound: int) -> Expression:
    """Different cells, ascending within each group, no tile where it must not be, and nothing cost yet."""
    names = [variable.name for variable in variables()]
    ascending = [le(plus(tile(a), 1), tile(b)) for group in GROUPS for a, b in pairwise(group)]
    apart = [ne(a, b) for a, b in combinations(names, 2)]
    free = [eq(variable.name, 0) for variable in costs(bound)]
    return both(*ascending, *apart, ne(tile(UNSAFE[0]), UNSAFE[1]), *free)


def goal() -> Expression:
    """The first row is in order; small networks do not learn to solve the whole puzzle."""
    return both(*(eq(tile(i + 1), i) for i in range(SIDE)))


def unsafe() -> Expression:
    return eq(tile(UNSAFE[0]), UNSAFE[1])


def instance(bound: int) -> Instance:
    """Costs are refined last."""
    states, spent = variables(), costs(bound)
    stages = [*together(states), *together(spent)]
    observed, paid = [v.name for v in states], [v.name for v in spent]
    return Instance(model(bound), condition(start(bound)), unsafe(), goal(), observed, distinct(stages), paid)
