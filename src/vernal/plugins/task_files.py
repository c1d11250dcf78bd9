"""Task files one after the other: what the pre-commit hook and the GitHub Action run.

    python -m vernal.plugins.task_files --timeout 30 models/*.toml
    python -m vernal.plugins.task_files --read models/*.toml        only whether they can be read

The exit code is that of the worst file: 2 where one cannot be read or none is named, else 10, 5 or 0. Files that are
not task files of Vernal (no `vernal = 1`) are passed over, so that a hook may be given every TOML file. On GitHub
(`--github`) every file that is not fine is an annotation, and verdicts are a table in the summary of the job.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vernal.cli import exits
from vernal.engines.check import check
from vernal.errors import VernalError
from vernal.evidence.result import HOLDS, Result
from vernal.formats.loading import load
from vernal.report.text import result_text, verdict_line

IS_TASK = re.compile(r"^vernal\s*=\s*\d+", re.MULTILINE)
PLACE = re.compile(r"^(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): ")


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found out about one file."""

    file: str
    results: Sequence[Result] = ()
    problem: str | None = None  # why it cannot be read

    @property
    def exit_code(self) -> int:
        """2 where it cannot be read, else that of its verdicts."""
        return exits.BAD_INPUT if self.problem else exits.of_verdicts(result.verdict for result in self.results)


def main(arguments: Sequence[str] | None = None) -> int:
    """Look at every file, say what is found, and return the exit code."""
    options = _options(arguments)
    files = [file for file in options.files if is_task(file)]
    if not options.files:
        return _nothing("no file is named, or none matches", options)
    if not files:
        _nothing(f"none of {len(options.files)} files is a task (`vernal = 1`)", options)
    looked = []
    for file in files:
        looked.append(look(file, read_only=options.read, timeout=options.timeout))
        print("\n".join(told(looked[-1])), flush=True)
        if options.github:
            print("\n".join(workflow_commands(looked[-1])), flush=True)
    if options.github and (summary := os.environ.get("GITHUB_STEP_SUMMARY")):
        with open(summary, "a", encoding="utf-8") as page:
            page.write(markdown(looked))
    codes = {one.exit_code for one in looked}
    worst = next((code for code in (exits.BAD_INPUT, exits.REFUTED, exits.UNDECIDED) if code in codes), exits.OK)
    return exits.OK if worst == exits.UNDECIDED and options.allow_unknown else worst


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="vernal.plugins.task_files", description="Check task files one by one.")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--read", action="store_true", help="only find out whether they can be read")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds for each file")
    parser.add_argument("--allow-unknown", action="store_true", help="end with 0 where nothing is worse than unknown")
    parser.add_argument("--github", action="store_true", help="annotations and a summary, as GitHub reads them")
    return parser.parse_args(arguments)


def _nothing(why: str, options: argparse.Namespace) -> int:
    """Say that nothing is checked, so that nobody takes silence for a verdict."""
    print(f"nothing is checked: {why}", file=sys.stderr)
    if options.github:
        print(f"::warning::Vernal checked nothing: {_escaped(why)}")
    return exits.BAD_INPUT


def is_task(file: str) -> bool:
    """Whether a file says that it is a task; one that is not there is left to be reported."""
    if not file.endswith(".toml") or not os.path.isfile(file):
        return True
    return IS_TASK.search(Path(file).read_text(encoding="utf-8", errors="replace")) is not None


def look(file: str, *, read_only: bool, timeout: float) -> Looked:
    """Read one file, and check its properties."""
    try:
        task = load(file)
        return Looked(file, () if read_only or not task.properties else [*check(task, timeout=timeout).values()])
    except VernalError as error:
        return Looked(file, problem=str(error))


def told(one: Looked) -> list[str]:
    """What a terminal shows."""
    if one.problem is not None:
        return [f"error: {one.problem}"]
    return [f"{one.file}:" + ("" if one.results else " can be read"), *map(result_text, one.results)]


def workflow_commands(one: Looked) -> Iterable[str]:
    """Workflow commands that GitHub shows beside the file."""
    if one.problem is not None:
        found = PLACE.match(one.problem)
        place = f",line={found['line']},col={found['column']}" if found else ""
        yield f"::error file={one.file}{place}::{_escaped(one.problem)}"
    for result in one.results:
        if result.verdict is not HOLDS:
            level = "warning" if result.verdict.value == "unknown" else "error"
            yield f"::{level} file={one.file}::{_escaped(verdict_line(result))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def markdown(looked: Sequence[Looked]) -> str:
    """A table of all verdicts."""
    rows = ["| file | property | verdict | scope |", "|---|---|---|---|"]
    for one in looked:
        rows += [f"| {one.file} | | cannot be read | |"] if one.problem else []
        rows += [
            f"| {one.file} | {result.property} | {result.verdict.value} | {result.scope or result.proven or ''} |"
            for result in one.results
        ]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.exit(main())
