"""The six models of the neural abstractions paper, as the benchmark's task files have them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from vernal.formats.task.blueprint import load
from vernal.model.flow import Flow

FOLDER = Path(__file__).parents[1] / "benchmarks" / "neural-abstractions"
NAMES = ("jet", "steam", "exponential", "watertank", "nl1", "nl2")


@cache
def model(name: str) -> Flow:
    """One of the six by its name, with the initial states of its task."""
    return load(FOLDER / f"{name}.toml").flow
