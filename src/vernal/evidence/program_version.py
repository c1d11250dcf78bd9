"""Which Vernal this is; alone in a file, so that saying it loads nothing else."""

from __future__ import annotations

from importlib import metadata

NOT_INSTALLED = "0+not.installed"  # a source tree that is imported from where it lies


def version() -> str:
    """The version of the installed package."""
    try:
        return metadata.version("vernal")
    except metadata.PackageNotFoundError:
        return NOT_INSTALLED
