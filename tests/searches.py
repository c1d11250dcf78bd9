"""The search of the engine `split`, as tests step it."""

from __future__ import annotations

import pytest

from vernal.logic.question import Question
from vernal.run.budget import Budget
from vernal.sets.core import inquiry
from vernal.sets.core.box_search import BoxSearch
from vernal.sets.core.inquiry import refuted_by, search_for
from vernal.sets.core.race import Race


def branch_and_bound(question: Question, budget: Budget) -> BoxSearch | None:
    """The search for a state that refutes a claim of all paths; None where a draw is to be decided."""
    clauses = refuted_by(question, budget)
    return None if clauses is None else search_for([question], [clauses], budget).searches[0]


def cut_neurons_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neurons and cases are cut before all inputs, however few these are; there is no race."""
    monkeypatch.setattr(inquiry, "Race", lambda make, inputs, neurons: Race(lambda _: make(True), 0, 0))
