"""What is known of every abstract start, as a JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vernal.evidence.finite_abstraction import FiniteAbstraction
from vernal.evidence.result import Result
from vernal.logic.printing import text


def starts_document(result: Result, abstraction: FiniteAbstraction, paths: Mapping[int, str]) -> dict[str, Any]:
    """Predicates once, then for each start their truth values and its verdict; `paths` names files by state."""
    return {
        "property": result.property,
        "formula": result.formula,
        "verdict": result.verdict.value,
        "predicates": [text(predicate) for predicate in abstraction.predicates],
        "starts": [
            {
                "state": state,
                "values": "".join("01"[value] for value in abstraction.values[state].tolist()),
                "verdict": verdict.value,
                "trace": paths.get(state),
            }
            for state, verdict in enumerate(abstraction.starts)
        ],
    }
