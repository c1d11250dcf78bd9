"""The sets of states that a proof rests on, in exact numbers: what a certificate is made of.

The sets contain every initial state, and every step from one of them leads into others, or they are sets from which all
paths are *followed* as far as the claim asks. That they show the claim is for `vernal-check` to find out again; here is
only what it takes (docs/certificates.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from vernal.evidence.invariant import Invariant, StateSet
from vernal.model.portable import STAYS, Portable

if TYPE_CHECKING:
    from vernal.logic.task import Task
    from vernal.model.initial import Box
    from vernal.model.system import Model

NO_FILE = "vernal-check reads the task from its file, and this one was made in Python"
WORLD = "world:"
OTHER_FILE = "vernal-check does not read {} yet"
SetEnds = tuple[tuple[Fraction, Fraction], ...]  # the ends of every state variable, in the order of the model


@dataclass(frozen=True)
class ProofCover(Portable):
    """Sets of states of a model, each as the ends of its variables; truth values count as 0 and 1, labels by index."""

    sets: tuple[SetEnds, ...]
    is_followed: bool = False  # whether paths are followed from the sets, and not from set to set
    model: Model | None = field(default=None, repr=False, compare=False, metadata=STAYS)


def of_states(model: Model, states: Iterable[Sequence[Fraction]]) -> ProofCover:
    """A cover by single states."""
    return ProofCover(tuple(tuple((value, value) for value in state) for state in states), model=model)


def of_boxes(model: Model, boxes: Iterable[Box]) -> ProofCover | None:
    """Boxes from which all paths are followed; None where one has several discrete values."""
    sets = tuple(tuple(box.ends[variable.var][0] for variable in model.state) for box in boxes)
    discrete = [place for place, variable in enumerate(model.state) if variable.sort.is_discrete]
    mixed = any(cells[place][0] != cells[place][1] for cells in sets for place in discrete)
    return None if mixed else ProofCover(sets, is_followed=True, model=model)


def of_invariant(model: Model, invariant: Invariant) -> ProofCover | None:
    """The sets of an invariant, where they are boxes of all variables."""
    if invariant.prefix or set(invariant.components) != {variable.name for variable in model.state}:
        return None
    order = [invariant.components.index(variable.name) for variable in model.state]
    found = [_cells(one, order) for one in invariant.sets]
    return None if None in found else ProofCover(tuple(cells for cells in found if cells is not None), model=model)


def _cells(one: StateSet, order: Sequence[int]) -> SetEnds | None:
    """A set as ends, where each of its rows bounds one component."""
    ends: dict[int, tuple[Fraction, Fraction]] = {}
    for row, low, high in one.limits():
        places = [place for place, a in enumerate(row) if a]
        if len(places) != 1 or low is None or high is None:
            return None
        a = row[places[0]]
        ends[places[0]] = (low / a, high / a)
    return tuple(ends[place] for place in order) if len(ends) == len(order) else None


def unread(task: Task) -> str | None:
    """What `vernal-check` does not read of a task; None where it reads all of it."""
    if task.source is None:
        return NO_FILE
    if not task.source.file.endswith(".toml"):
        return OTHER_FILE.format(f"{Path(task.source.file).suffix} files")
    for network in task.networks:
        if network.file.startswith(WORLD):
            if network.file.endswith(".toml"):
                return OTHER_FILE.format("worlds that are files of their own")
        elif not network.file.endswith(".onnx"):
            return OTHER_FILE.format(network.file)
    return None
