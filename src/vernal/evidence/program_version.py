"""Which Vernal this is; alone in a file, so that saying it loads nothing else."""

from __future__ import annotations

from importlib import metadata


def version() -> str:
    """The version of the installed package."""
    return metadata.version("vernal")
