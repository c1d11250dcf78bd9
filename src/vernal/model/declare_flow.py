"""Flows written in Python: functions are called once, with names in place of numbers, and return the graph.

    jet = vn.Flow(
        "jet",
        state={"x": vn.real(-1, 1), "y": vn.real(-1, 1)},
        init={"x": vn.interval(0.45, 0.5), "y": vn.interval(-0.6, -0.55)},
        rates=lambda s: {"x": -s.y - 1.5 * s.x**2 - 0.5 * s.x**3 - 0.1, "y": 3 * s.x - s.y},
    )

The result is the same `Flow` a task file gives, down to the last node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from vernal.errors import TypeClash
from vernal.model import build
from vernal.model.arrays import Operands
from vernal.model.checks import check_rate
from vernal.model.clock import clock_name, with_clock
from vernal.model.closed_graph import resolve_lets
from vernal.model.declare import (
    declared_variable,
    let_var,
    name_draws,
    returned,
    starts_of,
    trace_lets,
    variables_of,
    visible_names,
)
from vernal.model.expr import Expr, Operand
from vernal.model.flow import Flow, constraint_problem, rate_problem, region_problem
from vernal.model.initial import Init
from vernal.model.motion import Rates
from vernal.model.system import Fields
from vernal.model.system_arguments import Declaration, GivenNames, Initials
from vernal.model.user_functions import called


def trace_flow(
    name: str,
    state: Mapping[str, Declaration],
    init: Mapping[str, Initials],
    rates: Callable[[GivenNames], Mapping[str, Operands]],
    lets: Mapping[str, Callable[[GivenNames], Operand]],
    where: Callable[[GivenNames], Sequence[Expr]] | None,
) -> Fields:
    """The fields of a flow that is given by functions of names."""
    declared = {v.name: v for n, d in state.items() for v in variables_of(n, d)}
    _refuse(map(region_problem, declared.values()))
    visible = {**clock_name([*state, *lets]), **visible_names(declared)}
    traced = trace_lets(lets, visible)
    named = GivenNames({**visible, **{n: let_var(n, body) for n, body in traced.items()}})
    given = returned("rates", called("rates", rates, named), declared)
    written = {n: build.const(x) for n, x in given.items()}
    for n, rate in written.items():
        check_rate(declared_variable(declared, n), rate)
    all_lets, changing = name_draws(traced, written)
    _refuse(map(rate_problem, resolve_lets(list(changing.values()), all_lets)))
    start = Init(starts_of(init, declared), tuple(where(GivenNames(visible_names(declared)))) if where else ())
    _refuse(map(constraint_problem, start.where))
    return with_clock((name, tuple(declared.values()), start, Rates(changing), (), all_lets))


def _refuse(problems: Iterable[str | None]) -> None:
    for problem in problems:
        if problem is not None:
            raise TypeClash(problem)


Flow.tracer = trace_flow
