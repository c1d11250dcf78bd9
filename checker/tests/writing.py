"""Tasks and certificates for tests, written by hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def task(folder: Path, state: str, init: str, after: str, more: str = "") -> Path:
    """A task file."""
    file = folder / "task.toml"
    file.write_text(f"vernal = 1\n[state]\n{state}\n[init]\n{init}\n{more}\n[environment.next]\n{after}\n")
    return file


def certificate(file: Path, formula: str, variables: Sequence[str], sets: Sequence[Any], **header: Any) -> Path:
    """A certificate with the hashes that it needs."""
    told = {
        "certificate": 1,
        "semantics": "steps-1",
        "task": {
            "file": file.name,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            "parameters": {},
            "networks": [],
        },
        "formula": formula,
        "property": None,
        "verdict": "holds",
        "variables": list(variables),
    }
    target = file.with_name("claim.certificate")
    target.write_text("\n".join(json.dumps(line) for line in [{**told, **header}, *sets]) + "\n")
    return target
