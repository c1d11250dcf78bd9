"""Flows: a model in continuous time, beside systems, which move in steps.

Inside a region the state moves by x' = f(x, d); the disturbances d (`between`) may vary in time in any measurable way.
All solutions count: where f is continuous but not Lipschitz there may be several from one state. A trajectory is
followed while it is in the region.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from vernal.model.build import const
from vernal.model.expr import Between, Expr, Var
from vernal.model.graph import draws
from vernal.model.initial import Ends, Init, InitialSet
from vernal.model.portable import Portable
from vernal.model.system import System, Variable, resolve_lets


@dataclass(frozen=True)
class Flow(Portable):
    """State variables with their region, initial states, and the rate of change of each variable."""

    name: str
    state: tuple[Variable, ...]  # reals with both ends of their range, which is the region
    init: Init
    rates: Mapping[str, Expr] = field(hash=False)  # as written, over state, lets and disturbances; none is a rate of 0
    lets: Mapping[str, Expr] = field(default_factory=dict, hash=False)

    def __repr__(self) -> str:
        return f"<Flow {self.name}: {', '.join(variable.name for variable in self.state)}>"

    @property
    def vars(self) -> tuple[Var, ...]:
        """The state variables as they appear in expressions."""
        return tuple(variable.var for variable in self.state)

    @cached_property
    def vector_field(self) -> tuple[Expr, ...]:
        """The rate of change of each variable, over state variables and disturbances."""
        written = [self.rates.get(variable.name, const(0)) for variable in self.state]
        return tuple(resolve_lets(written, self.lets))

    @cached_property
    def disturbances(self) -> tuple[Between, ...]:
        """What disturbs it, each once."""
        return tuple(node for node in draws(self.vector_field) if isinstance(node, Between))

    @cached_property
    def region(self) -> tuple[Ends, ...]:
        """The ends of each variable's range."""
        return tuple((_given(variable.lower), _given(variable.upper)) for variable in self.state)

    @cached_property
    def initial(self) -> InitialSet:
        """Where every variable starts."""
        return InitialSet({v.var: (self.init.starts[v.name],) for v in self.state}, self.init.where)

    @cached_property
    def rate_step(self) -> System:
        """A system with the same variables, initial states and disturbances, whose step computes the rates.

        By it initial states and disturbances are named, sampled, recorded and read in the same way as those of systems.
        """
        rates = {variable.name: self.rates.get(variable.name, const(0)) for variable in self.state}
        return System(self.name, self.state, self.init, rates, (), self.lets)

    def starting(self, init: Init) -> Flow:
        """The same flow from elsewhere."""
        return replace(self, init=init)

    def resolve(self, expression: Expr) -> Expr:
        """An expression over state variables and lets, as one over state variables."""
        return resolve_lets([expression], self.lets)[0]


def _given(end: Fraction | None) -> Fraction:
    assert end is not None, "whoever makes a flow refuses a variable without a region"
    return end
