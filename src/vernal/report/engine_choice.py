"""Which engines may answer a question, and with what: whether one takes it, it says itself."""

from __future__ import annotations

from collections.abc import Mapping

from vernal.engines.refusals import KIND_OF_MODEL
from vernal.engines.registry import engines, refusals
from vernal.evidence.knowledge import UNBOUNDED
from vernal.logic.question import Question

WORTH_SAYING = ("falsify", "bounds", "paths", "milp", "smt")  # that they do not take a claim
SAME = "milp and smt"
NO_LAST_STEP = "since it has no last step"


def who_decides(question: Question) -> str:
    """Which engines may answer, and with what; then those that do not take such a claim, where that is worth saying."""
    found = refusals(question)
    told = {entry.name: entry.may(question) for entry in engines() if found.get(entry.name, "") is None}
    refused = {n: said for n in WORTH_SAYING if (said := found.get(n)) and not said.startswith(KIND_OF_MODEL)}
    return "; ".join([f"{name} {may}" for name, may in _paired(told).items()] + _not_taken(refused))


def _paired(told: Mapping[str, str]) -> dict[str, str]:
    """Both engines that ask programs in one, where they do the same."""
    if "milp" not in told or told["milp"] != told.get("smt"):
        return dict(told)
    return {SAME if name == "milp" else name: said for name, said in told.items() if name != "smt"}


def _not_taken(refused: Mapping[str, str]) -> list[str]:
    """Who does not take the claim, and why."""
    endless = [name for name, said in refused.items() if said == UNBOUNDED]
    others = _paired({name: _short(said) for name, said in refused.items() if name not in endless})
    listed = ", ".join(endless[:-1]) + (" and " if len(endless) > 1 else "") + "".join(endless[-1:])
    told = [f"{name} {_do(name)} not take it: {said}" for name, said in others.items()]
    return told + ([f"{listed} {'do' if len(endless) > 1 else 'does'} not take it, {NO_LAST_STEP}"] if endless else [])


def _do(name: str) -> str:
    return "do" if name == SAME else "does"


def _short(refusal: str) -> str:
    """A refusal without what every refusal says."""
    return refusal.removeprefix("not supported by this engine: ").partition("; try --engine")[0]
