"""What to try next as a command line: the one that was given, with the changes of a step and without its files."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

import typer

from vernal.cli.options import Limits
from vernal.cli.planning import Planning

if TYPE_CHECKING:
    from pathlib import Path

    from vernal.evidence.result import Result
    from vernal.report.next_steps import NextStep

QUESTION = ("time", "set", *(entry.name for entry in fields(Planning)), "allow_outside")
LIMITS = ("timeout", "memory", "workers", "seed", "device")
OF_ENGINES = tuple(entry.name for entry in fields(Limits) if entry.name not in (*LIMITS, "journal"))

GivenOptions = Mapping[str, object]  # options by name, as they were given


def given_options(context: typer.Context) -> GivenOptions:
    """What stood in the command line, by name; what was left out is not in it."""

    def is_said(name: str) -> bool:
        source = context.get_parameter_source(name)
        return source is not None and source.name == "COMMANDLINE"

    return {name: value for name, value in context.params.items() if is_said(name)}


def as_command(given: GivenOptions, result: Result, step: NextStep) -> str:
    """A step as the command line that takes it."""
    changes = step.changes
    kept = {name: given[name] for name in (*QUESTION, *LIMITS) if name in given}
    if "engine" not in changes:
        kept.update({name: given[name] for name in OF_ENGINES if name in given})
    kept = {name: value for name, value in kept.items() if changes.get(name, True) is not None}
    asked = _asked(given, result, changes)
    changed: dict[str, object] = {
        name: value for name, value in changes.items() if value is not None and name not in ("spec", "set")
    }
    if isinstance(before := given.get("timeout"), int | float) and "timeout" in changes:
        changed["timeout"] = max(before, float(changes["timeout"] or 0))  # no less than all properties had together
    if "set" in changes:
        changed["set"] = [*_listed(kept.get("set")), changes["set"]]
    return _command("check", given, {**asked, **kept, **changed})


def tube_command(given: GivenOptions, file: Path) -> str:
    """What draws the sets of states of the same model."""
    kept = {name: given[name] for name in ("property", *QUESTION) if name in given and name != "time"}
    return _command("reach", given, {**kept, "plot": file})


def _command(name: str, given: GivenOptions, options: Mapping[str, object]) -> str:
    words = ["vernal", name, str(given["task"])]
    for option, value in options.items():
        for one in _listed(value):
            words += [f"--{option.replace('_', '-')}", *([] if one is True else [_shown(one)])]
    return shlex.join(words)


def _asked(given: GivenOptions, result: Result, changes: Mapping[str, str | None]) -> dict[str, object]:
    """What is asked: the formula of the step, the only question there was, or the one that this is the answer to."""
    one = {name: given[name] for name in ("property", "spec") if name in given}
    if "spec" in changes:
        planning = one.get("property") if result.task is not None and result.task.options else None
        return {**({} if planning is None else {"property": planning}), "spec": changes["spec"]}
    if sum(len(_listed(value)) for value in one.values()) == 1 and "property" in one:
        return one
    return {"spec": result.formula} if result.property is None else {"property": result.property}


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _listed(value: object) -> list[object]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
