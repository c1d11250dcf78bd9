"""The public question: does this task keep that formula?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import overload

from vernal.engines.answers import answered
from vernal.engines.base import Engine, within
from vernal.engines.journals import open_journal
from vernal.engines.options import (
    BoundsOptions,
    DepthOptions,
    EngineOptions,
    InductionOptions,
    MilpOptions,
    PredicateOptions,
    SmtOptions,
)
from vernal.engines.placing import device_for
from vernal.engines.several import Ask, FairShares
from vernal.errors import InputError, NameUnknown, nearest
from vernal.evidence.result import Result
from vernal.interpret.numbers.device import find_device, using
from vernal.logic.formula import ALL_TIME, Always, Bound, Formula
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.system import System
from vernal.run.budget import Budget, Progress, refuse_limits, silent
from vernal.run.threads import one_blas_thread

Options = Mapping[str, object]
NO_OPTIONS: Options = {}
IN_RANGE = "in_range"  # the built-in property that every declared range is kept


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """An engine by name, loaded when first used."""

    name: str
    target: str  # module:class
    about: str
    options: type[EngineOptions] = EngineOptions

    @property
    def option_names(self) -> list[str]:
        return [entry.name for entry in fields(self.options)]

    def load(self, options: Options = NO_OPTIONS) -> Engine:
        """The engine with these options; those it is not given have their defaults."""
        for name, value in options.items():
            if name not in self.option_names:
                raise self._stray(name, value)
        module, _, cls = self.target.partition(":")
        make: Callable[..., Engine] = getattr(import_module(module), cls)
        return make(self.options(**options)) if self.option_names else make()

    def _stray(self, name: str, value: object) -> InputError:
        owners = [entry.name for entry in ENGINES if name in entry.option_names]
        if not owners:
            return InputError(f"the engine {self.name!r} has no option {name!r}{nearest(name, self.option_names)}")
        said = f"no-{name}" if value is False else name
        return InputError(f"the engine {self.name!r} has no option --{said}; it goes with --engine {', '.join(owners)}")


ENGINES = (
    EngineEntry(
        "auto",
        "vernal.engines.portfolio:Portfolio",
        "what fits, cheapest first; stops at the first sound answer",
        DepthOptions,
    ),
    EngineEntry(
        "falsify", "vernal.engines.falsify.engine:Falsify", "batched simulation and local search for a counterexample"
    ),
    EngineEntry(
        "bounds",
        "vernal.engines.bounds.engine:Bounds",
        "linear bounds propagated through time; instant, incomplete",
        BoundsOptions,
    ),
    EngineEntry(
        "ends",
        "vernal.engines.settled:OperatorEnds",
        "exact ends of values: claims that clip, min, max or tanh keep with no room to spare",
    ),
    EngineEntry(
        "split",
        "vernal.engines.split.engine:BranchAndBound",
        "branch and bound over boxes of the initial set; claims about initial states, as of a network alone",
    ),
    EngineEntry(
        "paths",
        "vernal.engines.paths.engine:Paths",
        "all paths by sets of states; exact, complete where piecewise linear",
    ),
    EngineEntry(
        "explicit",
        "vernal.engines.explicit.engine:Explicit",
        "every state of a finite system; full CTL and LTL, for all time",
    ),
    EngineEntry(
        "predicates",
        "vernal.engines.predicates.engine:Predicates",
        "predicate abstraction of bounded integers under a policy; claims that a condition is kept for all time",
        PredicateOptions,
    ),
    EngineEntry(
        "invariants",
        "vernal.engines.invariants.engine:Invariants",
        "claims for all time by sets of states that no step leaves; refutes what these exclude",
    ),
    EngineEntry(
        "milp",
        "vernal.engines.programs.milp:Milp",
        "mixed-integer programs, monolithic or compositional; as exact as its solver",
        MilpOptions,
    ),
    EngineEntry(
        "smt",
        "vernal.engines.programs.smt:Smt",
        "satisfiability modulo theories; a cross-check for small loops",
        SmtOptions,
    ),
    EngineEntry(
        "liveness",
        "vernal.engines.liveness.engine:Liveness",
        "LTL for all time by an automaton, and a bound on how often its marked edges are taken",
    ),
    EngineEntry(
        "deepening",
        "vernal.engines.deepening.engine:Deepening",
        "claims without a bound, as far as finitely many steps decide them",
        DepthOptions,
    ),
    EngineEntry(
        "lasso",
        "vernal.engines.lasso.engine:Lasso",
        "paths that come back to where they were, and so never do what is waited for",
        DepthOptions,
    ),
    EngineEntry(
        "induction",
        "vernal.engines.induction.engine:Induction",
        "k-induction: a claim about every step, from any state that may be reached",
        InductionOptions,
    ),
)


def engines() -> list[EngineEntry]:
    """The engines there are."""
    return list(ENGINES)


def find_engine(name: str, options: Options = NO_OPTIONS) -> Engine:
    """The engine of this name with these options; one it does not have is an error."""
    for entry in ENGINES:
        if entry.name == name:
            return entry.load(options)
    raise NameUnknown(f"there is no engine {name!r}{nearest(name, (entry.name for entry in ENGINES))}")


def parse_formula(task: Task, text: str) -> Formula:
    """A formula over the task's names."""
    from vernal.logic.elaborate import formula, system_scope
    from vernal.logic.syntax import Source

    return formula(Source(text, "formula"), system_scope(task.system, task.constants, task.functions))


def named_formula(task: Task, name: str) -> Formula:
    """A property of the task, or the built-in `in_range`."""
    if name in task.properties:
        return task.properties[name]
    if name == IN_RANGE:
        return in_range(task)
    raise NameUnknown(f"the task has no property {name!r}{nearest(name, [*task.properties, IN_RANGE])}")


def in_range(task: Task) -> Formula:
    """Every declared range is kept, as far as the task's own bounded properties look; for ever if there is none."""
    from vernal.logic.normal import horizon
    from vernal.logic.ranges import range_formula

    reach = [steps for steps in map(horizon, task.properties.values()) if steps is not None]
    bound = Bound(ALL_TIME.lower, ALL_TIME.lower + max(reach)) if reach else ALL_TIME
    return Always(range_formula(task.system), bound)


def ask(
    task: Task, formula: Formula, name: str | None, engine: str, budget: Budget, options: Options = NO_OPTIONS
) -> Result:
    """One formula, one result; a limit reached on the way is an unknown with that reason."""
    started = time.monotonic()
    question = Question(task.system, formula, name, task.predicates, task.labels)
    question.claim.logic  # noqa: B018 - a formula that is neither LTL nor CTL is refused before any work
    with one_blas_thread():
        result = asked_of(find_engine(engine, options), question, budget)
    return replace(stated(task, result), seconds=time.monotonic() - started)


def stated(task: Task, result: Result) -> Result:
    """A result with what its task leaves out, and what is counted of it."""
    return replace(result, proviso=task.proviso, statistics={**task.counts, **result.statistics}, task=task)


def asked_of(engine: Engine, question: Question, budget: Budget) -> Result:
    """The result of an engine; a limit reached on the way leaves the question open."""
    with using(device_for(budget.device, question)):
        known = within(engine, question, budget)
    return answered(question, known, budget)


@overload
def check(
    subject: Task | System,
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
) -> Result: ...


@overload
def check(
    subject: Task | System,
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
) -> dict[str, Result]: ...


def check(
    subject: Task | System,
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
) -> Result | dict[str, Result]:
    """Check one formula (one Result), or properties by name (a dict of Results; all of the task's if none is named).

    `timeout` is in seconds for everything asked, shared fairly, `memory` in GiB; `options` are the engine's, such as
    `{"encoding": "compositional", "tighten": False}` of `milp`. `journal` is a file that lets a killed run resume.
    `device` is where large batches of bounds are computed: "cpu", or "cuda" with the extra `torch`.
    """
    task = subject if isinstance(subject, Task) else Task(subject)
    refuse_open(task.system)
    refuse_limits({"timeout": timeout, "memory": memory}, workers, seed)
    find_device(device)
    budget = Budget(timeout, memory, seed=seed, workers=workers, progress=progress or silent, device=device)
    if formula is None:
        named = _chosen(task, property)
        with keeping(journal, task, named.values(), engine, options) as kept:

            def asking(name: str, one: Formula) -> Ask:
                return lambda part: ask(task, one, name, engine, kept(part, one), options)

            return dict(zip(named, FairShares([asking(*each) for each in named.items()], budget), strict=True))
    if property is not None:
        raise InputError("a formula or properties by name, not both: leave out one of them")
    asked = parse_formula(task, formula) if isinstance(formula, str) else formula
    with keeping(journal, task, [asked], engine, options) as kept:
        return ask(task, asked, None, engine, kept(budget, asked), options)


def refuse_open(system: System) -> None:
    """Nothing can be said of a system with an agent that has no policy."""
    if system.open_agents:
        names = ", ".join(map(repr, system.open_agents))
        raise InputError(f"there is no policy for {names}: nothing can be verified before every agent has one")


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
            raise InputError("the task has no properties; name a formula to check")
        return task.properties
    listed = [names] if isinstance(names, str) else names
    return {name: named_formula(task, name) for name in listed}
