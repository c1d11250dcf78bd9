"""Names of a task: who owns each, which words are taken, and in which order definitions can be understood."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cache
from graphlib import CycleError, TopologicalSorter
from typing import Any

from vernal.errors import InputError, ParseError, TypeClash
from vernal.formats.task.places import Path, Places
from vernal.formats.task.schema import TaskTable
from vernal.logic.complaints import OPERATORS
from vernal.logic.parser import RESERVED
from vernal.logic.syntax import FunctionCall, Identifier, Source, Syntax

SHOWN = 4  # definitions of a circle that a message shows from its beginning, and from its end
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
TAKEN = {
    "where": "it introduces the constraints of [init]",
    "out": "it is the network's output in `act`",
}


class Owner(Enum):
    """What a name of a task belongs to."""

    PARAMETER = "a parameter"
    CONSTANT = "a constant"
    NETWORK = "a network"
    STATE = "a state variable"
    AGENT = "an agent"
    LET = "a let"
    MEMORY = "a memory"


FIXED = frozenset({Owner.PARAMETER, Owner.CONSTANT, Owner.NETWORK})


@dataclass(slots=True)
class NameOwners:
    """The owner of every name of a file, with what is wrong with the names themselves."""

    places: Places
    owners: dict[str, Owner] = field(default_factory=dict)
    problems: list[InputError] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    _paths: dict[str, Path] = field(default_factory=dict)

    def declare(self, name: str, owner: Owner, path: Path) -> None:
        """Give a name to its owner; a word that is no name, is reserved or is given away already is a problem."""
        complaint = _unfit(name) or self._duplicate(name)
        if complaint:
            self.broken.add(name)
            self.problems.append(
                ParseError(
                    f"{complaint}; rename this {owner.value.split(' ', 1)[1]}{_instead(name)}",
                    place=self.places.key_place(path),
                )
            )
        if name not in self.owners:
            self.owners[name], self._paths[name] = owner, path

    def _duplicate(self, name: str) -> str | None:
        if name not in self.owners:
            return None
        line, _ = self.places.key(self._paths[name])
        return f"{name!r} is already the name of {self.owners[name].value} (line {line})"


def label_problem(name: str, owners: Mapping[str, Owner]) -> str | None:
    """Why a word cannot be a label: operator words may be one, but not what already names something else."""
    if name in owners:
        return f"label {name!r} is also the name of {owners[name].value}; rename one of them"
    unfit = None if name in OPERATORS else _unfit(name)
    return f"{unfit}; rename this label" if unfit else None


def _instead(name: str) -> str:
    """Another name, where the operators of formulas have taken one that people like."""
    return f", for example to {name}_" if name in OPERATORS else ""


def _unfit(name: str) -> str | None:
    if not WORD.fullmatch(name):
        return f"{name!r} is not a name: use letters, digits and _, and do not begin with a digit"
    if name in RESERVED:
        return f"{name!r} is a reserved word" + (", an operator of formulas" if name in OPERATORS else "")
    return f"{name!r} is a reserved word: {TAKEN[name]}" if name in TAKEN else None


def declare_all(table: TaskTable, lost: set[Path], places: Places) -> NameOwners:
    """Every name the tables of a file introduce, in the order in which a reader would expect them to win."""
    names = NameOwners(places)
    sections: list[tuple[Path, Mapping[str, Any], Owner]] = [
        (("parameters",), table.parameters, Owner.PARAMETER),
        (("constants",), table.constants, Owner.CONSTANT),
        (("networks",), table.networks, Owner.NETWORK),
        (("state",), table.state, Owner.STATE),
        (("agents",), table.agents, Owner.AGENT),
        (("environment", "let"), table.environment.let, Owner.LET),
        (("flow", "let"), table.flow_lets, Owner.LET),
    ]
    for prefix, entries, owner in sections:
        left_out = sorted(str(path[-1]) for path in lost if path[:-1] == prefix)
        for name in [*entries, *left_out]:
            names.declare(name, owner, (*prefix, name))
    for agent, entry in table.agents.items():
        if entry.remember is not None:
            names.declare(entry.remember, Owner.MEMORY, ("agents", agent, "remember"))
    return names


def mentioned(syntax: Syntax) -> Iterator[Identifier | FunctionCall]:
    """The names and the calls a text makes, wherever they are nested."""
    waiting: list[object] = [syntax]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting.extend(reversed(node))
        elif isinstance(node, Syntax):
            if isinstance(node, Identifier | FunctionCall):
                yield node
            kind: type = type(node)
            waiting.extend([getattr(node, name) for name in _parts(kind)])


@cache
def _parts(kind: type) -> tuple[str, ...]:
    """The fields of a node that may hold others, the last first."""
    return tuple(entry.name for entry in reversed(fields(kind)) if entry.compare)


def words(syntax: Syntax) -> set[str]:
    """The same, as plain words."""
    return {node.text if isinstance(node, Identifier) else node.function for node in mentioned(syntax)}


def in_order(needs: Mapping[str, set[str]]) -> tuple[list[str], list[list[str]]]:
    """Definitions such that each needs only earlier ones, and circles that prevent it.

    What is on a circle, or needs something that is, is left out of the order. A circle begins with what was written
    first; of circles that share a definition, one is found.
    """
    sorter = TopologicalSorter({name: needed & needs.keys() for name, needed in needs.items()})
    order: list[str] = []
    with suppress(CycleError):
        sorter.prepare()
    while ready := sorter.get_ready():
        order.extend(ready)
        sorter.done(*ready)
    return order, _circles(needs, needs.keys() - set(order))


def _circles(needs: Mapping[str, set[str]], waiting: Set[str]) -> list[list[str]]:
    """Walk from each definition to one it waits for, until the walk meets itself or an earlier one."""
    number = {name: place for place, name in enumerate(needs)}
    behind = {name: min(needs[name] & waiting, key=number.__getitem__) for name in needs if name in waiting}
    walks: dict[str, str] = {}  # each definition walked through, and where its walk began
    circles: list[list[str]] = []
    for first in behind:
        name = first
        while name not in walks:
            walks[name] = first
            name = behind[name]
        if walks[name] == first:
            circles.append(_turned(_around(name, behind), number))
    return circles


def _around(first: str, behind: Mapping[str, str]) -> list[str]:
    circle = [first]
    while (name := behind[circle[-1]]) != first:
        circle.append(name)
    return circle


def _turned(circle: list[str], number: Mapping[str, int]) -> list[str]:
    """The same circle from what was written first."""
    at = circle.index(min(circle, key=number.__getitem__))
    return [*circle[at:], *circle[:at]]


def circle_error(circle: list[str], place_of: Path, places: Places) -> InputError:
    """`a -> b -> a`, at the definition of a."""
    hidden = f"... ({len(circle) - 2 * SHOWN:,} more)"
    shown = circle if len(circle) <= 2 * SHOWN + 1 else [*circle[:SHOWN], hidden, *circle[-SHOWN:]]
    chain = " -> ".join([*shown, circle[0]])
    return TypeClash(f"these definitions depend on each other in a circle: {chain}", place=places.key_place(place_of))


@dataclass(frozen=True, slots=True)
class Use:
    """What a text is for, and whose names it may mention."""

    what: str
    allowed: frozenset[Owner]

    def __str__(self) -> str:
        listed = sorted(f"{owner.value.split(' ', 1)[1]}s" for owner in self.allowed - {Owner.NETWORK})
        most = ", ".join(listed[:-1])
        return f"{self.what} may use {most + ' and ' if most else ''}{listed[-1]} only"


def refuse(syntax: Syntax, source: Source, owners: Mapping[str, Owner], use: Use) -> None:
    """The error for a name that may not stand here: of the wrong kind, or unknown."""
    for node in mentioned(syntax):
        if not isinstance(node, Identifier) or node.text not in owners:
            continue
        owner = owners[node.text]
        if owner not in use.allowed:
            raise TypeClash(f"{node.text!r} is {owner.value}; {use}", place=source.place(*node.span))
