"""Engines that need an extra, and whether it is here."""

from __future__ import annotations

from importlib.util import find_spec

from tests.systems import make
from vernal.engines.registry import EngineEntry, engines_for
from vernal.logic.formula import Atom
from vernal.logic.question import Question
from vernal.model import build

NEEDS = {"smt": "z3", "bmc": "z3"}


def is_here(engine: str) -> bool:
    """Whether the package an engine needs is installed; its tests are skipped, and said to be, where it is not."""
    return engine not in NEEDS or find_spec(NEEDS[engine]) is not None


def engines_of_steps() -> list[EngineEntry]:
    """The engines that are asked about systems which move in steps."""
    x = build.var("x")
    return engines_for(Question(make({"x": 0}, {"x": x}), Atom(build.compare("<=", x, 0))))
