"""The options of engines: typed values, checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum

from vernal.errors import InputError, nearest
from vernal.logic.task import Transitions
from vernal.solvers import registry
from vernal.solvers.base import MilpSolver, ReluSolver, SmtSolver


class Encoding(StrEnum):
    """How a refuting path is asked for: by one program, or by one for each case."""

    MONOLITHIC = "monolithic"
    COMPOSITIONAL = "compositional"


class Unroll(StrEnum):
    """How a policy with memory is unrolled: step by step, or over its whole history (see `reduce.history`)."""

    RECURSIVE = "recursive"
    IOS = "ios"
    IOD = "iod"


@dataclass(frozen=True)
class EngineOptions:
    """The options of an engine without any; those of others have fields."""

    def __post_init__(self) -> None:
        for entry in fields(self):
            object.__setattr__(self, entry.name, _checked(entry.name, entry.default, getattr(self, entry.name)))


@dataclass(frozen=True)
class BoundsOptions(EngineOptions):
    """`tighten`: linear bounds, or intervals without it."""

    tighten: bool = True


@dataclass(frozen=True)
class MilpOptions(EngineOptions):
    """`tighten`: linear bounds, or intervals without it; `deepen`: bound after bound, until one decides."""

    encoding: Encoding = Encoding.MONOLITHIC
    solver: str | MilpSolver = registry.DEFAULT
    unroll: Unroll = Unroll.RECURSIVE
    tighten: bool = True
    deepen: bool = False


@dataclass(frozen=True)
class SmtOptions(EngineOptions):
    """`deepen`: bound after bound, until one decides."""

    solver: str | SmtSolver = registry.DEFAULT_SMT
    deepen: bool = False


@dataclass(frozen=True)
class BmcOptions(EngineOptions):
    """`depth`: how many steps paths have at most where a formula has no bound."""

    depth: int = 100
    solver: str | SmtSolver = registry.DEFAULT_SMT


@dataclass(frozen=True)
class DepthOptions(EngineOptions):
    """`depth`: how many steps are looked at where a formula has no bound."""

    depth: int = 100


@dataclass(frozen=True)
class InductionOptions(EngineOptions):
    """`depth`: of how many positions an induction may take the claim for granted."""

    depth: int = 8


class Precision(StrEnum):
    """How a test that only saves others is made: not at all, by bounds over the reals, or exactly."""

    NONE = "none"
    RELAXED = "relaxed"
    EXACT = "exact"


class TransitionTest(StrEnum):
    """How tests of an abstraction that ask the policy are answered: as we do, or as the ICAPS 2022 paper does."""

    OWN = "own"
    SOLVER = "solver"
    RELAXED_SOLVER = "relaxed+solver"
    FIXED_SOLVER = "relaxed+fixed+solver"
    BRANCHING = "relaxed+branching"
    RELAXED = "relaxed"


WITH_SOLVER = {TransitionTest.SOLVER, TransitionTest.RELAXED_SOLVER, TransitionTest.FIXED_SOLVER}
BOUNDS = "bounds"  # the relaxed test that is our own; any other is a solver of ReLU networks


@dataclass(frozen=True)
class PredicateOptions(EngineOptions):
    """Of predicate abstraction. `policy`: the policy restricts what is abstracted; without it, every action is taken.

    `selection` and `applicability` are the tests that may come before those of transitions: whether the policy takes
    a label anywhere in an abstract state, and whether it does so where an operator is applicable. `refine`: further
    predicates are looked for where those given do not decide. `abstraction`: it is part of the result, with every label
    of its transitions. `shortest`: of unsafe paths, look for one that no other is shorter than. `follow`: concrete
    states are followed where an unsafe abstract state is reachable; without it the abstraction is all there is, and
    nothing is refined.

    `test`, `relaxation` (`bounds`, or a solver of ReLU networks) and `solver` are for comparison: see `configurations`.
    """

    selection: Precision = Precision.NONE
    applicability: Precision = Precision.NONE
    policy: bool = True
    refine: bool = True
    abstraction: bool = False
    shortest: bool = False
    follow: bool = True
    test: TransitionTest = TransitionTest.OWN
    relaxation: str | ReluSolver = BOUNDS
    solver: str | SmtSolver = registry.DEFAULT_SMT

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relaxation != BOUNDS and not self._relaxes:
            raise InputError(f"the option relaxation is for a relaxed test, not for the test {str(self.test)!r}")
        if self.solver != registry.DEFAULT_SMT and self.test not in WITH_SOLVER:
            raise InputError(f"the option solver is for a test by a solver, not for the test {str(self.test)!r}")

    @property
    def _relaxes(self) -> bool:
        return self.test not in (TransitionTest.OWN, TransitionTest.SOLVER)

    @property
    def trusts_a_solver(self) -> bool:
        """Whether a proof may rest on what a solver says."""
        return self.test in WITH_SOLVER or (self._relaxes and self.relaxation != BOUNDS)


@dataclass(frozen=True)
class FlowpipeOptions(EngineOptions):
    """Of flowpipes. `directions`: in which directions sets are bounded, besides those of the formula.

    `box` (the variables), `octagon` (also sums and differences of every two), linear expressions with semicolons
    between them, or `auto`, which chooses.
    """

    directions: str = "auto"


@dataclass(frozen=True)
class AbstractionOptions(EngineOptions):
    """Of neural abstractions. `transitions`: locations between which a trajectory may change share a facet, or a point;
    without it, as the task says, or a facet.

    `directions`: as of flowpipes; `auto` begins with the box.
    """

    transitions: Transitions | None = None
    directions: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.transitions is not None:
            object.__setattr__(self, "transitions", _checked("transitions", Transitions.FACET, self.transitions))


def _checked(name: str, default: object, value: object) -> object:
    """A value of the kind of the default; a word for one of an enum's members is that member."""
    match default:
        case bool() if not isinstance(value, bool):
            raise InputError(f"the option {name} is True or False, not {value!r}")
        case int() if not isinstance(default, bool) and (not isinstance(value, int) or isinstance(value, bool)):
            raise InputError(f"the option {name} is a number of steps, not {value!r}")
        case int() if not isinstance(default, bool) and isinstance(value, int) and value < 1:
            raise InputError(f"the option {name} is at least 1, not {value}")
        case StrEnum():
            words = [str(member) for member in type(default)]
            if value not in words:
                raise InputError(f"there is no {name} {value!r}{nearest(str(value), words)}")
            return type(default)(value)
        case str() if not isinstance(value, str) and not hasattr(value, "name"):
            raise InputError(f"the option {name} is a name, not {value!r}")
    return value
