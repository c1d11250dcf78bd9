"""Evidence files: what a result shows, as JSON, with the fingerprints of all it was made from.

A file says which task and networks it is about and carries a hash of all it says, so that `vernal replay` needs nothing
else. What it shows is written and read by its kind (`codec`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from vernal.errors import FormatError
from vernal.evidence.codec import codec_of, encoded
from vernal.evidence.document_head import SCHEMA_VERSION, head
from vernal.evidence.kinds import Evidence
from vernal.evidence.result import Result, Verdict
from vernal.evidence.trace_file import exact_object
from vernal.evidence.trace_values import read_number
from vernal.logic.task import Task
from vernal.model.clock import CLOCK, clock, clocked
from vernal.model.system import Model


@dataclass(frozen=True)
class EvidenceFile:
    """An evidence file, read but not yet believed: what it shows is still JSON, and belongs to the task it names."""

    task: Mapping[str, Any]
    formula: str
    property: str | None
    verdict: Verdict
    evidence: str  # its kind
    sha256: str
    content: Mapping[str, Any]  # the whole document
    time: str | None = None  # what a formula without a name counts, where the file says it

    def is_intact(self) -> bool:
        """Whether the file still has the hash it was written with."""
        return fingerprint(self.content) == self.sha256


def fingerprint(content: Mapping[str, Any]) -> str:
    """The sha256 of a trace file's canonical JSON (sorted keys, no spaces) without the hash itself.

    Head and formula count too: a formula changed in a digit may well be violated by the same path.
    """
    signed = {key: item for key, item in content.items() if key != "sha256"}
    text = json.dumps(signed, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def document(task: Task, result: Result) -> dict[str, Any]:
    """The content of a file for the evidence of a result."""
    assert result.evidence is not None
    content = {
        **head(task),
        "formula": result.formula,
        "property": result.property,
        "verdict": result.verdict.value,
        **({"time": task.times[None].value} if result.property is None and None in task.times else {}),
        **encoded(result.evidence, _told(task.model, result.evidence)),
    }
    return {**content, "sha256": fingerprint(content)}


def _told(model: Model, evidence: Evidence) -> Model:
    """The model with a clock, where evidence says its time and only the formula names it."""
    told = evidence.path is not None and CLOCK in evidence.path.steps[0].state
    return clocked(model, [clock().var]) if told else model


def dump(task: Task, result: Result) -> str:
    """A trace file as text."""
    return json.dumps(document(task, result), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


HEAD_KEYS = ("schema_version", "tool", "task", "formula", "property", "verdict", "evidence", "sha256")
TASK_KEYS = ("name", "file", "sha256", "parameters", "networks")


def load(text: str) -> EvidenceFile:
    """Read an evidence file; broken ones are refused with the reason, edited ones are for replay to find."""
    content = _parse(text)
    kind = codec_of(content.get("evidence") if isinstance(content, dict) else None)
    fields = exact_object(content, (*HEAD_KEYS, *kind.keys), "trace file", more=(*kind.more, "time"))
    if fields["schema_version"] != SCHEMA_VERSION:
        raise FormatError(f"trace file: schema_version is {fields['schema_version']!r}, not {SCHEMA_VERSION}")
    if not isinstance(fields["formula"], str) or not isinstance(fields["sha256"], str):
        raise FormatError("trace file: formula and sha256 must be text")
    if not isinstance(fields["property"], str | None):
        raise FormatError("trace file: property must be text or null")
    if fields["verdict"] not in ("holds", "violated"):
        raise FormatError(f"trace file: a trace belongs to holds or violated, not to {fields['verdict']!r}")
    if fields["verdict"] not in kind.verdicts:
        known = " or ".join(verdict.value for verdict in kind.verdicts)
        raise FormatError(f"trace file: evidence of the kind {fields['evidence']} belongs to a claim that {known}")
    if not isinstance(fields.get("time"), str | None):
        raise FormatError("trace file: time must be text")
    told = (fields["formula"], fields["property"], Verdict(fields["verdict"]), fields["evidence"], fields["sha256"])
    return EvidenceFile(_head(fields["task"]), *told, fields, fields.get("time"))


def _head(document: Any) -> dict[str, Any]:
    """What a file says of its task; a planning model has options, such as its policy."""
    task = exact_object(document, TASK_KEYS, "trace file, task", more=("options",))
    if not isinstance(task["parameters"], dict) or not isinstance(task["networks"], list):
        raise FormatError("trace file, task: parameters must be an object and networks a list")
    options = task.get("options", {})
    if not isinstance(options, dict) or not all(isinstance(text, str) for text in options.values()):
        raise FormatError("trace file, task: options must be an object of texts")
    return task


def parameters(file: EvidenceFile) -> dict[str, Fraction]:
    """The parameters the task was read with."""
    return {name: read_number(item, f"parameter {name}") for name, item in file.task["parameters"].items()}


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_float=_float, parse_constant=_constant, object_pairs_hook=_unique)
    except FormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not a trace file: {str(error)[:200]}") from None


def _float(text: str) -> float:
    """A float whose text is its shortest form; other digits behind it would be lost, and with them an edit."""
    value = float(text)
    if len(text) > 40 or Decimal(text) != Decimal(repr(value)):
        raise FormatError(f"{text[:40]} is not a number Vernal wrote: its shortest form is {value!r}")
    return value


def _constant(text: str) -> float:
    raise FormatError(f"{text} is not a number Vernal computes with")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise FormatError("trace file: a key appears twice in one object")
    return made
