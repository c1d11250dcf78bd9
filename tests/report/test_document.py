"""Documents for machines: they validate, they are strictly JSON, and their numbers are exact."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import jsonschema
import pytest

from tests.report import samples
from vernal.evidence import evidence_file
from vernal.evidence.document_head import exact_number
from vernal.queries.sweep import SweepRow
from vernal.report.document import SCHEMAS, document, dump, schema, sweep_document

RESULTS = [samples.violated(), samples.holds(), samples.unknown()]


def validate(content: Any, name: str) -> None:
    jsonschema.Draft202012Validator(schema(name)).validate(content)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_schemas(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))


def test_results_validate_and_survive_a_round_trip() -> None:
    content = json.loads(dump(document(samples.task(), RESULTS)))
    validate(content, "result")
    assert [result["verdict"] for result in content["results"]] == ["violated", "holds", "unknown"]
    assert content["task"]["parameters"] == {"third": "1/3", "tenth": 0.1, "k": 25}
    assert content["task"]["networks"] == [{"file": "net.onnx", "sha256": "1" * 64}]


def test_a_step_says_state_choices_and_disturbances() -> None:
    (result,) = document(samples.task(), [samples.violated(3)])["results"]
    first, *_, last = result["trace"]["steps"]
    assert first["state"] == {"T": 18.5, "mode": "BOOST", "hour": 0, "warm": False}
    assert first["choices"] == {"draught": {"index": 0, "value": 0.0}}
    assert first["disturbances"] == {"sun": 0.0}
    assert last["choices"] == {}
    assert result["trace"]["loop"] is None


def test_what_is_not_finite_is_null() -> None:
    (result,) = document(samples.task(), [samples.violated()])["results"]
    assert result["statistics"] == {"runs": 1000, "rate": None}


def test_sweeps_validate() -> None:
    rows = [SweepRow({"v0": Fraction(-39, 2), "k": Fraction(index)}, result) for index, result in enumerate(RESULTS)]
    content = json.loads(dump(sweep_document(samples.task(), rows)))
    validate(content, "sweep")
    assert content["rows"][0]["parameters"] == {"v0": -19.5, "k": 0}


def test_trace_files_validate() -> None:
    validate(json.loads(evidence_file.dump(samples.task(), samples.violated())), "trace")


@pytest.mark.parametrize(
    ("path", "value"),
    [(("verdict",), "maybe"), (("trace", "steps"), []), (("assurance",), "hope"), (("seconds",), -1), (("more",), 1)],
)
def test_a_wrong_document_does_not_validate(path: tuple[str, ...], value: object) -> None:
    content = json.loads(dump(document(samples.task(), [samples.violated()])))
    place = content["results"][0]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        validate(content, "result")


def test_an_unknown_without_a_reason_does_not_validate() -> None:
    content = document(samples.task(), [samples.unknown()])
    content["results"][0]["reason"] = None
    with pytest.raises(jsonschema.ValidationError):
        validate(content, "result")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Fraction(1, 10), 0.1),
        (Fraction(1, 3), "1/3"),
        (Fraction(-131), -131),
        (Fraction(10**20), 1e20),
        (Fraction(2**80), str(2**80)),
        (Fraction(10) ** 400, "1" + "0" * 400),
    ],
)
def test_numbers_are_exact(value: Fraction, written: object) -> None:
    assert exact_number(value) == written
    assert Fraction(str(written)) == value
