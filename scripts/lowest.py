"""The oldest versions that pyproject.toml allows, as constraints for pip.

    python scripts/lowest.py > lowest.txt && pip install -c lowest.txt -e '.[dev]'

Only what Vernal imports is held at its floor; tools such as pytest and mypy are not. Old packages are tried with
companions of their time: newer ones warn about how they are used, and in our tests warnings are errors.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENT = re.compile(r"([\w-]+)>=([\w.]+)")
# Extras whose packages Vernal imports; torch and what needs it is large, gurobi needs a licence.
USED = ("scip", "smt", "onnxruntime", "gym")
COMPANIONS = {"click": "<8.2", "pyparsing": "<3.2"}  # of typer and of matplotlib


def main() -> None:
    """Print one constraint a line."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for requirement in [*project["dependencies"], *(item for name in USED for item in extras[name])]:
        print(constraint(requirement))
    for name, limit in COMPANIONS.items():
        print(f"{name}{limit}")


def constraint(requirement: str) -> str:
    """`numpy>=2.0` as `numpy==2.0`."""
    if REQUIREMENT.fullmatch(requirement) is None:
        raise SystemExit(f"{requirement!r} has no floor of the form name>=version")
    return requirement.replace(">=", "==")


if __name__ == "__main__":
    main()
