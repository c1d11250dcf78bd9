"""Engines against the table of formulas without a bound, and against the naive checker on random finite systems."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

from tests.brute import TooLarge, ValueUndefined
from tests.engines.test_truth import check_evidence
from tests.explicit_oracle import FiniteOracle
from tests.graph_loops import SMALL, endless_formula, graph_loop
from tests.work import processor
from vernal.engines.check import NO_OPTIONS, asked_of, find_engine
from vernal.evidence.result import HOLDS, UNKNOWN
from vernal.logic.question import Question


def agreement(engine: str, seeds: Iterable[int], options: Mapping[str, object] = NO_OPTIONS, timeout: float = 3) -> int:
    """How many random questions an engine decides; every answer has to be the naive checker's."""
    decided = 0
    for seed in seeds:
        rng = random.Random(seed)
        system = graph_loop(rng, SMALL)
        asked = endless_formula(rng, system)
        result = asked_of(find_engine(engine, options), Question(system, asked), processor(timeout))
        if result.verdict is UNKNOWN:
            continue
        try:
            truth = FiniteOracle(system, asked).holds()
        except (TooLarge, ValueUndefined):
            continue
        decided += 1
        assert (result.verdict is HOLDS) == truth, f"seed {seed}: {asked}"
        check_evidence(system, asked, result)
    return decided
