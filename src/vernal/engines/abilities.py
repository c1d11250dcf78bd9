"""What engines may do with a question that they take, in words: the registry has one of these for each engine."""

from __future__ import annotations

from collections.abc import Callable

from vernal.engines.refusals import ProvesPath
from vernal.logic.formula import Quantifier
from vernal.logic.question import Question
from vernal.logic.times import Time

Ability = Callable[[Question], str]


def always_so(said: str) -> Ability:
    """The same of every question that it takes."""
    return lambda question: said


ANY = always_so("may prove or refute it")


def by_proofs(proves: ProvesPath) -> Ability:
    """Of an engine that proves claims of all paths: that claim, or its opposite, may decide a claim of some path."""

    def ability(question: Question) -> str:
        claim = question.claim
        opposite = claim.opposite if claim.mentions_some or claim.sufficient is None else None
        may_prove = claim.sufficient is not None and proves(question, claim.sufficient)
        may_refute = opposite is not None and proves(question, opposite)
        if may_prove and may_refute:
            return "may prove or refute it"
        if may_prove and claim.mentions_some:  # what is proven is more than the claim
            return "may prove it where every path does what some path has to"
        return "may prove it" if may_prove else "may refute it"

    return ability


def by_simulation(question: Question) -> str:
    """Single runs."""
    if question.time is not Time.STEPS:
        return "may refute it by a trajectory"
    if not question.claim.mentions_some:
        return "may refute it"
    alone = question.claim.quantifiers == {Quantifier.SOME}
    return "may prove it by a witness" if alone else "may decide it where there is one path only"


def by_bounds(question: Question) -> str:
    """Bounds of each step."""
    reach = question.claim.horizon
    return f"may prove or refute it within {reach} step{'' if reach == 1 else 's'}"


def path_by_path(question: Question) -> str:
    """Batches of paths are fast, states one by one are not; only the former take what is nonlinear."""
    if question.claim.linear is None:
        return "decides it state by state, where everything is piecewise linear"
    return "decides it path by path where everything is piecewise linear, and may elsewhere"


def by_programs(question: Question) -> str:
    """Programs over all paths."""
    if question.claim.quantifiers == {Quantifier.SOME}:
        return "may prove it by witnesses, one for each of finitely many initial states, or refute it"
    return "may refute it" if question.claim.linear is None else "may prove or refute it"


def by_tree_programs(question: Question) -> str:
    """The same, and programs over trees of states where no path decides."""
    single = question.claim.quantifiers == {Quantifier.SOME} and question.claim.opposite is not None
    return by_programs(question) if single else "may prove or refute it"


def by_loops(question: Question) -> str:
    """Paths that come back."""
    if question.claim.mentions_some:
        return "may prove it by loops from finitely many initial states"
    return "may refute it by a loop"
