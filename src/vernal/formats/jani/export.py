"""A finite abstraction as a JANI model: one variable, the number of the abstract state, one edge per transition.

The model is plain JANI, so that other tools can read it. Its initial states are the abstract starts; its only
property says that no abstract state that may be unsafe is reachable. Where that holds, it holds of the system; where it
does not, the path may be one of the abstraction alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vernal.errors import InputError
from vernal.evidence.finite_abstraction import FiniteAbstraction, LabelledTransition
from vernal.logic.printing import text
from vernal.run.output import write_text

STATE, PLACE, AUTOMATON = "state", "here", "abstraction"
INDENTED = 2000  # transitions of a model that is written to be read by people, too


def write_abstraction(abstraction: FiniteAbstraction, file: str | Path, name: str = AUTOMATON) -> None:
    """Write an abstraction as a JANI model of this name, which `vernal check FILE --property "#0"` reads."""
    indent = 1 if len(abstraction.transitions) <= INDENTED else None
    write_text(file, json.dumps(abstraction_model(abstraction, name), indent=indent, ensure_ascii=False) + "\n")


def abstraction_model(abstraction: FiniteAbstraction, name: str = AUTOMATON) -> dict[str, Any]:
    """The model as a JSON object."""
    if not len(abstraction):
        raise InputError("there is no abstract state to export: there is no initial state")
    labels = sorted({move.label for move in abstraction.transitions if move.label is not None})
    bounds = {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": len(abstraction) - 1}
    return {
        "jani-version": 1,
        "name": name,
        "type": "lts",
        "metadata": {"description": _description(abstraction)},
        "actions": [{"name": label} for label in labels],
        "variables": [{"name": STATE, "type": bounds}],
        "restrict-initial": {"exp": _compared("<", len(abstraction.starts))},
        "properties": [{"name": "safe", "expression": _never(abstraction.unsafe)}],
        "automata": [
            {
                "name": AUTOMATON,
                "locations": [{"name": PLACE}],
                "initial-locations": [PLACE],
                "edges": [_edge(move) for move in abstraction.transitions],
            }
        ],
        "system": {
            "elements": [{"automaton": AUTOMATON}],
            "syncs": [{"synchronise": [label], "result": label} for label in labels],
        },
    }


def _description(abstraction: FiniteAbstraction) -> str:
    """What the predicates are, and what they say of each state."""
    predicates = [f"p{number}: {text(predicate)}" for number, predicate in enumerate(abstraction.predicates)]
    states = [f"{number}: {''.join('01'[v] for v in row)}" for number, row in enumerate(abstraction.values.tolist())]
    return "\n".join(["A predicate abstraction.", *predicates, "Truth values p0 p1 ... of each state:", *states])


def _edge(move: LabelledTransition) -> dict[str, Any]:
    action = {} if move.label is None else {"action": move.label}
    assigned = {"ref": STATE, "value": move.target}
    return {
        "location": PLACE,
        **action,
        "guard": {"exp": _compared("=", move.source)},
        "destinations": [{"location": PLACE, "assignments": [assigned]}],
    }


def _never(states: Sequence[int]) -> dict[str, Any]:
    """That none of some states is reachable, in the words of JANI."""
    kept = _joined([_outside(*ends) for ends in _intervals(states)])
    always = {"op": "∀", "exp": {"op": "G", "exp": kept}}
    return {"op": "filter", "fun": "∀", "values": always, "states": {"op": "initial"}}


def _compared(op: str, number: int) -> dict[str, Any]:
    return {"op": op, "left": STATE, "right": number}


def _outside(first: int, last: int) -> dict[str, Any]:
    return {"op": "∨", "left": _compared("<", first), "right": _compared(">", last)}


def _intervals(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Numbers in order as intervals."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        first = found.pop()[0] if found and found[-1][1] == number - 1 else number
        found.append((first, number))
    return found


def _joined(parts: Sequence[dict[str, Any]]) -> dict[str, Any] | bool:
    """A conjunction, balanced so that it is not nested deep."""
    if len(parts) < 2:
        return parts[0] if parts else True
    middle = len(parts) // 2
    return {"op": "∧", "left": _joined(parts[:middle]), "right": _joined(parts[middle:])}
