"""Write a member of the family as JANI files: `python -m benchmarks.ppa.generate NAME --out FOLDER`.

model.jani         the model
property.jani      `safe`, without predicates, and a property for each set of them, named by their share in percent
start.jani         the start condition, or the list of starts
unsafe.jani        the unsafe condition
predicates/*.jani  the sets of predicates
*.nnet             with --policies, the policies trained for it, and their interfaces
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from benchmarks.ppa.family import MEMBERS, POLICIES
from benchmarks.ppa.jani import Instance, Json, condition, write_json


def properties(instance: Instance) -> Json:
    """One without predicates and one for each set of them; all share start and unsafe conditions."""
    return {"properties": [_property("safe"), *(_property(named(share), share) for share in instance.percentages)]}


def named(share: int) -> str:
    """The property with this share of all predicates."""
    return f"safe_{share:03}"


def _property(name: str, share: int | None = None) -> Json:
    parts = {"start": "start", "reach": "unsafe"} | ({} if share is None else {"predicates": f"predicates/{share:03}"})
    files = {key: {"file": f"{file}.jani"} for key, file in parts.items()}
    return {"name": name, "expression": {"op": "PA", **files}}


def write(instance: Instance, folder: Path) -> None:
    """All files of an instance but its policies."""
    write_json(folder / "model.jani", instance.model.declaration)
    write_json(folder / "property.jani", properties(instance))
    write_json(folder / "start.jani", instance.start)
    write_json(folder / "unsafe.jani", condition(instance.unsafe))
    for percentage, predicates in zip(instance.percentages, instance.predicates, strict=True):
        write_json(folder / "predicates" / f"{percentage:03}.jani", predicates)


def copy_policies(name: str, folder: Path) -> None:
    for file in sorted(POLICIES.glob(f"{name}_*nnet")):
        shutil.copyfile(file, folder / file.name)


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Write a planning model, its conditions and its predicates as JANI files."
    )
    parser.add_argument("name", choices=MEMBERS)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--policies", action="store_true", help="the policies that were trained for it, too")
    options = parser.parse_args()
    write(MEMBERS[options.name].make(), options.out)
    if options.policies:
        copy_policies(options.name, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
