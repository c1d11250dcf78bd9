"""The error for a file that is not there, with the command that writes it where it is one of an example."""

from __future__ import annotations

from pathlib import Path

from vernal.errors import FileMissing
from vernal.model.hooks import hook


def missing_file(file: Path, what: str = "file", remark: str = "") -> FileMissing:
    """There is no such file; `what` is its role, and `remark` what else there is to say."""
    command = hook("command_writing")(file)
    return FileMissing(f"there is no {what} {str(file)!r}{f'; `{command}` writes it' if command else remark}")
