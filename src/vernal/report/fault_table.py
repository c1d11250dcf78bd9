"""Faults for people and for machines: which decisions another action mends, and from where on all is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from vernal.evidence.document_head import head
from vernal.evidence.result import VIOLATED
from vernal.evidence.trace_values import write_value
from vernal.printable import MAX_FORMULA, printable, shortened
from vernal.queries.faults import AgentDecision, Effect, Faults, OtherAction, Prospect
from vernal.report.frames import html_lines, html_table
from vernal.report.tables import WIDTH, Column, aligned
from vernal.report.text import MARGIN, verdict_word
from vernal.report.values import scalar

HOPE = {Effect.KEPT: "yes", Effect.BROKEN: "no", Effect.UNKNOWN: "unknown"}
NOTHING = "-"


def faults_text(faults: Faults, *, width: int = WIDTH) -> str:
    """The claim, a row for each decision, and what follows from them in words."""
    table = aligned(fault_columns(faults), width=width, indent=MARGIN)
    return printable("\n".join([_asked(faults), table, *(MARGIN + line for line in conclusions(faults))]))


def _asked(faults: Faults) -> str:
    formula = shortened(str(faults.formula), MAX_FORMULA)
    named = f"{faults.name}: {formula}" if faults.name else formula
    return f"{verdict_word(VIOLATED)}  {named}  at step {len(faults.trace) - 1}"


def fault_columns(faults: Faults) -> list[Column]:
    """A row for each decision: what was done, what would have kept the claim, what stays unknown."""
    hopes = {one.position: HOPE[one.effect] for one in faults.prospects}
    columns = [
        Column("step", [str(one.position) for one in faults.decisions]),
        Column("agent", [one.agent for one in faults.decisions], left=True),
        Column("action", [action_word(faults, one.agent, one.taken) for one in faults.decisions], left=True),
        *(_with_effect(faults, title, effect) for title, effect in TITLES.items()),
        Column("some actions could", [hopes.get(one.position, "") for one in faults.decisions], left=True),
    ]
    always = ("step", "agent", "action", "kept by", "some actions could")
    return [column for column in columns if column.title in always or any(cell != NOTHING for cell in column.cells)]


TITLES = {"kept by": Effect.KEPT, "unknown of": Effect.UNKNOWN, "no step after": Effect.STOPPED}


def _with_effect(faults: Faults, title: str, effect: Effect) -> Column:
    cells = [_listed(faults, one.agent, one.with_effect(effect)) for one in faults.decisions]
    return Column(title, cells, left=True)


def _listed(faults: Faults, agent: str, actions: Iterable[int]) -> str:
    return ", ".join(action_word(faults, agent, action) for action in actions) or NOTHING


def action_word(faults: Faults, agent: str, action: int) -> str:
    """An action by its label, or its number."""
    return scalar(Fraction(action), faults.sort(agent))


def conclusions(faults: Faults) -> list[str]:
    """The last decision that was wrong, the last state from which the claim could be kept, and what is open."""
    lines = [*_last_fault(faults), *_hope(faults)]
    reasons = {one.reason for each in faults.decisions for one in each.alternatives if one.effect is Effect.UNKNOWN}
    reasons |= {one.reason for one in faults.prospects if one.effect is Effect.UNKNOWN}
    return lines + [f"unknown: {reason}" for reason in sorted(filter(None, reasons))]


def _last_fault(faults: Faults) -> list[str]:
    last = faults.last
    if last is None:
        none = not any(one.with_effect(Effect.UNKNOWN) for one in faults.decisions)
        known = "" if none else " that is known"
        return [f"there is no single decision{known} that another action mends, if the policies act afterwards"]
    taken = action_word(faults, last.agent, last.taken)
    better = _listed(faults, last.agent, last.mended_by).replace(", ", " or ")
    said = f"last fault: step {last.position}, {last.agent} takes {taken}; {better} keeps the claim, whatever is drawn"
    return [f"{said}, with the policies afterwards"]


def _hope(faults: Faults) -> list[str]:
    hope, lost = faults.last_hope, faults.lost_from
    lines = []
    if hope is not None:
        told = ", ".join(f"{name} {action_word(faults, name, one)}" for name, one in hope.actions.items())
        begins = f", beginning with {told}" if told else ""
        lines.append(f"last hope: step {hope.position}: some actions and draws keep the claim from there{begins}")
    if lost is not None:
        lines.append(f"lost from step {lost} on: no actions keep the claim, whatever is drawn")
    return lines


def show_faults(faults: Faults) -> str:
    """The same for a notebook, and as a section of a report."""
    return html_table(fault_columns(faults)) + html_lines(conclusions(faults))


# For machines ---------------------------------------------------------------------------------------------------------


def faults_document(faults: Faults) -> dict[str, Any]:
    """What `vernal faults --json` writes."""
    last, hope = faults.last, faults.last_hope
    return {
        **head(faults.task),
        "formula": str(faults.formula),
        "property": faults.name,
        "decisions": [_decision(faults, one) for one in faults.decisions],
        "prospects": [_prospect(faults, one) for one in faults.prospects],
        "last_fault": None if last is None else _fault(faults, last),
        "last_hope": None if hope is None else hope.position,
        "lost_from": faults.lost_from,
    }


def _decision(faults: Faults, one: AgentDecision) -> dict[str, Any]:
    others = [_alternative(faults, one.agent, each) for each in one.alternatives]
    return {**_place(faults, one), "alternatives": others}


def _fault(faults: Faults, one: AgentDecision) -> dict[str, Any]:
    return {**_place(faults, one), "kept_by": [_value(faults, one.agent, action) for action in one.mended_by]}


def _place(faults: Faults, one: AgentDecision) -> dict[str, Any]:
    return {"step": one.position, "agent": one.agent, "action": _value(faults, one.agent, one.taken)}


def _alternative(faults: Faults, agent: str, one: OtherAction) -> dict[str, Any]:
    action = _value(faults, agent, one.action)
    return {"action": action, "effect": one.effect.value, "reason": one.reason, "engine": one.engine}


def _prospect(faults: Faults, one: Prospect) -> dict[str, Any]:
    actions: Mapping[str, Any] = {name: _value(faults, name, action) for name, action in one.actions.items()}
    return {"step": one.position, "effect": one.effect.value, "actions": actions, "reason": one.reason}


def _value(faults: Faults, agent: str, action: int) -> Any:
    return write_value(Fraction(action), faults.sort(agent))
