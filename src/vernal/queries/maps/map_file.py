"""Map files: the tree of cuts as data, with what it is about, so that a later run goes on from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from vernal.errors import FormatError, InputError
from vernal.evidence.belief import is_refuted
from vernal.evidence.codec import encoded, restored
from vernal.evidence.document_head import head
from vernal.evidence.trace import Trace
from vernal.logic.printing import number
from vernal.model.held_loop import as_written
from vernal.queries.maps.axes import MapAxis
from vernal.queries.maps.cell_questions import CellQuestions
from vernal.queries.maps.cell_tree import UNCUT, CellKind, MapTree
from vernal.queries.maps.region_map import RegionMap


def map_document(found: RegionMap) -> dict[str, Any]:
    """What `vernal map --json` and `--output` write."""
    leaves = [node for _, node, _ in found.tree.cells()]
    model, shares = found.question.model, found.shares
    return {
        **head(found.task),
        "property": found.question.name,
        "formula": str(found.question.formula),
        "over": [
            {"name": one.name, "lower": number(one.lower), "upper": number(one.upper), "whole": one.whole}
            for one in found.axes
        ],
        "sheets": [{name: number(value) for name, value in values.items()} for values in found.sheets],
        "cells": len(leaves),
        "shares": {kind.value: {"exact": str(share), "percent": 100 * float(share)} for kind, share in shares.items()},
        "seconds": round(found.seconds, 6),
        "stopped": found.stopped,
        "tree": found.tree.record(),
        "traces": {
            str(place): encoded(trace, as_written(model)) if isinstance(trace, Trace) else trace
            for place, node in enumerate(leaves)
            if (trace := found.tree.evidence.get(node)) is not None
        },
        "reasons": {str(place): why for place, node in enumerate(leaves) if (why := found.tree.reasons.get(node))},
        "otherwise": found.otherwise,
    }


def read_map(file: Path, fresh: RegionMap, questions: list[CellQuestions]) -> None:
    """Go on from a file: the tree of a new map becomes what the file says, if it is about the same.

    Traces are recomputed on the system; a leaf whose trace does not refute the claim is open.
    """
    try:
        said: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise InputError(f"{file} is no map that Vernal wrote; name another file for --output") from None
    expected = map_document(fresh)
    _refuse_other(file, said, expected)
    try:
        tree = MapTree(fresh.axes, len(fresh.sheets))
        leaves = tree.restore(said["tree"])
        _restore_evidence(tree, leaves, said, questions)
    except (FormatError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{file} cannot be gone on with: {error}") from None
    fresh.tree.__dict__.update(tree.__dict__)


def _refuse_other(file: Path, said: Any, expected: Mapping[str, Any]) -> None:
    if not isinstance(said, dict) or "tree" not in said:
        raise InputError(f"{file} is no map that Vernal wrote; name another file for --output")
    task, own = said.get("task"), expected["task"]
    same = isinstance(task, dict) and all(task.get(key) == own[key] for key in ("sha256", "parameters", "networks"))
    if not same:
        raise InputError(
            f"{file} is a map of another task (its file, its parameters or its networks were different); "
            "name another file, or remove it"
        )
    for key, what in (("formula", "another claim"), ("over", "another region"), ("sheets", "other parameters")):
        if said.get(key) != expected[key]:
            raise InputError(f"{file} is a map of {what}; name another file, or remove it")


def _restore_evidence(tree: MapTree, leaves: list[int], said: Any, questions: list[CellQuestions]) -> None:
    where = {node: (sheet, box) for sheet, node, box in tree.cells()}
    for place, record in said["traces"].items():
        node = leaves[int(place)]
        sheet, box = where[node]
        question = questions[sheet].of(box)
        found = restored(record, as_written(question.model))
        if isinstance(found, Trace) and is_refuted(question, found):
            tree.evidence[node] = found
    for place, why in said.get("reasons", {}).items():
        tree.reasons[leaves[int(place)]] = str(why)
    for node in leaves:
        if tree.axis[node] == UNCUT and tree.kind_of(node) is CellKind.UNSAFE and node not in tree.evidence:
            tree.set(node, CellKind.OPEN)


def sheet_values(values: Mapping[str, Fraction]) -> str:
    """`k = 3, v0 = 1` of a sheet."""
    return ", ".join(f"{name} = {number(value)}" for name, value in values.items())


__all__ = ["MapAxis", "map_document", "read_map", "sheet_values"]
