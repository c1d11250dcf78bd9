"""Blocksworld with n blocks: towers are built without putting all blocks on the table; a move may fail and costs then.

`at_i` says where block i is: 0 in the hand, 1 to n-1 on one of the other blocks (in their order), n on the table, which
counts as the largest block. There is a label for each block and one for the table. With an empty hand, the label of a
block picks it up; with a full hand, a label says where to put what is held. The start condition has blocks on larger
blocks only; the goal is the tower in which each block is on the next smaller one.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.ppa.jani import (
    Bounded,
    Edge,
    Expression,
    Instance,
    Model,
    both,
    condition,
    either,
    eq,
    ge,
    le,
    ne,
    plus,
    total,
)
from benchmarks.ppa.thresholds import distinct, together

TABLE = "table"


def code(block: int, below: int) -> int:
    """The value of `at_block` when it is on another block."""
    return below if below > block else below + 1


def at(block: int) -> str:
    return f"at_{block}"


def clear(block: int) -> str:
    return f"clear_{block}"


def cost(block: int) -> str:
    return f"cost_{block}"


def label(block: int) -> str:
    return f"block_{block}"


# The model ------------------------------------------------------------------------------------------------------------


def variables(n: int) -> list[Bounded]:
    """At first there is one tower, the smallest block on top."""
    places = [Bounded(at(i), 0, n, i + 1) for i in range(n)]
    tops = [Bounded(clear(i), 0, 1, int(i == 0)) for i in range(n)]
    return [Bounded("hand_empty", 0, 1, 1), Bounded("on_table", 0, n, 1), *places, *tops]


def moves(n: int) -> Iterator[tuple[int, Edge]]:
    """All that can be done with a block, as long as it does not fail."""
    for i in range(n):
        picked = both(eq("hand_empty", 1), eq(clear(i), 1))
        held = both(eq("hand_empty", 0), eq(at(i), 0))
        take: dict[str, Expression] = {"hand_empty": 0, at(i): 0, clear(i): 0}
        give: dict[str, Expression] = {"hand_empty": 1, clear(i): 1}
        lifted, placed = both(picked, eq(at(i), n), ge("on_table", 1)), both(held, le("on_table", n - 1))
        yield i, Edge(label(i), lifted, {**take, "on_table": plus("on_table", -1)})
        yield i, Edge(TABLE, placed, {**give, at(i): n, "on_table": plus("on_table", 1)})
        for j in range(n):
            if j != i:
                yield i, Edge(label(i), both(picked, eq(at(i), code(i, j))), {**take, clear(j): 1})
                yield i, Edge(label(j), both(held, eq(clear(j), 1)), {**give, at(i): code(i, j), clear(j): 0})


def failing(block: int, edge: Edge, bound: int) -> Edge:
    """The same edge when the move does not come about: nothing changes, but the block costs more from now on."""
    guard = both(edge.guard, le(cost(block), bound - 1))
    return Edge(edge.label, guard, {cost(block): plus(cost(block), 1)})


def model(n: int, bound: int) -> Model:
    """With costs up to a bound; with none, moves never fail."""
    done = list(moves(n))
    fails = [failing(block, edge, bound) for block, edge in done] if bound else []
    labels = [TABLE, *(label(i) for i in range(n))]
    return Model(f"blocksworld-{n}", labels, [*variables(n), *costs(n, bound)], [*(edge for _, edge in done), *fails])


def costs(n: int, bound: int) -> list[Bounded]:
    return [Bounded(cost(i), 0, bound, 0) for i in range(n)] if bound else []


# Conditions -----------------------------------------------------------------------------------------------------------


def start(n: int, bound: int) -> Expression:
    """The hand is empty, blocks are on larger ones or the table, not all of them on the table; nothing cost yet."""
    ordered = [ge(at(i), i + 1) for i in range(n)]
    tops = [_top(j) for j in range(n)]
    apart = [either(ne(at(i), j), ne(at(k), j)) for j in range(n) for i in range(j) for k in range(i)]
    count = eq("on_table", total(clear(i) for i in range(n)))  # a tower has one block on the table and one on top
    free = [eq(variable.name, 0) for variable in costs(n, bound)]
    return both(eq("hand_empty", 1), count, le("on_table", n - 1), *ordered, *tops, *apart, *free)


def _top(block: int) -> Expression:
    """A block is clear iff no smaller one is on it; larger ones never are at the start."""
    if block == 0:
        return eq(clear(block), 1)
    on_it = either(*(eq(at(i), block) for i in range(block)))
    nothing = both(*(ne(at(i), block) for i in range(block)))
    return either(both(eq(clear(block), 1), nothing), both(eq(clear(block), 0), on_it))


def goal(n: int) -> Expression:
    return both(eq(at(0), n), *(eq(at(i), i) for i in range(1, n)))


def unsafe(n: int) -> Expression:
    return ge("on_table", n)


def instance(n: int, bound: int) -> Instance:
    """Costs are refined last; the unsafe condition is a predicate from the first."""
    states, spent = variables(n), costs(n, bound)
    stages = [[unsafe(n)], *together(states), *together(spent)]
    stages = [[*stages[0], *stages[1]], *stages[2:]]
    observed, paid = [v.name for v in states], [v.name for v in spent]
    return Instance(model(n, bound), condition(start(n, bound)), unsafe(n), goal(n), observed, distinct(stages), paid)
