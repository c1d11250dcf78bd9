"""The sets of states that a proof rests on, in exact numbers: what a certificate is made of.

The sets contain every initial state, and every step from one of them leads into others, or they are sets from which all
paths are *followed* as far as the claim asks. That they show the claim is for `vernal-check` to find out again; here is
only what it takes (docs/certificates.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from vernal.evidence.invariant import Invariant, StateSet
from vernal.model.portable import STAYS, Portable

if TYPE_CHECKING:
    from vernal.interpret.ends import PartialEnds
    from vernal.logic.task import Task
    from vernal.model.expr import Component
    from vernal.model.initial import Box
    from vernal.model.system import Model

NO_FILE = "vernal-check reads the task from its file, and this one was made in Python"
WORLD = "world:"
OTHER_FILE = "vernal-check does not read {} yet"
RowBound = tuple[tuple[Fraction, ...], Fraction]  # coefficients of the components, and what their sum is at most
READ_BESIDE = {
    ".toml": (".onnx", ".nnet"),
    ".jani": (".onnx", ".nnet", ".jani2nnet", ".jani"),
}  # by the task's own suffix
ANY: PartialEnds = (None, None)


@dataclass(frozen=True)
class ProofSet(Portable):
    """A set of states: the ends of each component of state and memory, rows, and a condition; and what it is for.

    Truth values count as 0 and 1, labels by index.
    """

    ends: tuple[PartialEnds, ...]
    rows: tuple[RowBound, ...] = ()
    where: str | None = None
    is_followed: bool = False  # whether paths are followed from it, and not from set to set
    induction: int = 0  # so many positions that keep the claim are followed by one that does, from here
    after: int = 0  # from which position on an induction shows it
    level: int | None = None  # steps lead from each level into the next, and from the last one into itself


@dataclass(frozen=True)
class ProofCover(Portable):
    """Sets of states of a model."""

    sets: tuple[ProofSet, ...]
    model: Model | None = field(default=None, repr=False, compare=False, metadata=STAYS)


def components(model: Model) -> dict[str, Component]:
    """What a state is made of, in the order of certificates: variables, then what each agent remembers."""
    from vernal.evidence.invariant_file import component_names  # late: it loads numpy

    return component_names(model)


def of_states(model: Model, states: Iterable[tuple[tuple[Fraction, Fraction], ...]]) -> ProofCover:
    """A cover by single states, each component of which is given as both ends."""
    return ProofCover(tuple(map(ProofSet, states)), model)


def of_boxes(model: Model, boxes: Iterable[Box]) -> ProofCover | None:
    """Boxes from which all paths are followed; None where one has several discrete values."""
    places = list(components(model).values())
    sets = [tuple(box.ends[var][i] for var, i in places) for box in boxes]
    discrete = [number for number, (var, _) in enumerate(places) if var.sort.is_discrete]
    if any(cells[number][0] != cells[number][1] for cells in sets for number in discrete):
        return None
    return ProofCover(tuple(ProofSet(cells, is_followed=True) for cells in sets), model)


def of_invariant(model: Model, invariant: Invariant) -> ProofCover | None:
    """The sets of an invariant; None where one says nothing of an integer."""
    order, known = list(invariant.components), components(model)
    levels = [*invariant.prefix, invariant.sets]
    made = [
        replace(_of_set(one, order, known), level=level if invariant.prefix else None)
        for level, sets in enumerate(levels)
        for one in sets
    ]
    places = [number for number, (var, _) in enumerate(known.values()) if var.sort.is_discrete]
    if any(
        None in one.ends[number] and not _is_finite(list(known.values())[number]) for one in made for number in places
    ):
        return None
    return ProofCover(tuple(made), model)


def of_condition(model: Model, kept: str) -> ProofCover | None:
    """The states that keep a condition; None where integers may be any."""
    everything = _everything(model)
    return None if everything is None else ProofCover((replace(everything, where=kept),), model)


def of_induction(model: Model, k: int, after: int, first: ProofCover | None) -> ProofCover | None:
    """All states, from which k positions that keep a claim are followed by one that does; and the initial sets."""
    everything = _everything(model)
    if everything is None or first is None:
        return None
    return ProofCover((replace(everything, is_followed=True, induction=k, after=after), *first.sets), model)


def _everything(model: Model) -> ProofSet | None:
    known = components(model).values()
    infinite = any(component[0].sort.is_discrete and not _is_finite(component) for component in known)
    return None if infinite else ProofSet(tuple(ANY for _ in known))


def _is_finite(component: Component) -> bool:
    return component[0].sort.values is not None


def _of_set(one: StateSet, order: Sequence[str], known: Mapping[str, Component]) -> ProofSet:
    """A set of an invariant: its ends where a row bounds one component, and its other rows."""
    ends: dict[str, PartialEnds] = {}
    rows: list[RowBound] = []
    for row, low, high in one.limits():
        named = [order[place] for place, a in enumerate(row) if a]
        if len(named) == 1:
            a = next(a for a in row if a)
            ends[named[0]] = (None if low is None else low / a, None if high is None else high / a)
            continue
        spread = dict(zip(order, row, strict=True))
        whole = tuple(spread.get(name, Fraction(0)) for name in known)
        rows += [] if high is None else [(whole, high)]
        rows += [] if low is None else [(tuple(-a for a in whole), -low)]
    return ProofSet(tuple(ends.get(name, ANY) for name in known), tuple(rows))


def unread(task: Task) -> str | None:
    """What `vernal-check` does not read of a task; None where it reads all of it."""
    if task.source is None:
        return NO_FILE
    read = READ_BESIDE.get(Path(task.source.file).suffix)
    if read is None:
        return OTHER_FILE.format(f"{Path(task.source.file).suffix} files")
    for network in task.networks:
        if not network.file.startswith(WORLD) and not network.file.endswith(read):
            return OTHER_FILE.format(network.file)
    return None
