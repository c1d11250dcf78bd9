"""Engines that need an extra, and whether it is here."""

from __future__ import annotations

from importlib.util import find_spec

NEEDS = {"smt": "z3"}


def is_here(engine: str) -> bool:
    """Whether the package an engine needs is installed; its tests are skipped, and said to be, where it is not."""
    return engine not in NEEDS or find_spec(NEEDS[engine]) is not None
