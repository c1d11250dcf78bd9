"""Where a path ends because a policy chose what cannot be done there: the policy is stuck, and the result says so."""

from __future__ import annotations

from fractions import Fraction

from vernal.evidence.trace import Trace
from vernal.evidence.trace_values import write_value
from vernal.interpret import exact
from vernal.interpret.exact import Given
from vernal.logic.task import Task
from vernal.model.expr import Expr

MAX_SHOWN = 12  # variables of the state


def stuck_note(task: Task, trace: Trace | None) -> str | None:
    """At which step of a path that ends which choice has no outcome although others have; None where that is not so."""
    if trace is None or not trace.complete or trace.loop is not None or not task.applicable:
        return None
    last, agent = trace.steps[-1], task.system.agents[0]
    action, values = last.actions.get(agent.name), {v: last.state.get(v.name) for v in task.system.step.state}
    given: dict[Expr, Given] = {var: value for var, value in values.items() if isinstance(value, Fraction)}
    if not isinstance(action, Fraction) or len(given) < len(values):
        return None
    truths = dict(zip(task.applicable, exact.evaluate(list(task.applicable.values()), given), strict=True))
    chosen = agent.var.sort.labels[int(action)]
    others = [label for label, truth in truths.items() if truth is True and label != chosen]
    if truths.get(chosen) is not False or not others:
        return None
    where, able = f"the policy is stuck at step {len(trace) - 1}", " and ".join(others)
    return f"{where}: it chooses {chosen}, where only {able} can be done ({_state(task, trace)})"


def _state(task: Task, trace: Trace) -> str:
    last, variables = trace.steps[-1].state, task.system.state
    written = {variable.name: write_value(last[variable.name], variable.sort) for variable in variables[:MAX_SHOWN]}
    shown = [f"{name} = {str(value).lower() if isinstance(value, bool) else value}" for name, value in written.items()]
    return ", ".join(shown + ["..."] * (len(variables) > MAX_SHOWN))
