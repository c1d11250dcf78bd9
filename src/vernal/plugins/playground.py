"""Questions from a page: a task as text in, the answer as words and HTML out.

The page docs/play runs this in the visitor's browser (Pyodide), where there are no threads, processes or signals: one
engine after the other works in one piece, and limits of time are kept where passes look at the clock.
"""

from __future__ import annotations

import json
from pathlib import Path

from vernal.engines.check import check
from vernal.errors import VernalError
from vernal.formats.loading import load
from vernal.report.page import show_result
from vernal.report.text import result_text

TASK = "task.toml"


def answer(text: str, folder: str, spec: str = "", seconds: float = 20.0) -> str:
    """The answers to a formula, or to every property of the task, as JSON; networks are looked up in the folder."""
    file = Path(folder) / TASK
    file.write_text(text, encoding="utf-8")
    try:
        task = load(file)
        if spec.strip():
            results = [check(task, spec, timeout=seconds)]
        elif task.properties:
            results = list(check(task, timeout=seconds).values())
        else:
            return json.dumps({"error": "the task has no properties: write a formula, as G[0,10] (x <= 1)"})
    except VernalError as error:
        return json.dumps({"error": str(error).replace(f"{folder}/", "")})
    shown = [{"verdict": one.verdict.value, "text": result_text(one), "html": show_result(one)} for one in results]
    return json.dumps({"answers": shown})
