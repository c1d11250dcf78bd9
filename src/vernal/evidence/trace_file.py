"""Evidence files: a path of the system, or an invariant, as JSON, with the fingerprints of all it was made from.

A file says which task and networks it is about and carries a hash of all it says, so that `vernal replay` needs nothing
else. What is read is checked against the system's own names and sorts before anything is computed from it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from importlib import metadata
from itertools import pairwise
from typing import Any, get_args

from vernal.errors import FormatError, InputError, nearest
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.invariant import Invariant
from vernal.evidence.invariant_file import invariant_json
from vernal.evidence.kinds import Evidence, EvidenceKind, Tree
from vernal.evidence.result import Result, Verdict
from vernal.evidence.trace import Choice, Trace, TraceStep, TraceValue, components
from vernal.evidence.trace_values import read_number, read_value, write_number, write_value
from vernal.interpret.numbers.number_size import MAX_BITS
from vernal.logic.task import Task
from vernal.model.expr import Between, Expr
from vernal.model.sorts import REAL, Sort
from vernal.model.system import Model

SCHEMA_VERSION = 1
STEP_KEYS = ("state", "actions", "choices", "disturbances", "memory")


# Traces ---------------------------------------------------------------------------------------------------------------


def to_json(trace: Trace, system: Model) -> dict[str, Any]:
    """The trace as a JSON object; of a flow, against the system that computes its rates, with the time of each step."""
    steps = [step_json(step, system, t == 0) for t, step in enumerate(trace.steps)]
    if trace.times is not None:
        steps = [{"time": write_number(time, full=True), **s} for time, s in zip(trace.times, steps, strict=True)]
    return {"steps": steps, "loop": trace.loop}


def step_json(step: TraceStep, system: Model, first: bool = False) -> dict[str, Any]:
    """One position: labels for enums, true and false, decimals or "p/q"; the first one and all draws in full."""
    sorts = {variable.name: variable.sort for variable in system.state}
    actions = system.step.actions
    choices = choice_sorts(system)
    return {
        "state": {name: write_value(value, sorts[name], full=first) for name, value in step.state.items()},
        "actions": {name: write_value(value, actions[name].sort) for name, value in step.actions.items()},
        "choices": {
            name: {"index": choice.index, "value": write_value(choice.value, choices.get(name, REAL))}
            for name, choice in step.choices.items()
        },
        "disturbances": {name: write_value(value, REAL, full=True) for name, value in step.disturbances.items()},
        "memory": {name: write_value(value, REAL, full=first) for name, value in step.memory.items()},
    }


def choice_sorts(system: Model) -> dict[str, Sort]:
    """The sort of every named choice; where branches share a name, of the first of them."""
    sorts: dict[str, Sort] = {}
    for node, name in system.step.names.items():
        if not isinstance(node, Between):
            sorts.setdefault(name, node.sort)
    return sorts


def from_json(document: Any, system: Model) -> Trace:
    """A recorded trace, read against the system's names and sorts; nothing is believed of it but its form."""
    fields = _object(document, ("steps", "loop"), "trace")
    steps, loop = fields["steps"], fields["loop"]
    if not isinstance(steps, list) or not steps:
        raise FormatError("trace.steps: expected a list of at least one step")
    if loop is not None and (isinstance(loop, bool) or not isinstance(loop, int) or not 0 <= loop < len(steps)):
        raise FormatError(f"trace.loop: expected null or the number of a step, not {loop!r}")
    return Trace(tuple(_read_step(step, system, f"step {t}") for t, step in enumerate(steps)), loop, system=system)


def timed_trace(document: Any, flow: Model) -> Trace:
    """A recorded trajectory; its times begin with 0 and ascend."""
    fields = _object(document, ("steps", "loop"), "trace")
    steps = fields["steps"]
    if not isinstance(steps, list) or not all(isinstance(step, dict) and "time" in step for step in steps):
        raise FormatError("trace.steps: expected a list of steps, each with its time")
    times = tuple(read_number(step["time"], f"step {t}, time") for t, step in enumerate(steps))
    if fields["loop"] is not None or not times or times[0] != 0 or any(a >= b for a, b in pairwise(times)):
        raise FormatError("trace: the times of a trajectory begin with 0 and ascend, and it does not loop")
    untimed = [{key: item for key, item in step.items() if key != "time"} for step in steps]
    trace = from_json({"steps": untimed, "loop": None}, flow)
    for t, step in enumerate(trace.steps):
        _refuse_endless(step, f"step {t}")
    return replace(trace, times=times, system=flow)


def _refuse_endless(step: TraceStep, where: str) -> None:
    """An error for numbers of more bits than anything is computed with: enclosing a solution would take for ever."""
    for name, value in (*step.state.items(), *step.disturbances.items()):
        ends = [
            end
            for one in components(value)
            for end in ((one,) if isinstance(one, Fraction) else (one.lower, one.upper))
        ]
        if any(max(end.numerator.bit_length(), end.denominator.bit_length()) > MAX_BITS for end in ends):
            raise FormatError(f"{where}, {name}: a number of more than {MAX_BITS:,} bits")


def _read_step(document: Any, system: Model, where: str) -> TraceStep:
    fields = _object(document, STEP_KEYS, where)
    state = _object(fields["state"], tuple(variable.name for variable in system.state), f"{where}, state")
    actions = _object(fields["actions"], tuple(system.step.actions), f"{where}, actions")
    memory = _object(fields["memory"], tuple(a.name for a in system.agents if a.slots), f"{where}, memory")
    sizes = {agent.name: len(agent.starts) for agent in system.agents}
    return TraceStep(
        {v.name: read_value(state[v.name], v.sort, None, f"{where}, {v.name}") for v in system.state},
        {n: _read_like(actions[n], x, f"{where}, {n}") for n, x in system.step.actions.items()},
        _read_choices(fields["choices"], system, f"{where}, choices"),
        _read_disturbances(fields["disturbances"], system, f"{where}, disturbances"),
        {name: read_value(item, REAL, sizes[name], f"{where}, memory of {name}") for name, item in memory.items()},
    )


def _read_like(item: Any, node: Expr, where: str) -> TraceValue:
    return read_value(item, node.sort, node.size if node.shape else None, where)


def _read_choices(document: Any, system: Model, where: str) -> dict[str, Choice]:
    known: dict[str, Expr] = {}
    for node, name in system.step.names.items():
        if not isinstance(node, Between):
            known.setdefault(name, node)
    made: dict[str, Choice] = {}
    for name, item in _named(document, known, where).items():
        fields = _object(item, ("index", "value"), f"{where}, {name}")
        index = read_number(fields["index"], f"{where}, {name}, index")
        if index.denominator != 1 or index < 0:
            raise FormatError(f"{where}, {name}: expected the number of an option, not {fields['index']!r}")
        made[name] = Choice(int(index), _read_like(fields["value"], known[name], f"{where}, {name}, value"))
    return made


def _read_disturbances(document: Any, system: Model, where: str) -> dict[str, TraceValue]:
    known = {name: node for node, name in system.step.names.items() if isinstance(node, Between)}
    items = _named(document, known, where)
    return {name: _read_like(item, known[name], f"{where}, {name}") for name, item in items.items()}


def _object(document: Any, keys: tuple[str, ...], where: str) -> dict[str, Any]:
    """A JSON object with exactly these keys."""
    items = _named(document, keys, where)
    for key in keys:
        if key not in items:
            raise FormatError(f"{where}: {key!r} is missing")
    return items


def _named(document: Any, known: Any, where: str) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise FormatError(f"{where}: expected an object, not {type(document).__name__}")
    for key in document:
        if key not in known:
            raise FormatError(f"{where}: {key!r} is not known here{nearest(key, known)}")
    return document


# Files ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TraceFile:
    """An evidence file, read but not yet believed.

    `trace` and `invariant` are still JSON, and one of them is None unless the evidence is a tree: the system they
    belong to comes from the task.
    """

    task: Mapping[str, Any]
    formula: str
    property: str | None
    verdict: Verdict
    evidence: str  # its kind
    excluded_by: str | None  # of a tree: what excludes the paths that would keep the claim
    trace: Any
    invariant: Any
    sha256: str
    content: Mapping[str, Any]  # the whole document

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
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "vernal", "version": metadata.version("vernal")},
        "task": {
            "name": task.name,
            "file": None if task.source is None else task.source.file,
            "sha256": None if task.source is None else task.source.sha256,
            "parameters": {name: _parameter(value) for name, value in task.parameters.items()},
            "networks": [{"file": network.file, "sha256": network.sha256} for network in task.networks],
            **({"options": dict(task.options)} if task.options else {}),
        },
        "formula": result.formula,
        "property": result.property,
        "verdict": result.verdict.value,
        **_shown(result.evidence, task.model),
    }
    return {**content, "sha256": fingerprint(content)}


def _shown(evidence: Evidence, system: Model) -> dict[str, Any]:
    if isinstance(evidence, Invariant):
        return {"evidence": evidence.kind, "invariant": invariant_json(evidence)}
    if isinstance(evidence, Flowpipe):
        raise InputError("a flowpipe is not written as evidence: whoever doubts it computes it again")
    excluded_by = evidence.excluded_by if isinstance(evidence, Tree) else None
    shown = {"evidence": evidence.kind, "excluded_by": excluded_by, "trace": to_json(evidence.path, system)}
    if isinstance(evidence, Tree) and evidence.invariant is not None:
        shown["invariant"] = invariant_json(evidence.invariant)
    return shown


def _parameter(value: Fraction) -> int | float | str:
    """A parameter is an input and has to come back exactly, however long."""
    written = write_number(value)
    if isinstance(written, float) and written.is_integer() and value == written and abs(value) < 2**53:
        return int(value)
    return str(value) if isinstance(written, str) or Fraction(repr(written)) != value else written


def dump(task: Task, result: Result) -> str:
    """A trace file as text."""
    return json.dumps(document(task, result), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


HEAD_KEYS = ("schema_version", "tool", "task", "formula", "property", "verdict", "evidence")
TASK_KEYS = ("name", "file", "sha256", "parameters", "networks")
FILE_KEYS = (*HEAD_KEYS, "excluded_by", "trace", "sha256")
INVARIANT_KEYS = (*HEAD_KEYS, "invariant", "sha256")


def load(text: str) -> TraceFile:
    """Read an evidence file; broken ones are refused with the reason, edited ones are for replay to find."""
    content = _parse(text)
    is_invariant = isinstance(content, dict) and content.get("evidence") == "invariant"
    fields = _object(content, INVARIANT_KEYS if is_invariant else _path_keys(content), "trace file")
    if fields["schema_version"] != SCHEMA_VERSION:
        raise FormatError(f"trace file: schema_version is {fields['schema_version']!r}, not {SCHEMA_VERSION}")
    task = _object(fields["task"], _task_keys(fields["task"]), "trace file, task")
    if not isinstance(task["parameters"], dict) or not isinstance(task["networks"], list):
        raise FormatError("trace file, task: parameters must be an object and networks a list")
    options = task.get("options", {})
    if not isinstance(options, dict) or not all(isinstance(text, str) for text in options.values()):
        raise FormatError("trace file, task: options must be an object of texts")
    if not isinstance(fields["formula"], str) or not isinstance(fields["sha256"], str):
        raise FormatError("trace file: formula and sha256 must be text")
    if not isinstance(fields["property"], str | None):
        raise FormatError("trace file: property must be text or null")
    if fields["verdict"] not in ("holds", "violated"):
        raise FormatError(f"trace file: a trace belongs to holds or violated, not to {fields['verdict']!r}")
    if is_invariant and fields["verdict"] != "holds":
        raise FormatError("trace file: an invariant belongs to a claim that holds")
    if fields["evidence"] not in get_args(EvidenceKind) or (
        isinstance(fields.get("excluded_by"), str) != _is_tree(fields)
    ):
        raise FormatError("trace file: evidence is a trace, a lasso, or a tree that says what excludes other paths")
    return TraceFile(
        task,
        fields["formula"],
        fields["property"],
        Verdict(fields["verdict"]),
        fields["evidence"],
        fields.get("excluded_by"),
        fields.get("trace"),
        fields.get("invariant"),
        fields["sha256"],
        fields,
    )


def _task_keys(task: Any) -> tuple[str, ...]:
    """The keys of the head; a planning model has options, such as its policy."""
    has_options = isinstance(task, dict) and "options" in task
    return (*TASK_KEYS, "options") if has_options else TASK_KEYS


def _path_keys(content: Any) -> tuple[str, ...]:
    """The keys of a file that shows a path; a tree may have an invariant beside it."""
    has_invariant = isinstance(content, dict) and content.get("evidence") == "tree" and "invariant" in content
    return (*FILE_KEYS, "invariant") if has_invariant else FILE_KEYS


def _is_tree(fields: Mapping[str, Any]) -> bool:
    return bool(fields["evidence"] == "tree")


def parameters(file: TraceFile) -> dict[str, Fraction]:
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
