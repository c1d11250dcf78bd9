"""The software bill of materials, as CycloneDX: Vernal and everything it needs as installed here.

    python scripts/sbom.py > sbom.json

Extras are left out unless they are named: `python scripts/sbom.py smt scip`.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
LICENCE = "License :: OSI Approved :: "


def main(extras: list[str]) -> None:
    """Print the document."""
    root = distribution("vernal")
    found = needed(root, frozenset(extras))
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(root) | {"type": "application"}},
        "components": [component(item) for item in found],
    }
    json.dump(document, sys.stdout, indent=2)
    print()


def needed(root: Distribution, extras: frozenset[str]) -> list[Distribution]:
    """Everything installed that the root needs, directly or not, by name."""
    found: dict[str, Distribution] = {}
    waiting = required(root, extras)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:  # for another system or another Python
            continue
        waiting.extend(required(found[name], frozenset()))
    return [found[name] for name in sorted(found)]


def required(item: Distribution, extras: frozenset[str]) -> list[str]:
    """The names that a package requires, with these of its extras."""
    names = []
    for line in item.requires or ():
        extra = EXTRA.search(line)
        name = NAME.match(line)
        if name and (extra is None or extra[1] in extras):
            names.append(re.sub(r"[-_.]+", "-", name[0]).lower())
    return names


def component(item: Distribution) -> dict[str, Any]:
    """A package with its version and licence."""
    name = re.sub(r"[-_.]+", "-", item.metadata["Name"]).lower()
    reference = f"pkg:pypi/{name}@{item.version}"
    return {
        "type": "library",
        "bom-ref": reference,
        "name": name,
        "version": item.version,
        "purl": reference,
        "licenses": licences(item),
    }


def licences(item: Distribution) -> list[dict[str, Any]]:
    """The licence as an expression where the package gives one, else by the names it gives."""
    expressions, classified, texts = (
        item.metadata.get_all(key) or [] for key in ("License-Expression", "Classifier", "License")
    )
    if expressions:
        return [{"expression": expressions[0]}]
    names = [name for entry in classified if (name := entry.removeprefix(LICENCE)).endswith("License")]
    first = "".join(texts[:1]).strip().partition("\n")[0]
    return [{"license": {"name": name}} for name in names or [first or "unknown"]]


if __name__ == "__main__":
    main(sys.argv[1:])
