"""One table of kinds of evidence: no column is missing, and what is written comes back."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from tests.cases import read
from tests.flow_cases import DECAY
from vernal.engines.check import check
from vernal.errors import FormatError
from vernal.evidence.codec import CODECS, PAYLOADS, codec_of, encoded, restored
from vernal.evidence.kinds import Evidence, EvidenceKind, Tree
from vernal.evidence.trace_file import to_json
from vernal.logic.task import Task
from vernal.report.document import schema
from vernal.report.evidence_pictures import PICTURES

COIN = """
[state]
x = "int [0, 9]"
[init]
x = 0
[environment.next]
x = "choose(x, min(x + 1, 3))"
"""
SHOWN = [
    ("trace", COIN, "G (x < 2)", "explicit"),
    ("lasso", COIN, "F (x >= 2)", "explicit"),
    ("tree", COIN, "EF (x > 5)", "explicit"),
    ("invariant", COIN, "G (x <= 8)", "invariants"),
    ("flowpipe", DECAY, "G[0,2] (x <= 1.5)", "flowpipe"),
    ("recurrence", DECAY, "G (x <= 1.5)", "flowpipe"),
    ("trace", DECAY, "G[0,2] (x >= 0.5)", "falsify"),
]


def shown(model: str, formula: str, engine: str) -> tuple[Task, Evidence]:
    task = read(model)
    evidence = check(task, formula, engine=engine).evidence
    assert evidence is not None
    return task, evidence


def test_every_kind_has_every_column() -> None:
    kinds = set(get_args(EvidenceKind))
    assert set(CODECS) == set(PICTURES) == kinds
    assert {one[0] for one in SHOWN} == kinds
    for document in ("trace", "result"):
        listed = schema(document)
        properties = listed["properties"] if document == "trace" else listed["$defs"]["result"]["properties"]
        assert {kind for kind in properties["evidence"]["enum"] if kind is not None} == kinds
        assert set(PAYLOADS) <= set(properties)


@pytest.mark.parametrize(("kind", "model", "formula", "engine"), SHOWN)
def test_what_is_written_comes_back(kind: str, model: str, formula: str, engine: str) -> None:
    task, evidence = shown(model, formula, engine)
    fields = json.loads(json.dumps(encoded(evidence, task.model)))
    codec = codec_of(kind)
    assert fields["evidence"] == kind
    assert set(codec.keys) <= set(fields) <= {"evidence", *codec.keys, *codec.more}
    assert encoded(restored(fields, task.model), task.model) == fields
    assert codec.words(evidence).startswith("a")


def test_records_of_the_version_before_are_read() -> None:
    task, path = shown(COIN, "G (x < 2)", "explicit")
    assert path.path is not None
    steps = to_json(path.path, task.model)
    before: list[dict[str, Any]] = [steps, {"trace": steps, "invariant": None, "excluded_by": None}]
    assert [restored(one, task.model) for one in before] == [path, path]
    tree = restored({"trace": steps, "invariant": None, "excluded_by": "bounds"}, task.model)
    assert isinstance(tree, Tree)
    _, invariant = shown(COIN, "G (x <= 8)", "invariants")
    fields = {"invariant": encoded(invariant, task.model)["invariant"]}
    assert restored(fields, task.model) == invariant


@pytest.mark.parametrize("kind", ["", "proof", None, 3, ["trace"]])
def test_a_kind_that_is_none_is_refused(kind: object) -> None:
    with pytest.raises(FormatError, match="evidence is one of trace, lasso, tree, invariant, flowpipe"):
        codec_of(kind)
