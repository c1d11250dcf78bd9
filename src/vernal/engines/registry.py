"""The engines there are, by name; what each takes it says itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

from vernal.engines.abilities import (
    ANY,
    Ability,
    always_so,
    by_bounds,
    by_loops,
    by_programs,
    by_proofs,
    by_simulation,
    by_tree_programs,
    path_by_path,
)
from vernal.engines.base import Engine, guarded
from vernal.engines.options import (
    AbstractionOptions,
    BmcOptions,
    BoundsOptions,
    DepthOptions,
    EngineOptions,
    FlowpipeOptions,
    InductionOptions,
    MilpOptions,
    PredicateOptions,
    SmtOptions,
)
from vernal.engines.refusals import KIND_OF_MODEL, MISFIT, of_any_kind, of_every_step, of_what_is_kept
from vernal.errors import InputError, MissingExtra, NameUnknown, nearest
from vernal.evidence.knowledge import Open
from vernal.logic.question import Question
from vernal.run.budget import Budget

Options = Mapping[str, object]
NO_OPTIONS: Options = {}


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """An engine by name, loaded when first used."""

    name: str
    target: str  # module:class, or a function that makes the engine
    about: str
    options: type[EngineOptions] = EngineOptions
    may: Ability = ANY  # what it may do with a question that it takes

    @property
    def option_names(self) -> list[str]:
        return [entry.name for entry in fields(self.options)]

    def load(self, options: Options = NO_OPTIONS) -> Engine:
        """The engine with these options; those it is not given have their defaults."""
        self.check(options)
        made: Engine = self._kind(self.options(**options)) if self.option_names else self._kind()
        return made

    @property
    def _kind(self) -> Any:
        module, _, name = self.target.partition(":")
        return getattr(import_module(module), name)

    def refusal(self, question: Question) -> str | None:
        """Why the engine does not take a question, with its usual options; without its solver it knows that, too."""
        try:
            return self.load().takes(question)
        except MissingExtra:
            kind = self._kind
            return str(kind.takes(kind.__new__(kind), question) or "") or None

    def gives_up(self, question: Question, moment: Budget) -> bool:
        """Whether the engine ends within a moment, and without an answer: with more time it would say the same."""
        return isinstance(guarded(self.load(), question, moment), Open) and not moment.is_cut_short

    def check(self, options: Options) -> None:
        """An error for an option that it does not have, or a value that the option does not take."""
        for name, value in options.items():
            if name not in self.option_names:
                raise self._stray(name, value)
        self.options(**options)

    def _stray(self, name: str, value: object) -> InputError:
        owners = [entry.name for entry in ENGINES if name in entry.option_names]
        if not owners:
            known = nearest(name, self.option_names)
            return InputError(f"the engine {self.name!r} has no option {name!r}{known}")
        said = f"no-{name}" if value is False else name
        return InputError(f"the engine {self.name!r} has no option --{said}; it goes with --engine {', '.join(owners)}")


ENGINES: tuple[EngineEntry, ...] = (
    EngineEntry(
        "auto",
        "vernal.engines.portfolio:Portfolio",
        "what fits, cheapest first; stops at the first sound answer",
        DepthOptions,
    ),
    EngineEntry(
        "falsify",
        "vernal.engines.falsify.engine:Falsify",
        "batched simulation and local search for a counterexample",
        may=by_simulation,
    ),
    EngineEntry(
        "bounds",
        "vernal.engines.bounds.engine:Bounds",
        "linear bounds propagated through time; instant, incomplete",
        BoundsOptions,
        may=by_bounds,
    ),
    EngineEntry(
        "ends",
        "vernal.engines.operator_ends:operator_ends",
        "what values single operations can have: claims that clip, min, max or tanh keep with no room to spare",
        may=always_so("proves it where the ends of values alone do"),
    ),
    EngineEntry(
        "split",
        "vernal.engines.composition:split",
        "branch and bound over boxes of the initial set; claims about initial states, as of a network alone",
    ),
    EngineEntry(
        "paths",
        "vernal.engines.paths.engine:Paths",
        "all paths by sets of states; exact, complete where piecewise linear",
        may=path_by_path,
    ),
    EngineEntry(
        "explicit",
        "vernal.engines.explicit.engine:Explicit",
        "every state of a finite system; full CTL and LTL, for all time",
        may=always_so("decides it where finitely many states are reached"),
    ),
    EngineEntry(
        "backward",
        "vernal.engines.composition:backward",
        "initial states of a finite system that the first step may take to what must not happen, one by one",
        may=always_so("may refute it by the first step"),
    ),
    EngineEntry(
        "predicates",
        "vernal.engines.composition:predicates",
        "predicate abstraction of bounded integers under a policy; claims that a condition is kept for all time",
        PredicateOptions,
        may=always_so("may prove or refute it by conditions that tell states apart"),
    ),
    EngineEntry(
        "invariants",
        "vernal.engines.invariants.engine:Invariants",
        "claims for all time by sets of states that no step leaves; refutes what these exclude",
        may=by_proofs(of_what_is_kept),
    ),
    EngineEntry(
        "milp",
        "vernal.engines.programs.milp:Milp",
        "mixed-integer programs, monolithic or compositional; as exact as its solver",
        MilpOptions,
        may=by_tree_programs,
    ),
    EngineEntry(
        "smt",
        "vernal.engines.programs.smt:Smt",
        "satisfiability modulo theories; a cross-check for small loops",
        SmtOptions,
        may=by_programs,
    ),
    EngineEntry(
        "bmc",
        "vernal.engines.programs.bmc:Bmc",
        "bounded model checking: paths of 0, 1, 2, ... steps as transitions, for a solver",
        BmcOptions,
        may=always_so("may refute it by a short path, or prove it where it has a last step"),
    ),
    EngineEntry(
        "liveness",
        "vernal.engines.composition:liveness",
        "LTL for all time: what breaks the claim (an automaton says what) happens only so many times on any path",
        may=by_proofs(of_any_kind),
    ),
    EngineEntry(
        "deepening",
        "vernal.engines.composition:deepening",
        "claims without a time bound, where finitely many steps decide them",
        DepthOptions,
        may=always_so("may decide it where finitely many steps do"),
    ),
    EngineEntry(
        "lasso",
        "vernal.engines.lasso.engine:Lasso",
        "paths that come back to where they were, and so never do what is waited for",
        DepthOptions,
        may=by_loops,
    ),
    EngineEntry(
        "induction",
        "vernal.engines.composition:induction",
        "k-induction: a claim about every step, from any state that may be reached",
        InductionOptions,
        may=by_proofs(of_every_step),
    ),
    EngineEntry(
        "flowpipe",
        "vernal.engines.flow.direct:DirectFlowpipe",
        "sets that contain all trajectories, by enclosures of the solutions of a smooth flow",
        FlowpipeOptions,
        may=always_so("may prove it where the flow is smooth"),
    ),
    EngineEntry(
        "abstraction",
        "vernal.engines.flow.abstract:NeuralEngine",
        "a network learned in the place of the flow, with a certified error; also where solutions are not unique",
        AbstractionOptions,
        may=always_so("may prove it, also where solutions are not unique"),
    ),
    EngineEntry(
        "modes",
        "vernal.engines.flow.modes:ModeEngine",
        "sets that contain all executions of an affine hybrid automaton",
        FlowpipeOptions,
        may=always_so("may prove it"),
    ),
)


def engines() -> list[EngineEntry]:
    """The engines there are."""
    return list(ENGINES)


def engine_names() -> list[str]:
    """The names of all engines."""
    return _names(ENGINES)


def find_engine(name: str, options: Options = NO_OPTIONS) -> Engine:
    """The engine with this name and these options; one it does not have is an error."""
    return _entry(name).load(options)


def engine_for(name: str, question: Question, options: Options = NO_OPTIONS) -> Engine:
    """The engine with this name and these options, if it is for such questions at all."""
    engine = find_engine(name, options)
    refused = engine.takes(question)
    if refused is None or not refused.startswith(MISFIT):
        return engine
    if refused.startswith(KIND_OF_MODEL):
        there = ", ".join(_names(engines_for(question)))
        refused += f"; for {question.model.motion.noun} there are {there}"
    raise InputError(f"the engine {name!r} {refused}")


def engines_for(question: Question) -> list[EngineEntry]:
    """The engines that are for such models."""
    refused = {name for name, why in refusals(question, among=ENGINES).items() if why and why.startswith(KIND_OF_MODEL)}
    return [entry for entry in ENGINES if entry.name not in refused]


def refusals(question: Question, among: Iterable[EngineEntry] | None = None) -> dict[str, str | None]:
    """Why each engine but `auto` does not take a question; None of those that do."""
    chosen = ENGINES[1:] if among is None else among
    return {entry.name: entry.refusal(question) for entry in chosen}


def check_options(name: str, options: Options) -> None:
    """An error for options that the engine of this name does not take."""
    _entry(name).check(options)


def _names(entries: Iterable[EngineEntry]) -> list[str]:
    return [entry.name for entry in entries]


def _entry(name: str) -> EngineEntry:
    for entry in ENGINES:
        if entry.name == name:
            return entry
    raise NameUnknown(f"there is no engine {name!r}{nearest(name, _names(ENGINES))}")
