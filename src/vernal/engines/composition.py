"""Engines that ask other engines, put together: which ones they ask is decided here, and in no engine's package.

Modules are imported where an engine is made, so that whoever asks for one loads no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vernal.engines.base import Engine
from vernal.engines.options import DepthOptions, InductionOptions, PredicateOptions

if TYPE_CHECKING:
    from vernal.engines.induction.engine import Induction
    from vernal.engines.liveness.method import ProofMethod
    from vernal.engines.pipe_maker import PipeEngine


MAX_CERTIFIED_STATES = 100_000  # that are enumerated for a certificate alone


def split() -> Engine:
    """The engine `split`, which breeds simulated states in its pauses."""
    from vernal.engines.split.engine import BranchAndBound

    return BranchAndBound(breeding)


def breeding() -> Engine:
    """What breeds simulated states, made when it is first needed."""
    from vernal.engines.falsify.engine import Falsify

    return Falsify()


def predicates(options: PredicateOptions | None = None) -> Engine:
    """The engine `predicates`, whose hardest tests are mixed-integer programs."""
    from vernal.engines.predicates.engine import Predicates

    return Predicates(options, programs)


def backward() -> Engine:
    """The engine `backward`: the initial states that may fail at once, looked at one by one."""
    from vernal.engines.chain import Chain, InOrder
    from vernal.engines.explicit.first_step import FirstStep
    from vernal.reduce.backward import Backward

    return Chain((Backward(),), InOrder("backward", (FirstStep(),)))


def programs() -> Engine:
    """The engine `milp`, made when it is first needed."""
    from vernal.engines.programs.milp import Milp

    return Milp()


def bounded() -> tuple[Engine, ...]:
    """Engines for bounded questions, cheapest first."""
    from vernal.engines.bounds.engine import Bounds
    from vernal.engines.falsify.engine import Falsify
    from vernal.engines.paths.engine import Paths

    return Falsify(generations=0), Bounds(), Paths()


def deepening(options: DepthOptions = DepthOptions()) -> Engine:
    """The engine `deepening`, with engines for bounded questions."""
    from vernal.engines.deepening.engine import Deepening

    return Deepening(options, bounded())


def induction(options: InductionOptions = InductionOptions()) -> Induction:
    """The engine `induction`, with engines for bases and steps."""
    from vernal.engines.bounds.engine import Bounds
    from vernal.engines.induction.engine import Induction
    from vernal.engines.paths.engine import Paths

    return Induction(options, bounded(), (Bounds(patience=2), Paths()))


def pipe_engines() -> list[PipeEngine]:
    """The engines that make flowpipes, the direct road first: its flowpipes are tighter where it gets on."""
    from vernal.engines.flow.abstract import NeuralEngine
    from vernal.engines.flow.direct import DirectFlowpipe
    from vernal.engines.flow.modes import ModeEngine

    return [DirectFlowpipe(), NeuralEngine(), ModeEngine()]


# Liveness -------------------------------------------------------------------------------------------------------------


def liveness() -> Engine:
    """The engine `liveness`, with all its methods."""
    from vernal.engines.liveness.engine import Liveness

    return Liveness((*quick_methods(), *patient_methods()))


def quick_methods() -> tuple[ProofMethod, ...]:
    """Methods of `liveness` that end soon, each alone in a glance of `auto`."""
    from vernal.engines.bounds.engine import Bounds
    from vernal.engines.deepening.glance import FewSets
    from vernal.engines.liveness.cycles import COARSE, FEW_BOXES, FairCycles
    from vernal.engines.liveness.promptness import Promptness
    from vernal.engines.paths.engine import Paths

    few = FairCycles(kept_for_all_time(), COARSE, FEW_BOXES)
    return Promptness((FewSets(),), (0.5,)), few, Promptness((Bounds(), Paths(), induction()))


def patient_methods() -> tuple[ProofMethod, ...]:
    """Methods of `liveness` that take what time they are given."""
    from vernal.engines.invariants.engine import Invariants
    from vernal.engines.liveness.counting import Counting
    from vernal.engines.liveness.cycles import FINE, FairCycles
    from vernal.engines.liveness.promptness import Promptness

    engines = kept_for_all_time()
    return Promptness((induction(), Invariants())), FairCycles(engines, FINE), Counting(engines)


def kept_for_all_time() -> tuple[Engine, ...]:
    """For claims with a bound and without; the first two say at once that they need one."""
    from vernal.engines.bounds.engine import Bounds
    from vernal.engines.invariants.engine import Invariants
    from vernal.engines.paths.engine import Paths

    return Bounds(), Paths(), induction(), Invariants()


# Certificates ---------------------------------------------------------------------------------------------------------


def certifying() -> tuple[Engine, ...]:
    """Engines whose proofs keep the sets they rest on, for a claim that another one has proven without."""
    from vernal.engines.explicit.engine import Explicit
    from vernal.engines.invariants.engine import Invariants
    from vernal.engines.liveness.cycles import FairCycles
    from vernal.engines.liveness.engine import Liveness
    from vernal.engines.liveness.promptness import Promptness

    waiting = Liveness((Promptness((Invariants(),)), FairCycles(kept_for_all_time())))
    return Explicit(MAX_CERTIFIED_STATES), Invariants(), waiting
