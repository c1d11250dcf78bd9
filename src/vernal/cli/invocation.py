"""The command line as it was given, for what is written about a run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextvars import ContextVar

given: ContextVar[Sequence[str]] = ContextVar("given")  # the arguments of the running command


def command_line() -> str | None:
    """`vernal check vcas.toml --set v0=-22.5`, as a shell reads it; None outside of a command."""
    arguments = given.get(None)
    return None if arguments is None else shlex.join(["vernal", *arguments])
