"""The certificate of a map: the tree of cuts, and for every safe cell the sets of states that show it.

`vernal-check` makes the cells from the tree again, and checks the sets of each as a certificate of the claim from its
starts (docs/certificates.md). Cells of other kinds are listed, and nothing is said of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from vernal.engines.check import asked_of
from vernal.engines.covers import followed
from vernal.engines.registry import engine_for
from vernal.errors import InputError
from vernal.evidence.cover import ProofCover, unread
from vernal.evidence.cover_lines import cover_lines
from vernal.evidence.document_head import exact_number
from vernal.evidence.result import HOLDS
from vernal.formats.certificate import CertificateFile
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.queries.maps.cell_questions import CellQuestions
from vernal.queries.maps.cell_tree import CellKind
from vernal.queries.maps.region_map import RegionMap
from vernal.run.budget import Budget

MAX_TREE = 60_000  # cells whose tree fits into the line that a header is
CELL_SECONDS = 10.0  # for the sets of one cell, where they have to be found again
SEVERAL = "a map over several values of a parameter has a certificate for each of them; fix it with --set"
BRANCHING = "certificates of maps are of claims of all paths"
FREED = "the map goes over {}, a parameter, and vernal-check reads the task with one value of it"
CONTINUOUS = "certificates of maps in continuous time are not written yet"
PLANNING = "certificates of maps of planning models are not written yet"


def refusal(found: RegionMap) -> str | None:
    """Why no certificate of a map can be written; None where one can."""
    claim = found.question.claim
    if (why := unread(found.task)) is not None:
        return why
    if found.task.source is not None and found.task.source.file.endswith(".jani"):
        return PLANNING
    if found.question.time is not Time.STEPS:
        return CONTINUOUS
    if len(found.sheets) > 1 or found.sheets[0]:
        return SEVERAL
    freed = [axis.name for axis in found.axes if axis.name in found.freed]
    if freed:
        return FREED.format(", ".join(freed))
    if len(found) > MAX_TREE:
        return f"a certificate holds a map of at most {MAX_TREE:,} cells"
    return BRANCHING if claim.mentions_some or claim.linear is None else None


def certificate_lines(found: RegionMap, budget: Budget) -> Iterator[dict[str, Any] | list[Any]]:
    """The lines of the certificate: a header, then for every safe cell its number and its sets."""
    why = refusal(found)
    if why is not None:
        raise InputError(f"there is no certificate of this map: {why}")
    empty = ProofCover((), found.question.model)
    held = CertificateFile(found.task, str(found.question.formula), found.question.name, empty)
    over = [
        {"name": axis.name, "lower": exact_number(axis.lower), "upper": exact_number(axis.upper), "whole": axis.whole}
        for axis in found.axes
    ]
    yield {**held.header, "map": {"over": over, "tree": found.tree.record()["nodes"]}}
    asked = CellQuestions(found.question, found.axes)
    for place, (_, node, box) in enumerate(found.tree.cells()):
        budget.check()
        if found.tree.kind_of(node) is CellKind.SAFE:
            question = asked.of(box)
            yield {"cell": place}
            yield from cover_lines(_cover(question, budget, place), question.model)


def _cover(question: Question, budget: Budget, place: int) -> ProofCover:
    """Sets that show a safe cell: those from which paths are followed, or those that an engine finds again."""
    found: ProofCover | None = followed(question.model) if question.claim.horizon is not None else None
    if found is None:
        seconds = min(CELL_SECONDS, budget.left)
        own = replace(budget, timeout=seconds, started=time.monotonic(), keeps_sets=True).apart()
        result = asked_of(engine_for("auto", question), question, own)
        found = result.cover if result.verdict is HOLDS else None
    if found is None:
        raise InputError(f"there is no certificate of this map: no sets were found that show cell {place}")
    return found
