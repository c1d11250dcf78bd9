"""Results for machines: one JSON document, the same head everywhere, the inputs' hashes as its fingerprint."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

from vernal.evidence.codec import PAYLOADS, encoded
from vernal.evidence.document_head import exact_number, head
from vernal.evidence.reach import UntilTime
from vernal.evidence.result import EngineAttempt, Result
from vernal.interpret.numbers.rounding import float_below
from vernal.logic.task import Task
from vernal.logic.times import Time
from vernal.queries.sweep import SweepRow
from vernal.report.attempt_words import method
from vernal.report.next_steps import suggestions

SCHEMAS = ("result", "sweep", "map", "reach", "faults", "trace", "certificate", "task", "automaton")


def document(task: Task, results: Iterable[Result]) -> dict[str, Any]:
    """What `vernal check --json` writes."""
    return {**head(task), "results": [result_object(task, result) for result in results]}


def result_object(task: Task, result: Result) -> dict[str, Any]:
    """One result, its evidence included."""
    shown = {} if result.evidence is None else encoded(result.evidence, task.model)
    return {
        "property": result.property,
        "formula": result.formula,
        "verdict": result.verdict.value,
        "scope": result.scope,
        "reason": result.reason,
        "proven": result.proven,
        "proven_steps": result.proven_steps,
        "tried": [_attempt(one) for one in result.attempts],
        "try": [{"command": one.command, "why": one.why} for one in suggestions(result)],
        "assurance": None if result.assurance is None else str(result.assurance),
        "margin": _finite(result.margin),
        "vacuous": result.vacuous,
        "notes": list(result.notes),
        "failed": [{"engine": one.engine, "exception": one.exception} for one in result.failed],
        "engine": result.engine,
        "seconds": round(result.seconds, 6),
        "statistics": _statistics(result.statistics),
        "evidence": shown.get("evidence"),
        **{key: shown.get(key) for key in PAYLOADS},
        **({} if result.uncertified is None else {"uncertified": result.uncertified}),
        **(_times(result) if task.model.motion.time is Time.SECONDS else {}),
    }


def _attempt(one: EngineAttempt) -> dict[str, Any]:
    """One engine that left the question open: what it tried, for how long, and what stopped it."""
    return {"engine": one.engine, "method": method(one.engine), "seconds": one.seconds, "outcome": one.outcome}


def _times(result: Result) -> dict[str, Any]:
    """What is said of times, in continuous time alone."""
    reach = result.reach
    inside = reach.inside if isinstance(reach, UntilTime) else None
    return {
        "proven_time": result.proven_time,
        "inside_until": None if inside is None else float_below(inside),
        "violation_time": result.time,
    }


def sweep_document(task: Task, rows: Sequence[SweepRow]) -> dict[str, Any]:
    """What `vernal sweep --json` writes; the head is that of the task as it stands, without the swept values."""
    return {**head(task), "rows": [_row_object(row) for row in rows]}


def _row_object(row: SweepRow) -> dict[str, Any]:
    result = row.result
    return {
        "parameters": {name: exact_number(value) for name, value in row.parameters.items()},
        "property": result.property,
        "formula": result.formula,
        "verdict": result.verdict.value,
        "scope": result.scope,
        "reason": result.reason,
        "proven_steps": result.proven_steps,
        "assurance": None if result.assurance is None else str(result.assurance),
        "margin": _finite(result.margin),
        "engine": result.engine,
        "seconds": round(result.seconds, 6),
        "statistics": _statistics(result.statistics),
        **({} if result.proven_time is None else {"proven_time": result.proven_time}),
    }


def _finite(value: float | None) -> float | None:
    """JSON has no infinity; a margin without bound is no margin."""
    return value if value is not None and math.isfinite(value) else None


def _statistics(statistics: Mapping[str, int | float | str]) -> dict[str, int | float | str | None]:
    return {
        name: _finite(value) if isinstance(value, float) else value if isinstance(value, str) else int(value)
        for name, value in statistics.items()
    }


def dump(content: Mapping[str, Any]) -> str:
    """The document as text: indented, readable, strictly JSON."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a document; that of task files is derived from their declaration."""
    if name == "task":
        return _task_schema()
    if name == "automaton":
        return _automaton_schema()
    text = resources.files("vernal.report").joinpath("schema", f"{name}.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def _task_schema() -> dict[str, Any]:
    import msgspec

    from vernal.formats.task.schema import TaskTable

    made = msgspec.json.schema(TaskTable)
    tables = made["$defs"]
    top = tables.pop("TaskTable")  # not referred to: editors find a misspelt table at its line only at the top itself
    del tables["AgentTable"]["required"]  # a world may say the rest
    _place_unknown_names([top, tables])
    title = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A Vernal task file (TOML)"}
    return {**top, **title, "required": ["vernal"], "$defs": tables}


def _place_unknown_names(part: Any) -> None:
    """Where no other names are allowed, the entry of such a name is wrong and not the table that it is in."""
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _place_unknown_names(inner)
    if isinstance(part, dict) and part.get("additionalProperties") is False:
        part["additionalProperties"] = {"not": {"title": "a name that is not known here"}}


def _automaton_schema() -> dict[str, Any]:
    import msgspec

    from vernal.formats.automata import AutomatonTable

    title = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A hybrid automaton of Vernal (JSON)"}
    return {**title, **msgspec.json.schema(AutomatonTable)}
