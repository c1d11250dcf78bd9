"""Flows: a model in continuous time, beside systems, which move in steps.

Inside a region the state moves by x' = f(x, d); the disturbances d (`between`) may vary in time in any measurable way.
All solutions count: where f is continuous but not Lipschitz there may be several from one state. A trajectory is
followed while it is in the region.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, overload

from vernal.model import expr as e
from vernal.model.arrays import Operands
from vernal.model.expr import Between, Expr, Operand, Var
from vernal.model.graph import draws, order, variables
from vernal.model.initial import Init
from vernal.model.motion import Motion, Rates
from vernal.model.sorts import REAL
from vernal.model.system import Agent, Fields, Model, Variable
from vernal.model.system_arguments import Declaration, GivenNames, Initials
from vernal.model.terms import terms
from vernal.model.traits import traits


class Flow(Model):
    """State variables with their region, initial states, and the rate of change of each variable."""

    tracer: ClassVar[Callable[..., Fields]]  # set by `vernal.model.declare_flow`, the home of `vn.Flow`

    @overload
    def __init__(
        self,
        name: str,
        state: tuple[Variable, ...],
        init: Init,
        rates: Mapping[str, Expr],
        lets: Mapping[str, Expr] = ...,
    ) -> None: ...

    @overload
    def __init__(
        self,
        name: str = "flow",
        *,
        state: Mapping[str, Declaration],
        init: Mapping[str, Initials],
        rates: Callable[[GivenNames], Mapping[str, Operands]],
        lets: Mapping[str, Callable[[GivenNames], Operand]] | None = None,
        where: Callable[[GivenNames], Sequence[Expr]] | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        name: str,
        state: tuple[Variable, ...],
        init: Init,
        *,
        motion: Motion,
        agents: tuple[Agent, ...] = (),
        lets: Mapping[str, Expr] = ...,
    ) -> None: ...

    def __init__(
        self,
        name: str = "flow",
        state: Any = (),
        init: Any = None,
        rates: Any = None,
        lets: Any = None,
        *,
        where: Any = None,
        motion: Motion | None = None,
        agents: tuple[Agent, ...] = (),
    ) -> None:
        """A flow from functions of names: `rates` gives the rate of change of each variable that has one.

        Each of `lets` is a named expression; one that is a `vn.between` is a disturbance that its uses share. A later
        let sees the earlier ones. Where `rates` is no function the arguments are the fields themselves.
        """
        if callable(rates):
            fields = Flow.tracer(name, state, init, rates, lets or {}, where)
        elif (rates is None) == (motion is None) or where is not None:
            raise TypeError("a flow is given by `rates`, a function of names, or by its fields, without `where`")
        else:
            fields = (name, state, init, motion or Rates(rates), agents, lets or {})
        super().__init__(*fields)


def region_problem(variable: Variable) -> str | None:
    """Why a variable cannot be one of a flow, if it cannot."""
    name = variable.name
    if variable.sort != REAL:
        return f'{name!r} is of sort {variable.sort}, but a flow moves reals: declare it as "real [lower, upper]"'
    if variable.lower is None or variable.upper is None:
        return (
            f"{name!r} has no range; in a flow the ranges are the region in which trajectories are followed: "
            'declare it as "real [lower, upper]"'
        )
    if variable.lower == variable.upper:
        return f"the range of {name!r} is one point; make it a constant, or give it a wider range"
    return None


WORDS: Mapping[type[Expr], str] = {e.Switch: "match"}  # where an operator is not written as its kind is called


def is_jump(node: Expr) -> bool:
    """Whether a number may jump where its arguments move a little; where atan2 does, it is taken for undefined."""
    return node.sort.is_number and not traits(node).continuous and not isinstance(node, e.Atan2)


def rate_problem(rate: Expr) -> str | None:
    """Why a closed expression cannot be a rate of change, if it cannot: a rate is continuous in state and disturbances.

    Where it is not, a solution need not exist (x' = if(x > 0, -1, 1) has none from 0 on).
    """
    for node in order([rate]):
        if isinstance(node, Between) and draws(node.args):
            return "the ends of a disturbance depend on another one; write it as a sum, such as d + between(0, 1)"
        if isinstance(node, e.Choose):
            return "`choose` takes one of several values at a step, and continuous time has none; use between(lo, hi)"
        if is_jump(node) and not _is_held(node):
            word = WORDS.get(type(node), type(node).__name__.lower())
            smooth = "min, max, abs, clip and relu are continuous"
            return f"`{word}` may jump, and a rate of change has to be continuous; {smooth}"
    return None


def _is_held(node: Expr) -> bool:
    """Whether what a number jumps with does so at instants only: labels, truth values and whole numbers that are held.

    Of a branching that is what decides it.
    """
    deciding = node.args[:1] if isinstance(node, e.If | e.Switch) else node.args
    return not draws(deciding) and all(var.sort != REAL for var in variables(deciding))


def constraint_problem(constraint: Expr) -> str | None:
    """Why a constraint on the initial states is none of a flow, if it is none: they are polyhedra."""
    for node in order([constraint]):
        if isinstance(node, e.Not | e.Or | e.If | e.Switch) or (isinstance(node, e.Compare) and node.op == "!="):
            return "the initial states of a flow are a polyhedron: write linear comparisons, all of which are to hold"
        if isinstance(node, e.Compare):
            left, right = node.args
            found, _ = terms((left, Fraction(1)), (right, Fraction(-1)))
            if not all(isinstance(term, Var) for term in found):
                return "the initial states of a flow are a polyhedron, but this comparison is not linear"
    return None
