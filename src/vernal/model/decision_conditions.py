"""Under which condition each decision of a step is taken, and in which order decisions can be taken.

A decision in a branch that is not taken does not exist. So each decision comes with the condition under which its value
is asked for, as one more expression of the graph, and decisions are taken in an order in which the earlier ones say
whether the later ones are reached. Where a condition cannot be had in time it is dropped: then a decision is taken
whose value nobody asks for, which leads to the same states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vernal.model import build
from vernal.model.build import FALSE, TRUE
from vernal.model.expr import Argmax, Choose, Expr, If, Switch
from vernal.model.graph import decisions, order
from vernal.model.path_ends import elsewhere

Finitely = Choose | Argmax


@dataclass(frozen=True, slots=True)
class Reached:
    """A decision, and the condition under which it is taken."""

    node: Finitely
    condition: Expr


def plan(roots: Sequence[Expr]) -> list[Reached]:
    """The decisions that the roots need, in an order in which they can be taken."""
    conditions = _conditions(roots)
    waiting = {node: _deciding([conditions[node], *_asked(node)]) - {node} for node in decisions(roots)}
    made: list[Reached] = []
    while waiting:
        ready = [node for node, others in waiting.items() if not others & waiting.keys()]
        if not ready:  # two decisions, each of which may be reached by way of the other
            conditions.update(dict.fromkeys(waiting, TRUE))
            waiting = {node: _deciding(_asked(node)) for node in waiting}
            continue
        for node in ready:
            assert isinstance(node, Choose | Argmax)
            made.append(Reached(node, conditions[node]))
            del waiting[node]
    return made


def _deciding(roots: Sequence[Expr]) -> set[Expr]:
    return set(decisions(roots))


def _asked(node: Expr) -> tuple[Expr, ...]:
    """What has to be known to say which options there are."""
    return node.guards if isinstance(node, Choose) else node.args


def _conditions(roots: Sequence[Expr]) -> dict[Expr, Expr]:
    """For every node above a decision the condition under which its value is asked for."""
    nodes, above = above_decisions(roots)
    asked: dict[Expr, Expr] = dict.fromkeys(above, FALSE)
    asked.update({root: TRUE for root in roots if root in above})
    for node in reversed(nodes):
        if node not in above:
            continue
        for arg, condition in zip(node.args, by_argument(node), strict=True):
            if arg in above and asked[arg] is not TRUE:
                asked[arg] = build.disj(asked[arg], build.conj(asked[node], condition))
    return asked


def above_decisions(roots: Sequence[Expr]) -> tuple[list[Expr], set[Expr]]:
    """All nodes, arguments first, and those that are decisions or depend on one."""
    nodes = order(roots)
    above: set[Expr] = set()
    for node in nodes:
        if isinstance(node, Choose | Argmax) or any(arg in above for arg in node.args):
            above.add(node)
    return nodes, above


def by_argument(node: Expr) -> list[Expr]:
    """The condition under which each argument of a node is asked for, once the node is."""
    if isinstance(node, If | Switch):
        return [TRUE, *(build.negate(other) for other in elsewhere(node))]
    return [TRUE] * len(node.args)
