"""Which quantities a picture shows: those that are named by `of`, else all, and those that formulas speak of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vernal.engines.reach.ask import Named, named
from vernal.errors import InputError
from vernal.evidence.confirm import Facts
from vernal.evidence.trace import Trace, TraceNumber
from vernal.evidence.walk import trace_number
from vernal.interpret.exact import ExactValue
from vernal.interpret.numbers.reals import Undefined
from vernal.logic.formula import Formula
from vernal.logic.task import Task
from vernal.model.expr import Expr
from vernal.report.limits import limits, quantities_of
from vernal.report.run_table import Quantity, memories, quantities
from vernal.report.subject import trace_task
from vernal.report.values import Series, series
from vernal.simulate.runs import Runs

Of = str | Expr | Sequence[str | Expr]  # one expression or several, over the names of a task


def trace_series(trace: Trace, of: Of | None, formula: Formula | None) -> list[Series]:
    """What is drawn of a trace: what is named, else all of it after what the formula speaks of."""
    recorded = {item.title: item for item in series(trace)}
    if of is not None:
        return [one for name in _listed(of) for one in _of_trace(trace, name, recorded)]
    asked = {} if formula is None else quantities_of(formula)
    computed = [(name, node) for name, node in asked.items() if name not in recorded]
    first = [recorded[name] for name in asked if name in recorded] + _computed(trace, computed)
    return [*first, *(item for name, item in recorded.items() if name not in asked)]


def _listed(of: Of) -> list[str | Expr]:
    found = [of] if isinstance(of, str | Expr) else list(of)
    if not found:
        raise InputError("there is nothing to draw: name at least one expression, for example --of x")
    return found


def _of_trace(trace: Trace, name: str | Expr, recorded: dict[str, Series]) -> list[Series]:
    """A quantity that the trace records, draws among them, or an expression over the task's names."""
    if isinstance(name, str) and name in recorded:
        return [recorded[name]]
    return _computed(trace, named(trace_task(trace), [name]))


def _computed(trace: Trace, expressions: Sequence[Named]) -> list[Series]:
    """Expressions at every position of a trace, in exact arithmetic."""
    if not expressions:
        return []
    facts = Facts(trace, trace_task(trace).model)
    return [
        Series(name, "state", node.sort, tuple(_number(facts.value(facts.closed(node), t)) for t in range(len(trace))))
        for name, node in expressions
    ]


def _number(value: ExactValue) -> TraceNumber | None:
    return None if value is None or isinstance(value, tuple | Undefined) else trace_number(value)


def run_quantities(runs: Runs, task: Task, of: Of | None) -> list[Quantity]:
    """What is drawn of runs: what is named, else state and actions after what the properties speak of besides."""
    recorded = {item.title: item for item in [*quantities(runs), *memories(runs)]}
    if of is not None:
        return [one for name in _listed(of) for one in _of_runs(runs, task, name, recorded)]
    asked = {name: node for formula in task.properties.values() for name, node in quantities_of(formula).items()}
    return _evaluated(runs, [pair for pair in asked.items() if pair[0] not in recorded]) + quantities(runs)


def _of_runs(runs: Runs, task: Task, name: str | Expr, recorded: dict[str, Quantity]) -> list[Quantity]:
    if isinstance(name, str) and name in recorded:
        return [recorded[name]]
    return _evaluated(runs, named(task, [name]))


def _evaluated(runs: Runs, expressions: Sequence[Named]) -> list[Quantity]:
    values = runs.values([node for _, node in expressions]) if expressions else []
    return [Quantity(name, node.sort, found) for (name, node), found in zip(expressions, values, strict=True)]


def all_limits(formulas: Iterable[Formula]) -> dict[str, list[float]]:
    """The limits of several formulas together."""
    found: dict[str, set[float]] = {}
    for formula in formulas:
        for name, values in limits(formula).items():
            found.setdefault(name, set()).update(values)
    return {name: sorted(values) for name, values in found.items()}
