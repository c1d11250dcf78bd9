"""Tasks, whatever file they are in: TOML task files, JANI planning models and hybrid automata.

task = load("vcas.toml", v0=-22.5)
task = load("blocks.jani", item_cost_bound=8)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from vernal.errors import InputError
from vernal.formats.task.blueprint import Override
from vernal.logic.task import Task
from vernal.model.initial import Ends
from vernal.model.tick import Tick, idle

JANI, AUTOMATA = ".jani", (".xml", ".json")


class Tasks(Protocol):
    """A file, or a function, from which tasks are made, one for each choice of parameters."""

    def task(self, overrides: Mapping[str, str], /) -> Task: ...


def is_planning_model(path: str | Path) -> bool:
    """Whether a file is a JANI model, by its name."""
    return Path(path).suffix.lower() == JANI


def is_automaton(path: str | Path) -> bool:
    """Whether a file holds a hybrid automaton, by its name."""
    return Path(path).suffix.lower() in AUTOMATA


def open_tasks(
    path: str | Path, options: Mapping[str, str] | None = None, tick: Tick = idle, *, allow_outside: bool = False
) -> Tasks:
    """A file of any kind, to make tasks from; `options` are those of a planning model."""
    if is_planning_model(path):
        from vernal.formats.jani.planning_task import open_jani

        return open_jani(path, options or {}, tick)
    if is_automaton(path):
        from vernal.formats.automaton_task import open_automaton

        return open_automaton(path, tick)
    from vernal.formats.task.blueprint import open_task

    return open_task(path, tick, allow_outside=allow_outside)


def free_parameters(tasks: Tasks, ends: Mapping[str, Ends]) -> Tasks:
    """Parameters of a task file as state variables that start anywhere between two ends and stay there.

    Names that are none of its parameters are left aside. Where one is used in a place for constants (a range, a size,
    the bound of a formula, a start), its values can only be taken one by one.
    """
    from vernal.formats.task.blueprint import Blueprint

    own = {name: pair for name, pair in ends.items() if isinstance(tasks, Blueprint) and name in tasks.table.parameters}
    return FreedTasks(tasks.freeing(own), tuple(own)) if own and isinstance(tasks, Blueprint) else tasks


@dataclass(frozen=True)
class FreedTasks:
    """Tasks with some parameters freed; what cannot be read so is refused with the way out."""

    tasks: Tasks
    names: tuple[str, ...]

    def task(self, overrides: Mapping[str, str], /) -> Task:
        """The task for these values of the other parameters."""
        try:
            return self.tasks.task(overrides)
        except InputError as error:
            names = ", ".join(self.names)
            raise InputError(
                f"an interval of {names} is a quantity that no step changes, and the task uses it where only a "
                f"constant may stand: {error}. Take its values one by one, --over {self.names[0]}=lo..hi..step; where "
                "it says where a variable starts, map over that variable"
            ) from None


def freed(tasks: Tasks) -> tuple[str, ...]:
    """The parameters that were made variables."""
    return tasks.names if isinstance(tasks, FreedTasks) else ()


def load(
    path: str | Path,
    overrides: Mapping[str, Override] | None = None,
    /,
    *,
    allow_outside: bool | Override = False,  # as a type, so that mappings of parameters may be given as keywords
    **parameters: Override,
) -> Task:
    """The task in a file; `overrides` and keywords replace parameters, as numbers or as constant expressions.

    Of a JANI model they set constants; `vn.load_jani` also takes a policy and a property that the file does not name.
    A world that is a file has to lie below the task's folder unless `allow_outside` is given.
    """
    given = {**(overrides or {}), **parameters}
    if is_planning_model(path):
        from vernal.formats.jani.planning_task import load_jani

        return load_jani(path, constants=given)
    if is_automaton(path):
        from vernal.formats.automaton_task import open_automaton

        return open_automaton(path).task(given)
    from vernal.formats.task.blueprint import load as load_task

    return load_task(path, given, allow_outside=allow_outside)
