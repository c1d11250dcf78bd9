"""Certificates of network queries without a solution: trees of cuts that `vernal-check` bounds anew, leaf by leaf."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vernal.evidence.program_version import version
from vernal.formats.certificate import VERSION
from vernal.formats.networks import PACKED, read_bytes
from vernal.formats.vnnlib.query import Query
from vernal.queries.answer import Answer, QueryStatus
from vernal.run.output import write_text

SEMANTICS = "query-1"
ITEMS_PER_LINE = 2_000
NOT_UNSAT = "there is no certificate of {}: only unsat has one"
NO_FILE = "vernal-check does not read {}"
READ = (".onnx", ".nnet")


@dataclass(frozen=True)
class QueryCertificate:
    """A query in a file that has no solution, and the trees of its alternatives."""

    query: Path
    network: Path
    trees: Sequence[list[Any]]

    def lines(self) -> Iterator[dict[str, Any]]:
        """The header, then each tree in as many lines as it takes."""
        yield {
            "certificate": VERSION,
            "semantics": SEMANTICS,
            "tool": {"name": "vernal", "version": version()},
            "task": {
                "file": str(self.query),
                "sha256": _sha256(self.query),
                "parameters": {},
                "networks": [{"file": str(self.network), "sha256": _sha256(self.network)}],
            },
            "formula": "unsat",
            "property": None,
            "verdict": "unsat",
            "variables": [],
        }
        for number, tree in enumerate(self.trees):
            for start in range(0, len(tree), ITEMS_PER_LINE):
                yield {"alternative": number, "tree": tree[start : start + ITEMS_PER_LINE]}

    def save(self, file: str | Path) -> None:
        """Write the file, for `vernal-check`."""
        write_text(file, "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in self.lines()))


def refusal(query: Query | None, answer: Answer, network: Path) -> str | None:
    """Why an answer has no certificate; None where it has one."""
    if answer.status is not QueryStatus.UNSAT or answer.trees is None:
        return NOT_UNSAT.format(answer.status.value)
    if query is None or query.version != "1":
        return NO_FILE.format("queries in version 2 of VNN-LIB yet")
    if query.file is None or query.file.endswith(PACKED) or network.suffix not in READ:
        return NO_FILE.format(f"{network.name} or a query that is compressed")
    return None


def _sha256(file: Path) -> str:
    return hashlib.sha256(read_bytes(file)).hexdigest()
