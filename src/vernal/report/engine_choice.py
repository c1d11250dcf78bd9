"""Which engines may answer a question, and with what: whether one takes it, it says itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vernal.engines.refusals import KIND_OF_TIME
from vernal.engines.registry import refusals
from vernal.evidence.knowledge import UNBOUNDED
from vernal.logic.claim import Claim, always
from vernal.logic.formula import Formula, Quantifier
from vernal.logic.question import Question
from vernal.logic.safety import safety_claim
from vernal.logic.times import Time

BOUNDED_FIRST = ["split", "bounds", "falsify", "paths", "milp", "smt", "explicit"]  # in which order they are told of
WORTH_SAYING = ("falsify", "bounds", "paths", "milp", "smt")  # that they do not take a claim
SAME = "milp and smt"
NO_LAST_STEP = "since it has no last step"
PROVERS: Mapping[str, Callable[[Formula], bool]] = {
    "induction": lambda path: always(path) is not None,
    "invariants": lambda path: safety_claim(Claim(path), total=True) is not None,
    "liveness": lambda path: True,
}  # engines that prove claims of all paths, and by which
ENDLESS_FIRST = ["ends", "explicit", "predicates", "deepening", "lasso", *PROVERS, "falsify"]


def who_decides(question: Question) -> str:
    """Which engines may answer, and with what; then those that do not take such a claim, where that is worth saying."""
    found = refusals(question)
    named = [name for name in _ordered(question, found) if name in found]
    told = {name: _effect(name, question) for name in named if found[name] is None}
    refused = {n: said for n in WORTH_SAYING if (said := found.get(n)) and not said.startswith(KIND_OF_TIME)}
    return "; ".join([f"{name} {effect}" for name, effect in _paired(told).items()] + _not_taken(refused))


def _ordered(question: Question, found: Mapping[str, str | None]) -> list[str]:
    """Who is told of, and in which order."""
    if question.time is Time.STEPS and question.claim.horizon is not None:
        return BOUNDED_FIRST
    return list(dict.fromkeys([*(ENDLESS_FIRST if question.time is Time.STEPS else ()), *found]))


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


def _effect(name: str, question: Question) -> str:
    """What an engine that takes a question may do."""
    if name in PROVERS:
        return _of_prover(question.claim, PROVERS[name])
    return EFFECTS[name](question)


def _of_prover(claim: Claim, proves: Callable[[Formula], bool]) -> str:
    """What a proof of a claim of all paths is good for: that, or its opposite, may decide a claim of some path."""
    opposite = claim.opposite if claim.mentions_some or claim.sufficient is None else None
    may_prove = claim.sufficient is not None and proves(claim.sufficient)
    may_refute = opposite is not None and proves(opposite)
    if may_prove and may_refute:
        return "may prove or refute it"
    return "may prove it" if may_prove else "may refute it"


def _of_falsify(question: Question) -> str:
    if question.time is Time.SECONDS:
        return "may refute it by a trajectory"
    if not question.claim.mentions_some:
        return "may refute it"
    alone = question.claim.quantifiers == {Quantifier.SOME}
    return "may prove it by a witness" if alone else "may decide it where there is one path only"


def _of_bounds(question: Question) -> str:
    reach = question.claim.horizon
    return f"may prove or refute it within {reach} step{'' if reach == 1 else 's'}"


def _of_paths(question: Question) -> str:
    """Batches of paths are fast, states one by one are not; only the former take what is nonlinear."""
    if question.claim.linear is None:
        return "decides it state by state, where everything is piecewise linear"
    return "decides it path by path where everything is piecewise linear, and may elsewhere"


def _of_programs(question: Question) -> str:
    if question.claim.quantifiers == {Quantifier.SOME}:
        return "may prove it by witnesses, one for each of finitely many initial states, or refute it"
    return "may refute it" if question.claim.linear is None else "may prove or refute it"


def _of_lasso(question: Question) -> str:
    if question.claim.mentions_some:
        return "may prove it by loops from finitely many initial states"
    return "may refute it by a loop"


EFFECTS: Mapping[str, Callable[[Question], str]] = {
    "falsify": _of_falsify,
    "bounds": _of_bounds,
    "ends": lambda question: "proves it where the ends of values alone do",
    "split": lambda question: "may prove or refute it",
    "paths": _of_paths,
    "explicit": lambda question: "decides it where finitely many states are reached",
    "predicates": lambda question: "may prove or refute it by conditions that tell states apart",
    "milp": _of_programs,
    "smt": _of_programs,
    "deepening": lambda question: "may decide it where finitely many steps do",
    "lasso": _of_lasso,
    "flowpipe": lambda question: "may prove it where the flow is smooth",
    "abstraction": lambda question: "may prove it, also where solutions are not unique",
}
