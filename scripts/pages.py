"""What the site is built from: the pages of the repository where they stand, and a reference made from the program.

    python scripts/pages.py build/pages        then: mkdocs build --strict

Pages keep their places, so that a link that works in the repository works on the site. The reference of the command
line is made from its options, that of Python from the public names, the list of modules from their docstrings;
nothing of these is written by hand.
"""

from __future__ import annotations

import ast
import base64
import inspect
import json
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer.main

import vernal
from vernal.cli.main import application

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    *("*.md", "docs/*.md", "docs/decisions/*.md"),
    *("examples/*/README.md", "benchmarks/README.md", "benchmarks/*/README.md"),
)
FILES = (
    "LICENSE",
    "NOTICE",
    "CITATION.cff",
    "docs/*.css",
    "docs/*.js",
    "docs/play/*",
    "docs/images/*",
    "docs/images/*/*",
    "benchmarks/*/*.svg",
)
CODE = re.compile(r"`[^`\n]*`")
NOTEBOOKS = "examples/notebooks/*.ipynb"
SECTIONS = {
    "vernal.formats": "Read and write",
    "vernal.engines": "Ask",
    "vernal.queries": "Ask",
    "vernal.report": "Ask",
    "vernal.plugins": "Ask",
    "vernal.evidence": "Answers",
    "vernal.model.functions": "Functions of expressions",
    "vernal.model.build": "Functions of expressions",
    "vernal.model": "Systems",
    "vernal.logic": "Systems",
    "vernal.worlds": "Systems",
    "vernal.errors": "Errors",
}
ORDER = ("Ask", "Answers", "Read and write", "Systems", "Functions of expressions", "Errors", "More")


def main(target: Path) -> None:
    """Gather everything below the target, which is made anew."""
    shutil.rmtree(target, ignore_errors=True)
    for pattern in PAGES:
        for file in ROOT.glob(pattern):
            place = file.relative_to(ROOT)
            write(target / place, front(place) + page(file.read_text(encoding="utf-8")))
    for pattern in FILES:
        for file in ROOT.glob(pattern):
            copy(file, target / file.relative_to(ROOT))
    for file in sorted(ROOT.glob(NOTEBOOKS)):
        write(target / file.relative_to(ROOT).with_suffix(".md"), notebook_page(file, target))
    write(target / "docs/reference/commands.md", commands_page())
    write(target / "docs/reference/names.md", names_page())
    write(target / "docs/reference/modules.md", modules_page())


def front(place: Path) -> str:
    """What the site is told of a page: a search finds what words mean first, and what was, and why, after what is."""
    is_history = place.name == "CHANGELOG.md" or place.parent.name == "decisions"
    boost = 0.05 if is_history else 8 if place.name == "glossary.md" else 1
    return f"---\nsearch:\n  boost: {boost}\n---\n\n" if boost != 1 else ""


def page(text: str) -> str:
    """A page as the site's Markdown reads it: a bar in code needs no mark there, even in a table."""
    return CODE.sub(lambda found: found[0].replace("\\|", "|"), text)


def copy(file: Path, target: Path) -> None:
    """A copy of a file, in a folder that is made where it is missing."""
    if file.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def write(target: Path, text: str) -> None:
    """A page, in a folder that is made where it is missing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def commands_page() -> str:
    """The reference of the command line, from the commands themselves."""
    root: Any = typer.main.get_command(application())
    parts = ["# Commands", "", str(root.help), "", "Exit codes: 0 holds, 10 violated, 5 unknown, 2 bad input.", ""]
    for name, command in root.commands.items():
        parts += command_section(name, command, root)
    return "\n".join(parts)


def command_section(name: str, command: Any, root: Any) -> Iterator[str]:
    """One command: what it does, how it is called, its arguments and options, examples."""
    context = command.context_class(command, info_name=f"vernal {name}")
    usage = " ".join([f"vernal {name}", *command.collect_usage_pieces(context)])
    yield from (f"## vernal {name}", "", prose(command.help or ""), "", "```text", usage, "```", "")
    records = [record for item in command.params if (record := item.get_help_record(context)) is not None]
    if records:
        rows = [table_row(record) for record in records]
        yield from ("| argument or option | what it is for |", "|---|---|", *rows, "")
    if command.epilog:
        yield from ("```text", command.epilog.replace("\b\n", "").strip("\n"), "```", "")


def prose(text: str) -> str:
    """Help as a page has it: the marks that keep a terminal from wrapping lines are dropped."""
    return inspect.cleandoc(text).replace("\b", "")


def table_row(record: Sequence[str]) -> str:
    """An option and what it is for, as a row."""
    option, about = (cell.replace("|", "\\|").replace("\n", " ") for cell in record)
    return f"| <code>{option.replace('<', '&lt;').replace(chr(92) + '|', '&#124;')}</code> | {about} |"


def names_page() -> str:
    """The reference of Python: every public name, under what it is for."""
    sections: dict[str, list[str]] = {title: [] for title in ORDER}
    for name in vernal.__all__:
        sections[section_of(name)].append(name)
    parts = ["# Names in Python", "", "`import vernal as vn`; these are all public names, each `vn.name`.", ""]
    for title, names in sections.items():
        parts += [f"## {title}", ""] if names else []
        parts += [line for name in names for line in (*entry_of(name), "")]
    return "\n".join(parts)


def entry_of(name: str) -> list[str]:
    """What stands for a name; one that a package has, too, is looked up where it is defined."""
    given = getattr(vernal, name)
    if not (ROOT / "src" / "vernal" / name).is_dir() or inspect.ismodule(given):
        return [f"::: vernal.{name}"]
    return [f"::: {given.__module__}.{name}", "    options:", f"      heading: {name}", f"      toc_label: {name}"]


def section_of(name: str) -> str:
    """The section of a public name, by the module it comes from."""
    home = "vernal.worlds" if name == "worlds" else getattr(getattr(vernal, name), "__module__", "vernal.evidence")
    fitting = [prefix for prefix in SECTIONS if home.startswith(prefix)]
    return SECTIONS[max(fitting, key=len)] if fitting else "More"


def modules_page() -> str:
    """Every module of the package by room, with the first sentence it says about itself."""
    source = ROOT / "src" / "vernal"
    parts = ["# Modules", "", "For those who change the code: [the design](../design.md) is the way in.", ""]
    for package in sorted(file.parent for file in source.rglob("__init__.py") if file.parent != source):
        parts += [f"## {package.relative_to(source)}/", "", first_line(package / "__init__.py"), ""]
        modules = [file for file in sorted(package.glob("*.py")) if file.name != "__init__.py"]
        parts += [*(f"- `{file.name}`: {first_line(file)}" for file in modules), ""]
    return "\n".join(parts)


def first_line(file: Path) -> str:
    """The first line of a module's docstring."""
    told = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return told.partition("\n")[0].replace("<", "&lt;")


def notebook_page(file: Path, target: Path) -> str:
    """A notebook as a page: its text as it is, its code and what it printed in blocks, its pictures beside the page."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    note = f"*This page is the notebook `{file.relative_to(ROOT)}`; `vernal example notebooks` writes it.*"
    folder = target / file.relative_to(ROOT).parent
    title, *rest = [cell_text(cell, folder / f"{file.stem}-{place}.png") for place, cell in enumerate(cells)]
    return "\n\n".join([title, note, *rest]) + "\n"


def cell_text(cell: dict[str, Any], picture: Path) -> str:
    """One cell in Markdown; what it draws is written to this file."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    printed = "".join("".join(output.get("text", ())) for output in cell["outputs"])
    parts = [f"```python\n{source}\n```"] + ([f"```text\n{printed.rstrip()}\n```"] if printed else [])
    for output in cell["outputs"]:
        if drawn := output.get("data", {}).get("image/png"):
            picture.parent.mkdir(parents=True, exist_ok=True)
            picture.write_bytes(base64.b64decode(drawn))
            parts.append(f"![What the cell draws]({picture.name})")
    return "\n\n".join(parts)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
