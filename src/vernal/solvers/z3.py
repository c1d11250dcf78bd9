"""Z3, a solver of satisfiability modulo theories: exact rationals, polynomials by cylindrical decomposition."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import z3
from flint import fmpz

from vernal.model.tick import idle
from vernal.solvers.base import Satisfiable, SmtSolved
from vernal.solvers.watch import watched

DIGITS = 30  # of an algebraic number that is not rational


@dataclass(eq=False)
class Z3:
    """Z3 through its own Python package; every question has a context of its own, so that it can be interrupted."""

    name = "z3"
    requires: tuple[str, ...] = ("z3",)

    def check(
        self,
        script: str,
        unknowns: Mapping[str, str],
        time_limit: float = float("inf"),
        tick: Callable[[], object] = idle,
    ) -> SmtSolved:
        return GrowingZ3().check(script, unknowns, time_limit, tick)

    def growing(self) -> GrowingZ3:
        """A script that is asked again and again while it grows."""
        return GrowingZ3()


class Context(z3.Context):  # type: ignore[misc]
    """A context that may be interrupted while it is made: what is not there yet is not deleted."""

    owner = False


class GrowingZ3:
    """One script: what is added stays, what is assumed is for one answer."""

    def __init__(self) -> None:
        self.context = Context()
        self.solver = z3.Solver(ctx=self.context)
        self.solver.set("ctrl_c", False)  # the signal is ours

    def check(
        self,
        more: str,
        unknowns: Mapping[str, str],
        time_limit: float = float("inf"),
        tick: Callable[[], object] = idle,
        assumed: Sequence[str] = (),
    ) -> SmtSolved:
        """Whether the script with these lines added can be satisfied, some truth values among its unknowns true."""
        if math.isfinite(time_limit):
            self.solver.set("timeout", max(1, int(1000 * time_limit)))
        found: list[Any] = []

        def work() -> None:
            self.solver.from_string(more)
            found.append(self.solver.check(*(z3.Bool(name, self.context) for name in assumed)))

        try:
            if not watched(work, self.context.interrupt, time_limit, tick):
                return SmtSolved(Satisfiable.UNKNOWN, said="did not stop in time")
        except z3.Z3Exception as error:  # out of memory, say
            return SmtSolved(Satisfiable.UNKNOWN, said=str(error))
        if found[0] == z3.unsat:
            return SmtSolved(Satisfiable.NO)
        if found[0] == z3.unknown:
            return SmtSolved(Satisfiable.UNKNOWN, said=self.solver.reason_unknown())
        return SmtSolved(Satisfiable.YES, _values(self.solver.model(), unknowns, self.context))


def _values(model: Any, unknowns: Mapping[str, str], context: Any) -> dict[str, Fraction]:
    make = {"Real": z3.Real, "Bool": z3.Bool, "Int": z3.Int}
    return {
        name: _value(model.eval(make[sort](name, context), model_completion=True)) for name, sort in unknowns.items()
    }


def _value(term: Any) -> Fraction:
    """A number, as it is or (an irrational one) rounded; a truth value as 0 or 1."""
    if z3.is_bool(term):
        return Fraction(int(z3.is_true(term)))
    if z3.is_int_value(term):
        return Fraction(int(fmpz(term.as_string())))
    near = term.approx(DIGITS) if z3.is_algebraic_value(term) else term
    above, below = (int(fmpz(part.as_string())) for part in (near.numerator(), near.denominator()))
    return Fraction(above, below)  # by way of fmpz, since int reads no number of more than 4,300 digits
