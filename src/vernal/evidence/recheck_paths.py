"""Paths checked again: recomputed step by step, or enclosed, and whether what they show forces the verdict."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from vernal.evidence.confirm import Facts, assurance, truth
from vernal.evidence.defined_values import is_defined
from vernal.evidence.invariant import Invariant
from vernal.evidence.judgement import Assertion, Judgement, Recheck, Rejected
from vernal.evidence.kinds import Tree
from vernal.evidence.loop_starts import starting_at
from vernal.evidence.periodic import is_enclosed
from vernal.evidence.replay import NotAPath, verify
from vernal.evidence.result import VIOLATED, Assurance
from vernal.evidence.trace import Trace
from vernal.evidence.trajectory_replay import retrace
from vernal.evidence.uniqueness import is_only_path, is_only_position
from vernal.interpret.exact import Given
from vernal.interpret.sampled.held_questions import about, asks_open_actions, flow_of
from vernal.logic.claim import Claim
from vernal.logic.formula import Formula, Quantifier
from vernal.logic.printing import text
from vernal.logic.question import Question
from vernal.logic.safety import excluding
from vernal.logic.times import Time
from vernal.model.held_loop import loop_of
from vernal.model.hooks import hook
from vernal.model.initial import Box
from vernal.model.numbers import rounded
from vernal.model.system import System

NOT_EXCLUDED = "an invariant beside a state excludes a claim of all or of some path at that state only"
OF_STATES = "a tree is evidence for the failure of a claim of states only"


def recheck_trace(trace: Trace, said: Assertion) -> Recheck:
    """Whether a recorded path is one, and forces the verdict."""
    return _trajectory(trace, said) if trace.times is not None else shown(said, verified(trace, said.task.system))


def recheck_tree(tree: Tree, said: Assertion) -> Recheck:
    """Whether a recorded state is reached, and the claim fails there: what excludes it no path can show."""
    if tree.path.times is not None:
        return _loop_tree(tree, said)
    trace, violated = verified(tree.path, said.task.system), said.verdict is VIOLATED
    if tree.invariant is not None:
        if not violated:
            raise Rejected(NOT_EXCLUDED)
        return excludes(said.task.system, said.formula, trace, tree.invariant)
    claim = Claim(said.formula)
    if not violated or (claim.linear is not None and not claim.mentions_some):
        raise Rejected(OF_STATES)
    rest = f"that the claim fails there is only said ({tree.excluded_by}), not shown"
    return Recheck(Judgement.UNDECIDED, f"{path_words(trace)}, {_recomputed(trace, said.formula)}; {rest}", trace)


def _loop_tree(tree: Tree, said: Assertion) -> Recheck:
    """Whether all paths of a loop that samples from a recorded initial state, followed again, make the claim false."""
    question = replace(about(flow_of(said.task.model), said.formula), counts=said.time)
    if said.verdict is not VIOLATED or said.time is not Time.SAMPLES or len(tree.path) != 1:
        raise Rejected(OF_STATES)
    refuting = question.claim.refuting
    if refuting is None:
        raise Rejected(NOT_EXCLUDED)
    try:
        found = retrace(tree.path, said.formula, question.model, time=said.time)
    except NotAPath as error:
        raise Rejected(error.problem) from None
    if found.problem is not None:
        raise Rejected(found.problem)
    if not is_defined(loop_of(question.model) or question.model, None):
        return Recheck(Judgement.UNDECIDED, "a value may be undefined, so that there may be no path from this state")
    alone = replace(question, model=starting_at(question.model, tree.path), formula=refuting)
    problem = hook("samples_problem")(alone, tree.recurrence)
    if problem is not None:
        return Recheck(
            Judgement.UNDECIDED, f"that all paths from this state keep {text(refuting)}: {problem}", found.trace
        )
    told = f"from this state every path keeps {text(refuting)}: all were followed, by the steps that the engine takes"
    return Recheck(Judgement.ACCEPTED, told, found.trace)


def verified(recorded: Trace, system: System) -> Trace:
    """A recorded path, recomputed; `Rejected` where it is none of the system."""
    replayed = verify(system, recorded)
    if replayed.problem is not None or replayed.trace is None:
        raise Rejected(replayed.problem)
    return replayed.trace


def path_words(trace: Trace) -> str:
    """What a path is called."""
    if trace.times is not None:
        return f"a trajectory until time {rounded(trace.times[-1])}"
    return f"a path of {len(trace)} positions"


def _trajectory(recorded: Trace, said: Assertion) -> Recheck:
    """Whether all solutions along a recorded trajectory, enclosed again, break the formula, or are witnesses of it."""
    asked = replace(about(flow_of(said.task.model), said.formula), counts=said.time)
    wanted = said.verdict is not VIOLATED
    if wanted and (problem := _no_witness(asked)) is not None:
        raise Rejected(problem)
    try:
        found = retrace(recorded, asked.claim.path if wanted else asked.formula, asked.model, time=said.time)
    except NotAPath as error:
        raise Rejected(error.problem) from None
    if found.problem is not None:
        raise Rejected(found.problem)
    if found.truth is not wanted:
        verdict = "holds" if wanted else "is violated"
        raise Rejected(f"it is a trajectory of the flow, but does not show that the formula {verdict}")
    shown = "true" if wanted else "violated"
    told = f"on it the formula is {shown}, whatever solution is taken"
    return Recheck(Judgement.ACCEPTED, f"{path_words(recorded)}, enclosed again; {told}", found.trace)


def _no_witness(question: Question) -> str | None:
    """Why no trajectory proves a claim; None where it is one of some path over samples, from a single start."""
    if question.time is not Time.SAMPLES or question.claim.quantifiers != {Quantifier.SOME}:
        return "a trajectory is evidence about a flow only where it breaks the formula"
    if not question.model.initial.is_point:
        return "the claim is about every initial state, and the trajectory shows one of them"
    if asks_open_actions(question.model, question.atoms.values()):
        return "the claim is about every action that may be taken first, and the trajectory shows one of them"
    return None


def excludes(system: System, formula: Formula, trace: Trace, invariant: Invariant) -> Recheck:
    """Whether every path from the state of a tree stays in its invariant, in which the claim fails.

    A claim of all paths is refuted by that only if there is a path.
    """
    claim = Claim(formula)
    opposite = claim.opposite if claim.mentions_some else excluding(claim)
    if opposite is None or len(trace) != 1:
        raise Rejected(NOT_EXCLUDED)
    inputs = Facts(trace, system).inputs(0)
    start = system.cut(Box({var: tuple((x, x) for x in _numbers(inputs[var])) for var in system.step.inputs}))
    if start is None:
        raise Rejected("the state is not an initial one")
    if not claim.mentions_some and not is_defined(start, invariant):
        return Recheck(Judgement.UNDECIDED, "a value may be undefined, so that there may be no path from this state")
    from vernal.evidence.recheck import recheck  # few trees have an invariant

    checked = recheck(start, Claim(opposite), invariant)
    if checked.judgement is not Judgement.ACCEPTED:
        return checked
    return Recheck(
        checked.judgement, f"from this state every path keeps {text(opposite)}, by an invariant of {checked.reason}"
    )


def _numbers(value: Given) -> tuple[Fraction, ...]:
    """The numbers of a variable at a position that was recomputed exactly."""
    items = value if isinstance(value, tuple) else (value,)
    return tuple(item for item in items if isinstance(item, Fraction))


def _recomputed(trace: Trace, formula: Formula) -> str:
    """How the path was found again."""
    if is_enclosed(trace):
        return "proven in enclosures to be the only one that closes in its box"
    return "recomputed exactly" if assurance(trace, formula) is Assurance.EXACT else "recomputed in enclosures"


def shown(said: Assertion, trace: Trace) -> Recheck:
    """Whether a path, recomputed, forces the verdict; where it only fits, that it could not be checked.

    A path refutes a claim of all paths, and proves one of some path where there is no other start.
    """
    claim, violated = Claim(said.formula), said.verdict is VIOLATED
    if truth(trace, claim.path) is not (not violated):
        verdict = "is violated" if violated else "holds"
        raise Rejected(f"the path is one of the system, but it does not show that the formula {verdict}")
    path = f"{path_words(trace)}, {_recomputed(trace, said.formula)}"
    found = f"{path}; on it the formula is {'violated' if violated else 'true'}"
    missing = _missing(claim, trace, violated)
    if missing is not None:
        return Recheck(Judgement.UNDECIDED, f"{found}, but the verdict ({said.verdict.value}) {missing}", trace)
    return Recheck(Judgement.ACCEPTED, found, trace)


def _missing(claim: Claim, trace: Trace, violated: bool) -> str | None:
    """What a verdict rests on that a path does not show; None where the path forces it."""
    system = trace.system
    if not violated and not system.initial.is_point:
        return "is about every initial state, and the path shows one of them"
    others = Quantifier.SOME if violated else Quantifier.ALL
    if others in claim.quantifiers and not is_only_path(system, trace):
        return "is about all paths from its first state, and this is one of several"
    if not violated and not is_only_position(system, claim.formula, trace):
        return "is about every action that may be taken first, and the path shows one of them"
    return None
