"""The engines there are, by name: those of systems, which move in steps, and those of flows, in continuous time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, Generic, TypeVar

from vernal.engines.base import Engine, FlowEngine
from vernal.engines.options import (
    AbstractionOptions,
    BoundsOptions,
    DepthOptions,
    EngineOptions,
    FlowpipeOptions,
    InductionOptions,
    MilpOptions,
    PredicateOptions,
    SmtOptions,
)
from vernal.errors import InputError, NameUnknown, nearest
from vernal.logic.task import MAX_ABSTRACTED

Options = Mapping[str, object]
NO_OPTIONS: Options = {}
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class EngineEntry(Generic[E]):
    """An engine by name, loaded when first used."""

    name: str
    target: str  # module:class
    about: str
    options: type[EngineOptions] = EngineOptions
    most_variables: int | None = None  # of a flow, where there is a limit of what is practical

    @property
    def option_names(self) -> list[str]:
        return [entry.name for entry in fields(self.options)]

    def load(self, options: Options = NO_OPTIONS) -> E:
        """The engine with these options; those it is not given have their defaults."""
        self.check(options)
        module, _, cls = self.target.partition(":")
        make: Callable[..., E] = getattr(import_module(module), cls)
        return make(self.options(**options)) if self.option_names else make()

    def check(self, options: Options) -> None:
        """An error for an option that it does not have, or a value that the option does not take."""
        for name, value in options.items():
            if name not in self.option_names:
                raise self._stray(name, value)
        self.options(**options)

    def _stray(self, name: str, value: object) -> InputError:
        siblings: Iterable[EngineEntry[Any]] = FLOW_ENGINES if self in FLOW_ENGINES else (*ENGINES, *FLOW_ENGINES)
        owners = [entry.name for entry in siblings if name in entry.option_names]
        if not owners:
            kind, known = " of flows" if self in FLOW_ENGINES else "", nearest(name, self.option_names)
            return InputError(f"the engine {self.name!r}{kind} has no option {name!r}{known}")
        said = f"no-{name}" if value is False else name
        return InputError(f"the engine {self.name!r} has no option --{said}; it goes with --engine {', '.join(owners)}")


ENGINES: tuple[EngineEntry[Engine], ...] = (
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
        "vernal.engines.operator_ends:operator_ends",
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


FLOW_ENGINES: tuple[EngineEntry[FlowEngine], ...] = (
    EngineEntry(
        "auto",
        "vernal.engines.flow.portfolio:FlowPortfolio",
        "what fits, cheapest first; stops at the first sound answer",
    ),
    EngineEntry(
        "falsify",
        "vernal.engines.flow.falsify:FalsifyFlow",
        "simulated trajectories and local search for one that fails, which is then enclosed",
    ),
    EngineEntry(
        "flowpipe",
        "vernal.engines.flow.direct:DirectFlowpipe",
        "sets that contain all trajectories, by enclosures of the solutions of a smooth flow",
        FlowpipeOptions,
    ),
    EngineEntry(
        "abstraction",
        "vernal.engines.flow.abstract:NeuralEngine",
        "a network learned in the place of the flow, with a certified error; also where solutions are not unique",
        AbstractionOptions,
        most_variables=MAX_ABSTRACTED,
    ),
)


def engines() -> list[EngineEntry[Engine]]:
    """The engines of systems."""
    return list(ENGINES)


def flow_engines() -> list[EngineEntry[FlowEngine]]:
    """The engines of flows."""
    return list(FLOW_ENGINES)


def engine_names() -> list[str]:
    """The names of all engines, of systems first."""
    return list(dict.fromkeys([*_names(ENGINES), *_names(FLOW_ENGINES)]))


def find_engine(name: str, options: Options = NO_OPTIONS) -> Engine:
    """The engine of systems with this name and these options; one it does not have is an error."""
    if name not in _names(ENGINES) and name in _names(FLOW_ENGINES):
        raise InputError(
            f"the engine {name!r} is for flows, in continuous time; for systems that move in steps there are "
            f"{', '.join(_names(ENGINES))}"
        )
    return _entry(name, ENGINES).load(options)


def find_flow_engine(name: str, variables: int, options: Options = NO_OPTIONS) -> FlowEngine:
    """The engine of flows with this name and these options, for a flow of so many variables."""
    if name not in _names(FLOW_ENGINES) and name in _names(ENGINES):
        raise InputError(
            f"the engine {name!r} is for systems that move in steps; for flows, in continuous time, there are "
            f"{', '.join(_names(FLOW_ENGINES))}"
        )
    entry = _entry(name, FLOW_ENGINES)
    if entry.most_variables is not None and variables > entry.most_variables:
        raise InputError(
            f"the engine {name!r} takes at most {entry.most_variables} variables, which is what is practical, and "
            f"this flow has {variables}; try --engine flowpipe"
        )
    return entry.load(options)


def check_options(name: str, options: Options) -> None:
    """An error for options that no engine of this name takes, whichever kind of time it is for."""
    flows = [entry for entry in FLOW_ENGINES if entry.name == name]
    if name not in _names(ENGINES):
        return flows[0].check(options)
    try:
        find_engine(name, options)
    except InputError as error:
        if not flows or any(option not in flows[0].option_names for option in options):
            raise error


def _names(entries: Iterable[EngineEntry[Any]]) -> list[str]:
    return [entry.name for entry in entries]


def _entry(name: str, entries: Iterable[EngineEntry[E]]) -> EngineEntry[E]:
    for entry in entries:
        if entry.name == name:
            return entry
    raise NameUnknown(f"there is no engine {name!r}{nearest(name, _names(entries))}")
