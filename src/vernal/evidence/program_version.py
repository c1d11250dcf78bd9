"""Which Vernal this is; alone in a file, so that saying it loads nothing else."""

from __future__ import annotations

NOT_INSTALLED = "0+not.installed"  # a source tree that is imported from where it lies


def version() -> str:
    """The version of the installed package."""
    from importlib import metadata  # loads readers of mail

    try:
        return metadata.version("vernal")
    except metadata.PackageNotFoundError:
        return NOT_INSTALLED
