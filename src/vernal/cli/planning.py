"""Options of planning models (JANI): which policy, from where, and what is unsafe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from vernal.cli.completion import property_names
from vernal.cli.options import expanded, option, overrides
from vernal.errors import InputError
from vernal.model.tick import Tick, idle

if TYPE_CHECKING:
    from vernal.formats.loading import Tasks
    from vernal.logic.task import Task

PLANNING = "Planning models (JANI)"


ShownProperties = Annotated[
    list[str] | None,
    option(
        "--property -p NAME",
        "Only this property of the task; may be repeated. Of a planning model: the PA property, FILE#NUMBER, "
        "that says where it starts.",
        autocompletion=property_names,
    ),
]


@dataclass(frozen=True, slots=True)
class Planning:
    """What is said about a planning model besides its file."""

    policy: Annotated[
        str | None,
        option(
            "--policy FILE",
            "The policy, a jani2nnet or TOML file; without it, the one that the property names.",
            rich_help_panel=PLANNING,
        ),
    ] = None
    constant: Annotated[
        list[str] | None,
        option(
            "--constant NAME=VALUE", "Give a constant of the model a value; may be repeated.", rich_help_panel=PLANNING
        ),
    ] = None
    start: Annotated[
        str | None,
        option(
            "--start EXPR",
            "From which states; a name such as hand-empty is written 'hand-empty'.",
            rich_help_panel=PLANNING,
        ),
    ] = None
    unsafe: Annotated[
        str | None, option("--unsafe EXPR", "Which states are to be avoided.", rich_help_panel=PLANNING)
    ] = None
    filter: Annotated[
        str | None,
        option(
            "--filter NAME",
            "`applicable`: the policy chooses the best of the applicable actions.",
            rich_help_panel=PLANNING,
        ),
    ] = None

    def open(
        self, file: Path, properties: list[str] | None = None, tick: Tick = idle, *, allow_outside: bool = False
    ) -> Tasks:
        """The file, whichever kind it is; what belongs to planning models alone is refused for a task file."""
        from vernal.formats.loading import is_planning_model, open_tasks

        if is_planning_model(file):
            return open_tasks(file, self._options(properties), tick)
        self._refuse(properties)
        return open_tasks(file, None, tick, allow_outside=allow_outside)

    def constants(self, settings: list[str] | None) -> dict[str, str]:
        """Parameters of a task, or constants of a model."""
        return overrides(settings) | overrides(self.constant, "--constant", "K=8")

    def _options(self, properties: list[str] | None) -> dict[str, str]:
        given = {name: getattr(self, name) for name in ("policy", "start", "unsafe", "filter")}
        asked = references(properties)
        if len(asked) > 1:
            raise InputError(f"one PA property at a time, not {len(asked)}: {', '.join(asked)}")
        given["property"] = asked[0] if asked else None
        return {name: text for name, text in given.items() if text is not None}

    def _refuse(self, properties: list[str] | None) -> None:
        named = [f"--{entry.name}" for entry in fields(self) if getattr(self, entry.name) is not None]
        named += [f"--property {name}" for name in references(properties)]
        if named:
            raise InputError(f"{', '.join(named)}: only for planning models, files whose name ends in .jani")


def references(properties: list[str] | None) -> list[str]:
    """Those properties that are PA properties of a file: `pa.jani#0`, `#0` or `pa.jani`."""
    return [name for name in properties or () if is_reference(name)]


def is_reference(name: str) -> bool:
    return "#" in name or name.endswith(".jani")


def asked_names(task: Task, properties: list[str] | None) -> list[str] | None:
    """The names of the properties of a task that are asked for; a PA property is the first of its task."""
    if properties is None:
        return None
    return [next(iter(task.properties)) if is_reference(name) else name for name in properties]


def narrowed(task: Task, properties: list[str] | None) -> Task:
    """The task with those of its properties alone that are named; a PA property says only where a model starts."""
    from vernal.engines.check import named_formula

    names = [name for name in properties or () if not is_reference(name)]
    return replace(task, properties={name: named_formula(task, name) for name in names}) if names else task


def planned(command: Callable[..., None]) -> Callable[..., None]:
    """A command with a parameter `planning`, as the command line has it: every field an option of its own."""
    return expanded(command, "planning", Planning)
