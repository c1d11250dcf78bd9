"""Walks over expressions. No walk recurses, so the depth of a graph never matters."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from vernal.model.expr import Argmax, Between, Choose, Draw, Expr, If, Switch, Var
from vernal.model.tick import Tick, idle


def order(roots: Iterable[Expr], leaves: Container[Expr] = ()) -> list[Expr]:
    """Every node the roots need, arguments before users, each once; what is below `leaves` is not looked at."""
    seen: set[Expr] = set()
    result: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, ready = stack.pop()
        if ready:
            result.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            if node not in leaves:
                stack.extend((arg, False) for arg in reversed(node.args) if arg not in seen)
    return result


def with_args(node: Expr, args: tuple[Expr, ...]) -> Expr:
    """The same operator over other arguments of the same sorts and shapes."""
    return node if args == node.args else replace(node, args=args)


def rewrite(roots: Sequence[Expr], change: Callable[[Expr], Expr | None], tick: Tick = idle) -> list[Expr]:
    """The roots with every node replaced for which `change` has an answer; it sees nodes with rewritten arguments.

    `tick` is called at every node and may stop the work by raising.
    """
    new: dict[Expr, Expr] = {}
    for node in order(roots):
        tick()
        rebuilt = with_args(node, tuple(new[arg] for arg in node.args))
        changed = change(rebuilt)
        new[node] = rebuilt if changed is None else changed
    return [new[root] for root in roots]


def substitute(roots: Sequence[Expr], values: Mapping[Expr, Expr]) -> list[Expr]:
    """The roots with leaves (or whole nodes) replaced."""
    return rewrite(roots, values.get)


def variables(roots: Iterable[Expr]) -> list[Var]:
    """The variables the roots mention, in order of first use."""
    return [node for node in order(roots) if isinstance(node, Var)]


def draws(roots: Iterable[Expr]) -> list[Draw]:
    """The draws the roots take, in order."""
    return [node for node in order(roots) if isinstance(node, Choose | Between)]


def decisions(roots: Iterable[Expr]) -> list[Choose | Between | Argmax]:
    """Draws and argmax nodes: everything that is not determined by the inputs."""
    return [node for node in order(roots) if isinstance(node, Choose | Between | Argmax)]


NO_VALUES: Mapping[Expr, Expr] = {}


def fresh(roots: Sequence[Expr], step: int, values: Mapping[Expr, Expr] = NO_VALUES, tick: Tick = idle) -> list[Expr]:
    """The roots with every draw and argmax as a new occurrence, the one taken at this step, and variables replaced."""

    def renew(node: Expr) -> Expr | None:
        if isinstance(node, Choose | Between | Argmax):
            return replace(node, occurrence=replace(node.occurrence, step=step))
        return values.get(node)

    return rewrite(roots, renew, tick)


def exclusive(roots: Sequence[Expr]) -> Callable[[Expr, Expr], bool]:
    """Whether two nodes can never both be evaluated, since they lie in different branches of one `if` or `match`."""
    paths = cache(lambda: _branch_sets(roots))  # found when first asked for: most models never ask

    def never_both(a: Expr, b: Expr) -> bool:
        return all(any(p.get(n, i) != i for n, i in q.items()) for p in paths()[a] for q in paths()[b])

    return never_both


MAX_PATHS = 64  # a node reached through more branches than this counts as always evaluated


def _branch_sets(roots: Sequence[Expr]) -> dict[Expr, list[dict[Expr, int]]]:
    """For each node the branch decisions under which it is reached (one mapping per way, few ways)."""
    paths: dict[Expr, list[dict[Expr, int]]] = {node: [] for node in order(roots)}
    for root in roots:
        paths[root] = [{}]
    for node in reversed(order(roots)):
        if len(paths[node]) > MAX_PATHS:
            paths[node] = [{}]
        branching = isinstance(node, If | Switch)
        for position, arg in enumerate(node.args):
            for path in paths[node]:
                extended = {**path, node: position} if branching and position > 0 else path
                if len(paths[arg]) <= MAX_PATHS and extended not in paths[arg]:
                    paths[arg].append(extended)
    return paths


def users(nodes: Sequence[Expr]) -> Iterator[tuple[Expr, Expr]]:
    """Every edge (argument, user) of a topological order."""
    for node in nodes:
        for arg in node.args:
            yield arg, node
