"""Answers questions of one checkout, line by line: JSON in, JSON out.

Runs with the `src` of that checkout on PYTHONPATH and uses nothing of it but its public names, which all versions have.
A question is a property of a task file with parameters, or of a planning model; reading it is not counted.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from typing import Any

import vernal as vn


def processor() -> float:
    """Seconds of the processor, of this process and of the children it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def read(asked: dict[str, Any]) -> tuple[Any, str]:
    """The task, read anew, and the name of what is asked."""
    if asked["planning"]:
        task: Any = vn.load_jani(asked["file"], property=asked["property"])
        return task, next(iter(task.properties))
    task = vn.load(asked["file"], **asked["parameters"])
    return task, asked["property"] or next(iter(task.properties))


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    task, name = read(asked)
    began = processor()
    found = vn.check(task, property=name, engine=asked["engine"], timeout=asked["cap"])
    (result,) = found.values()
    spent = processor() - began
    return {
        "verdict": result.verdict.value,
        "margin": None if result.margin is None else float(result.margin),
        "seconds": spent,
        "reason": result.reason or "",
    }


def main() -> None:
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        try:
            said = answer(json.loads(line))
        except Exception as error:
            said = {"verdict": f"failed: {type(error).__name__}", "margin": None, "seconds": 0.0, "reason": str(error)}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
