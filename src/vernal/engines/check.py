"""The public question: does this task keep that formula?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from time import monotonic
from typing import overload

from vernal.engines.answers import answered
from vernal.engines.base import Engine, within
from vernal.engines.chain import Chain
from vernal.engines.composition import certifying
from vernal.engines.covers import with_sets
from vernal.engines.journals import open_journal
from vernal.engines.placement import device_for
from vernal.engines.registry import (
    ENGINES,
    NO_OPTIONS,
    EngineEntry,
    Options,
    engine_for,
    engines,
    find_engine,
)
from vernal.engines.reproduction import reproduction
from vernal.engines.stuck_policies import stuck_note
from vernal.engines.time_shares import Ask, FairShares
from vernal.engines.timed_questions import timed_question
from vernal.errors import InputError, NameUnknown, nearest
from vernal.evidence.cover import unread
from vernal.evidence.result import HOLDS, VIOLATED, Result
from vernal.interpret.numbers.device import find_device, using
from vernal.interpret.rounded.float_formats import deployment
from vernal.logic.formula import ALL_TIME, Always, Bound, Formula
from vernal.logic.question import Question
from vernal.logic.task import GivenTask, Task, as_task
from vernal.logic.times import Time, last_time
from vernal.model.clock import clock_name
from vernal.model.hooks import hook
from vernal.model.system import Model
from vernal.reduce.deployed import CALLED, Deployed
from vernal.reduce.kept_faces import KeptFaces
from vernal.reduce.region_first import RegionFirst
from vernal.run.budget import Budget, Progress, refuse_limits, silent
from vernal.run.joint_questions import JointQuestions
from vernal.run.threads import one_blas_thread
from vernal.sets.wider_region import IN_RANGE, refuse_region

__all__ = [
    "ENGINES",
    "NO_OPTIONS",
    "EngineEntry",
    "Keep",
    "Options",
    "ask",
    "asked_of",
    "check",
    "engines",
    "find_engine",
    "in_range",
    "keeping",
    "named_formula",
    "parse_formula",
    "question_of",
    "refuse_open",
    "stated",
]

UNCERTIFIED = "certificates speak of networks in real numbers, not of what is computed in floats"


def parse_formula(task: Task, text: str) -> Formula:
    """A formula over the task's names."""
    from vernal.logic.elaboration import formula, system_scope
    from vernal.logic.syntax import Source

    scope = system_scope(task.model, task.constants, task.functions)
    if task.model.motion.rates is not None:
        taken = [*scope.names, *scope.arrays, *(label for sort in scope.enums() for label in sort.labels)]
        scope = replace(scope, names={**clock_name(taken), **scope.names})
    return formula(Source(text, "formula"), scope, discrete=task.time_of(None) is not Time.SECONDS)


def named_formula(task: Task, name: str) -> Formula:
    """A property of the task, or the built-in `in_range`."""
    if name in task.properties:
        return task.properties[name]
    if name == IN_RANGE:
        return in_range(task)
    raise NameUnknown(f"the task has no property {name!r}{task.left_out}{nearest(name, [*task.properties, IN_RANGE])}")


def in_range(task: Task) -> Formula:
    """Every declared range is kept, as far as the task's own bounded properties look; for ever if there is none."""
    from vernal.logic.normal import horizon
    from vernal.logic.ranges import range_formula

    if task.model.motion.time is Time.SECONDS:
        refuse_region(task.model)
        return Always(range_formula(task.model), Bound(ALL_TIME.lower, _last_time(task)))
    reach = [steps for steps in map(horizon, task.properties.values()) if steps is not None]
    bound = Bound(ALL_TIME.lower, ALL_TIME.lower + max(reach)) if reach else ALL_TIME
    return Always(range_formula(task.system), bound)


def _last_time(task: Task) -> Fraction:
    """As far as the properties of a flow look, in seconds."""
    from vernal.logic.normal import horizon

    grid = task.model.grid or Fraction(1)
    seconds = last_time(formula for name, formula in task.properties.items() if task.time_of(name) is Time.SECONDS)
    samples = [horizon(formula) for name, formula in task.properties.items() if task.time_of(name) is Time.SAMPLES]
    last = max([seconds, *(grid * steps for steps in samples if steps is not None)])
    if not last:
        raise InputError(
            "`in_range` is asked up to the last time that a property of the task names, and here is none; "
            "add a property with one, as G[0, 5] p"
        )
    return last


def question_of(task: Task, formula: Formula, name: str | None = None) -> Question:
    """What is asked of a task; a formula that its kind of time does not take is refused before any work."""
    if (time := task.time_of(name)) is not Time.STEPS:
        return timed_question(task, formula, name, time)
    question = Question(task.model, formula, name, task.predicates, task.labels, task.settings)
    question.claim.logic  # noqa: B018 - a formula that is neither LTL nor CTL is refused
    return question


def ask(
    task: Task,
    formula: Formula,
    name: str | None,
    engine: str,
    budget: Budget,
    options: Options = NO_OPTIONS,
    deployed: str | None = None,
) -> Result:
    """One formula, one result; a limit reached on the way is an unknown with that reason."""
    started = monotonic()
    question = question_of(task, formula, name)
    refuse_device(task.model, budget.device)
    if deployed is not None:
        with one_blas_thread():
            result = asked_deployed(task, engine_for(engine, question, options), question, deployed, budget)
        return replace(stated(task, result), seconds=monotonic() - started)
    # a journal knows questions by their formulas alone, and of a flow in_range is asked in a wider region
    if name == IN_RANGE or question.time is Time.SAMPLES:
        budget = replace(budget, journal=None)
    with one_blas_thread():
        result = asked_of(engine_for(engine, question, options), question, budget)
    return replace(_readable(stated(task, result), task), seconds=monotonic() - started)


def asked_deployed(task: Task, engine: Engine, question: Question, deployed: str, budget: Budget) -> Result:
    """The result for networks that are computed in this float format; a violated says what onnxruntime makes of it."""
    reduction = Deployed(deployment(deployed))
    if task.functions:
        raise InputError(CALLED)
    if (refused := reduction.takes(question)) is not None:
        raise InputError(refused if question.name is None else f"{question.name}: {refused}")
    own = replace(budget, journal=None, keeps_sets=False)
    result = asked_of(Chain((reduction,), engine), question, own)
    if result.verdict is HOLDS and budget.keeps_sets:
        return replace(result, uncertified=UNCERTIFIED)
    if result.verdict is VIOLATED:
        return replace(result, notes=(*result.notes, reproduction(task, question, result)))
    return result


def _readable(result: Result, task: Task) -> Result:
    """The result without sets for a certificate, and why, where nobody could check it."""
    refusal = None if result.cover is None else unread(task)
    if refusal is not None and hook("task_graph")(task) is not None:
        refusal = None  # the certificate brings the graph of the task
    return result if refusal is None else replace(result, cover=None, uncertified=refusal)


def refuse_device(model: Model, name: str) -> None:
    """An error for a card where nothing is computed there, as of a flow."""
    if name != "cpu" and model.motion.time is Time.SECONDS:
        raise InputError(f"flows are checked on the processor; leave out the device {name!r}")


def stated(task: Task, result: Result) -> Result:
    """A result with what its task leaves out, what is counted of it, and whether a policy is stuck at its end."""
    stuck = stuck_note(task, result.trace)
    notes = result.notes if stuck is None else (*result.notes, stuck)
    statistics = {**task.counts, **result.statistics}
    return replace(result, proviso=task.proviso, statistics=statistics, task=task, notes=notes)


def asked_of(engine: Engine, question: Question, budget: Budget) -> Result:
    """The result of an engine; a limit reached on the way leaves the question open."""
    engine = Chain((RegionFirst(), KeptFaces()), engine) if question.time is Time.SECONDS else engine
    with using(device_for(budget.device, question)):
        known = within(engine, question, budget)
        known = with_sets(question, known, certifying(), budget) if budget.keeps_sets else known
    return answered(question, known, budget)


@overload
def check(
    subject: GivenTask,
    formula: str | Formula,
    *,
    engine: str = "auto",
    timeout: float | None = None,
    memory: float | None = None,
    workers: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
    options: Options = NO_OPTIONS,
    journal: str | Path | None = None,
    device: str = "cpu",
    time: str | None = None,
    certificate: str | Path | bool = False,
    deployed: str | None = None,
) -> Result: ...


@overload
def check(
    subject: GivenTask,
    formula: None = None,
    *,
    property: str | Sequence[str] | None = None,
    engine: str = "auto",
    timeout: float | None = None,
    memory: float | None = None,
    workers: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
    options: Options = NO_OPTIONS,
    journal: str | Path | None = None,
    device: str = "cpu",
    certificate: str | Path | bool = False,
    deployed: str | None = None,
) -> dict[str, Result]: ...


def check(
    subject: GivenTask,
    formula: str | Formula | None = None,
    *,
    property: str | Sequence[str] | None = None,
    engine: str = "auto",
    timeout: float | None = None,
    memory: float | None = None,
    workers: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
    options: Options = NO_OPTIONS,
    journal: str | Path | None = None,
    device: str = "cpu",
    time: str | None = None,
    certificate: str | Path | bool = False,
    deployed: str | None = None,
) -> Result | dict[str, Result]:
    """Check one formula (one Result), or properties by name (a dict of Results; all of the task's if none is named).

    `timeout` is in seconds for everything asked, shared fairly, `memory` in GiB; `options` are the engine's, such as
    `{"encoding": "compositional", "tighten": False}` of `milp`. `journal` is a file that lets a killed run resume.
    `device` is where large batches of bounds are computed: "cpu", or "cuda" with the extra `torch`. Of a loop that
    samples a formula may be over its samples (`time="samples"`) instead of seconds. `certificate` is a file (of several
    properties a folder) for what `vernal-check` checks again; with True, `result.certificate` has it. With
    `deployed`, "float32", "bfloat16" or "float16", a holds covers networks as they are computed in that format.

    Example: `vn.check("room.toml", "G[0,20] (T <= 22)", timeout=60).verdict`
    """
    task = as_task(subject).counting(time)
    refuse_open(task.model)
    refuse_device(task.model, device)
    refuse_limits({"timeout": timeout, "memory": memory}, workers, seed)
    find_device(device)
    refuse_deployed(deployed, journal)
    limits = Budget(timeout, memory, seed=seed, workers=workers, progress=progress or silent, device=device)
    budget = replace(limits, keeps_sets=certificate is not False)
    if formula is None:
        named = _chosen(task, property)
        budget = replace(budget, together=asked_together(task, named.items()))
        with keeping(journal, task, named.values(), engine, options) as kept:

            def asking(name: str, one: Formula) -> Ask:
                return lambda part: ask(task, one, name, engine, kept(part, one), options, deployed)

            found = dict(zip(named, FairShares([asking(*each) for each in named.items()], budget), strict=True))
        return _saved(found, certificate)
    if property is not None:
        raise InputError("a formula or properties by name, not both: leave out one of them")
    asked = parse_formula(task, formula) if isinstance(formula, str) else formula
    with keeping(journal, task, [asked], engine, options) as kept:
        result = ask(task, asked, None, engine, kept(budget, asked), options, deployed)
    if isinstance(certificate, str | Path) and result.certificate is not None:
        result.certificate.save(certificate)
    return result


def _saved(results: dict[str, Result], folder: str | Path | bool) -> dict[str, Result]:
    """The results, once the certificate of each that has one is written to the folder, if one is named."""
    if isinstance(folder, str | Path):
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, result in results.items():
            if result.certificate is not None:
                result.certificate.save(Path(folder) / f"{name}.certificate")
    return results


def refuse_deployed(deployed: str | None, journal: str | Path | None) -> None:
    """An error for a float format that is not known, and for a journal, which knows questions in real numbers."""
    if deployed is not None:
        deployment(deployed)
        if journal is not None:
            raise InputError("a journal knows questions in real numbers only; leave it out where networks are deployed")


def refuse_open(system: Model) -> None:
    """Nothing can be said of a system with an agent that has no policy."""
    if system.open_agents:
        names = ", ".join(map(repr, system.open_agents))
        raise InputError(f"there is no policy for {names}: nothing can be verified before every agent has one")


def asked_together(task: Task, named: Iterable[tuple[str | None, Formula]]) -> JointQuestions:
    """What these have in common: a flowpipe serves all claims in seconds."""
    return JointQuestions(tuple(formula for name, formula in named if task.time_of(name) is Time.SECONDS))


Keep = Callable[[Budget, Formula], Budget]  # the budget with the formula's entries of the journal, if one is kept


@contextmanager
def keeping(
    file: str | Path | None, task: Task, formulas: Iterable[Formula], engine: str, options: Options
) -> Iterator[Keep]:
    """Keep a journal of these questions, where a file for it is named."""
    if file is None:
        yield lambda budget, formula: budget
        return
    with open_journal(file, task, formulas, engine, options) as journal:
        yield lambda budget, formula: replace(budget, journal=journal.of(str(formula)))


def _chosen(task: Task, names: str | Sequence[str] | None) -> Mapping[str, Formula]:
    if names is None:
        if not task.properties:
            raise task.without_properties()
        return task.properties
    listed = [names] if isinstance(names, str) else names
    return {name: named_formula(task, name) for name in listed}
