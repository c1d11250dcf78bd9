"""The commands there are; the module of one is loaded when it is asked for, and for the help all of them are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import NamedTuple

import typer

from vernal.cli.headings import Headed


class CommandEntry(NamedTuple):
    """A command: what it is for in a few words, its module, and the name of its examples there, if it has any."""

    about: str
    module: str
    examples: str | None = "EXAMPLES"


COMMANDS = {
    "check": CommandEntry("Check the properties of a task.", "vernal.cli.check"),
    "sweep": CommandEntry("Check every combination of parameter values.", "vernal.cli.sweep"),
    "map": CommandEntry("Map where a claim holds.", "vernal.cli.map"),
    "replay": CommandEntry("Recompute a trace, or check an invariant again.", "vernal.cli.replay"),
    "faults": CommandEntry("Say which decision along a trace was wrong.", "vernal.cli.faults"),
    "reach": CommandEntry("Bound expressions at every step, over all paths.", "vernal.cli.reach"),
    "simulate": CommandEntry("Run the system many times at random.", "vernal.cli.simulate"),
    "explain": CommandEntry("Say in words what a task says.", "vernal.cli.explain"),
    "compare": CommandEntry("Compare a task with an environment of Gymnasium.", "vernal.cli.compare"),
    "draft": CommandEntry("Write the skeleton of a task for an environment.", "vernal.cli.compare", "DRAFT_EXAMPLES"),
    "convert": CommandEntry("Convert a network, or a flow to a hybrid automaton.", "vernal.cli.convert"),
    "verify": CommandEntry("Answer a network query (VNN-LIB).", "vernal.cli.verify"),
    "supports": CommandEntry("Say which network queries are supported.", "vernal.cli.supports"),
    "work": CommandEntry("Answer sub-problems of a run on another machine.", "vernal.cli.work"),
    "solvers": CommandEntry("List the solver back ends.", "vernal.cli.solvers", None),
    "schema": CommandEntry("Print the JSON Schema of a document.", "vernal.cli.schema", None),
    "example": CommandEntry("List the shipped examples, or write one.", "vernal.cli.example"),
}


def add_commands(app: typer.Typer, names: Iterable[str] = COMMANDS) -> None:
    """Register these commands, and load their modules."""
    for name in names:
        entry = COMMANDS[name]
        module = import_module(entry.module)
        command: Callable[..., None] = getattr(module, name)
        examples = None if entry.examples is None else getattr(module, entry.examples)
        app.command(name, cls=Headed, short_help=entry.about, epilog=examples)(command)


def asked_for(arguments: list[str]) -> Iterable[str]:
    """The command that the first argument names; all of them where it names none."""
    return arguments[:1] if arguments[:1] and arguments[0] in COMMANDS else COMMANDS
