"""The notebooks of examples/notebooks, run without Jupyter: what their cells print is stored in them.

    python scripts/notebooks.py

A notebook is JSON; its code cells are run one after another in one namespace. Pictures are not stored.
"""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "notebooks"


def main() -> None:
    """Run every notebook and store what it prints."""
    for file in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(file.read_text(encoding="utf-8"))
        with contextlib.chdir(file.parent):
            for cell, printed in zip(code_cells(notebook), run(notebook), strict=True):
                cell["outputs"] = [stream(printed)] if printed else []
        file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def run(notebook: dict[str, Any]) -> list[str]:
    """Run the code cells where we are; what each of them prints."""
    names: dict[str, Any] = {}
    printed = []
    for number, cell in enumerate(code_cells(notebook)):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
        printed.append(out.getvalue())
    return printed


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells with code, in order."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def stored(cell: dict[str, Any]) -> str:
    """What a cell is said to print."""
    return "".join("".join(output["text"]) for output in cell["outputs"])


def stream(text: str) -> dict[str, Any]:
    """Printed text as notebooks store it."""
    return {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}


if __name__ == "__main__":
    main()
