"""The notebooks of examples/notebooks, run without Jupyter: what their cells print and draw is stored in them.

    python scripts/notebooks.py

A notebook is JSON; its code cells are run one after another in one namespace. A figure that is the last value of a cell
is stored as a picture.
"""

from __future__ import annotations

import ast
import base64
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
            for cell, (printed, drawn) in zip(code_cells(notebook), run(notebook), strict=True):
                cell["outputs"] = ([stream(printed)] if printed else []) + ([picture(drawn)] if drawn else [])
        file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def run(notebook: dict[str, Any]) -> list[tuple[str, bytes | None]]:
    """Run the code cells where we are; what each of them prints, and the figure that is its last value."""
    names: dict[str, Any] = {}
    found = []
    for number, cell in enumerate(code_cells(notebook)):
        *statements, last = ast.parse("".join(cell["source"])).body
        shown = ast.Expression(last.value) if isinstance(last, ast.Expr) else None
        body = ast.Module(statements if shown else [*statements, last], [])
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(body, f"cell {number}", "exec"), names)
            value = eval(compile(shown, f"cell {number}", "eval"), names) if shown else None
        found.append((out.getvalue(), drawn_as_png(value)))
    return found


def drawn_as_png(value: object) -> bytes | None:
    """A figure as a picture; None of anything else."""
    if not hasattr(value, "savefig"):
        return None
    drawn = io.BytesIO()
    value.savefig(drawn, format="png", dpi=110, bbox_inches="tight", metadata={"Software": None})
    return drawn.getvalue()


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells with code, in order."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def stored(cell: dict[str, Any]) -> str:
    """What a cell is said to print."""
    return "".join("".join(output["text"]) for output in cell["outputs"] if "text" in output)


def stream(text: str) -> dict[str, Any]:
    """Printed text as notebooks store it."""
    return {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}


def picture(drawn: bytes) -> dict[str, Any]:
    """A picture as notebooks store it."""
    data = {"image/png": base64.b64encode(drawn).decode()}
    return {"data": data, "metadata": {}, "output_type": "display_data"}


if __name__ == "__main__":
    main()
